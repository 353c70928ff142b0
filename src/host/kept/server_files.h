// The files of host/kept/kept_server: `servers/<key>.json` in the state directory, one for each server identity, for
// the user alone. A file is replaced whole, so whoever reads sees the old one or the new one; of several writers the
// last one wins, and nobody waits. It can be thrown away: nothing that goes wrong with it is anybody's error but for a
// warning. Blocking; reading is short and may be done on the loop, writing goes through offload(). docs/adr/0020 says
// why these are plain files.
#pragma once

#include <cstddef>
#include <string>

#include <patchbay/error.h>

#include "host/kept/kept_server.h"
#include "host/kept/server_key.h"

namespace patchbay {

inline constexpr std::size_t most_kept_servers = 500;

ReadKept load_kept_server(const std::string& state_directory, const ServerKey& key);

// Puts `now` over what is kept. Beyond most_kept_servers the oldest files go. A file that cannot be read or that a
// newer program wrote stays as it is; then, and when nothing can be written, the Error says why.
Result<void> keep_server(const std::string& state_directory, const ServerKey& key, KeptServer now);

}  // namespace patchbay
