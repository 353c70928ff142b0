// X5 as people and scripts meet it, and over pipes: whether a failed call was carried out.
#include <algorithm>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "base/as_result.h"
#include "rpc/peer.h"
#include "support/command.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/running_program.h"
#include "transport/stdio.h"

namespace patchbay {
namespace {

using test::CommandOptions;
using test::CommandResult;
using test::json_of;
using test::mode_server_file;
using test::run_program;
using testing::HasSubstr;
using testing::Not;

CommandResult call(const std::string& mode, std::vector<std::string> words, CommandOptions options = {}) {
  words.insert(words.begin(), {test::built("patchbay"), "--mcp-config", mode_server_file(mode), "--strict-mcp-config"});
  return run_program(words, options);
}

TEST(CarriedOutCommand, AnErrorInJsonSaysIt) {
  struct Case {
    const char* mode;
    std::vector<std::string> words;
    Json expected;
  };
  const Case cases[] = {
      {"exits-on-call", {"call", "echo", "text=x", "--json"}, "unknown"},
      {"silent-on-call", {"call", "echo", "text=x", "--json", "--timeout", "3"}, "unknown"},
      {"error-on-call", {"call", "echo", "text=x", "--json"}, "unknown"},
      {"exits-at-once", {"call", "fake/echo", "text=x", "--json"}, "no"},
      {"good", {"call", "add", R"({"a":"x","b":1})", "--json"}, "no"},
      {"good", {"call", "no_such_tool", "--json"}, "no"},
      {"exits-at-once", {"read", "fake", "x://y", "--json"}, nullptr},
  };
  for (const auto& c : cases) {
    const auto result = call(c.mode, c.words);
    EXPECT_NE(result.code, 0);
    const auto error = json_of(result)["error"];
    const auto* carried_out = error.find("carried_out");
    EXPECT_NE(carried_out, nullptr) << c.mode << result.out;
    if (carried_out) EXPECT_EQ(*carried_out, c.expected) << c.mode << result.out;
  }
}

TEST(CarriedOutCommand, TheUserIsWarnedBeforeRepeatingIt) {
  const auto lost = call("exits-on-call", {"call", "echo", "text=x"});
  EXPECT_THAT(lost.err, HasSubstr("the request may have been carried out; check before repeating it"));
  const auto never = call("exits-at-once", {"call", "fake/echo", "text=x"});
  EXPECT_THAT(never.err, Not(HasSubstr("carried out")));
}

TEST(CarriedOutCommand, AnInterruptedCallSaysIt) {
  for (const bool json : {true, false}) {
    std::vector<std::string> words{test::built("patchbay"), "--mcp-config", mode_server_file("silent-on-call"),
                                   "--strict-mcp-config", "--trace"};
    if (json) words.emplace_back("--json");
    words.insert(words.end(), {"call", "echo", "text=x"});
    test::RunningProgram program(words);
    program.wait_for("tools/call");  // on its way
    EXPECT_EQ(program.end(SIGINT), 130);
    EXPECT_THAT(program.output(), json ? HasSubstr(R"("code":"cancelled")") : HasSubstr("patchbay: cancelled"));
    EXPECT_THAT(program.output(), json ? HasSubstr(R"("carried_out":"unknown")")
                                       : HasSubstr("the request may have been carried out; check before repeating it"));
  }
}

TEST(CarriedOutCommand, AServerThatNobodyKnowsIsNotCalled) {
  const auto result = call("good", {"call", "nobody/echo", "--json"});
  EXPECT_EQ(json_of(result)["error"]["carried_out"], Json("no")) << result.out;
}

// The pipe takes a part of the first request; nothing of the second.
TEST(CarriedOutStdio, WhatIsStillQueuedWhenTheServerGoesWasNotSent) {
  test::run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto channel = co_await stdio_transport({.command = "sleep", .args = {"600"}})->open(Runtime{});
    Peer peer(executor, std::move(channel), {}, {});
    peer.start();
    Scope scope(executor);
    std::vector<std::optional<CarriedOut>> outcomes(2);
    auto make = [](Peer& p, std::size_t size, std::optional<CarriedOut>& into) -> Task<void> {
      auto outcome = co_await as_result(
          p.call({.id = p.reserve_id(), .method = "m", .params = Json{{"x", std::string(size, 'x')}}}));
      EXPECT_FALSE(outcome);
      if (!outcome) into = outcome.error().carried_out();
    };
    scope.start(make(peer, 4u << 20, outcomes[0]));
    scope.start(make(peer, 10, outcomes[1]));
    co_await peer.close(CloseMode::quick);
    co_await scope.join();
    EXPECT_EQ(outcomes[0], CarriedOut::unknown);
    EXPECT_EQ(outcomes[1], CarriedOut::no);
  });
}

// What was said to be not carried out must not be sent when the server reads again. It echoes what it reads.
TEST(CarriedOutStdio, WhatWasTakenBackIsNeverSent) {
  test::run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    test::TemporaryDirectory directory;
    const auto go = directory.path() + "/go";
    auto transport =
        stdio_transport({.command = "sh", .args = {"-c", "while [ ! -e \"$0\" ]; do sleep 0.01; done; exec cat", go}});
    auto channel = co_await transport->open(Runtime{});
    std::vector<std::string> heard;
    Event more;
    Peer::Handlers handlers;
    handlers.request = [&](Request request) -> Task<Payload> {
      heard.push_back(request.method);
      more.notify_all();
      co_return Payload(Json::object());
    };
    auto peer = std::make_shared<Peer>(executor, std::move(channel), Runtime{}, std::move(handlers));
    peer->start();
    Scope scope(executor);
    std::optional<CarriedOut> withdrawn;
    auto make = [](Peer& p, std::string method, std::size_t size, std::optional<CarriedOut>& into) -> Task<void> {
      auto outcome = co_await as_result(
          p.call({.id = p.reserve_id(), .method = std::move(method), .params = Json{{"x", std::string(size, 'x')}}}));
      if (!outcome) into = outcome.error().carried_out();
    };
    std::optional<CarriedOut> others;
    scope.start(make(*peer, "a", 4u << 20, others));
    auto second = scope.start(make(*peer, "b", 10, withdrawn));
    scope.start(make(*peer, "c", 10, others));
    second.cancel();
    directory.write("go", "");
    while (std::ranges::find(heard, "c") == heard.end()) co_await more.wait();
    EXPECT_THAT(heard, testing::ElementsAre("a", "c"));
    EXPECT_EQ(withdrawn, CarriedOut::no);
    co_await peer->close(CloseMode::quick);
    co_await scope.join();
  });
}

}  // namespace
}  // namespace patchbay
