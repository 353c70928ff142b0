#include "client/era_memory.h"

#include <algorithm>

#include <patchbay/json.h>

namespace patchbay {
namespace {

constexpr std::int64_t format_version = 1;
constexpr std::size_t key_length = 64;  // a SHA-256 in hexadecimal
constexpr std::size_t longest_stamp = 256;

bool is_key(std::string_view text) {
  return text.size() == key_length &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_fresh(const KnownLegacy& known, std::chrono::sys_seconds now) {
  // From the future: the clock was wrong then or is now, so its age is not known.
  return known.learned <= now && now - known.learned < era_memory_lasts;
}

}  // namespace

FirstQuestion first_question(const std::optional<KnownLegacy>& known, std::chrono::sys_seconds now,
                             std::string_view stamp) {
  if (!known || !is_fresh(*known, now) || known->stamp != stamp) return FirstQuestion::discover;
  return FirstQuestion::initialize;
}

EraRecords read_era_records(std::string_view text) {
  EraRecords records;
  const auto value = parse_json(text);
  if (!value || (*value)["version"] != Json(format_version)) return records;
  const auto* servers = (*value)["servers"].if_object();
  if (servers == nullptr) return records;
  for (const auto& [key, entry] : *servers) {
    const auto learned = entry["learned"].to_int();
    const auto* stamp = entry["stamp"].if_string();
    // Ten thousand years are as far as a calendar goes.
    if (!is_key(key) || !learned || *learned < 0 || *learned > 253'402'300'799) continue;
    if (stamp == nullptr || stamp->size() > longest_stamp) continue;
    records[key] = {std::chrono::sys_seconds(std::chrono::seconds(*learned)), *stamp};
  }
  return records;
}

std::string write_era_records(const EraRecords& records) {
  Json servers = Json::object();
  for (const auto& [key, known] : records) {
    servers.as_object().set(key, Json{{"learned", static_cast<std::int64_t>(known.learned.time_since_epoch().count())},
                                      {"stamp", known.stamp}});
  }
  return to_text(Json{{"version", format_version}, {"servers", std::move(servers)}}) + "\n";
}

void update_era_records(EraRecords& records, const std::string& key, const std::optional<KnownLegacy>& known,
                        std::chrono::sys_seconds now) {
  if (known) {
    records[key] = *known;
  } else {
    records.erase(key);
  }
  std::erase_if(records, [&](const auto& record) { return !is_fresh(record.second, now); });
  while (records.size() > era_memory_entries) {
    records.erase(std::ranges::min_element(records, {}, [](const auto& record) { return record.second.learned; }));
  }
}

}  // namespace patchbay
