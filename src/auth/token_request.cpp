#include "auth/token_request.h"

#include <fmt/format.h>

#include "auth/scopes.h"
#include "base/crypto.h"
#include "http/url.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::string_view jwt_bearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";
constexpr std::string_view token_exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
constexpr std::string_view id_jag = "urn:ietf:params:oauth:token-type:id-jag";
constexpr std::string_view jwt_assertion = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

// The members of each grant.
struct GrantWriter {
  std::string& form;

  void operator()(const CodeGrant& grant) const {
    append_form(form, "grant_type", "authorization_code");
    append_form(form, "code", grant.code.reveal());
    append_form(form, "redirect_uri", grant.redirect_uri);
    append_form(form, "code_verifier", grant.verifier.reveal());
  }
  void operator()(const RefreshGrant& grant) const {
    append_form(form, "grant_type", "refresh_token");
    append_form(form, "refresh_token", grant.refresh.reveal());
  }
  void operator()(const ClientCredentialsGrant&) const { append_form(form, "grant_type", "client_credentials"); }
  void operator()(const JwtBearerGrant& grant) const {
    append_form(form, "grant_type", jwt_bearer);
    append_form(form, "assertion", grant.assertion.reveal());
  }
  void operator()(const TokenExchangeGrant& grant) const {
    append_form(form, "grant_type", token_exchange);
    append_form(form, "requested_token_type", id_jag);
    append_form(form, "audience", grant.audience);
    append_form(form, "subject_token", grant.subject_token.reveal());
    append_form(form, "subject_token_type", grant.subject_token_type);
  }
};

HttpRequest form_request(const std::string& endpoint) {
  return {.method = "POST",
          .url = endpoint,
          .headers = {{"Content-Type", "application/x-www-form-urlencoded"}, {"Accept", "application/json"}},
          .body = {}};
}

// Who we are, in the body or in a header, and by one proof alone (RFC 6749, 2.3).
Result<void> add_client(HttpRequest& request, const OAuthClient& client, ClientAuthentication authentication,
                        const std::string& issuer, std::chrono::sys_seconds now, const Random& random) {
  switch (authentication) {
    case ClientAuthentication::none:
      append_form(request.body, "client_id", client.id);
      return {};
    case ClientAuthentication::basic:
      request.headers.set("Authorization", "Basic " + base64_encode(form_encoded(client.id) + ":" +
                                                                    form_encoded(client.secret.reveal())));
      return {};
    case ClientAuthentication::post:
      append_form(request.body, "client_id", client.id);
      append_form(request.body, "client_secret", client.secret.reveal());
      return {};
    case ClientAuthentication::private_key_jwt:
      break;
  }
  const auto key = SigningKey::from_pem(client.private_key);
  if (!key) return std::unexpected(key.error());
  const auto assertion = signed_jwt(*key, client.key_algorithm,
                                    {.issuer = client.id, .subject = client.id, .audience = issuer}, now, random);
  if (!assertion) return std::unexpected(assertion.error());
  // The id is in the assertion; some servers look for it here all the same.
  append_form(request.body, "client_id", client.id);
  append_form(request.body, "client_assertion_type", jwt_assertion);
  append_form(request.body, "client_assertion", *assertion);
  return {};
}

}  // namespace

Result<HttpRequest> token_request(const TokenRequest& request, std::chrono::sys_seconds now, const Random& random) {
  if (request.endpoint.empty()) {
    return fail(Errc::protocol, fmt::format("{} does not say where it gives out tokens (token_endpoint)",
                                            clean_line(redacted_url(request.issuer))));
  }
  auto http = form_request(request.endpoint);
  std::visit(GrantWriter{http.body}, request.grant);
  if (!request.resource.empty()) append_form(http.body, "resource", request.resource);
  if (!request.scopes.empty()) append_form(http.body, "scope", join_scopes(request.scopes));
  if (request.client) {
    auto added = add_client(http, *request.client, request.authentication, request.issuer, now, random);
    if (!added) return std::unexpected(std::move(added).error());
  }
  return http;
}

std::vector<Secret> secrets_in(const TokenRequest& request, const HttpRequest& http) {
  struct Visitor {
    std::vector<Secret> operator()(const CodeGrant& grant) const { return {grant.code, grant.verifier}; }
    std::vector<Secret> operator()(const RefreshGrant& grant) const { return {grant.refresh}; }
    std::vector<Secret> operator()(const ClientCredentialsGrant&) const { return {}; }
    std::vector<Secret> operator()(const JwtBearerGrant& grant) const { return {grant.assertion}; }
    std::vector<Secret> operator()(const TokenExchangeGrant& grant) const { return {grant.subject_token}; }
  };
  auto secrets = std::visit(Visitor{}, request.grant);
  if (request.client) secrets.push_back(request.client->secret);
  const auto members = read_form(http.body);
  for (const auto& [name, value] : members.value_or(FormMembers())) {
    if (name == "client_assertion") secrets.emplace_back(value);
  }
  const auto meant = secrets.size();
  for (std::size_t i = 0; i < meant; ++i) {
    auto sent = form_encoded(secrets[i].reveal());
    if (sent != secrets[i].reveal()) secrets.emplace_back(std::move(sent));
  }
  constexpr std::string_view basic = "Basic ";
  if (const auto header = http.headers.get("Authorization"); header.starts_with(basic)) {
    secrets.emplace_back(std::string(header.substr(basic.size())));
  }
  return secrets;
}

Result<HttpRequest> revocation_request(const std::string& endpoint, const TokenSet& tokens, const OAuthClient& client,
                                       ClientAuthentication authentication, const std::string& issuer,
                                       std::chrono::sys_seconds now, const Random& random) {
  if (endpoint.empty()) {
    return fail(Errc::unsupported,
                fmt::format("{} does not take tokens back (revocation_endpoint)", clean_line(redacted_url(issuer))));
  }
  auto http = form_request(endpoint);
  const bool refresh = !tokens.refresh.empty();
  append_form(http.body, "token", (refresh ? tokens.refresh : tokens.access).reveal());
  append_form(http.body, "token_type_hint", refresh ? "refresh_token" : "access_token");
  auto added = add_client(http, client, authentication, issuer, now, random);
  if (!added) return std::unexpected(std::move(added).error());
  return http;
}

}  // namespace patchbay
