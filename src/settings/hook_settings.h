// "hooks" of a settings file: commands, URLs and tools that are asked before and after tool calls, when a server asks
// the user, and about what an agent itself does. The layout is that of Claude Code; events that are none of ours are
// left to others. Pure: a part of a text in, values and problems out. Which of them count, and for which call, is
// decided by hooks/hook_set.h.
//
// A hook that guards and cannot be read does not go away: it stays as one that fails whenever it is due.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "settings/variables.h"
#include "text/document.h"
#include "text/report.h"

namespace patchbay {

enum class HookEvent : std::uint8_t {
  pre_tool_use,
  permission_request,
  post_tool_use,
  post_tool_use_failure,
  permission_denied,
  elicitation,
  elicitation_result,
  // Of an agent itself.
  user_prompt_submit,
  stop,
  session_start,
  session_end,
  subagent_start,
  subagent_stop,
  pre_compact,
  notification,
};
inline constexpr std::size_t hook_events = 15;
std::string_view to_string(HookEvent event) noexcept;  // "PreToolUse"
// Whether a failure of its hooks refuses what they were asked about, unless an entry says otherwise.
bool guards(HookEvent event) noexcept;
// Whether there is anything that a failure could refuse.
bool can_guard(HookEvent event) noexcept;
bool is_of_agent(HookEvent event) noexcept;

struct HookSetting {
  enum class Kind : std::uint8_t { command, http, mcp_tool };

  HookEvent event = HookEvent::pre_tool_use;
  std::string matcher = {};  // of what it is about (docs/hooks.md); empty: all
  Kind kind = Kind::command;
  std::string command = {};                           // a line for sh, or with `args` a program
  std::optional<std::vector<std::string>> args = {};  // no shell is involved
  std::string url = {};
  NamedTexts headers = {};                          // with $NAME for the variables below
  std::vector<std::string> allowed_variables = {};  // "allowedEnvVars"
  std::string server = {};                          // of a tool
  std::string tool = {};
  Json input = {};  // its arguments, with ${tool_input.x}; null: none
  std::chrono::milliseconds timeout{600'000};
  std::optional<bool> refuses_on_error = {};  // "onError"; unset: as the event has it
  std::string fault = {};                     // why it cannot be used; empty: it can
  SettingPlace place = {};
  bool operator==(const HookSetting&) const = default;
};

// The value of "hooks".
std::vector<HookSetting> read_hooks(const ConfigDocument::Member& at, ConfigReport& report);

}  // namespace patchbay
