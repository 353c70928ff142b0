#include "host/failure_memory.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/strings.h"
#include "config/child_env.h"
#include "config/expand.h"
#include "config/signature.h"
#include "net/kept_file.h"
#include "net/url.h"
#include "protocol/clean_text.h"
#include "protocol/redact.h"

namespace patchbay {
namespace {

constexpr std::int64_t format_version = 1;
constexpr std::size_t key_length = 64;  // a SHA-256 in hexadecimal
constexpr std::size_t longest_text = 1000;
constexpr std::size_t most_lines = 5;
constexpr std::size_t longest_during = 40;
constexpr std::size_t shortest_secret = 4;  // anything shorter stands in every text
constexpr std::size_t largest_file = 2u << 20;
constexpr std::string_view mark = "[redacted]";

bool is_key(std::string_view text) {
  return text.size() == key_length &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_recent(const KnownFailure& known, std::chrono::sys_seconds now) {
  return known.time <= now + std::chrono::days(1) && now - known.time < failures_last;
}

bool is_secret(std::string_view name) { return is_secret_name(name) || speaks_of_secrets(name); }

// A text and what is to stand in its place.
using Replacements = std::vector<std::pair<std::string, std::string>>;

void hide(Replacements& out, std::string_view value) {
  if (value.size() < shortest_secret) return;
  out.emplace_back(value, mark);
  // Of "Bearer abc" the second word by itself, too.
  if (const auto blank = value.rfind(' '); blank != std::string_view::npos) hide(out, value.substr(blank + 1));
}

void hide_url(Replacements& out, const std::string& value) {
  if (value.find("://") == std::string::npos) return;
  if (auto shown = redacted_url(value); shown != value) out.emplace_back(value, std::move(shown));
}

// --api-key VALUE, --api-key=VALUE, API_KEY=VALUE.
void hide_arguments(Replacements& out, const std::vector<std::string>& args) {
  bool follows = false;
  for (const auto& arg : args) {
    hide_url(out, arg);
    const auto sign = arg.find_first_of("=:");
    if (follows && !arg.starts_with('-')) {
      hide(out, arg);
    } else if (sign != std::string::npos && is_secret(std::string_view(arg).substr(0, sign))) {
      hide(out, trim(std::string_view(arg).substr(sign + 1)));
    }
    follows = arg.starts_with('-') && sign == std::string::npos && is_secret(arg);
  }
}

// Longest first, so that no secret is left with only its beginning hidden.
Replacements secrets_of(const ServerConfig& written, const VariableLookup& lookup) {
  Replacements out;
  for (const auto& server : {written, expand_server(written, lookup)}) {
    for (const auto& [name, value] : server.env) {
      if (is_secret(name)) hide(out, value);
      hide_url(out, value);
    }
    for (const auto& [name, value] : server.headers) hide(out, value);
    hide(out, server.tls.passphrase);
    hide_url(out, server.url);
    hide_arguments(out, server.args);
  }
  std::ranges::sort(out, std::greater(), [](const auto& one) { return one.first.size(); });
  return out;
}

// NAME=value and NAME: value, where the name says that the value is secret.
std::string without_named_secrets(std::string_view line) {
  std::string out;
  bool follows = false;
  for (const auto word : split(line, ' ')) {
    if (!out.empty()) out += ' ';
    const auto sign = word.find_first_of("=:");
    const bool named = sign != std::string_view::npos && sign > 0 && is_secret(word.substr(0, sign));
    if (follows && !word.empty()) {
      out += mark;
    } else if (named && sign + 1 < word.size()) {
      out += fmt::format("{}{}", word.substr(0, sign + 1), mark);
    } else {
      out += word;
    }
    follows = (named && sign + 1 == word.size() && word[sign] == '=') || (follows && word.empty());
  }
  return out;
}

std::string kept_text(std::string_view text, const Replacements& secrets) {
  std::string out(text);
  for (const auto& [secret, shown] : secrets) {
    for (auto at = out.find(secret); at != std::string::npos; at = out.find(secret, at + shown.size())) {
      out.replace(at, secret.size(), shown);
    }
  }
  out = clean_line(redacted(Json(std::move(out))).as_string());
  return out.size() <= longest_text ? out : fmt::format("{}…", cut_utf8(out, longest_text));
}

// Secrets of these entries are not known here, and a server may write what it was given.
bool has_fetched_secrets(const ServerConfig& server) {
  return server.env_file || server.headers_helper ||
         std::ranges::any_of(secret_references(server),
                             [](const auto& one) { return one.kind != SecretKind::environment; });
}

std::string last_lines(std::string_view detail, const Replacements& secrets) {
  auto lines = split(trim(detail), '\n');
  std::string out;
  for (std::size_t i = lines.size() > most_lines ? lines.size() - most_lines : 0; i < lines.size(); ++i) {
    auto line = kept_text(without_named_secrets(kept_text(lines[i], secrets)), {});
    if (!line.empty()) out += (out.empty() ? "" : "\n") + line;
  }
  return out;
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

KnownFailure failure_of(const ServerConfig& written, const VariableLookup& lookup, const Error& error,
                        std::string_view during, std::chrono::sys_seconds now) {
  const auto secrets = secrets_of(written, lookup);
  KnownFailure out;
  out.time = now;
  out.message = kept_text(error.message(), secrets);
  if (!has_fetched_secrets(written)) out.detail = last_lines(error.detail(), secrets);
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
