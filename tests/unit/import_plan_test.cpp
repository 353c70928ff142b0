// Names, repetitions and secrets when entries are taken over; and where the files of others are.
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/places.h"
#include "import/plan.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

ImportedFile file_with(std::vector<std::pair<std::string, Json>> entries) {
  ImportedFile file{ImportClient::cursor, "/h/.cursor/mcp.json", {}, {}, {}};
  for (auto& [name, entry] : entries) file.entries.push_back({name, std::move(entry), 1, 1, {}});
  return file;
}

Json command(std::string_view text) { return {{"type", "stdio"}, {"command", text}}; }

ExistingEntry existing(std::string name, const Json& entry) { return {std::move(name), comparable_entry(entry)}; }

std::vector<std::string> shown(const std::vector<PlannedEntry>& plan) {
  std::vector<std::string> out;
  for (const auto& entry : plan) {
    out.push_back(std::string(to_string(entry.action)) + " " + entry.original + " as " + entry.name);
  }
  return out;
}

TEST(ImportPlan, NamesAreCorrected_AndClashesNumbered) {
  auto file = file_with({{"My Server", command("a")},
                         {"My.Server", command("b")},
                         {"fine-1", command("c")},
                         {"there", command("d")},
                         {"workspace", command("e")},
                         {"ünder", command("f")},
                         {"  ", command("g")}});
  ImportPlan plan(ConfigScope::user, {existing("there", command("other"))});
  const auto planned = plan.add(file);
  EXPECT_THAT(shown(planned), ElementsAre("add My Server as My_Server", "add My.Server as My_Server_1",
                                          "add fine-1 as fine-1", "add there as there_1",
                                          "add workspace as workspace_1", "add ünder as _nder", "skip    as   "));
  EXPECT_EQ(planned[0].reason,
            "\"My Server\" is not a valid name here (a name can only contain letters, digits, \"_\" and \"-\"), so it "
            "is called My_Server");
  EXPECT_EQ(planned[2].reason, "");
  EXPECT_EQ(planned[3].reason, "another server is called there");
}

// compat: B5.6
TEST(ImportPlan, ForClaudeDesktop_InvalidNamesAreSkippedAndClashesNumbered) {
  auto file = file_with({{"My Server", command("a")}, {"there", command("b")}, {"workspace", command("c")}});
  ImportPlan plan(ConfigScope::local, {existing("there", command("other"))}, ImportNames::refuse);
  const auto planned = plan.add(file);
  EXPECT_THAT(shown(planned),
              ElementsAre("skip My Server as My Server", "add there as there_1", "skip workspace as workspace"));
  EXPECT_EQ(planned[0].reason, "a name can only contain letters, digits, \"_\" and \"-\"");
  EXPECT_EQ(planned[2].reason, "the name is reserved; choose another name");
}

TEST(ImportPlan, WhatIsThereAlready_IsNotTakenTwice) {
  // Switched off, and written in another way.
  const Json switched{{"disabled", true}, {"command", "a"}};
  ImportPlan plan(ConfigScope::user,
                  {existing("a", switched), existing("b", command("x")), existing("b_1", command("b"))});
  auto first = file_with({{"a", command("a")}, {"b", command("b")}, {"c", command("c")}});
  EXPECT_THAT(shown(plan.add(first)), ElementsAre("already there a as a", "already there b as b_1", "add c as c"));
  // The next client knows the same server.
  auto second = file_with({{"c", command("c")}, {"d", command("d")}});
  EXPECT_THAT(shown(plan.add(second)), ElementsAre("already there c as c", "add d as d"));
}

TEST(ImportPlan, OnlyTheNamesThatAreWanted_AreTaken) {
  auto file = file_with({{"a b", command("a")}, {"c", command("c")}, {"d", command("d")}});
  ImportPlan plan(ConfigScope::user, {});
  EXPECT_THAT(shown(plan.add(file, {"a_b", "d"})), ElementsAre("add a b as a_b", "add d as d"));
}

TEST(ImportPlan, SecretsStayOutOfProjectFiles) {
  const Json entry{
      {"type", "stdio"},
      {"command", "x"},
      {"args", Json::array({"--api-key=abc", "--token", "def", "--port", "80", "ghp_0123456789abcdef", "${TOKEN}"})},
      {"env", Json{{"API_KEY", "abc"}, {"LEVEL", "3"}, {"GH_TOKEN", "${GH_TOKEN}"}, {"X", "sk-0123456789abcdef"}}},
  };
  auto file = file_with({{"my server", entry}});
  ImportPlan project(ConfigScope::project, {});
  const auto planned = project.add(file);
  ASSERT_THAT(planned, SizeIs(1));
  EXPECT_EQ(planned[0].entry["env"],
            (Json{{"API_KEY", "${API_KEY}"}, {"LEVEL", "3"}, {"GH_TOKEN", "${GH_TOKEN}"}, {"X", "${X}"}}));
  EXPECT_EQ(planned[0].entry["args"], Json::array({"--api-key=${MY_SERVER_SECRET}", "--token", "${MY_SERVER_SECRET_2}",
                                                   "--port", "80", "${MY_SERVER_SECRET_3}", "${TOKEN}"}));
  std::vector<std::string> fields;
  for (const auto& note : file.notes) fields.push_back(note.field);
  EXPECT_THAT(fields, ElementsAre("env.API_KEY", "env.X", "args[0]", "args[2]", "args[5]"));

  // The other scopes are private.
  auto again = file_with({{"my server", entry}});
  ImportPlan user(ConfigScope::user, {});
  EXPECT_EQ(user.add(again).at(0).entry, entry);
  EXPECT_THAT(again.notes, IsEmpty());
}

TEST(ImportPlan, SecretsInHeaders_KeepTheirScheme) {
  Json entry{{"type", "http"},
             {"url", "https://h/"},
             {"headers", Json{{"Authorization", "Bearer abc"},
                              {"X-Api-Key", "def"},
                              {"Cookie", "${COOKIE}"},
                              {"Accept", "text/html; q=1"},
                              {"X-Other", "ghp_0123456789abcdef"}}}};
  const auto withheld = withhold_secrets("api", entry);
  EXPECT_EQ(entry["headers"], (Json{{"Authorization", "Bearer ${API_AUTHORIZATION}"},
                                    {"X-Api-Key", "${API_X_API_KEY}"},
                                    {"Cookie", "${COOKIE}"},
                                    {"Accept", "text/html; q=1"},
                                    {"X-Other", "${API_X_OTHER}"}}));
  EXPECT_THAT(withheld,
              ElementsAre(WithheldSecret{"headers.Authorization", "API_AUTHORIZATION", "Bearer ${API_AUTHORIZATION}"},
                          WithheldSecret{"headers.X-Api-Key", "API_X_API_KEY", "${API_X_API_KEY}"},
                          WithheldSecret{"headers.X-Other", "API_X_OTHER", "${API_X_OTHER}"}));
}

TEST(ImportPlan, SecretsInAddressesAreWithheld) {
  struct Case {
    const char* text;
    const char* instead;
    std::vector<std::string> variables;
  };
  const Case cases[] = {
      {"https://x.example/mcp?api_key=live-1234", "https://x.example/mcp?api_key=${S_API_KEY}", {"S_API_KEY"}},
      {"https://x.example/mcp?a=1&key=k&b=2#top", "https://x.example/mcp?a=1&key=${S_KEY}&b=2#top", {"S_KEY"}},
      {"https://x.example/?token=a&token=b",
       "https://x.example/?token=${S_TOKEN}&token=${S_TOKEN_2}",
       {"S_TOKEN", "S_TOKEN_2"}},
      {"https://me:pw@x.example/mcp?v=sk-0123456789abc",
       "https://me:${S_PASSWORD}@x.example/mcp?v=${S_V}",
       {"S_PASSWORD", "S_V"}},
      {"https://ghp_0123456789abcdef@x.example/mcp", "https://${S_USER}@x.example/mcp", {"S_USER"}},
      {"https://ghp_0123456789abcdef:pw@x.example/?key=k",
       "https://${S_USER}:${S_PASSWORD}@x.example/?key=${S_KEY}",
       {"S_PASSWORD", "S_USER", "S_KEY"}},
      {"https://somebody@x.example/mcp", "https://somebody@x.example/mcp", {}},
      {"https://me:@x.example/mcp", "https://me:@x.example/mcp", {}},
      {"https://x.example/mcp?q=hello&lang=en", "https://x.example/mcp?q=hello&lang=en", {}},
      {"https://x.example/mcp?api_key=${KEY}", "https://x.example/mcp?api_key=${KEY}", {}},
      {"https://x.example/mcp?api_key=", "https://x.example/mcp?api_key=", {}},
      {"https://x.example/mcp?api_key", "https://x.example/mcp?api_key", {}},
      {"https://x.example:8080/a@b:c", "https://x.example:8080/a@b:c", {}},
      {"https://x.example/mcp#?api_key=x", "https://x.example/mcp#?api_key=x", {}},
      {"not a url?api_key=x", "not a url?api_key=x", {}},
  };
  for (const auto& one : cases) {
    Json entry{{"url", one.text}};
    std::vector<std::string> variables;
    for (const auto& secret : withhold_secrets("s", entry)) {
      variables.push_back(secret.variable);
      EXPECT_EQ(secret.instead, one.instead);
    }
    EXPECT_EQ(entry["url"], Json(one.instead));
    EXPECT_EQ(variables, one.variables) << one.text;
  }
  Json command{{"args", Json::array({"mcp-remote", "https://x.example/?api_key=abc"})}};
  EXPECT_THAT(withhold_secrets("s", command),
              ElementsAre(WithheldSecret{"args[1] (api_key)", "S_API_KEY", "https://x.example/?api_key=${S_API_KEY}"}));
}

TEST(ImportPlan, NamesThatMayBeAdded) {
  for (std::string_view yes : {"a", "A-b_9"}) EXPECT_TRUE(is_addable_name(yes)) << yes;
  for (std::string_view no : {"", "a b", "a.b", "ä", "workspace"}) EXPECT_FALSE(is_addable_name(no)) << no;
}

TEST(ImportPlaces, EachClient_HasItsFiles) {
  const std::map<std::string, std::string, std::less<>> variables{{"CODEX_HOME", "/codex"},
                                                                  {"OPENCODE_CONFIG", "relative"}};
  const ImportSurroundings around{.home = "/h",
                                  .config_home = "/c",
                                  .projects = {"/p/sub", "/p"},
                                  .variables = [&](std::string_view name) -> std::optional<std::string> {
                                    const auto found = variables.find(name);
                                    return found == variables.end() ? std::nullopt : std::optional(found->second);
                                  }};
  std::vector<std::string> all;
  for (const auto& place : import_places(around)) {
    all.push_back(std::string(name_of(place.client).id) + " " + std::string(to_string(place.scope)) + " " + place.path);
  }
  EXPECT_THAT(
      all,
      ElementsAre(
          "claude-desktop user /c/Claude/claude_desktop_config.json",
          "claude-desktop user /h/Library/Application Support/Claude/claude_desktop_config.json",
          "cursor user /h/.cursor/mcp.json", "cursor local /p/sub/.cursor/mcp.json", "cursor local /p/.cursor/mcp.json",
          "vscode user /c/Code/User/mcp.json", "vscode user /c/Code - Insiders/User/mcp.json",
          "vscode user /c/VSCodium/User/mcp.json", "vscode user /h/.copilot/mcp-config.json",
          "vscode local /p/sub/.vscode/mcp.json", "vscode local /p/.vscode/mcp.json",
          "vscode local /p/sub/.devcontainer/devcontainer.json", "vscode local /p/.devcontainer/devcontainer.json",
          "codex user /codex/config.toml", "codex local /p/sub/.codex/config.toml", "codex local /p/.codex/config.toml",
          "gemini user /h/.gemini/settings.json", "gemini local /p/sub/.gemini/settings.json",
          "gemini local /p/.gemini/settings.json", "windsurf user /h/.codeium/windsurf/mcp_config.json",
          "windsurf user /h/.codeium/mcp_config.json", "opencode user /c/opencode/opencode.json",
          "opencode local /p/sub/opencode.json", "opencode local /p/opencode.json",
          "opencode user /c/opencode/opencode.jsonc", "opencode local /p/sub/opencode.jsonc",
          "opencode local /p/opencode.jsonc", "zed user /c/zed/settings.json", "zed local /p/sub/.zed/settings.json",
          "zed local /p/.zed/settings.json", "goose user /c/goose/config.yaml",
          "cline user /c/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
          "cline user /c/Code - Insiders/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
          "cline user /c/VSCodium/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
          "mcporter user /h/.mcporter/mcporter.json", "mcporter user /h/.mcporter/mcporter.jsonc",
          "mcporter local /p/sub/config/mcporter.json", "mcporter local /p/config/mcporter.json",
          "mcporter local /p/sub/config/mcporter.jsonc", "mcporter local /p/config/mcporter.jsonc"));
  EXPECT_THAT(import_places(ImportClient::registry, around),
              ElementsAre(ImportPlace{ImportClient::registry, "/p/sub/server.json", ConfigScope::local},
                          ImportPlace{ImportClient::registry, "/p/server.json", ConfigScope::local}));
}

// A project's file that is the user's own file is the user's.
TEST(ImportPlaces, HomeAsProject_GivesNoFileTwice) {
  const ImportSurroundings around{.home = "/h", .config_home = "/h/.config", .projects = {"/h"}, .variables = {}};
  EXPECT_THAT(import_places(ImportClient::cursor, around),
              ElementsAre(ImportPlace{ImportClient::cursor, "/h/.cursor/mcp.json", ConfigScope::user}));
}

}  // namespace
}  // namespace patchbay
