#include "support/sign_in_server.h"

#include <fmt/format.h>

#include "http/form.h"

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
  if (path == "/mcp") return answer_mcp(connection, request);
  if (path == "/.well-known/oauth-protected-resource/mcp") {
    return json_answer(connection, "200 OK",
                       {{"resource", url()},
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
    const std::lock_guard lock(mutex_);
    token_.clear();
    return connection.answer(cannot_be_told ? "503 Service Unavailable" : "200 OK", "");
  }
  connection.answer("404 Not Found", "");
}

void SignInServer::authorize(ScriptConnection& connection, const std::string& target) {
  ++authorizations;
  const auto query = target.substr(target.find('?') + 1);
  std::string location = member(query, "redirect_uri") + "?";
  std::string answer;
  append_form(answer, "state", member(query, "state"));
  append_form(answer, denies ? "error" : "code", denies ? "access_denied" : code);
  connection.answer("302 Found", "", fmt::format("Location: {}{}\r\n", location, answer));
}

void SignInServer::answer_token(ScriptConnection& connection, const std::string& body) {
  const bool by_code = member(body, "grant_type") == "authorization_code";
  if (by_code && (refuses_codes || member(body, "code") != code || member(body, "code_verifier").empty())) {
    return json_answer(connection, "400 Bad Request",
                       {{"error", "invalid_grant"}, {"error_description", "this code is not known"}});
  }
  ++(by_code ? codes : refreshes);
  const std::lock_guard lock(mutex_);
  token_ = fmt::format("planted-access-{}", ++given_);
  json_answer(connection, "200 OK",
              {{"access_token", token_},
               {"token_type", "Bearer"},
               {"expires_in", 3600},
               {"refresh_token", fmt::format("planted-refresh-{}", given_)},
               {"scope", "read"}});
}

void SignInServer::answer_mcp(ScriptConnection& connection, const ScriptConnection::Request& request) {
  {
    const std::lock_guard lock(mutex_);
    if (refuses_tokens || token_.empty() || request.field("Authorization") != "Bearer " + token_) {
      return connection.answer("401 Unauthorized", "",
                               fmt::format("WWW-Authenticate: Bearer resource_metadata=\"{}/.well-known/"
                                           "oauth-protected-resource/mcp\"\r\n",
                                           issuer()));
    }
  }
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
