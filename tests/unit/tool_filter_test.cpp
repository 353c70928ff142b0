#include "host/tool_filter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(ToolFilter, Globs) {
  struct Row {
    std::string pattern;
    std::string text;
    bool matches;
  };
  for (const auto& row : std::vector<Row>{
           {"echo", "echo", true},
           {"echo", "Echo", false},
           {"echo", "echo2", false},
           {"echo", "ech", false},
           {"", "", true},
           {"", "a", false},
           {"*", "", true},
           {"*", "anything", true},
           {"**", "x", true},
           {"get_*", "get_", true},
           {"get_*", "get_all", true},
           {"get_*", "forget_all", false},
           {"*_all", "get_all", true},
           {"*_all", "get_all_", false},
           {"a*b*c", "abc", true},
           {"a*b*c", "aXXbYYc", true},
           {"a*b*c", "aXXcYYb", false},
           {"a*bc", "abcbc", true},
           {"?", "a", true},
           {"?", "", false},
           {"?", "ab", false},
           {"a?c", "abc", true},
           {"a?*", "a", false},
           {"a?*", "ab", true},
           {"*?", "", false},
           {"[a]", "a", false},
           {"[a]", "[a]", true},
           {"a.c", "abc", false},
           {"a\\*", "a*", false},
           {"tool*", "tool", true},
           {"*x*", "axb", true},
           {"*x*", "ab", false},
       }) {
    EXPECT_EQ(matches_glob(row.pattern, row.text), row.matches) << row.pattern << " on " << row.text;
  }
}

// A name of a hostile server cannot make a pattern of the person's slow.
TEST(ToolFilter, ManyStarsTakeBoundedTime) {
  const std::string pattern = "*a*a*a*a*a*a*a*a*a*a*a*a*b";
  EXPECT_FALSE(matches_glob(pattern, std::string(20'000, 'a')));
}

TEST(ToolFilter, EntriesLetThroughWhatTheyNameAndNotWhatTheyTakeAway) {
  struct Row {
    std::optional<std::vector<std::string>> enabled;
    std::vector<std::string> disabled;
    std::string through;  // of read, write, list
  };
  for (const auto& row : std::vector<Row>{
           {{}, {}, "read write list"},
           {{{"read"}}, {}, "read"},
           {{{"read", "li*"}}, {}, "read list"},
           {{std::vector<std::string>{}}, {}, ""},
           {{}, {"write"}, "read list"},
           {{}, {"*"}, ""},
           {{{"*"}}, {"write"}, "read list"},
           {{{"write"}}, {"write"}, ""},
           {{{"unknown"}}, {}, ""},
       }) {
    ServerConfig config;
    config.enabled_tools = row.enabled;
    config.disabled_tools = row.disabled;
    std::string through;
    for (auto tool : {"read", "write", "list"}) {
      if (lets_through(config, tool)) through += (through.empty() ? "" : " ") + std::string(tool);
    }
    EXPECT_EQ(through, row.through);
  }
}

}  // namespace
}  // namespace patchbay
