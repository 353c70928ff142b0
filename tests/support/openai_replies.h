// What OpenAI's two interfaces would answer, for a ModelApi. The stream is cut into chunks in the middle of an event,
// so that whoever reads it has to put them together.
#pragma once

#include <string>
#include <vector>

#include <patchbay/model.h>

#include "support/model_api.h"

namespace patchbay::test {

struct OpenAiReply {
  std::string thinking = {};
  std::string text = {};
  std::vector<ModelToolUse> uses = {};  // `broken` instead of `input` where it is set; ids are made where missing
  // Chat: finish_reason; unset: tool_calls with uses, else stop. Responses: the reason of an answer that is incomplete.
  std::string stop = {};
  ModelUsage usage = {.input = 10, .output = 5};
  std::string model = "gpt-test";
};

ModelApiReply openai_chat_reply(const OpenAiReply& reply);
ModelApiReply openai_responses_reply(const OpenAiReply& reply);
// Their events, one after the other; the last of Chat is [DONE].
std::vector<std::string> openai_chat_events(const OpenAiReply& reply);
std::vector<std::string> openai_responses_events(const OpenAiReply& reply);

// {"error": {…}} of both.
ModelApiReply openai_error(int status, std::string code, std::string message, std::string param = {});

}  // namespace patchbay::test
