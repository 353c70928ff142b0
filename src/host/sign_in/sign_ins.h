// The sign-ins of a host's servers. Makes one ServerSignIn for each entry that is reached by HTTP and has no
// credentials of its own, and keeps it while the entry stays the same, so that a new connection goes on with the token
// of the old one. The directory of connectors and the proxy that they are reached through have one each, which belongs
// to no server: all that are behind the proxy share it. Owned by the Host, used by host/start when a transport is made,
// and by Host::sign_in; loop thread only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <patchbay/config.h>
#include <patchbay/host.h>

#include "auth/engine/sign_in.h"
#include "auth/store/secret_vault.h"
#include "base/runtime.h"
#include "entries/expand.h"
#include "http/client/http_client.h"

namespace patchbay {

// What an entry may not say in its place: a project's entry uses no keys and statements of the user's. Empty: nothing.
std::string sign_in_fault(const ServerConfig& written);
// Whether somebody can sign in for it: reached by HTTP, and no credentials of its own.
bool may_sign_in(const ServerConfig& written);

class SignIns {
 public:
  SignIns(SignInOptions options, const Runtime& runtime);

  // Where tokens are kept, once it is known and before anybody signs in; null: for this run alone.
  void use(const std::shared_ptr<SecretVault>& vault, const std::string& state_directory);

  // `read_file` reads a file of the user, `secret` one of the store by name (Errc::config: there is none).
  struct Reading {
    std::function<Task<Secret>(std::string path)> read_file;
    std::function<Task<Secret>(std::string name)> secret;
    VariableLookup variables;
  };
  std::shared_ptr<ServerSignIn> for_entry(asio::any_io_executor executor, const ServerConfig& written,
                                          const ServerConfig& expanded, HttpClientOptions http, Reading reading);
  // That of an earlier connection; null before there was one.
  std::shared_ptr<ServerSignIn> find(const std::string& server) const;

  // For an address of connectors, which the user's own settings name and which is no server's.
  std::shared_ptr<ServerSignIn> for_address(asio::any_io_executor executor, const Url& address, HttpClientOptions http,
                                            Reading reading);
  // The sign-in of `server` is that one from now on.
  void use_for(const std::string& server, std::shared_ptr<ServerSignIn> sign_in);

  // Whether somebody is there to sign in.
  bool has_person() const noexcept { return options_.show || options_.paste; }
  OpenVisit visits() const;
  // At options.identity_provider; `http` is how it is reached.
  Task<void> sign_in_at_provider(asio::any_io_executor executor, HttpClientOptions http);

  std::shared_ptr<SignInDesk> desk(asio::any_io_executor executor);
  std::shared_ptr<SignInStore> store() const noexcept { return store_; }
  // Renewals that are under way end first.
  Task<void> close();

 private:
  struct Known {
    std::string identity;
    std::shared_ptr<ServerSignIn> sign_in;
    // As it is now: the configuration may have been read again since the sign-in was made.
    std::shared_ptr<Reading> reading;
  };
  SignInOptions options_;
  Runtime runtime_;
  std::shared_ptr<SignInStore> store_;
  std::shared_ptr<SignInDesk> desk_;
  std::map<std::string, Known> known_;      // by the name of the server
  std::map<std::string, Known> addresses_;  // those of no server, by URL
};

}  // namespace patchbay
