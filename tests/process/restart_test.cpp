// Servers that are real processes, and end when they should not: they are started again by themselves. L6, N2
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "process/children.h"
#include "support/fails_with.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

// What a host told about its only server.
struct News {
  std::vector<std::string> states;
  Event changed;

  HostOptions options() {
    auto options = empty_options();
    options.on_event = [this](const HostEvent& event) {
      if (const auto* status = std::get_if<ServerStatus>(&event)) {
        states.push_back(std::string(to_string(status->state)) + " " + reason_text(*status));
        changed.notify_all();
      }
    };
    return options;
  }
  Task<void> wait_for(std::size_t count) {
    while (states.size() < count) co_await changed.wait();
  }
};

ServerConfig running(std::string command, std::vector<std::string> args) {
  auto config = named("s");
  config.command = std::move(command);
  config.args = std::move(args);
  return config;
}

TEST(Restart, ACrashedServerIsStartedAgainAfterAPause) {
  News news;
  ManualClock clock(ManualClock::Passes::by_itself);
  run_task(clock, [&]() -> Task<void> {
    Host host(news.options());
    host.add_server(running(program("mode-server"), {"exits-on-call"}));
    co_await host.start();
    const auto tools = host.catalog();
    auto crashed = co_await as_result(host.call("s/echo", Json{{"text", "x"}}));
    EXPECT_THAT(crashed, FailsWith(Errc::closed));
    if (!crashed) EXPECT_EQ(crashed.error().carried_out(), CarriedOut::unknown);
    co_await news.wait_for(2);
    clock.skip(2s);
    co_await news.wait_for(3);
    EXPECT_THAT(news.states, ElementsAre("connected ", "pending reconnecting 1/5", "connected "));
    EXPECT_EQ(host.catalog()->size(), tools->size());
    co_await host.stop();
  });
}

// What it wrote is shown, and it is not started for ever.
TEST(Restart, AServerThatKeepsEndingIsReportedWithWhatItWrote) {
  News news;
  ManualClock clock(ManualClock::Passes::by_itself);
  run_task(clock, [&]() -> Task<void> {
    Host host(news.options());
    host.add_server(running("sh", {"-c", "echo 'first words' >&2; " + program("mode-server") + " exits-on-call"}));
    co_await host.start();
    int starts = 1;
    while (news.states.back() == "connected " && starts < 20) {
      const auto known = news.states.size();
      (void)co_await as_result(host.call("s/echo", Json{{"text", "x"}}));
      co_await news.wait_for(known + 1);
      if (news.states.back() != "pending reconnecting 1/5") break;
      clock.skip(40s);
      co_await news.wait_for(known + 2);
      ++starts;
    }
    EXPECT_EQ(news.states.back(), "failed keeps ending");
    EXPECT_EQ(starts, 6);
    const auto error = host.status().at(0).error.value_or(Error(Errc::internal, "none"));
    EXPECT_THAT(error.message(), HasSubstr("6 times in a row"));
    EXPECT_THAT(error.detail(), HasSubstr("first words"));
    co_await host.stop();
  });
}

// A program that failed is started again when somebody has corrected it.
TEST(Restart, AServerWhoseProgramWasCorrectedIsStarted) {
  News news;
  ManualClock clock(ManualClock::Passes::by_itself);
  const TempTree tree;
  tree.file("server.sh", "echo broken >&2; exit 3\n");
  run_task(clock, [&]() -> Task<void> {
    Host host(news.options());
    host.add_server(running("sh", {(tree.path() / "server.sh").string()}));
    co_await host.start();
    EXPECT_THAT(news.states, ElementsAre("failed connect failed"));
    clock.skip(10s);
    co_await settle();
    EXPECT_EQ(news.states.size(), 1u);
    tree.file("server.sh", "exec " + program("mode-server") + " good\n");
    clock.skip(5s);
    co_await news.wait_for(2);
    EXPECT_EQ(news.states.back(), "connected ");
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay::test
