// Tasks with servers that a test writes by hand: what goes wrong, what repeats, what hurries.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "client/connect.h"
#include "client/remote_tasks.h"
#include "protocol/methods.h"
#include "protocol/wire.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/script_server.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsSaying;
using test::FailsWith;
using test::FailsWithRpc;
using test::run_task;
using test::ScriptServer;
using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

constexpr auto legacy_tasks = R"({"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}})";
constexpr auto modern_tasks = R"({"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})";
constexpr auto tool_list =
    R"({"tools":[{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]})";
constexpr auto done = R"({"content":[{"type":"text","text":"done"}]})";

Payload parsed(std::string text) { return *Payload::parse(std::move(text)); }
Task<Payload> answer(std::string text) { co_return parsed(std::move(text)); }
std::string m(std::string_view method) { return std::string(method); }

// The state of task "1" as each era writes it.
std::string state(std::string_view status, std::string_view more = "") {
  return fmt::format(R"({{"taskId":"1","status":"{}","createdAt":"c","lastUpdatedAt":"u"{}{}}})", status,
                     more.empty() ? "" : ",", more);
}

struct TaskServer {
  bool modern;
  std::unique_ptr<ScriptServer> server =
      modern ? ScriptServer::modern(modern_tasks) : ScriptServer::legacy(legacy_tasks);

  explicit TaskServer(bool m) : modern(m) {
    server->on(std::string(method::list_tools), tool_list);
    server->on(std::string(method::call_tool),
               modern ? R"({"resultType":"task","taskId":"1","status":"working","createdAt":"c","lastUpdatedAt":"u",)"
                        R"("ttlMs":null,"pollIntervalMs":60000})"
                      : R"({"task":{"taskId":"1","status":"working","createdAt":"c","lastUpdatedAt":"u","ttl":null,)"
                        R"("pollInterval":60000}})");
    server->on(std::string(method::cancel_task), modern ? R"({"resultType":"complete"})" : state("cancelled"));
  }

  void run(ClientOptions client, std::function<Task<void>(Session)> body, Duration poll_most = 1ms) {
    client.protocol = modern ? std::string(modern_versions().front()) : "legacy";
    Runtime runtime;
    runtime.limits.task_poll_least = 1ms;
    runtime.limits.task_poll_most = std::chrono::duration_cast<std::chrono::milliseconds>(poll_most);
    run_task([&]() -> Task<void> {
      auto session = co_await connect(Client(client), server->transport(), runtime);
      (void)co_await session.list_tools();
      auto outcome = co_await as_result(body(session));
      co_await session.close();
      EXPECT_EQ(server->connections(), 0u);
      value_or_throw(std::move(outcome));
    });
  }
};

TEST(TaskScript, ThePauseIsTheServersWithinBounds) {
  Limits limits;
  limits.task_poll = 1000ms;
  limits.task_poll_least = 100ms;
  limits.task_poll_most = 30'000ms;
  struct Row {
    std::optional<std::int64_t> wanted;
    Duration pause;
  };
  for (const auto& row : std::vector<Row>{{std::nullopt, 1s},
                                          {5000, 5s},
                                          {0, 100ms},
                                          {-5, 100ms},
                                          {99, 100ms},
                                          {30'001, 30s},
                                          {INT64_MAX, 30s},
                                          {INT64_MIN, 100ms}}) {
    RemoteTask task;
    task.poll_interval_ms = row.wanted;
    EXPECT_EQ(poll_pause(task, limits), row.pause) << row.wanted.value_or(-1);
  }
}

TEST(TaskScript, EveryEndOfATaskEndsTheCall) {
  struct Row {
    std::string name;
    std::string modern;  // what tasks/get says, or "!code" for an error
    std::string legacy;
    std::string message;  // of the error; empty: the result came
    bool cancels = false;
  };
  const std::string result = fmt::format(R"("result":{})", done);
  for (const auto& row : std::vector<Row>{
           {"completed", state("completed", result), state("completed"), ""},
           {"the envelope of a created task is taken too", state("completed", result + R"(,"resultType":"task")"),
            state("completed", R"("resultType":"task")"), ""},
           {"cancelled", state("cancelled", R"("statusMessage":"no time")"),
            state("cancelled", R"("statusMessage":"no time")"), "the server cancelled the task: no time"},
           {"forgotten", "!-32602", "!-32602", "the server does not know the task \"1\"; it may have expired (gone)"},
           {"refused", "!-32000", "!-32000", "gone"},
           {"a state nobody knows", state("asleep"), state("asleep"), "expected one of", true},
       }) {
    for (bool modern : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", row.name, modern ? "modern" : "legacy"));
      TaskServer era(modern);
      const auto said = modern ? row.modern : row.legacy;
      era.server->on(m(method::get_task), [said](Request) -> Task<Payload> {
        return [](std::string text) -> Task<Payload> {
          if (text.starts_with('!')) throw Error::rpc(std::stoi(text.substr(1)), "gone");
          co_return parsed(text);
        }(said);
      });
      era.server->on(m(method::task_result), done);
      era.run({}, [&](Session session) -> Task<void> {
        auto called = co_await as_result(session.call_tool("t", {}));
        if (row.message.empty()) {
          EXPECT_EQ(text_of(*called), "done");
        } else {
          EXPECT_THAT(called ? "a result" : called.error().message(), HasSubstr(row.message));
        }
        if (row.cancels) co_await era.server->wait_asked(method::cancel_task);
        EXPECT_EQ(era.server->count(method::cancel_task), row.cancels ? 1u : 0u);
      });
    }
  }
}

// A question that is still there at the next look was put already.
TEST(TaskScript, AQuestionSeenAgainIsNotPutAgain) {
  TaskServer era(true);
  int looks = 0;
  int asked = 0;
  const std::string question =
      R"("inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}})";
  era.server->on(m(method::get_task), [&](Request) -> Task<Payload> {
    return answer(++looks < 4 ? state("input_required", question)
                              : state("completed", fmt::format(R"("result":{})", done)));
  });
  era.server->on(m(method::update_task), R"({"resultType":"complete"})");
  ClientOptions client;
  client.elicit = [&](ElicitRequest, CallContext) -> Task<ElicitResult> {
    ++asked;
    co_return ElicitResult{.action = ElicitResult::Action::decline};
  };
  era.run(client, [&](Session session) -> Task<void> {
    auto result = co_await session.call_tool("t", {});
    EXPECT_EQ(text_of(result), "done");
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(era.server->count(method::update_task), 1u);
  });
}

TEST(TaskScript, AQuestionNobodyCanAnswerEndsTheTask) {
  TaskServer era(true);
  era.server->on(m(method::get_task), state("input_required", R"("inputRequests":{"a":{"method":"roots/list"}})"));
  era.run({}, [&](Session session) -> Task<void> {
    auto called = co_await as_result(session.call_tool("t", {}));
    EXPECT_THAT(called, FailsWith(Errc::unsupported));
    co_await era.server->wait_asked(method::cancel_task);
  });
}

// With a pause of a minute, only the notification can end this in time.
TEST(TaskScript, ANotificationIsReasonEnoughToLook) {
  for (bool modern : {false, true}) {
    TaskServer era(modern);
    era.server->on(m(method::get_task), state("completed", fmt::format(R"("result":{})", done)));
    era.server->on(m(method::task_result), done);
    era.run(
        {},
        [&](Session session) -> Task<void> {
          CallOptions options;
          options.on_task = [&](const RemoteTask& task) {
            if (task.status != TaskStatus::working) return;
            for (auto id : {"another", "1"}) {
              era.server->notify(modern ? method::task_changed : method::task_status,
                                 parsed(fmt::format(R"({{"taskId":"{}","status":"completed"}})", id)));
            }
            era.server->notify(method::task_status, parsed("{}"));
          };
          auto result = co_await session.call_tool("t", {}, options);
          EXPECT_EQ(text_of(result), "done");
          EXPECT_EQ(era.server->count(method::get_task), 1u);
        },
        10min);
  }
}

// A tool that was never listed says by refusing that it must be a task.
TEST(TaskScript, AToolThatRefusesIsCalledAgainAsATask) {
  TaskServer era(false);
  era.server->on(m(method::call_tool), [](Request request) -> Task<Payload> {
    return [](Payload params) -> Task<Payload> {
      if (!params.value().find("task")) throw Error::rpc(-32600, "only as a task");
      co_return parsed(
          R"({"task":{"taskId":"1","status":"completed","createdAt":"c","lastUpdatedAt":"u","ttl":null}})");
    }(request.params);
  });
  era.server->on(m(method::task_result), done);
  run_task([&]() -> Task<void> {
    ClientOptions client;
    client.protocol = "legacy";
    auto session = co_await Client(client).connect(era.server->transport());
    EXPECT_EQ(text_of(co_await session.call_tool("t", {})), "done");
    EXPECT_EQ(era.server->count(method::call_tool), 2u);
    auto other = co_await as_result(session.call_tool("unknown", {}));
    EXPECT_THAT(other, FailsWithRpc(-32600));
    co_await session.close();
  });
}

// C11-16: what a server gives us as a task.
TEST(TaskScript, AServersQuestionsCanBeTasksOfOurs) {
  TaskServer era(false);
  ClientOptions client;
  Event asked;
  Event let_go;
  int elicits = 0;
  client.elicit = [&](ElicitRequest, CallContext) -> Task<ElicitResult> {
    ++elicits;
    asked.notify_all();
    if (elicits == 2) throw Error(Errc::denied, "not this one");
    co_await let_go.wait();
    co_return ElicitResult{.action = ElicitResult::Action::decline};
  };
  era.run(client, [&](Session) -> Task<void> {
    auto& server = *era.server;
    const auto question = R"({"message":"?","requestedSchema":{},"task":{"ttl":5000}})";
    auto created = co_await server.ask(m(method::elicit), parsed(question));
    const auto task = created.value()["task"];
    EXPECT_EQ(task["status"], Json("working"));
    EXPECT_EQ(task["ttl"], Json(5000));
    const std::string id(task["taskId"].as_text());
    EXPECT_GE(id.size(), 22u);
    auto named = [](const std::string& which) { return parsed(fmt::format(R"({{"taskId":"{}"}})", which)); };
    if (elicits == 0) co_await asked.wait();
    EXPECT_EQ((co_await server.ask(m(method::get_task), named(id))).value()["status"], Json("working"));
    EXPECT_EQ((co_await server.ask(m(method::list_tasks), {})).value()["tasks"].size(), 1u);

    // The answer can be asked for before it is there.
    Scope scope(co_await asio::this_coro::executor);
    Json result;
    scope.spawn([](ScriptServer& s, Payload params, Json& into) -> Task<void> {
      into = (co_await s.ask(m(method::task_result), std::move(params))).value();
    }(server, named(id), result));
    co_await test::settle();
    EXPECT_TRUE(result.is_null());
    let_go.notify_all();
    co_await scope.join();
    EXPECT_EQ(to_text(result), fmt::format(R"({{"action":"decline","_meta":{}}})", to_text(related_task_meta(id))));
    EXPECT_EQ((co_await server.ask(m(method::get_task), named(id))).value()["status"], Json("completed"));
    auto over = co_await as_result(server.ask(m(method::cancel_task), named(id)));
    EXPECT_THAT(over, FailsWithRpc(-32602));

    std::string refused((co_await server.ask(m(method::elicit), parsed(question))).value()["task"]["taskId"].as_text());
    auto failed = co_await as_result(server.ask(m(method::task_result), named(refused)));
    EXPECT_THAT(failed, FailsSaying("not this one"));
    EXPECT_EQ((co_await server.ask(m(method::get_task), named(refused))).value()["status"], Json("failed"));

    std::string third((co_await server.ask(m(method::elicit), parsed(question))).value()["task"]["taskId"].as_text());
    auto cancelled = co_await server.ask(m(method::cancel_task), named(third));
    EXPECT_EQ(cancelled.value()["status"], Json("cancelled"));
    auto unknown = co_await as_result(server.ask(m(method::get_task), named("x")));
    EXPECT_THAT(unknown, FailsWithRpc(-32602));
    auto malformed =
        co_await as_result(server.ask(m(method::elicit), parsed(R"({"message":"?","requestedSchema":{},"task":7})")));
    EXPECT_THAT(malformed, FailsWithRpc(-32602));
    // One is left for the end of the session to take along.
    (void)co_await server.ask(m(method::elicit), parsed(question));
  });
}

TEST(TaskScript, AClientWithoutHandlersKnowsNoTasks) {
  TaskServer era(false);
  era.run({}, [&](Session) -> Task<void> {
    auto unknown = co_await as_result(era.server->ask(m(method::get_task), parsed(R"({"taskId":"x"})")));
    EXPECT_THAT(unknown, FailsWithRpc(-32601));
  });
}

}  // namespace
}  // namespace patchbay
