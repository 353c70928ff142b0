// Reads the events of one answer of Anthropic's Messages API. Blocks that this program does not know become
// ProviderBlocks, put together from their deltas, so that they can go back as they would have come in one piece. Pure;
// used by the provider alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "agent/models/provider.h"

namespace patchbay {

// `provider` is what ProviderBlocks are marked with. Keeps what it needs of both.
std::unique_ptr<AnswerReader> anthropic_reader(std::string provider, const ModelRequest& request);

// The status that stands for an error without one ("overloaded_error": 529); 500 for a word that is unknown.
int anthropic_status(std::string_view error_type);

// {"type": "error", "error": {"type", "message"}}. `status` 0: none but the word's own. Whether the conversation is too
// long is seen here as well; a tool is not, that takes the request.
ProviderFailure anthropic_failure(int status, const Json& body);

}  // namespace patchbay
