// Signing in at servers that want it (OAuth 2.1), as a program that has a Host sees it. Values and functions of the
// program; Host::sign_in and Host::sign_out use them. docs/sign-in.md tells what happens.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/error.h>

namespace patchbay {

// A page of an authorization server that the user has to see.
struct SignInPage {
  std::string server;        // the name of the entry; of an identity provider its issuer
  std::string url;           // https, or http to this machine; nothing else is ever shown
  std::string redirect_uri;  // where the browser ends
};

// Who signs the user in for many servers at once (cross-app access); entries with "oauth": {"xaa": true} use it.
struct IdentityProvider {
  std::string issuer;
  std::string client_id;
  std::string client_secret = {};   // empty: a public client
  std::string token_endpoint = {};  // empty: as its description says
  std::optional<std::uint16_t> callback_port = {};
};

struct SignInResult {
  std::string issuer;
  std::string resource;                             // what the token is for
  std::optional<std::vector<std::string>> granted;  // scopes; unset: those that were asked for
  bool registered = false;                          // we were not known there before
};

struct SignOutResult {
  bool was_signed_in = false;
  std::string issuer = {};
  // Why whoever gave the token could not be told that it is not needed any more; it is forgotten here all the same.
  std::string not_told = {};
};

// What is kept about the sign-in of one server.
struct SignInStatus {
  std::string server;
  std::string url;
  bool signed_in = false;
  std::string issuer;
  std::string resource;
  std::string client_id;
  std::vector<std::string> scopes;
  std::optional<std::chrono::sys_seconds> expires;  // of the access token
  std::optional<std::chrono::sys_seconds> obtained;
  std::optional<std::chrono::sys_seconds> refreshed;
  bool can_refresh = false;
  std::string kept_in;      // "keyring" or "file"
  std::string failed_step;  // of the last attempt, when it failed
  std::string failure;
  std::optional<std::chrono::sys_seconds> failed_at;
};

}  // namespace patchbay
