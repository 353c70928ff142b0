// The file behind client/era_memory: read when a server is about to be asked, changed when
// one answered otherwise than remembered. It holds hashes and times, nothing of a server in
// clear. Any number of processes may use it at once: it is replaced whole, by one at a time.
// It is a cache, so nothing that goes wrong with it is anybody's error but for the log.
// Blocking; reading is short and may be done on the loop, updating goes through offload().
#pragma once

#include <optional>
#include <string>

#include <patchbay/error.h>

#include "client/era_memory.h"

namespace patchbay {

// Nothing when the file is missing, unreadable, broken or not a file at all.
std::optional<KnownLegacy> recall_era(const std::string& path, const std::string& key);

// Sets or forgets one record. Makes the folders of `path` if need be. An Error says why
// nothing was written, for instance because others kept the file busy.
Result<void> remember_era(const std::string& path, const std::string& key, const std::optional<KnownLegacy>& known,
                          std::chrono::sys_seconds now);

}  // namespace patchbay
