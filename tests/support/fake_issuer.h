// FakeIssuer: an authorization server without a network, for tests of sign-in: it answers the requests of
// auth/engine/sign_in as a real one would, counts them, and does what a test tells it to do wrong. FakeVisit is the
// browser of somebody who says yes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "auth/engine/sign_in.h"

namespace patchbay::test {

// The members of a form or of a query.
std::map<std::string, std::string> form_of(std::string_view text);

struct FakeIssuer {
  std::string issuer = "https://issuer.example";
  std::string resource = "https://mcp.example/mcp";
  // Documents by URL; made by add_documents(), and changed by tests. Everything else is 404.
  std::map<std::string, std::string> documents;
  void add_documents();
  // Set: asked before anything else about a GET.
  std::function<std::optional<HttpAnswer>(const HttpRequest& request)> instead_of_document;

  std::vector<std::string> asked;  // every URL, in order
  std::vector<std::map<std::string, std::string>> token_requests;
  std::vector<HttpHeaders> token_headers;
  int registrations = 0;
  int refreshes = 0;
  int given = 0;  // access tokens: "access-1", …
  std::string last_refresh = "refresh-1";
  std::chrono::seconds lifetime{3600};
  bool rotates = true;
  bool confidential =
      false;  // registrations have a secret and are for the scopes that they name; tokens know whose they are
  std::string refuses_registration;  // not empty: with this body
  // Set: the answer to the next token requests instead of tokens.
  std::function<std::optional<HttpAnswer>(const std::map<std::string, std::string>& form)> instead;
  std::function<Task<void>()> before_token;  // waited for before a token request is answered

  AuthFetch fetch();
  FindWay way(ServerNetwork network = {});

  // The visits of a browser: what it was sent to, and what comes back.
  std::vector<std::map<std::string, std::string>> visits;
  std::vector<VisitWish> wishes;
  std::function<void(CallbackAnswer&)> change_answer;
  bool nobody_comes = false;        // until the time of the visit is over
  std::vector<Result<void>> pages;  // how each visit ended, as its page says it
  OpenVisit browser();
  int windows = 0, most_windows = 0;

 private:
  std::map<std::string, std::string> owners_;  // of refresh tokens
  Task<HttpAnswer> answer(HttpRequest request);
};

}  // namespace patchbay::test
