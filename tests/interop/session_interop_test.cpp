// A real server with a state from npm, used from a shell through a session, by two terminals. N9.
// ./test installs it and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <cstdlib>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/session_house.h"
#include "support/terminal.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}

std::vector<std::string> thought(int number) {
  return {"call",
          "thinking/sequentialthinking",
          "thought=step " + std::to_string(number),
          "nextThoughtNeeded:=true",
          "thoughtNumber:=" + std::to_string(number),
          "totalThoughts:=5"};
}

std::string history_of(const CommandResult& result) {
  const auto found = result.out.find("\"thoughtHistoryLength\": ");
  return found == std::string::npos ? result.out + result.err : result.out.substr(found + 24, 1);
}

// N9: the server keeps its thoughts in its own memory, as a browser keeps its page.
TEST(SessionWithARealServer, KeepsItsStateFromCommandToCommandAndIsSharedByTwoTerminals) {
  const SessionHouse house;
  const auto script =
      environment("PATCHBAY_NPM_DIR") + "/node_modules/@modelcontextprotocol/server-sequential-thinking/dist/index.js";
  ASSERT_EQ(house.run({"add", "thinking", "--", environment("PATCHBAY_NODE"), script}).code, 0);
  EXPECT_EQ(history_of(house.run(thought(1))), "1");
  EXPECT_EQ(history_of(house.run(thought(2))), "1");
  house.start();
  EXPECT_EQ(history_of(house.run(thought(1))), "1");
  EXPECT_EQ(history_of(house.run(thought(2))), "2");
  // Another terminal.
  auto words = thought(3);
  words.insert(words.begin(), built("patchbay"));
  Terminal second(words, house.project(), house.options().env);
  EXPECT_EQ(second.wait_for_end(), 0) << second.seen();
  EXPECT_THAT(second.seen(), HasSubstr("\"thoughtHistoryLength\": 3"));
  // Both at once.
  CommandResult left, right;
  {
    const std::jthread one([&] { left = house.run(thought(4)); });
    const std::jthread two([&] { right = house.run(thought(5)); });
  }
  EXPECT_THAT((std::vector{history_of(left), history_of(right)}), testing::UnorderedElementsAre("4", "5"));
}

}  // namespace
}  // namespace patchbay::test
