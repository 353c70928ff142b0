// Which model a conversation is held with, and how it is reached: from what was asked for ("anthropic:claude-…"),
// "model" of our configuration, variables and kept secrets. Pure but for the look into the store of secrets, which is
// handed in and may block; any thread. make_model.h makes a Model of the choice.
//
// Asked for is PROVIDER:NAME, PROVIDER (its usual model) or a NAME that only one provider has. When nothing is asked
// for or configured, the first of anthropic, openai, gemini and ollama counts that has a key or an address.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include <patchbay/config.h>
#include <patchbay/error.h>
#include <patchbay/model.h>

#include "agent/models/known_models.h"
#include "base/secret.h"
#include "settings/settings_file.h"

namespace patchbay {

// Looks a kept secret up; nothing when there is none of that name.
using KeptSecretLookup = std::function<Result<std::optional<Secret>>(const std::string& name)>;

// "model" of a settings file.
struct ModelSetting {
  std::string text = {};
  std::string file = {};
  std::size_t line = 0;
  // The file is that of another program as well: a name without a provider is a wish for where that is possible.
  bool shared = false;
  bool operator==(const ModelSetting&) const = default;
};
std::optional<ModelSetting> model_setting(std::span<const SettingsLayer> layers);

struct ModelQuestion {
  std::string words = {};  // what was asked for; empty: nothing
  std::optional<ModelSetting> setting = {};
  VariableLookup variables = {};  // unset: none
  KeptSecretLookup secrets = {};  // unset: none
};

struct ModelChoice {
  // Why this one and no other.
  enum class Because : std::uint8_t { asked, setting, variable, secret };

  ModelProvider provider = ModelProvider::script;
  std::string name = {};  // as the provider calls it; of a script its file
  std::string base = {};  // http or https, without a slash at the end; of a script empty
  bool own_base = false;  // a variable says so: not the provider's own address
  Secret key = {};        // empty: none
  ModelKeyKind key_kind = ModelKeyKind::none;
  std::string key_name = {};   // of the variable or the secret that the key is from
  bool key_is_secret = false;  // from the store of secrets
  Because because = Because::asked;
  std::string because_of = {};  // the variable, the secret, or file and line
  ModelInfo info = {};          // what is known of it; a program may know better

  std::string text() const;  // "anthropic:claude-…"
};
// "ANTHROPIC_API_KEY is set"; empty for what was asked for.
std::string reason_text(const ModelChoice& choice);

// Why there is none. A program says how a model is set up there: Errc::config alone does not tell it what is missing.
struct NoModel {
  enum class Why : std::uint8_t {
    nothing_set_up,  // nobody said which, and there is no key and no address
    no_key,          // `variable` is not set, nor is there a secret of that name
    wrong,           // what was asked for, a variable, the store of secrets
  };
  Why why = Why::wrong;
  std::string variable = {};
  Error error;
};

std::expected<ModelChoice, NoModel> choose_model(const ModelQuestion& question);

}  // namespace patchbay
