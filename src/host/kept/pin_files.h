// The files of pins/pinned_server: `pins/<key>.json` in the state directory, one for each server, for the user alone.
// Changing one holds the lock of the folder, so that of several processes none undoes what another one agreed to; a
// file is replaced whole, so whoever reads waits for nobody. Also where the lock file of a project is read. Blocking,
// through offload(). docs/adr/0020 says why these are plain files, docs/adr/0023 what is in them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include <patchbay/config.h>
#include <patchbay/error.h>

#include "host/kept/server_key.h"
#include "pins/pinned_server.h"

namespace patchbay {

inline constexpr std::size_t most_pinned_servers = 2000;

// What the server is: its command with its arguments and its directory, or its URL. Neither its name and place nor its
// environment count: another token is not another server, and must not make its tools new ones.
std::string pin_key(const ServerConfig& written, const KeyContext& context);

ReadPins load_pins(const std::string& state_directory, const std::string& key);

// `change` gets what is there, and returns what to write, or nothing when it stays as it is. The Error says why it was
// not called or nothing was written: Errc::config about the file itself, which a newer program wrote or which is broken
// and stays as it is, Errc::internal about the folder.
using ChangePins = std::function<std::optional<PinnedServer>(std::optional<PinnedServer> before)>;
Result<void> change_pins(const std::string& state_directory, const std::string& key, const ChangePins& change);

// The lock file beside the .mcp.json that declares this server; empty for one that no such file declares.
std::string lock_file_of(const ServerConfig& server);
// Nothing when there is no such file. Errc::config with the path: it cannot be read.
Result<std::optional<LockFile>> load_lock_file(const std::string& path);

}  // namespace patchbay
