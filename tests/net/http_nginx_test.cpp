// The HTTP client against nginx: HTTP/2 as a real server speaks it, and a stream that comes
// through a reverse proxy.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/scope.h"
#include "net/http_client.h"
#include "support/command.h"
#include "support/loop.h"
#include "support/scripted_server.h"

extern char** environ;  // NOLINT

namespace patchbay::test {
namespace {

using namespace std::literals;

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

// nginx with TLS and HTTP/2: /protocol says what was spoken, /stream comes from `upstream`.
class Nginx {
 public:
  explicit Nginx(std::uint16_t upstream) : authority_(directory_.path()), port_(free_port()) {
    const auto certificate = authority_.issue("nginx", "IP:127.0.0.1");
    const auto& top = directory_.path();
    const auto config =
        directory_.write("nginx.conf", fmt::format(R"(
daemon off;
master_process off;
pid {0}/pid;
error_log {0}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {0}/body;
  proxy_temp_path {0}/proxy;
  fastcgi_temp_path {0}/fastcgi;
  uwsgi_temp_path {0}/uwsgi;
  scgi_temp_path {0}/scgi;
  server {{
    listen 127.0.0.1:{1} ssl http2;
    ssl_certificate {2};
    ssl_certificate_key {3};
    client_max_body_size 100m;
    location /protocol {{ return 200 "$server_protocol $request_method $connection"; }}
    location / {{ proxy_pass http://127.0.0.1:{4}; proxy_buffering off; proxy_http_version 1.1; }}
  }}
}}
)",
                                                   top, port_, certificate.certificate, certificate.key, upstream));
    std::string words[] = {"/usr/sbin/nginx", "-p", top, "-c", config, "-e", top + "/error.log"};
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    if (::posix_spawn(&child_, argv[0], nullptr, nullptr, argv.data(), environ) != 0) {
      throw std::runtime_error("nginx cannot be started: apt-get install nginx-light");
    }
    for (int i = 0; i < 1000 && !listening(); ++i) {
      if (::waitpid(child_, nullptr, WNOHANG) == child_) {
        child_ = -1;
        throw std::runtime_error("nginx ended: " + log());
      }
      std::this_thread::sleep_for(10ms);
    }
  }
  ~Nginx() {
    if (child_ <= 0) return;
    ::kill(child_, SIGTERM);
    ::waitpid(child_, nullptr, 0);
  }

  HttpClientOptions options() const {
    HttpClientOptions options;
    options.environment = nullptr;
    options.ca_file = authority_.root().certificate;
    return options;
  }
  std::string url(std::string_view path) const { return fmt::format("https://127.0.0.1:{}{}", port_, path); }

 private:
  bool listening() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool open = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return open;
  }
  std::string log() const {
    std::ostringstream text;
    text << std::ifstream(directory_.path() + "/error.log").rdbuf();
    return text.str();
  }

  TemporaryDirectory directory_;
  CertificateAuthority authority_;
  int port_;
  pid_t child_ = -1;
};

Task<std::string> body_of(HttpClient& client, HttpRequest request) {
  auto exchange = co_await client.send(std::move(request));
  co_return co_await read_all(*exchange, 100u << 20);
}

HttpRequest request(std::string method, std::string url, std::string body = {}) {
  HttpRequest made;
  made.method = std::move(method);
  made.url = std::move(url);
  made.body = std::move(body);
  return made;
}

TEST(HttpNginx, Http2_IsSpokenAndTheConnectionKept) {
  Nginx nginx(1);
  run_task([&]() -> Task<void> {
    HttpClient client(co_await asio::this_coro::executor, nginx.options());
    // The answer names the connection.
    const auto first = co_await body_of(client, request("GET", nginx.url("/protocol")));
    EXPECT_TRUE(first.starts_with("HTTP/2.0 GET ")) << first;
    for (int i = 0; i < 8; ++i) EXPECT_EQ(co_await body_of(client, request("GET", nginx.url("/protocol"))), first);
  });
}

TEST(HttpNginx, ManyHttp2Requests_RunAtOnce) {
  Nginx nginx(1);
  run_task([&]() -> Task<void> {
    HttpClient client(co_await asio::this_coro::executor, nginx.options());
    Scope scope(co_await asio::this_coro::executor);
    int done = 0;
    auto one = [](HttpClient& c, HttpRequest r, int& count) -> Task<void> {
      const auto body = co_await body_of(c, std::move(r));
      EXPECT_TRUE(body.starts_with("HTTP/2.0 POST ")) << body;
      ++count;
    };
    for (int i = 0; i < 32; ++i) scope.spawn(one(client, request("POST", nginx.url("/protocol"), "x"), done));
    co_await scope.join();
    EXPECT_EQ(done, 32);
  });
}

// T2: a body arrives piece by piece over HTTP/2 as well, and a server hears when one is
// given up. What one reader leaves unread does not hold up another.
TEST(HttpNginx, Http2Streams_AreIndependent) {
  Signal ended, go_on;
  ScriptedServer upstream([&](ScriptConnection& connection) {
    const auto asked = connection.read_request();
    if (asked.line().find("/echo") != std::string::npos) {
      connection.answer("200 OK", asked.body, "Connection: close\r\n");
      return;
    }
    connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n");
    if (asked.line().find("/flood") != std::string::npos) {
      for (;;) connection.write(std::string(65536, 'x'));
    }
    if (asked.line().find("/endless") != std::string::npos) {
      connection.wait_for_end();
      ended.set();
      return;
    }
    EXPECT_TRUE(go_on.wait());
    connection.write("data: 2\n\n");
  });
  Nginx nginx(upstream.port());
  run_task([&]() -> Task<void> {
    HttpClient client(co_await asio::this_coro::executor, nginx.options());
    auto unread = co_await client.send(request("GET", nginx.url("/flood")));
    auto endless = co_await client.send(request("GET", nginx.url("/endless")));
    auto stream = co_await client.send(request("GET", nginx.url("/stream")));
    EXPECT_EQ(co_await endless->read(), "data: 1\n\n");
    EXPECT_EQ(co_await stream->read(), "data: 1\n\n");
    endless.reset();
    while (!ended.is_set()) co_await sleep_for(5ms);
    const std::string large(3u << 20, 'x');
    const auto echoed = co_await body_of(client, request("POST", nginx.url("/echo"), large));
    EXPECT_TRUE(echoed == large) << echoed.size();
    go_on.set();
    EXPECT_EQ(co_await stream->read(), "data: 2\n\n");
    EXPECT_EQ(co_await stream->read(), "");
  });
}

// The upstream dies in the middle: the stream ends in an error, not in a short body.
TEST(HttpNginx, Http2StreamThatBreaks_IsAnError) {
  ScriptedServer upstream([&](ScriptConnection& connection) {
    connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
  });
  Nginx nginx(upstream.port());
  run_task([&]() -> Task<void> {
    HttpClient client(co_await asio::this_coro::executor, nginx.options());
    const auto result = co_await as_result(body_of(client, request("GET", nginx.url("/"))));
    EXPECT_FALSE(result);
    if (result) co_return;
    EXPECT_EQ(result.error().code(), Errc::closed) << result.error().message();
    EXPECT_THAT(result.error().message(), testing::HasSubstr("while reading the body"));
  });
}

}  // namespace
}  // namespace patchbay::test
