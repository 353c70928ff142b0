// L9: what a call over HTTP meets is how its server is, and the next call tries again.
#include <mutex>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/waiting.h"
#include "support/loop.h"
#include "support/scripted_server.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

// An older server with one tool that wants a bearer, which it may change its mind about.
class BearerServer {
 public:
  BearerServer()
      : server_([this](ScriptConnection& connection) {
          for (;;) serve(connection);
        }) {}
  std::string url() const { return server_.url("/mcp"); }
  void want(std::string bearer) {
    std::lock_guard lock(mutex_);
    wanted_ = "Bearer " + std::move(bearer);
  }
  // During the next call it says that its tools changed, and wants another bearer from then on.
  void change_during_call(std::string bearer) {
    std::lock_guard lock(mutex_);
    after_call_ = "Bearer " + std::move(bearer);
  }

 private:
  void serve(ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (!got.line().starts_with("POST")) return connection.answer("405 Method Not Allowed", "");
    {
      std::lock_guard lock(mutex_);
      if (got.field("Authorization") != wanted_) return connection.answer("401 Unauthorized", "");
    }
    const auto body = parse_json(got.body).value_or(Json());
    const std::string method(body["method"].as_text());
    if (method.starts_with("notifications/")) return connection.answer("202 Accepted", "");
    auto result = method == "initialize"
                      ? R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},)"
                        R"("serverInfo":{"name":"s","version":"1"}})"
                  : method == "tools/list" ? R"({"tools":[{"name":"t","inputSchema":{"type":"object"}}]})"
                                           : R"({"content":[]})";
    const auto answer = R"({"jsonrpc":"2.0","id":)" + to_text(body["id"]) + R"(,"result":)" + result + "}";
    std::lock_guard lock(mutex_);
    if (method != "tools/call" || after_call_.empty()) {
      return connection.answer("200 OK", answer, "Content-Type: application/json\r\n");
    }
    wanted_ = std::exchange(after_call_, {});
    connection.answer(
        "200 OK",
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\ndata: " + answer + "\n\n",
        "Content-Type: text/event-stream\r\n");
  }

  std::mutex mutex_;
  std::string wanted_, after_call_;
  ScriptedServer server_;
};

HostOptions with_entry(const std::string& url, const std::string& header) {
  HostOptions options;
  options.config.emplace();
  options.client.protocol = "legacy";
  ServerConfig config;
  config.name = "s";
  config.kind = ServerKind::http;
  config.url = url;
  config.headers = {{"Authorization", header}};
  options.config->servers = {config};
  return options;
}

TEST(HostCallOverHttp, CredentialsThatAreRefusedAreFetchedAnewByTheNextCall) {
  TempTree tree;
  BearerServer server;
  server.want("first");
  tree.file("token", "first\n");
  run_task([&]() -> Task<void> {
    Host host(with_entry(server.url(), "Bearer ${file:" + (tree.path() / "token").string() + "}"));
    co_await host.call("s/t");
    server.want("second");
    for (int i = 0; i < 2; ++i) {
      auto refused = co_await as_result(host.call("s/t"));
      EXPECT_FALSE(refused);
      if (!refused) EXPECT_EQ(refused.error().code(), Errc::unauthorized) << refused.error().message();
      EXPECT_EQ(host.status().at(0).state, ServerState::needs_auth);
      if (i == 0) EXPECT_EQ(host.catalog()->size(), 1u);
    }
    tree.file("token", "second\n");
    co_await host.call("s/t");
    EXPECT_EQ(host.status().at(0).state, ServerState::connected);
    EXPECT_EQ(host.catalog()->size(), 1u);
    co_await host.stop();
  });
}

// compat: B5.25
TEST(HostCallOverHttp, AServerThatForbidsConnectingNeedsCredentials) {
  for (const auto* status : {"401 Unauthorized", "403 Forbidden"}) {
    ScriptedServer server([&](ScriptConnection& connection) {
      for (;;) {
        connection.read_request();
        connection.answer(status, "no");
      }
    });
    run_task([&]() -> Task<void> {
      Host host(with_entry(server.url("/mcp"), "Bearer x"));
      co_await host.start();
      EXPECT_EQ(host.status().at(0).state, ServerState::needs_auth) << status;
      EXPECT_EQ(host.status().at(0).reason, ServerReason::wants_credentials) << status;
      co_await host.stop();
    });
  }
}

TEST(HostCallOverHttp, AListThatIsRefusedLaterShowsInTheStatus) {
  run_task([]() -> Task<void> {
    BearerServer server;
    server.want("first");
    auto options = with_entry(server.url(), "Bearer first");
    Event refused;
    bool needs_auth = false;
    options.on_event = [&](const HostEvent& event) {
      const auto* status = std::get_if<ServerStatus>(&event);
      if (!status || status->state != ServerState::needs_auth) return;
      needs_auth = true;
      refused.notify_all();
    };
    Host host(options);
    server.change_during_call("second");
    co_await host.call("s/t");
    while (!needs_auth) co_await refused.wait();
    EXPECT_EQ(host.status().at(0).reason, ServerReason::wants_credentials);
    EXPECT_EQ(host.catalog()->size(), 1u) << "the tools it listed before";
    co_await host.stop();
  });
}

TEST(HostCallOverHttp, AServerThatIsGoneIsNotConnected) {
  run_task([]() -> Task<void> {
    auto server = std::make_unique<BearerServer>();
    server->want("x");
    auto options = with_entry(server->url(), "Bearer x");
    options.keep_connected = false;
    Host host(std::move(options));
    co_await host.call("s/t");
    server.reset();
    for (const auto* reason : {"connection lost", "connect failed"}) {
      auto refused = co_await as_result(host.call("s/t"));
      EXPECT_FALSE(refused);
      if (!refused) EXPECT_EQ(refused.error().code(), Errc::connect) << refused.error().message();
      EXPECT_EQ(host.status().at(0).state, ServerState::failed);
      EXPECT_EQ(to_string(host.status().at(0).reason), reason);
      EXPECT_EQ(host.catalog()->size(), 1u) << "N3: what it offered stays";
    }
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay::test
