#include "host/failure_memory.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "entries/expand.h"
#include "entries/signature.h"
#include "entries/text_secrets.h"
#include "json/kept_records.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_text = 1000;
constexpr std::size_t most_lines = 5;
constexpr std::size_t longest_during = 40;

// Secrets of these entries are not known here, and a server may write what it was given.
bool has_fetched_secrets(const ServerConfig& server) {
  return server.env_file || server.headers_helper ||
         std::ranges::any_of(secret_references(server),
                             [](const auto& one) { return one.kind != SecretKind::environment; });
}

// A message of ours without the words of the server that it may quote.
std::string own_words(const Error& error) {
  switch (error.code()) {
    case Errc::connect:
    case Errc::timeout:
    case Errc::closed:
    case Errc::config:
    case Errc::limit: {
      std::string out;
      bool quoted = false;
      for (const char c : error.message()) {
        if (c == '"') {
          out += quoted ? "\"" : "\"…";
          quoted = !quoted;
        } else if (!quoted) {
          out += c;
        }
      }
      return out;
    }
    default:
      return fmt::format("{}{}", to_string(error.code()),
                         error.http_status() ? fmt::format(" (HTTP {})", *error.http_status()) : std::string());
  }
}

std::optional<std::string_view> text_of(const Json& entry, std::string_view key, std::size_t longest) {
  const auto text = entry[key].text();
  return text && text->size() <= longest ? text : std::nullopt;
}

struct FailureFormat : TimedRecord<KnownFailure> {
  static constexpr std::size_t largest_file = 2u << 20;
  static constexpr std::size_t most_records = failure_entries;

  static bool is_fresh(const KnownFailure& known, std::chrono::sys_seconds now) {
    return known.time <= now + std::chrono::days(1) && now - known.time < failures_last;
  }
  static std::optional<KnownFailure> read(const Json& entry, std::chrono::sys_seconds time) {
    const auto message = text_of(entry, "message", longest_text + 8);
    const auto detail = text_of(entry, "detail", most_lines * (longest_text + 8));
    const auto during = text_of(entry, "during", longest_during);
    if (!message || !detail || !during) return std::nullopt;
    return KnownFailure{time, std::string(*message), std::string(*detail), std::string(*during)};
  }
  static Json write(const KnownFailure& known, std::int64_t seconds) {
    return {{"time", seconds}, {"message", known.message}, {"detail", known.detail}, {"during", known.during}};
  }
};

}  // namespace

std::string failure_key(const ServerConfig& written) {
  return sha256_hex(to_text(Json::array({written.name, entry_hash(written), written.origin.file})));
}

bool is_failure_of_server(Errc code) noexcept {
  switch (code) {
    case Errc::cancelled:
    case Errc::denied:
    case Errc::invalid_argument:
    case Errc::rpc:
      return false;
    default:
      return true;
  }
}

KnownFailure failure_of(const ServerConfig& written, const VariableLookup& lookup, const Environment& environment,
                        const Error& error, std::string_view during, std::chrono::sys_seconds now) {
  const TextSecrets secrets(environment, written, lookup);
  const bool fetched = has_fetched_secrets(written);
  KnownFailure out;
  out.time = now;
  out.message = secrets.line(fetched ? own_words(error) : error.message(), longest_text);
  if (!fetched) out.detail = secrets.lines(error.detail(), most_lines, longest_text);
  out.during = cut_utf8(clean_line(during), longest_during);
  return out;
}

FailureRecords read_failure_records(std::string_view text) { return read_records<FailureFormat>(text); }

std::string write_failure_records(const FailureRecords& records) { return write_records<FailureFormat>(records); }

void update_failure_records(FailureRecords& records, const std::string& key, const std::optional<KnownFailure>& known,
                            std::chrono::sys_seconds now) {
  update_records<FailureFormat>(records, key, known, now);
}

std::optional<KnownFailure> recall_failure(const std::string& path, const std::string& key) {
  return recall_record<FailureFormat>(path, key);
}

Result<void> remember_failure(const std::string& path, const std::string& key, const std::optional<KnownFailure>& known,
                              std::chrono::sys_seconds now) {
  return remember_record<FailureFormat>(path, key, known, now);
}

}  // namespace patchbay
