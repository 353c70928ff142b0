#include "catalog/tool_filter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

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
