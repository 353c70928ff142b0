// Rows of docs/requirements.md: C9.
// A host with a directory of connectors that answers, refuses, hangs and lies.
#include "settings/connectors.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "host/make_host.h"
#include "http/client/http_client.h"
#include "settings/sources.h"
#include "support/loop.h"
#include "support/scripted_server.h"
#include "support/sign_in_server.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ConnectorDirectoryTest : public testing::Test {
 protected:
  ConnectorDirectoryTest() {
    tree.directory("home");
    tree.directory("work");
    options.load.emplace();
    options.load->cwd = path("work");
    options.load->home = path("home");
    options.load->enterprise_dir = OrganisationAccess::make(path("etc"), ::getuid());
    options.load->variables = [this](std::string_view name) -> std::optional<std::string> {
      if (name == "HOME") return path("home");
      if (name == "ENABLE_CLAUDEAI_MCP_SERVERS" && switched_off) return "false";
      return std::nullopt;
    };
    tree.file("home/.config/patchbay/secrets.json", R"({"secrets":{"token":"the-bearer"}})");
    ::chmod(path("home/.config/patchbay/secrets.json").c_str(), 0600);
    options.on_event = [this](const HostEvent& event) {
      const auto* change = std::get_if<ConfigChange>(&event);
      if (!change) return;
      added = change->added;
      told.notify_all();
    };
  }
  std::string path(std::string_view name) const { return (tree.path() / name).string(); }
  void configure(const std::string& url, std::string_view more = "") {
    tree.file("home/.config/patchbay/config.json",
              R"({"mcpServers":{"mine":{"command":"/nonexistent/x"}},"connectors":{"url":")" + url +
                  R"(","bearer":"${secret:token}")" + std::string(more) + "}}");
  }
  static std::vector<std::string> names(const Host& host) {
    std::vector<std::string> out;
    for (const auto& status : host.status()) out.push_back(status.name);
    return out;
  }

  TempTree tree;
  HostOptions options;
  Runtime runtime;
  std::vector<std::string> added;
  Event told;
  bool switched_off = false;
};

// compat: C9.a
TEST_F(ConnectorDirectoryTest, ItsServersAppearAndAreKept) {
  std::vector<std::string> requests;
  ScriptedServer server([&](ScriptConnection& connection) {
    for (;;) {
      auto request = connection.read_request();
      requests.push_back(request.line() + " " + request.field("Authorization"));
      connection.answer("200 OK",
                        requests.size() == 1
                            ? R"({"data":[{"id":"1","display_name":"One","url":"https://one/"}],"next_page":"a b"})"
                            : R"({"data":[{"id":"2","display_name":"Two","url":"https://two/"}]})",
                        "Content-Type: application/json\r\n");
    }
  });
  configure(server.url("/v1/servers?limit=9"));
  run_task([&]() -> Task<void> {
    Host host(options);
    // Nothing but asking for a status or a start brings the question about; then it goes on beside everything else.
    co_await host.start({"mine"});
    while (added.empty()) co_await told.wait();
    EXPECT_THAT(added, ElementsAre("claude.ai One", "claude.ai Two"));
    EXPECT_THAT(names(host), ElementsAre("claude.ai One", "claude.ai Two", "mine"));
    co_await host.stop_quickly();
  });
  EXPECT_THAT(requests, ElementsAre("GET /v1/servers?limit=9 HTTP/1.1 Bearer the-bearer",
                                    "GET /v1/servers?limit=9&page=a%20b HTTP/1.1 Bearer the-bearer"));
  // The next run knows them at once, and does not ask again so soon.
  auto config = load_servers(*options.load);
  ASSERT_EQ(config.servers.size(), 3u);
  EXPECT_EQ(config.servers[1].origin.scope, ConfigScope::connector);
  struct stat status{};
  ASSERT_EQ(::stat(path("home/.cache/patchbay/connectors.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(tree.read("home/.cache/patchbay/connectors.json").find("the-bearer"), std::string::npos);
  run_task([&]() -> Task<void> {
    Host host(options);
    co_await host.start({"mine"});
    co_await settle();
    co_await host.stop_quickly();
  });
  EXPECT_EQ(requests.size(), 2u);
}

// T8: the bearer goes to the proxy and nowhere else.
TEST_F(ConnectorDirectoryTest, ItsServersAreReachedThroughItsProxy) {
  std::string line, sent;
  ScriptedServer proxy([&](ScriptConnection& connection) {
    for (;;) {
      auto request = connection.read_request();
      line = request.line();
      sent = request.field("Authorization");
      connection.answer("400 Bad Request", "no");
    }
  });
  HostOptions given;
  given.config.emplace();
  given.config->config_dir = path("home/.config/patchbay");
  given.config->connectors.emplace();
  given.config->connectors->url = "https://directory.example/";
  given.config->connectors->bearer = "${secret:token}";
  given.config->connectors->proxy = proxy.url("/v1/mcp/{server_id}");
  given.config->connectors->cache_file = path("cache.json");
  given.config->servers =
      connector_servers(*given.config->connectors, {{"srv 1", "One", "https://one.example/"}}).servers;
  run_task([&]() -> Task<void> {
    Host host(given);
    co_await host.start({"claude.ai One"});
    EXPECT_EQ(host.status().at(0).state, ServerState::failed);
    co_await host.stop_quickly();
  });
  EXPECT_EQ(line, "POST /v1/mcp/srv%201 HTTP/1.1");
  EXPECT_EQ(sent, "Bearer the-bearer");
}

// T8: however many servers are refused at a time, the bearer is fetched again once.
TEST_F(ConnectorDirectoryTest, ItsServersShareOneSignInAtTheProxy) {
  std::atomic<int> refused = 0;
  Signal both;
  ScriptedServer proxy([&](ScriptConnection& connection) {
    for (;;) {
      if (connection.read_request().field("Authorization") != "Bearer token-1") {
        connection.answer("400 Bad Request", "no");
        continue;
      }
      if (++refused == 2) both.set();
      EXPECT_TRUE(both.wait());
      connection.answer("401 Unauthorized", "");
    }
  });
  tree.file("count", "0\n");
  tree.file("bearer.sh", "read n <" + path("count") + "\nn=$((n+1))\necho $n >" + path("count") + "\necho token-$n\n");
  HostOptions given;
  given.config.emplace();
  given.config->config_dir = path("home/.config/patchbay");
  given.config->connectors.emplace();
  given.config->connectors->url = "https://directory.example/";
  given.config->connectors->bearer = "${cmd:sh " + path("bearer.sh") + "}";
  given.config->connectors->proxy = proxy.url("/v1/mcp/{server_id}");
  given.config->connectors->cache_file = path("cache.json");
  given.config->servers = connector_servers(*given.config->connectors, {{"1", "One", "https://one.example/"},
                                                                        {"2", "Two", "https://two.example/"}})
                              .servers;
  run_task([&]() -> Task<void> {
    Host host(given);
    co_await host.start({"claude.ai One", "claude.ai Two"});
    co_await host.stop_quickly();
  });
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(tree.read("count"), "2\n");
}

// T8: without a bearer the user signs in at the directory, as at any server, and what was listed counts at once.
TEST_F(ConnectorDirectoryTest, WithoutABearerTheUserSignsInThere) {
  SignInServer server;
  tree.file("home/.config/patchbay/config.json",
            R"({"mcpServers":{"mine":{"command":"/nonexistent/x"}},"connectors":{"url":")" + server.directory() +
                R"(","proxy":")" + server.proxy() + R"("}})");
  std::vector<std::string> logged;
  Event event;
  runtime.log = Log(LogLevel::warning, [&](const LogEvent& happened) {
    logged.emplace_back(happened.event);
    event.notify_all();
  });
  run_task([&]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    options.sign_in.show = [&scope](SignInPage page) -> Task<void> {
      scope.spawn([](std::string url) -> Task<void> {
        HttpClientOptions http;
        http.proxy = "";
        HttpClient client(co_await asio::this_coro::executor, std::move(http));
        HttpRequest request{.method = "GET", .url = std::move(url), .headers = {}, .body = {}};
        auto exchange = co_await as_result(client.send(std::move(request)));
        if (exchange) (void)co_await as_result(read_all(**exchange, 1u << 20));
      }(page.url));
      co_return;
    };
    auto host = make_host(options, runtime);
    co_await host.start({"mine"});
    while (std::ranges::find(logged, "connectors_sign_in") == logged.end()) co_await event.wait();
    EXPECT_THAT(names(host), ElementsAre("mine"));
    const auto signed_in = co_await host.sign_in("connectors");
    EXPECT_EQ(signed_in.resource, server.directory());
    EXPECT_THAT(names(host), ElementsAre("claude.ai One", "claude.ai Two", "mine"));
    EXPECT_TRUE((co_await host.sign_out("connectors")).was_signed_in);
    EXPECT_FALSE((co_await host.sign_out("connectors")).was_signed_in);
    co_await host.stop_quickly();
    co_await scope.join();
  });
  EXPECT_EQ(server.authorizations, 1);
}

// compat: C9.b
TEST_F(ConnectorDirectoryTest, ItsFailureNeitherDelaysNorDropsOthers) {
  ScriptedServer silent([](ScriptConnection& connection) { connection.wait_for_end(); });
  ScriptedServer refusing([](ScriptConnection& connection) {
    (void)connection.read_request();
    connection.answer("401 Unauthorized", "no");
    connection.wait_for_end();
  });
  ScriptedServer lying([](ScriptConnection& connection) {
    (void)connection.read_request();
    connection.answer("200 OK", "<html>", "Content-Type: text/html\r\n");
    connection.wait_for_end();
  });
  ScriptedServer leading([&](ScriptConnection& connection) {
    (void)connection.read_request();
    connection.answer("302 Found", "", "Location: http://127.0.0.1:1/\r\n");
    connection.wait_for_end();
  });
  struct Case {
    std::string url;
    std::string text;
  };
  for (const auto& c : std::initializer_list<Case>{{silent.url("/"), "did not answer within 300 ms"},
                                                   {refusing.url("/"), "refuses the token (HTTP status 401)"},
                                                   {lying.url("/"), "the answer is not JSON"},
                                                   {leading.url("/"), "answered with HTTP status 302"}}) {
    configure(c.url, c.url == silent.url("/") ? R"(,"timeout":300)" : R"(,"timeout":30000)");
    std::string logged;
    Event event;
    runtime.log = Log(LogLevel::warning, [&](const LogEvent& happened) {
      if (happened.event == "connectors") logged = happened.field("text");
      event.notify_all();
    });
    run_task([&]() -> Task<void> {
      auto host = make_host(options, runtime);
      co_await host.start({"mine"});
      EXPECT_THAT(names(host), ElementsAre("mine"));
      while (logged.empty()) co_await event.wait();
      EXPECT_THAT(logged, HasSubstr(c.text));
      EXPECT_THAT(names(host), ElementsAre("mine"));
      co_await host.stop_quickly();
    });
  }
}

// compat: C9.b, B4.8, B4.9, B6.14
TEST_F(ConnectorDirectoryTest, ItCanBeSwitchedOff) {
  configure("https://directory.example/");
  EXPECT_TRUE(load_servers(*options.load).connectors);
  switched_off = true;
  EXPECT_FALSE(load_servers(*options.load).connectors);
  switched_off = false;
  tree.file("work/.claude/settings.json", R"({"disableClaudeAiConnectors":true})");
  EXPECT_FALSE(load_servers(*options.load).connectors);
  std::filesystem::remove_all(path("work/.claude"));
  configure("https://directory.example/", R"(,"enabled":false)");
  EXPECT_FALSE(load_servers(*options.load).connectors);
  configure("https://directory.example/");
  options.load->strict = true;
  EXPECT_FALSE(load_servers(*options.load).connectors);
  options.load->strict = false;
  tree.file("etc/managed-mcp.json", R"({"mcpServers":{}})");
  EXPECT_FALSE(load_servers(*options.load).connectors);
  tree.file("etc/managed-settings.json", R"({"allowAllClaudeAiMcps":true})");
  EXPECT_TRUE(load_servers(*options.load).connectors);
}

}  // namespace
}  // namespace patchbay::test
