// T2, T3, L5: what a whole session makes of servers and networks that do not behave, over real sockets.
// Each case ends in an error that names the URL, in which phase it happened and what to do, or in
// an ordinary answer where nothing is wrong; nothing hangs and no descriptor is left.
// docs/testing.md has the list of cases.
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "client/connect.h"
#include "support/capability.h"
#include "support/command.h"
#include "support/loop.h"
#include "support/own_resolver.h"
#include "support/places.h"
#include "support/running_program.h"
#include "support/scripted_server.h"

namespace patchbay::test {
namespace {

using namespace std::literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::ptrdiff_t descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

// What is opened once per process, such as the libraries of the first request.
void warm_up() {
  run_task([]() -> Task<void> {
    HttpOptions options{.url = "http://127.0.0.1:1/mcp"};
    options.proxy = "";
    auto refused = co_await as_result(Client({}).connect(http_transport(options)));
    EXPECT_FALSE(refused);
  });
}

constexpr auto stream_head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"sv;

// An older server that is well until a tool is called; `call` does that.
ScriptedServer::Script good_until(std::function<void(ScriptConnection&, const std::string& id)> call) {
  return [call](ScriptConnection& connection) {
    for (;;) {
      const auto got = connection.read_request();
      const auto body = parse_json(got.body).value_or(Json());
      const auto method = body["method"].text();
      if (!got.line().starts_with("POST") || !method) {
        connection.answer("405 Method Not Allowed", "");
      } else if (*method == "initialize") {
        const Json result{{"protocolVersion", "2025-11-25"},
                          {"capabilities", {{"tools", Json::object()}}},
                          {"serverInfo", {{"name", "s"}, {"version", "1"}}}};
        connection.answer("200 OK", to_text(Json{{"jsonrpc", "2.0"}, {"id", body["id"]}, {"result", result}}),
                          "Content-Type: application/json\r\n");
      } else if (method->starts_with("notifications/")) {
        connection.answer("202 Accepted", "");
      } else if (*method == "tools/call") {
        call(connection, to_text(body["id"]));
      } else {
        connection.answer("400 Bad Request", "");
      }
    }
  };
}

std::string answer_text(const std::string& id, std::string_view text) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"text","text":"{}"}}]}}}})", id, text);
}

// The same answer to everything.
ScriptedServer::Script always(std::string answer) {
  return [answer](ScriptConnection& connection) {
    for (;;) {
      connection.read_request();
      connection.write(answer);
    }
  };
}

Runtime impatient() {
  Runtime runtime;
  runtime.limits.connect = 2s;
  runtime.limits.message = 64u << 10;
  return runtime;
}

// Connects, and calls a tool where that works; what came of it.
Task<Result<std::string>> use(std::shared_ptr<Transport> transport, Runtime runtime, ClientOptions options = {}) {
  auto session = co_await as_result(connect(Client(options), std::move(transport), runtime));
  if (!session) co_return std::unexpected(std::move(session).error());
  auto called = co_await as_result(session->call_tool("t", Json::object(), {.total = 1s}));
  co_await session->close();
  if (!called) co_return std::unexpected(std::move(called).error());
  co_return text_of(*called);
}

struct BadCase {
  const char* what;
  ScriptedServer::Script script;
  Errc code;
  std::vector<std::string> says;  // beside the URL
  bool sse = false;
  bool legacy = false;
};

TEST(BadInput, ServersThatDoNotBehave) {
  warm_up();
  const std::vector<BadCase> cases{
      {"wrong content type",
       always("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"),
       Errc::protocol,
       {"answered with text/plain instead of JSON", "while reading the body", "is it the url of an MCP server?"}},
      {"wrong content type, older pair",
       always("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"),
       Errc::protocol,
       {"answered with application/json instead of an event stream", "while opening the stream",
        "is it the url of an MCP server?"},
       true},
      {"HTML error page of a gateway",
       always("HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<h1>oops</h1>"),
       Errc::http,
       {"answered 502 Bad Gateway", "look at the log of the server"}},
      {"HTML error page of a web server",
       always("HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<h1>none</h1>"),
       Errc::http,
       {"answered 404 Not Found; check the path of its url"}},
      {"another status for the older pair",
       [](ScriptConnection& connection) {
         for (;;) {
           const auto request = connection.read_request();
           connection.answer(request.head.starts_with("GET") ? "410 Gone" : "404 Not Found", "");
         }
       },
       Errc::http,
       {"answered 404 Not Found; check the path of its url (with the older transport \"sse\" it answered 410)"}},
      {"200 with an empty body",
       always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
       Errc::protocol,
       {"answered 200 with an empty body", "while reading the body", "is it the url of an MCP server?"}},
      {"200 with an empty body, older pair",
       always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
       Errc::protocol,
       {"answered with no content type instead of an event stream", "while opening the stream",
        "is it the url of an MCP server?"},
       true},
      {"a stream that never ends instead of the first answer",
       [](ScriptConnection& connection) {
         connection.read_request();
         connection.write(stream_head);
         for (;;) {
           connection.write(": still here\n\n");
           std::this_thread::sleep_for(5ms);
         }
       },
       Errc::timeout,
       {"no answer from", "within 2 s", "while connecting", "set MCP_TIMEOUT"}},
      {"a stream that never names its endpoint",
       [](ScriptConnection& connection) {
         connection.read_request();
         connection.write(stream_head);
         for (;;) {
           connection.write(": still here\n\n");
           std::this_thread::sleep_for(5ms);
         }
       },
       Errc::timeout,
       {"no answer from", "within 2 s", "while connecting", "set MCP_TIMEOUT"},
       true},
      {"an event over the limit",
       good_until([](ScriptConnection& connection, const std::string&) {
         connection.write(stream_head);
         connection.write("data: " + std::string(100u << 10, 'x'));
         connection.wait_for_end();
       }),
       Errc::limit,
       {"an event in the stream is larger than 65536 bytes", "while reading the stream",
        "ask the server for less at a time"},
       false,
       true},
      {"a body over the limit",
       good_until([](ScriptConnection& connection, const std::string&) {
         connection.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 102400\r\n\r\n" +
                          std::string(100u << 10, ' '));
         connection.wait_for_end();
       }),
       Errc::limit,
       {"the answer is larger than 64 KiB", "while reading the body", "ask the server for less at a time"},
       false,
       true},
      {"reset between headers and body",
       good_until([](ScriptConnection& connection, const std::string&) {
         connection.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n");
         // The head has arrived once the client has acknowledged it.
         for (int left = 1; left > 0;) ::ioctl(connection.fd(), SIOCOUTQ, &left);
         connection.reset();
       }),
       Errc::closed,
       {"the connection broke", "while reading the body", "if this happens again, look at the log of the server"},
       false,
       true},
      {"a redirect loop",
       always("HTTP/1.1 307 Temporary Redirect\r\nLocation: /mcp\r\nContent-Length: 0\r\n\r\n"),
       Errc::http,
       {"a redirect loop", "Check the configuration of the server"}},
      {"a header of 64 KiB",
       always("HTTP/1.1 200 OK\r\nX: " + std::string(64u << 10, 'x') + "\r\nContent-Length: 0\r\n\r\n"),
       Errc::limit,
       {"the header of the answer is larger than 64 KiB", "while waiting for the answer", "must send less"}},
      {"an endpoint at another origin",
       always(std::string(stream_head) + "event: endpoint\ndata: http://127.0.0.1:9/steal\n\n"),
       Errc::protocol,
       {"names an endpoint on another server (http://127.0.0.1:9)", "nothing is sent there", "use its own url"},
       true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const auto before = descriptors();
    {
      ScriptedServer server(c.script);
      HttpOptions options{.url = server.url("/mcp")};
      options.proxy = "";
      run_task([&]() -> Task<void> {
        ClientOptions client;
        if (c.legacy) client.protocol = "legacy";
        auto used = co_await use(c.sse ? sse_transport(options) : http_transport(options), impatient(), client);
        EXPECT_FALSE(used) << *used;
        if (used) co_return;
        const auto& error = used.error();
        EXPECT_EQ(error.code(), c.code) << error.message();
        EXPECT_THAT(error.message(), HasSubstr(options.url));
        for (const auto& text : c.says) EXPECT_THAT(error.message(), HasSubstr(text));
      });
    }
    EXPECT_EQ(descriptors(), before);
  }
}

// What is sent to a server follows no redirect to another one; what to do is said.
TEST(BadInput, AServerThatIsSomewhereElse) {
  for (const char* status : {"307 Temporary Redirect", "308 Permanent Redirect"}) {
    ScriptedServer far([](ScriptConnection& connection) { (void)connection.read_request(); });
    ScriptedServer near(
        always(fmt::format("HTTP/1.1 {}\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", status, far.url("/mcp"))));
    HttpOptions options{.url = near.url("/mcp")};
    options.proxy = "";
    run_task([&]() -> Task<void> {
      auto used = co_await use(http_transport(options), impatient());
      EXPECT_FALSE(used);
      if (used) co_return;
      EXPECT_THAT(used.error().message(),
                  AllOf(HasSubstr(options.url), HasSubstr("redirects to another server (" + far.url("") + ")"),
                        HasSubstr("use its own url")));
    });
    EXPECT_EQ(far.connections(), 0);
  }
}

// The call ends at its limit, and the stream with it: the server hears that nobody reads any more.
TEST(BadInput, AStreamThatNeverEndsInTheMiddleOfASession) {
  Signal closed;
  ScriptedServer server(good_until([&](ScriptConnection& connection, const std::string&) {
    connection.write(stream_head);
    try {
      for (;;) {
        connection.write(": still here\n\n");
        std::this_thread::sleep_for(5ms);
      }
    } catch (const ScriptConnection::Ended&) {
      closed.set();
      throw;
    }
  }));
  run_task([&]() -> Task<void> {
    HttpOptions options{.url = server.url("/mcp")};
    options.proxy = "";
    ClientOptions legacy;
    legacy.protocol = "legacy";
    auto session = co_await connect(Client(legacy), http_transport(options), impatient());
    auto called = co_await as_result(session.call_tool("t", Json::object(), {.total = 100ms}));
    EXPECT_FALSE(called);
    if (!called) EXPECT_EQ(called.error().message(), "no answer to tools/call within 100 ms");
    while (!closed.is_set()) co_await settle();
    co_await session.close();
  });
}

// Nothing is wrong with it: pieces end where they like, also inside a character.
TEST(BadInput, ChunksThatEndInsideACharacter) {
  const std::string text = "grüße \xF0\x9F\x91\x8B 你好";
  for (const bool stream : {false, true}) {
    SCOPED_TRACE(stream);
    ScriptedServer server(good_until([&](ScriptConnection& connection, const std::string& id) {
      const auto json = answer_text(id, text);
      connection.write(fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
                                   stream ? "text/event-stream" : "application/json"));
      for (const char byte : stream ? "data: " + json + "\n\n" : json)
        connection.write(fmt::format("1\r\n{}\r\n", byte));
      connection.write("0\r\n\r\n");
    }));
    run_task([&]() -> Task<void> {
      HttpOptions options{.url = server.url("/mcp")};
      options.proxy = "";
      ClientOptions legacy;
      legacy.protocol = "legacy";
      auto used = co_await use(http_transport(options), impatient(), legacy);
      EXPECT_TRUE(used) << used.error().message();
      if (used) EXPECT_EQ(*used, text);
    });
  }
}

// Nothing is wrong with that either.
TEST(BadInput, AServerThatClosesAfterEachAnswer) {
  auto script = good_until([](ScriptConnection& connection, const std::string& id) {
    connection.answer("200 OK", answer_text(id, "hello"), "Content-Type: application/json\r\n");
    throw ScriptConnection::Ended{};
  });
  // One request per connection, and no word about that.
  ScriptedServer server([script](ScriptConnection& connection) {
    struct Once final : ScriptConnection {
      explicit Once(ScriptConnection& c) : inner(c) {}
      std::string read_until(std::string_view mark) override {
        if (std::exchange(asked, true)) throw Ended{};
        return inner.read_until(mark);
      }
      std::string read_exactly(std::size_t bytes) override { return inner.read_exactly(bytes); }
      void write(std::string_view bytes) override { inner.write(bytes); }
      void finish() override { inner.finish(); }
      void reset() override { inner.reset(); }
      void wait_for_end() override { inner.wait_for_end(); }
      int number() const override { return inner.number(); }
      int fd() const override { return inner.fd(); }
      ScriptConnection& inner;
      bool asked = false;
    } once(connection);
    script(once);
  });
  run_task([&]() -> Task<void> {
    HttpOptions options{.url = server.url("/mcp")};
    options.proxy = "";
    auto session = co_await connect(Client({}), http_transport(options), impatient());
    for (int i = 0; i < 5; ++i) EXPECT_EQ(text_of(co_await session.call_tool("t", Json::object())), "hello");
    co_await session.close();
  });
  EXPECT_GE(server.connections(), 7);
}

TEST(BadInput, CertificatesThatCannotBeTrusted) {
  warm_up();
  TemporaryDirectory directory;
  CertificateAuthority authority(directory.path());
  struct Case {
    const char* what;
    Certificate certificate;
    std::vector<std::string> says;
  };
  for (const auto& c :
       {Case{"name mismatch",
             authority.issue("wrong", "DNS:elsewhere.example"),
             {"the certificate is for elsewhere.example, not for 127.0.0.1", "use a name that is in the certificate"}},
        Case{"self-signed",
             authority.self_signed("self", "IP:127.0.0.1"),
             {"the certificate is self-signed", "if you trust the CA that signed the certificate, add it there"}}}) {
    for (const bool sse : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", c.what, sse ? "sse" : "http"));
      const auto before = descriptors();
      {
        ScriptServerOptions tls;
        tls.certificate = c.certificate;
        ScriptedServer server(always("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), tls);
        HttpOptions options{.url = server.url("/mcp")};
        options.proxy = "";
        options.ca_file = authority.root().certificate;
        run_task([&]() -> Task<void> {
          auto used = co_await use(sse ? sse_transport(options) : http_transport(options), impatient());
          EXPECT_FALSE(used);
          if (used) co_return;
          EXPECT_EQ(used.error().code(), Errc::tls) << used.error().message();
          EXPECT_THAT(used.error().message(), AllOf(HasSubstr(options.url), HasSubstr("during the TLS handshake")));
          for (const auto& text : c.says) EXPECT_THAT(used.error().message(), HasSubstr(text));
        });
      }
      EXPECT_EQ(descriptors(), before);
    }
  }
}

TEST(BadInput, AProxyThatRefuses) {
  warm_up();
  for (const bool sse : {false, true}) {
    SCOPED_TRACE(sse);
    const auto before = descriptors();
    {
      ScriptedServer proxy([](ScriptConnection& connection) {
        connection.read_request();
        connection.answer("403 Forbidden", "<html>not there</html>");
      });
      HttpOptions options{.url = "https://server.example/mcp"};
      options.proxy = fmt::format("http://user:s3cret@127.0.0.1:{}", proxy.port());
      run_task([&]() -> Task<void> {
        auto used = co_await use(sse ? sse_transport(options) : http_transport(options), impatient());
        EXPECT_FALSE(used);
        if (used) co_return;
        EXPECT_EQ(used.error().code(), Errc::connect) << used.error().message();
        EXPECT_THAT(used.error().message(),
                    AllOf(HasSubstr(options.url), HasSubstr("the proxy http://"), HasSubstr("answered 403"),
                          HasSubstr("while talking to the proxy"), HasSubstr("NO_PROXY"), Not(HasSubstr("s3cret"))));
      });
    }
    EXPECT_EQ(descriptors(), before);
  }
}

// A host that takes no connection: told as that, before the session as a whole is given up.
TEST(BadInput, AConnectionThatHangs) {
  warm_up();
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  // A full queue answers nobody.
  std::vector<int> fill;
  for (int i = 0; i < 4; ++i) {
    fill.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    (void)::connect(fill.back(), reinterpret_cast<sockaddr*>(&address), length);
  }
  const auto before = descriptors();
  run_task([&]() -> Task<void> {
    HttpOptions options{.url = fmt::format("http://127.0.0.1:{}/mcp", ntohs(address.sin_port))};
    options.proxy = "";
    auto runtime = impatient();
    runtime.limits.connect = 3s;
    runtime.limits.silent_probe = 100ms;
    auto used = co_await use(http_transport(options), runtime);
    EXPECT_FALSE(used);
    if (used) co_return;
    EXPECT_EQ(used.error().code(), Errc::timeout);
    EXPECT_THAT(used.error().message(),
                AllOf(HasSubstr(options.url), HasSubstr("no connection within 2 s"), HasSubstr("while connecting"),
                      HasSubstr("can be reached from this machine")));
  });
  EXPECT_EQ(descriptors(), before);
  for (const int socket : fill) ::close(socket);
  ::close(listener);
}

// ---- networks of their own, met by the program ----------------------------------------------

// Runs a script in a network namespace whose loopback is up, with a resolver at 127.0.0.1.
CommandResult in_namespace(const std::string& script, const std::string& hosts = "") {
  TemporaryDirectory directory;
  const auto resolv = directory.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n");
  const auto nsswitch = directory.write("nsswitch.conf", "hosts: files dns\n");
  const auto names = directory.write("hosts", hosts);
  const auto whole =
      directory.write("script", fmt::format("set -e\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\nip link set lo "
                                            "up\nmount --bind {} /etc/resolv.conf\nmount --bind {} "
                                            "/etc/nsswitch.conf\nmount --bind {} /etc/hosts\ncd {}\n{}\n",
                                            resolv, nsswitch, names, directory.path(), script));
  CommandOptions options;
  for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}) {
    options.env[name] = "";
  }
  std::vector<std::string> command{"/usr/bin/unshare", "--net", "--mount", "/bin/bash", whole};
  if (::geteuid() != 0) command.insert(command.begin() + 1, "--map-root-user");
  return run_program(command, options);
}

std::string tools_of(const std::string& url, const std::string& type = "http") {
  return fmt::format(R"({} --strict-mcp-config --mcp-config '{{"far": {{"type": "{}", "url": "{}"}}}}' tools)",
                     test::built("patchbay"), type, url);
}

// The tools of a server whose name only the resolver of the tests could know, and does not.
CommandResult tools_of_stranger(const std::string& type, std::map<std::string, std::string> more = {}) {
  CommandOptions options{.cwd = {}, .input = {}, .env = own_resolver("")};
  options.env.merge(more);
  return run_program({test::built("patchbay"), "--strict-mcp-config", "--mcp-config",
                      to_text(Json{{"far", {{"type", type}, {"url", "http://server.example/mcp"}}}}), "tools"},
                     options);
}

TEST(BadInput, ANameThatDoesNotResolve) {
  for (const char* type : {"http", "sse"}) {
    const auto ran = tools_of_stranger(type);
    EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("Failed to connect to \"far\""), HasSubstr("http://server.example/mcp"),
                               HasSubstr("server.example could not be resolved"),
                               HasSubstr("while resolving the host name"), HasSubstr("check its spelling")));
  }
}

// Something takes the question and never answers. The lookup is still on a thread of libcurl when
// the program ends; that is not a leak.
TEST(BadInput, AResolverThatIsSilent) {
  SilentResolver resolver;
  const auto ran = tools_of_stranger(
      "http",
      {{"PATCHBAY_TEST_RESOLVER", resolver.port()}, {"MCP_TIMEOUT", "3900"}, {"ASAN_OPTIONS", "detect_leaks=0"}});
  EXPECT_EQ(ran.code, 3) << ran.out << ran.err;
  EXPECT_THAT(resolver.asked(), ElementsAre("server.example"));
  EXPECT_THAT(ran.err, AllOf(HasSubstr("Failed to connect to \"far\""), HasSubstr("http://server.example/mcp"),
                             HasSubstr("no connection within 2600 ms"), HasSubstr("while resolving the host name"),
                             HasSubstr("can be reached from this machine")));
}

TEST(BadInput, AMachineWithIpv6Alone) {
  NEEDS(namespaces);
  NEEDS(ipv6);
  const auto ran = in_namespace("ip -4 addr flush dev lo\n" + test::built("patchbay") +
                                    " serve --http '[::1]:8080' --json --root . > serve.out 2> serve.err &\n"
                                    "for i in $(seq 600); do test -s serve.out && break; sleep 0.05; done\n" +
                                    tools_of("http://[::1]:8080/mcp"),
                                "::1 localhost\n");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("mcp__far__read_file"));
}

}  // namespace
}  // namespace patchbay::test
