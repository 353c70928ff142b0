// Sessions with servers that misbehave, each written by hand: every wait ends, every list is
// bounded, and nothing a server says ends more than what it was said about.
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "client/connect.h"
#include "client/exchange.h"
#include "client/session_owner.h"
#include "protocol/methods.h"
#include "protocol/wire.h"
#include "support/beside.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/script_server.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::beside;
using test::FailsWith;
using test::FailsWithRpc;
using test::failure_of;
using test::ManualClock;
using test::modern_client;
using test::no_answer;
using test::run_task;
using test::ScriptServer;
using test::settle;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::string m(std::string_view method) { return std::string(method); }

Payload parsed(std::string text) { return *Payload::parse(std::move(text)); }

Task<Payload> answer(std::string text) { co_return parsed(std::move(text)); }

ClientOptions legacy_client() {
  ClientOptions options;
  options.protocol = "legacy";
  return options;
}

// Connects, runs the body, closes, whatever happens in between.
Task<void> in_session(ScriptServer& server, ClientOptions options, Runtime runtime,
                      std::function<Task<void>(Session)> body) {
  auto session = co_await connect(Client(options), server.transport(), runtime);
  auto outcome = co_await as_result(body(session));
  co_await session.close();
  EXPECT_EQ(server.connections(), 0u);
  value_or_throw(std::move(outcome));
}
void with_session(ScriptServer& server, ClientOptions options, Runtime runtime,
                  std::function<Task<void>(Session)> body) {
  run_task([&] { return in_session(server, options, runtime, body); });
}
void with_session(ManualClock& clock, ScriptServer& server, ClientOptions options,
                  std::function<Task<void>(Session)> body) {
  run_task(clock, [&] { return in_session(server, options, {}, body); });
}
void with_session(ScriptServer& server, ClientOptions options, std::function<Task<void>(Session)> body) {
  with_session(server, std::move(options), Runtime{}, std::move(body));
}

// Lists ------------------------------------------------------------------------------------

// L4: a list is bounded whatever the server does.
TEST(Script, ListsAreCutAtTheirBounds) {
  struct Row {
    std::string name;
    std::function<std::string(int page)> page;  // what the n-th request gets
    std::size_t items;
    std::size_t requests;
    std::string cut;  // part of the reason; empty: complete
  };
  Limits limits;
  limits.pages = 50;
  limits.items = 200;
  limits.cursor = 1000;
  auto items = [](int from, int count) {
    std::string list;
    for (int i = 0; i < count; ++i) list += fmt::format(R"({}{{"name":"t{}"}})", i ? "," : "", from + i);
    return list;
  };
  const std::vector<Row> rows{
      {"one page", [&](int) { return fmt::format(R"({{"tools":[{}]}})", items(0, 3)); }, 3, 1, ""},
      {"no items", [](int) { return R"({"tools":[]})"; }, 0, 1, ""},
      {"null for the next cursor", [](int) { return R"({"tools":[],"nextCursor":null})"; }, 0, 1, ""},
      {"an empty cursor is a cursor",
       [&](int n) { return fmt::format(R"({{"tools":[{}]{}}})", items(n, 1), n == 0 ? R"(,"nextCursor":"")" : ""); }, 2,
       2, ""},
      {"pages without end", [&](int n) { return fmt::format(R"({{"tools":[{}],"nextCursor":"{}"}})", items(n, 1), n); },
       50, 50, "more than 50 pages"},
      {"empty pages without end", [](int n) { return fmt::format(R"({{"tools":[],"nextCursor":"{}"}})", n); }, 0, 50,
       "more than 50 pages"},
      {"the same cursor again", [&](int n) { return fmt::format(R"({{"tools":[{}],"nextCursor":"x"}})", items(n, 1)); },
       2, 2, "repeated a cursor"},
      {"cursors in a circle",
       [&](int n) { return fmt::format(R"({{"tools":[{}],"nextCursor":"{}"}})", items(n, 1), n % 3); }, 4, 4,
       "repeated a cursor"},
      {"a cursor of the longest kind",
       [&](int n) {
         return fmt::format(R"({{"tools":[{}]{}}})", items(n, 1),
                            n == 0 ? fmt::format(R"(,"nextCursor":"{}")", std::string(1000, 'x')) : "");
       },
       2, 2, ""},
      {"a longer cursor",
       [&](int n) { return fmt::format(R"({{"tools":[{}],"nextCursor":"{}"}})", items(n, 1), std::string(1001, 'x')); },
       1, 1, "a cursor of 1001 bytes"},
      {"more items than can be used, on one page",
       [&](int) { return fmt::format(R"({{"tools":[{}]}})", items(0, 201)); }, 200, 1, "more than 200 items"},
      {"exactly as many as can be used", [&](int) { return fmt::format(R"({{"tools":[{}]}})", items(0, 200)); }, 200, 1,
       ""},
      {"more items than can be used, over pages",
       [&](int n) { return fmt::format(R"({{"tools":[{}],"nextCursor":"{}"}})", items(n * 90, 90), n); }, 200, 3,
       "more than 200 items"},
  };
  for (bool modern : {true, false}) {
    for (const auto& row : rows) {
      SCOPED_TRACE(fmt::format("{}, {}", row.name, modern ? "modern" : "legacy"));
      auto server = modern ? ScriptServer::modern(R"({"tools":{}})") : ScriptServer::legacy(R"({"tools":{}})");
      int page = 0;
      server->on(m(method::list_tools), [&](Request) -> Task<Payload> { return answer(row.page(page++)); });
      Runtime runtime;
      runtime.limits = limits;
      with_session(*server, modern ? modern_client() : legacy_client(), runtime, [&](Session session) -> Task<void> {
        auto listing = co_await session.list_tools();
        EXPECT_EQ(listing.items.size(), row.items);
        EXPECT_EQ(server->count(method::list_tools), row.requests);
        EXPECT_EQ(listing.cut.has_value(), !row.cut.empty());
        if (listing.cut) EXPECT_THAT(*listing.cut, HasSubstr(row.cut));
      });
    }
  }
}

TEST(Script, TenThousandPagesAreCutAtAThousand) {
  auto server = ScriptServer::legacy(R"({"tools":{}})");
  int page = 0;
  server->on(m(method::list_tools), [&](Request) -> Task<Payload> {
    ++page;
    return answer(page < 10'000 ? fmt::format(R"({{"tools":[{{"name":"t"}}],"nextCursor":"{}"}})", page)
                                : R"({"tools":[]})");
  });
  ManualClock clock;  // a thousand exchanges may take long, and no time passes
  with_session(clock, *server, legacy_client(), [&](Session session) -> Task<void> {
    auto listing = co_await session.list_tools();
    EXPECT_EQ(listing.items.size(), 1000u);
    EXPECT_EQ(page, 1000);
    EXPECT_TRUE(listing.cut);
  });
}

TEST(Script, BadItemsAreLeftOutNamedAndBounded) {
  auto server = ScriptServer::modern(R"({"tools":{}})");
  server->on(m(method::list_tools), R"({"tools":[{"name":"good"},{"name":5},7,{"name":"also good"}]})");
  with_session(*server, modern_client(), [&](Session session) -> Task<void> {
    auto listing = co_await session.list_tools();
    EXPECT_EQ(listing.items.size(), 2u);
    EXPECT_THAT(listing.problems, SizeIs(2));
    EXPECT_EQ(listing.problems.at(0).path, "tools[1].name");
  });
  Runtime runtime;
  runtime.limits.items = 10;
  int page = 0;
  server->on(m(method::list_tools), [&](Request) -> Task<Payload> {
    return answer(fmt::format(R"({{"tools":[1,2,3,4,5,6,7],"nextCursor":"{}"}})", page++));
  });
  with_session(*server, modern_client(), runtime, [&](Session session) -> Task<void> {
    auto listing = co_await session.list_tools();
    EXPECT_EQ(listing.problems.size(), 10u);
  });
}

TEST(Script, WhatIsNotAListIsAnError) {
  for (auto result : {R"({})", R"({"tools":5})", R"({"tools":{}})"}) {
    auto server = ScriptServer::modern(R"({"tools":{}})");
    server->on(m(method::list_tools), result);
    with_session(*server, modern_client(), [&](Session session) -> Task<void> {
      auto listing = co_await as_result(session.list_tools());
      EXPECT_THAT(listing, FailsWith(Errc::protocol)) << result;
      co_await session.ping();
    });
  }
}

// What a server said stays fresh --------------------------------------------------------

TEST(Script, AReadIsAnsweredFromTheCacheUntilItIsStaleOrUpdated) {
  auto server = ScriptServer::modern(R"({"resources":{"subscribe":true}})");
  int reads = 0;
  server->on(m(method::read_resource), [&](Request request) -> Task<Payload> {
    return answer(fmt::format(R"({{"contents":[{{"uri":{},"text":"{}"}}],"ttlMs":1000,"cacheScope":"private"}})",
                              to_text(request.params.value()["uri"]), ++reads));
  });
  ManualClock clock;
  with_session(clock, *server, modern_client(), [&](Session session) -> Task<void> {
    auto read = [&](std::string uri) -> Task<std::string> {
      auto result = co_await session.read_resource(std::move(uri));
      co_return *result.contents.at(0).text;
    };
    EXPECT_EQ(co_await read("a"), "1");
    EXPECT_EQ(co_await read("a"), "1");
    EXPECT_EQ(co_await read("b"), "2");
    clock.skip(999ms);
    EXPECT_EQ(co_await read("a"), "1");
    clock.skip(1ms);
    EXPECT_EQ(co_await read("a"), "3");
    server->notify(method::resource_updated, Json{{"uri", "a"}});
    co_await settle();
    EXPECT_EQ(co_await read("a"), "4");
  });
}

// A server whose list of tools waits for the test the first time: t1, t2, and so on.
struct ChangingServer {
  std::unique_ptr<ScriptServer> server = ScriptServer::modern(R"({"tools":{"listChanged":true}})");
  Event may_answer;
  Event heard;
  int lists = 0;
  int changes = 0;
  ChangingServer() {
    server->on(m(method::list_tools), [this](Request) -> Task<Payload> {
      const int list = ++lists;
      if (list == 1) co_await may_answer.wait();
      co_return parsed(fmt::format(R"({{"tools":[{{"name":"t{}"}}],"ttlMs":60000,"cacheScope":"private"}})", list));
    });
  }
  ClientOptions client() {
    auto options = modern_client();
    options.on_change = [this](const Change&, const CallContext&) {
      ++changes;
      heard.notify_all();
    };
    return options;
  }
  Task<void> wait_changes(int count) {
    while (changes < count) co_await heard.wait();
  }
};

Task<void> first_tool(Session session, std::optional<std::string>& out) {
  auto listing = co_await session.list_tools();
  out = listing.items.at(0).name;
}

// S7: the answer was under way when the change was announced, so it may be older than the change.
TEST(Script, AChangeAnnouncedWhileAListIsFetched_LeadsToOneMoreFetch) {
  ChangingServer changing;
  with_session(*changing.server, changing.client(), [&](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::optional<std::string> first;
    scope.spawn(first_tool(session, first));
    co_await changing.server->wait_asked(method::list_tools);
    changing.server->notify(method::tools_changed, {});
    changing.server->notify(method::tools_changed, {});
    co_await changing.wait_changes(2);
    changing.may_answer.notify_all();
    co_await scope.join();
    EXPECT_EQ(first, "t2");
    auto second = co_await session.list_tools();
    EXPECT_EQ(second.items.at(0).name, "t2");
    EXPECT_EQ(changing.lists, 2);
  });
}

// An older list that arrives later does not take the place of a newer one: the tool it lists has another schema.
TEST(Script, AListOvertakenByANewerOne_IsNotWhatCallsAreCheckedAgainst) {
  auto server = ScriptServer::legacy(R"({"tools":{"listChanged":true}})");
  Event may_answer;
  int lists = 0;
  server->on(m(method::list_tools), [&](Request) -> Task<Payload> {
    const int list = ++lists;
    if (list != 2) co_await may_answer.wait();
    co_return parsed(fmt::format(R"({{"tools":[{{"name":"t","inputSchema":{{"type":"object","required":["{}"]}}}}]}})",
                                 list == 2 ? "new" : "old"));
  });
  server->on(m(method::call_tool), R"({"content":[]})");
  with_session(*server, legacy_client(), [&](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::optional<std::string> older;
    scope.spawn(first_tool(session, older));
    co_await server->wait_asked(method::list_tools);
    server->notify(method::tools_changed, {});
    co_await session.ping();
    (void)co_await session.list_tools();
    server->notify(method::tools_changed, {});  // also while the older one is fetched once more
    may_answer.notify_all();
    co_await server->wait_asked(method::list_tools, 3);
    server->notify(method::tools_changed, {});
    co_await session.ping();
    may_answer.notify_all();
    co_await scope.join();
    EXPECT_EQ(older, "t");
    // Nothing is known of the tool that is newer than the last change, so nothing is held against the call.
    (void)co_await session.call_tool("t", Json{{"new", 1}});
  });
}

TEST(Script, WhatWasKeptBeforeAWatchBegan_IsAskedForAnew) {
  ChangingServer changing;
  Event end;
  changing.lists = 1;  // none of them waits
  changing.server->on(m(method::listen), [&](Request request) -> Task<Payload> {
    changing.server->notify(
        method::listen_acknowledged,
        parsed(fmt::format(
            R"({{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}})",
            to_text(request.id))));
    co_await end.wait();
    co_return parsed(R"({"resultType":"complete"})");
  });
  with_session(*changing.server, changing.client(), [&](Session session) -> Task<void> {
    EXPECT_EQ((co_await session.list_tools()).items.at(0).name, "t2");
    SubscriptionFilter filter;
    filter.tools_list_changed = true;
    auto watch = co_await session.watch(filter);
    EXPECT_EQ((co_await session.list_tools()).items.at(0).name, "t3");
    EXPECT_EQ((co_await session.list_tools()).items.at(0).name, "t3");
    EXPECT_EQ(changing.changes, 0);
    co_await watch.stop();
  });
}

// What is kept is shared, and what is not kept is moved: nobody copies an answer on its way.
TEST(Script, AnAnswerFromTheCache_IsTheOneThatWasKept) {
  auto server = ScriptServer::modern(R"({"resources":{}})");
  for (const int ttl : {60'000, 0}) {
    server->on(m(method::read_resource), fmt::format(R"({{"contents":[],"ttlMs":{}}})", ttl));
    run_task([&]() -> Task<void> {
      auto session = std::make_shared<SessionOwner>(co_await asio::this_coro::executor, Runtime{}, modern_client(),
                                                    server->transport());
      co_await session->connect();
      auto read = [&]() -> Task<Fetched> { return cached_request(*session, method::read_resource, {}, "k", {}); };
      const auto first = co_await read();
      const auto second = co_await read();
      EXPECT_EQ(first.kept != nullptr, ttl > 0);
      EXPECT_EQ(first.kept, second.kept);
      EXPECT_EQ(first.own.is_null(), ttl > 0);
      EXPECT_GT(first.bytes, 0u);
      EXPECT_EQ(first.bytes, second.bytes);
      co_await session->close(CloseMode::quick);
    });
  }
}

// L4: the time of a list is that of all its pages.
TEST(Script, AListThatIsSlowPageByPage_EndsWithinItsOneLimit) {
  auto server = ScriptServer::legacy(R"({"tools":{}})");
  ManualClock clock;
  int pages = 0;
  server->on(m(method::list_tools), [&](Request) -> Task<Payload> {
    clock.skip(6s);
    co_return parsed(fmt::format(R"({{"tools":[],"nextCursor":"{}"}})", ++pages));
  });
  with_session(clock, *server, legacy_client(), [&](Session session) -> Task<void> {
    auto listed = co_await as_result(session.list_tools());
    EXPECT_FALSE(listed);
    if (!listed) EXPECT_EQ(listed.error().code(), Errc::timeout);
    EXPECT_EQ(pages, 3);
  });
}

// L4: and so is its size.
TEST(Script, AListOfManyBytes_IsCutAndMarked) {
  auto server = ScriptServer::legacy(R"({"tools":{}})");
  int pages = 0;
  server->on(m(method::list_tools), [&](Request) -> Task<Payload> {
    ++pages;
    co_return parsed(fmt::format(R"({{"tools":[{{"name":"t{}","description":"{}"}}],"nextCursor":"{}"}})", pages,
                                 std::string(1000, 'x'), pages));
  });
  Runtime runtime;
  runtime.limits.list_bytes = 5000;
  std::vector<std::string> logged;
  runtime.log = Log(LogLevel::warning, [&](const LogEvent& event) { logged.push_back(event.event); });
  with_session(*server, legacy_client(), runtime, [&](Session session) -> Task<void> {
    auto listed = co_await session.list_tools();
    EXPECT_THAT(listed.items, SizeIs(4));
    EXPECT_EQ(listed.cut, "the answer to tools/list is not complete: the server listed more than 5000 bytes");
    EXPECT_EQ(pages, 5);
    EXPECT_THAT(logged, ElementsAre("list_cut"));
  });
}

TEST(Script, ACursorTheServerForgotBeginsTheListAgainOnce) {
  auto server = ScriptServer::modern(R"({"tools":{}})");
  int generation = 1;
  server->on(m(method::list_tools), [&](Request request) -> Task<Payload> {
    const Json& cursor = std::as_const(request.params.value())["cursor"];
    if (cursor.is_null()) {
      return answer(
          fmt::format(R"({{"tools":[{{"name":"a{}"}}],"nextCursor":"{}","ttlMs":60000,"cacheScope":"private"}})",
                      generation, generation));
    }
    if (cursor != Json(std::to_string(generation))) {
      return []() -> Task<Payload> {
        throw Error::rpc(-32602, "unknown cursor");
        co_return Payload();
      }();
    }
    return answer(fmt::format(R"({{"tools":[{{"name":"b{}"}}]}})", generation));
  });
  with_session(*server, modern_client(), [&](Session session) -> Task<void> {
    EXPECT_EQ((co_await session.list_tools()).items.size(), 2u);
    generation = 2;  // the first page is cached, its cursor is no longer known
    auto listing = co_await session.list_tools();
    EXPECT_THAT(listing.items, SizeIs(2));
    EXPECT_EQ(listing.items.at(0).name, "a2");
    EXPECT_EQ(listing.items.at(1).name, "b2");
  });
  server->on(m(method::list_tools), [&](Request request) -> Task<Payload> {
    const bool first = std::as_const(request.params.value())["cursor"].is_null();
    if (first) return answer(R"({"tools":[],"nextCursor":"x"})");
    return []() -> Task<Payload> {
      throw Error::rpc(-32602, "unknown cursor");
      co_return Payload();
    }();
  });
  server->asked.clear();
  with_session(*server, modern_client(), [&](Session session) -> Task<void> {
    auto listing = co_await as_result(session.list_tools());
    EXPECT_THAT(listing, FailsWithRpc(-32602));
    EXPECT_EQ(server->count(method::list_tools), 4u);
  });
}

// Asking back ------------------------------------------------------------------------------

const std::string a_form =
    R"("inputRequests":{"who":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}})";

ClientOptions answering(ClientOptions options, ElicitResult::Action action, int& asked) {
  options.elicit = [&asked, action](ElicitRequest, CallContext) -> Task<ElicitResult> {
    ++asked;
    return [](ElicitResult::Action how) -> Task<ElicitResult> { co_return ElicitResult{.action = how}; }(action);
  };
  options.elicit_by_url = true;
  return options;
}

TEST(Script, EachRoundCarriesItsOwnAnswersAndStateAndNothingOlder) {
  auto server = ScriptServer::modern(R"({"tools":{}})");
  std::vector<Json> params;
  server->on(m(method::call_tool), [&](Request request) -> Task<Payload> {
    Json given = request.params.value();
    given.as_object().erase("_meta");
    params.push_back(given);
    switch (params.size()) {
      case 1:
        return answer(R"({"resultType":"input_required",)" + a_form + R"(,"requestState":"a\"\\\u0000\u00e9"})");
      case 2:
        return answer(R"({"resultType":"input_required",)" + a_form + "}");
      case 3:
        return answer(R"({"resultType":"input_required","requestState":"only"})");
      default:
        return answer(R"({"resultType":"complete","content":[]})");
    }
  });
  int asked = 0;
  auto options = answering(modern_client(), ElicitResult::Action::decline, asked);
  with_session(*server, options, [&](Session session) -> Task<void> {
    (void)co_await session.call_tool("t", Json{{"x", 1}});
    const std::string own = R"("name":"t","arguments":{"x":1})";
    const std::string declined = R"("inputResponses":{"who":{"action":"decline"}})";
    std::vector<std::string> texts;
    for (const auto& one : params) texts.push_back(to_text(one));
    EXPECT_THAT(texts, ElementsAre("{" + own + "}",
                                   "{" + own + "," + declined + ",\"requestState\":\"a\\\"\\\\\\u0000\xc3\xa9\"}",
                                   "{" + own + "," + declined + "}", "{" + own + R"(,"requestState":"only"})"));
    EXPECT_EQ(asked, 2);
  });
}

TEST(Script, AReadThatAskedIsNotCached) {
  auto server = ScriptServer::modern(R"({"resources":{}})");
  int reads = 0;
  server->on(m(method::read_resource), [&](Request request) -> Task<Payload> {
    const bool answered = request.params.value().find("inputResponses") != nullptr;
    if (!answered) return answer(R"({"resultType":"input_required",)" + a_form + "}");
    return answer(
        fmt::format(R"({{"contents":[{{"uri":"u","text":"{}"}}],"ttlMs":60000,"cacheScope":"private"}})", ++reads));
  });
  int asked = 0;
  auto options = answering(modern_client(), ElicitResult::Action::decline, asked);
  with_session(*server, options, [&](Session session) -> Task<void> {
    (void)co_await session.read_resource("u");
    auto again = co_await session.read_resource("u");
    EXPECT_EQ(again.contents.at(0).text, "2");
    EXPECT_EQ(asked, 2);
  });
}

TEST(Script, OnlyCallsReadsAndPromptsMayAsk) {
  auto server = ScriptServer::modern(R"({"tools":{}})");
  server->on(m(method::list_tools), R"({"resultType":"input_required",)" + a_form + "}");
  server->on(m(method::call_tool), R"({"resultType":"task","taskId":"1"})");
  int asked = 0;
  auto options = answering(modern_client(), ElicitResult::Action::decline, asked);
  with_session(*server, options, [&](Session session) -> Task<void> {
    auto listing = co_await as_result(session.list_tools());
    EXPECT_THAT(listing, FailsWith(Errc::protocol));
    auto call = co_await as_result(session.call_tool("t", {}));
    EXPECT_THAT(call, FailsWith(Errc::protocol));
    EXPECT_EQ(asked, 0);
  });
}

TEST(Script, AnAddressDemandedByAnErrorIsAskedAboutAndTheCallRepeated) {
  for (auto action : {ElicitResult::Action::accept, ElicitResult::Action::decline, ElicitResult::Action::cancel}) {
    auto server = ScriptServer::legacy(R"({"tools":{}})");
    int calls = 0;
    server->on(m(method::call_tool), [&](Request) -> Task<Payload> {
      if (++calls > 1) return answer(R"({"content":[]})");
      return []() -> Task<Payload> {
        throw Error::rpc(
            -32042, "sign in",
            R"({"elicitations":[{"mode":"url","elicitationId":"e","message":"there","url":"https://example.com"}]})");
        co_return Payload();
      }();
    });
    int asked = 0;
    auto options = answering(legacy_client(), action, asked);
    with_session(*server, options, [&](Session session) -> Task<void> {
      auto result = co_await as_result(session.call_tool("t", {}));
      EXPECT_EQ(asked, 1);
      if (action == ElicitResult::Action::accept) {
        EXPECT_TRUE(result);
        EXPECT_EQ(calls, 2);
      } else {
        EXPECT_THAT(result, FailsWith(Errc::denied));
        EXPECT_EQ(calls, 1);
      }
    });
  }
}

// X4: a server that does not notice that the page was visited is not asked for ever.
TEST(Script, ACallThatWantsAPageVisitedIsRepeatedThreeTimes) {
  for (const bool modern : {false, true}) {
    SCOPED_TRACE(modern);
    auto server = modern ? ScriptServer::modern(R"({"tools":{}})") : ScriptServer::legacy(R"({"tools":{}})");
    int calls = 0, wanted = 0;
    server->on(m(method::call_tool), [&](Request) -> Task<Payload> {
      if (++calls > wanted) return answer(modern ? R"({"resultType":"complete","content":[]})" : R"({"content":[]})");
      if (modern) {
        return answer(R"({"resultType":"input_required","inputRequests":{"p":{"method":"elicitation/create","params":)"
                      R"({"mode":"url","elicitationId":"e","message":"there","url":"https://example.com"}}}})");
      }
      return []() -> Task<Payload> {
        throw Error::rpc(
            -32042, "sign in",
            R"({"elicitations":[{"mode":"url","elicitationId":"e","message":"there","url":"https://example.com"}]})");
        co_return Payload();
      }();
    });
    int asked = 0;
    auto options = answering(modern ? modern_client() : legacy_client(), ElicitResult::Action::accept, asked);
    options.elicit_by_url = true;
    with_session(*server, options, [&](Session session) -> Task<void> {
      wanted = 3;
      auto enough = co_await as_result(session.call_tool("t", {}));
      EXPECT_TRUE(enough) << enough.error().message();
      EXPECT_EQ(calls, 4);
      EXPECT_EQ(asked, 3);
      calls = asked = 0;
      wanted = 100;
      auto result = co_await as_result(session.call_tool("t", {}));
      EXPECT_FALSE(result);
      if (result) co_return;
      EXPECT_EQ(result.error().code(), Errc::limit);
      EXPECT_THAT(result.error().message(), testing::HasSubstr("asked 4 times during one tools/call to visit a page"));
      EXPECT_EQ(calls, 4);
      EXPECT_EQ(asked, 3);
    });
  }
}

// L4: neither does the time a person takes during one round count in the next.
TEST(Script, WhatAPersonTookIsNotMissingFromTheNextRound) {
  auto server = ScriptServer::legacy(R"({"tools":{}})");
  int calls = 0;
  server->on(m(method::call_tool), [&](Request) -> Task<Payload> {
    if (++calls > 1) co_return parsed(R"({"content":[]})");
    (void)co_await server->ask(m(method::elicit), parsed(R"({"message":"?","requestedSchema":{}})"), Duration::max());
    throw Error::rpc(
        -32042, "sign in",
        R"({"elicitations":[{"mode":"url","elicitationId":"e","message":"there","url":"https://example.com"}]})");
  });
  ManualClock clock;
  auto options = legacy_client();
  options.elicit_by_url = true;
  options.elicit = [&](ElicitRequest, CallContext) -> Task<ElicitResult> {
    clock.skip(24h);
    co_return ElicitResult{.action = ElicitResult::Action::accept};
  };
  with_session(clock, *server, options, [&](Session session) -> Task<void> {
    (void)co_await session.call_tool("t", {}, {.total = 1h, .idle = {}, .on_progress = {}});
    EXPECT_EQ(calls, 2);
  });
}

// L4: a server that keeps asking does not get the whole time again for every round.
TEST(Script, AllRoundsOfACallShareItsTotalLimit) {
  auto server = ScriptServer::modern(R"({"tools":{}})");
  ManualClock clock;
  int calls = 0;
  server->on(m(method::call_tool), [&](Request) -> Task<Payload> {
    ++calls;
    clock.skip(6s);
    co_return parsed(R"({"resultType":"input_required","requestState":"s"})");
  });
  with_session(clock, *server, modern_client(), [&](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto called = beside(scope, session.call_tool("t", {}, {.total = 10s, .idle = {}, .on_progress = {}}));
    co_await settle();
    co_await clock.advance(1s);  // the pause between the rounds
    EXPECT_EQ(failure_of(*called), Errc::timeout);
    EXPECT_EQ(calls, 2);
    co_await scope.join();
  });
}

// X3: the question of one call leaves the time of the others alone.
TEST(Script, AQuestionInsideACall_DoesNotStopTheClockOfAnother) {
  auto server = ScriptServer::modern(R"({"tools":{},"prompts":{}})");
  server->on(m(method::call_tool), [&](Request request) -> Task<Payload> {
    if (request.params.value().find("inputResponses")) co_return parsed(R"({"resultType":"complete","content":[]})");
    co_return parsed(
        R"({"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}})");
  });
  server->on(m(method::get_prompt), [](Request) { return no_answer(); });
  ManualClock clock;
  Event asked;
  Event may_answer;
  bool is_asked = false;
  auto options = modern_client();
  options.elicit = [&](ElicitRequest, CallContext) -> Task<ElicitResult> {
    is_asked = true;
    asked.notify_all();
    co_await may_answer.wait();
    co_return ElicitResult{.action = ElicitResult::Action::accept};
  };
  with_session(clock, *server, options, [&](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::optional<Result<CallToolResult>> called;
    scope.spawn([](Session s, std::optional<Result<CallToolResult>>& out) -> Task<void> {
      out = co_await as_result(s.call_tool("t", {}, {.total = 50ms, .idle = {}, .on_progress = {}}));
    }(session, called));
    while (!is_asked) co_await asked.wait();
    std::optional<Errc> other;
    scope.spawn([](Session s, std::optional<Errc>& out) -> Task<void> {
      auto got = co_await as_result(s.get_prompt("p", {}, {.total = 50ms, .idle = {}, .on_progress = {}}));
      out = got.error().code();
    }(session, other));
    co_await server->wait_asked(method::get_prompt);
    clock.skip(1h);
    while (!other) co_await settle();
    EXPECT_EQ(other, Errc::timeout);
    EXPECT_FALSE(called);
    may_answer.notify_all();
    co_await scope.join();
    EXPECT_TRUE(called && *called);
  });
}

// L9: a person who is asked does not keep a call that has lost its connection.
TEST(Script, ACallThatWaitsForAnAnswerOfTheUser_EndsWithItsConnection) {
  for (const bool by_close : {true, false}) {
    auto server = ScriptServer::modern(R"({"tools":{}})");
    server->on(
        m(method::call_tool),
        R"({"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}})");
    Event asked;
    bool is_asked = false;
    auto options = modern_client();
    options.elicit = [&](ElicitRequest, CallContext) -> Task<ElicitResult> {
      is_asked = true;
      asked.notify_all();
      (void)co_await no_answer();
      co_return ElicitResult{};
    };
    with_session(*server, options, [&](Session session) -> Task<void> {
      Scope scope(co_await asio::this_coro::executor);
      std::optional<Errc> code;
      scope.spawn([](Session s, std::optional<Errc>& out) -> Task<void> {
        auto called = co_await as_result(s.call_tool("t", {}));
        out = called ? Errc::internal : called.error().code();
      }(session, code));
      while (!is_asked) co_await asked.wait();
      if (by_close) {
        co_await session.close();
      } else {
        co_await server->die();
      }
      co_await scope.join();
      EXPECT_EQ(code, Errc::closed);
    });
  }
}

// What a server sends of its own --------------------------------------------------------

TEST(Script, NotificationsOfEveryShapeDoNoHarm) {
  for (bool modern : {true, false}) {
    auto server =
        modern ? ScriptServer::modern(R"({"tools":{}})") : ScriptServer::legacy(R"({"tools":{},"logging":{}})");
    auto options = modern ? modern_client() : legacy_client();
    std::vector<Change> changes;
    options.on_change = [&](const Change& change, const CallContext&) {
      changes.push_back(change);
      throw std::runtime_error("a bug of the program");
    };
    options.on_log = [](const LogMessage&, const CallContext&) { throw std::runtime_error("another"); };
    with_session(*server, options, [&](Session session) -> Task<void> {
      for (auto name : {method::resource_updated, method::log_message, method::listen_acknowledged, method::cancelled,
                        method::progress, method::tools_changed, method::elicitation_complete,
                        std::string_view("notifications/unknown")}) {
        server->notify(name, {});
        for (auto params : {"{}", "[]", "[1,2]", R"({"uri":5})", R"({"requestId":"x"})", R"({"_meta":5})",
                            R"({"_meta":{"io.modelcontextprotocol/subscriptionId":99}})",
                            R"({"level":"info","data":null})", R"({"progressToken":1})"}) {
          server->notify(name, parsed(params));
        }
      }
      server->notify(method::resource_updated, Json{{"uri", "u"}});
      co_await session.ping();
      co_await settle();
      EXPECT_FALSE(session.closed());
      EXPECT_EQ(changes.back(), (Change{Change::Kind::resource_updated, "u"}));
    });
  }
}

TEST(Script, ALegacyServersRequestsAreAnswered) {
  auto server = ScriptServer::legacy(R"({"tools":{}})");
  auto options = legacy_client();
  options.roots = [](CallContext) -> Task<std::vector<Root>> {
    std::vector<Root> roots;
    roots.push_back({.uri = "file:///x"});
    co_return roots;
  };
  with_session(*server, options, [&](Session session) -> Task<void> {
    struct Row {
      std::string method;
      std::string params;
      std::string expected;
    };
    for (const auto& row : std::vector<Row>{
             {"ping", "{}", "{}"},
             {"roots/list", "{}", R"({"roots":[{"uri":"file:///x"}]})"},
             {"sampling/createMessage", R"({"messages":[],"maxTokens":1})", "error -32601"},
             {"elicitation/create", R"({"message":"?","requestedSchema":{}})", "error -32601"},
             {"elicitation/create", R"({"message":5})", "error -32602"},
             {"tools/list", "{}", "error -32601"},
             {"unknown", "[]", "error -32601"},
         }) {
      auto asked = co_await as_result(server->ask(row.method, parsed(row.params)));
      EXPECT_EQ(asked ? std::string(asked->text()) : fmt::format("error {}", asked.error().rpc_code().value_or(0)),
                row.expected)
          << row.method << row.params;
    }
    EXPECT_FALSE(session.closed());
  });
}

TEST(Script, AModernServersRequestIsNotAnswered) {
  auto server = ScriptServer::modern(R"({"tools":{}})");
  auto options = modern_client();
  int asked = 0;
  options.roots = [&](CallContext) -> Task<std::vector<Root>> {
    ++asked;
    return []() -> Task<std::vector<Root>> { co_return std::vector<Root>{}; }();
  };
  with_session(*server, options, [&](Session session) -> Task<void> {
    auto answered = co_await as_result(server->ask("roots/list", Json::object(), 20ms));
    EXPECT_THAT(answered, FailsWith(Errc::timeout));
    EXPECT_EQ(asked, 0);
    co_await session.ping();
  });
}

// Watches ------------------------------------------------------------------------------------

SubscriptionFilter tools_only() {
  SubscriptionFilter filter;
  filter.tools_list_changed = true;
  return filter;
}

// Acknowledges, then waits for `end`.
ScriptServer::Answer listening(ScriptServer& server, Event& end,
                               std::string honoured = R"({"toolsListChanged":true})") {
  return [&server, &end, honoured](Request request) -> Task<Payload> {
    return [](ScriptServer& s, Event& e, std::string h, RequestId id) -> Task<Payload> {
      s.notify(method::listen_acknowledged,
               parsed(fmt::format(R"({{"notifications":{},"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}})",
                                  h, to_text(id))));
      co_await e.wait();
      co_return parsed(R"({"resultType":"complete"})");
    }(server, end, honoured, request.id);
  };
}

TEST(Script, AWatchSaysWhatTheServerHonours) {
  struct Row {
    std::string honoured;
    bool tools;
  };
  for (const auto& row :
       std::vector<Row>{{R"({"toolsListChanged":true})", true}, {"{}", false}, {"null", false}, {"5", false}}) {
    auto server = ScriptServer::modern(R"({"tools":{"listChanged":true}})");
    Event end;
    server->on(m(method::listen), listening(*server, end, row.honoured));
    with_session(*server, modern_client(), [&](Session session) -> Task<void> {
      auto watch = co_await session.watch(tools_only());
      EXPECT_EQ(watch.honoured().tools_list_changed, row.tools) << row.honoured;
      co_await watch.stop();
      co_await server->wait_taken_back(method::listen);
    });
  }
}

TEST(Script, AWatchTheServerRefusesOrEndsUnacknowledgedThrows) {
  auto server = ScriptServer::modern(R"({"tools":{"listChanged":true}})");
  with_session(*server, modern_client(), [&](Session session) -> Task<void> {
    auto refused = co_await as_result(session.watch(tools_only()));
    EXPECT_THAT(refused, FailsWithRpc(-32601));
    server->on(m(method::listen), R"({"resultType":"complete"})");
    auto ended = co_await as_result(session.watch(tools_only()));
    EXPECT_THAT(ended, FailsWith(Errc::protocol));
    co_await session.ping();
  });
}

TEST(Script, AWatchThatIsNeverAcknowledgedEndsWithItsSessionOrItsCaller) {
  auto server = ScriptServer::modern(R"({"tools":{"listChanged":true}})");
  server->on(m(method::listen), [](Request) { return no_answer(); });
  with_session(*server, modern_client(), [&](Session session) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::vector<Errc> codes;
    auto watch = [](Session s, std::vector<Errc>& out) -> Task<void> {
      auto watched = co_await as_result(s.watch(tools_only()));
      out.push_back(watched ? Errc::internal : watched.error().code());
    };
    auto impatient = scope.spawn(watch(session, codes));
    co_await server->wait_asked(method::listen);
    impatient.cancel();
    co_await server->wait_taken_back(method::listen);
    scope.spawn(watch(session, codes));
    co_await server->wait_asked(method::listen, 2);
    co_await session.close();
    // One that begins when all is over.
    scope.spawn(watch(session, codes));
    co_await scope.join();
    EXPECT_THAT(codes, ElementsAre(Errc::cancelled, Errc::closed, Errc::closed));
  });
}

// What changed while nobody listened is unknown, so everything may have.
TEST(Script, AWatchThatBreaksOffIsOpenedAgainAndEverythingCountsAsChanged) {
  for (bool by_notification : {false, true}) {
    SCOPED_TRACE(by_notification ? "ended by a notification" : "ended by an answer");
    auto server = ScriptServer::modern(R"({"tools":{"listChanged":true}})");
    int lists = 0;
    server->on(m(method::list_tools), [&](Request) -> Task<Payload> {
      return answer(fmt::format(R"({{"tools":[{{"name":"t{}"}}],"ttlMs":60000,"cacheScope":"private"}})", ++lists));
    });
    Event end;
    std::vector<RequestId> listens;
    auto inner = listening(*server, end);
    server->on(m(method::listen), [&, inner](Request request) -> Task<Payload> {
      listens.push_back(request.id);
      return inner(std::move(request));
    });
    Event heard;
    std::vector<Change> changes;
    auto options = modern_client();
    options.on_change = [&](const Change& change, const CallContext&) {
      changes.push_back(change);
      heard.notify_all();
    };
    with_session(*server, options, [&](Session session) -> Task<void> {
      auto watch = co_await session.watch(tools_only());
      EXPECT_EQ((co_await session.list_tools()).items.at(0).name, "t1");
      if (by_notification) {
        server->notify(method::cancelled, Json{{"requestId", to_json(listens.at(0))}});
      } else {
        end.notify_all();
      }
      while (changes.empty()) co_await heard.wait();
      EXPECT_EQ(listens.size(), 2u);  // it listens again before it says so
      EXPECT_THAT(changes, ElementsAre(Change{Change::Kind::tools, {}}));
      EXPECT_EQ((co_await session.list_tools()).items.at(0).name, "t2");
      co_await watch.stop();
    });
  }
}

TEST(Script, ASubscriptionThatFailsTakesBackTheOthers) {
  auto server = ScriptServer::legacy(R"({"resources":{"subscribe":true}})");
  std::vector<std::string> subscribed;
  std::vector<std::string> unsubscribed;
  server->on(m(method::subscribe), [&](Request request) -> Task<Payload> {
    std::string uri(request.params.value().find("uri")->as_text());
    subscribed.push_back(uri);
    return [](bool bad) -> Task<Payload> {
      if (bad) throw Error::rpc(-32002, "no such thing");
      co_return Json::object();
    }(uri == "bad");
  });
  server->on(m(method::unsubscribe), [&](Request request) -> Task<Payload> {
    unsubscribed.push_back(std::string(request.params.value().find("uri")->as_text()));
    return answer("{}");
  });
  with_session(*server, legacy_client(), [&](Session session) -> Task<void> {
    SubscriptionFilter filter;
    filter.resource_subscriptions = {"a", "bad", "c"};
    auto failed = co_await as_result(session.watch(filter));
    EXPECT_THAT(failed, FailsWithRpc(-32002));
    EXPECT_THAT(subscribed, ElementsAre("a", "bad"));
    EXPECT_THAT(unsubscribed, ElementsAre("a", "bad"));
    // Nothing is remembered of it.
    filter.resource_subscriptions = {"a"};
    auto watch = co_await session.watch(filter);
    EXPECT_THAT(subscribed, ElementsAre("a", "bad", "a"));
    co_await watch.stop();
    EXPECT_THAT(unsubscribed, ElementsAre("a", "bad", "a"));
  });
}

// Beginning and ending -----------------------------------------------------------------

Runtime hasty(std::chrono::milliseconds connect = 50ms, std::chrono::milliseconds silence = 1ms) {
  Runtime runtime;
  runtime.limits.connect = connect;
  runtime.limits.silent_probe = silence;
  return runtime;
}

TEST(Script, AServerThatSaysNothingIsGivenUpAndLeftClean) {
  run_task([]() -> Task<void> {
    ScriptServer server;
    server.on(m(method::discover), [](Request) { return no_answer(); });
    server.on(m(method::initialize), [](Request) { return no_answer(); });
    auto session = co_await as_result(connect(Client({}), server.transport(), hasty(500ms)));
    EXPECT_THAT(session, FailsWith(Errc::timeout, HasSubstr("MCP_TIMEOUT")));
    EXPECT_EQ(server.connections(), 0u);
    EXPECT_THAT(server.asked, ElementsAre(method::discover, method::initialize));
    EXPECT_THAT(server.told, SizeIs(0));  // beginnings are never cancelled
  });
}

TEST(Script, AConnectThatIsCancelledLeavesNothing) {
  for (int turns : {0, 1, 2, 3, 5, 8, 50}) {
    run_task([turns]() -> Task<void> {
      ScriptServer server;
      server.on(m(method::discover), [](Request) { return no_answer(); });
      Scope scope(co_await asio::this_coro::executor);
      std::optional<Error> error;
      auto connecting = scope.spawn([](ScriptServer& s, std::optional<Error>& out) -> Task<void> {
        auto session = co_await as_result(connect(Client({}), s.transport(), Runtime{}));
        out = test::failure_of(session);
      }(server, error));
      for (int i = 0; i < turns; ++i) co_await asio::post(asio::use_awaitable);
      connecting.cancel();
      co_await scope.join();
      if (error) EXPECT_EQ(error->code(), Errc::cancelled);
      EXPECT_EQ(server.connections(), 0u);
      EXPECT_EQ(server.open_now, 0);
    });
  }
}

TEST(Script, ATransportThatCannotOpenSaysWhy) {
  run_task([]() -> Task<void> {
    ScriptServer server;
    server.before_open = []() -> Task<void> {
      throw Error(Errc::connect, "no such command");
      co_return;
    };
    auto session = co_await as_result(Client({}).connect(server.transport()));
    EXPECT_THAT(session, FailsWith(Error(Errc::connect, "no such command")));
    EXPECT_EQ(server.opens, 1);
  });
}

TEST(Script, AServerThatEndsAtTheFirstQuestionIsOpenedOnceMore) {
  run_task([]() -> Task<void> {
    auto server = ScriptServer::legacy("{}");
    Scope scope(co_await asio::this_coro::executor);
    server->on(m(method::discover), [&](Request) -> Task<Payload> {
      scope.spawn(server->die());
      return no_answer();
    });
    auto session = co_await Client({}).connect(server->transport());
    EXPECT_TRUE(session.is_legacy());
    EXPECT_EQ(server->opens, 2);
    EXPECT_THAT(server->asked, ElementsAre(method::discover, method::initialize));
    co_await session.close();
    co_await scope.join();
    EXPECT_EQ(server->connections(), 0u);
  });
}

TEST(Script, AServerThatAlwaysEndsIsOpenedTwiceAndNoMore) {
  run_task([]() -> Task<void> {
    ScriptServer server;
    Scope scope(co_await asio::this_coro::executor);
    for (auto name : {method::discover, method::initialize}) {
      server.on(m(name), [&](Request) -> Task<Payload> {
        scope.spawn(server.die());
        return no_answer();
      });
    }
    auto session = co_await as_result(Client({}).connect(server.transport()));
    EXPECT_THAT(session, FailsWith(Errc::closed));
    EXPECT_EQ(server.opens, 2);
    co_await scope.join();
    EXPECT_EQ(server.connections(), 0u);
  });
}

TEST(Script, ASlowServerMayAnswerEitherQuestion) {
  for (bool modern_first : {true, false}) {
    SCOPED_TRACE(modern_first);
    run_task([modern_first]() -> Task<void> {
      auto server = modern_first ? ScriptServer::modern("{}") : ScriptServer::legacy("{}");
      Event go;
      ScriptServer::Answer late = [&](Request request) -> Task<Payload> {
        co_await go.wait();
        co_return parsed(
            request.method == method::discover
                ? R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}})"
                : R"({"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}})");
      };
      ScriptServer::Answer never = [](Request) { return no_answer(); };
      server->on(m(method::discover), modern_first ? late : never);
      server->on(m(method::initialize), modern_first ? never : late);
      Scope scope(co_await asio::this_coro::executor);
      scope.spawn([](ScriptServer& s, Event& e) -> Task<void> {
        co_await s.wait_asked(method::initialize);
        e.notify_all();
      }(*server, go));
      auto session = co_await connect(Client({}), server->transport(), hasty(20s));
      EXPECT_EQ(session.is_legacy(), !modern_first);
      EXPECT_EQ(server->opens, 1);
      co_await session.close();
      co_await scope.join();
    });
  }
}

TEST(Script, ALegacyServerIsToldTheWantedLogLevelBeforeAnythingElse) {
  auto server = ScriptServer::legacy(R"({"tools":{},"logging":{}})");
  server->on(m(method::list_tools), R"({"tools":[]})");
  server->on(m(method::set_log_level), "{}");
  auto options = legacy_client();
  options.log_level = LoggingLevel::warning;
  with_session(*server, options, [&](Session session) -> Task<void> {
    (void)co_await session.list_tools();
    EXPECT_THAT(server->asked, ElementsAre(method::initialize, method::set_log_level, method::list_tools));
    EXPECT_THAT(server->told, ElementsAre(method::initialized));
  });
  // One that does not take it, or never answers, is used all the same.
  server->asked.clear();
  server->on(m(method::set_log_level), [](Request) { return no_answer(); });
  with_session(*server, options, hasty(20s), [&](Session session) -> Task<void> {
    (void)co_await session.list_tools();
    EXPECT_EQ(server->count(method::list_tools), 1u);
  });
}

// L9
TEST(Script, CallsPendingWhenTheServerDiesFailAtOnceAndTheProgramIsNotifiedOnce) {
  for (bool modern : {true, false}) {
    auto server = modern ? ScriptServer::modern(R"({"tools":{}})") : ScriptServer::legacy(R"({"tools":{}})");
    server->on(m(method::call_tool), [](Request) { return no_answer(); });
    auto options = modern ? modern_client() : legacy_client();
    std::vector<Error> lost;
    options.on_lost = [&](const Error& error) { lost.push_back(error); };
    with_session(*server, options, [&](Session session) -> Task<void> {
      Scope scope(co_await asio::this_coro::executor);
      std::vector<Errc> codes;
      for (int i = 0; i < 10; ++i) {
        scope.spawn([](Session s, std::vector<Errc>& out) -> Task<void> {
          auto result = co_await as_result(s.call_tool("t", {}));
          out.push_back(result ? Errc::internal : result.error().code());
        }(session, codes));
      }
      co_await server->wait_asked(method::call_tool, 10);
      co_await server->die();
      co_await scope.join();
      EXPECT_THAT(codes, testing::Each(Errc::closed));
      EXPECT_EQ(codes.size(), 10u);
      EXPECT_THAT(lost, SizeIs(1));
      EXPECT_TRUE(session.closed());
      auto after = co_await as_result(session.call_tool("t", {}));
      EXPECT_THAT(after, FailsWith(Errc::closed));
    });
    EXPECT_THAT(lost, SizeIs(1));
  }
}

TEST(Script, WhatARevisionLacksIsUnsupportedHere) {
  auto server = ScriptServer::modern("{}");
  with_session(*server, modern_client(), [&](Session session) -> Task<void> {
    auto level = co_await as_result(session.set_log_level(LoggingLevel::info));
    EXPECT_THAT(level, FailsWith(Errc::unsupported));
    EXPECT_THAT(server->asked, ElementsAre(method::discover));
  });
}

}  // namespace
}  // namespace patchbay
