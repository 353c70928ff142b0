// A model that plays a file: for demonstrations, for tests, and to try the program without a key. Its answers are
// chosen from the file, in order; no network is used. The file is JSON with comments:
//
//   {"turns": [
//     {"text": "I will look.", "calls": [{"name": "mcp__files__read", "input": {"path": "a.txt"}}]},
//     {"when": "weather", "text": "It rains."},   // only if the newest message has this word
//     {"text": "It says: ${result}"}              // the text of the newest outcome
//   ]}
//
// Each turn is played once. The first one that is left and whose `when` fits is next; one without `when` fits always.
// More members: `thinking`, a text; `stop`, as ModelStop is spelled; `error`, a text that is thrown instead; `usage`.
// `name` of a call may be without "mcp__server__" where only one tool of the request ends so.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/model.h>

namespace patchbay {

struct ScriptTurn {
  std::string when = {};
  std::string text = {};
  std::string thinking = {};
  std::vector<ModelToolUse> calls = {};
  std::optional<ModelStop> stop = {};
  std::string error = {};
  ModelUsage usage = {};
};

// Errc::config with the place in the file, which `name` names.
Result<std::vector<ScriptTurn>> read_script(const std::string& name, std::string_view text);

// Which of those that are left is played for this message; nothing when none fits.
std::optional<std::size_t> next_script_turn(const std::vector<ScriptTurn>& turns, const std::vector<bool>& played,
                                            const ModelMessage& newest);

// Throws what read_script returns.
std::shared_ptr<Model> make_script_model(std::string name, std::string_view text);

}  // namespace patchbay
