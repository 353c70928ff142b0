// Calls that go on without whoever started them, and calls made while another one is answered. X3, L6.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "protocol/methods.h"
#include "support/beside.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/script_server.h"

namespace patchbay {
namespace {

using State = BackgroundCallStatus::State;
using test::beside;
using test::empty_options;
using test::failure_of;
using test::named;
using test::no_answer;
using test::run_task;
using test::ScriptServer;
using test::settle;
using test::tool_server;
using testing::HasSubstr;
using testing::SizeIs;

std::string m(std::string_view method) { return std::string(method); }

Payload answer(std::string_view text) {
  return Json{{"content", Json::array({Json{{"type", "text"}, {"text", text}}})}, {"resultType", "complete"}};
}

// A server with one tool that answers when it is let, and a host that has it.
struct World {
  std::unique_ptr<ScriptServer> server = tool_server({"slow"});
  Event let;
  bool may = false;
  Host host;

  explicit World(HostOptions options = empty_options()) : host(std::move(options)) {
    server->on(m(method::call_tool), [this](Request) -> Task<Payload> {
      while (!may) co_await let.wait();
      co_return answer("done");
    });
    host.add_server(named("s"), server->transport());
  }
  void answer_now() {
    may = true;
    let.notify_all();
  }
};

TEST(BackgroundCall, OneThatIsCancelledBeforeItsFirstTurnWasCancelled) {
  run_task([]() -> Task<void> {
    World world;
    co_await world.host.start();
    auto call = co_await world.host.start_call("s/slow");
    call.cancel();
    auto ended = co_await as_result(call.result());
    EXPECT_FALSE(ended);
    if (!ended) {
      EXPECT_EQ(ended.error().code(), Errc::cancelled) << ended.error().message();
      EXPECT_EQ(ended.error().carried_out(), CarriedOut::no);
    }
    EXPECT_EQ(call.status().state, State::cancelled);
    EXPECT_EQ(world.server->count(method::call_tool), 0u);
    co_await world.host.stop();
  });
}

TEST(BackgroundCall, ItsResultIsKeptUntilItIsFetched) {
  run_task([]() -> Task<void> {
    World world;
    auto call = co_await world.host.start_call("s/slow");
    EXPECT_EQ(call.status(), (BackgroundCallStatus{.id = call.id(), .tool = "s/slow"}));
    EXPECT_NE(call.id(), 0u);
    co_await world.server->wait_asked(method::call_tool);
    EXPECT_THAT(world.host.background_calls(), SizeIs(1));
    world.answer_now();
    co_await settle();
    EXPECT_EQ(call.status().state, State::answered);
    // Whoever lost the handle finds it again.
    auto found = world.host.background_calls();
    EXPECT_THAT(found, SizeIs(1));
    EXPECT_EQ(found.front().id(), call.id());
    EXPECT_EQ(text_of(co_await found.front().result()), "done");
    EXPECT_THAT(world.host.background_calls(), SizeIs(0));
    EXPECT_EQ(text_of(co_await call.result()), "done");
    EXPECT_EQ(world.server->count(method::call_tool), 1u);
    co_await world.host.stop();
  });
}

TEST(BackgroundCall, WhoeverStopsWaitingDoesNotStopIt) {
  run_task([]() -> Task<void> {
    World world;
    auto call = co_await world.host.start_call("s/slow");
    co_await world.server->wait_asked(method::call_tool);
    {
      Scope scope(co_await asio::this_coro::executor);
      auto waiting = beside(scope, call.result());
      co_await settle();
      scope.cancel();
      co_await scope.join();
      EXPECT_EQ(failure_of(*waiting), Errc::cancelled);
    }
    EXPECT_EQ(call.status().state, State::running);
    EXPECT_THAT(world.server->taken_back, SizeIs(0));
    world.answer_now();
    EXPECT_EQ(text_of(co_await call.result()), "done");
    co_await world.host.stop();
  });
}

TEST(BackgroundCall, CancellingEndsItAndTellsTheServer) {
  run_task([]() -> Task<void> {
    World world;
    auto call = co_await world.host.start_call("s/slow");
    co_await world.server->wait_asked(method::call_tool);
    call.cancel();
    call.cancel();
    const auto ended = co_await as_result(call.result());
    EXPECT_FALSE(ended);
    if (!ended) {
      EXPECT_EQ(ended.error().code(), Errc::cancelled);
      EXPECT_EQ(ended.error().carried_out(), CarriedOut::unknown);
    }
    EXPECT_EQ(call.status().state, State::cancelled);
    co_await world.server->wait_taken_back(method::call_tool);
    EXPECT_THAT(world.host.background_calls(), SizeIs(0));
    co_await world.host.stop();
  });
}

TEST(BackgroundCall, AFailureIsItsOutcome) {
  run_task([]() -> Task<void> {
    World world;
    auto call = co_await world.host.start_call("s/nothing");
    const auto ended = co_await as_result(call.result());
    EXPECT_FALSE(ended);
    if (!ended) {
      EXPECT_EQ(ended.error().code(), Errc::invalid_argument);
      EXPECT_EQ(ended.error().carried_out(), CarriedOut::no);
    }
    EXPECT_EQ(call.status().state, State::failed);
    co_await world.host.stop();
  });
}

TEST(BackgroundCall, StoppingTheHostEndsItAndTheHandleSaysSo) {
  run_task([]() -> Task<void> {
    std::optional<BackgroundCall> call;
    std::optional<BackgroundCall> unsent;
    {
      World world;
      call = co_await world.host.start_call("s/slow");
      co_await world.server->wait_asked(method::call_tool);
      unsent = co_await world.host.start_call("s/slow");
      co_await world.host.stop();
      EXPECT_THAT(world.host.background_calls(), SizeIs(2));
      const auto late = co_await as_result(world.host.start_call("s/slow"));
      EXPECT_FALSE(late);
      if (!late) EXPECT_EQ(late.error().code(), Errc::closed);
    }
    // The handles outlive the host.
    const auto ended = co_await as_result(call->result());
    EXPECT_FALSE(ended);
    if (!ended) {
      EXPECT_EQ(ended.error().code(), Errc::closed);
      EXPECT_EQ(ended.error().carried_out(), CarriedOut::unknown);
    }
    EXPECT_EQ(call->status().state, State::failed);
    const auto never = co_await as_result(unsent->result());
    EXPECT_FALSE(never);
    if (!never) {
      EXPECT_EQ(never.error().code(), Errc::closed);
      EXPECT_EQ(never.error().carried_out(), CarriedOut::no);
    }
  });
}

TEST(BackgroundCall, TheirNumberIsBounded) {
  run_task([]() -> Task<void> {
    World world;
    std::vector<BackgroundCall> calls;
    for (int i = 0; i < 64; ++i) calls.push_back(co_await world.host.start_call("s/slow"));
    const auto refused = co_await as_result(world.host.start_call("s/slow"));
    EXPECT_FALSE(refused);
    if (!refused) {
      EXPECT_EQ(refused.error().code(), Errc::limit);
      EXPECT_EQ(refused.error().carried_out(), CarriedOut::no);
      EXPECT_THAT(refused.error().message(), HasSubstr("64"));
    }
    world.answer_now();
    // What has ended counts until it is fetched, or nobody wants it.
    for (const auto& call : calls) {
      while (call.status().state == State::running) co_await settle();
    }
    EXPECT_FALSE(co_await as_result(world.host.start_call("s/slow")));
    (void)co_await calls[0].result();
    calls[1].cancel();
    EXPECT_EQ(calls[1].status().state, State::answered);
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(co_await as_result(world.host.start_call("s/slow")));
    EXPECT_FALSE(co_await as_result(world.host.start_call("s/slow")));
    co_await world.host.stop();
  });
}

TEST(BackgroundCall, ItsStatusHasTheLatestProgress) {
  run_task([]() -> Task<void> {
    World world;
    Event heard;
    std::vector<double> told;
    world.server->on(m(method::call_tool), [&](Request request) -> Task<Payload> {
      const auto token = request.params.value()["_meta"]["progressToken"];
      for (int i = 1; i < 3; ++i) {
        world.server->notify("notifications/progress",
                             Json{{"progressToken", token}, {"progress", i}, {"total", 2}, {"message", "step"}});
      }
      return no_answer();
    });
    CallOptions options;
    options.on_progress = [&](const Progress& progress) {
      told.push_back(progress.progress);
      heard.notify_all();
    };
    auto call = co_await world.host.start_call("s/slow", {}, std::move(options));
    while (told.size() < 2) co_await heard.wait();
    EXPECT_EQ(call.status().progress, (Progress{2, 2, "step"}));
    EXPECT_EQ(call.status().state, State::running);
    co_await world.host.stop();
  });
}

// Whoever answers a server's question may call tools, of the same server too: no call waits for another one.
TEST(HostCall, ACallMadeWhileAnsweringAnotherOneDoesNotWaitBehindIt) {
  run_task([]() -> Task<void> {
    auto server = ScriptServer::legacy(R"({"tools":{}})");
    server->on(m(method::list_tools), R"({"tools":[{"name":"ask"},{"name":"other"}]})");
    server->on(m(method::call_tool), [&](Request request) -> Task<Payload> {
      if (request.params.value()["name"] == Json("other")) co_return answer("from the other");
      const auto said = co_await server->ask(
          m(method::elicit), Json{{"message", "what?"},
                                  {"requestedSchema", Json{{"type", "object"},
                                                           {"properties", Json{{"said", Json{{"type", "string"}}}}}}}});
      co_return answer(said.value()["content"]["said"].as_text());
    });
    Host* asked = nullptr;
    auto options = empty_options();
    options.client.elicit = [&](ElicitRequest, CallContext) -> Task<ElicitResult> {
      auto result = co_await asked->call("s/other");
      ElicitResult answered;
      answered.action = ElicitResult::Action::accept;
      answered.content = Json{{"said", text_of(result)}};
      co_return answered;
    };
    Host host(options);
    asked = &host;
    host.add_server(named("s"), server->transport());
    EXPECT_EQ(text_of(co_await host.call("s/ask")), "from the other");
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay
