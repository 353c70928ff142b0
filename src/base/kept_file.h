// A small file in which a run leaves something for the next one: client/era_memory and
// host/failure_memory use it, through json/kept_records.h. Any number of processes may use one at once: it is replaced
// whole, by one at a time. It is for the user alone, and can be thrown away: nothing that goes
// wrong with it is anybody's error but for the log. Blocking; reading is short and may be done on
// the loop, changing goes through offload().
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

// Folders that are missing are made for this person alone. Returns 0, or the error number of the first that could not
// be made, which says more than what comes of it when something is written there.
int make_private_folders(const std::string& folder);

// Empty when it is missing, unreadable, larger than `limit` or not a file at all. Never waits,
// whatever has that name.
std::string read_kept_file(const std::string& path, std::size_t limit);

// `change` gets what read_kept_file would say and returns what to write, or nothing when it stays as
// it is; it is called with the lock held. Makes the folders of `path` if need be. An Error says why
// nothing was written, for instance because others kept the file busy.
Result<void> change_kept_file(const std::string& path, std::size_t limit,
                              const std::function<std::optional<std::string>(std::string_view before)>& change);

}  // namespace patchbay
