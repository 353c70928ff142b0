// How ServerSignIn gets its first token: by a browser, as itself, by a statement of its platform, or through an
// identity provider.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "auth/engine/sign_in.h"
#include "auth/engine/vault_sign_ins.h"
#include "auth/kept_token.h"
#include "auth/registration.h"
#include "auth/scopes.h"
#include "base/as_result.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t most_steps_up = 2;  // beside the first sign-in: three authorizations in all

// Says where the sign-in is while `work` runs, and leaves it said when that fails.
template <class T>
Task<T> in_step(SignInStep& at, SignInStep step, Task<T> work) {
  at = step;
  auto done = co_await as_result(std::move(work));
  if (!done) throw std::move(done).error();
  at = SignInStep::preparation;
  if constexpr (!std::is_void_v<T>) co_return std::move(*done);
}

TokenSet made_of(GivenTokens given, const TokenRequest& request, const Discovered& found, Scopes scopes,
                 std::chrono::sys_seconds now) {
  TokenSet tokens;
  tokens.issuer = found.issuer.issuer;
  tokens.resource = found.resource;
  if (request.client) {
    tokens.client_id = request.client->id;
    if (request.client->source == OAuthClient::Source::registered) tokens.client_secret = request.client->secret;
  }
  tokens.token_endpoint = request.endpoint;
  tokens.revocation_endpoint = found.issuer.revocation_endpoint;
  tokens.kind = given.kind;
  tokens.access = std::move(given.access);
  tokens.refresh = std::move(given.refresh);
  if (given.lifetime) tokens.expires = now + *given.lifetime;
  tokens.requested = std::move(scopes);
  tokens.granted = std::move(given.scope);
  tokens.obtained = now;
  return tokens;
}

// One name of this machine each: another one is another address to the issuer. What it registered beside them is its
// own affair.
void add_other_hosts(std::vector<std::string>& uris, const std::vector<std::string>& kept) {
  constexpr std::size_t most = 4;
  for (const auto& uri : kept) {
    const auto url = parse_url(uri);
    if (!url || url->scheme != "http" || !is_loopback_host(url->host)) continue;
    const bool known = std::ranges::any_of(uris, [&](const std::string& one) {
      const auto other = parse_url(one);
      return other && other->host == url->host;
    });
    if (!known && uris.size() < most) uris.push_back(uri);
  }
}

std::uint16_t port_of(const OAuthClient& client) {
  for (const auto& uri : client.redirect_uris) {
    const auto url = parse_url(uri);
    if (url && is_loopback_host(url->host)) return url->effective_port();
  }
  return 0;
}

}  // namespace

AuthorizationVisit::Judge judge_of(AuthorizationAttempt attempt) {
  return [attempt = std::move(attempt)](const CallbackAnswer& answer) -> Result<Secret> {
    auto judged = judge_callback(attempt, answer);
    if (judged || judged.error().code() != Errc::protocol || answer.state != attempt.state) return judged;
    return std::unexpected(Error(Errc::unauthorized, judged.error().message()));
  };
}

Task<SignInReport> ServerSignIn::sign_in_now(Self self, SignInNeed need, OpenVisit open) {
  // A person has two hands and one browser.
  Semaphore::Permit attention;
  if (self->settings_.grant == GrantKind::authorization_code) attention = co_await self->desk_->attention_.acquire();
  SignInReport report;
  auto done = co_await as_result(sign_in_steps(self, std::move(need), std::move(open), report));
  if (done) {
    co_await self->note(std::nullopt);
    co_return report;
  }
  // Who leaves has seen no failure.
  if (done.error().code() == Errc::cancelled) throw std::move(done).error();
  co_await self->note(SignInFailure{report.step, done.error().message(), self->desk_->now()});
  if (report.step == SignInStep::preparation) throw std::move(done).error();
  throw done.error().within(step_words(report.step));
}

Task<void> ServerSignIn::sign_in_steps(Self self, SignInNeed need, OpenVisit open, SignInReport& report) {
  self->way_.reset();
  auto found = co_await in_step(report.step, SignInStep::discovery, self->discover_now(need));
  report.issuer = found.issuer.issuer;
  report.resource = found.resource;
  if (self->settings_.grant == GrantKind::authorization_code) {
    if (auto shared = co_await in_step(report.step, SignInStep::storage, self->shared(found, need))) {
      report.granted = std::move(shared->granted);
      report.shared = true;
      co_return;
    }
    co_await self->by_browser(std::move(found), std::move(need), std::move(open), report);
    co_return;
  }
  auto tokens = co_await self->without_person(std::move(found), std::move(need), report);
  co_await in_step(report.step, SignInStep::storage, self->adopt(std::move(tokens), report));
}

Task<SignInNeed> ServerSignIn::need() {
  const auto self = shared_from_this();
  if (last_need_) co_return *last_need_;
  auto kept = co_await as_result(desk_->options_.store->need(url_));
  co_return kept && *kept ? std::move(**kept) : SignInNeed{};
}

Task<Discovered> ServerSignIn::discover_now(SignInNeed need) {
  const auto reach = co_await way();
  // Where we are known already is asked first, of several that a server names.
  std::string known;
  if (auto kept = co_await as_result(desk_->options_.store->token_of_server(url_)); kept && *kept)
    known = (*kept)->issuer;
  DiscoveryWish wish;
  wish.server = settings_.url;
  wish.named_metadata = need.resource_metadata;
  wish.issuer_metadata = settings_.issuer_metadata;
  wish.issuer_at_its_document = !settings_.users_own;
  wish.expected_resource = settings_.resource;
  wish.is_known = [known](const std::string& issuer) { return issuer == known; };
  wish.network = reach.network;
  co_return co_await discover(std::move(wish), reach.fetch);
}

Scopes ServerSignIn::scopes_for(const SignInNeed& need, const Discovered& found) const {
  const auto challenged = need.scope.empty() ? std::nullopt : std::optional(need.scope);
  const auto* before =
      holder_ && holder_->tokens && holder_->tokens->issuer == found.issuer.issuer ? &*holder_->tokens : nullptr;
  if (need.more_scope && before) return stepped_up(before->requested, challenged);
  return wanted_scopes({.configured = settings_.scopes,
                        .challenged = challenged,
                        .resource = found.resource_scopes,
                        .named_document = found.named_document_scopes,
                        .issuer = found.issuer.scopes_supported});
}

Task<void> ServerSignIn::by_browser(Discovered found, SignInNeed need, OpenVisit open, SignInReport& report) {
  if (!open)
    throw Error(Errc::unauthorized, fmt::format("{} needs somebody to sign in, and nobody is there", settings_.server));
  value_or_throw(check_pkce(found.issuer));
  auto scopes = scopes_for(need, found);
  if (need.more_scope) {
    if (steps_in_a_row_ >= most_steps_up || std::ranges::find(steps_up_, scopes) != steps_up_.end()) {
      throw Error(Errc::forbidden,
                  fmt::format("{} wants more rights again after you gave it those that it asked for ({}); nothing more "
                              "is asked of you",
                              settings_.server, clean_line(join_scopes(scopes))));
    }
  }
  VisitWish wish;
  wish.server = settings_.server;
  const bool fixed = settings_.client_id.has_value() || settings_.callback_port.has_value();
  wish.host = settings_.callback_host.value_or(fixed ? "localhost" : "127.0.0.1");
  wish.port = settings_.callback_port;
  if (!settings_.client_id) {
    auto kept = co_await desk_->options_.store->client(found.issuer.issuer);
    if (kept) wish.preferred_port = port_of(*kept);
  }
  auto visit = co_await in_step(report.step, SignInStep::browser, open(std::move(wish)));
  AuthorizationAttempt attempt;
  attempt.issuer = found.issuer;
  attempt.client = co_await in_step(report.step, SignInStep::registration,
                                    client_at(found.issuer, visit->redirect_uri(), scopes, report));
  attempt.resource = found.resource;
  attempt.scopes = scopes;
  attempt.redirect_uri = visit->redirect_uri();
  attempt.state = random_token(desk_->options_.runtime.random);
  attempt.pkce = make_pkce(desk_->options_.runtime.random);
  auto url = value_or_throw(authorization_url(attempt));
  auto answered =
      co_await as_result(in_step(report.step, SignInStep::browser, visit->go(std::move(url), judge_of(attempt))));
  // Nobody but the user knows which address they entered for a client of theirs. An issuer that does not know ours
  // shows a page of its own, and then nothing ever comes back.
  const auto with_hint = [&](Error error) {
    return settings_.client_id ? with_redirect_hint(std::move(error), attempt.redirect_uri, settings_.server) : error;
  };
  if (!answered) throw with_hint(answered.error());
  auto code = value_or_throw(std::move(answered));
  TokenRequest request;
  request.endpoint = found.issuer.token_endpoint;
  request.issuer = found.issuer.issuer;
  request.grant = CodeGrant{std::move(code), attempt.redirect_uri, attempt.pkce.verifier};
  request.client = &attempt.client;
  request.authentication = authentication_for(attempt.client, found.issuer);
  request.resource = found.resource;
  const bool proof = need.proof || found.dpop_required;
  const auto wanted = scopes;
  auto tokens = co_await as_result(
      in_step(report.step, SignInStep::token, tokens_by(std::move(request), found, proof, std::move(scopes))));
  Result<void> kept;
  if (!tokens) {
    kept = std::unexpected(with_hint(tokens.error()));
  } else {
    kept = co_await as_result(in_step(report.step, SignInStep::storage, adopt(std::move(*tokens), report)));
  }
  visit->finish(kept);
  value_or_throw(std::move(kept));
  if (need.more_scope) {
    steps_up_.push_back(wanted);
    ++steps_in_a_row_;
  }
}

Task<TokenSet> ServerSignIn::without_person(Discovered found, SignInNeed need, SignInReport& report) {
  auto scopes = scopes_for(need, found);
  co_await check_bound_issuer(found.issuer.issuer);
  TokenRequest request;
  request.endpoint = found.issuer.token_endpoint;
  request.issuer = found.issuer.issuer;
  request.resource = found.resource;
  request.scopes = scopes;
  std::optional<OAuthClient> client;
  if (settings_.client_id) {
    client = co_await configured_client(found.issuer);
    request.client = &*client;
    request.authentication = authentication_for(*client, found.issuer);
  }
  switch (settings_.grant) {
    case GrantKind::authorization_code:
      throw Error(Errc::internal, "a sign-in with a browser was begun without one");
    case GrantKind::client_credentials:
      if (!client) {
        throw Error(
            Errc::config,
            fmt::format("server \"{}\" signs in with client credentials, and its entry has no \"oauth.clientId\"",
                        settings_.server));
      }
      request.grant = ClientCredentialsGrant{};
      break;
    case GrantKind::workload_identity: {
      auto assertion = co_await settings_.workload_token();
      request.grant = JwtBearerGrant{std::move(assertion)};
      break;
    }
    case GrantKind::cross_app_access: {
      auto assertion = co_await in_step(report.step, SignInStep::identity_provider, identity_assertion(found, scopes));
      request.grant = JwtBearerGrant{std::move(assertion)};
      // The statement itself names them.
      request.resource.clear();
      request.scopes.clear();
      break;
    }
  }
  const bool proof = need.proof || found.dpop_required;
  co_return co_await in_step(report.step, SignInStep::token,
                             tokens_by(std::move(request), found, proof, std::move(scopes)));
}

std::string ServerSignIn::bound_issuer_name() const {
  return fmt::format("client-issuer {} {}", server_mark(url_), settings_.client_id.value_or(""));
}

// A server that suddenly names another authorization server must not get what the user has at the first one.
Task<void> ServerSignIn::check_bound_issuer(std::string issuer) {
  auto bound = settings_.client_issuer;
  if (!bound) {
    const auto kept = co_await desk_->options_.store->secret(bound_issuer_name());
    if (kept) bound = std::string(kept->reveal());
  }
  if (!bound || *bound == issuer) co_return;
  throw Error(
      Errc::config,
      fmt::format("server \"{}\" names {} as its authorization server, and what you configured for it is for {}; "
                  "nothing was sent there. If that is right, correct \"oauth.issuer\" in its entry, or sign out first",
                  settings_.server, redacted_url(issuer), redacted_url(*bound)));
}

Task<OAuthClient> ServerSignIn::configured_client(IssuerMetadata issuer) {
  co_await check_bound_issuer(issuer.issuer);
  OAuthClient client;
  client.source = OAuthClient::Source::configured;
  client.issuer = issuer.issuer;
  client.id = *settings_.client_id;
  if (settings_.client_secret) client.secret = co_await settings_.client_secret();
  if (settings_.private_key) client.private_key = co_await settings_.private_key();
  client.key_algorithm = settings_.key_algorithm;
  if (!client.private_key.empty()) client.authentication = ClientAuthentication::private_key_jwt;
  client.authentication = authentication_for(client, issuer);
  co_return client;
}

Task<OAuthClient> ServerSignIn::client_at(IssuerMetadata issuer, std::string redirect_uri, Scopes scopes,
                                          SignInReport& report) {
  if (settings_.client_id) co_return co_await configured_client(std::move(issuer));
  auto& store = *desk_->options_.store;
  // However many servers of one issuer begin at once, in however many processes: one registration.
  const auto lock = co_await store.lock(client_name(issuer.issuer));
  const auto kept = co_await store.client(issuer.issuer);
  ClientSources sources;
  sources.document = settings_.client_document;
  sources.kept = kept ? &*kept : nullptr;
  sources.issuer = issuer.issuer;
  sources.redirect_uris = {redirect_uri};
  sources.scopes = scopes;
  sources.now = desk_->now();
  switch (choose_client(sources, issuer)) {
    case ClientChoice::configured:
    case ClientChoice::none:
      throw Error(Errc::config, fmt::format("{} does not register clients by itself; create one there, with the "
                                            "redirect address {}, and write its id as "
                                            "\"oauth\": {{\"clientId\": \"…\"}} into the entry of \"{}\"",
                                            redacted_url(issuer.issuer), redirect_uri, settings_.server));
    case ClientChoice::document: {
      OAuthClient client;
      client.source = OAuthClient::Source::document;
      client.issuer = issuer.issuer;
      client.id = settings_.client_document;
      client.redirect_uris = {redirect_uri};
      co_return client;
    }
    case ClientChoice::kept:
      co_return *kept;
    case ClientChoice::register_now:
      break;
  }
  RegistrationWish wish;
  wish.client_name = desk_->options_.client_name;
  wish.redirect_uris = {redirect_uri};
  // What it was registered for before is still wanted by others.
  if (kept) add_other_hosts(wish.redirect_uris, kept->redirect_uris);
  wish.scopes = kept && kept->scopes ? scope_union(*kept->scopes, scopes) : std::move(scopes);
  wish.software_version = desk_->options_.software_version;
  const auto reach = co_await way();
  auto answer = co_await reach.fetch(registration_request(issuer, wish));
  auto registered = read_registration(answer.head.status, answer.body, issuer, wish);
  if (!registered) throw with_other_host(registered.error(), redirect_uri, settings_.server);
  auto client = std::move(*registered);
  client.authentication = authentication_for(client, issuer);
  co_await store.keep_client(client);
  report.registered = true;
  co_return client;
}

Task<OAuthClient> ServerSignIn::client_of(const TokenSet& tokens) {
  if (settings_.client_id && *settings_.client_id == tokens.client_id) {
    IssuerMetadata issuer;
    issuer.issuer = tokens.issuer;
    auto client = co_await configured_client(std::move(issuer));
    client.authentication = tokens.authentication;
    co_return client;
  }
  auto kept = co_await desk_->options_.store->client(tokens.issuer);
  if (kept && kept->id == tokens.client_id) co_return std::move(*kept);
  OAuthClient client;
  // A document about us, or a registration that another one has taken the place of.
  client.source = tokens.client_secret.empty() ? OAuthClient::Source::document : OAuthClient::Source::registered;
  client.issuer = tokens.issuer;
  client.id = tokens.client_id;
  client.secret = tokens.client_secret;
  if (!client.secret.empty()) client.authentication = tokens.authentication;
  co_return client;
}

// The issuer does not know it any more. Another registration may have taken its place meanwhile, and stays.
Task<void> ServerSignIn::forget_registration(OAuthClient client) {
  if (client.source != OAuthClient::Source::registered) co_return;
  auto& store = *desk_->options_.store;
  const auto lock = co_await as_result(store.lock(client_name(client.issuer)));
  if (!lock) co_return;
  const auto kept = co_await as_result(store.client(client.issuer));
  if (kept && *kept && (*kept)->id == client.id) (void)co_await as_result(store.forget_client(client.issuer));
}

Task<TokenAnswer> ServerSignIn::request_tokens(TokenRequest request, TokenKind kind, Secret dpop_key) {
  const auto reach = co_await way();
  auto endpoint = value_or_throw(check_endpoint(request.endpoint, "the token endpoint", reach.network));
  const auto& random = desk_->options_.runtime.random;
  for (bool again = false;; again = true) {
    auto sending = value_or_throw(token_request(request, desk_->now(), random));
    if (kind == TokenKind::dpop) {
      const auto key = value_or_throw(SigningKey::from_pem(dpop_key));
      DpopRequest proof{.method = sending.method, .url = sending.url};
      if (const auto nonce = desk_->nonces_.find(endpoint.origin()); nonce != desk_->nonces_.end())
        proof.nonce = nonce->second;
      sending.headers.set("DPoP", value_or_throw(dpop_proof(key, proof, desk_->now(), random)));
    }
    const auto secrets = secrets_in(request, sending);
    auto answer = co_await reach.fetch(std::move(sending));
    if (const auto nonce = answer.head.headers.get("DPoP-Nonce"); !nonce.empty() && nonce.size() <= 4096) {
      desk_->nonces_[endpoint.origin()] = nonce;
    }
    auto read = read_token_answer(answer.head, answer.body, kind, secrets);
    const auto* refusal = std::get_if<TokenRefusal>(&read);
    if (again || !refusal || refusal->fault != TokenFault::use_dpop_nonce || refusal->dpop_nonce.empty())
      co_return read;
  }
}

Task<TokenSet> ServerSignIn::tokens_by(TokenRequest request, const Discovered& found, bool proof, Scopes scopes) {
  // Proofs where the server wants them and the issuer can.
  const auto kind = proof || wants_proof(found) ? TokenKind::dpop : TokenKind::bearer;
  Secret key;
  if (kind == TokenKind::dpop) key = SigningKey::make_p256(desk_->options_.runtime.random).pem();
  auto answer = co_await request_tokens(request, kind, key);
  if (const auto* refusal = std::get_if<TokenRefusal>(&answer)) {
    if (refusal->fault == TokenFault::invalid_client && request.client) {
      co_await forget_registration(*request.client);
    }
    throw token_error(*refusal, found.issuer.issuer);
  }
  auto tokens = made_of(std::move(std::get<GivenTokens>(answer)), request, found, std::move(scopes), desk_->now());
  tokens.authentication = request.authentication;
  if (tokens.kind == TokenKind::dpop && key.empty()) throw unasked_proof(found.issuer.issuer);
  if (tokens.kind == TokenKind::dpop) tokens.dpop_key = std::move(key);
  co_return tokens;
}

Task<void> ServerSignIn::bind_issuer(std::string issuer) {
  const bool configured = settings_.client_id || settings_.grant != GrantKind::authorization_code;
  if (!configured || settings_.client_issuer) co_return;
  Json note{{"kind", "client-issuer"}};
  co_await desk_->options_.store->keep_secret(bound_issuer_name(), Secret(std::move(issuer)), std::move(note));
}

Task<void> ServerSignIn::adopt(TokenSet tokens, SignInReport& report) {
  report.granted = tokens.granted;
  auto holder = desk_->holder(tokens.issuer, tokens.resource);
  auto& store = *desk_->options_.store;
  // A renewal of the token of before must not come behind this.
  const auto lock = co_await store.lock(token_name(tokens.issuer, tokens.resource));
  co_await bind_issuer(tokens.issuer);
  co_await store.keep_token(tokens, url_);
  hold(*holder, std::move(tokens));
  last_need_.reset();
  (void)co_await as_result(store.keep_need(url_, std::nullopt));
  ++holder->generation;
  holder_ = std::move(holder);
  loaded_ = true;
}

Task<std::optional<TokenSet>> ServerSignIn::shared(const Discovered& found, const SignInNeed& need) {
  // Who asks for more, or again, wants a token of their own; and what others declared gets nothing unasked.
  if (need.more_scope || !settings_.users_own) co_return std::nullopt;
  auto& store = *desk_->options_.store;
  const ShareWish wish{settings_.client_id, split_scopes(settings_.scopes.value_or(need.scope)),
                       need.proof || found.dpop_required || wants_proof(found)};
  const auto issuer = found.issuer.issuer;
  const auto resource = found.resource;
  if (co_await store.token_of_server(url_)) co_return std::nullopt;
  // What is read here is written back, so no renewal may come between.
  const auto lock = co_await store.lock(token_name(issuer, resource));
  auto kept = co_await store.token(issuer, resource);
  if (!kept || !can_share(*kept, wish, desk_->now())) co_return std::nullopt;
  // Nobody can get in with it any more.
  if (desk_->holder(issuer, resource)->over) co_return std::nullopt;
  if (settings_.client_id) {
    co_await check_bound_issuer(issuer);
    co_await bind_issuer(issuer);
  }
  co_await store.keep_token(*kept, url_);
  holder_ = desk_->holder(issuer, resource);
  if (!holder_->tokens) hold(*holder_, *kept);
  loaded_ = true;
  last_need_.reset();
  (void)co_await as_result(store.keep_need(url_, std::nullopt));
  co_return kept;
}

}  // namespace patchbay
