// One HTTP request out of surroundings that a test prepared: a network namespace with a
// resolver that never answers, or without IPv4. Prints what came of it, one line.
//
//   http-probe get URL             "200 BODY", or "CODE MESSAGE"
//   http-probe serve ADDRESS HOST  the same, against a server of its own at ADDRESS, by the name HOST
//   http-probe ruled ADDRESS HOST  the same as a server far away might name it: nothing on this machine may be asked
//   http-probe silent-resolver URL  a resolver at 127.0.0.1 that takes questions and never answers; the
//                                  request is cancelled after five turns of a timer: "cancelled after 5 turns";
//                                  with tests/preload/own_resolver.c it is that one's server
//   http-probe silent-limit URL     the same resolver, and a limit of 200 ms to connect
//   http-probe dead-path ADDRESS   a body that has begun when the loopback device goes down: "began, then CODE MESSAGE"
//
// A URL of ws:// asks for a WebSocket, which the server of `serve ADDRESS HOST ws` refuses with 200.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "auth/endpoint_rule.h"
#include "base/scope.h"
#include "http/client/http_client.h"
#include "ws/websocket.h"

namespace {

using namespace patchbay;
using namespace std::chrono_literals;

Task<std::string> upgrade(const std::string& url, HttpRequestLimits limits) {
  WebSocketTarget target;
  target.url = parse_url(url).value();
  target.connect = limits.connect;
  auto answer = co_await open_websocket(std::move(target), {});
  if (auto* refusal = std::get_if<WebSocketRefusal>(&answer)) {
    co_return fmt::format("{} {}", refusal->head.status, refusal->body);
  }
  co_return "opened";
}

Task<std::string> get(HttpClient& client, std::string url, HttpRequestLimits limits = {}) {
  if (url.starts_with("ws:")) co_return co_await upgrade(url, limits);
  HttpRequest request;
  request.url = std::move(url);
  auto exchange = co_await client.send(std::move(request), limits);
  const auto body = co_await read_all(*exchange, 1000);
  co_return fmt::format("{} {}", exchange->head().status, body);
}

Task<std::string> get_or_error(HttpClient& client, std::string url, HttpRequestLimits limits = {}) {
  auto result = co_await as_result(get(client, std::move(url), limits));
  co_return result ? *result : fmt::format("{} {}", to_string(result.error().code()), result.error().message());
}

struct Bound {
  int fd = -1;
  int port = 0;
};

Bound bind_to(const char* text, int type, int port) {
  sockaddr_storage storage{};
  socklen_t length = 0;
  auto& four = reinterpret_cast<sockaddr_in&>(storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(storage);
  if (::inet_pton(AF_INET, text, &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<std::uint16_t>(port));
    length = sizeof four;
  } else if (::inet_pton(AF_INET6, text, &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<std::uint16_t>(port));
    length = sizeof six;
  }
  const int fd = ::socket(storage.ss_family, type | SOCK_CLOEXEC, 0);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&storage), length) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    throw Error(Errc::internal, fmt::format("cannot bind {}: {}", text, std::strerror(errno)));
  }
  return {.fd = fd, .port = ntohs(storage.ss_family == AF_INET ? four.sin_port : six.sin6_port)};
}

// Takes questions about names and never answers: for the resolver of the tests where that is
// loaded, else for the system's.
Bound silent_resolver() {
  const bool own = std::getenv("PATCHBAY_TEST_NAMES") != nullptr;
  const auto bound = bind_to("127.0.0.1", SOCK_DGRAM, own ? 0 : 53);
  if (own) ::setenv("PATCHBAY_TEST_RESOLVER", std::to_string(bound.port).c_str(), 1);
  return bound;
}

// Answers one request.
Task<std::string> with_server(HttpClient& client, const char* address, std::string host, std::string scheme) {
  const auto listener = bind_to(address, SOCK_STREAM, 0);
  ::listen(listener.fd, 8);
  std::thread server([&] {
    const int connection = ::accept(listener.fd, nullptr, nullptr);
    char buffer[4096];
    if (::recv(connection, buffer, sizeof buffer, 0) > 0) {
      const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
      (void)::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    ::close(connection);
  });
  auto line = co_await get_or_error(client, fmt::format("{}://{}:{}/", scheme, host, listener.port));
  ::shutdown(listener.fd, SHUT_RDWR);
  server.join();
  co_return line;
}

Task<std::string> cancelled_in_lookup(HttpClient& client, std::string url) {
  const auto resolver = silent_resolver();
  Scope scope(co_await asio::this_coro::executor);
  std::string outcome = "nothing";
  auto work = [](HttpClient& c, std::string u, std::string& out) -> Task<void> { out = co_await get_or_error(c, u); };
  auto spawned = scope.spawn(work(client, std::move(url), outcome));
  // The question has arrived, so the lookup is under way.
  char question[512];
  co_await asio::post(asio::use_awaitable);
  co_await asio::post(asio::use_awaitable);
  if (::recv(resolver.fd, question, sizeof question, 0) <= 0) co_return "no question came";
  int turns = 0;
  for (; turns < 5; ++turns) co_await sleep_for(10ms);
  const auto begun = std::chrono::steady_clock::now();
  spawned.cancel();
  co_await scope.join();
  const auto took = std::chrono::steady_clock::now() - begun;
  ::close(resolver.fd);
  // The resolver's own patience is five seconds and more.
  if (took > 4s) co_return "cancelling waited for the lookup";
  co_return fmt::format("{} after {} turns", outcome.substr(0, outcome.find(' ')), turns);
}

Task<std::string> lookup_limit(HttpClient& client, std::string url) {
  const auto resolver = silent_resolver();
  HttpRequestLimits limits;
  limits.connect = 200ms;
  auto line = co_await get_or_error(client, std::move(url), limits);
  ::close(resolver.fd);
  co_return line;
}

// Nothing says that the connection is gone; only questions that are not answered can tell.
Task<std::string> dead_path(const char* address) {
  HttpClientOptions options;
  options.keep_alive = {.idle = 1s, .interval = 1s, .count = 2};
  HttpClient client(co_await asio::this_coro::executor, options);
  const auto listener = bind_to(address, SOCK_STREAM, 0);
  ::listen(listener.fd, 8);
  std::thread server([&] {
    const int connection = ::accept(listener.fd, nullptr, nullptr);
    char buffer[4096];
    if (::recv(connection, buffer, sizeof buffer, 0) > 0) {
      const std::string answer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n";
      (void)::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    // The connection stays open until the program ends.
  });
  HttpRequest request;
  request.url = fmt::format("http://{}:{}/", address, listener.port);
  auto exchange = co_await client.send(std::move(request));
  (void)co_await exchange->read();
  server.join();
  if (std::system("ip link set lo down") != 0) co_return "the device does not go down";
  auto rest = co_await as_result(exchange->read());
  co_return rest ? fmt::format("began, then {} bytes", rest->size())
                 : fmt::format("began, then {} {}", to_string(rest.error().code()), rest.error().message());
}

Task<int> main_task(int count, char** words) {
  if (count < 3) co_return 2;
  const std::string mode = words[1];
  auto client = std::make_unique<HttpClient>(co_await asio::this_coro::executor, HttpClientOptions{});
  std::string line;
  if (mode == "get") line = co_await get_or_error(*client, words[2]);
  if (mode == "serve")
    line = co_await with_server(*client, words[2], count > 3 ? words[3] : words[2], count > 4 ? words[4] : "http");
  if (mode == "ruled") {
    HttpClientOptions options;
    options.may_connect = [](std::string_view address) { return check_address(address, "the token endpoint", {}); };
    client = std::make_unique<HttpClient>(co_await asio::this_coro::executor, std::move(options));
    line = co_await with_server(*client, words[2], count > 3 ? words[3] : words[2], "http");
  }
  if (mode == "silent-resolver") line = co_await cancelled_in_lookup(*client, words[2]);
  if (mode == "silent-limit") line = co_await lookup_limit(*client, words[2]);
  if (mode == "dead-path") line = co_await dead_path(words[2]);
  const auto begun = std::chrono::steady_clock::now();
  client.reset();
  if (std::chrono::steady_clock::now() - begun > 4s) line = "closing the client waited for the lookup";
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
  // A lookup that nobody waits for may still be on a thread of the library.
  ::_exit(0);
}

}  // namespace

int main(int count, char** words) { return run(main_task(count, words)); }
