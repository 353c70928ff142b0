// Tasks as clients see them on the wire, in both eras, and the store that keeps them.
#include <set>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "rpc/task_store.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/raw_client.h"
#include "support/sample_server.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::RawClient;
using test::run_task;
using test::settle;
using test::text_result;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Tool task_tool(std::string name, TaskSupport support) {
  Tool tool{.name = std::move(name)};
  tool.execution = ToolExecution{.task_support = support, .extra = {}};
  return tool;
}

ElicitRequest question(std::string message) {
  return {.message = std::move(message), .requested_schema = Json{{"type", "object"}}};
}

// The tools a conformance run asks a server for, by what they do.
struct TaskServer {
  Event go;
  std::shared_ptr<Server> server;

  explicit TaskServer(ServerOptions options = {}) {
    options.info = {.name = "s", .version = "1"};
    server = std::make_shared<Server>(std::move(options));
    server->add_tool({.name = "sync"},
                     [](RequestContext&, Json) -> Task<CallToolResult> { co_return text_result("now"); });
    server->add_tool(task_tool("slow", TaskSupport::optional), [this](RequestContext& context, Json) {
      return [](TaskServer& us, RequestContext& c) -> Task<CallToolResult> {
        c.status("sleeping");
        co_await us.go.wait();
        co_return text_result("slept");
      }(*this, context);
    });
    server->add_tool(task_tool("fails", TaskSupport::required), [](RequestContext&, Json) -> Task<CallToolResult> {
      throw Error(Errc::denied, "no");
      co_return CallToolResult{};
    });
    server->add_tool(task_tool("breaks", TaskSupport::required), [](RequestContext&, Json) -> Task<CallToolResult> {
      throw Error::rpc(-32603, "broken", R"({"at":1})");
      co_return CallToolResult{};
    });
    server->add_tool(
        task_tool("asks_two", TaskSupport::required), [](RequestContext& context, Json) -> Task<CallToolResult> {
          using asio::experimental::awaitable_operators::operator&&;
          auto [a, b] = co_await (context.elicit(question("a?")) && context.elicit(question("b?")));
          co_return text_result(std::string((*a.content)["v"].as_text()) + std::string((*b.content)["v"].as_text()));
        });
    server->add_tool(task_tool("asks_first", TaskSupport::required),
                     [](RequestContext& context, Json) -> Task<CallToolResult> {
                       auto answer = co_await context.elicit(question("name?"));
                       context.start_task();
                       co_return text_result("hello " + std::string((*answer.content)["name"].as_text()));
                     },
                     {.task_start = TaskStart::by_handler});
    server->add_tool(task_tool("quick", TaskSupport::required),
                     [](RequestContext&, Json) -> Task<CallToolResult> { co_return text_result("quick"); },
                     {.task_start = TaskStart::by_handler});
  }
};

constexpr std::string_view extension = R"({"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})";

std::string modern(std::string_view method, std::string_view members = "", std::string_view capabilities = extension) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{{{}{}"_meta":{{"io.modelcontextprotocol/protocolVersion":)"
      R"("2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}}}})",
      method, members, members.empty() ? "" : ",", capabilities);
}
std::string call(std::string_view tool, std::string_view capabilities = extension) {
  return modern("tools/call", fmt::format(R"("name":"{}")", tool), capabilities);
}
std::string about(std::string_view method, const std::string& id, std::string_view more = "") {
  return modern(method, fmt::format(R"("taskId":"{}"{})", id, more));
}

Task<Json> ask(RawClient& client, std::string text) {
  auto answer = co_await client.ask(std::move(text));
  co_return *parse_json(answer);
}

std::string first_text(const Json& result) { return to_text(result["content"].as_array().at(0)["text"]); }

// What to know about an answer without its times and ids.
std::string outline(const Json& answer) {
  if (const Json* error = answer.find("error")) return fmt::format("error {}", (*error)["code"].as_int());
  const Json& result = answer["result"];
  std::string text = result["resultType"].is_string() ? std::string(result["resultType"].as_text()) : "plain";
  if (const auto status = result["status"].text()) text += fmt::format(" {}", *status);
  if (const Json* inner = result.find("result")) text += " " + first_text(*inner);
  if (result["result"]["isError"] == Json(true)) text += " isError";
  if (const Json* error = result.find("error")) text += " " + to_text(*error);
  if (const auto* requests = result["inputRequests"].if_object()) {
    for (const auto& [key, value] : *requests) text += fmt::format(" {}", key);
  }
  if (result.find("content")) text += " " + first_text(result);
  return text;
}

// Looks until the task is as wanted; the test's own time limit ends a wait in vain.
Task<Json> look_until(RawClient& client, std::string id, std::string status) {
  for (;;) {
    auto answer = co_await ask(client, about("tasks/get", id));
    if (answer["result"]["status"] == Json(status) || answer.find("error")) co_return answer;
    co_await settle();
  }
}

void with_client(ServerOptions options, std::function<Task<void>(TaskServer&, RawClient&)> body) {
  run_task([&]() -> Task<void> {
    TaskServer us(options);
    RawClient client(co_await asio::this_coro::executor, *us.server);
    auto outcome = co_await as_result(body(us, client));
    co_await client.close();
    value_or_throw(std::move(outcome));
  });
}

// S26-20
TEST(ServerTasks, ModernGatesAreWhereTheExtensionPutsThem) {
  with_client({}, [](TaskServer&, RawClient& client) -> Task<void> {
    struct Row {
      std::string name;
      std::string request;
      std::string answer;
    };
    const std::vector<Row> rows{
        {"a tool without tasks", call("sync"), R"(complete "now")"},
        {"the older era's wish means nothing", modern("tools/call", R"("name":"sync","task":{"ttl":5})"),
         R"(complete "now")"},
        {"a tool that must be a task, client without", call("fails", R"({"elicitation":{}})"), "error -32021"},
        {"tasks/get without", modern("tasks/get", R"("taskId":"x")", "{}"), "error -32021"},
        {"tasks/update without", modern("tasks/update", R"("taskId":"x","inputResponses":{})", "{}"), "error -32021"},
        {"tasks/cancel without", modern("tasks/cancel", R"("taskId":"x")", "{}"), "error -32021"},
        {"listening without", modern("subscriptions/listen", R"("notifications":{"taskIds":["x"]})", "{}"),
         "error -32021"},
        {"unknown to get", about("tasks/get", "x"), "error -32602"},
        {"unknown to update", about("tasks/update", "x", R"(,"inputResponses":{})"), "error -32602"},
        {"unknown to cancel", about("tasks/cancel", "x"), "error -32602"},
        {"no id", modern("tasks/get"), "error -32602"},
        {"an id of another kind", modern("tasks/get", R"("taskId":7)"), "error -32602"},
        {"the result is no request", about("tasks/result", "x"), "error -32601"},
        {"nor is the list", modern("tasks/list"), "error -32601"},
        {"a handler that was quick enough", call("quick"), R"(complete "quick")"},
    };
    for (const auto& row : rows) {
      auto answer = co_await ask(client, row.request);
      EXPECT_EQ(outline(answer), row.answer) << row.name;
      if (row.answer == "error -32021") {
        EXPECT_EQ(to_text(answer["error"]["data"]),
                  R"({"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}})");
      }
    }
    auto discovered = co_await ask(client, modern("server/discover"));
    EXPECT_TRUE(discovered["result"]["capabilities"]["extensions"].find("io.modelcontextprotocol/tasks"));
    EXPECT_FALSE(discovered["result"]["capabilities"].find("tasks"));
    auto tools = co_await client.ask(modern("tools/list"));
    EXPECT_THAT(tools, testing::Not(HasSubstr("execution")));
  });
}

TEST(ServerTasks, ModernLifeOfATask) {
  with_client({}, [](TaskServer& us, RawClient& client) -> Task<void> {
    // Without the extension the same tool answers the call itself.
    client.send(call("slow", "{}"));
    co_await settle();
    us.go.notify_all();
    EXPECT_EQ(outline(*parse_json(co_await client.next())), R"(complete "slept")");

    auto created = (co_await ask(client, call("slow")))["result"];
    EXPECT_EQ(created["resultType"], Json("task"));
    EXPECT_EQ(created["status"], Json("working"));
    EXPECT_EQ(created["ttlMs"], Json(3'600'000));
    EXPECT_EQ(created["pollIntervalMs"], Json(500));
    for (auto key : {"task", "result", "error", "inputRequests", "requestState", "ttl", "pollInterval"}) {
      EXPECT_FALSE(created.find(key)) << key;
    }
    const std::string id(created["taskId"].as_text());
    EXPECT_EQ(id.size(), 32u);  // 24 random bytes
    const auto working = co_await ask(client, about("tasks/get", id));
    EXPECT_EQ(outline(working), "complete working");
    EXPECT_EQ(working["result"]["statusMessage"], Json("sleeping"));
    us.go.notify_all();
    EXPECT_EQ(outline(co_await look_until(client, id, "completed")), R"(complete completed "slept")");
    // What has ended stays as it is.
    EXPECT_EQ(outline(co_await ask(client, about("tasks/cancel", id))), "complete");
    EXPECT_EQ(outline(co_await ask(client, about("tasks/get", id))), R"(complete completed "slept")");

    std::string given_up((co_await ask(client, call("slow")))["result"]["taskId"].as_text());
    EXPECT_EQ(outline(co_await ask(client, about("tasks/cancel", given_up))), "complete");
    EXPECT_EQ(outline(co_await ask(client, about("tasks/get", given_up))), "complete cancelled");

    std::string failing((co_await ask(client, call("fails")))["result"]["taskId"].as_text());
    EXPECT_EQ(outline(co_await look_until(client, failing, "completed")), R"(complete completed "no" isError)");
    std::string broken((co_await ask(client, call("breaks")))["result"]["taskId"].as_text());
    EXPECT_EQ(outline(co_await look_until(client, broken, "failed")),
              R"(complete failed {"code":-32603,"message":"broken","data":{"at":1}})");
  });
}

TEST(ServerTasks, ModernQuestionsAreAnsweredOneByOne) {
  with_client({}, [](TaskServer&, RawClient& client) -> Task<void> {
    std::string id((co_await ask(client, call("asks_two")))["result"]["taskId"].as_text());
    EXPECT_EQ(outline(co_await look_until(client, id, "input_required")),
              "complete input_required elicitation-1 elicitation-2");
    auto update = [&](std::string answers) {
      return ask(client, about("tasks/update", id, fmt::format(R"(,"inputResponses":{{{}}})", answers)));
    };
    EXPECT_EQ(outline(co_await update(R"("unknown":{"ignored":true})")), "complete");
    EXPECT_EQ(outline(co_await update(R"("elicitation-1":{"action":"perhaps"})")), "error -32602");
    EXPECT_EQ(outline(co_await update(R"("elicitation-2":{"action":"accept","content":{"v":"B"}})")), "complete");
    EXPECT_EQ(outline(co_await ask(client, about("tasks/get", id))), "complete input_required elicitation-1");
    EXPECT_EQ(outline(co_await update(R"("elicitation-2":{"action":"accept","content":{"v":"again"}})")), "complete");
    EXPECT_EQ(outline(co_await update(R"("elicitation-1":{"action":"accept","content":{"v":"A"}})")), "complete");
    EXPECT_EQ(outline(co_await look_until(client, id, "completed")), R"(complete completed "AB")");
  });
}

TEST(ServerTasks, ModernQuestionsBeforeTheTaskBelongToTheCall) {
  with_client({}, [](TaskServer&, RawClient& client) -> Task<void> {
    auto first = (co_await ask(client, call("asks_first")))["result"];
    EXPECT_EQ(first["resultType"], Json("input_required"));
    EXPECT_FALSE(first.find("taskId"));
    auto second = (co_await ask(
        client,
        modern("tools/call", fmt::format(R"("name":"asks_first","requestState":{},"inputResponses":)"
                                         R"({{"elicitation-1":{{"action":"accept","content":{{"name":"Al"}}}}}})",
                                         to_text(first["requestState"])))))["result"];
    EXPECT_EQ(second["resultType"], Json("task"));
    EXPECT_FALSE(second.find("requestState"));
    EXPECT_EQ(outline(co_await look_until(client, std::string(second["taskId"].as_text()), "completed")),
              R"(complete completed "hello Al")");
  });
}

TEST(ServerTasks, ModernListenersHearOfTheirTasks) {
  with_client({}, [](TaskServer& us, RawClient& client) -> Task<void> {
    std::string id((co_await ask(client, call("slow")))["result"]["taskId"].as_text());
    std::string other((co_await ask(client, call("slow")))["result"]["taskId"].as_text());
    co_await settle();
    auto acknowledged = co_await ask(
        client, modern("subscriptions/listen", fmt::format(R"("notifications":{{"taskIds":["{}","x"]}})", id)));
    EXPECT_EQ(to_text(acknowledged["params"]["notifications"]), fmt::format(R"({{"taskIds":["{}"]}})", id));
    us.go.notify_all();
    const auto news = *parse_json(co_await client.next());
    EXPECT_EQ(news["method"], Json("notifications/tasks"));
    EXPECT_EQ(news["params"]["taskId"], Json(id));
    EXPECT_EQ(news["params"]["status"], Json("completed"));
    EXPECT_TRUE(news["params"]["_meta"].find("io.modelcontextprotocol/subscriptionId"));
    EXPECT_TRUE(news["params"]["result"].find("content"));
  });
}

constexpr std::string_view initialize =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":)"
    R"({"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}})";

std::string legacy(std::string_view method, std::string_view members = "") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{{{}}}}})", method, members);
}
std::string legacy_about(std::string_view method, const std::string& id) {
  return legacy(method, fmt::format(R"("taskId":"{}")", id));
}

// S11-15
TEST(ServerTasks, LegacyLifeOfATask) {
  with_client({.page_size = 2}, [](TaskServer& us, RawClient& client) -> Task<void> {
    auto opened = co_await ask(client, std::string(initialize));
    EXPECT_EQ(to_text(opened["result"]["capabilities"]["tasks"]),
              R"({"list":{},"cancel":{},"requests":{"tools":{"call":{}}}})");
    EXPECT_FALSE(opened["result"]["capabilities"].find("extensions"));
    EXPECT_EQ(outline(co_await ask(client, legacy("tools/call", R"("name":"sync","task":{})"))), "error -32601");
    EXPECT_EQ(outline(co_await ask(client, legacy("tools/call", R"("name":"fails")"))), "error -32601");
    EXPECT_EQ(outline(co_await ask(client, legacy("tools/call", R"("name":"slow","task":7)"))), "error -32602");
    EXPECT_EQ(outline(co_await ask(client, legacy_about("tasks/get", "x"))), "error -32602");
    EXPECT_EQ(outline(co_await ask(client, legacy_about("tasks/result", "x"))), "error -32602");
    EXPECT_EQ(outline(co_await ask(client, legacy_about("tasks/cancel", "x"))), "error -32602");

    auto start = [&](std::string tool) -> Task<std::string> {
      auto created =
          co_await ask(client, legacy("tools/call", fmt::format(R"("name":"{}","task":{{"ttl":60000}})", tool)));
      EXPECT_EQ(created["result"]["task"]["status"], Json("working"));
      EXPECT_EQ(created["result"]["task"]["ttl"], Json(60'000));
      co_return created["result"]["task"]["taskId"].as_text();
    };
    const auto id = co_await start("slow");
    client.send(legacy_about("tasks/result", id));
    co_await settle();
    us.go.notify_all();
    EXPECT_EQ(co_await client.next(),
              fmt::format(R"({{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"slept"}}],)"
                          R"("_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":"{}"}}}}}}}})",
                          id));
    EXPECT_EQ(outline(co_await ask(client, legacy_about("tasks/cancel", id))), "error -32602");
    EXPECT_EQ(outline(co_await ask(client, legacy_about("tasks/get", id))), "plain completed");

    const auto given_up = co_await start("slow");
    EXPECT_EQ(outline(co_await ask(client, legacy_about("tasks/cancel", given_up))), "plain cancelled");
    EXPECT_EQ(outline(co_await ask(client, legacy_about("tasks/result", given_up))), "error -32602");

    // A tool's error is a failed task here, and its result all the same.
    const auto failing = co_await start("fails");
    auto failed = co_await ask(client, legacy_about("tasks/result", failing));
    EXPECT_EQ(failed["result"]["isError"], Json(true));
    EXPECT_EQ(outline(co_await ask(client, legacy_about("tasks/get", failing))), "plain failed");
    const auto broken = co_await start("breaks");
    EXPECT_EQ(outline(co_await ask(client, legacy_about("tasks/result", broken))), "error -32603");

    std::set<std::string> listed;
    std::string cursor;
    do {
      auto page = (co_await ask(client, legacy("tasks/list", cursor)))["result"];
      EXPECT_LE(page["tasks"].size(), 2u);
      for (const auto& task : page["tasks"].as_array()) listed.insert(std::string(task["taskId"].as_text()));
      const auto next = page["nextCursor"].text();
      cursor = next ? fmt::format(R"("cursor":"{}")", *next) : "";
    } while (!cursor.empty());
    EXPECT_EQ(listed, (std::set<std::string>{id, given_up, failing, broken}));
    EXPECT_EQ(outline(co_await ask(client, legacy("tasks/list", R"("cursor":"***")"))), "error -32602");

    // Another session sees none of them in its list, and no era reads the other's.
    RawClient second(co_await asio::this_coro::executor, *us.server);
    (void)co_await second.ask(std::string(initialize));
    EXPECT_EQ((co_await ask(second, legacy("tasks/list")))["result"]["tasks"].size(), 0u);
    EXPECT_EQ(outline(co_await ask(second, about("tasks/get", id))), "error -32602");
    co_await second.close();
  });
}

TEST(ServerTasks, LegacyQuestionsGoOutWhereTheResultIsAskedFor) {
  with_client({}, [](TaskServer&, RawClient& client) -> Task<void> {
    (void)co_await client.ask(std::string(initialize));
    client.send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    auto created = co_await ask(client, legacy("tools/call", R"("name":"asks_two","task":{})"));
    const std::string id(created["result"]["task"]["taskId"].as_text());
    auto told = *parse_json(co_await client.next());
    EXPECT_EQ(told["method"], Json("notifications/tasks/status"));
    EXPECT_EQ(told["params"]["status"], Json("input_required"));
    client.send(legacy_about("tasks/result", id));
    for (auto value : {"A", "B"}) {
      auto asked = *parse_json(co_await client.next());
      while (!asked.find("id")) asked = *parse_json(co_await client.next());
      EXPECT_EQ(asked["method"], Json("elicitation/create"));
      EXPECT_EQ(asked["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], Json(id));
      client.send(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{"action":"accept","content":{{"v":"{}"}}}}}})",
                              to_text(asked["id"]), value));
    }
    auto answer = *parse_json(co_await client.next());
    while (!answer.find("id")) answer = *parse_json(co_await client.next());
    EXPECT_EQ(outline(answer), R"(plain "AB")");
  });
}

TEST(ServerTasks, AServerWithoutTaskToolsHasNoTasks) {
  run_task([]() -> Task<void> {
    auto server = test::sample_server();
    RawClient client(co_await asio::this_coro::executor, *server);
    EXPECT_EQ(outline(co_await ask(client, about("tasks/get", "x"))), "error -32601");
    auto opened = co_await ask(client, std::string(initialize));
    EXPECT_FALSE(opened["result"]["capabilities"].find("tasks"));
    EXPECT_EQ(outline(co_await ask(client, legacy_about("tasks/get", "x"))), "error -32601");
    // A wish where no tasks are declared is not a wish.
    EXPECT_EQ(outline(co_await ask(client, legacy("tools/call", R"("name":"echo","task":{})"))), R"(plain "{}")");
    co_await client.close();
  });
}

TEST(ServerTasks, TooManyTasksAreRefused) {
  with_client({.tasks = 1}, [](TaskServer&, RawClient& client) -> Task<void> {
    EXPECT_EQ(outline(co_await ask(client, call("slow"))), "task working");
    EXPECT_EQ(outline(co_await ask(client, call("slow"))), "error -32603");
  });
}

TEST(ServerTasks, AResultOverTheLimit_FailsTheTaskWithBothNumbers) {
  run_task([]() -> Task<void> {
    TaskServer us;
    us.server->add_tool(task_tool("large", TaskSupport::optional), [](RequestContext&, Json) -> Task<CallToolResult> {
      co_return text_result(std::string(5000, 'x'));
    });
    Runtime runtime;
    runtime.limits.answer = 1000;
    RawClient client(co_await asio::this_coro::executor, *us.server, runtime);
    const std::string id((co_await ask(client, call("large")))["result"]["taskId"].as_text());
    const auto ended = co_await look_until(client, id, "failed");
    EXPECT_EQ(to_text(ended["result"]["error"]),
              R"({"code":-32603,"message":"the result of the task has 5039 bytes; the limit of one answer is 1000"})");
    // The same in the older era, whose client asks for the result itself.
    co_await ask(client, std::string(initialize));
    const std::string older(
        (co_await ask(client, legacy("tools/call", R"("name":"large","task":{})")))["result"]["task"]["taskId"]
            .as_text());
    EXPECT_THAT(to_text((co_await ask(client, legacy_about("tasks/result", older)))["error"]),
                HasSubstr("the limit of one answer is 1000"));
    co_await client.close();
  });
}

TEST(TaskStore, KeepsATaskForAsLongAsItSaidAndNoLonger) {
  run_task([]() -> Task<void> {
    test::ManualClock clock;
    clock.set_wall(Clock::WallTime(std::chrono::milliseconds(1'767'225'600'123)));
    auto store = std::make_shared<TaskStore>(
        TaskStore::Bounds{.count = 2, .ttl = 10s, .ttl_most = 20s, .poll_interval = 1s}, clock, system_random());
    auto short_one = *store->create({.ttl_ms = 5000}, {"p", "a"});
    auto long_one = *store->create({.ttl_ms = 60'000}, {{}, "b"});
    EXPECT_EQ(short_one->task().created_at, "2026-01-01T00:00:00.123Z");
    EXPECT_EQ(long_one->task().ttl_ms, 20'000);
    EXPECT_THAT(store->create({}, {{}, "a"}), FailsWith(Errc::limit));
    EXPECT_THAT(store->of_session("a"), ElementsAre(short_one));
    // Of somebody else it is as unknown as any other.
    EXPECT_EQ(store->find(short_one->task().id, ""), nullptr);
    clock.skip(4999ms);
    EXPECT_EQ(store->find(short_one->task().id, "p"), short_one);
    clock.skip(1ms);
    EXPECT_EQ(store->find(short_one->task().id, "p"), nullptr);
    EXPECT_EQ(short_one->task().status, TaskStatus::cancelled);
    EXPECT_THAT(store->of_session("a"), IsEmpty());
    auto next = *store->create({}, {{}, "a"});
    EXPECT_EQ(next->task().ttl_ms, 10'000);
    EXPECT_EQ(store->size(), 2u);
    co_return;
  });
}

TEST(TaskStore, WorkEndsWithItsTimeThoughNobodyAsksForIt) {
  run_task([]() -> Task<void> {
    auto store = std::make_shared<TaskStore>(TaskStore::Bounds{}, real_clock(), system_random());
    auto task = *store->create({.ttl_ms = 1}, {});
    Event ended;
    TaskStore::set_running(*task, store->run(co_await asio::this_coro::executor, [](Event& over) -> Task<void> {
      struct Tell {
        Event& event;
        ~Tell() { event.notify_all(); }
      } tell{over};
      Event never;
      co_await never.wait();
    }(ended)));
    co_await ended.wait();
    EXPECT_EQ(task->task().status, TaskStatus::cancelled);
    EXPECT_EQ(store->size(), 0u);
    co_await store->finish();
  });
}

// Whoever watches the time of the first is asleep when the second, which has less, is made.
TEST(TaskStore, ATaskWithLittleTimeEndsInItBehindOneThatHasMuch) {
  run_task([]() -> Task<void> {
    auto store = std::make_shared<TaskStore>(TaskStore::Bounds{}, real_clock(), system_random());
    const auto executor = co_await asio::this_coro::executor;
    auto work = [](Event& over) -> Task<void> {
      struct Tell {
        Event& event;
        ~Tell() { event.notify_all(); }
      } tell{over};
      Event never;
      co_await never.wait();
    };
    Event first_ended, second_ended;
    auto first = *store->create({.ttl_ms = 3'600'000}, {});
    TaskStore::set_running(*first, store->run(executor, work(first_ended)));
    co_await settle();
    auto second = *store->create({.ttl_ms = 1}, {});
    TaskStore::set_running(*second, store->run(executor, work(second_ended)));
    co_await second_ended.wait();
    EXPECT_EQ(second->task().status, TaskStatus::cancelled);
    EXPECT_EQ(first->task().status, TaskStatus::working);
    EXPECT_EQ(store->size(), 1u);
    co_await store->finish();
  });
}

TEST(TaskStore, ResultsThatDoNotFitAreNotKept) {
  run_task([]() -> Task<void> {
    test::ManualClock clock;
    auto store =
        std::make_shared<TaskStore>(TaskStore::Bounds{.count = 9, .bytes = 100, .ttl = 10s}, clock, system_random());
    auto result = [] { return Json(std::string(58, 'x')); };  // 60 bytes as text
    auto first = *store->create({}, {});
    auto second = *store->create({}, {});
    first->finish(TaskStatus::completed, result());
    second->finish(TaskStatus::completed, result());
    EXPECT_EQ(first->state().result, result());
    EXPECT_EQ(second->task().status, TaskStatus::failed);
    EXPECT_EQ(second->outcome()->error().code(), Errc::limit);
    clock.skip(10s);
    auto third = *store->create({}, {});
    third->finish(TaskStatus::completed, result());
    EXPECT_EQ(third->task().status, TaskStatus::completed);
    co_return;
  });
}

// Its call was running for a while when it became a task: by then nobody watched the time.
TEST(TaskStore, ATaskThatAHandlerBeginsLater_EndsWithItsTime) {
  run_task([]() -> Task<void> {
    auto store = std::make_shared<TaskStore>(TaskStore::Bounds{}, real_clock(), system_random());
    Event ended;
    auto running = store->run(co_await asio::this_coro::executor, [](Event& over) -> Task<void> {
      struct Tell {
        Event& event;
        ~Tell() { event.notify_all(); }
      } tell{over};
      Event never;
      co_await never.wait();
    }(ended));
    co_await settle();
    auto task = *store->create({.ttl_ms = 1}, {});
    TaskStore::set_running(*task, running);
    co_await ended.wait();
    EXPECT_EQ(task->task().status, TaskStatus::cancelled);
    EXPECT_EQ(store->size(), 0u);
    co_await store->finish();
  });
}

// A result that was kept takes its room until its time is over, not until somebody asks.
TEST(TaskStore, WhatWasKept_GoesWithItsTimeThoughNobodyAsks) {
  run_task([]() -> Task<void> {
    auto room = std::make_shared<TaskRoom>(TaskRoom::Bounds{.bytes = 100});
    auto store = std::make_shared<TaskStore>(TaskStore::Bounds{}, real_clock(), system_random(), room);
    auto task = *store->create({.ttl_ms = 1}, {});
    (void)store->run(co_await asio::this_coro::executor, [](std::shared_ptr<StoredTask> t) -> Task<void> {
      t->finish(TaskStatus::completed, Json(std::string(98, 'x')));
      co_return;
    }(task));
    while (store->size() > 0) co_await settle();
    EXPECT_TRUE(room->keep("somebody else", 100));
    co_await store->finish();
  });
}

TEST(TaskRoom, HasAShareForEachOwner) {
  TaskRoom room({.count = 3, .count_each = 2, .bytes = 100, .bytes_each = 60});
  EXPECT_TRUE(room.admit("ann"));
  EXPECT_TRUE(room.admit("ann"));
  EXPECT_EQ(room.admit("ann").error().message(),
            "2 of your tasks are kept, which is the limit; wait until some have expired");
  EXPECT_TRUE(room.admit("bob"));
  EXPECT_EQ(room.admit("bob").error().message(),
            "too many tasks are kept (the limit is 3); wait until some have expired");
  EXPECT_TRUE(room.keep("ann", 60));
  EXPECT_EQ(room.keep("ann", 1).error().message(),
            "the result of the task has 1 bytes, and together with earlier tasks no more than 60 are kept; repeat the "
            "call when they have expired");
  EXPECT_EQ(room.keep("bob", 41).error().message(),
            "the result of the task has 41 bytes, and together with earlier tasks no more than 100 are kept; repeat "
            "the call when they have expired");
  EXPECT_TRUE(room.keep("bob", 40));
  EXPECT_EQ(room.keep("bob", SIZE_MAX).error().code(), Errc::limit);
  room.release("ann", 60);
  EXPECT_TRUE(room.keep("ann", 60));
  EXPECT_TRUE(room.admit("bob"));
}

// Both eras of one server share it, and somebody without a name has one share for each session.
TEST(TaskStore, StoresOfOneServer_ShareTheRoom) {
  auto room = std::make_shared<TaskRoom>(TaskRoom::Bounds{.count = 9, .count_each = 1});
  auto first = std::make_shared<TaskStore>(TaskStore::Bounds{}, real_clock(), system_random(), room);
  auto second = std::make_shared<TaskStore>(TaskStore::Bounds{}, real_clock(), system_random(), room);
  EXPECT_TRUE(first->create({}, {"ann", "s1"}));
  EXPECT_EQ(second->create({}, {"ann", "s2"}).error().code(), Errc::limit);
  EXPECT_TRUE(second->create({}, {"", "s1"}));
  EXPECT_TRUE(second->create({}, {"", "s2"}));
  EXPECT_EQ(first->create({}, {"", "s2"}).error().code(), Errc::limit);
  first->stop();
  EXPECT_TRUE(second->create({}, {"ann", "s2"}));
  second.reset();
  EXPECT_TRUE(room->admit("principal ann"));
}

TEST(TaskStore, OnlyLegalStepsHappen) {
  run_task([]() -> Task<void> {
    auto store = std::make_shared<TaskStore>(TaskStore::Bounds{}, real_clock(), system_random());
    int changes = 0;
    store->on_change = [&](const StoredTask&) { ++changes; };
    auto task = *store->create({}, {});
    task->say("one");
    task->say("one");
    EXPECT_EQ(changes, 1);
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn([](std::shared_ptr<StoredTask> t) -> Task<void> {
      (void)co_await as_result(t->ask(ListRootsRequest{}));
    }(task));
    co_await settle();
    EXPECT_EQ(task->task().status, TaskStatus::input_required);
    EXPECT_THAT(task->state().requests, SizeIs(1));
    // A handler that gives up takes its question back.
    scope.cancel();
    co_await scope.join();
    EXPECT_EQ(task->task().status, TaskStatus::working);
    EXPECT_THAT(task->state().requests, IsEmpty());
    // A name is the key once; a key is never used again.
    {
      auto named = task->ask(ListRootsRequest{}, "place");
      auto again = task->ask(ListRootsRequest{}, "place");
      const auto open = task->state().requests;
      EXPECT_THAT(open, ElementsAre(testing::Pair("place", testing::_), testing::Pair("roots-2", testing::_)));
    }
    task->finish(TaskStatus::completed, Json(1));
    task->finish(TaskStatus::failed, fail(Errc::internal, "late"));
    task->say("late");
    EXPECT_FALSE(task->cancel("late"));
    EXPECT_FALSE(task->answer("roots-1", ListRootsResult{}));
    EXPECT_EQ(task->task().status, TaskStatus::completed);
    EXPECT_EQ(task->task().status_message, "one");
    EXPECT_EQ(task->state().result, Json(1));
    for (auto before : {TaskStatus::working, TaskStatus::input_required, TaskStatus::completed, TaskStatus::failed,
                        TaskStatus::cancelled}) {
      for (auto after : {TaskStatus::working, TaskStatus::input_required, TaskStatus::completed, TaskStatus::failed,
                         TaskStatus::cancelled}) {
        EXPECT_EQ(may_follow(before, after), before < TaskStatus::completed && before != after);
      }
    }
  });
}

}  // namespace
}  // namespace patchbay
