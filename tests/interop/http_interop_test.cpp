// Servers and clients of others over HTTP, with what stands between them on real networks:
// nginx that ends TLS and speaks HTTP/2, and tinyproxy as a forward proxy. T2 T3 N1.
// ./test installs the packages and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/patchbay.h>

#include "base/as_result.h"
#include "support/command.h"
#include "support/front_programs.h"
#include "support/loop.h"
#include "support/own_resolver.h"
#include "support/places.h"

namespace patchbay::test {
namespace {

using namespace std::literals;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

const std::string binary = test::built("patchbay");

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}
std::string npm_file(std::string_view path) {
  return setting("PATCHBAY_NPM_DIR") + "/node_modules/" + std::string(path);
}

// `patchbay serve --http` with a file to read.
struct Served {
  TemporaryDirectory root;
  std::string note = root.write("note.txt", "read from afar: grüße\n");
  RunningProgram program{{binary, "serve", "--http", "127.0.0.1:0", "--json", "--root", root.path()}};
  std::string url = served_url(program);
};

struct Everything {
  explicit Everything(std::string way)
      : program({setting("PATCHBAY_NODE"), npm_file("@modelcontextprotocol/server-everything/dist/index.js"), way},
                {.cwd = {}, .env = {{"PORT", std::to_string(port)}}}) {
    program.wait_for_port(port);
  }
  std::uint16_t port = free_port();
  RunningProgram program;
};

CommandResult patchbay(const std::string& url, std::vector<std::string> words,
                       std::map<std::string, std::string> env = {}, std::string type = "http") {
  words.insert(words.begin(), {binary, "--strict-mcp-config", "--mcp-config",
                               to_text(Json{{"far", Json{{"type", type}, {"url", url}}}})});
  return run_program(words, {.cwd = {}, .input = {}, .env = std::move(env)});
}

// ---- the inspector against our server -------------------------------------------------------

class Inspector : public testing::TestWithParam<const char*> {
 protected:
  CommandResult inspect(std::vector<std::string> words) {
    std::vector<std::string> all{setting("PATCHBAY_NODE"),
                                 npm_file("@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
                                 "--cli",
                                 served_.url,
                                 "--transport",
                                 "http",
                                 "--protocol-era",
                                 GetParam(),
                                 "--format",
                                 "json"};
    all.insert(all.end(), words.begin(), words.end());
    return run_program(all, {.cwd = home_.path(), .input = {}, .env = {{"HOME", home_.path()}}});
  }
  Served served_;
  TemporaryDirectory home_;
};
INSTANTIATE_TEST_SUITE_P(Eras, Inspector, testing::Values("legacy", "auto", "modern"),
                         [](const auto& era) { return std::string(era.param); });

TEST_P(Inspector, ListsAndCallsTools) {
  auto listed = inspect({"--method", "tools/list", "--strict"});
  EXPECT_EQ(listed.code, 0) << listed.out << listed.err;
  EXPECT_THAT(listed.out, AllOf(HasSubstr("\"read_file\""), HasSubstr("\"grep\"")));

  auto called = inspect({"--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=note.txt"});
  EXPECT_EQ(called.code, 0) << called.out << called.err;
  EXPECT_THAT(called.out, HasSubstr("read from afar: grüße"));

  auto failed = inspect({"--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=no-such-file"});
  EXPECT_NE(failed.code, 0);
  EXPECT_THAT(failed.out + failed.err, HasSubstr("no-such-file"));
}

// ---- nginx with TLS and HTTP/2 in front -----------------------------------------------------

HttpOptions through(const Nginx& nginx, std::string_view path) {
  HttpOptions options{.url = nginx.url(path)};
  options.ca_file = nginx.ca_file();
  return options;
}

Task<std::string> read_note(std::shared_ptr<Transport> transport, std::string protocol) {
  ClientOptions options;
  options.protocol = std::move(protocol);
  auto session = co_await Client(options).connect(std::move(transport));
  auto listing = co_await session.list_tools();
  EXPECT_GE(listing.items.size(), 6u);
  auto result = co_await session.call_tool("read_file", Json{{"path", "note.txt"}});
  const bool legacy = session.is_legacy();
  co_await session.close();
  co_return fmt::format("{} {}", legacy ? "legacy" : "modern", text_of(result));
}

TEST(BehindNginx, OurClientReachesOurServerInBothErasOverHttp2) {
  Served served;
  Nginx nginx(port_of(served.url));
  run_task([&]() -> Task<void> {
    for (const char* protocol : {"auto", "legacy", "2026-07-28"}) {
      const auto said = co_await read_note(http_transport(through(nginx, "/mcp")), protocol);
      EXPECT_THAT(said, AllOf(StartsWith(protocol == "legacy"sv ? "legacy" : "modern"), HasSubstr("read from afar")));
    }
  });
  EXPECT_THAT(nginx.answered(), Each(StartsWith("HTTP/2.0 ")));
  EXPECT_THAT(nginx.answered(), Contains("HTTP/2.0 DELETE /mcp 204")) << "the older session was ended";
}

TEST(BehindNginx, TheProgramTrustsTheCertificateItIsToldToAndNoOther) {
  Served served;
  Nginx nginx(port_of(served.url));
  auto called =
      patchbay(nginx.url("/mcp"), {"call", "far/read_file", "path=note.txt"}, {{"SSL_CERT_FILE", nginx.ca_file()}});
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_THAT(called.out, HasSubstr("read from afar"));
  auto refused = patchbay(nginx.url("/mcp"), {"call", "far/read_file", "path=note.txt"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr(nginx.url("/mcp")), HasSubstr("not trusted"), HasSubstr("NODE_EXTRA_CA_CERTS")));
}

// What a server says in the middle of a call, and outside of any, comes through a reverse proxy too.
TEST(BehindNginx, OurClientHearsAServerOfOthersOverHttp2) {
  for (const char* way : {"streamableHttp", "sse"}) {
    SCOPED_TRACE(way);
    Everything everything(way);
    Nginx nginx(everything.port);
    const bool older = way == "sse"sv;
    run_task([&]() -> Task<void> {
      ClientOptions options;
      int asked = 0;
      options.elicit = [&](ElicitRequest, CallContext) -> Task<ElicitResult> {
        ++asked;
        ElicitResult result{.action = ElicitResult::Action::accept};
        result.content = Json{{"name", "Ada"}, {"check", true}};
        co_return result;
      };
      auto session = co_await Client(options).connect(older ? sse_transport(through(nginx, "/sse"))
                                                            : http_transport(through(nginx, "/mcp")));
      std::size_t steps = 0;
      CallOptions watched;
      watched.on_progress = [&](const Progress&) { ++steps; };
      auto slow =
          co_await session.call_tool("trigger-long-running-operation", Json{{"duration", 0.3}, {"steps", 3}}, watched);
      EXPECT_THAT(text_of(slow), HasSubstr("completed"));
      EXPECT_EQ(steps, 3u);
      auto elicited = co_await session.call_tool("trigger-elicitation-request", Json::object());
      EXPECT_THAT(text_of(elicited), HasSubstr("Ada"));
      EXPECT_EQ(asked, 1);
      co_await session.close();
    });
    EXPECT_THAT(nginx.answered(), Each(StartsWith("HTTP/2.0 ")));
  }
}

TEST(BehindNginx, TheTypeScriptClientReachesOurServerOverHttp2) {
  Served served;
  Nginx nginx(port_of(served.url));
  auto ran = run_program({setting("PATCHBAY_NODE"), test::in_sources("tests/interop/ts_h2_client.mjs"),
                          nginx.url("/mcp"), nginx.ca_file()});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("legacy read from afar"), HasSubstr("auto read from afar"),
                             HasSubstr("modern read from afar")));
  EXPECT_THAT(nginx.answered(), Each(StartsWith("HTTP/2.0 ")));
}

// ---- a forward proxy ------------------------------------------------------------------------

TEST(ThroughTinyproxy, PlainAndEncryptedServersAreReached) {
  Served served;
  Nginx nginx(port_of(served.url));
  Tinyproxy proxy;
  run_task([&]() -> Task<void> {
    for (const char* protocol : {"auto", "legacy"}) {
      HttpOptions plain{.url = served.url};
      plain.proxy = proxy.url();
      EXPECT_THAT(co_await read_note(http_transport(plain), protocol), HasSubstr("read from afar"));
      auto encrypted = through(nginx, "/mcp");
      encrypted.proxy = proxy.url();
      EXPECT_THAT(co_await read_note(http_transport(encrypted), protocol), HasSubstr("read from afar"));
    }
  });
  EXPECT_THAT(proxy.asked(), Contains(fmt::format("POST {} HTTP/1.1", served.url)));
  EXPECT_THAT(proxy.asked(), Contains(fmt::format("CONNECT 127.0.0.1:{} HTTP/1.1", port_of(nginx.url("")))));
  EXPECT_THAT(nginx.answered(), Each(StartsWith("HTTP/2.0 "))) << "inside the tunnel";
}

TEST(ThroughTinyproxy, ServersOfOthersAreReached) {
  Tinyproxy proxy;
  for (const char* way : {"streamableHttp", "sse"}) {
    SCOPED_TRACE(way);
    Everything everything(way);
    const bool older = way == "sse"sv;
    run_task([&]() -> Task<void> {
      HttpOptions options{.url = fmt::format("http://127.0.0.1:{}/{}", everything.port, older ? "sse" : "mcp")};
      options.proxy = proxy.url();
      auto session =
          co_await Client({}).connect(older ? sse_transport(std::move(options)) : http_transport(std::move(options)));
      std::size_t steps = 0;
      CallOptions watched;
      watched.on_progress = [&](const Progress&) { ++steps; };
      auto slow =
          co_await session.call_tool("trigger-long-running-operation", Json{{"duration", 0.3}, {"steps", 3}}, watched);
      EXPECT_THAT(text_of(slow), HasSubstr("completed"));
      EXPECT_EQ(steps, 3u);
      co_await session.close();
    });
    EXPECT_THAT(proxy.asked(), Contains(HasSubstr(fmt::format(":{}/", everything.port))));
  }
}

// A proxy that cannot get there says so, and so do we: a 500 for CONNECT, an error page otherwise.
TEST(ThroughTinyproxy, WhatItCannotReachIsReportedWithTheProxysName) {
  Tinyproxy proxy;
  run_task([&]() -> Task<void> {
    for (const char* scheme : {"http", "https"}) {
      HttpOptions options{.url = fmt::format("{}://127.0.0.1:1/mcp", scheme)};
      options.proxy = proxy.url();
      auto connected = co_await as_result(Client({}).connect(http_transport(options)));
      EXPECT_FALSE(connected);
      if (connected) continue;
      EXPECT_THAT(connected.error().message(), AllOf(HasSubstr(options.url), HasSubstr("500")));
      if (scheme == "https"sv) EXPECT_THAT(connected.error().message(), HasSubstr(proxy.url()));
    }
  });
}

// The variables of the environment are for machines other than this one, so the server has the name of another: the
// resolver of the tests says, to the program and to the proxy, that it is here.
TEST(ThroughTinyproxy, TheProgramTakesTheProxyFromItsEnvironment) {
  Served served;
  TemporaryDirectory directory;
  CertificateAuthority authority(directory.path());
  const auto certificate = authority.issue("nginx", "DNS:far.example");
  const auto plain = free_port(), encrypted = free_port();
  const auto config =
      directory.write("nginx.conf", fmt::format(R"(
daemon off; master_process off; pid {0}/nginx.pid; error_log {0}/error.log; events {{}}
http {{
  access_log off; client_body_temp_path {0}/body; proxy_temp_path {0}/proxy; fastcgi_temp_path {0}/fastcgi;
  uwsgi_temp_path {0}/uwsgi; scgi_temp_path {0}/scgi;
  server {{
    listen 127.0.0.1:{1};
    listen 127.0.0.1:{2} ssl http2;
    ssl_certificate {3};
    ssl_certificate_key {4};
    location / {{ proxy_pass http://127.0.0.1:{5}; proxy_buffering off; proxy_http_version 1.1; }}
  }}
}}
)",
                                                directory.path(), plain, encrypted, certificate.certificate,
                                                certificate.key, port_of(served.url)));
  RunningProgram nginx(
      {"/usr/sbin/nginx", "-p", directory.path(), "-c", config, "-e", directory.path() + "/error.log"});
  nginx.wait_for_port(plain);
  nginx.wait_for_port(encrypted);
  auto env = own_resolver("127.0.0.1 far.example\n");
  Tinyproxy proxy(env);
  env.insert({{"SSL_CERT_FILE", authority.root().certificate},
              {"http_proxy", proxy.url()},
              {"HTTPS_PROXY", proxy.url().substr(std::string_view("http://").size())}});
  const auto http = fmt::format("http://far.example:{}/mcp", plain);
  const auto https = fmt::format("https://far.example:{}/mcp", encrypted);
  for (const auto& url : {http, https}) {
    const auto called = patchbay(url, {"call", "far/read_file", "path=note.txt"}, env);
    EXPECT_EQ(called.code, 0) << called.err;
    EXPECT_THAT(called.out, HasSubstr("read from afar"));
  }
  EXPECT_THAT(proxy.asked(), Contains(fmt::format("POST {} HTTP/1.1", http)));
  EXPECT_THAT(proxy.asked(), Contains(fmt::format("CONNECT far.example:{} HTTP/1.1", encrypted)));

  const auto before = proxy.asked().size();
  env["NO_PROXY"] = "far.example";
  const auto direct = patchbay(https, {"call", "far/read_file", "path=note.txt"}, env);
  EXPECT_EQ(direct.code, 0) << direct.err;
  EXPECT_THAT(direct.out, HasSubstr("read from afar"));
  EXPECT_EQ(proxy.asked().size(), before);
}

}  // namespace
}  // namespace patchbay::test
