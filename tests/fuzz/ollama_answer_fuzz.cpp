// What Ollama answers, and its errors: calls have ids of their own, what was told is what is kept, it can be sent back,
// and an error is no longer than a message may be.
#include "agent/models/known_models.h"
#include "agent/models/ollama.h"
#include "fuzz/answer_rules.h"

using namespace patchbay;

FUZZ_TARGET(ollama_answer) {
  const auto provider = ollama_provider(known_model(ModelProvider::ollama, "qwen3"));
  const auto failure = provider->failure(400, input, fuzz::request_before());
  fuzz::require(failure.message.size() <= 2'000 && failure.type.size() <= 2'000, "words without bound");
  fuzz::require(failure.tool.empty() || failure.tool == "look", "a tool that was not sent");
  fuzz::require(failure.status >= 400 && failure.status < 600, "a failure that is none");

  fuzz::check_answer(*provider, input);
  const auto read = fuzz::read_pieces(*provider->reader(fuzz::request_before()), input);
  if (!read.answer) return;
  std::string kept;
  for (const auto& part : read.answer->message.parts) {
    if (const auto* text = std::get_if<ModelText>(&part)) kept += text->text;
  }
  fuzz::require(kept == read.told, "another text than was told");
}
