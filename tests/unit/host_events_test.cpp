// What a Host tells its program, as one stream of values.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>
#include <patchbay/server.h>

#include "base/runtime.h"
#include "base/waiting.h"
#include "host/events.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using test::run_task;
using testing::Contains;
using testing::ElementsAre;

// The kind of an event, and whose it is.
std::string kind_of(const HostEvent& event) {
  struct Kind {
    std::string operator()(const ServerStatus& status) const {
      return "status " + status.name + " " + std::string(to_string(status.state));
    }
    std::string operator()(const CatalogChange&) const { return "catalog"; }
    std::string operator()(const ConfigChange&) const { return "config"; }
    std::string operator()(const ServerLog& log) const {
      return "log " + log.context.server + "/" + log.context.tool + " " + std::string(to_string(log.message.level));
    }
    std::string operator()(const ServerChange& change) const {
      return "change " + change.context.server + (change.change.kind == Change::Kind::tools ? " tools" : "");
    }
    std::string operator()(const ListChange& change) const { return "list " + change.server; }
    std::string operator()(const LogEvent& problem) const { return "problem " + problem.event; }
  };
  return std::visit(Kind{}, event);
}

struct Heard {
  std::vector<std::string> events;
  Event changed;
  std::function<void(const HostEvent&)> function() {
    return [this](const HostEvent& event) {
      events.push_back(kind_of(event));
      changed.notify_all();
    };
  }
  Task<void> wait_for(std::string event) {
    while (std::ranges::find(events, event) == events.end()) co_await changed.wait();
  }
};

TEST(HostEventsTest, ProblemsAreReportedAndLogged) {
  Heard heard;
  std::vector<std::string> lines;
  const Log given(LogLevel::info, [&](const LogEvent& event) { lines.push_back(event.event); });
  const auto log = HostEvents::log_of(std::make_shared<HostEvents>(heard.function(), given));
  log(LogLevel::debug, "a");
  log(LogLevel::info, "b");
  log(LogLevel::warning, "c");
  EXPECT_THAT(lines, ElementsAre("b", "c"));
  EXPECT_THAT(heard.events, ElementsAre("problem c"));
}

TEST(HostEventsTest, ProblemsAreReportedWithoutALog) {
  Heard heard;
  const auto log = HostEvents::log_of(std::make_shared<HostEvents>(heard.function(), Log()));
  EXPECT_FALSE(log.enabled(LogLevel::info));
  log(LogLevel::error, "a");
  EXPECT_THAT(heard.events, ElementsAre("problem a"));
}

TEST(HostEventsTest, WithoutAFunctionTheLogIsTheOneThatWasGiven) {
  EXPECT_FALSE(HostEvents::log_of(std::make_shared<HostEvents>(nullptr, Log())).enabled(LogLevel::error));
}

TEST(HostEventsTest, AFunctionThatThrowsIsLoggedOnce) {
  int told = 0;
  std::vector<std::string> lines;
  auto throws = [&](const HostEvent&) {
    ++told;
    throw std::runtime_error("a bug of the program");
  };
  const Log given(LogLevel::warning, [&](const LogEvent& event) { lines.push_back(event.event); });
  const auto events = std::make_shared<HostEvents>(throws, given);
  HostEvents::log_of(events)(LogLevel::warning, "problem");
  EXPECT_EQ(told, 1);
  EXPECT_THAT(lines, ElementsAre("problem", "callback_threw"));
}

TEST(HostEventsTest, NobodyIsNotifiedAfterTheEnd) {
  Heard heard;
  const auto events = std::make_shared<HostEvents>(heard.function(), Log());
  const auto log = HostEvents::log_of(events);
  events->end();
  log(LogLevel::error, "a");
  events->tell(CatalogChange{});
  EXPECT_THAT(heard.events, ElementsAre());
}

TEST(HostEventsTest, WhatServersSayNamesThem) {
  run_task([]() -> Task<void> {
    Heard heard;
    HostOptions options;
    options.config = LoadedConfig{};
    options.client.log_level = LoggingLevel::info;
    options.on_event = heard.function();
    Host host(options);
    auto server = std::make_shared<Server>(ServerOptions{.info = {.name = "server", .version = "1"}});
    Tool tool;
    tool.name = "speak";
    server->add_tool(tool, [](RequestContext& context, Json) -> Task<CallToolResult> {
      context.log(LoggingLevel::warning, Json("careful"));
      co_return CallToolResult{};
    });
    host.add_server("docs", server);
    co_await host.start();
    EXPECT_THAT(heard.events, ElementsAre("status docs connected", "catalog"));
    (void)co_await host.call("docs/speak");
    co_await heard.wait_for("log docs/speak warning");
    tool.name = "more";
    server->add_tool(tool, [](RequestContext&, Json) -> Task<CallToolResult> { co_return CallToolResult{}; });
    co_await heard.wait_for("change docs tools");
    (void)co_await host.reload(LoadedConfig{});
    EXPECT_THAT(heard.events, Contains("config"));
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay
