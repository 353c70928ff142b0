// L9: what a call over HTTP meets is how its server is, and the next call tries again.
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
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

 private:
  void serve(ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (!got.line().starts_with("POST")) return connection.answer("405 Method Not Allowed", "");
    {
      std::lock_guard lock(mutex_);
      if (got.field("Authorization") != wanted_) return connection.answer("401 Unauthorized", "");
    }
    const auto body = parse_json(got.body).value_or(Json());
    const auto& method = body["method"].as_string();
    if (method.starts_with("notifications/")) return connection.answer("202 Accepted", "");
    auto result = method == "initialize"   ? R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},)"
                                             R"("serverInfo":{"name":"s","version":"1"}})"
                  : method == "tools/list" ? R"({"tools":[{"name":"t","inputSchema":{"type":"object"}}]})"
                                           : R"({"content":[]})";
    connection.answer("200 OK", R"({"jsonrpc":"2.0","id":)" + to_text(body["id"]) + R"(,"result":)" + result + "}",
                      "Content-Type: application/json\r\n");
  }

  std::mutex mutex_;
  std::string wanted_;
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

TEST(HostCallOverHttp, AServerThatIsGoneIsNotConnected) {
  run_task([]() -> Task<void> {
    auto server = std::make_unique<BearerServer>();
    server->want("x");
    Host host(with_entry(server->url(), "Bearer x"));
    co_await host.call("s/t");
    server.reset();
    for (const auto* reason : {"connection lost", "connect failed"}) {
      auto refused = co_await as_result(host.call("s/t"));
      EXPECT_FALSE(refused);
      if (!refused) EXPECT_EQ(refused.error().code(), Errc::connect) << refused.error().message();
      EXPECT_EQ(host.status().at(0).state, ServerState::failed);
      EXPECT_EQ(to_string(host.status().at(0).reason), reason);
      EXPECT_TRUE(host.catalog()->empty());
    }
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay::test
