// The store of secrets as commands use it: in the state directory, with a passphrase asked for on the terminal where
// there is one. Blocking.
#pragma once

#include <memory>
#include <string>

#include "auth/store/secret_vault.h"
#include "cli/io.h"
#include "cli/words/settings.h"

namespace patchbay::cli {

// With a terminal somebody can be asked; otherwise nobody is.
std::shared_ptr<SecretVault> open_vault(const Settings& settings, const Io& io, const std::string& config_dir);
std::shared_ptr<SecretVault> open_vault_quietly(const std::string& config_dir);

// "the system keyring", or the encrypted file and its path.
std::string place_words(SecretPlace place);
// What protects the encrypted file, and from what.
std::string protection_words(SecretVault& vault);

// `patchbay secret`.
int secret(const Settings& settings, Io& io);

}  // namespace patchbay::cli
