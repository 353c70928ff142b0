// A real server from npm, recorded and replayed: the same catalog and the same answer. N8.
// ./test installs it and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/session_house.h"
#include "text/shell_word.h"

namespace patchbay::test {
namespace {

using testing::IsEmpty;
using testing::Not;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}

// N8: the server need not be there any more.
TEST(RecordedRealServer, ReplayedItHasTheSameCatalogAndGivesTheSameAnswer) {
  const SessionHouse house;
  const auto script =
      environment("PATCHBAY_NPM_DIR") + "/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";
  house.tree.file("project/notes/todo.md", "water the plants\n");
  ASSERT_EQ(house.run({"add", "files", "--", environment("PATCHBAY_NODE"), script, house.project() + "/notes"}).code,
            0);
  house.start();
  const auto tools = json_of(house.run({"tools", "files", "--json"}));
  const std::vector<std::string> call{"call", "files/read_text_file", "path=" + house.project() + "/notes/todo.md",
                                      "--json"};
  const auto called = house.run(call);
  ASSERT_EQ(called.code, 0) << called.err;
  const auto file = house.project() + "/files.jsonl";
  ASSERT_EQ(house.run({"record", "export", "files", "-o", file}).code, 0);
  ASSERT_EQ(house.run({"session", "stop"}).code, 0);
  house.tree.file("project/notes/todo.md", "another text\n");

  const auto replayed = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--strict-mcp-config", "--mcp-server",
                                 "files=" + shell_word(built("patchbay")) + " replay " + shell_word(file)});
    return house.run(std::move(words));
  };
  const auto again = json_of(replayed({"tools", "files", "--json"}));
  EXPECT_EQ(again["tools"], tools["tools"]);
  EXPECT_THAT(tools["tools"].items(), Not(IsEmpty()));
  EXPECT_EQ(replayed(call).out, called.out);
}

}  // namespace
}  // namespace patchbay::test
