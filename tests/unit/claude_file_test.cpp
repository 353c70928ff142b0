// Rows of docs/requirements.md: C1, C5.
#include "settings/claude_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string file = "/home/me/.claude.json";
const std::vector<std::string> projects{"/p/sub", "/p"};

// compat: B1.1, B1.2, B1.8, B1.9
TEST(ClaudeFile, WhatItSaysAboutServersIsReadAndNothingElse) {
  auto claude = read_claude_file(R"({
  "numStartups": 12, "history": [{"display": "x", "pastedContents": {}}],
  "mcpServers": {"u": {"command": "user"}},
  "projects": {
    "/other": {"mcpServers": {"o": 3}},
    "/p": {
      "allowedTools": [1, [2]],
      "mcpServers": {"l": {"command": "local"}, "b": {"command": 1}},
      "disabledMcpServers": ["d", 7], "enabledMcpServers": ["e"],
      "enabledMcpjsonServers": ["yes"], "disabledMcpjsonServers": ["no"],
      "hasTrustDialogAccepted": true
    }
  }
})",
                                 file, projects);
  ASSERT_EQ(claude.user.servers.size(), 1u);
  EXPECT_EQ(claude.user.servers[0].origin, (ConfigOrigin{file, 3, ConfigScope::user, ConfigTrust::trusted, 18}));
  ASSERT_EQ(claude.projects.size(), 1u);
  const auto* project = claude.project("/p");
  ASSERT_NE(project, nullptr);
  ASSERT_EQ(project->local.servers.size(), 1u);
  EXPECT_EQ(project->local.servers[0].origin, (ConfigOrigin{file, 8, ConfigScope::local, ConfigTrust::trusted, 22}));
  EXPECT_THAT(project->disabled_servers, ElementsAre("d"));
  EXPECT_THAT(project->approved, ElementsAre("yes"));
  EXPECT_THAT(project->rejected, ElementsAre("no"));
  EXPECT_TRUE(project->trusted);
  ASSERT_EQ(claude.problems.size(), 1u);
  EXPECT_EQ(claude.problems[0].text(), file + ":8:66: MCP server \"b\": \"command\" must be a string, found a number");
  EXPECT_EQ(claude.project("/other"), nullptr);
}

TEST(ClaudeFile, WrongPartsAreProblemsWhenTheyMatter) {
  struct Case {
    std::string_view text, problem;
  };
  for (auto [text, problem] : std::initializer_list<Case>{
           {"[]", ":1:1: the file must be an object, found an array; fix the file"},
           {R"({"mcpServers":1})", ":1:15: \"mcpServers\" must be an object, found a number; fix the file"},
           {R"({"projects":[]})", ":1:13: \"projects\" must be an object, found an array; fix the file"},
           {R"({"projects":{"/p":1}})", ":1:19: the project \"/p\" must be an object, found a number; fix the file"},
           {R"({"projects":{"/p":{"disabledMcpServers":"x"}}})",
            ":1:41: \"disabledMcpServers\" must be an array of strings, found a string; fix the file"},
           {"", ":1:1: the file is empty, expected an object; fix the file"},
       }) {
    auto claude = read_claude_file(text, file, projects);
    ASSERT_EQ(claude.problems.size(), 1u) << text;
    EXPECT_EQ(claude.problems[0].text(), file + std::string(problem)) << text;
  }
  EXPECT_THAT(read_claude_file(R"({"projects":{"/q":1},"other":[{}]})", file, projects).problems, IsEmpty());
}

}  // namespace
}  // namespace patchbay
