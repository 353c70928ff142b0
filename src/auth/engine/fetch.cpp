#include "auth/engine/fetch.h"

#include <memory>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/timeout.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t answer_limit = 1u << 20;
constexpr auto answer_time = 30s;
constexpr auto lookup_time = 5s;
constexpr int most_redirects = 3;
constexpr int most_tries = 3;
constexpr auto first_pause = 250ms;  // before the second try; each is twice the one before

// A description can be asked for again: asking changes nothing.
bool may_pass(const Result<HttpAnswer>& answer) {
  if (!answer) return answer.error().code() == Errc::connect || answer.error().code() == Errc::closed;
  const auto status = answer->head.status;
  return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

Task<HttpAnswer> fetch_patiently(AuthFetch fetch, HttpRequest request) {
  Duration pause = first_pause;
  for (int tries = 1;; ++tries, pause *= 2) {
    auto answer = co_await as_result(fetch(request));
    if (tries == most_tries || !may_pass(answer)) co_return value_or_throw(std::move(answer));
    co_await sleep_for(pause);
  }
}

Task<HttpAnswer> fetch_with(std::shared_ptr<HttpClient> client, HttpRequest request) {
  HttpRequestLimits limits;
  limits.redirects = 0;
  limits.connect = answer_time;
  limits.total = answer_time;
  limits.body = answer_limit;
  auto exchange = co_await client->send(std::move(request), limits);
  HttpAnswer answer{exchange->head(), {}};
  answer.body = co_await read_all(*exchange, answer_limit);
  co_return answer;
}

}  // namespace

AuthFetch auth_fetch(asio::any_io_executor executor, HttpClientOptions options, ServerNetwork network) {
  options.may_connect = [network](std::string_view address) {
    return check_address(address, "an address of sign-in", network);
  };
  auto client = std::make_shared<HttpClient>(std::move(executor), std::move(options));
  return [client](HttpRequest request) { return fetch_with(client, std::move(request)); };
}

Task<ServerNetwork> network_of(Url server) {
  if (const auto kind = address_kind(server.host)) co_return ServerNetwork{*kind};
  if (is_loopback_host(server.host)) co_return ServerNetwork{AddressKind::loopback};
  asio::ip::tcp::resolver resolver(co_await asio::this_coro::executor);
  auto looking = [](asio::ip::tcp::resolver& from, std::string host) -> Task<asio::ip::tcp::resolver::results_type> {
    co_return co_await from.async_resolve(host, "", asio::use_awaitable);
  };
  auto found = co_await as_result(with_timeout(looking(resolver, server.host), lookup_time, "no answer"));
  // Behind a proxy nobody here knows the name; then nothing special may be asked.
  if (!found || found->empty()) co_return ServerNetwork{};
  std::optional<AddressKind> kind;
  for (const auto& one : *found) {
    const auto now = address_kind(one.endpoint().address().to_string()).value_or(AddressKind::common);
    // A name that is on several networks is on none: it says whatever somebody wants us to reach.
    if (kind && *kind != now) co_return ServerNetwork{};
    kind = now;
  }
  co_return ServerNetwork{*kind, true};
}

Task<HttpAnswer> fetch_document(AuthFetch fetch, std::string url, std::string what, ServerNetwork network,
                                HttpHeaders headers) {
  auto at = value_or_throw(check_endpoint(url, what, network));
  for (int redirects = 0;; ++redirects) {
    HttpRequest request{.method = "GET", .url = at.text(), .headers = headers, .body = {}};
    request.headers.set("Accept", "application/json");
    auto answer = co_await fetch_patiently(fetch, std::move(request));
    const auto status = answer.head.status;
    if (status != 301 && status != 302 && status != 303 && status != 307 && status != 308) co_return answer;
    if (redirects == most_redirects) {
      throw Error(Errc::protocol,
                  fmt::format("{} ({}) redirects more than {} times", what, redacted_url(url), most_redirects));
    }
    auto resolved = resolve_url(at, answer.head.headers.get("Location"));
    if (!resolved) {
      throw Error(Errc::protocol, fmt::format("{} ({}) redirects to an address that cannot be used: {}", what,
                                              redacted_url(url), resolved.error().message()));
    }
    auto next = std::move(*resolved);
    next.fragment.reset();
    if (at.scheme == "https" && next.scheme != "https") {
      throw Error(Errc::protocol,
                  fmt::format("{} ({}) redirects to an address without encryption", what, redacted_url(url)));
    }
    at = value_or_throw(check_endpoint(next.text(), what, network));
  }
}

}  // namespace patchbay
