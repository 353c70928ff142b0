// The process behind a session: it owns the Host of its directory, which follows the configuration, and the door on
// which commands reach it, and ends when it is told to, or when nobody has used it for a while. Made by
// start_session(); run_session() is what that process does.
#pragma once

#include <sys/types.h>

#include "cli/io.h"
#include "cli/words/settings.h"
#include "gateway/socket_door.h"

namespace patchbay::cli {

inline constexpr double default_idle_minutes = 30;

// Starts the process, which goes on when this one ends, and returns its id when its socket answers. Throws why it could
// not begin. `lock` is handed on to it.
pid_t start_session(const Settings& settings, const SocketLock& lock);

// What the process is called: the program knows by it that it is one. Nobody types it: it needs two descriptors.
inline constexpr std::string_view background_program = "patchbay-session";
int run_session(const Settings& settings);

}  // namespace patchbay::cli
