// Anthropic's Messages API, and whatever speaks it. Pure; see provider.h. What is assumed of the API is here and in
// anthropic_reader alone.
//
// The cache: at most four breakpoints, in the order in which the API caches. After the last of the program's own tools
// (to_json of the pool puts it there), after the system text, at the end of the newest turn, and at ends of turns
// before it that are more than 15 blocks apart, because each breakpoint finds what was cached at most 20 blocks back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/models/provider.h"

namespace patchbay {

struct AnthropicOptions {
  ModelInfo info = {.provider = "anthropic", .api = ModelApi::anthropic};
  enum class Credential : std::uint8_t {
    api_key,  // x-api-key
    token,    // Authorization: Bearer
  };
  Credential credential = Credential::api_key;
  bool show_thinking = false;           // thinking, with a summary that is streamed
  std::string effort = {};              // "low", "medium", "high"; empty: not said
  std::vector<std::string> betas = {};  // anthropic-beta
  // Where ModelInfo::holds_deferred is true as well: blocks that say which tools came and went.
  bool tool_changes = false;
  bool cache_diagnosis = false;  // asks why the cache was of no use
};

std::shared_ptr<Provider> anthropic_provider(AnthropicOptions options);

}  // namespace patchbay
