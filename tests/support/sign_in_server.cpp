#include "support/sign_in_server.h"

#include <chrono>

#include <fmt/format.h>

#include "base/crypto.h"
#include "http/form.h"
#include "support/planted.h"

namespace patchbay::test {
namespace {

std::string member(std::string_view form, std::string_view name) {
  const auto read = read_form(form);
  if (!read) return {};
  for (const auto& [key, value] : *read) {
    if (key == name) return value;
  }
  return {};
}

// The protected part of this machine that a path is in, by its name; empty: none.
std::string resource_of(const std::string& path) {
  if (path == "/mcp" || path == "/directory") return path;
  return path.starts_with("/proxy") ? "/proxy" : "";
}

constexpr std::string_view metadata_at = "/.well-known/oauth-protected-resource";

void json_answer(ScriptConnection& connection, std::string_view status, const Json& body) {
  connection.answer(status, to_text(body), "Content-Type: application/json\r\n");
}

}  // namespace

SignInServer::SignInServer() : server_([this](ScriptConnection& connection) { serve(connection); }) {}

void SignInServer::serve(ScriptConnection& connection) {
  for (;;) {
    const auto request = connection.read_request();
    answer(connection, request);
  }
}

void SignInServer::answer(ScriptConnection& connection, const ScriptConnection::Request& request) {
  const auto line = request.line();
  const auto target = line.substr(line.find(' ') + 1, line.rfind(' ') - line.find(' ') - 1);
  const auto path = target.substr(0, target.find('?'));
  if (path == "/mcp" || path.starts_with("/proxy/")) {
    if (lets_in(connection, request, path)) answer_mcp(connection, request);
    return;
  }
  if (path == "/directory") {
    if (!lets_in(connection, request, path)) return;
    const Json one{{"id", "one"}, {"display_name", "One"}, {"url", "https://one.example/mcp"}};
    const Json two{{"id", "two"}, {"display_name", "Two"}, {"url", "https://two.example/mcp"}};
    return json_answer(connection, "200 OK", {{"data", Json::array({one, two})}});
  }
  if (path.starts_with(metadata_at)) {
    const auto resource = resource_of(path.substr(metadata_at.size()));
    if (resource.empty()) return connection.answer("404 Not Found", "");
    return json_answer(connection, "200 OK",
                       {{"resource", issuer() + resource},
                        {"authorization_servers", Json::array({issuer()})},
                        {"scopes_supported", Json::array({"read"})}});
  }
  if (path == "/.well-known/oauth-authorization-server") {
    return json_answer(connection, "200 OK",
                       {{"issuer", issuer()},
                        {"authorization_endpoint", issuer() + "/authorize"},
                        {"token_endpoint", issuer() + "/token"},
                        {"registration_endpoint", issuer() + "/register"},
                        {"revocation_endpoint", issuer() + "/revoke"},
                        {"response_types_supported", Json::array({"code"})},
                        {"code_challenge_methods_supported", Json::array({"S256"})},
                        {"token_endpoint_auth_methods_supported", Json::array({"none"})}});
  }
  if (path == "/register") {
    ++registrations;
    auto body = parse_json(request.body).value_or(Json::object());
    body["client_id"] = "client-1";
    return json_answer(connection, "201 Created", body);
  }
  if (path == "/authorize") return authorize(connection, target);
  if (path == "/token") return answer_token(connection, request.body);
  if (path == "/revoke") {
    ++revocations;
    revoke();
    return connection.answer(cannot_be_told ? "503 Service Unavailable" : "200 OK", "");
  }
  connection.answer("404 Not Found", "");
}

void SignInServer::revoke() {
  const std::lock_guard lock(mutex_);
  tokens_.clear();
  resources_.clear();
}

void SignInServer::expire() {
  const std::lock_guard lock(mutex_);
  tokens_.clear();
}

void SignInServer::authorize(ScriptConnection& connection, const std::string& target) {
  ++authorizations;
  const auto query = target.substr(target.find('?') + 1);
  {
    const std::lock_guard lock(mutex_);
    nonce_ = member(query, "nonce");
  }
  const std::string location = member(query, "redirect_uri") + "?";
  std::string answer;
  append_form(answer, "state", member(query, "state"));
  append_form(answer, denies ? "error" : "code", denies ? "access_denied" : code);
  connection.answer("302 Found", "", fmt::format("Location: {}{}\r\n", location, answer));
}

void SignInServer::answer_token(ScriptConnection& connection, const std::string& body) {
  const auto grant = member(body, "grant_type");
  note_planted(code);
  note_planted(member(body, "code_verifier"));
  const bool by_code = grant == "authorization_code";
  if (grant == "urn:ietf:params:oauth:grant-type:token-exchange") {
    ++exchanges;
    note_planted("planted-statement");
    return json_answer(connection, "200 OK",
                       {{"access_token", "planted-statement"},
                        {"issued_token_type", exchanges_for_access ? "urn:ietf:params:oauth:token-type:access_token"
                                                                   : "urn:ietf:params:oauth:token-type:id-jag"},
                        {"token_type", "N_A"}});
  }
  if (by_code && (refuses_codes || member(body, "code") != code || member(body, "code_verifier").empty())) {
    return json_answer(connection, "400 Bad Request",
                       {{"error", "invalid_grant"}, {"error_description", "this code is not known"}});
  }
  if (by_code) ++codes;
  if (grant == "refresh_token") ++refreshes;
  const std::lock_guard lock(mutex_);
  auto resource = member(body, "resource");
  if (grant == "refresh_token") {
    const auto known = resources_.find(member(body, "refresh_token"));
    if (known == resources_.end()) return json_answer(connection, "400 Bad Request", {{"error", "invalid_grant"}});
    resource = known->second;
  }
  Json given{{"token_type", "Bearer"}, {"expires_in", 3600}};
  if (by_code && !nonce_.empty()) {
    const auto later = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()) + 600;
    const Json claims{{"iss", issuer()}, {"aud", member(body, "client_id")}, {"nonce", nonce_}, {"exp", later}};
    given["id_token"] =
        base64url_encode("{\"alg\":\"none\"}") + "." + base64url_encode(to_text(claims)) + ".cGxhbnRlZA";
    given["access_token"] = "planted-access-of-the-provider";
  } else {
    // A statement of an identity provider is for the one server.
    if (resource.empty()) resource = url();
    const auto token = tokens_[resource] = fmt::format("planted-access-{}", ++given_);
    const auto refresh = fmt::format("planted-refresh-{}", given_);
    resources_[refresh] = resource;
    given["access_token"] = token;
    given["refresh_token"] = refresh;
    given["scope"] = "read";
  }
  for (const auto* name : {"access_token", "refresh_token", "id_token"}) {
    note_planted(std::as_const(given)[name].text().value_or(""));
  }
  json_answer(connection, "200 OK", given);
}

bool SignInServer::lets_in(ScriptConnection& connection, const ScriptConnection::Request& request,
                           const std::string& path) {
  const auto resource = resource_of(path);
  {
    const std::lock_guard lock(mutex_);
    const auto token = tokens_.find(issuer() + resource);
    if (!refuses_tokens && token != tokens_.end() && request.field("Authorization") == "Bearer " + token->second) {
      return true;
    }
  }
  connection.answer(
      "401 Unauthorized", "",
      fmt::format("WWW-Authenticate: Bearer resource_metadata=\"{}{}{}\"\r\n", issuer(), metadata_at, resource));
  return false;
}

void SignInServer::answer_mcp(ScriptConnection& connection, const ScriptConnection::Request& request) {
  if (!request.line().starts_with("POST ")) return connection.answer("405 Method Not Allowed", "");
  const auto message = parse_json(request.body).value_or(Json::object());
  const auto& asked = std::as_const(message);
  if (asked["id"].is_null()) return connection.answer("202 Accepted", "");
  Json reply{{"jsonrpc", "2.0"}, {"id", asked["id"]}};
  const auto method = asked["method"].text().value_or("");
  if (method == "initialize") {
    reply["result"] = Json{{"protocolVersion", "2025-06-18"},
                           {"capabilities", Json{{"tools", Json::object()}}},
                           {"serverInfo", Json{{"name", "guarded"}, {"version", "1"}}}};
  } else if (method == "tools/list") {
    reply["result"] =
        Json{{"tools", Json::array({Json{{"name", "hello"}, {"inputSchema", Json{{"type", "object"}}}}})}};
  } else if (method == "tools/call") {
    reply["result"] = Json{{"content", Json::array({Json{{"type", "text"}, {"text", "hello, signed-in user"}}})}};
  } else {
    reply["error"] = Json{{"code", -32601}, {"message", "Method not found"}};
  }
  json_answer(connection, "200 OK", reply);
}

std::string browser_script() {
  return "#!/usr/bin/env python3\n"
         "import sys, urllib.request\n"
         "urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1], timeout=60).read()\n";
}

}  // namespace patchbay::test
