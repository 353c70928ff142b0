// L7, X4: a server that forgets its sessions, met by whole sessions of the client.
#include <algorithm>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "client/connect.h"
#include "client/session_owner.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/scripted_server.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;

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
  std::function<void(int session)> before_initialize;  // on the server's thread; set before the first one
  Verdict notification_status;                         // 202 where it is not set; set before the first one
  // True when it has dealt with the request. Set before the first one.
  using Deals = std::function<bool(ScriptConnection&, const ScriptConnection::Request&, const Json& body)>;
  Deals deals;

 private:
  void serve(ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (got.line().starts_with("GET") && deals && deals(connection, got, Json())) return;
    if (!got.line().starts_with("POST")) return connection.answer("405 Method Not Allowed", "");
    const auto body = parse_json(got.body).value_or(Json());
    const auto method = body["method"].is_string() ? std::string(body["method"].as_text()) : std::string("none");
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
      if (before_initialize) before_initialize(session);
      if (initialize_status != 200) return connection.answer(std::to_string(initialize_status) + " No", "");
      answer(Json{{"protocolVersion", "2025-11-25"},
                  {"capabilities", {{"tools", Json::object()}, {"logging", Json::object()}}},
                  {"serverInfo", {{"name", "forgetful"}, {"version", std::to_string(session)}}}},
             "Mcp-Session-Id: s" + std::to_string(session) + "\r\n");
    } else if (method.starts_with("notifications/")) {
      const int status = notification_status ? notification_status(got.field("Mcp-Session-Id")) : 202;
      connection.answer(std::to_string(status) + " Seen", "");
    } else if (method == "logging/setLevel") {
      answer(Json::object());
    } else if (!deals || !deals(connection, got, body)) {
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
    EXPECT_THAT(failed, FailsWith(Errc::closed));
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

TEST(ForgottenSession, TheLogLevelIsAlsoSetInTheNewOne) {
  ForgetfulServer server(forgets_first);
  auto options = legacy();
  options.log_level = LoggingLevel::warning;
  with_session(server, options,
               [&](Session session) -> Task<void> { EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "s2"); });
  EXPECT_EQ(server.count("logging/setLevel"), 2);
}

std::string tool_of(const Json& body) { return std::string(body["params"]["name"].as_text()); }

constexpr auto stream_head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

// The stream that belongs to no call is not the session: a call that runs meanwhile goes on, and comes once.
TEST(ForgottenSession, IsNotConcludedFromTheStreamOfASession) {
  std::atomic<int> gets = 0;
  Signal running, refused;
  ForgetfulServer server([](const std::string&) { return 200; });
  server.deals = [&](ScriptConnection& connection, const auto&, const Json& body) {
    if (body.is_object()) {
      running.set();
      EXPECT_TRUE(refused.wait());
      return false;
    }
    if (++gets == 1) {
      EXPECT_TRUE(running.wait());
      connection.write(stream_head);
      connection.write("retry: 1\ndata:\n\n");
      throw ScriptConnection::Ended{};
    }
    connection.answer("404 Not Found", "");
    refused.set();
    return true;
  };
  with_session(server, legacy(),
               [&](Session session) -> Task<void> { EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "s1"); });
  EXPECT_EQ(server.count("initialize"), 1);
  EXPECT_EQ(server.count("tools/call"), 1);
}

// Has a stream in the first session that ends and is then not found; one in any other, which says that `u` changed.
ForgetfulServer::Deals stream_that_is_lost(std::atomic<int>& gets) {
  return [&](ScriptConnection& connection, const ScriptConnection::Request& got, const Json& body) {
    if (body.is_object()) return false;
    const bool first = got.field("Mcp-Session-Id") == "s1";
    if (first && ++gets > 1) {
      connection.answer("404 Not Found", "");
      return true;
    }
    connection.write(stream_head);
    if (first) {
      connection.write("retry: 1\ndata:\n\n");
    } else {
      const Json news{{"jsonrpc", "2.0"}, {"method", "notifications/resources/updated"}, {"params", {{"uri", "u"}}}};
      connection.write("data: " + to_text(news) + "\n\n");
      connection.wait_for_end();
    }
    throw ScriptConnection::Ended{};
  };
}

ClientOptions listening(bool& heard) {
  auto options = legacy();
  options.on_change = [&](const Change& change, const CallContext&) {
    heard = heard || change == Change{Change::Kind::resource_updated, "u"};
  };
  return options;
}

// A server that was started again has lost its sessions. Who only listens makes no call that would meet this.
TEST(ForgottenSession, IsNoticedByAProgramThatOnlyListens) {
  std::atomic<int> gets = 0;
  ForgetfulServer server(forgets_first);
  server.deals = stream_that_is_lost(gets);
  bool heard = false;
  with_session(server, listening(heard), [&](Session session) -> Task<void> {
    while (!heard) co_await settle();
    EXPECT_FALSE(session.closed());
  });
  EXPECT_EQ(server.count("initialize"), 2);
}

// It may not be up again yet.
TEST(ForgottenSession, IsAskedForOnceMoreForAProgramThatOnlyListens) {
  std::atomic<int> gets = 0;
  ForgetfulServer server(forgets_first);
  server.deals = stream_that_is_lost(gets);
  bool heard = false;
  with_session(server, listening(heard), [&](Session session) -> Task<void> {
    server.initialize_status = 503;
    while (server.count("initialize") < 2) co_await settle();
    server.initialize_status = 200;
    while (!heard) co_await settle();
    EXPECT_FALSE(session.closed());
  });
}

// Behind a balancer the next one to be asked may not know the new session either. Nothing else would find that out:
// no stream is opened in a session that was refused.
TEST(ForgottenSession, IsAskedForOnceMoreWhenTheNewOneIsForgottenAtOnce) {
  std::atomic<int> gets = 0;
  ForgetfulServer server([](const std::string& session) { return session == "s1" || session == "s2" ? 404 : 200; });
  server.deals = stream_that_is_lost(gets);
  server.notification_status = [](const std::string& session) { return session == "s2" ? 404 : 202; };
  bool heard = false;
  with_session(server, listening(heard), [&](Session session) -> Task<void> {
    while (!heard) co_await settle();
    EXPECT_FALSE(session.closed());
  });
  EXPECT_EQ(server.count("initialize"), 3);
}

// Whose sessions end with their streams, and those soon. A program that only listens is told when that is no longer
// played along with, once.
TEST(ForgottenSession, IsReportedAsLostWhenEveryNewOneIsForgotten) {
  std::mutex mutex;
  std::set<std::string> ended;
  auto verdict = [&](const std::string& session) {
    std::lock_guard lock(mutex);
    return ended.contains(session) ? 404 : 200;
  };
  ForgetfulServer server(verdict);
  server.notification_status = verdict;
  server.deals = [&](ScriptConnection& connection, const ScriptConnection::Request& got, const Json& body) {
    if (body.is_object()) return false;
    bool first = false;
    {
      std::lock_guard lock(mutex);
      first = ended.insert(got.field("Mcp-Session-Id")).second;
    }
    if (!first) {
      connection.answer("404 Not Found", "");
      return true;
    }
    connection.write(stream_head);
    connection.write("retry: 1\ndata:\n\n");
    throw ScriptConnection::Ended{};
  };
  run_task([&]() -> Task<void> {
    std::vector<std::string> lost;
    std::vector<LogEvent> warnings;
    auto options = legacy();
    options.on_lost = [&](const Error& error) { lost.push_back(error.message()); };
    Runtime runtime;
    runtime.log = Log(LogLevel::warning, [&](const LogEvent& event) { warnings.push_back(event); });
    const RenewalRule quickly{.most_tries = 3, .second_pause = 1ms, .longest_pause = 1ms};
    auto session = std::make_shared<SessionOwner>(co_await asio::this_coro::executor, runtime, options,
                                                  server.transport(), quickly);
    co_await session->connect();
    while (lost.empty()) co_await settle();
    // Another doubt about the same session says nothing new.
    EXPECT_TRUE(session->peer()->notify("notifications/roots/list_changed", {}));
    auto doubted = [](const LogEvent& event) {
      return event.event == "not_accepted" && event.field("status") == "404";
    };
    while (std::ranges::none_of(warnings, doubted)) co_await settle();
    for (int i = 0; i < 20; ++i) co_await settle();
    EXPECT_THAT(lost, testing::ElementsAre(testing::HasSubstr("keeps forgetting its sessions")));
    EXPECT_THAT(warnings, testing::Contains(testing::Field(&LogEvent::event, "session_not_renewed")).Times(1));
    co_await session->close(CloseMode::quick);
  });
}

// One that finds neither the stream nor `ping` has said nothing about the session.
TEST(ForgottenSession, IsNotConcludedFromAPingThatIsNotOffered) {
  std::atomic<int> gets = 0;
  Signal asked;
  ForgetfulServer server([](const std::string&) { return 200; });
  auto stream = stream_that_is_lost(gets);
  server.deals = [&](ScriptConnection& connection, const ScriptConnection::Request& got, const Json& body) {
    if (!body.is_object() || body["method"] != Json("ping")) return stream(connection, got, body);
    connection.answer(
        "404 Not Found",
        to_text(
            Json{{"jsonrpc", "2.0"}, {"id", body["id"]}, {"error", {{"code", -32601}, {"message", "no such method"}}}}),
        "Content-Type: application/json\r\n");
    asked.set();
    return true;
  };
  with_session(server, legacy(), [&](Session session) -> Task<void> {
    while (!asked.is_set()) co_await settle();
    EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "s1");
  });
  EXPECT_EQ(server.count("initialize"), 1);
}

// What runs is not cut off because of a doubt; when it has ended, the session is asked about.
TEST(ForgottenSession, IsNotAskedAboutWhileACallRuns) {
  std::atomic<int> gets = 0;
  Signal running, refused;
  ForgetfulServer server([](const std::string&) { return 200; });
  server.deals = [&](ScriptConnection& connection, const auto& got, const Json& body) {
    const bool first = got.field("Mcp-Session-Id") == "s1";
    if (body.is_object() && body["method"] == Json("tools/call")) {
      running.set();
      EXPECT_TRUE(refused.wait());
      return false;
    }
    if (body.is_object() && !first) return false;
    if (!body.is_object() && first && ++gets == 1) {
      EXPECT_TRUE(running.wait());
      connection.write(stream_head);
      connection.write("retry: 1\ndata:\n\n");
      throw ScriptConnection::Ended{};
    }
    connection.answer("404 Not Found", "");
    if (!body.is_object()) refused.set();
    return true;
  };
  with_session(server, legacy(), [&](Session session) -> Task<void> {
    EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "s1");
    while (server.count("initialize") < 2) co_await settle();
  });
}

// The server took the call. What it says when it is asked for the rest does not undo that.
TEST(ForgottenSession, MetByWhoResumesAStreamIsNotAReasonToRepeatTheCall) {
  ForgetfulServer server([](const std::string&) { return 200; });
  server.deals = [&](ScriptConnection& connection, const auto&, const Json& body) {
    if (!body.is_object()) {
      connection.answer("404 Not Found", "");
      return true;
    }
    if (tool_of(body) != "t") return false;
    connection.write(stream_head);
    connection.write("retry: 1\nid: a\ndata:\n\n");
    throw ScriptConnection::Ended{};
  };
  with_session(server, legacy(), [&](Session session) -> Task<void> {
    auto failed = co_await as_result(session.call_tool("t", {}));
    EXPECT_FALSE(failed);
    if (!failed) EXPECT_EQ(failed.error().code(), Errc::closed);
    EXPECT_FALSE(session.closed());
    EXPECT_EQ(text_of(co_await session.call_tool("other", {})), "s1");
  });
  EXPECT_EQ(server.count("tools/call"), 2);
}

// One call runs when another one hears that the session is gone: only that one is repeated.
TEST(ForgottenSession, DoesNotRepeatWhatRunsWhenAnotherCallMeetsIt) {
  Signal running;
  std::atomic<int> runs = 0;
  ForgetfulServer server(forgets_first);
  server.deals = [&](ScriptConnection& connection, const auto&, const Json& body) {
    if (!body.is_object() || tool_of(body) != "runs") return false;
    ++runs;
    running.set();
    connection.wait_for_end();
    throw ScriptConnection::Ended{};
  };
  with_session(server, legacy(), [&](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::optional<Error> outcome;
    scope.spawn([](Session s, std::optional<Error>& error) -> Task<void> {
      auto called = co_await as_result(s.call_tool("runs", {}));
      if (!called) error = called.error();
    }(session, outcome));
    while (!running.is_set()) co_await settle();
    EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "s2");
    co_await scope.join();
    EXPECT_TRUE(outcome);
    if (!outcome) co_return;
    EXPECT_EQ(outcome->code(), Errc::closed);
    EXPECT_EQ(outcome->carried_out(), CarriedOut::unknown);
  });
  EXPECT_EQ(runs, 1);
}

// Those who wait for the new session hear together that there is none.
TEST(ForgottenSession, WhenNoNewOneCanBeMadeAllWhoMetItAreNotifiedAtOnce) {
  ForgetfulServer server(forgets_first);
  with_session(server, legacy(), [&](Session session) -> Task<void> {
    server.initialize_status = 503;
    Scope scope(co_await asio::this_coro::executor);
    int failed = 0;
    for (int i = 0; i < 5; ++i) {
      scope.spawn([](Session s, int& count) -> Task<void> {
        auto called = co_await as_result(s.call_tool("t", {}));
        if (!called && called.error().http_status() == 503) ++count;
      }(session, failed));
    }
    co_await scope.join();
    EXPECT_EQ(failed, 5);
  });
  EXPECT_EQ(server.count("initialize"), 2);
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

TEST(ForgottenSession, WhatTheServerReportedStaysAsItWasHandedOut) {
  ForgetfulServer server(forgets_first);
  with_session(server, legacy(), [&](Session session) -> Task<void> {
    const auto& before = session.server().info;
    EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "s2");
    EXPECT_EQ(before.version, "1");
    EXPECT_EQ(session.server().info.version, "2");
  });
}

// A call that meets a forgotten session is one call: its limit does not begin again with the new one.
TEST(ForgottenSession, TheNewOneIsPartOfTheTimeOfTheCall) {
  ForgetfulServer server(forgets_first);
  Runtime runtime;
  runtime.limits.connect = runtime.limits.request = 10h;  // opening it may take longer than the call
  test::ManualClock clock(test::ManualClock::Passes::by_itself);
  int opened = 0;
  runtime.trace = [&](std::string_view direction, std::string_view message) {
    // The second session is there, and all of the time is over.
    if (direction == "<-" && message.find("forgetful") != message.npos && ++opened == 2) clock.skip(1h);
  };
  run_task(clock, [&]() -> Task<void> {
    auto session = co_await connect(Client(legacy()), server.transport(), runtime);
    auto failed = co_await as_result(session.call_tool("t", {}, {.total = 30min, .idle = {}, .on_progress = {}}));
    EXPECT_FALSE(failed);
    if (!failed) EXPECT_EQ(failed.error().code(), Errc::timeout);
    EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "s2");
    co_await session.close();
  });
  EXPECT_EQ(server.count("tools/call"), 2);
}

// Nor does a call wait longer than its own limit for a session that somebody else is opening.
TEST(ForgottenSession, WhoWaitsForTheNewOneKeepsToTheirOwnLimit) {
  ForgetfulServer server(forgets_first);
  Signal go_on;
  server.before_initialize = [&](int session) {
    if (session == 2) EXPECT_TRUE(go_on.wait());
  };
  with_session(server, legacy(), [&](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::string patient;
    scope.spawn([](Session s, std::string& text) -> Task<void> { text = text_of(co_await s.call_tool("t", {})); }(
                                                     session, patient));
    while (server.count("initialize") < 2) co_await settle();
    auto failed = co_await as_result(session.call_tool("t", {}, {.total = 20ms, .idle = {}, .on_progress = {}}));
    EXPECT_FALSE(failed);
    if (!failed) EXPECT_EQ(failed.error().code(), Errc::timeout);
    go_on.set();
    co_await scope.join();
    EXPECT_EQ(patient, "s2");
  });
}

// The handler belongs to the session that is gone, and ends with it. Everybody else gets a new one.
TEST(ForgottenSession, MetByAHandlerOfOursIsOpenedAnewAllTheSame) {
  for (const bool deaf : {false, true}) {
    ForgetfulServer server([](const std::string& session) { return session == "s1" ? 404 : 200; });
    server.deals = [&](ScriptConnection& connection, const auto& got, const Json& body) {
      if (!body.is_object() || tool_of(body) != "asks" || got.field("Mcp-Session-Id") != "s1") return false;
      connection.write(stream_head);
      connection.write(
          "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],"
          "\"maxTokens\":1}}\n\n");
      connection.wait_for_end();
      throw ScriptConnection::Ended{};
    };
    auto options = legacy();
    Session session;
    std::optional<Errc> inside;
    bool released = false;
    Event changed;
    options.sample = [&](CreateMessageRequest, CallContext) -> Task<CreateMessageResult> {
      auto called = co_await as_result(session.call_tool("t", {}));
      inside = called ? Errc::internal : called.error().code();
      changed.notify_all();
      co_await asio::this_coro::throw_if_cancelled(false);
      while (deaf && !released) (void)co_await as_result(changed.wait());
      co_return CreateMessageResult{};
    };
    run_task([&]() -> Task<void> {
      Runtime runtime;
      runtime.limits.exit_after_eof = 5ms;
      session = co_await connect(Client(options), server.transport(), runtime);
      auto asks = co_await as_result(session.call_tool("asks", {}));
      EXPECT_FALSE(asks);
      if (!asks) EXPECT_EQ(asks.error().code(), Errc::closed);
      EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "s2");
      while (!inside) co_await changed.wait();
      EXPECT_EQ(*inside, Errc::cancelled);
      co_await session.close();
      released = true;
      changed.notify_all();
      session = Session();
    });
    EXPECT_EQ(server.count("initialize"), 2);
  }
}

}  // namespace
}  // namespace patchbay::test
