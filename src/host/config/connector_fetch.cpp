#include "host/config/connector_fetch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/semaphore.h"
#include "base/strings.h"
#include "http/client/http_client.h"
#include "http/url.h"
#include "settings/files.h"

namespace patchbay {
namespace {

constexpr std::size_t most_pages = 20;
constexpr std::size_t page_limit = 4u << 20;

std::chrono::sys_seconds now_of(const Clock& clock) { return std::chrono::floor<std::chrono::seconds>(clock.wall()); }

// The bearer as an entry would have it: written out, or ${env:…}, ${file:…}, ${secret:…}, ${cmd:…}.
Task<std::string> bearer_of(const ConnectorDirectory& directory, std::shared_ptr<const StartContext> context,
                            Runtime runtime) {
  ServerConfig holder;
  holder.name = "connectors";
  holder.url = directory.bearer;
  holder.origin = {"config.json", 0, ConfigScope::user, ConfigTrust::trusted, 0};
  auto secrets = co_await fetch_secrets(holder, context, runtime);
  co_return std::string(trim(expand(directory.bearer, context->variables, secrets).text));
}

class ConnectorTokens final : public TokenSource {
 public:
  ConnectorTokens(ConnectorDirectory directory, std::shared_ptr<const StartContext> context, Runtime runtime)
      : directory_(std::move(directory)), context_(std::move(context)), runtime_(std::move(runtime)) {}

  Task<Secret> token() override {
    // Several servers start at a time; it is fetched once for them.
    auto turn = co_await fetching_.acquire();
    if (token_.empty()) token_ = Secret(co_await bearer_of(directory_, context_, runtime_));
    co_return token_;
  }
  Task<Secret> read_again() override {
    token_ = Secret(co_await bearer_of(directory_, context_, runtime_));
    co_return token_;
  }
  Task<Result<void>> renew(Secret) override {
    co_return fail(Errc::unauthorized,
                   "the token of the connectors was refused; renew the one that \"connectors.bearer\" names");
  }

 private:
  ConnectorDirectory directory_;
  std::shared_ptr<const StartContext> context_;
  Runtime runtime_;
  Secret token_;
  Semaphore fetching_{1};
};

std::string page_url(const ConnectorDirectory& directory, const std::optional<std::string>& page) {
  auto url = value_or_throw(parse_url(directory.url));
  if (page) {
    url.query = (url.query ? *url.query + "&" : "") + "page=" + percent_encoded(*page, "-_");
  }
  return url.text();
}

// Once more when the sign-in was renewed meanwhile.
Task<std::unique_ptr<HttpExchange>> send_signed_in(HttpClient& client, HttpRequest request, HttpRequestLimits limits,
                                                   std::shared_ptr<ServerSignIn> sign_in) {
  constexpr int most_tries = 3;  // a token, a renewed one, and a number for its proof
  for (int tries = 1;; ++tries) {
    auto sending = request;
    auto sent = co_await sign_in->authorize(sending);
    auto exchange = co_await client.send(sending, limits);
    const auto& head = exchange->head();
    if ((head.status != 401 && head.status != 403) || tries == most_tries) {
      sign_in->on_answer(sending, head);
      co_return exchange;
    }
    if (!co_await sign_in->on_challenge(std::move(sent), sending, head)) co_return exchange;
  }
}

Task<ConnectorPage> fetch_page(HttpClient& client, const ConnectorDirectory& directory, std::string bearer,
                               std::shared_ptr<ServerSignIn> sign_in, std::optional<std::string> page) {
  HttpRequest request{.method = "GET", .url = page_url(directory, page), .headers = {}, .body = {}};
  request.headers.add("Accept", "application/json");
  if (!bearer.empty()) request.headers.add("Authorization", "Bearer " + bearer);
  HttpRequestLimits limits;
  // The token is for this directory and for nobody it might point at.
  limits.redirects = 0;
  limits.body = page_limit;
  std::unique_ptr<HttpExchange> exchange;
  if (sign_in) {
    exchange = co_await send_signed_in(client, std::move(request), limits, sign_in);
  } else {
    exchange = co_await client.send(std::move(request), limits);
  }
  const auto status = exchange->head().status;
  const auto shown = redacted_url(directory.url);
  if ((status == 401 || status == 403) && sign_in) {
    throw Error(Errc::unauthorized,
                fmt::format("the connector directory {} needs you to sign in (HTTP status {})", shown, status))
        .with_http_status(status)
        .with_sign_in(sign_in->last_need().value_or(SignInNeed{}));
  }
  if (status == 401 || status == 403) {
    throw Error(
        Errc::unauthorized,
        fmt::format("the connector directory {} refuses the token (HTTP status {}); check \"connectors.bearer\"", shown,
                    status))
        .with_http_status(status);
  }
  if (status != 200) {
    throw Error(
        Errc::http,
        fmt::format("the connector directory {} answered with HTTP status {}; check \"connectors.url\"", shown, status))
        .with_http_status(status);
  }
  auto body = co_await read_all(*exchange, page_limit);
  auto parsed = parse_connector_page(body);
  if (!parsed)
    throw Error(Errc::protocol,
                fmt::format("the connector directory {}: {}; check \"connectors.url\"", shown, parsed.error()));
  co_return std::move(*parsed);
}

Task<std::vector<Connector>> fetch_pages(ConnectorDirectory directory, std::shared_ptr<const StartContext> context,
                                         Runtime runtime) {
  auto bearer = co_await bearer_of(directory, context, runtime);
  HttpClientOptions options;
  options.log = runtime.log;
  options.environment = context->variables;
  const auto executor = co_await asio::this_coro::executor;
  auto sign_in = directory_sign_in(directory, context, runtime, executor);
  HttpClient client(executor, std::move(options));
  std::vector<Connector> all;
  std::optional<std::string> page;
  for (std::size_t count = 0; count < most_pages; ++count) {
    auto one = co_await fetch_page(client, directory, bearer, sign_in, page);
    all.insert(all.end(), std::make_move_iterator(one.connectors.begin()),
               std::make_move_iterator(one.connectors.end()));
    if (!one.next || one.next == page) break;
    page = std::move(one.next);
  }
  co_return all;
}

// Written beside and renamed: whoever reads finds the old text or the new one.
void keep(const std::string& file, const std::string& text) {
  std::error_code ignored;
  const auto directory = std::filesystem::path(file).parent_path();
  std::filesystem::create_directories(directory, ignored);
  auto pattern = file + ".XXXXXX";
  const int fd = ::mkostemp(pattern.data(), O_CLOEXEC);
  if (fd < 0) return;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  if (!written || ::rename(pattern.c_str(), file.c_str()) != 0) ::unlink(pattern.c_str());
}

}  // namespace

std::shared_ptr<ServerSignIn> directory_sign_in(const ConnectorDirectory& directory,
                                                const std::shared_ptr<const StartContext>& context,
                                                const Runtime& runtime, asio::any_io_executor executor) {
  if (!signs_in_at_connectors(directory) || !context->sign_ins) return nullptr;
  HttpClientOptions options;
  options.log = runtime.log;
  options.environment = context->variables;
  auto address = value_or_throw(parse_url(directory.url));
  address.query.reset();
  return context->sign_ins->for_address(std::move(executor), address, std::move(options), reading_for(context));
}

Task<void> fetch_connectors(ConnectorDirectory directory, std::shared_ptr<const StartContext> context,
                            Runtime runtime) {
  const auto limit = as_duration(directory.timeout);
  auto fetched = co_await with_timeout(
      fetch_pages(directory, context, runtime), limit,
      fmt::format("the connector directory {} did not answer within {} ms, the limit in \"connectors.timeout\"",
                  redacted_url(directory.url), directory.timeout.count()));
  ConnectorCache cache{std::move(fetched), now_of(loop_clock(co_await asio::this_coro::executor))};
  auto write = [file = directory.cache_file, text = connector_cache_text(directory, cache)] {
    keep(file, text);
    return true;
  };
  (void)co_await offload(Pool::quick, std::move(write));
}

std::shared_ptr<TokenSource> connector_tokens(ConnectorDirectory directory, std::shared_ptr<const StartContext> context,
                                              Runtime runtime) {
  return std::make_shared<ConnectorTokens>(std::move(directory), std::move(context), std::move(runtime));
}

bool connectors_are_fresh(const ConnectorDirectory& directory, const Clock& clock) {
  auto text = read_owned_text(directory.cache_file, ::getuid());
  if (text.state != OwnedText::State::text) return false;
  auto cache = read_connector_cache(text.text, directory, now_of(clock));
  return cache && now_of(clock) - cache->fetched < connector_freshness;
}

}  // namespace patchbay
