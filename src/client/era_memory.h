// EraMemory: which servers are known to speak only older revisions, so that the next start
// can begin with what they answered last time. What is remembered, for how long, and what it
// means for the first question is pure; recall_era and remember_era look at the file
// (json/kept_records.h). client/negotiate asks and tells.
//
// Only the older answer is worth keeping: a newer server is asked first anyway. What is
// remembered changes the order of questions, never which of them may be asked, so a wrong
// memory costs one exchange. It counts from when the newest question was last refused; a
// start that relied on it does not make it younger, or a server would never be asked again.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

// What was learned of one older server.
struct KnownLegacy {
  std::chrono::sys_seconds learned;
  std::string stamp;  // of the files it is made of (Transport::Identity::stamp); empty: none
  bool operator==(const KnownLegacy&) const = default;
};

enum class FirstQuestion { discover, initialize };

// `stamp` is that of now.
FirstQuestion first_question(const std::optional<KnownLegacy>& known, std::chrono::sys_seconds now,
                             std::string_view stamp);

// By Transport::Identity::key.
using EraRecords = std::map<std::string, KnownLegacy, std::less<>>;

inline constexpr std::chrono::days era_memory_lasts{7};
inline constexpr std::size_t era_memory_entries = 512;

// What cannot be understood is not there: the memory of a broken file is empty.
EraRecords read_era_records(std::string_view text);
std::string write_era_records(const EraRecords& records);

// Sets or forgets one, drops what has expired and, beyond the bound, the oldest.
void update_era_records(EraRecords& records, const std::string& key, const std::optional<KnownLegacy>& known,
                        std::chrono::sys_seconds now);

// The file: it holds hashes and times, nothing of a server in clear, and is a cache, so nothing that goes wrong with it
// is anybody's error but for the log. Blocking; reading is short and may be done on the loop, updating goes through
// offload(). Nothing when the file is missing, unreadable, broken or not a file at all.
std::optional<KnownLegacy> recall_era(const std::string& path, const std::string& key);
// Sets or forgets one record. Makes the folders of `path` if need be. An Error says why nothing was written, for
// instance because others kept the file busy.
Result<void> remember_era(const std::string& path, const std::string& key, const std::optional<KnownLegacy>& known,
                          std::chrono::sys_seconds now);

}  // namespace patchbay
