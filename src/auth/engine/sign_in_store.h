// What sign-in keeps from run to run: tokens by issuer and resource, who we are at each issuer, and which server
// belongs to which of them. An interface, so that the engine can be tried in memory; auth/vault_sign_ins is the one on
// disk. Every process of a user may use one at the same time. Loop thread only; each call may wait for a keyring or a
// lock. Throws why something cannot be read: "nothing there" and "not reached" are different answers.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/json.h>
#include <patchbay/task.h>

#include "auth/engine/sign_in_step.h"
#include "auth/oauth_types.h"

namespace patchbay {

// The last thing that went wrong, for people who look later.
struct SignInFailure {
  SignInStep step = SignInStep::preparation;
  std::string message;
  std::chrono::sys_seconds time{};
  bool operator==(const SignInFailure&) const = default;
};

class SignInStore {
 public:
  virtual ~SignInStore() = default;

  // The token that was last used for this URL.
  virtual Task<std::optional<TokenSet>> token_of_server(std::string server_url) = 0;
  virtual Task<std::optional<TokenSet>> token(std::string issuer, std::string resource) = 0;
  // Returns when it is kept. `server_url` belongs to it from now on.
  virtual Task<void> keep_token(TokenSet tokens, std::string server_url) = 0;
  // Also what else was kept about the server.
  virtual Task<void> forget_token(std::string issuer, std::string resource) = 0;
  // The server belongs to none any more: also to no older one, where it could not be taken from that in time. A token
  // that no server belongs to goes.
  virtual Task<void> leave_tokens(std::string server_url) = 0;

  virtual Task<std::optional<OAuthClient>> client(std::string issuer) = 0;
  virtual Task<void> keep_client(OAuthClient client) = 0;
  virtual Task<void> forget_client(std::string issuer) = 0;

  // A secret of another kind: a client secret, an identity token. By its whole name.
  virtual Task<std::optional<Secret>> secret(std::string name) = 0;
  virtual Task<void> keep_secret(std::string name, Secret value, Json note) = 0;
  virtual Task<void> forget_secret(std::string name) = 0;

  // What a server wants beside what it was given, until somebody signs in for it, in whatever process.
  virtual Task<std::optional<SignInNeed>> need(std::string server_url) = 0;
  virtual Task<void> keep_need(std::string server_url, std::optional<SignInNeed> need) = 0;

  virtual Task<void> note_failure(std::string server_url, std::optional<SignInFailure> failure) = 0;

  // While it is held nobody else, in any process, does what the name stands for. Errc::timeout when others keep it.
  class Lock {
   public:
    virtual ~Lock() = default;
  };
  virtual Task<std::unique_ptr<Lock>> lock(std::string name) = 0;
};

// For one run alone.
std::shared_ptr<SignInStore> memory_sign_ins();

}  // namespace patchbay
