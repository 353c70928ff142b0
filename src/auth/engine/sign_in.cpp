#include "auth/engine/sign_in.h"

#include <utility>

#include <fmt/format.h>

#include "auth/challenge_rule.h"
#include "auth/kept_token.h"
#include "auth/scopes.h"
#include "base/as_result.h"
#include "base/loop_clock.h"
#include "base/timeout.h"
#include "http/challenge.h"
#include "http/token_rule.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

// Before a renewal that failed is tried again without a refusal.
constexpr auto after_failure = 30s;

std::chrono::sys_seconds last_change(const TokenSet& tokens) { return tokens.refreshed.value_or(tokens.obtained); }

SignInNeed need_of(const SignInChallenge& challenge) {
  return {.resource_metadata = challenge.resource_metadata.value_or(""),
          .scope = challenge.scope.value_or(""),
          .more_scope = challenge.error == "insufficient_scope",
          .proof = challenge.dpop};
}

// What a sign-in in another process would not find out by itself.
bool is_worth_keeping(const SignInNeed& need) {
  constexpr std::size_t longest = 8192;
  const auto size = need.scope.size() + need.resource_metadata.size();
  return (need.more_scope || size > 0) && size <= longest;
}

}  // namespace

SignInDesk::SignInDesk(asio::any_io_executor executor, Options options)
    : options_(std::move(options)), scope_(std::move(executor)) {}

std::shared_ptr<ServerSignIn> SignInDesk::server(SignInSettings settings, FindWay find_way) {
  return std::make_shared<ServerSignIn>(shared_from_this(), std::move(settings), std::move(find_way));
}

std::shared_ptr<SignInDesk::Holder> SignInDesk::holder(const std::string& issuer, const std::string& resource) {
  auto& found = holders_[token_name(issuer, resource)];
  if (!found) found = std::make_shared<Holder>();
  return found;
}

std::chrono::sys_seconds SignInDesk::now() const {
  return std::chrono::floor<std::chrono::seconds>(loop_clock(scope_.executor()).wall());
}

Task<void> SignInDesk::close() {
  scope_.cancel();
  co_await scope_.join();
}

ServerSignIn::ServerSignIn(std::shared_ptr<SignInDesk> desk, SignInSettings settings, FindWay find_way)
    : desk_(std::move(desk)),
      settings_(std::move(settings)),
      url_(canonical_resource(settings_.url)),
      find_way_(std::move(find_way)) {}

bool ServerSignIn::is_ours(const std::string& url) const {
  const auto parsed = parse_url(url);
  return parsed && same_origin(settings_.url, *parsed);
}

Task<SignInWay> ServerSignIn::way() {
  if (!way_) way_ = co_await find_way_();
  co_return *way_;
}

Task<void> ServerSignIn::load() {
  auto turn = co_await loading_.acquire();
  if (loaded_) co_return;
  auto kept = co_await desk_->options_.store->token_of_server(url_);
  loaded_ = true;
  if (!kept || holder_) co_return;
  holder_ = desk_->holder(kept->issuer, kept->resource);
  // Somebody may have signed in anew, in another process.
  const bool newer = !holder_->tokens || (!holder_->renewing && is_newer(*kept, *holder_) &&
                                          replaces(kept->access, holder_->tokens->access));
  if (newer) hold(*holder_, std::move(*kept));
}

// By the order of keeping, and not by the clock, which may have been set back between two processes.
bool ServerSignIn::is_newer(const TokenSet& kept, const Holder& holder) {
  return !holder.unkept || !holder.tokens || last_change(kept) > last_change(*holder.tokens);
}

void ServerSignIn::hold(Holder& holder, TokenSet tokens) {
  holder.tokens = std::move(tokens);
  holder.over = false;
  holder.unkept = false;
  holder.failure.reset();
}

Task<SentCredentials> ServerSignIn::authorize(HttpRequest& request) { return authorized(shared_from_this(), request); }

Task<SentCredentials> ServerSignIn::authorized(Self self, HttpRequest& request) {
  SentCredentials sent;
  if (!self->is_ours(request.url)) co_return sent;
  if (!self->loaded_) co_await self->load();
  const auto holder = self->holder_;
  if (!holder || !holder->tokens) co_return sent;
  while (holder->renewing) co_await holder->renewed.wait();
  if (self->is_worth_renewing(*holder)) co_await renewed(self, holder);
  // Somebody has signed out meanwhile.
  if (!holder->tokens) co_return sent;
  // A failed renewal is the server's to judge: it may take the old one still.
  const auto& tokens = *holder->tokens;
  sent.token = tokens.access;
  sent.generation = holder->generation;
  if (tokens.kind == TokenKind::bearer) {
    request.headers.set("Authorization", fmt::format("Bearer {}", tokens.access.reveal()));
    co_return sent;
  }
  const auto key = value_or_throw(SigningKey::from_pem(tokens.dpop_key));
  const auto nonce = self->desk_->nonces_.find(self->settings_.url.origin());
  DpopRequest proof{.method = request.method, .url = request.url, .access_token = tokens.access.reveal(), .nonce = {}};
  if (nonce != self->desk_->nonces_.end()) proof.nonce = nonce->second;
  request.headers.set("DPoP",
                      value_or_throw(dpop_proof(key, proof, self->desk_->now(), self->desk_->options_.runtime.random)));
  request.headers.set("Authorization", fmt::format("DPoP {}", tokens.access.reveal()));
  co_return sent;
}

bool ServerSignIn::is_worth_renewing(const Holder& holder) const {
  const auto now = desk_->now();
  if (!holder.tokens) return false;
  if (holder.over || token_age(*holder.tokens, now) == TokenAge::fresh) return false;
  if (holder.failure && now < holder.failed + after_failure) return false;
  return !holder.tokens->refresh.empty() || settings_.grant != GrantKind::authorization_code;
}

void ServerSignIn::on_answer(const HttpRequest& request, const HttpHead& answer) {
  // What was asked for last was enough for something.
  if (answer.status < 400) steps_in_a_row_ = 0;
  const auto nonce = answer.headers.get("DPoP-Nonce");
  if (nonce.empty() || nonce.size() > 4096 || !is_ours(request.url) || !is_ours(answer.url)) return;
  desk_->nonces_[settings_.url.origin()] = nonce;
}

Task<bool> ServerSignIn::on_challenge(SentCredentials sent, HttpRequest request, HttpHead answer) {
  return challenged(shared_from_this(), std::move(sent), std::move(request), std::move(answer));
}

Task<bool> ServerSignIn::challenged(Self self, SentCredentials sent, HttpRequest request, HttpHead answer) {
  // What somebody says to whom we were redirected is not about our token.
  if (!self->is_ours(request.url) || !self->is_ours(answer.url)) co_return false;
  RefusedRequest refused;
  refused.status = answer.status;
  refused.challenge = sign_in_challenge(answer.headers);
  refused.had_token = !sent.token.empty();
  refused.brings_nonce = !answer.headers.get("DPoP-Nonce").empty();
  self->on_answer(request, answer);
  bool looked = false;  // into the store
  for (;;) {
    const auto holder = self->holder_;
    const bool by_machine = self->settings_.grant != GrantKind::authorization_code;
    if (holder) {
      refused.renewing = holder->renewing;
      refused.has_other_token = holder->tokens && replaces(holder->tokens->access, sent.token);
      refused.renewed_since = holder->generation != sent.generation;
      refused.can_renew = !holder->over && holder->tokens && (by_machine || !holder->tokens->refresh.empty());
    } else {
      refused.can_renew = by_machine && !looked;
    }
    switch (after_refusal(refused)) {
      case RefusalStep::again:
        co_return true;
      case RefusalStep::stands:
        co_return false;
      case RefusalStep::wait:
        co_await holder->renewed.wait();
        break;
      case RefusalStep::renew:
        if (holder) {
          co_await renewed(self, holder);
        } else {
          co_await first_token(self, sent, need_of(refused.challenge));
          co_return true;
        }
        break;
      case RefusalStep::sign_in:
        // Somebody may have signed in, or renewed, in another process.
        if (!looked) {
          looked = true;
          auto kept = co_await self->desk_->options_.store->token_of_server(self->url_);
          if (kept && replaces(kept->access, sent.token)) {
            self->holder_ = self->desk_->holder(kept->issuer, kept->resource);
            hold(*self->holder_, std::move(*kept));
            co_return true;
          }
          break;
        }
        self->last_need_ = need_of(refused.challenge);
        // Who signs in for it may be another process, which is not refused: a server may list its tools for everybody.
        if (is_worth_keeping(*self->last_need_)) {
          (void)co_await as_result(self->desk_->options_.store->keep_need(self->url_, self->last_need_));
        }
        // Why it could not be renewed says more than that it was refused.
        if (holder && holder->failure && !holder->over) throw *holder->failure;
        co_return false;
    }
  }
}

Task<void> ServerSignIn::first_token(Self self, SentCredentials sent, SignInNeed need) {
  const auto turn = co_await self->first_.acquire();
  const auto holder = self->holder_;
  if (holder && holder->tokens && replaces(holder->tokens->access, sent.token)) co_return;
  (void)co_await sign_in_now(self, std::move(need), {});
}

Task<void> ServerSignIn::renewed(Self self, std::shared_ptr<Holder> holder) {
  if (!holder->renewing) {
    // It belongs to all who wait for it, and what it brings must be kept: whoever leaves does not end it.
    self->desk_->scope_.spawn(renew(self, SignInDesk::Renewal(holder)));
  }
  while (holder->renewing) co_await holder->renewed.wait();
}

Task<void> ServerSignIn::renew(Self self, SignInDesk::Renewal renewal) {
  const auto holder = renewal.holder;
  auto done = co_await as_result(renew_locked(self, holder));
  // The host stops: nothing was tried.
  if (!done && done.error().code() == Errc::cancelled) co_return;
  holder->failure.reset();
  if (!done) {
    holder->failed = self->desk_->now();
    // A rule about addresses is not a rule about the server.
    const auto why = done.error().code() == Errc::denied ? Error(Errc::connect, done.error().message()) : done.error();
    holder->failure = why.within("the sign-in could not be renewed");
    self->desk_->options_.runtime.log(LogLevel::warning, "sign_in_not_renewed", "server", self->settings_.server,
                                      "reason", done.error().message());
  }
  co_await self->note(done ? std::nullopt
                           : std::optional(SignInFailure{SignInStep::renewal, done.error().message(), holder->failed}));
}

Task<void> ServerSignIn::renew_locked(Self self, std::shared_ptr<Holder> holder) {
  auto& store = *self->desk_->options_.store;
  if (!holder->tokens) co_return;
  const auto before = *holder->tokens;
  const auto lock = co_await store.lock(token_name(before.issuer, before.resource));
  self->way_.reset();
  auto kept = co_await store.token(before.issuer, before.resource);
  const bool newer = kept && is_newer(*kept, *holder);
  if (newer && replaces(kept->access, before.access) && token_age(*kept, self->desk_->now()) == TokenAge::fresh) {
    hold(*holder, std::move(*kept));
    co_return;
  }
  if (!kept && self->settings_.grant == GrantKind::authorization_code) {
    holder->tokens.reset();
    throw Error(Errc::unauthorized, "you signed out");
  }
  // Whoever renewed last has the refresh token that is valid: we, if it could not be kept.
  const auto current = newer ? *kept : before;
  if (self->settings_.grant != GrantKind::authorization_code) {
    auto found = co_await self->discover_now({});
    SignInReport report;
    auto tokens = co_await self->without_person(std::move(found), {.scope = join_scopes(current.requested)}, report);
    co_await store.keep_token(tokens, self->url_);
    hold(*holder, std::move(tokens));
    co_return;
  }
  co_await shielded(refreshed(self, holder, current));
}

Task<void> ServerSignIn::refreshed(Self self, std::shared_ptr<Holder> holder, TokenSet current) {
  auto& store = *self->desk_->options_.store;
  const auto client = co_await self->client_of(current);
  TokenRequest request;
  request.endpoint = current.token_endpoint;
  request.issuer = current.issuer;
  request.grant = RefreshGrant{current.refresh};
  request.client = &client;
  request.authentication = client.authentication;
  request.resource = current.resource;
  request.scopes = current.granted.value_or(current.requested);
  auto answer = co_await self->request_tokens(request, current.kind, current.dpop_key);
  if (auto* refusal = std::get_if<TokenRefusal>(&answer)) {
    holder->over = is_over(refusal->fault);
    if (refusal->fault == TokenFault::invalid_client) co_await self->forget_registration(client);
    throw token_error(*refusal, current.issuer);
  }
  auto& given = std::get<GivenTokens>(answer);
  if (given.kind == TokenKind::dpop && current.dpop_key.empty()) throw unasked_proof(current.issuer);
  auto next = current;
  next.access = std::move(given.access);
  if (!given.refresh.empty()) next.refresh = std::move(given.refresh);
  next.kind = given.kind;
  next.expires.reset();
  if (given.lifetime) next.expires = self->desk_->now() + *given.lifetime;
  if (given.scope) next.granted = std::move(given.scope);
  next.refreshed = self->desk_->now();
  // Kept before it is used: the old refresh token may be worth nothing any more.
  auto saved = co_await as_result(store.keep_token(next, self->url_));
  holder->tokens = std::move(next);
  holder->over = false;
  holder->unkept = !saved;
  if (!saved) {
    self->desk_->options_.runtime.log(LogLevel::warning, "sign_in_not_kept", "server", self->settings_.server, "reason",
                                      saved.error().message());
  }
}

Task<SignInReport> ServerSignIn::sign_in(SignInNeed need, OpenVisit open) {
  return sign_in_now(shared_from_this(), std::move(need), std::move(open));
}

void ServerSignIn::read_again() {
  if (holder_ && holder_->renewing) return;
  holder_.reset();
  loaded_ = false;
}

Task<void> ServerSignIn::note(std::optional<SignInFailure> failure) {
  // A note that cannot be written costs nothing but the note.
  (void)co_await as_result(desk_->options_.store->note_failure(url_, std::move(failure)));
}

Task<SignOutReport> ServerSignIn::sign_out() {
  const auto self = shared_from_this();
  auto& store = *desk_->options_.store;
  way_.reset();
  SignOutReport report;
  auto tokens = co_await store.token_of_server(url_);
  if (!tokens) {
    // Its token may have gone with that of another server of the resource.
    co_await store.forget_secret(bound_issuer_name());
    co_return report;
  }
  report.was_signed_in = true;
  report.issuer = tokens->issuer;
  const auto lock = co_await store.lock(token_name(tokens->issuer, tokens->resource));
  // A renewal that was under way has changed it.
  if (auto current = co_await store.token(tokens->issuer, tokens->resource)) tokens = std::move(current);
  auto client = co_await as_result(client_of(*tokens));
  co_await store.forget_token(tokens->issuer, tokens->resource);
  // An older one would count now. Where it stays, the newer one is ended all the same.
  const auto left = co_await as_result(store.leave_tokens(url_));
  const auto ended = [&] {
    if (!left) throw Error(left.error());
    return std::move(report);
  };
  (void)co_await as_result(store.forget_secret(bound_issuer_name()));
  auto held = desk_->holder(tokens->issuer, tokens->resource);
  held->tokens.reset();
  holder_.reset();
  co_await note(std::nullopt);
  if (tokens->revocation_endpoint.empty()) {
    report.not_told = Error(Errc::unsupported, "it does not say where it can be told (revocation_endpoint)");
    co_return ended();
  }
  if (!client) {
    report.not_told = client.error();
    co_return ended();
  }
  auto request = revocation_request(tokens->revocation_endpoint, *tokens, *client, client->authentication,
                                    tokens->issuer, desk_->now(), desk_->options_.runtime.random);
  if (!request) {
    report.not_told = request.error();
    co_return ended();
  }
  auto reach = co_await as_result(way());
  auto told = reach ? co_await as_result(reach->fetch(std::move(*request)))
                    : Result<HttpAnswer>(std::unexpected(reach.error()));
  if (!told) {
    report.not_told = told.error();
  } else if (told->head.status >= 400) {
    report.not_told = Error(Errc::http, fmt::format("it answered with status {}", told->head.status));
  }
  co_return ended();
}

}  // namespace patchbay
