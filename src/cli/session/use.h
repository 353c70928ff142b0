// How a command uses the session of its directory: its Host reaches every server that may be started through the
// session's socket instead of starting it. Everything else about the command stays the same. Called by main before
// the command runs; loop thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <patchbay/host.h>

#include "cli/io.h"
#include "cli/words/settings.h"
#include "transport/unix_socket.h"

namespace patchbay::cli {

// What a session said about the servers that a command reached through it.
struct SessionUse {
  SocketPlace place;
  std::string line;  // that it runs, for people
  std::map<std::string, Json> about;
  // The state with what only the session knows: the revision that the server itself speaks.
  ServerStatus corrected(ServerStatus status) const;
};

// The flags of this command that change servers, settings or permissions, which the session knows nothing of; empty:
// there are none.
std::string flags_against_session(const Settings& settings);

// Whose results a command names in arguments: its own, until use_session() has found a session and those of its
// commands count.
std::string command_conversation();

// Null when no session runs, or when the command must not use it: then that is said. Throws when a session runs that
// cannot be used. `say` is for what the session has to tell while servers are reached.
std::shared_ptr<const SessionUse> use_session(const Settings& settings, Io& io, Host& host,
                                              std::function<void(const std::string&)> say);

}  // namespace patchbay::cli
