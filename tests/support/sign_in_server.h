// An MCP server that wants sign-in, the authorization server that belongs to it and an identity provider that this one
// trusts, on one port of this machine: for tests of the binary that need no packages of others. A directory of
// connectors and the proxy that these are reached through are there as well, each a resource with a token of its own.
// Says yes to everybody; counts what it is asked. The browser of these tests is a script that follows redirects. Any
// thread.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include <patchbay/json.h>

#include "support/scripted_server.h"

namespace patchbay::test {

class SignInServer {
 public:
  SignInServer();

  std::string url() const { return server_.url("/mcp"); }
  std::string issuer() const { return server_.url(""); }
  // Lists "One" and "Two", which are behind the proxy.
  std::string directory() const { return server_.url("/directory"); }
  std::string proxy() const { return server_.url("/proxy/{server_id}"); }

  std::atomic<int> registrations = 0;
  std::atomic<int> authorizations = 0;
  std::atomic<int> codes = 0;  // that were exchanged
  std::atomic<int> refreshes = 0;
  std::atomic<int> revocations = 0;
  std::atomic<int> exchanges = 0;           // of identity tokens
  std::atomic<bool> denies = false;         // the user says no
  std::atomic<bool> refuses_codes = false;  // the token endpoint does
  std::atomic<bool> refuses_tokens = false;
  std::atomic<bool> exchanges_for_access = false;  // gives an access token, where a statement is asked for
  std::atomic<bool> cannot_be_told = false;        // revocation answers 503

  // Nothing that was given is worth anything any more.
  void revoke();
  // Access tokens are not, refresh tokens are.
  void expire();

  static constexpr const char* code = "good-code-5ab1";

 private:
  void serve(ScriptConnection& connection);
  void answer(ScriptConnection& connection, const ScriptConnection::Request& request);
  void answer_mcp(ScriptConnection& connection, const ScriptConnection::Request& request);
  // False, and answered, for whoever has no token for the resource at `path`.
  bool lets_in(ScriptConnection& connection, const ScriptConnection::Request& request, const std::string& path);
  void answer_token(ScriptConnection& connection, const std::string& body);
  void authorize(ScriptConnection& connection, const std::string& target);

  std::mutex mutex_;
  std::map<std::string, std::string> tokens_;     // by resource: the one that is valid
  std::map<std::string, std::string> resources_;  // of refresh tokens
  std::string nonce_;                             // of the last sign-in
  int given_ = 0;
  ScriptedServer server_;
};

// A program for $BROWSER that opens the page, and everything it leads to.
std::string browser_script();

}  // namespace patchbay::test
