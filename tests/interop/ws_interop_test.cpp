// MCP servers of others behind a WebSocket: the npm package `ws` under both TypeScript SDKs, plain, with
// TLS and through a proxy, called by the program and by the library. T4 N1.
// ./test installs the packages and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/patchbay.h>

#include "base/as_result.h"
#include "support/command.h"
#include "support/fails_with.h"
#include "support/front_programs.h"
#include "support/loop.h"
#include "support/places.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}

struct WsServer {
  explicit WsServer(std::string sdk, const Certificate* certificate = nullptr, std::string token = {})
      : program(words(std::move(sdk), certificate), {.cwd = {}, .env = {{"WS_TOKEN", std::move(token)}}}) {
    const auto line = program.wait_for("listening at ");
    url = line.substr(line.find("ws"));
  }
  static std::vector<std::string> words(std::string sdk, const Certificate* certificate) {
    std::vector<std::string> all{setting("PATCHBAY_NODE"), test::in_sources("tests/interop/ws_server.mjs"),
                                 std::move(sdk)};
    if (certificate) all.insert(all.end(), {certificate->certificate, certificate->key});
    return all;
  }
  RunningProgram program;
  std::string url;
};

CommandResult patchbay(Json entry, std::vector<std::string> words, std::map<std::string, std::string> env = {}) {
  words.insert(words.begin(), {test::built("patchbay"), "--strict-mcp-config", "--mcp-config",
                               to_text(Json{{"mcpServers", Json{{"far", std::move(entry)}}}})});
  return run_program(words, {.cwd = {}, .input = {}, .env = std::move(env)});
}

class WsInterop : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Sdks, WsInterop, testing::Values("v1", "v2"),
                         [](const auto& sdk) { return std::string(sdk.param); });

TEST_P(WsInterop, TheProgramListsAndCallsTools) {
  WsServer server(GetParam());
  const Json entry{{"type", "ws"}, {"url", server.url}, {"headers", Json{{"X-Here", "yes"}}}};
  auto listed = patchbay(entry, {"tools"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, AllOf(HasSubstr("mcp__far__echo"), HasSubstr("mcp__far__size")));

  auto echoed = patchbay(entry, {"call", "far/echo", "text=grüße \xF0\x9F\x91\x8B"});
  EXPECT_EQ(echoed.code, 0) << echoed.err;
  EXPECT_EQ(echoed.out, "grüße \xF0\x9F\x91\x8B\n");

  auto carried = patchbay(entry, {"call", "far/handshake"});
  EXPECT_THAT(carried.out,
              AllOf(HasSubstr(R"("protocol":"mcp")"), HasSubstr(R"("extensions":"")"), HasSubstr(R"("x-here":"yes")")));

  auto left = patchbay(entry, {"call", "far/leave"});
  EXPECT_EQ(left.code, 3) << left.out;
  EXPECT_THAT(left.err, HasSubstr("4000: told to leave"));
  EXPECT_THAT(server.program.wait_for("closed with 1000"), HasSubstr("1000")) << "our own goodbye";
}

TEST_P(WsInterop, WithTls_TheEntryNamesTheCa) {
  TemporaryDirectory directory;
  CertificateAuthority authority(directory.path());
  const auto certificate = authority.issue("ws", "IP:127.0.0.1");
  WsServer server(GetParam(), &certificate);
  const auto ca = authority.root().certificate;
  auto trusted =
      patchbay({{"type", "ws"}, {"url", server.url}, {"tls", Json{{"ca", ca}}}}, {"call", "far/echo", "text=over TLS"});
  EXPECT_EQ(trusted.code, 0) << trusted.err;
  EXPECT_EQ(trusted.out, "over TLS\n");

  auto stranger = patchbay({{"type", "ws"}, {"url", server.url}}, {"call", "far/echo", "text=x"});
  EXPECT_EQ(stranger.code, 3);
  EXPECT_THAT(stranger.err, AllOf(HasSubstr(server.url), HasSubstr("not trusted"), HasSubstr("NODE_EXTRA_CA_CERTS"),
                                  Not(HasSubstr("SSL_CERT_FILE"))));

  // Where that is set, it is what does not have it.
  TemporaryDirectory elsewhere;
  CertificateAuthority other(elsewhere.path());
  auto named = patchbay({{"type", "ws"}, {"url", server.url}}, {"call", "far/echo", "text=x"},
                        {{"SSL_CERT_FILE", other.root().certificate}});
  EXPECT_EQ(named.code, 3);
  EXPECT_THAT(named.err, AllOf(HasSubstr("not trusted"),
                               HasSubstr(other.root().certificate + ", from SSL_CERT_FILE, does not contain it")));
}

TEST_P(WsInterop, CredentialsAreAskedForAndGiven) {
  WsServer server(GetParam(), nullptr, "t0ken");
  auto refused = patchbay({{"type", "ws"}, {"url", server.url}}, {"call", "far/echo", "text=x"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("needs credentials (401 Unauthorized): no token"), HasSubstr("headers")));
  auto taken =
      patchbay({{"type", "ws"}, {"url", server.url}, {"headers", Json{{"Authorization", "Bearer ${WS_TEST:-t0ken}"}}}},
               {"call", "far/echo", "text=in"});
  EXPECT_EQ(taken.code, 0) << taken.err;
  EXPECT_EQ(taken.out, "in\n");
}

TEST_P(WsInterop, TheLibrarySpeaksEveryEraTheServerDoes) {
  WsServer server(GetParam());
  const bool both = GetParam() == std::string_view("v2");
  for (const char* protocol : {"auto", "legacy"}) {
    SCOPED_TRACE(protocol);
    run_task([&]() -> Task<void> {
      ClientOptions options;
      options.protocol = protocol;
      auto session = co_await Client(options).connect(ws_transport({.url = server.url, .headers = {}}));
      EXPECT_EQ(session.is_legacy(), !both || protocol == std::string_view("legacy"));
      EXPECT_EQ(session.server().info.name, std::string("ws-") + GetParam());
      auto listing = co_await session.list_tools();
      EXPECT_EQ(listing.items.size(), 5u);

      std::vector<double> steps;
      CallOptions watched;
      watched.on_progress = [&](const Progress& progress) { steps.push_back(progress.progress); };
      auto done = co_await session.call_tool("steps", Json{{"count", 3}}, watched);
      EXPECT_EQ(text_of(done), "done");
      EXPECT_THAT(steps, ElementsAre(1, 2, 3));

      auto large = co_await session.call_tool("size", Json{{"bytes", 5'000'000}});
      EXPECT_EQ(text_of(large), std::string(5'000'000, 'x'));
      auto sent = co_await session.call_tool("echo", Json{{"text", std::string(5'000'000, 'y')}});
      EXPECT_EQ(text_of(sent).size(), 5'000'000u);

      auto left = co_await as_result(session.call_tool("leave", Json()));
      EXPECT_THAT(left, FailsWith(Errc::closed, AllOf(HasSubstr(server.url), HasSubstr("4000: told to leave"))));
      co_await session.close();
    });
  }
  server.program.wait_for("five pings were answered");
}

TEST_P(WsInterop, AForwardProxyIsAskedToConnect) {
  WsServer server(GetParam());
  Tinyproxy proxy;
  run_task([&]() -> Task<void> {
    HttpOptions options{.url = server.url};
    options.proxy = proxy.url();
    auto session = co_await Client(ClientOptions{}).connect(ws_transport(options));
    auto echoed = co_await session.call_tool("echo", Json{{"text", "through"}});
    EXPECT_EQ(text_of(echoed), "through");
    co_await session.close();
  });
  EXPECT_THAT(proxy.asked(), Contains(fmt::format("CONNECT 127.0.0.1:{} HTTP/1.1", port_of(server.url))));
}

}  // namespace
}  // namespace patchbay::test
