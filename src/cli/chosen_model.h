// Which model the commands with a conversation use, and what they say about it. choose_model() decides; this brings it
// the words, the configuration and the store of secrets of this program.
#pragma once

#include <expected>
#include <string>

#include <patchbay/config.h>

#include "agent/models/model_choice.h"
#include "auth/store/secret_vault.h"
#include "cli/texts/typed_where.h"

namespace patchbay::cli {

// `words` are those of --model. A key that no variable has is looked up in the store, which may ask for a passphrase.
// Blocking.
std::expected<ModelChoice, NoModel> chosen_model(std::string words, const LoadedConfig& config, SecretVault& vault);

// "anthropic:claude-… (ANTHROPIC_API_KEY is set)".
std::string model_line(const ModelChoice& choice);
// What is missing, and how to set it.
std::string no_model_words(const NoModel& none, TypedWhere where = TypedWhere::shell);

}  // namespace patchbay::cli
