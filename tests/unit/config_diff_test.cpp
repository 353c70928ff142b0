// Rows of docs/requirements.md: C11.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/diff.h"
#include "entries/parse.h"
#include "host/config/config_watch.h"

namespace patchbay {
namespace {

using testing::ElementsAre;

std::vector<ServerConfig> servers(std::string_view text, std::string_view file = "f",
                                  ConfigScope scope = ConfigScope::user) {
  return parse_servers(text, {std::string(file), 0, scope, trust_of(scope), 0}).servers;
}

// compat: C11.a
TEST(ServerDiff, SaysWhatIsDifferentAndNothingElse) {
  auto variables = [](std::string_view) { return std::nullopt; };
  const auto before = servers(R"({"a":{"command":"x"},"b":{"command":"x","args":["1"]},"c":{"command":"x"},
    "d":{"type":"http","url":"https://h","headers":{"A":"1","B":"2"}}})");
  struct Case {
    std::string_view label;
    std::vector<ServerConfig> after;
    ServerDiff diff;
  };
  auto disabled = before;
  disabled[0].standing = ServerStanding::disabled;
  auto approved = before;
  approved[1].approved = true;
  auto reworded = before;
  reworded[0].reason = "another text";
  reworded[0].warnings = {"w"};
  reworded[0].shadows.push_back({});
  for (const auto& c : std::initializer_list<Case>{
           {"nothing", before, {}},
           {"other order, other file, other spelling",
            servers("{\n\n\"d\":{\"transport\":\"streamable-http\",\"headers\":{\"B\":\"2\",\"A\":\"1\"},\"url\":"
                    "\"https://h\"},\n"
                    "\"c\":{\"command\":\"x\",\"disabled\":false},\"b\":{\"args\":[\"1\"],\"command\":\"x\"},\"a\":{"
                    "\"command\":\"x\"}}",
                    "g"),
            {}},
           {"texts for people", reworded, {}},
           {"added, removed and changed",
            servers(R"({"b":{"command":"x","args":["2"]},"c":{"command":"x"},
              "d":{"type":"http","url":"https://h","headers":{"A":"1","B":"2"}},"e":{"command":"y"}})"),
            {{"e"}, {"a"}, {"b"}}},
           {"a header",
            servers(R"({"a":{"command":"x"},"b":{"command":"x","args":["1"]},"c":{"command":"x"},
              "d":{"type":"http","url":"https://h","headers":{"A":"1","B":"3"}}})"),
            {{}, {}, {"d"}}},
           {"disabled", disabled, {{}, {}, {"a"}}},
           {"approved", approved, {{}, {}, {"b"}}},
           {"none left", {}, {{}, {"a", "b", "c", "d"}, {}}},
       }) {
    EXPECT_EQ(diff_servers(before, c.after, variables, variables), c.diff) << c.label;
  }
}

TEST(ServerDiff, ValuesOfVariablesBelongToAServer) {
  auto entry = servers(R"({"a":{"command":"${V}"}})");
  std::string value = "one";
  auto variables = [&](std::string_view) { return value; };
  EXPECT_TRUE(diff_servers(entry, entry, variables, variables).empty());
  auto of_plugin = entry;
  of_plugin[0].variables = {{"V", "two"}};
  EXPECT_THAT(diff_servers(entry, of_plugin, variables, variables).changed, ElementsAre("a"));
}

TEST(WatchPlan, ADirectoryIsWatchedForEveryFileWhetherItIsThereOrNot) {
  const std::set<std::string> directories{"/", "/h", "/h/.claude", "/h/.claude/plugins", "/w"};
  auto plan = watch_plan({"/h/.claude.json", "/h/.claude/settings.json", "/h/.config/patchbay/config.json",
                          "/w/.mcp.json", "/w/.claude/settings.json", "/h/.claude/plugins"},
                         [&](const std::string& path) { return directories.contains(path); });
  EXPECT_EQ(plan, (WatchPlan{{"/h", {".claude.json", ".config"}},
                             {"/h/.claude", {"plugins", "settings.json"}},
                             {"/h/.claude/plugins", {""}},
                             {"/w", {".claude", ".mcp.json"}}}));
}

}  // namespace
}  // namespace patchbay
