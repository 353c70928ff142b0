#include "client/era_memory_file.h"

#include "base/kept_file.h"

namespace patchbay {
namespace {

constexpr std::size_t largest_file = 1u << 20;  // ten times what the entries can come to

}  // namespace

std::optional<KnownLegacy> recall_era(const std::string& path, const std::string& key) {
  const auto records = read_era_records(read_kept_file(path, largest_file));
  const auto found = records.find(key);
  return found == records.end() ? std::nullopt : std::optional(found->second);
}

Result<void> remember_era(const std::string& path, const std::string& key, const std::optional<KnownLegacy>& known,
                          std::chrono::sys_seconds now) {
  return change_kept_file(path, largest_file, [&](std::string_view text) -> std::optional<std::string> {
    auto records = read_era_records(text);
    const auto before = records;
    update_era_records(records, key, known, now);
    if (records == before) return std::nullopt;
    return write_era_records(records);
  });
}

}  // namespace patchbay
