// A server that is not there is told from the files: nothing is started for a slip. N6 X1.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/places.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::Household;
using test::json_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Two servers that leave a file behind when they are started.
class NamedServer : public testing::Test {
 protected:
  NamedServer() {
    for (const std::string name : {"docs", "my-files"}) {
      const auto added = house.run({"add", "--scope", "user", name, "--", "/bin/sh", "-c",
                                    "touch '" + mark() + "'; exec '" + test::built("mode-server") + "' good"});
      EXPECT_EQ(added.code, 0) << added.err;
    }
  }

  std::string mark() const { return (house.tree.path() / "started").string(); }

  Household house;
};

TEST_F(NamedServer, AMisspeltNameIsReportedAtOnceAndStartsNothing) {
  struct Case {
    std::vector<std::string> words;
    const char* said;
  };
  const Case cases[] = {
      {{"tools", "dosc"}, "there is no server called \"dosc\"; did you mean \"docs\"?"},
      {{"tools", "echo"}, "the servers are docs, my-files; if it is a tool: patchbay tools SERVER echo"},
      {{"tools", "dosc/echo"}, "there is no server called \"dosc\"; did you mean \"docs\"?"},
      {{"tools", "mcp__dosc__echo"}, "there is no server called \"dosc\"; did you mean \"docs\"?"},
      {{"call", "dosc/echo", "text=x"}, "there is no server called \"dosc\"; did you mean \"docs\"?"},
      {{"call", "mcp__dosc__echo", "text=x"}, "there is no server called \"dosc\"; did you mean \"docs\"?"},
      {{"call", "my-fiels/echo", "text=x"}, "did you mean \"my-files\"?"},
      {{"call", "elsewhere/echo", "text=x"}, "there is no server called \"elsewhere\"; the servers are docs, my-files"},
      {{"call", "patchbay/read_file", "path=x"}, "to use it in addition: patchbay --builtin"},
      {{"tools", "patchbay"}, "to use it in addition: patchbay --builtin"},
      {{"resources", "dosc"}, "did you mean \"docs\"?"},
      {{"prompts", "dosc"}, "did you mean \"docs\"?"},
      {{"skills", "dosc"}, "did you mean \"docs\"?"},
      {{"skills", "dosc", "a-skill"}, "did you mean \"docs\"?"},
      {{"read", "dosc", "file:///a"}, "did you mean \"docs\"?"},
      {{"prompt", "dosc/greet", "who=x"}, "did you mean \"docs\"?"},
      {{"prompt", "mcp__dosc__greet", "who=x"}, "did you mean \"docs\"?"},
      {{"get", "dosc", "--check"}, "did you mean \"docs\"?"},
      {{"why", "dosc", "--check"}, "did you mean \"docs\"? If it is a tool: patchbay why SERVER/dosc\n"},
      {{"why", "dosc/echo", "--check"}, "did you mean \"docs/echo\"?"},
  };
  for (const auto& one : cases) {
    const auto result = house.run(one.words);
    const auto label = testing::PrintToString(one.words);
    EXPECT_EQ(result.code, 2) << label;
    EXPECT_EQ(result.out, "") << label;
    EXPECT_THAT(result.err, AllOf(HasSubstr(one.said), Not(HasSubstr("[mcp]")))) << label;
    EXPECT_FALSE(fs::exists(mark())) << label;
  }
}

TEST_F(NamedServer, ForScriptsItIsAnErrorOfTheArguments) {
  const auto result = house.run({"call", "dosc/echo", "text=x", "--json"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(json_of(result)["error"]["code"], Json("invalid_argument"));
  EXPECT_EQ(result.err, "");
}

TEST_F(NamedServer, WhatOnlyServersKnowIsLeftToThem) {
  EXPECT_EQ(house.run({"call", "docs/echo", "text=x"}).out, "x\n");
  EXPECT_EQ(house.run({"call", "mcp__my-files__echo", "text=x"}).out, "x\n");
  EXPECT_TRUE(fs::exists(mark()));
  // A bare name, which both have.
  const auto both = house.run({"call", "echo", "text=x"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("several servers have a tool called \"echo\""));
  for (const auto& words : {std::vector<std::string>{"prompt", "docs.greet", "who=Ada"},
                            {"prompt", "docs", "greet", "who=Ada"},
                            {"prompt", "docs/greet", "who=Ada"}}) {
    EXPECT_EQ(house.run(words).out, "user: Hello Ada\n") << words[1];
  }
  // Prompts may have slashes in their names.
  EXPECT_THAT(house.run({"prompt", "team/greet"}).err, HasSubstr("there is no prompt called \"team/greet\""));
}

TEST(NamedServerCut, ANameThatWasCutToFitIsLeftToTheServers) {
  Household house;
  const std::string server(60, 's');
  ASSERT_EQ(house.run({"add", "--scope", "user", server, "--", test::built("mode-server"), "good"}).code, 0);
  const auto tools = json_of(house.run({"tools", "--json"}));
  const auto& names = tools["tools"].as_array();
  ASSERT_FALSE(names.empty());
  const std::string name(names.front()["name"].as_text());
  EXPECT_EQ(name.size(), 64u);
  EXPECT_EQ(house.run({"tools", name}).code, 0) << name;
}

}  // namespace
}  // namespace patchbay
