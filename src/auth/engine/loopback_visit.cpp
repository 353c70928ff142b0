#include "auth/engine/loopback_visit.h"

#include <utility>

#include <fmt/format.h>

#include "auth/endpoint_rule.h"
#include "base/as_result.h"
#include "base/limit_text.h"
#include "base/scope.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "http/server/http_server.h"
#include "http/url.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view callback_path = "/callback";
constexpr int most_ports = 16;      // free ones that are tried
constexpr int most_strangers = 50;  // answers that belong to another attempt, before nobody listens any more
constexpr auto outcome_wait = 45s;  // the page waits so long for the token
constexpr auto last_page = 2s;      // to be taken by the browser
constexpr std::size_t shown_problem = 500;

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

HttpHeaders page_headers() {
  HttpHeaders headers;
  headers.set("Content-Type", "text/html; charset=utf-8");
  headers.set("Cache-Control", "no-store");
  headers.set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
  headers.set("Referrer-Policy", "no-referrer");
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("Connection", "close");
  return headers;
}

class LoopbackVisit final : public AuthorizationVisit {
 public:
  LoopbackVisit(asio::any_io_executor executor, LoopbackOptions options, VisitWish wish)
      : shared_(std::make_shared<Shared>(std::move(executor), std::move(options), std::move(wish))) {}
  ~LoopbackVisit() override {
    // The page may still be on its way.
    shared_->scope.cancel();
    Scope(shared_->scope.executor()).spawn_last(end(std::move(shared_)));
  }

  void listen() { Shared::listen(shared_); }
  const std::string& redirect_uri() const noexcept override { return shared_->redirect_uri; }
  Task<Secret> go(std::string url, Judge judge) override { return visit(shared_, std::move(url), std::move(judge)); }
  void finish(const Result<void>& outcome) override {
    shared_->outcome = outcome;
    shared_->finished.notify_all();
  }

 private:
  struct Shared {
    Shared(asio::any_io_executor executor, LoopbackOptions o, VisitWish w)
        : options(std::move(o)), wish(std::move(w)), scope(std::move(executor)) {}

    static std::unique_ptr<HttpServer> server_of(const std::shared_ptr<Shared>& self) {
      HttpServerLimits limits;
      limits.connections = 16;
      limits.body = 1u << 10;
      limits.head = 64u << 10;
      std::weak_ptr<Shared> weak = self;
      return std::make_unique<HttpServer>(
          self->scope.executor(), limits,
          [weak](ServerExchange& exchange) -> Task<void> {
            if (auto shared = weak.lock()) return answer(std::move(shared), exchange);
            return nobody(exchange);
          },
          self->options.runtime);
    }

    // Nothing: another program has the port. A browser may take "localhost" for either address, and what listens at the
    // other one would get the code.
    static bool listen_at(const std::shared_ptr<Shared>& self, std::uint16_t port) {
      auto first = server_of(self);
      try {
        first->listen("127.0.0.1", port);
      } catch (const Error&) {
        return false;
      }
      const auto address = first->address();
      const auto got = static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
      std::vector<std::unique_ptr<HttpServer>> servers;
      servers.push_back(std::move(first));
      if (self->wish.host == "localhost" && has_ipv6(self)) {
        auto second = server_of(self);
        try {
          second->listen("::1", got);
        } catch (const Error&) {
          return false;
        }
        servers.push_back(std::move(second));
      }
      self->servers = std::move(servers);
      self->redirect_uri = fmt::format("http://{}:{}{}", self->wish.host, got, callback_path);
      return true;
    }

    // Whether anybody can listen there at all.
    static bool has_ipv6(const std::shared_ptr<Shared>& self) {
      try {
        server_of(self)->listen("::1", 0);
        return true;
      } catch (const Error&) {
        return false;
      }
    }

    static void listen(const std::shared_ptr<Shared>& self) {
      const auto fixed = self->wish.port;
      if (fixed && !listen_at(self, *fixed)) {
        throw Error(
            Errc::connect,
            fmt::format("port {} of this machine, where the sign-in of \"{}\" has to come back to, is in use; end "
                        "the program that has it, or sign in when it has ended",
                        *fixed, self->wish.server));
      }
      bool found = fixed || (self->wish.preferred_port != 0 && listen_at(self, self->wish.preferred_port));
      for (int tried = 0; !found && tried < most_ports; ++tried) found = listen_at(self, 0);
      if (!found) {
        throw Error(Errc::connect,
                    fmt::format("there is no free port for the sign-in of \"{}\" to come back to", self->wish.server));
      }
      for (auto& server : self->servers) {
        self->scope.spawn([](HttpServer& one) -> Task<void> { (void)co_await as_result(one.accept()); }(*server));
      }
    }

    LoopbackOptions options;
    VisitWish wish;
    std::string redirect_uri;
    std::vector<std::unique_ptr<HttpServer>> servers;
    Judge judge;
    bool over = false;  // an answer was taken
    int strangers = 0;
    Completion<Result<Secret>> code;
    std::optional<Result<void>> outcome;
    Event finished;
    Scope scope;
  };

  static Task<void> nobody(ServerExchange& exchange) {
    exchange.respond(410, page_headers(), callback_page("", "This sign-in has ended."));
    co_return;
  }

  static Task<void> answer(std::shared_ptr<Shared> self, ServerExchange& exchange) {
    const auto& request = exchange.request();
    CallbackRequest asked{.method = request.method,
                          .target = request.url,
                          .host = std::string(request.headers.get("Host")),
                          .fetch_mode = std::string(request.headers.get("Sec-Fetch-Mode")),
                          .fetch_dest = std::string(request.headers.get("Sec-Fetch-Dest")),
                          .origin = std::string(request.headers.get("Origin"))};
    if (const auto fault = callback_fault(asked, self->redirect_uri); !fault.empty()) {
      exchange.respond(404, page_headers(), callback_page(self->wish.server, fault));
      co_return;
    }
    if (self->over || !self->judge) {
      exchange.respond(410, page_headers(), callback_page(self->wish.server, "This sign-in has ended already."));
      co_return;
    }
    const auto query = asked.target.find('?');
    auto read = read_callback(query == std::string::npos ? std::string_view()
                                                         : std::string_view(asked.target).substr(query + 1));
    Result<Secret> judged = read ? self->judge(*read) : Result<Secret>(std::unexpected(read.error()));
    if (!judged && judged.error().code() == Errc::protocol) {
      const bool too_many = ++self->strangers > most_strangers;
      exchange.respond(400, page_headers(), callback_page(self->wish.server, judged.error().message()));
      if (too_many) {
        self->over = true;
        self->code.set(std::unexpected(Error(Errc::limit, "too many answers came that belong to another sign-in")));
      }
      co_return;
    }
    self->over = true;
    if (!judged) {
      exchange.respond(400, page_headers(), callback_page(self->wish.server, judged.error().message()));
      self->code.set(std::move(judged));
      co_return;
    }
    self->code.set(std::move(judged));
    // The user reads that it worked when it has.
    const auto waiting = [](std::shared_ptr<Shared> shared) -> Task<void> {
      while (!shared->outcome) co_await shared->finished.wait();
    };
    auto told = co_await as_result(
        with_timeout(waiting(self), outcome_wait, "the token takes long; look at the program that signs in"));
    const auto problem = !told                        ? told.error().message()
                         : self->outcome->has_value() ? ""
                                                      : self->outcome->error().message();
    exchange.respond(problem.empty() ? 200 : 502, page_headers(), callback_page(self->wish.server, problem));
  }

  static Task<Secret> visit(std::shared_ptr<Shared> self, std::string url, Judge judge) {
    self->judge = std::move(judge);
    value_or_throw(check_browser_url(url));
    co_await self->options.show(url, self->redirect_uri);
    auto code =
        co_await with_timeout(self->code.wait(), as_duration(self->options.wait),
                              fmt::format("nobody signed in within {}", limit_text(as_duration(self->options.wait))));
    co_return value_or_throw(std::move(code));
  }

  static Task<void> end(std::shared_ptr<Shared> self) {
    if (!self->outcome) self->outcome = std::unexpected(Error(Errc::cancelled, "the sign-in was given up"));
    self->finished.notify_all();
    (void)co_await as_result(self->scope.join());
    for (auto& server : self->servers) (void)co_await as_result(server->stop(last_page));
  }

  std::shared_ptr<Shared> shared_;
};

Task<std::unique_ptr<AuthorizationVisit>> open_loopback(LoopbackOptions options, VisitWish wish) {
  auto visit = std::make_unique<LoopbackVisit>(co_await asio::this_coro::executor, std::move(options), std::move(wish));
  visit->listen();
  co_return visit;
}

}  // namespace

OpenVisit loopback_visits(LoopbackOptions options) {
  return [options](VisitWish wish) { return open_loopback(options, std::move(wish)); };
}

std::string callback_page(std::string_view server, std::string_view problem) {
  const auto name = html_escaped(clean_line(server));
  const auto why = html_escaped(clean_line(cut_utf8(problem, shown_problem)));
  const auto title = problem.empty() ? fmt::format("You are signed in{}{}", name.empty() ? "" : " to ", name)
                                     : std::string("Signing in did not work");
  return fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>body{{font:16px/1.5 "
      "system-ui,sans-serif;max-width:34em;margin:4em auto;padding:0 "
      "1em;color:#222}}@media(prefers-color-scheme:dark){{body{{background:#111;color:#ddd}}}}"
      "</style></head><body><h1>{0}</h1><p>{1}</p></body></html>\n",
      title, problem.empty() ? "You can close this window and go back to Patchbay." : why);
}

std::string callback_fault(const CallbackRequest& request, std::string_view redirect_uri) {
  const auto ours = parse_url(redirect_uri);
  if (!ours || request.method != "GET") return "This address only takes the answer of a sign-in.";
  const auto path = std::string_view(request.target).substr(0, request.target.find('?'));
  if (path != ours->path) return "This address only takes the answer of a sign-in.";
  // Another name for this machine is how a page of somebody else would get in.
  const auto host = parse_url(fmt::format("http://{}/", request.host));
  if (!host || host->effective_port() != ours->effective_port() || !is_loopback_host(host->host)) {
    return "This address is reached in another way than a sign-in does.";
  }
  // A browser that follows a link or a redirect says so; a script of a page does as well.
  if (!request.origin.empty() || (!request.fetch_mode.empty() && request.fetch_mode != "navigate") ||
      (!request.fetch_dest.empty() && request.fetch_dest != "document")) {
    return "Only a browser window brings the answer of a sign-in, not a script of a page.";
  }
  return {};
}

}  // namespace patchbay
