// An MCP server that wants sign-in, and the authorization server that belongs to it, on one port of this machine: for
// tests of the binary that need no packages of others. Says yes to everybody; counts what it is asked. The browser of
// these tests is a script that follows redirects. Any thread.
#pragma once

#include <atomic>
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

  std::atomic<int> registrations = 0;
  std::atomic<int> authorizations = 0;
  std::atomic<int> codes = 0;  // that were exchanged
  std::atomic<int> refreshes = 0;
  std::atomic<int> revocations = 0;
  std::atomic<bool> denies = false;         // the user says no
  std::atomic<bool> refuses_codes = false;  // the token endpoint does
  std::atomic<bool> refuses_tokens = false;
  std::atomic<bool> cannot_be_told = false;  // revocation answers 503

  static constexpr const char* code = "good-code-5ab1";

 private:
  void serve(ScriptConnection& connection);
  void answer(ScriptConnection& connection, const ScriptConnection::Request& request);
  void answer_mcp(ScriptConnection& connection, const ScriptConnection::Request& request);
  void answer_token(ScriptConnection& connection, const std::string& body);
  void authorize(ScriptConnection& connection, const std::string& target);

  std::mutex mutex_;
  std::string token_;  // the one that is valid
  int given_ = 0;
  ScriptedServer server_;
};

// A program for $BROWSER that opens the page, and everything it leads to.
std::string browser_script();

}  // namespace patchbay::test
