// A real server from npm, locked and verified: what it says twice is the same, and another server is not. N5
// ./test installs it and sets PATCHBAY_NPM_DIR and PATCHBAY_NODE.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run this through ./test";
  return value ? value : "";
}

void declare(const Household& house, const std::string& script, const std::vector<std::string>& more) {
  Json args = Json::array({environment("PATCHBAY_NPM_DIR") + "/node_modules/@modelcontextprotocol/" + script});
  for (const auto& one : more) args.push_back(one);
  const Json entry{{"command", environment("PATCHBAY_NODE")}, {"args", std::move(args)}};
  house.tree.file("project/.mcp.json", server_file({{"real", entry}}));
  ASSERT_EQ(house.run({"approve", "real"}).code, 0);
}

TEST(PinsWithARealServer, WhatIsLockedIsVerified) {
  const Household house;
  declare(house, "server-everything/dist/index.js", {"stdio"});
  const auto locked = house.run({"lock"});
  EXPECT_EQ(locked.code, 0) << locked.err;
  const auto same = house.run({"verify"});
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  // Used twice, and its tools are the ones they were.
  for (int i = 0; i < 2; ++i) {
    const auto called = house.run({"call", "real/echo", "message=hello"});
    EXPECT_EQ(called.code, 0) << called.err;
    EXPECT_THAT(called.out, HasSubstr("hello"));
  }
  EXPECT_EQ(house.run({"pins", "show", "real"}).out, "");

  declare(house, "server-filesystem/dist/index.js", {house.project()});
  const auto other = house.run({"verify"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.out, HasSubstr("real: its entry is another one"));
  EXPECT_THAT(other.out, HasSubstr("real/echo: it is gone"));
  EXPECT_EQ(house.run({"call", "real/list_allowed_directories"}).code, 2) << "it is not in the lock file";
}

}  // namespace
}  // namespace patchbay::test
