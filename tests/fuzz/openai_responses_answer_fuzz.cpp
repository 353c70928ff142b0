// Answers of Responses: calls have ids of their own, what is unknown is kept, and it can be sent back.
#include "agent/models/openai_responses.h"
#include "fuzz/answer_rules.h"

using namespace patchbay;

FUZZ_TARGET(openai_responses_answer) {
  const auto provider = openai_responses_provider(
      {.provider = "openai", .model = "m", .api = ModelApi::openai_responses, .holds_deferred = true});
  fuzz::check_answer(*provider, input);
}
