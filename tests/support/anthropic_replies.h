// What Anthropic's Messages API would answer, for a ModelApi. The stream is cut into chunks in the middle of an event,
// so that whoever reads it has to put them together.
#pragma once

#include <string>
#include <vector>

#include <patchbay/model.h>

#include "support/model_api.h"

namespace patchbay::test {

struct AnthropicReply {
  std::string thinking = {};
  std::string text = {};
  std::vector<ModelToolUse> uses = {};  // `broken` instead of `input` where it is set; ids are made where missing
  std::string stop = {};                // unset: tool_use with uses, else end_turn
  ModelUsage usage = {.input = 10, .output = 5};
  std::string model = "claude-test";
  std::string id = "msg_test";
};
ModelApiReply anthropic_reply(const AnthropicReply& reply);
// Its events, one after the other, each with its name.
std::vector<std::string> anthropic_events(const AnthropicReply& reply);

ModelApiReply anthropic_error(int status, std::string type, std::string message,
                              std::map<std::string, std::string> headers = {});

}  // namespace patchbay::test
