// ServerSignIn: the sign-in of one server that is reached by HTTP. It puts the token on each request, renews it before
// it expires and when it is refused, and gets one where no person is needed. When a person is needed the refusal stands
// and travels up as an Error with SignInNeed; then somebody calls sign_in(), outside of every limit for connecting or
// calling, and opens the connection anew.
//
// SignInDesk: what the servers of one host share: the tokens of each issuer and resource, so that one renewal serves
// all who wait for it; who we are at each issuer, so that we register once; and the user's attention, one browser
// window at a time. Both are made and used on the loop thread. HTTP, browser, clock, randomness and store are handed
// in.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/sign_in.h>
#include <patchbay/task.h>

#include "auth/engine/discovery.h"
#include "auth/engine/fetch.h"
#include "auth/engine/sign_in_store.h"
#include "auth/engine/visit.h"
#include "auth/oauth_types.h"
#include "auth/token_answer.h"
#include "auth/token_request.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "base/semaphore.h"
#include "base/waiting.h"
#include "http/auth.h"

namespace patchbay {

// How tokens are got.
enum class GrantKind : std::uint8_t {
  authorization_code,  // a person, in a browser
  client_credentials,  // as ourselves
  workload_identity,   // by a statement of the platform we run on (RFC 7523)
  cross_app_access,    // by the user's sign-in at an identity provider (RFC 8693, then RFC 7523)
};

// How the requests of one server's sign-in are made, and which network it is on. Found out when it is first needed.
struct SignInWay {
  AuthFetch fetch;
  ServerNetwork network;
};
using FindWay = std::function<Task<SignInWay>()>;

// What an entry says about signing in, its secrets fetched.
struct SignInSettings {
  std::string server;  // the name of the entry
  Url url;
  GrantKind grant = GrantKind::authorization_code;
  std::optional<std::string> client_id;
  // Fetched when it is needed; unset or empty: none.
  std::function<Task<Secret>()> client_secret;
  std::function<Task<Secret>()> private_key;  // PEM, for private_key_jwt
  std::string key_algorithm;
  std::optional<std::string> client_issuer;  // where client_id is valid; unset: where it is first used
  std::optional<std::string> scopes;
  std::optional<std::string> issuer_metadata;
  bool users_own = true;  // the entry is not one of a project, a plugin or a connector
  std::optional<std::string> resource;
  std::optional<std::string> callback_host;
  std::optional<std::uint16_t> callback_port;
  bool dpop = false;            // tokens with proofs wherever the issuer has them, not only where the server wants them
  std::string client_document;  // URL of a document about us (client id metadata document)
  // The statement for workload_identity, fetched anew each time.
  std::function<Task<Secret>()> workload_token;
  std::optional<IdentityProvider> identity_provider;
  std::function<Task<Secret>()> identity_token;  // unset: the kept one
  // To the provider, which is where the settings of the user say, whatever network the server is on. Unset: the
  // server's own way.
  FindWay provider_way;
};

// In the store: the user's identity token of a provider, what renews it, and the secret that we have there as a client.
std::string provider_token_name(const std::string& issuer);
std::string provider_refresh_name(const std::string& issuer);
std::string provider_secret_name(const std::string& issuer);

struct SignInReport {
  std::string issuer;
  std::string resource;
  std::optional<Scopes> granted;
  bool registered = false;
  bool shared = false;                        // nobody was asked: the token of another server of the resource is used
  SignInStep step = SignInStep::preparation;  // where it is, or where it failed
};

// What became of the tokens of a server that were forgotten.
struct SignOutReport {
  bool was_signed_in = false;
  std::string issuer = {};
  std::optional<Error> not_told = {};  // why the issuer does not know that they are not needed any more
};

class ServerSignIn;

class SignInDesk : public std::enable_shared_from_this<SignInDesk> {
 public:
  struct Options {
    std::shared_ptr<SignInStore> store;
    std::string client_name = "Patchbay";
    std::string software_version;
    Runtime runtime;
  };
  SignInDesk(asio::any_io_executor executor, Options options);
  SignInDesk(const SignInDesk&) = delete;
  SignInDesk& operator=(const SignInDesk&) = delete;

  // One for each server; servers with the same settings get the same one.
  std::shared_ptr<ServerSignIn> server(SignInSettings settings, FindWay find_way);

  // The user signs in at the identity provider, once for all servers that use it. Returns when the identity token is
  // kept; it is renewed where the provider gives what that takes.
  Task<void> sign_in_at_provider(IdentityProvider provider, SignInWay way, OpenVisit open);
  // The kept identity token, renewed if it has expired. Errc::unauthorized when nobody is signed in there.
  Task<Secret> identity_token(IdentityProvider provider, SignInWay way);

  // No more renewals are begun, and those that wait for somebody end. One whose request is under way ends by itself,
  // and what it brings is kept.
  Task<void> close();

 private:
  friend class ServerSignIn;

  // The tokens for one resource of one issuer, for all servers that share it.
  struct Holder {
    std::optional<TokenSet> tokens;
    std::uint64_t generation = 0;  // renewals that have ended
    bool renewing = false;
    std::optional<Error> failure;  // of the last renewal
    std::chrono::sys_seconds failed{};
    bool over = false;    // it cannot be renewed any more: somebody has to sign in
    bool unkept = false;  // the tokens could not be kept: the store has older ones
    Event renewed;
  };
  // A renewal from where it is begun to where everybody who waits for it goes on, also when it never runs.
  class Renewal {
   public:
    explicit Renewal(std::shared_ptr<Holder> of) : holder(std::move(of)) { holder->renewing = true; }
    Renewal(Renewal&&) = default;
    ~Renewal() {
      if (!holder) return;
      holder->renewing = false;
      ++holder->generation;
      holder->renewed.notify_all();
    }
    std::shared_ptr<Holder> holder;
  };
  std::shared_ptr<Holder> holder(const std::string& issuer, const std::string& resource);
  std::chrono::sys_seconds now() const;
  // Answers who waits, also when what was to answer never ran to its end.
  class Unfinished {
   public:
    explicit Unfinished(std::shared_ptr<Completion<Result<Secret>>> waiting) : waiting_(std::move(waiting)) {}
    Unfinished(Unfinished&&) = default;
    ~Unfinished() {
      if (waiting_) waiting_->set(fail(Errc::cancelled, "the host was stopped"));
    }
    void set(Result<Secret> outcome) { waiting_->set(std::move(outcome)); }

   private:
    std::shared_ptr<Completion<Result<Secret>>> waiting_;
  };
  static Task<void> identity_apart(std::shared_ptr<SignInDesk> self, IdentityProvider provider, SignInWay way,
                                   Unfinished done);
  Task<Secret> current_identity(IdentityProvider provider, SignInWay way);
  // Trades the refresh token, which is worth nothing afterwards: never cut off in the middle.
  Task<Secret> renewed_identity(IdentityProvider provider, SignInWay way, Secret refresh, std::string endpoint);
  // Who we are at the provider, with its secret.
  Task<OAuthClient> provider_client(IdentityProvider provider);

  Options options_;
  std::map<std::string, std::shared_ptr<Holder>> holders_;  // by token_name()
  std::map<std::string, std::string> nonces_;               // by origin: the last one it wanted in proofs
  Semaphore attention_{1};                                  // of the user
  Scope scope_;
};

class ServerSignIn final : public HttpAuth, public std::enable_shared_from_this<ServerSignIn> {
 public:
  ServerSignIn(std::shared_ptr<SignInDesk> desk, SignInSettings settings, FindWay find_way);

  Task<SentCredentials> authorize(HttpRequest& request) override;
  Task<bool> on_challenge(SentCredentials sent, HttpRequest request, HttpHead answer) override;
  void on_answer(const HttpRequest& request, const HttpHead& answer) override;
  bool signs_in() const noexcept override { return true; }

  // Gets a token, with a person unless the grant needs none. Returns when it is kept. `need` is what the refusal said.
  Task<SignInReport> sign_in(SignInNeed need, OpenVisit open);
  // Forgets the tokens, and tells the issuer that they are not needed any more, where it can be told.
  Task<SignOutReport> sign_out();

  // What is kept may have changed: another process signed in or out.
  void read_again();

  const SignInSettings& settings() const noexcept { return settings_; }
  // What to sign in for: what the last refusal wanted, here or in another process.
  Task<SignInNeed> need();
  // What the last refusal said that stood.
  const std::optional<SignInNeed>& last_need() const noexcept { return last_need_; }

 private:
  using Self = std::shared_ptr<ServerSignIn>;
  using Holder = SignInDesk::Holder;

  static Task<SentCredentials> authorized(Self self, HttpRequest& request);
  static Task<bool> challenged(Self self, SentCredentials sent, HttpRequest request, HttpHead answer);
  static Task<SignInReport> sign_in_now(Self self, SignInNeed need, OpenVisit open);
  static Task<void> sign_in_steps(Self self, SignInNeed need, OpenVisit open, SignInReport& report);
  // For people who look later; nothing: all is well.
  Task<void> note(std::optional<SignInFailure> failure);
  // What is kept for this server, once.
  Task<void> load();
  // Begins a renewal unless one is under way, and waits for its end.
  static Task<void> renewed(Self self, std::shared_ptr<Holder> holder);
  static Task<void> renew(Self self, SignInDesk::Renewal renewal);
  static Task<void> renew_locked(Self self, std::shared_ptr<Holder> holder);
  // Trades the refresh token of `current`, which may be worth nothing afterwards: never cut off in the middle.
  static Task<void> refreshed(Self self, std::shared_ptr<Holder> holder, TokenSet current);
  // The first token of a grant that needs no person, once for all requests that were refused for want of one.
  static Task<void> first_token(Self self, SentCredentials sent, SignInNeed need);

  // Looked for once for each sign-in, renewal and sign-out: this machine may have come to another network meanwhile.
  Task<SignInWay> way();
  Task<Discovered> discover_now(SignInNeed need);
  Scopes scopes_for(const SignInNeed& need, const Discovered& found) const;
  // The user wants tokens with proofs, and the issuer has them.
  bool wants_proof(const Discovered& found) const { return settings_.dpop && !found.issuer.dpop_algorithms.empty(); }
  // Also keeps them, so that the page can say that it worked.
  Task<void> by_browser(Discovered found, SignInNeed need, OpenVisit open, SignInReport& report);
  Task<TokenSet> without_person(Discovered found, SignInNeed need, SignInReport& report);
  Task<OAuthClient> client_at(IssuerMetadata issuer, std::string redirect_uri, Scopes scopes, SignInReport& report);
  Task<OAuthClient> configured_client(IssuerMetadata issuer);
  Task<OAuthClient> client_of(const TokenSet& tokens);
  Task<void> forget_registration(OAuthClient client);
  Task<Secret> identity_assertion(const Discovered& found, const Scopes& scopes);
  Task<TokenSet> tokens_by(TokenRequest request, const Discovered& found, bool proof, Scopes scopes);
  Task<void> adopt(TokenSet tokens, SignInReport& report);
  // Takes the token that the user has for this resource already, through another server. Nothing: somebody has to ask.
  Task<std::optional<TokenSet>> shared(const Discovered& found, const SignInNeed& need);
  Task<TokenAnswer> request_tokens(TokenRequest request, TokenKind kind, Secret dpop_key);
  bool is_worth_renewing(const Holder& holder) const;
  static void hold(Holder& holder, TokenSet tokens);
  // Whether what is kept takes the place of what is held.
  static bool is_newer(const TokenSet& kept, const Holder& holder);
  // In the store: the issuer that what the user configured for this server was first used at, and goes to from then on.
  std::string bound_issuer_name() const;
  Task<void> check_bound_issuer(std::string issuer);
  Task<void> bind_issuer(std::string issuer);
  bool is_ours(const std::string& url) const;

  std::shared_ptr<SignInDesk> desk_;
  SignInSettings settings_;
  std::string url_;  // the server's, as it is kept
  FindWay find_way_;
  std::optional<SignInWay> way_;
  std::optional<SignInNeed> last_need_;
  bool loaded_ = false;
  Semaphore loading_{1};
  Semaphore first_{1};
  std::shared_ptr<Holder> holder_;  // once an issuer is known
  std::vector<Scopes> steps_up_;    // scopes that were given after a server wanted more
  std::size_t steps_in_a_row_ = 0;  // without a request that succeeded
};

}  // namespace patchbay
