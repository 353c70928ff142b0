// Rows of docs/requirements.md: C2, C4.
// Variables that settings files set: which count, whom they reach, and whom not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/expand.h"
#include "inspect/explanation.h"
#include "servers/load.h"
#include "settings/settings_file.h"
#include "support/load_home.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SettingsVariables : public test::LoadHome {
 protected:
  // "VALUE from FILE", or what the process was started with.
  std::string meaning(std::string_view name) {
    const auto config = load_servers(request);
    const auto found = std::ranges::find(config.environment, name, &SettingsVariable::name);
    if (found == config.environment.end()) return variables_of(config, request.variables)(name).value_or("");
    EXPECT_EQ(variables_of(config, request.variables)(name), found->value);
    return found->value + " from " + found->file;
  }
  static std::string env(std::string_view value) { return R"({"env": {"V": ")" + std::string(value) + R"("}})"; }
};

// compat: B6.19
TEST_F(SettingsVariables, TheHighestFileCountsAndEveryFileOverridesTheShell) {
  variables["V"] = "shell";
  EXPECT_EQ(meaning("V"), "shell");
  tree.file("home/.claude.json", env("claude.json"));
  EXPECT_EQ(meaning("V"), "claude.json from " + path("home/.claude.json"));
  tree.file("home/.claude/settings.json", env("user"));
  EXPECT_EQ(meaning("V"), "user from " + path("home/.claude/settings.json"));
  tree.file("home/.config/patchbay/config.json", R"({"settings": )" + env("own") + "}");
  EXPECT_EQ(meaning("V"), "own from " + path("home/.config/patchbay/config.json"));
  request.settings = {env("flag"), env("later flag")};
  EXPECT_EQ(meaning("V"), "later flag from settings");
  tree.file("etc/managed-settings.json", env("managed"));
  EXPECT_EQ(meaning("V"), "managed from " + path("etc/managed-settings.json"));
  tree.file("etc/managed-settings.d/10.json", env("later managed"));
  EXPECT_EQ(meaning("V"), "later managed from " + path("etc/managed-settings.d/10.json"));
}

TEST_F(SettingsVariables, AFileInsideTheRepositorySetsNone) {
  tree.file("repo/.claude/settings.json", env("project"));
  tree.file("repo/.claude/settings.local.json", env("local"));
  EXPECT_THAT(load_servers(request).environment, IsEmpty());
}

TEST_F(SettingsVariables, EntriesUseThemAndAreWarnedAboutNoVariableThatIsSetThere) {
  tree.file("home/.claude/settings.json", R"({"env": {"HOST": "example.com"}})");
  tree.file("home/.claude.json", R"({"mcpServers": {"s": {"type": "http", "url": "https://${HOST}/mcp"}}})");
  const auto config = load_servers(request);
  EXPECT_THAT(config.problems, IsEmpty());
  ASSERT_EQ(config.servers.size(), 1u);
  EXPECT_EQ(expand_server(config.servers[0], variables_of(config, request.variables)).url, "https://example.com/mcp");
}

TEST_F(SettingsVariables, TheyDoNotMoveWhereFilesAreLookedFor) {
  request.home.reset();
  variables["HOME"] = path("home");
  tree.file("home/.claude/settings.json",
            R"({"env": {"HOME": "/nowhere", "CLAUDE_CONFIG_DIR": "/nowhere", "XDG_CONFIG_HOME": "/nowhere"}})");
  tree.file("home/.config/patchbay/config.json", R"({"mcpServers": {"mine": {"command": "x"}}})");
  const auto config = load_servers(request);
  ASSERT_EQ(config.servers.size(), 1u);
  EXPECT_EQ(config.servers[0].name, "mine");
  EXPECT_EQ(config.home, path("home"));
}

// An organisation's list means what the organisation and the start of the program say.
TEST_F(SettingsVariables, AnOrganisationsListsDoNotSeeTheUsers) {
  variables["HOST"] = "good.example";
  tree.file("etc/managed-settings.json", R"({"allowedMcpServers": [{"serverUrl": "https://${HOST}/*"}]})");
  tree.file("home/.claude/settings.json", R"({"env": {"HOST": "evil.example"}})");
  tree.file("home/.claude.json", R"({"mcpServers": {
    "evil": {"type": "http", "url": "https://${HOST}/mcp"},
    "good": {"type": "http", "url": "https://good.example/mcp"}}})");
  const auto config = load_servers(request);
  ASSERT_EQ(config.servers.size(), 2u);
  EXPECT_EQ(config.servers[0].standing, ServerStanding::policy);
  EXPECT_EQ(config.servers[1].standing, ServerStanding::active);
}

TEST(SettingsEnv, NumbersAndTruthAreTextsAndTheRestIsReported) {
  const auto layer =
      parse_settings(R"({"env": {"A": 1, "B": true, "C": "x", "D": null, "E": [1], "F=G": "x", "": "x"}})",
                     SettingsSource::user, "/f");
  EXPECT_THAT(layer.env, ElementsAre(VariableSetting{"A", "1", {1, 10}}, VariableSetting{"B", "true", {1, 18}},
                                     VariableSetting{"C", "x", {1, 29}}));
  ASSERT_EQ(layer.problems.size(), 4u);
  EXPECT_THAT(layer.problems[0].text(), HasSubstr("\"env.D\" must be a string, found null; it is ignored"));
  EXPECT_THAT(layer.problems[2].text(), HasSubstr("\"F=G\" in \"env\" is ignored: a variable cannot have this name"));
  EXPECT_THAT(parse_settings(R"({"env": 5})", SettingsSource::user, "/f").problems.front().text(),
              HasSubstr("\"env\" must be an object"));
}

TEST_F(SettingsVariables, WhyNamesTheFileOfAVariableThatTheEntryUses) {
  tree.file("home/.claude/settings.json", R"({"env": {"HOST": "example.com", "OTHER": "x"}})");
  tree.file("home/.claude.json", R"({"mcpServers": {"s": {"type": "http", "url": "https://${HOST}/mcp"}}})");
  const auto config = load_servers(request);
  const auto why = explain_server(config, config.servers.at(0), "");
  ASSERT_EQ(why.notes.size(), 1u);
  EXPECT_THAT(why.notes[0].text, HasSubstr("HOST has the value that \"env\" in " + path("home/.claude/settings.json")));
}

}  // namespace
}  // namespace patchbay
