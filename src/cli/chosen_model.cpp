#include "cli/chosen_model.h"

#include <utility>

#include <fmt/format.h>

#include "host/start/stored_secrets.h"
#include "settings/settings_layers.h"
#include "text/shell_word.h"

namespace patchbay::cli {

std::expected<ModelChoice, NoModel> chosen_model(std::string words, const LoadedConfig& config, SecretVault& vault) {
  return choose_model({.words = std::move(words),
                       .setting = model_setting(layers_of(config.settings)),
                       .variables = variables_of(config),
                       .secrets = [&vault](const std::string& name) { return vault.read(vault_name(name)); }});
}

std::string model_line(const ModelChoice& choice) {
  const auto reason = reason_text(choice);
  return reason.empty() ? choice.text() : fmt::format("{} ({})", choice.text(), reason);
}

std::string no_model_words(const NoModel& none, TypedWhere where) {
  const bool chat = where == TypedWhere::chat;
  const auto& message = none.error.message();
  switch (none.why) {
    case NoModel::Why::nothing_set_up:
      if (chat) {
        return message +
               "\n  A model on this machine: /model ollama:NAME\n  To try it without a model: /model script:FILE\n"
               "  With a key: set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY before you begin; or keep a key, "
               "in "
               "another terminal: patchbay secret set ANTHROPIC_API_KEY, and then here: /model anthropic";
      }
      return message +
             "\n  Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or keep a key: patchbay secret set "
             "ANTHROPIC_API_KEY\n  A model on this machine: --model ollama:NAME\n  To try it without a model: --model "
             "script:FILE";
    case NoModel::Why::no_key:
      if (chat) {
        return fmt::format("{0}\n  Keep it, in another terminal: patchbay secret set{1}; then here the same again",
                           message, shell_operands({none.variable}));
      }
      return fmt::format("{0}\n  Set {1}, or keep it: patchbay secret set{2}", message, none.variable,
                         shell_operands({none.variable}));
    case NoModel::Why::wrong:
      break;
  }
  return message;
}

}  // namespace patchbay::cli
