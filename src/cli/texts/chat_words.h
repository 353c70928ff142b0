// How a conversation looks on a terminal: calls, results, costs, and the question before a call with the answers it may
// have. All that models, servers and files wrote is cleaned, and in the question written out in full so that each
// character shows itself. Pure; used by cli/chat.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/agent.h>

#include "agent/grants.h"

namespace patchbay::cli {

struct ChatLook {
  std::size_t columns = 80;
  bool color = false;
};

// "12,345".
std::string grouped(std::uint64_t number);
std::string dimmed(std::string text, const ChatLook& look);
// "4 s", "1 min 12 s".
std::string elapsed_text(std::chrono::seconds time);

// One line with the arguments.
std::string call_line(const ModelToolUse& use, const ChatLook& look);
// What stands below it for an edit: what it changes. Of other calls nothing.
std::vector<std::string> edit_lines(const ModelToolUse& use, const ChatLook& look);
// The first lines of what came of it. `named`: other calls run as well, so say whose it is.
std::vector<std::string> result_lines(const AgentToolResult& result, bool named, const ChatLook& look);
// Whether those are not all of its lines; and all of them, cleaned, under the name of the tool.
bool is_cut(const AgentToolResult& result);
std::string whole_result(const AgentToolResult& result);
// "read_file 12 s  3/10  reading", for the line that is drawn again.
std::string progress_text(std::string_view name, std::chrono::seconds time, const std::optional<Progress>& progress);

// `for_servers`: of what servers let the model write.
std::vector<std::string> cost_lines(const ModelUsage& usage, const ModelUsage& for_servers);
std::vector<std::string> context_lines(const AgentContext& context, std::string_view model);

// ---- the question before a call

struct PermissionAnswer {
  enum class Kind : std::uint8_t { once, grant, edit, no, no_because } kind = Kind::no;
  GrantScope scope = GrantScope::tool;  // of `grant`
  bool operator==(const PermissionAnswer&) const = default;
};
// Which tool of which server, all arguments, and why it is asked about.
std::vector<std::string> permission_lines(const PermissionQuestion& question, const ChatLook& look);
// What the letters mean, shorter than permission_help: stands above the prompt.
std::string permission_legend(const std::vector<GrantScope>& possible);
// "Call it? [y/t/s/a/e/n/w/?] "
std::string permission_prompt(const std::vector<GrantScope>& possible);
std::vector<std::string> permission_help(const PermissionQuestion& question, const std::vector<GrantScope>& possible);
// Nothing for a word that is none of those offered.
std::optional<PermissionAnswer> permission_answer(std::string_view typed, const std::vector<GrantScope>& possible);

// ---- Ctrl-C

enum class InterruptMeans : std::uint8_t {
  clears,      // what is typed
  interrupts,  // the call, or the turn where none runs
  ends_turn,
  warns,  // that the next one leaves
  leaves,
};
// `again`: the last key was one as well.
InterruptMeans interrupt_means(bool typed, bool busy, std::size_t again) noexcept;

}  // namespace patchbay::cli
