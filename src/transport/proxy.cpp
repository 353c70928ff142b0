#include "transport/proxy.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/limit_text.h"
#include "base/scope.h"
#include "base/strings.h"
#include "base/waiting.h"
#include "http/token_rule.h"
#include "http/url.h"
#include "transport/http.h"

namespace patchbay {
namespace {

constexpr std::string_view id_mark = "{server_id}";
constexpr std::size_t longest_id = 256;

class ProxyAuth final : public HttpAuth, public std::enable_shared_from_this<ProxyAuth> {
 public:
  ProxyAuth(std::optional<Url> origin, std::shared_ptr<TokenSource> tokens, std::string remedy, Duration limit)
      : origin_(std::move(origin)), tokens_(std::move(tokens)), remedy_(std::move(remedy)), limit_(limit) {}

  Task<SentCredentials> authorize(HttpRequest& request) override { return authorized(shared_from_this(), request); }
  Task<bool> on_challenge(SentCredentials sent, HttpRequest request, HttpHead answer) override {
    return challenged(shared_from_this(), std::move(sent), std::move(request), std::move(answer));
  }
  std::string remedy() const override { return remedy_; }

 private:
  using Self = std::shared_ptr<ProxyAuth>;

  bool is_ours(const std::string& url) const {
    const auto parsed = parse_url(url);
    return origin_ && parsed && same_origin(*origin_, *parsed);
  }

  static Task<SentCredentials> authorized(Self self, HttpRequest& request) {
    SentCredentials sent;
    // Whatever an entry says: nothing else signs in at a proxy.
    request.headers.remove("Authorization");
    if (!self->is_ours(request.url)) co_return sent;
    do {
      while (self->renewing_) co_await self->renewed_.wait();
      sent.token = co_await self->tokens_->token();
    } while (self->renewing_);
    sent.generation = self->generation_;
    if (!sent.token.empty()) request.headers.set("Authorization", fmt::format("Bearer {}", sent.token.reveal()));
    co_return sent;
  }

  static Task<bool> challenged(Self self, SentCredentials sent, HttpRequest request, HttpHead answer) {
    // 403 is the far server's word about what we may do, not about who we are.
    // And what somebody says to whom we were redirected is not about our token at all.
    if (answer.status != 401 || !self->is_ours(request.url) || !self->is_ours(answer.url)) co_return false;
    for (;;) {
      auto token = co_await self->tokens_->token();
      switch (after_refusal(sent, {std::move(token), self->generation_, self->renewing_})) {
        case AfterRefusal::retry:
          co_return true;
        case AfterRefusal::renew:
          co_await begin(self, sent.token);
          [[fallthrough]];
        case AfterRefusal::wait:
          co_await self->renewed_.wait();
          break;
        case AfterRefusal::sign_in:
          throw Error(Errc::unauthorized,
                      fmt::format("{} refuses the sign-in (401 Unauthorized){}; {}", self->origin_->origin(),
                                  self->failure_.empty() ? "" : fmt::format(", and {}", self->failure_), self->remedy_))
              .with_http_status(401);
      }
    }
  }

  // A renewal belongs to all who wait for it: whoever leaves does not end it.
  static Task<void> begin(Self self, Secret refused) {
    self->renewing_ = true;
    if (!self->scope_) self->scope_.emplace(co_await asio::this_coro::executor);
    self->scope_->spawn(renew(self, std::move(refused)));
  }

  static Task<void> renew(Self self, Secret refused) {
    struct Ended {
      explicit Ended(ProxyAuth& a) : auth(a) {}
      Ended(const Ended&) = delete;
      Ended& operator=(const Ended&) = delete;
      ~Ended() {
        auth.renewing_ = false;
        ++auth.generation_;
        auth.renewed_.notify_all();
      }
      ProxyAuth& auth;
    } ended(*self);
    self->failure_.clear();
    const std::string slow = fmt::format("the renewal took longer than {}", limit_text(self->limit_));
    auto stored = co_await as_result(with_timeout(self->tokens_->read_again(), self->limit_, slow));
    // Another process was quicker; or there never was anything to renew.
    if (refused.empty() || (stored && replaces(*stored, refused))) co_return;
    auto renewed = co_await as_result(with_timeout(self->tokens_->renew(refused), self->limit_, slow));
    if (!renewed || !*renewed) {
      const auto& error = renewed ? renewed->error() : renewed.error();
      self->failure_ = fmt::format("it could not be renewed: {}", error.message());
    }
    // Also when it failed: while we waited for its lock, somebody may have renewed.
    (void)co_await as_result(with_timeout(self->tokens_->read_again(), self->limit_, slow));
  }

  std::optional<Url> origin_;
  std::shared_ptr<TokenSource> tokens_;
  std::string remedy_;
  Duration limit_;
  std::uint64_t generation_ = 0;
  bool renewing_ = false;
  Event renewed_;
  std::string failure_;  // of the last renewal
  std::optional<Scope> scope_;
};

class ProxyTransport final : public Transport {
 public:
  explicit ProxyTransport(ProxyOptions options) : options_(std::move(options)) {
    auto url = proxy_url(options_.base, options_.server_id);
    if (!url) {
      unusable_ = std::move(url).error();
      return;
    }
    options_.http.url = std::move(*url);
    auto auth = options_.auth ? options_.auth : proxy_auth(options_.http.url, options_.tokens, options_.remedy);
    reached_ = http_transport_with(options_.http, std::move(auth));
  }

  Kind kind() const noexcept override { return Kind::http; }
  std::string describe() const override { return reached_ ? reached_->describe() : redacted_url(options_.base); }
  Identity identity() const override { return reached_ ? reached_->identity() : Identity{}; }
  // There is no older way through a proxy.
  std::unique_ptr<Transport> fallback() const override { return nullptr; }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override {
    if (unusable_) {
      return [](Error why) -> Task<std::unique_ptr<Channel>> {
        throw why;
        co_return nullptr;
      }(*unusable_);
    }
    return reached_->open(runtime);
  }

 private:
  ProxyOptions options_;
  std::optional<Error> unusable_;
  std::unique_ptr<Transport> reached_;
};

}  // namespace

Result<std::string> proxy_url(std::string_view base, std::string_view server_id) {
  auto wrong = [&](std::string_view why) {
    return fail(Errc::config, fmt::format("{} cannot be the address of a proxy: {}", redacted_url(base), why));
  };
  if (server_id.empty() || server_id.size() > longest_id || server_id == "." || server_id == "..") {
    return fail(
        Errc::config,
        fmt::format("the id of a server behind a proxy must not be empty, longer than {} bytes, \".\" or \"..\"",
                    longest_id));
  }
  const auto segment = percent_encoded(server_id, "-._~");  // one segment of a path
  // The address with the id, and with another one: everything but the id must be the same.
  auto with_id = [&](std::string_view id) {
    std::string text(base);
    if (const auto mark = text.find(id_mark); mark != text.npos) return text.replace(mark, id_mark.size(), id);
    if (!text.ends_with('/')) text += '/';
    return text += id;
  };
  const auto url = parse_url(with_id(segment));
  const auto other = parse_url(with_id(segment == "x" ? "y" : "x"));
  if (!url || !other) return wrong(url ? other.error().message() : url.error().message());
  if (!url->userinfo.empty() || url->query || url->fragment)
    return wrong("it must have only a scheme, a host and a path");
  if (!same_origin(*url, *other) || url->path == other->path)
    return wrong("\"{server_id}\" must be a part of its path");
  if (url->scheme != "https" && !(url->scheme == "http" && is_loopback_host(url->host))) {
    return wrong("it must begin with https://, because others could read the token otherwise");
  }
  return url->text();
}

std::shared_ptr<HttpAuth> proxy_auth(std::string_view url, std::shared_ptr<TokenSource> tokens, std::string remedy,
                                     Duration limit) {
  auto parsed = parse_url(url);
  return std::make_shared<ProxyAuth>(parsed ? std::optional(std::move(*parsed)) : std::nullopt, std::move(tokens),
                                     remedy.empty() ? "sign in again" : std::move(remedy), limit);
}

std::unique_ptr<Transport> proxy_transport(ProxyOptions options) {
  return std::make_unique<ProxyTransport>(std::move(options));
}

}  // namespace patchbay
