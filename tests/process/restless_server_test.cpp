// Servers whose life goes wrong over several starts (tests/fakes/restless_server.cpp), as real processes behind a
// Host: every call has one outcome, nothing is carried out twice, starts are bounded, and the reason is in words that a
// person understands. L5, L6, L8, N2, N3, X5.
#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "host/make_host.h"
#include "process/children.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/tool_list_text.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream text(slurp(path));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

ServerConfig restless(std::string name, std::string mode, const std::string& folder, std::string number = {}) {
  auto config = named(std::move(name));
  config.command = program("restless-server");
  config.args = {std::move(mode), folder};
  if (!number.empty()) config.args.push_back(std::move(number));
  return config;
}

struct Case {
  std::string mode;
  std::string number;
  int least_answered;  // of six calls
  std::string reason;  // a regular expression for the message of those that failed
  std::size_t most_starts;
  bool after_its_end = false;  // each call is made when the server is known to have ended
};

class RestlessServers : public testing::TestWithParam<Case> {};

TEST_P(RestlessServers, EveryCallHasOneOutcomeAndAReason) {
  const auto& c = GetParam();
  TemporaryDirectory folder;
  run_task([&]() -> Task<void> {
    Runtime runtime;
    // It cannot connect at all, so this is all there is to wait for.
    runtime.limits.connect = c.mode == "never-answers" ? 500ms : 30s;
    runtime.limits.silent_probe = 200ms;
    runtime.limits.pages = 20;
    auto options = empty_options();
    // Started again on use, so that nobody waits for a pause; by itself: FlappingProcess below.
    options.keep_connected = false;
    options.config->servers = {restless("odd", c.mode, folder.path(), c.number)};
    Event ended;
    bool connected = false;
    options.on_event = [&](const HostEvent& event) {
      if (const auto* status = std::get_if<ServerStatus>(&event)) {
        connected = status->state == ServerState::connected;
        if (!connected) ended.notify_all();
      }
    };
    auto host = make_host(std::move(options), runtime);
    int answered = 0;
    std::map<std::string, int> failed;  // by number: 1 when it may have been carried out
    for (int n = 1; n <= 6; ++n) {
      auto result = co_await as_result(host.call("odd/count", Json{{"n", n}}, {.total = 60s}));
      while (c.after_its_end && connected) co_await ended.wait();
      if (result) {
        ++answered;
        EXPECT_EQ(std::get<TextContent>(result->content.at(0)).text, std::to_string(n));
        continue;
      }
      const auto& error = result.error();
      EXPECT_TRUE(error.carried_out().has_value()) << error.message();
      EXPECT_THAT(error.message(), ContainsRegex(c.reason));
      failed[std::to_string(n)] = error.carried_out() == CarriedOut::unknown ? 1 : 0;
    }
    EXPECT_GE(answered, c.least_answered);
    for (const auto& status : host.status()) {
      if (status.error) EXPECT_FALSE(status.error->message().empty());
    }
    co_await host.stop();
    std::map<std::string, int> counted;
    for (const auto& line : lines_of(folder.path() + "/calls")) ++counted[line];
    for (const auto& [number, times] : counted) {
      EXPECT_EQ(times, 1) << "call " << number << " was carried out twice";
      if (failed.contains(number)) EXPECT_EQ(failed[number], 1) << "call " << number << " says it was not carried out";
    }
  });
  EXPECT_LE(lines_of(folder.path() + "/starts").size(), c.most_starts);
  EXPECT_THAT(own_children(), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Process, RestlessServers,
    testing::Values(
        Case{"good", "", 6, "", 1}, Case{"flaps", "300", 1, "odd", 12, true}, Case{"differs", "", 6, "", 1},
        Case{"grows", "", 6, "", 1},
        // The first bytes are the refusal of the newer protocol; it gets no further than the answer to `initialize`.
        Case{"dies-after", "150", 0, "odd.*(status 9|ended|closed|out of bytes)", 40},
        Case{"dies-after", "600", 0, "odd.*(status 9|ended|closed|out of bytes)", 40},
        Case{"never-answers", "", 0, "odd.*(within|limit|not answer|no answer)", 12},
        Case{"one-answer", "", 6, "", 6, true}, Case{"other-era", "", 6, "", 12, true}),
    [](const auto& info) {
      auto name = info.param.mode + info.param.number;
      std::erase(name, '-');
      return name;
    });

// N3 with a real process; the minute is in tests/simulation/flap_test.cpp.
TEST(FlappingProcess, LeavesTheToolListAsItIs) {
  TemporaryDirectory folder, other;
  run_task([&]() -> Task<void> {
    Event happened;
    int connected = 0;
    auto options = empty_options();
    options.keep_connected = true;
    options.config->servers = {restless("flaps", "flaps", folder.path(), "1000"),
                               restless("steady", "good", other.path())};
    options.on_event = [&](const HostEvent& event) {
      const auto* status = std::get_if<ServerStatus>(&event);
      if (!status || status->name != "flaps") return;
      connected += status->state == ServerState::connected;
      happened.notify_all();
    };
    auto host = make_host(std::move(options), Runtime{});
    co_await host.start();
    const auto before = tool_list_text(*host.catalog());
    EXPECT_THAT(before, testing::HasSubstr("mcp__flaps__count"));
    // Whenever it went or came, until it has come three times, which means that it has died twice.
    int n = 0;
    while (connected < 3) {
      co_await happened.wait();
      EXPECT_EQ(tool_list_text(*host.catalog()), before);
      auto result = co_await as_result(host.call("steady/count", Json{{"n", ++n}}, {.total = 20s}));
      EXPECT_TRUE(result.has_value());
      EXPECT_EQ(tool_list_text(*host.catalog()), before);
    }
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay::test
