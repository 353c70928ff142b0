#include "agent/models/make_model.h"

#include <utility>

#include "agent/models/anthropic.h"
#include "agent/models/gemini.h"
#include "agent/models/http_model.h"
#include "agent/models/known_models.h"
#include "agent/models/ollama.h"
#include "agent/models/openai_chat.h"
#include "agent/models/openai_responses.h"
#include "agent/models/script.h"
#include "settings/files.h"

namespace patchbay {
namespace {

std::shared_ptr<Provider> provider_of(const ModelChoice& choice) {
  switch (choice.provider) {
    case ModelProvider::anthropic: {
      using Credential = AnthropicOptions::Credential;
      return anthropic_provider(
          {.info = choice.info,
           .credential = choice.key_kind == ModelKeyKind::bearer ? Credential::token : Credential::api_key,
           .show_thinking = shows_adaptive_thinking(choice.name),
           .tool_changes = choice.info.holds_deferred && takes_tool_changes(choice.name),
           // Whoever passes the one on knows the other, or says that it does not.
           .cache_diagnosis = choice.info.holds_deferred});
    }
    case ModelProvider::openai:
      return openai_responses_provider(choice.info);
    case ModelProvider::openai_chat:
      return openai_chat_provider(choice.info);
    case ModelProvider::gemini:
      return gemini_provider(choice.info);
    case ModelProvider::ollama:
      return ollama_provider(choice.info);
    case ModelProvider::script:
      break;
  }
  throw Error(Errc::internal, "a script has no provider");
}

}  // namespace

std::shared_ptr<Model> make_model(const ModelChoice& choice, MakeModelOptions options) {
  if (choice.provider == ModelProvider::script) {
    const auto text = read_config_file(choice.name);
    if (!text) throw text.error();
    return make_script_model(choice.name, *text);
  }
  const auto& names = facts_of(choice.provider).keys;
  return make_http_model({.provider = provider_of(choice),
                          .base_url = choice.base,
                          .key = choice.key,
                          .key_name = choice.key_name.empty() ? std::string(names.front().variable) : choice.key_name,
                          .http = std::move(options.http),
                          .limits = options.limits,
                          .retry = options.retry,
                          .refused = std::move(options.refused)});
}

std::shared_ptr<Model> make_model(std::string words, const VariableLookup& variables) {
  const auto choice = choose_model({.words = std::move(words), .variables = variables});
  if (!choice) throw choice.error().error;
  return make_model(*choice, {});
}

}  // namespace patchbay
