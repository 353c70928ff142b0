// Rows of docs/requirements.md: C1, C5, C6.
#include "settings/own_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string file = "/home/me/.config/patchbay/config.json";

std::vector<std::string> texts(const OwnFile& own) {
  std::vector<std::string> out;
  for (const auto& problem : own.problems) out.push_back(problem.text().substr(file.size() + 1));
  return out;
}

TEST(OwnFile, EveryPartIsRead) {
  auto own = read_own_file(R"({
  "version": 1, // ours
  "mcpServers": {"u": {"command": "user"}},
  "disabledServers": ["x"],
  "enabledServers": ["on"],
  "projects": {
    "/p": {
      "mcpServers": {"l": {"command": "local"}},
      "approved": {"a": "sha256:1"},
      "rejected": {"r": "sha256:2"},
      "trusted": true,
      "disabledServers": ["y"],
      "enabledServers": ["z"],
    },
    "/q": {}
  },
  "settings": {"enableAllProjectMcpServers": true}
})",
                           file);
  EXPECT_THAT(own.problems, IsEmpty());
  EXPECT_TRUE(own.readable);
  EXPECT_EQ(own.version, 1);
  EXPECT_FALSE(own.is_newer());
  ASSERT_EQ(own.user.servers.size(), 1u);
  EXPECT_EQ(own.user.servers[0].origin, (ConfigOrigin{file, 3, ConfigScope::user, ConfigTrust::trusted, 18}));
  EXPECT_THAT(own.disabled_servers, ElementsAre("x"));
  EXPECT_THAT(own.enabled_servers, ElementsAre("on"));
  ASSERT_EQ(own.projects.size(), 2u);
  const auto* project = own.project("/p");
  ASSERT_NE(project, nullptr);
  ASSERT_EQ(project->local.servers.size(), 1u);
  EXPECT_EQ(project->local.servers[0].origin, (ConfigOrigin{file, 8, ConfigScope::local, ConfigTrust::trusted, 22}));
  EXPECT_EQ(project->approved, (NamedTexts{{"a", "sha256:1"}}));
  EXPECT_EQ(project->rejected, (NamedTexts{{"r", "sha256:2"}}));
  EXPECT_TRUE(project->trusted);
  EXPECT_THAT(project->disabled_servers, ElementsAre("y"));
  EXPECT_THAT(project->enabled_servers, ElementsAre("z"));
  EXPECT_FALSE(own.project("/q")->trusted);
  EXPECT_EQ(own.project("/"), nullptr);
}

TEST(OwnFile, SettingsKeepTheirPlaceInTheFile) {
  std::string text = "{\n  \"version\": 1,\n  \"settings\": {\n    \"k\": 1\n  }\n}\n";
  auto own = read_own_file(text, file);
  EXPECT_EQ(own.settings.size(), text.size());
  EXPECT_EQ(own.settings, " \n               \n              {\n    \"k\": 1\n  }\n \n");
  EXPECT_EQ(read_own_file("{}", file).settings, "");
}

TEST(OwnFile, NothingIsAnEmptyFile) {
  EXPECT_EQ(read_own_file("", file), OwnFile{});
  EXPECT_EQ(read_own_file(" \n", file), OwnFile{});
  EXPECT_EQ(read_own_file("{}", file), OwnFile{});
}

TEST(OwnFile, AWrongPartIsAProblemAndTheOthersStay) {
  auto own = read_own_file(R"({"version": "1", "mcpServers": {"b": 1, "u": {"command": "user"}},
"disabledServers": ["x", 2], "projects": {"rel": {}, "/p": 3, "/q": {"mcpServers": [], "approved": {"a": 1, "b": "sha256:3"},
"rejected": [], "trusted": 1, "disabledServers": {}, "trust": true}},
"settings": [], "setings": {}, "other": 1})",
                           file);
  EXPECT_TRUE(own.readable);
  EXPECT_THAT(texts(own),
              ElementsAre("1:13: \"version\" must be a whole number that is at least 1, found \"1\"; fix the file",
                          "1:38: MCP server \"b\": expected an object with a \"command\" or a \"url\", found a number",
                          "2:26: \"disabledServers[1]\" must be a string, found a number; fix the file",
                          "2:43: the project \"rel\" is ignored: its name must be an absolute path",
                          "2:60: the project \"/p\" must be an object, found a number; fix the file",
                          "2:84: \"mcpServers\" must be an object, found an array; fix the file",
                          "2:106: the entry \"a\" of \"approved\" must be a string, found a number; fix the file",
                          "3:13: \"rejected\" must be an object of strings, found an array; fix the file",
                          "3:28: \"trusted\" must be true or false, found a number; fix the file",
                          "3:50: \"disabledServers\" must be an array of strings, found an object; fix the file",
                          "3:54: unknown key \"trust\" has no effect; did you mean \"trusted\"?",
                          "4:13: \"settings\" must be an object, found an array; fix the file",
                          "4:17: unknown key \"setings\" has no effect; did you mean \"settings\"?",
                          "4:32: unknown key \"other\" has no effect"));
  EXPECT_EQ(own.user.servers.size(), 1u);
  EXPECT_THAT(own.disabled_servers, ElementsAre("x"));
  ASSERT_EQ(own.projects.size(), 1u);
  EXPECT_EQ(own.projects[0].approved, (NamedTexts{{"b", "sha256:3"}}));
  EXPECT_FALSE(own.projects[0].trusted);
}

TEST(OwnFile, ANewerVersionIsReadWithAWarning) {
  auto own = read_own_file(R"({"version": 2, "mcpServers": {"u": {"command": "user"}}, "novel": 1})", file);
  EXPECT_TRUE(own.is_newer());
  EXPECT_EQ(own.user.servers.size(), 1u);
  EXPECT_THAT(texts(own),
              ElementsAre("1:13: the file has version 2, but this program knows only version 1: it uses what it "
                          "understands and does not change the file; to change it, use a newer patchbay"));
  EXPECT_EQ(own.problems[0].severity, Severity::warning);
}

TEST(OwnFile, ATextThatIsNotJsonIsOneProblem) {
  auto own = read_own_file("{\n\"version\" 1}", file);
  EXPECT_FALSE(own.readable);
  ASSERT_EQ(own.problems.size(), 1u);
  EXPECT_EQ(own.problems[0].line, 2u);
  EXPECT_FALSE(read_own_file("[]", file).readable);
}

}  // namespace
}  // namespace patchbay
