// Small records in a kept file (base/kept_file.h), by the SHA-256 of whatever they are about: what is read, written,
// dropped when it is old and, beyond a bound, dropped first. client/era_memory and host/failure_memory say what a
// record is. Reading and writing the file blocks; the rest is pure. Any thread.
//
// A format is a struct with
//   using Record                  the value
//   time_key                      the name of its time in the file
//   largest_file, most_records    bounds
//   time_of(record)               when it was made
//   is_fresh(record, now)         whether it still counts
//   read(entry, time)             from JSON; nothing when it cannot be understood
//   write(record, seconds)        to JSON, the time under its key
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <patchbay/json.h>

#include "base/kept_file.h"

namespace patchbay {

inline constexpr std::int64_t kept_records_version = 1;
// Of the year 9999, in seconds since 1970: as far as a calendar goes, and as far as a time in a file is believed.
inline constexpr std::int64_t last_second = 253'402'300'799;

inline bool is_record_key(std::string_view text) noexcept {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// The first half of a format whose record has its time in `time`, under that name.
template <class T>
struct TimedRecord {
  using Record = T;
  static constexpr std::string_view time_key = "time";
  static std::chrono::sys_seconds time_of(const T& record) { return record.time; }
};

template <class Format>
using KeptRecords = std::map<std::string, typename Format::Record, std::less<>>;

// What cannot be understood is not there: a broken file has no records.
template <class Format>
KeptRecords<Format> read_records(std::string_view text) {
  KeptRecords<Format> records;
  const auto value = parse_json(text);
  if (!value || (*value)["version"] != Json(kept_records_version)) return records;
  const auto* servers = (*value)["servers"].if_object();
  if (servers == nullptr) return records;
  for (const auto& [key, entry] : *servers) {
    const auto time = entry[Format::time_key].to_int();
    if (!is_record_key(key) || !time || *time < 0 || *time > last_second) continue;
    if (auto record = Format::read(entry, std::chrono::sys_seconds(std::chrono::seconds(*time)))) {
      records.insert_or_assign(std::string(key), std::move(*record));
    }
  }
  return records;
}

// What a newer version of this program keeps is not ours to replace.
inline bool is_newer(std::string_view text) {
  const auto value = parse_json(text);
  return value && (*value)["version"].to_int().value_or(0) > kept_records_version;
}

template <class Format>
std::string write_records(const KeptRecords<Format>& records) {
  Json servers = Json::object();
  for (const auto& [key, record] : records) {
    const std::int64_t seconds = Format::time_of(record).time_since_epoch().count();
    servers.as_object().set(key, Format::write(record, seconds));
  }
  return to_text(Json{{"version", kept_records_version}, {"servers", std::move(servers)}}) + "\n";
}

// Sets or forgets one, drops what is old and, beyond the bound, the oldest.
template <class Format>
void update_records(KeptRecords<Format>& records, const std::string& key,
                    const std::optional<typename Format::Record>& record, std::chrono::sys_seconds now) {
  if (record) {
    records.insert_or_assign(std::string(key), *record);
  } else {
    records.erase(key);
  }
  std::erase_if(records, [&](const auto& one) { return !Format::is_fresh(one.second, now); });
  while (records.size() > Format::most_records) {
    records.erase(std::ranges::min_element(records, {}, [](const auto& one) { return Format::time_of(one.second); }));
  }
}

template <class Format>
std::optional<typename Format::Record> recall_record(const std::string& path, const std::string& key) {
  const auto records = read_records<Format>(read_kept_file(path, Format::largest_file));
  const auto found = records.find(key);
  return found == records.end() ? std::nullopt : std::optional(found->second);
}

template <class Format>
Result<void> remember_record(const std::string& path, const std::string& key,
                             const std::optional<typename Format::Record>& record, std::chrono::sys_seconds now) {
  bool newer = false;
  auto changed = change_kept_file(path, Format::largest_file, [&](std::string_view text) -> std::optional<std::string> {
    if ((newer = is_newer(text))) return std::nullopt;
    auto records = read_records<Format>(text);
    const auto before = records;
    update_records<Format>(records, key, record, now);
    if (records == before) return std::nullopt;
    return write_records<Format>(records);
  });
  if (newer) return fail(Errc::internal, path + " was written by a newer version of this program");
  return changed;
}

}  // namespace patchbay
