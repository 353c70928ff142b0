#include "client/era_memory.h"

#include "json/kept_records.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_stamp = 256;

bool is_fresh(const KnownLegacy& known, std::chrono::sys_seconds now) {
  // From the future: the clock was wrong then or is now, so its age is not known.
  return known.learned <= now && now - known.learned < era_memory_lasts;
}

struct EraFormat {
  using Record = KnownLegacy;
  static constexpr std::string_view time_key = "learned";
  static constexpr std::size_t largest_file = 1u << 20;  // ten times what the entries can come to
  static constexpr std::size_t most_records = era_memory_entries;

  static std::chrono::sys_seconds time_of(const KnownLegacy& known) { return known.learned; }
  static bool is_fresh(const KnownLegacy& known, std::chrono::sys_seconds now) {
    return patchbay::is_fresh(known, now);
  }
  static std::optional<KnownLegacy> read(const Json& entry, std::chrono::sys_seconds time) {
    const auto stamp = entry["stamp"].text();
    if (!stamp || stamp->size() > longest_stamp) return std::nullopt;
    return KnownLegacy{time, std::string(*stamp)};
  }
  static Json write(const KnownLegacy& known, std::int64_t seconds) {
    return {{"learned", seconds}, {"stamp", known.stamp}};
  }
};

}  // namespace

FirstQuestion first_question(const std::optional<KnownLegacy>& known, std::chrono::sys_seconds now,
                             std::string_view stamp) {
  if (!known || !is_fresh(*known, now) || known->stamp != stamp) return FirstQuestion::discover;
  return FirstQuestion::initialize;
}

EraRecords read_era_records(std::string_view text) { return read_records<EraFormat>(text); }

std::string write_era_records(const EraRecords& records) { return write_records<EraFormat>(records); }

void update_era_records(EraRecords& records, const std::string& key, const std::optional<KnownLegacy>& known,
                        std::chrono::sys_seconds now) {
  update_records<EraFormat>(records, key, known, now);
}

std::optional<KnownLegacy> recall_era(const std::string& path, const std::string& key) {
  return recall_record<EraFormat>(path, key);
}

Result<void> remember_era(const std::string& path, const std::string& key, const std::optional<KnownLegacy>& known,
                          std::chrono::sys_seconds now) {
  return remember_record<EraFormat>(path, key, known, now);
}

}  // namespace patchbay
