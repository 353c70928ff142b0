// From what a person typed to what a model is given: the text, and behind it the files and resources that it mentions
// (@file, @server:uri). Files are the person's own choice, so any that they can read may be mentioned. Loop thread
// only; files are read on a helper thread.
#pragma once

#include <string>
#include <vector>

#include <patchbay/agent.h>
#include <patchbay/model_tools.h>

#include "terminal/line_editor.h"

namespace patchbay::cli {

struct ChatInput {
  AgentInput input;
  std::vector<std::string> notes = {};  // a line for each mention: what was added, or why it was not
};
Task<ChatInput> chat_input(ModelTools& tools, std::string text, std::string directory, CallOptions options = {});

// What a prompt of a server says, as the person's message.
std::string prompt_text(const GetPromptResult& prompt);

// Files whose name goes on as `word` does, which begins with an @; folders end in a slash. At most 50.
std::vector<terminal::Candidate> file_candidates(const std::string& word, const std::string& directory);

}  // namespace patchbay::cli
