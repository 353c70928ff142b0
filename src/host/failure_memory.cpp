#include "host/failure_memory.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/kept_file.h"
#include "base/strings.h"
#include "entries/expand.h"
#include "entries/signature.h"
#include "entries/text_secrets.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::int64_t format_version = 1;
constexpr std::size_t key_length = 64;  // a SHA-256 in hexadecimal
constexpr std::size_t longest_text = 1000;
constexpr std::size_t most_lines = 5;
constexpr std::size_t longest_during = 40;
constexpr std::size_t largest_file = 2u << 20;

bool is_key(std::string_view text) {
  return text.size() == key_length &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_recent(const KnownFailure& known, std::chrono::sys_seconds now) {
  return known.time <= now + std::chrono::days(1) && now - known.time < failures_last;
}

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

const std::string* text_of(const Json& entry, std::string_view key, std::size_t longest) {
  const auto* text = entry[key].if_string();
  return text != nullptr && text->size() <= longest ? text : nullptr;
}

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

FailureRecords read_failure_records(std::string_view text) {
  FailureRecords records;
  const auto value = parse_json(text);
  if (!value || (*value)["version"] != Json(format_version)) return records;
  const auto* servers = (*value)["servers"].if_object();
  if (servers == nullptr) return records;
  constexpr auto longest_detail = most_lines * (longest_text + 8);
  for (const auto& [key, entry] : *servers) {
    const auto time = entry["time"].to_int();
    const auto* message = text_of(entry, "message", longest_text + 8);
    const auto* detail = text_of(entry, "detail", longest_detail);
    const auto* during = text_of(entry, "during", longest_during);
    // Ten thousand years are as far as a calendar goes.
    if (!is_key(key) || !time || *time < 0 || *time > 253'402'300'799) continue;
    if (message == nullptr || detail == nullptr || during == nullptr) continue;
    records[key] = {std::chrono::sys_seconds(std::chrono::seconds(*time)), *message, *detail, *during};
  }
  return records;
}

std::string write_failure_records(const FailureRecords& records) {
  Json servers = Json::object();
  for (const auto& [key, known] : records) {
    servers.as_object().set(key, Json{{"time", static_cast<std::int64_t>(known.time.time_since_epoch().count())},
                                      {"message", known.message},
                                      {"detail", known.detail},
                                      {"during", known.during}});
  }
  return to_text(Json{{"version", format_version}, {"servers", std::move(servers)}}) + "\n";
}

void update_failure_records(FailureRecords& records, const std::string& key, const std::optional<KnownFailure>& known,
                            std::chrono::sys_seconds now) {
  if (known) {
    records[key] = *known;
  } else {
    records.erase(key);
  }
  std::erase_if(records, [&](const auto& record) { return !is_recent(record.second, now); });
  while (records.size() > failure_entries) {
    records.erase(std::ranges::min_element(records, {}, [](const auto& record) { return record.second.time; }));
  }
}

std::optional<KnownFailure> recall_failure(const std::string& path, const std::string& key) {
  const auto records = read_failure_records(read_kept_file(path, largest_file));
  const auto found = records.find(key);
  return found == records.end() ? std::nullopt : std::optional(found->second);
}

Result<void> remember_failure(const std::string& path, const std::string& key, const std::optional<KnownFailure>& known,
                              std::chrono::sys_seconds now) {
  return change_kept_file(path, largest_file, [&](std::string_view text) -> std::optional<std::string> {
    auto records = read_failure_records(text);
    const auto before = records;
    update_failure_records(records, key, known, now);
    if (records == before) return std::nullopt;
    return write_failure_records(records);
  });
}

}  // namespace patchbay
