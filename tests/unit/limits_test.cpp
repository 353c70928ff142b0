// L4: the limits people set by environment variables.
#include "entries/limits.h"

#include <map>

#include <gtest/gtest.h>

#include "base/timeout.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

Limits with(std::map<std::string, std::string, std::less<>> variables) {
  return limits_from([variables](std::string_view name) -> std::optional<std::string> {
    auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Limits, WithoutVariablesTheDefaultsHold) {
  const auto limits = with({});
  EXPECT_EQ(limits.connect, 30s);
  EXPECT_EQ(limits.tool, 100'000s);
  EXPECT_EQ(limits.list, 15s);
  EXPECT_EQ(limits.request, 60s);
  EXPECT_EQ(limits.local_starts, 3u);
  EXPECT_EQ(limits.remote_starts, 20u);
}

// compat: B6.1, B6.2, B6.8
TEST(Limits, VariablesAreReadOrLeftAlone) {
  struct Row {
    std::string text;
    std::int64_t connect;
    std::int64_t tool;
    std::size_t starts;
  };
  for (const auto& row : std::vector<Row>{
           {"5000", 5000, 5000, 5000},
           {"1", 1, 1000, 1},  // a tool limit under a second is a mistake of units
           {"0", 30'000, 100'000'000, 3},
           {"-1", 30'000, 100'000'000, 3},
           {"", 30'000, 100'000'000, 3},
           {"5s", 30'000, 100'000'000, 3},
           {" 5", 30'000, 100'000'000, 3},
           {"5.5", 30'000, 100'000'000, 3},
           {"99999999999999999999", 30'000, 100'000'000, 3},
       }) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(with({{"MCP_TIMEOUT", row.text}}).connect.count(), row.connect);
    EXPECT_EQ(with({{"MCP_TOOL_TIMEOUT", row.text}}).tool.count(), row.tool);
    EXPECT_EQ(with({{"MCP_SERVER_CONNECTION_BATCH_SIZE", row.text}}).local_starts, row.starts);
  }
  EXPECT_EQ(with({{"MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", "7"}}).remote_starts, 7u);
}

// compat: B3.7
TEST(Limits, TheTimeOfARequestIsThatOfACallOfHttpAndSseWithoutATimeout) {
  ServerConfig server;
  server.request_timeout = 2s;
  for (const auto kind : {ServerKind::http, ServerKind::sse, ServerKind::stdio, ServerKind::websocket}) {
    server.kind = kind;
    server.timeout.reset();
    const bool alias = kind == ServerKind::http || kind == ServerKind::sse;
    EXPECT_EQ(call_limit(server), alias ? std::optional<std::chrono::milliseconds>(2s) : std::nullopt);
    server.timeout = 5s;
    EXPECT_EQ(call_limit(server), 5s);
  }
}

// compat: B6.3
TEST(Limits, WithoutTheVariableACallMayBeSilent) {
  auto idle = [](std::optional<std::string> text) {
    return idle_limit_from(
        [text](std::string_view name) { return name == "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT" ? text : std::nullopt; });
  };
  EXPECT_EQ(idle(std::nullopt), std::nullopt);
  EXPECT_EQ(idle("0"), std::nullopt);
  EXPECT_EQ(idle("soon"), std::nullopt);
  EXPECT_EQ(idle("5"), 1s);
  EXPECT_EQ(idle("90000"), 90s);
}

TEST(Limits, TheLongestWaitDoesNotBecomeTheShortest) {
  const auto limits = with({{"MCP_TIMEOUT", "9223372036854775807"}, {"MCP_TOOL_TIMEOUT", "9223372036854775807"}});
  EXPECT_GT(as_duration(limits.connect), 1h);
  EXPECT_GT(as_duration(limits.tool), 1h);
  EXPECT_EQ(as_duration(std::chrono::milliseconds::max()), Duration::max());
  EXPECT_EQ(as_duration(5ms), 5ms);
  EXPECT_EQ(as_duration(-5ms), -5ms);
}

}  // namespace
}  // namespace patchbay
