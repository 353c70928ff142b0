// Signing in at servers that want it (OAuth 2.1), as a program that has a Host sees it. Values and functions of the
// program; Host::sign_in and Host::sign_out use them. docs/sign-in.md tells what happens.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/task.h>

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

struct SignInOptions {
  // Shows the user a page, for instance by opening a browser; returns when it is shown. Unset, like `paste`: nobody can
  // sign in, and a server that wants it stays without.
  std::function<Task<void>(SignInPage)> show;
  // For a machine whose browser is elsewhere: shows the page and returns the address that the browser ended at, which
  // the user copied. Takes precedence over `show`.
  std::function<Task<std::string>(SignInPage)> paste;
  // The secret of the client that the entry of this server names, instead of a kept one; an empty text where there is
  // none.
  std::function<Task<std::string>(std::string server)> client_secret = {};
  std::optional<IdentityProvider> identity_provider = {};
  // The user's identity token of that provider, instead of the one that Host::sign_in_at_provider got.
  std::function<Task<std::string>()> identity_token = {};
  // What authorization servers tell the user about who asks.
  std::string client_name = "Patchbay";
  // The URL of a document about this program (client id metadata document); unset: MCP_OAUTH_CLIENT_METADATA_URL.
  std::optional<std::string> client_metadata_url = {};
  // Where browsers come back to, unless an entry says otherwise; unset: MCP_OAUTH_CALLBACK_HOST and
  // MCP_OAUTH_CALLBACK_PORT, else 127.0.0.1 and any port that is free.
  std::optional<std::string> callback_host = {};
  std::optional<std::uint16_t> callback_port = {};
  std::chrono::milliseconds wait = std::chrono::minutes(10);  // for the user
  // Keeps tokens for this run alone; otherwise they are kept in HostOptions::state_directory, where there is one.
  bool for_this_run = false;
};

struct SignInResult {
  std::string issuer;
  std::string resource;                             // what the token is for
  std::optional<std::vector<std::string>> granted;  // scopes; unset: those that were asked for
  bool registered = false;                          // we were not known there before
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
