// What an editor sends in the Agent Client Protocol, as values of ours. Pure; texts are as the editor sent them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <patchbay/agent.h>
#include <patchbay/json.h>

namespace patchbay::acp {

// What the editor can do beside what every editor can.
struct EditorCan {
  bool show_notices = false;  // for the person, outside of the conversation
  bool fill_forms = false;
  bool operator==(const EditorCan&) const = default;
};
EditorCan editor_can(const Json& client_capabilities);

// The content blocks of a prompt. Errc::invalid_argument for one that was not offered (sound).
Result<AgentInput> prompt_input(const Json& blocks);

// "mcpServers" of a session, as the text of a file of servers: {"mcpServers": {NAME: ENTRY}}. Empty where there are
// none. Errc::invalid_argument for one that cannot be read, or that has the name of another.
Result<std::string> editor_servers(const Json& servers);

// Text of somebody else for a text block: editors render those as Markdown, which can hide what is in it, or load what
// it names. As it is, in a block of code that it cannot end.
std::string verbatim(std::string_view text);

// What a form says above its fields: which server asks, and what it says, line by line as it can be seen.
std::string form_message(std::string_view server, std::string_view message);

// What the person answered to a question; empty: nothing was chosen.
std::string chosen_option(const Json& answer);

// To a form. What is no answer is none.
ElicitResult form_answer(const Json& answer);

}  // namespace patchbay::acp
