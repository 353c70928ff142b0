#include "cli/vault.h"

#include <fmt/format.h>

#include "cli/approval.h"
#include "cli/kept.h"
#include "settings/variables.h"

namespace patchbay::cli {
namespace {

VaultOptions options_for(const std::string& config_dir) {
  VaultOptions options;
  options.state_directory = state_directory();
  options.config_directory = config_dir;
  options.variables = process_environment();
  return options;
}

}  // namespace

std::shared_ptr<SecretVault> open_vault_quietly(const std::string& config_dir) {
  return std::make_shared<SecretVault>(options_for(config_dir));
}

std::shared_ptr<SecretVault> open_vault(const Settings& settings, const Io& io, const std::string& config_dir) {
  auto options = options_for(config_dir);
  if (io.talk_is_terminal && !settings.json) {
    options.ask_passphrase = [](PassphraseUse use) -> std::optional<Secret> {
      try {
        Secret typed(ask_secret(use == PassphraseUse::open ? "Passphrase of your secrets: "
                                                           : "That was not it. Passphrase of your secrets: "));
        return typed.empty() ? std::nullopt : std::optional(std::move(typed));
      } catch (const Error&) {
        return std::nullopt;
      }
    };
  }
  return std::make_shared<SecretVault>(std::move(options));
}

std::string place_words(SecretPlace place) {
  if (place == SecretPlace::keyring) return "the system keyring";
  return fmt::format("an encrypted file ({}/secrets/sealed)", state_directory());
}

std::string protection_words(SecretVault& vault) {
  const auto protection = vault.protection();
  if (!protection || !*protection) return {};
  if (**protection == FileProtection::passphrase) return "The encrypted file is protected by your passphrase.";
  return fmt::format(
      "The key of the encrypted file is in {}. That protects your secrets from other users and in a copy of one of the "
      "two files, but not from somebody who can read your home directory. To use a passphrase instead: patchbay secret "
      "passphrase",
      vault.key_file());
}

}  // namespace patchbay::cli
