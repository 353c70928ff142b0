// Making a conversation shorter, as decisions about values: old results become one line, then what is old becomes a
// summary. What comes out is always a conversation that a model can be given (conversation/repair.h). Pure; asking for
// the summary is the agent's.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <patchbay/model.h>

#include "agent/conversation/repair.h"

namespace patchbay {

// About how many tokens: four bytes are one, and an image counts as many as providers say it does at most.
std::size_t tokens_of(const ModelMessage& message);
std::size_t tokens_of(const ModelMessages& messages, std::size_t from = 0);

// What old outcomes that are longer than a line become. The last `keep` messages stay as they are. `handle_of` gives
// the handle of a result by the id of its use, or an empty text.
ModelMessages without_old_results(const ModelMessages& messages, std::size_t keep,
                                  const std::function<std::string(const std::string&)>& handle_of);

// The first message that stays when what is before it becomes a summary: about `keep_tokens` from the end, and where a
// conversation can be cut. 0: there is nothing worth a summary.
std::size_t cut_at(const ModelMessages& messages, std::size_t keep_tokens);

// What the model is asked for its summary.
std::string_view summary_request() noexcept;

// The messages from `from` on, behind the summary of those before them. An empty summary: what the person said stays,
// cut, and the rest is said to be gone.
ModelMessages with_summary(const ModelMessages& messages, std::size_t from, std::string_view summary);

}  // namespace patchbay
