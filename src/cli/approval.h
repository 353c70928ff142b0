// Asking the person: whether a server that a repository brought along may be started, and for a secret.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <patchbay/config.h>
#include <patchbay/task.h>

#include "cli/io.h"
#include "cli/waiting.h"

namespace patchbay::cli {

// The command line of a server as a person should see it: whole, quoted, cleaned.
std::string command_line_of(const ServerConfig& server);
// That line and everything else the entry says, each on a line of its own that begins with `indent`.
std::string consent_text(const ServerConfig& server, std::string_view indent);
// Shows it and reads the answer from the terminal. Neither yes nor no, or the end of input: not now, ask again.
Task<std::optional<bool>> ask_approval(Io& io, Waiting& waiting, const ServerConfig& server);

// Reads a line from the terminal without showing it. Throws Errc::invalid_argument when there is none, and
// Errc::cancelled at an interrupt. Blocking; before there is a loop.
std::string ask_secret(std::string_view question);

}  // namespace patchbay::cli
