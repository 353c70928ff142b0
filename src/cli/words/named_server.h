// Whether the words of a command name a server that is there, known from the files alone. main asks before
// anything is started, so that a misspelt name is reported without a wait. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <patchbay/config.h>
#include <patchbay/error.h>

#include "cli/words/settings.h"

namespace patchbay::cli {

// As the other commands spell it: `tools SERVER TOOL`, `call SERVER TOOL`, `prompt SERVER NAME` and SERVER.TOOL become
// SERVER/TOOL where the first is one of `servers`.
Settings with_named_tool(Settings settings, const std::vector<std::string>& servers);

// What to say of a server that `settings` names and `servers` has not; nothing when every name may be meant. What
// only servers know, such as the bare name of a tool, is left to them.
// `elsewhere`: what is declared for other directories only.
std::optional<Error> unknown_server(const Settings& settings, const std::vector<std::string>& servers,
                                    const std::vector<ServerElsewhere>& elsewhere = {});

// There is no server of this name: what was probably meant, or which there are, and the command that lists them.
// `hint`: what else may have been meant.
Error no_such_server(const std::string& name, std::vector<std::string> servers,
                     const std::vector<ServerElsewhere>& elsewhere, const std::string& hint = {});

// "ev" is declared for DIR only; …: empty when it is not declared anywhere else.
std::string elsewhere_text(const std::string& name, const std::vector<ServerElsewhere>& elsewhere);

// The server before the tool or prompt in mcp__server__name and server/name, as it was typed; empty when the text
// is a bare name. Where the end of a server's name cannot be told, the shortest.
std::string server_typed(const std::string& text);

}  // namespace patchbay::cli
