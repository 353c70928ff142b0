// L7, X4: a server that forgets its sessions, met by whole sessions of the client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "support/loop.h"
#include "support/scripted_server.h"

namespace patchbay::test {
namespace {

// An older server behind a URL. What it does to a tool call is the test's to say.
class ForgetfulServer {
 public:
  // The status of an answer to `tools/call` in the given session, 200 for an ordinary one.
  using Verdict = std::function<int(const std::string& session)>;
  explicit ForgetfulServer(Verdict verdict)
      : verdict_(std::move(verdict)), server_([this](ScriptConnection& connection) {
          for (;;) serve(connection);
        }) {}

  std::shared_ptr<Transport> transport() const {
    return http_transport({.url = server_.url("/mcp"), .headers = {}, .proxy = ""});
  }
  // How many times a method came.
  int count(const std::string& method) const {
    std::lock_guard lock(mutex_);
    const auto found = counts_.find(method);
    return found == counts_.end() ? 0 : found->second;
  }
  std::atomic<int> initialize_status = 200;

 private:
  void serve(ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (!got.line().starts_with("POST")) return connection.answer("405 Method Not Allowed", "");
    const auto body = parse_json(got.body).value_or(Json());
    const auto method = body["method"].is_string() ? body["method"].as_string() : std::string("none");
    int session = 0;
    {
      std::lock_guard lock(mutex_);
      ++counts_[method];
      session = counts_["initialize"];
    }
    auto answer = [&](Json result, std::string_view fields = "") {
      const Json message{{"jsonrpc", "2.0"}, {"id", body["id"]}, {"result", std::move(result)}};
      connection.answer("200 OK", to_text(message), "Content-Type: application/json\r\n" + std::string(fields));
    };
    if (method == "initialize") {
      if (initialize_status != 200) return connection.answer(std::to_string(initialize_status) + " No", "");
      answer(Json{{"protocolVersion", "2025-11-25"},
                  {"capabilities", {{"tools", Json::object()}, {"logging", Json::object()}}},
                  {"serverInfo", {{"name", "forgetful"}, {"version", "1"}}}},
             "Mcp-Session-Id: s" + std::to_string(session) + "\r\n");
    } else if (method.starts_with("notifications/")) {
      connection.answer("202 Accepted", "");
    } else if (method == "logging/setLevel") {
      answer(Json::object());
    } else {
      const int status = verdict_(got.field("Mcp-Session-Id"));
      if (status != 200) return connection.answer(std::to_string(status) + " No", "");
      answer(Json{{"content", Json::array({Json{{"type", "text"}, {"text", got.field("Mcp-Session-Id")}}})}});
    }
  }

  mutable std::mutex mutex_;
  std::map<std::string, int> counts_;
  Verdict verdict_;
  ScriptedServer server_;
};

ClientOptions legacy() {
  ClientOptions options;
  options.protocol = "legacy";
  return options;
}

void with_session(ForgetfulServer& server, ClientOptions options, std::function<Task<void>(Session)> body) {
  run_task([&]() -> Task<void> {
    auto session = co_await Client(options).connect(server.transport());
    auto outcome = co_await as_result(body(session));
    co_await session.close();
    value_or_throw(std::move(outcome));
  });
}

int forgets_first(const std::string& session) { return session == "s1" ? 404 : 200; }

TEST(ForgottenSession, IsOpenedAnewAndTheCallRepeatedOnce) {
  ForgetfulServer server(forgets_first);
  with_session(server, legacy(), [&](Session session) -> Task<void> {
    EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "s2");
    EXPECT_FALSE(session.closed());
    EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "s2");
  });
  EXPECT_EQ(server.count("initialize"), 2);
  EXPECT_EQ(server.count("tools/call"), 3);
}

TEST(ForgottenSession, ForgottenAgainIsTheCallersError) {
  ForgetfulServer server([](const std::string&) { return 404; });
  with_session(server, legacy(), [&](Session session) -> Task<void> {
    auto failed = co_await as_result(session.call_tool("t", {}));
    EXPECT_EQ(failed.error().code(), Errc::closed);
  });
  EXPECT_EQ(server.count("tools/call"), 2);
}

TEST(ForgottenSession, CallsThatMeetItTogetherShareTheNewOne) {
  ForgetfulServer server(forgets_first);
  with_session(server, legacy(), [&](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    int right = 0;
    for (int i = 0; i < 5; ++i) {
      scope.spawn([](Session s, int& count) -> Task<void> {
        if (text_of(co_await s.call_tool("t", {})) == "s2") ++count;
      }(session, right));
    }
    co_await scope.join();
    EXPECT_EQ(right, 5);
  });
  EXPECT_EQ(server.count("initialize"), 2);
}

TEST(ForgottenSession, TheLogLevelIsSetInTheNewOneToo) {
  ForgetfulServer server(forgets_first);
  auto options = legacy();
  options.log_level = LoggingLevel::warning;
  with_session(server, options,
               [&](Session session) -> Task<void> { EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "s2"); });
  EXPECT_EQ(server.count("logging/setLevel"), 2);
}

// A 404 leads to the older transport, which this server does not have either.
TEST(ForgottenSession, WhenNoNewOneIsToBeHadTheNextCallTriesAgain) {
  for (const int status : {503, 404}) {
    SCOPED_TRACE(status);
    ForgetfulServer server([](const std::string& session) { return session == "s1" ? 404 : 200; });
    with_session(server, legacy(), [&](Session session) -> Task<void> {
      server.initialize_status = status;
      auto failed = co_await as_result(session.call_tool("t", {}));
      EXPECT_FALSE(failed);
      EXPECT_FALSE(session.closed());
      server.initialize_status = 200;
      EXPECT_NE(text_of(co_await session.call_tool("t", {})), "s1");
    });
  }
}

TEST(ForgottenSession, ClosingDuringTheRenewalEndsIt) {
  ForgetfulServer server(forgets_first);
  with_session(server, legacy(), [&](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::optional<Errc> outcome;
    scope.spawn([](Session s, std::optional<Errc>& code) -> Task<void> {
      auto called = co_await as_result(s.call_tool("t", {}));
      code = called ? Errc::internal : called.error().code();
    }(session, outcome));
    while (server.count("tools/call") == 0) co_await settle();
    co_await session.close();
    co_await scope.join();
    EXPECT_TRUE(outcome);
  });
}

}  // namespace
}  // namespace patchbay::test
