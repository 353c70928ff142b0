// The sign-ins of a user on disk: tokens and registrations in the store of secrets, which server belongs to which token
// in the notes beside them, and the last failure of each server in a small file. All processes of the user share it.
// Loop thread; the store itself is used on helper threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "auth/engine/sign_in_store.h"
#include "auth/store/secret_vault.h"

namespace patchbay {

// How the notes name a server: its URL may hold a secret.
std::string server_mark(const std::string& server_url);

std::shared_ptr<SignInStore> vault_sign_ins(std::shared_ptr<SecretVault> vault, std::string state_directory);

// One kept token, without its secrets: what the index says.
struct KeptSignIn {
  std::string issuer;
  std::string resource;
  std::string client_id;
  Scopes scopes;
  std::optional<std::chrono::sys_seconds> expires, obtained, refreshed;
  bool can_refresh = false;
  SecretPlace place = SecretPlace::file;
  std::vector<std::string> servers;  // by server_mark()
};
// Blocking. In the order of the index.
Result<std::vector<KeptSignIn>> kept_sign_ins(SecretVault& vault);
// Blocking. Nothing: the last attempt was a success, or there was none.
std::optional<SignInFailure> kept_failure(const std::string& state_directory, const std::string& server_url);

}  // namespace patchbay
