// Answers of Anthropic's Messages API: calls have ids of their own, what was told is what is kept, and it can be sent
// back.
#include "agent/models/anthropic.h"
#include "fuzz/answer_rules.h"

using namespace patchbay;

FUZZ_TARGET(anthropic_answer) {
  const auto provider = anthropic_provider({});
  fuzz::check_answer(*provider, input);
  // A refusal names a tool that was sent, or none.
  const auto request = fuzz::request_before();
  const auto failure = provider->failure(400, input, request);
  fuzz::require(failure.tool.empty() || request.tools->find(failure.tool), "a tool that was not sent");
}
