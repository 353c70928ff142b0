// Cross-app access: the user signs in at the identity provider of their organisation once (OpenID Connect), and what
// that gave is exchanged for a statement to the authorization server of each MCP server (RFC 8693, then RFC 7523).
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "auth/engine/sign_in.h"
#include "auth/identity_token.h"
#include "auth/registration.h"
#include "auth/scopes.h"
#include "base/as_result.h"

namespace patchbay {
namespace {

constexpr std::string_view assertion_type = "urn:ietf:params:oauth:token-type:id-jag";
constexpr std::string_view id_token_type = "urn:ietf:params:oauth:token-type:id_token";

Task<TokenAnswer> ask_provider(TokenRequest request, SignInWay way, std::chrono::sys_seconds now, Random random) {
  (void)value_or_throw(check_endpoint(request.endpoint, "the token endpoint of the identity provider", way.network));
  auto sending = value_or_throw(token_request(request, now, random));
  const auto secrets = secrets_in(request, sending);
  auto answer = co_await way.fetch(std::move(sending));
  co_return read_token_answer(answer.head, answer.body, TokenKind::bearer, secrets);
}

Task<std::string> token_endpoint_of(const IdentityProvider& provider, const SignInWay& way) {
  if (!provider.token_endpoint.empty()) co_return provider.token_endpoint;
  auto described = co_await discover_issuer(provider.issuer, way.network, way.fetch);
  co_return std::move(described.token_endpoint);
}

Error nobody_signed_in(const IdentityProvider& provider, std::string_view why) {
  return Error(Errc::unauthorized, fmt::format("{} at the identity provider {}", why, redacted_url(provider.issuer)));
}

// The sign-in of a server begins at the provider when nobody is signed in there.
Error with_remedy_at(const std::string& server, Error error) {
  if (error.code() != Errc::unauthorized) return error;
  return std::move(error).with_sign_in({}).with_remedy({Remedy::Kind::sign_in, server});
}

Json note_about(const IdentityProvider& provider, const IdentityClaims& claims, std::chrono::sys_seconds now) {
  return Json{{"kind", "identity"},
              {"issuer", provider.issuer},
              {"clientId", provider.client_id},
              {"expires", claims.expires.time_since_epoch().count()},
              {"obtained", now.time_since_epoch().count()}};
}

// Every token of a provider is judged before it is kept. Under its lock.
Task<void> keep_identity(std::shared_ptr<SignInStore> store, IdentityProvider provider, GivenTokens given,
                         IdentityExpectation expected) {
  if (given.id_token.empty()) {
    throw Error(Errc::protocol, fmt::format("the identity provider {} gave no identity token (id_token)",
                                            redacted_url(provider.issuer)));
  }
  const auto claims = value_or_throw(read_identity_token(given.id_token, expected));
  // First what renews it: an identity token without it is of use for a while, the other way round it is of none.
  if (!given.refresh.empty()) {
    Json note{{"kind", "identity"}, {"issuer", provider.issuer}};
    co_await store->keep_secret(provider_refresh_name(provider.issuer), std::move(given.refresh), std::move(note));
  }
  auto note = note_about(provider, claims, expected.now);
  co_await store->keep_secret(provider_token_name(provider.issuer), std::move(given.id_token), std::move(note));
}

Task<void> adopt_identity(std::shared_ptr<SignInStore> store, IdentityProvider provider, GivenTokens given,
                          IdentityExpectation expected) {
  // A renewal of what was kept before must not come behind this.
  const auto lock = co_await store->lock(provider_token_name(provider.issuer));
  co_await keep_identity(store, std::move(provider), std::move(given), std::move(expected));
}

}  // namespace

std::string provider_token_name(const std::string& issuer) { return fmt::format("identity {}", issuer); }
std::string provider_refresh_name(const std::string& issuer) { return fmt::format("identity-refresh {}", issuer); }
std::string provider_secret_name(const std::string& issuer) { return fmt::format("identity-client {}", issuer); }

Task<OAuthClient> SignInDesk::provider_client(IdentityProvider provider) {
  OAuthClient client;
  client.source = OAuthClient::Source::configured;
  client.issuer = provider.issuer;
  client.id = provider.client_id;
  client.secret = Secret(provider.client_secret);
  if (client.secret.empty()) {
    auto kept = co_await options_.store->secret(provider_secret_name(provider.issuer));
    if (kept) client.secret = std::move(*kept);
  }
  client.authentication = client.secret.empty() ? ClientAuthentication::none : ClientAuthentication::basic;
  co_return client;
}

Task<void> SignInDesk::sign_in_at_provider(IdentityProvider provider, SignInWay way, OpenVisit open) {
  const auto self = shared_from_this();
  if (!open) throw Error(Errc::unauthorized, "somebody has to sign in at the identity provider, and nobody is there");
  const auto attention = co_await attention_.acquire();
  const auto& random = options_.runtime.random;
  AuthorizationAttempt attempt;
  attempt.issuer = co_await discover_issuer(provider.issuer, way.network, way.fetch);
  // It is sent in any case; the nonce protects the sign-in at those that do not say that they know it.
  if (!attempt.issuer.code_challenge_methods) attempt.issuer.code_challenge_methods = std::vector<std::string>{"S256"};
  attempt.client = co_await provider_client(provider);
  attempt.client.authentication = authentication_for(attempt.client, attempt.issuer);
  attempt.scopes = {"openid"};
  const auto& offered = attempt.issuer.scopes_supported;
  if (offered && std::ranges::find(*offered, "offline_access") != offered->end()) {
    attempt.scopes.emplace_back("offline_access");
  }
  VisitWish wish;
  wish.server = provider.issuer;
  wish.host = "localhost";
  wish.port = provider.callback_port;
  auto visit = co_await open(std::move(wish));
  attempt.redirect_uri = visit->redirect_uri();
  attempt.state = random_token(random);
  attempt.nonce = random_token(random);
  attempt.pkce = make_pkce(random);
  auto url = value_or_throw(authorization_url(attempt));
  auto answered = co_await as_result(visit->go(std::move(url), judge_of(attempt)));
  if (!answered) throw with_redirect_hint(answered.error(), attempt.redirect_uri, {});
  auto code = std::move(*answered);
  TokenRequest request;
  request.endpoint = provider.token_endpoint.empty() ? attempt.issuer.token_endpoint : provider.token_endpoint;
  request.issuer = provider.issuer;
  request.grant = CodeGrant{std::move(code), attempt.redirect_uri, attempt.pkce.verifier};
  request.client = &attempt.client;
  request.authentication = attempt.client.authentication;
  auto asked = co_await as_result(ask_provider(std::move(request), way, now(), random));
  Result<void> kept;
  if (!asked) {
    kept = std::unexpected(asked.error());
  } else if (const auto* refusal = std::get_if<TokenRefusal>(&*asked)) {
    kept = std::unexpected(token_error(*refusal, provider.issuer));
  } else {
    const IdentityExpectation expected{provider.issuer, provider.client_id, attempt.nonce, now()};
    auto given = std::move(std::get<GivenTokens>(*asked));
    kept = co_await as_result(adopt_identity(options_.store, provider, std::move(given), expected));
  }
  visit->finish(kept);
  value_or_throw(std::move(kept));
}

Task<Secret> SignInDesk::identity_token(IdentityProvider provider, SignInWay way) {
  // A renewal must be kept, whoever leaves meanwhile.
  auto done = std::make_shared<Completion<Result<Secret>>>();
  scope_.spawn(identity_apart(shared_from_this(), std::move(provider), std::move(way), Unfinished(done)));
  co_return value_or_throw(co_await done->wait());
}

Task<void> SignInDesk::identity_apart(std::shared_ptr<SignInDesk> self, IdentityProvider provider, SignInWay way,
                                      Unfinished done) {
  done.set(co_await as_result(self->current_identity(std::move(provider), std::move(way))));
}

Task<Secret> SignInDesk::current_identity(IdentityProvider provider, SignInWay way) {
  auto& store = *options_.store;
  // One renewal for all servers and processes that need it.
  const auto lock = co_await store.lock(provider_token_name(provider.issuer));
  auto kept = co_await store.secret(provider_token_name(provider.issuer));
  if (!kept || kept->empty()) throw nobody_signed_in(provider, "nobody is signed in");
  if (!has_expired(*kept, now())) co_return std::move(*kept);
  auto refresh = co_await store.secret(provider_refresh_name(provider.issuer));
  if (!refresh || refresh->empty()) throw nobody_signed_in(provider, "your sign-in has expired");
  auto endpoint = co_await token_endpoint_of(provider, way);
  co_return co_await shielded(renewed_identity(provider, way, std::move(*refresh), std::move(endpoint)));
}

Task<Secret> SignInDesk::renewed_identity(IdentityProvider provider, SignInWay way, Secret refresh,
                                          std::string endpoint) {
  auto& store = *options_.store;
  const auto client = co_await provider_client(provider);
  TokenRequest request;
  request.endpoint = std::move(endpoint);
  request.issuer = provider.issuer;
  request.grant = RefreshGrant{std::move(refresh)};
  request.client = &client;
  request.authentication = client.authentication;
  auto answer = co_await ask_provider(std::move(request), way, now(), options_.runtime.random);
  if (const auto* refusal = std::get_if<TokenRefusal>(&answer)) {
    if (is_over(refusal->fault)) throw nobody_signed_in(provider, "your sign-in has expired");
    // What will pass, and what was not understood, is not a reason to ask the user.
    const auto why = token_error(*refusal, provider.issuer);
    throw Error(why.code() == Errc::unauthorized ? Errc::http : why.code(), why.message())
        .within("your sign-in at the identity provider could not be renewed");
  }
  auto given = std::get<GivenTokens>(std::move(answer));
  auto renewed = given.id_token;
  if (!given.refresh.empty()) {
    // The one before is worth nothing any more, whatever is wrong with the rest.
    Json note{{"kind", "identity"}, {"issuer", provider.issuer}};
    co_await store.keep_secret(provider_refresh_name(provider.issuer), given.refresh, std::move(note));
  }
  const IdentityExpectation expected{provider.issuer, provider.client_id, std::nullopt, now()};
  co_await keep_identity(options_.store, provider, std::move(given), expected);
  co_return renewed;
}

Task<Secret> ServerSignIn::identity_assertion(const Discovered& found, const Scopes& scopes) {
  if (!settings_.identity_provider) {
    throw Error(
        Errc::config,
        fmt::format("server \"{}\" signs in through an identity provider (\"oauth.xaa\"), and the settings name none",
                    settings_.server));
  }
  const auto& provider = *settings_.identity_provider;
  SignInWay reach;
  if (settings_.provider_way) {
    reach = co_await settings_.provider_way();
  } else {
    reach = co_await way();
  }
  Secret subject;
  if (settings_.identity_token) {
    subject = co_await settings_.identity_token();
  } else {
    auto kept = co_await as_result(desk_->identity_token(provider, reach));
    if (!kept) throw with_remedy_at(settings_.server, std::move(kept).error());
    subject = std::move(*kept);
  }
  if (subject.empty()) throw nobody_signed_in(provider, "nobody is signed in");
  const auto client = co_await desk_->provider_client(provider);
  TokenRequest request;
  request.endpoint = co_await token_endpoint_of(provider, reach);
  request.issuer = provider.issuer;
  request.grant = TokenExchangeGrant{std::move(subject), std::string(id_token_type), found.issuer.issuer};
  request.client = &client;
  request.authentication = client.authentication;
  request.resource = found.resource;
  request.scopes = scopes;
  auto answer = co_await ask_provider(std::move(request), reach, desk_->now(), desk_->options_.runtime.random);
  if (const auto* refusal = std::get_if<TokenRefusal>(&answer)) throw token_error(*refusal, provider.issuer);
  auto& given = std::get<GivenTokens>(answer);
  // Anything else that it gave would be handed to whomever the server names.
  if (given.issued_token_type != assertion_type) {
    throw Error(Errc::protocol, fmt::format("the identity provider {} gave another kind of token than it was asked for",
                                            redacted_url(provider.issuer)));
  }
  co_return std::move(given.access);
}

}  // namespace patchbay
