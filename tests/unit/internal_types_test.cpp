// T5, T6, T7, T8: kinds of servers that only a program can add. Written in a file, by anybody,
// they are refused with the reason: no repository reaches an editor's or a vendor's token.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/parse.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Kind {
  std::string type;
  std::string reason;
};
const std::vector<Kind> kinds{
    {"sdk", "in its own process"},
    {"sse-ide", "lock files"},
    {"ws-ide", "lock files"},
    {"claudeai-proxy", "connector directory"},
};

TEST(InternalTypes, AreRefusedWithTheReasonHoweverTheyAreWritten) {
  for (const auto& [type, reason] : kinds) {
    for (const std::string& entry : {
             fmt::format(R"({{"type":"{}"}})", type),
             fmt::format(R"({{"transport":"{}"}})", type),
             fmt::format(R"({{"type":"{}","url":"http://127.0.0.1:1/sse","headers":{{"X":"y"}}}})", type),
             fmt::format(R"({{"type":"{}","command":"x"}})", type),
             fmt::format(R"({{"type":"http","transport":"{}","url":"http://h/"}})", type),
             fmt::format(R"({{"type":"{}","transport":"http","url":"http://h/"}})", type),
             fmt::format(R"({{"type":"{}","authToken":"t","ideName":"x"}})", type),
         }) {
      SCOPED_TRACE(entry);
      const auto parsed = parse_servers(fmt::format(R"({{"mcpServers":{{"bad":{},"good":{{"command":"x"}}}}}})", entry),
                                        {.file = ".mcp.json", .scope = ConfigScope::project});
      std::vector<std::string> names, errors;
      for (const auto& server : parsed.servers) names.push_back(server.name);
      for (const auto& problem : parsed.problems) {
        if (problem.severity == Severity::error) errors.push_back(problem.message);
      }
      EXPECT_THAT(names, ElementsAre("good"));
      EXPECT_THAT(errors, testing::Contains(AllOf(HasSubstr(fmt::format("\"{}\" cannot be used in a file", type)),
                                                  HasSubstr(reason))));
    }
  }
}

TEST(InternalTypes, NoFlagAndNoOtherSpellingIsAWayAround) {
  for (const auto& [type, reason] : kinds) {
    LoadRequest request;
    request.cwd = "/";
    request.strict = true;
    request.home = "/nonexistent";
    request.enterprise_dir = "/nonexistent";
    request.mcp_configs = {fmt::format(R"({{"mcpServers":{{"bad":{{"type":"{}","url":"http://h/"}}}}}})", type)};
    const auto loaded = load_servers(request);
    const auto only_broken = testing::Each(testing::Field(&ServerConfig::standing, ServerStanding::broken));
    EXPECT_THAT(loaded.servers, only_broken);
    ASSERT_EQ(loaded.problems.size(), 1u);
    EXPECT_THAT(loaded.problems.front().message, HasSubstr(reason));
    request.mcp_configs.clear();
    request.mcp_servers = {fmt::format(R"(bad={{"type":"{}","url":"http://h/"}})", type)};
    EXPECT_THAT(load_servers(request).servers, only_broken);
    for (const std::string& other :
         {" " + type, type + " ", "X" + type, std::string(1, static_cast<char>(type[0] - 32)) + type.substr(1)}) {
      const auto parsed = parse_servers(
          fmt::format(R"({{"mcpServers":{{"bad":{{"type":"{}","url":"http://h/"}}}}}})", other), {.file = "f"});
      EXPECT_THAT(parsed.servers, IsEmpty()) << other;
    }
  }
}

}  // namespace
}  // namespace patchbay
