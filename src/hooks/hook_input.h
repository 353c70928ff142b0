// What hooks are given: one JSON object with what all events have and what each has of its own. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <patchbay/catalog.h>
#include <patchbay/config.h>
#include <patchbay/permission.h>
#include <patchbay/questions.h>

#include "settings/hook_settings.h"

namespace patchbay {

// Of one run.
struct HookSurroundings {
  std::string session_id;
  std::string transcript = {};  // the file of the conversation; empty: there is none
  std::string cwd;
  PermissionMode mode = PermissionMode::standard;
};

// About a tool call. Null arguments: none, which is {} for a hook.
Json tool_hook_input(HookEvent event, const HookSurroundings& run, const CatalogEntry& tool, const Json& arguments,
                     std::uint64_t call_id);
// About a question of a server.
Json elicitation_hook_input(HookEvent event, const HookSurroundings& run, std::string_view server,
                            const ElicitRequest& question);

// About an agent itself: its own members.
Json agent_hook_input(HookEvent event, const HookSurroundings& run, Json facts);

// The arguments of a tool that is a hook: ${tool_input.path} in its texts becomes what is there in `facts`, as it is
// where it is the whole text and else as text. What is not there is null, or nothing. Errc::limit beyond 16 MiB.
Result<Json> filled_in(const Json& input, const Json& facts);

// A header with $NAME and ${NAME}: variables that are not allowed, or not set, are empty.
std::string filled_in_header(std::string_view text, const std::vector<std::string>& allowed,
                             const VariableLookup& variables);

}  // namespace patchbay
