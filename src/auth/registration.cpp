#include "auth/registration.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <patchbay/json.h>

#include "auth/scopes.h"
#include "base/strings.h"
#include "http/host_name.h"
#include "http/url.h"
#include "json/kept_records.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t largest_answer = 1u << 20;
constexpr std::size_t longest_text = 8192;
constexpr std::size_t most_redirects = 100;
constexpr std::size_t shown_words = 300;

struct Method {
  std::string_view name;
  ClientAuthentication value;
};
constexpr std::array methods{
    Method{"none", ClientAuthentication::none},
    Method{"client_secret_basic", ClientAuthentication::basic},
    Method{"client_secret_post", ClientAuthentication::post},
    Method{"private_key_jwt", ClientAuthentication::private_key_jwt},
};

bool supports(const IssuerMetadata& issuer, std::string_view method) {
  return issuer.token_authentications &&
         std::ranges::find(*issuer.token_authentications, method) != issuer.token_authentications->end();
}

std::string_view wished_method(const IssuerMetadata& issuer) {
  if (!issuer.token_authentications || supports(issuer, "none")) return "none";
  if (supports(issuer, "client_secret_basic")) return "client_secret_basic";
  return supports(issuer, "client_secret_post") ? "client_secret_post" : "none";
}

bool stays_here(const std::string& redirect) {
  const auto url = parse_url(redirect);
  // A scheme of an application's own has no host.
  if (!url) return !redirect.starts_with("http:") && !redirect.starts_with("https:");
  return url->scheme != "https" && (url->scheme != "http" || is_loopback_host(url->host));
}

// Equal but for the port of a loopback address.
bool same_redirect(const std::string& left, const std::string& right) {
  if (left == right) return true;
  auto a = parse_url(left);
  auto b = parse_url(right);
  if (!a || !b || a->scheme != "http" || !is_loopback_host(a->host)) return false;
  a->port = b->port = 0;
  return *a == *b;
}

bool can_be_used(const OAuthClient& kept, const ClientSources& sources) {
  if (kept.id.empty() || kept.issuer != sources.issuer) return false;
  if (kept.expires && *kept.expires <= sources.now) return false;
  if (kept.scopes && !has_scopes(*kept.scopes, sources.scopes)) return false;
  return std::ranges::all_of(sources.redirect_uris, [&](const std::string& wanted) {
    return std::ranges::any_of(kept.redirect_uris,
                               [&](const std::string& registered) { return same_redirect(registered, wanted); });
  });
}

std::string short_text(const Json& value) {
  const auto text = value.text();
  return text && text->size() <= longest_text ? std::string(*text) : std::string();
}

std::string excerpt(std::string_view text) { return clean_excerpt(text, shown_words); }

Error refusal(int status, const Json& answer, std::string_view body, const IssuerMetadata& issuer) {
  auto why = excerpt(short_text(answer["error"]));
  if (const auto more = excerpt(short_text(answer["error_description"])); !more.empty()) {
    why += (why.empty() ? "" : ": ") + more;
  }
  // A page says nothing in one line.
  if (why.empty() && !trim(body).starts_with('<') && !answer.is_object()) why = excerpt(body);
  return Error(Errc::unauthorized,
               fmt::format("{} does not register this program ({}){}{}", clean_line(redacted_url(issuer.issuer)),
                           status, why.empty() ? "" : ": ", why))
      .with_http_status(status);
}

// 0 and what makes no sense: never.
std::optional<std::chrono::sys_seconds> expiry_in(const Json& value) {
  std::optional<double> seconds = value.to_double();
  if (const auto text = value.text(); text && text->size() < 20) {
    if (const auto number = parse_json(*text)) seconds = number->to_double();
  }
  if (!seconds || !(*seconds > 0) || *seconds > static_cast<double>(last_second)) return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(static_cast<std::int64_t>(*seconds)));
}

}  // namespace

ClientChoice choose_client(const ClientSources& sources, const IssuerMetadata& issuer) {
  if (sources.configured) return ClientChoice::configured;
  if (!sources.document.empty() && issuer.takes_client_documents) return ClientChoice::document;
  if (sources.kept && can_be_used(*sources.kept, sources)) return ClientChoice::kept;
  return issuer.registration_endpoint.empty() ? ClientChoice::none : ClientChoice::register_now;
}

HttpRequest registration_request(const IssuerMetadata& issuer, const RegistrationWish& wish) {
  Json redirects = Json::array();
  for (const auto& uri : wish.redirect_uris) redirects.push_back(Json(uri));
  const bool native = std::ranges::all_of(wish.redirect_uris, stays_here);
  Json body{{"client_name", wish.client_name},
            {"redirect_uris", std::move(redirects)},
            {"grant_types", Json::array({"authorization_code", "refresh_token"})},
            {"response_types", Json::array({"code"})},
            {"token_endpoint_auth_method", wished_method(issuer)},
            {"application_type", native ? "native" : "web"}};
  if (!wish.scopes.empty()) body["scope"] = Json(join_scopes(wish.scopes));
  if (!wish.software_version.empty()) body["software_version"] = Json(wish.software_version);
  return {.method = "POST",
          .url = issuer.registration_endpoint,
          .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}},
          .body = to_text(body)};
}

Result<OAuthClient> read_registration(int status, std::string_view body, const IssuerMetadata& issuer,
                                      const RegistrationWish& wish) {
  if (body.size() > largest_answer) return fail(Errc::protocol, "the answer to the registration is larger than 1 MiB");
  const auto parsed = parse_json(body, {.max_depth = 32});
  const Json answer = parsed && parsed->is_object() ? *parsed : Json();
  auto id = short_text(answer["client_id"]);
  // Some say 200; an error with it is still one.
  if (status / 100 != 2 || (id.empty() && answer["error"].is_string())) {
    return std::unexpected(refusal(status, answer, body, issuer));
  }
  const auto unclear = [&](std::string_view why) {
    return fail(Errc::protocol,
                fmt::format("{} answered the registration with {}", clean_line(redacted_url(issuer.issuer)), why));
  };
  if (!answer.is_object()) return unclear("something that is not a JSON object");
  if (id.empty()) return unclear("no \"client_id\"");
  OAuthClient client;
  client.source = OAuthClient::Source::registered;
  client.issuer = issuer.issuer;
  client.id = std::move(id);
  client.secret = Secret(short_text(answer["client_secret"]));
  client.expires = expiry_in(answer["client_secret_expires_at"]);
  if (const auto method = short_text(answer["token_endpoint_auth_method"]); !method.empty()) {
    const auto known = method_named(method);
    if (!known || *known == ClientAuthentication::private_key_jwt) {
      return fail(Errc::unsupported,
                  fmt::format("{} wants registered programs to prove themselves by \"{}\", which is not possible here",
                              clean_line(redacted_url(issuer.issuer)), excerpt(method)));
    }
    client.authentication = *known;
    // A public client has none, whatever came with it.
    if (*known == ClientAuthentication::none) client.secret = {};
  }
  if (client.secret.empty()) {
    client.authentication = ClientAuthentication::none;
    client.expires.reset();
  }
  for (const auto& uri : answer["redirect_uris"].items()) {
    if (auto text = short_text(uri); !text.empty() && client.redirect_uris.size() < most_redirects) {
      client.redirect_uris.push_back(std::move(text));
    }
  }
  if (client.redirect_uris.empty()) client.redirect_uris = wish.redirect_uris;
  // With what it was not given: to register for that once more would be in vain.
  if (answer["scope"].is_string()) client.scopes = scope_union(split_scopes(short_text(answer["scope"])), wish.scopes);
  return client;
}

std::string_view method_name(ClientAuthentication method) noexcept {
  return std::ranges::find(methods, method, &Method::value)->name;
}

std::optional<ClientAuthentication> method_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(methods, name, &Method::name);
  return found == methods.end() ? std::nullopt : std::optional(found->value);
}

ClientAuthentication authentication_for(const OAuthClient& client, const IssuerMetadata& issuer) {
  const bool has_key = !client.private_key.empty();
  if (client.secret.empty()) return has_key ? ClientAuthentication::private_key_jwt : ClientAuthentication::none;
  switch (client.authentication) {
    case ClientAuthentication::basic:
    case ClientAuthentication::post:
      return client.authentication;
    case ClientAuthentication::private_key_jwt:
      if (has_key) return client.authentication;
      break;
    case ClientAuthentication::none:
      break;
  }
  if (!issuer.token_authentications || supports(issuer, "client_secret_basic")) return ClientAuthentication::basic;
  if (supports(issuer, "client_secret_post")) return ClientAuthentication::post;
  return supports(issuer, "none") ? ClientAuthentication::none : ClientAuthentication::basic;
}

}  // namespace patchbay
