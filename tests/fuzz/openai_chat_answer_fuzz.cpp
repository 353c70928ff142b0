// Answers of Chat Completions: calls have ids of their own, what was told is what is kept, and it can be sent back.
#include "agent/models/openai_chat.h"
#include "fuzz/answer_rules.h"

using namespace patchbay;

FUZZ_TARGET(openai_chat_answer) {
  const auto provider = openai_chat_provider({.provider = "openai-chat", .model = "m", .api = ModelApi::openai_chat});
  fuzz::check_answer(*provider, input);
  const auto read = fuzz::read_pieces(*provider->reader({}), input);
  if (read.answer) fuzz::require(text_of(read.answer->message) == read.told, "another text than was told");
}
