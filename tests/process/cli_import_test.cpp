// `patchbay import` and `mcp add-from-claude-desktop`: what is found, shown, written, and left alone. C5.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

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

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string cursor = R"({
  "mcpServers": {
    "my files": {"command": "npx", "args": ["-y", "files"], "icon": "x.png"},
    "api": {"url": "https://api.example.com/mcp", "headers": {"Authorization": "Bearer top-secret"}},
    "broken": {"args": []}
  }
})";

// compat: B5.17
TEST(CliImport, WithoutWords_ShowsEverythingAndWritesNothing) {
  Household house;
  write(house.home() + "/.cursor/mcp.json", cursor);
  write(house.home() + "/.codex/config.toml", "[mcp_servers.docs]\ncommand = \"docs\"\n");
  write(house.home() + "/.config/goose/config.yaml", "extensions:\n  web: {type: stdio, cmd: web}\n");
  const auto result = house.run({"import"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("Cursor: "), HasSubstr("+ my_files  npx -y files"),
            HasSubstr("\"my files\" is not a valid name here"), HasSubstr("mcp.json:3:"), HasSubstr("icon left out"),
            HasSubstr("MCP server \"broken\": has neither a command to start nor a URL"), HasSubstr("Codex: "),
            HasSubstr("+ docs"), HasSubstr("goose: "), HasSubstr("+ web"), Not(HasSubstr("top-secret")),
            HasSubstr("To import: 4 servers. Already present: 0. Not copied: 1.")));
  EXPECT_THAT(result.err, HasSubstr("Nothing was written. To import: patchbay import --yes"));
  EXPECT_FALSE(fs::exists(house.own_file()));

  const auto all = house.run({"import", "--yes"});
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("Imported: 4 servers."));
  const auto own = house.own();
  EXPECT_EQ(own["mcpServers"]["my_files"],
            (Json{{"type", "stdio"}, {"command", "npx"}, {"args", Json::array({"-y", "files"})}}));
  EXPECT_EQ(own["mcpServers"]["docs"]["command"], Json("docs"));
  EXPECT_EQ(own["mcpServers"]["web"]["command"], Json("web"));
  EXPECT_EQ(own["mcpServers"]["api"]["headers"]["Authorization"], Json("Bearer top-secret"));
  EXPECT_EQ(read(house.home() + "/.cursor/mcp.json"), cursor);
}

TEST(CliImport, AnyOfThem_CanBeRepeated) {
  Household house;
  write(house.home() + "/.cursor/mcp.json", cursor);
  EXPECT_EQ(house.run({"import", "cursor", "--yes"}).code, 0);
  const auto before = read(house.own_file());
  const auto again = house.run({"import", "cursor", "--yes"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, AllOf(HasSubstr("= my_files"), HasSubstr("To import: 0 servers. Already present: 2.")));
  EXPECT_EQ(read(house.own_file()), before);
  // Switched off since, and a server of the same name that is another one.
  EXPECT_EQ(house.run({"disable", "api", "--scope", "user"}).code, 0);
  write(
      house.home() + "/.cursor/mcp.json",
      R"({"mcpServers": {"api": {"url": "https://api.example.com/mcp", "headers": {"Authorization": "Bearer top-secret"}},
            "my files": {"command": "other"}}})");
  const auto other = house.run({"import", "cursor", "--yes"});
  EXPECT_THAT(other.out,
              AllOf(HasSubstr("= api"), HasSubstr("+ my_files_1"), HasSubstr("another server is called my_files")));
  EXPECT_EQ(house.own()["mcpServers"].size(), 3u);
}

TEST(CliImport, ProjectFiles_GoToTheLocalScopeByDefault) {
  Household house;
  write(house.project() + "/.vscode/mcp.json",
        R"({"servers": {"a": {"command": "x", "env": {"API_KEY": "very-secret", "B": "${input:b}"}}}})");
  EXPECT_EQ(house.run({"import", "vscode", "--name", "a", "--yes"}).code, 0);
  EXPECT_EQ(house.own()["projects"][house.project()]["mcpServers"]["a"]["env"]["API_KEY"], Json("very-secret"));
  const auto shared = house.run({"import", "vscode", "--scope", "project", "--yes"});
  EXPECT_EQ(shared.code, 0) << shared.err;
  EXPECT_THAT(shared.out,
              AllOf(HasSubstr("env.API_KEY changed: looks like a secret"),
                    HasSubstr("disabled until this is set or checked: INPUT_B"), Not(HasSubstr("very-secret"))));
  const auto text = read(house.project() + "/.mcp.json");
  EXPECT_THAT(text, AllOf(HasSubstr("\"${API_KEY}\""), HasSubstr("\"${INPUT_B}\""), HasSubstr("\"disabled\": true"),
                          Not(HasSubstr("very-secret"))));
}

TEST(CliImport, WhatHasNoCounterpartIsNamedOnceAndReportedAsKept) {
  Household house;
  write(house.home() + "/.cursor/mcp.json",
        R"({"mcpServers": {"ba": {"command": "x", "args": ["${workspaceFolderBasename}"]},
                           "v": {"command": "x", "env": {"T": "${env:NOT_SET_ANYWHERE}"}}}})");
  const auto result = house.run({"import", "cursor", "--yes"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("disabled until this is set or checked: ${workspaceFolderBasename}\n"),
                    HasSubstr("args[0] kept as it is: ${workspaceFolderBasename} has no equivalent in Patchbay")));
  EXPECT_EQ(house.own()["mcpServers"]["ba"]["args"], Json::array({"${workspaceFolderBasename}"}));
  EXPECT_THAT(
      result.err,
      HasSubstr("edit the entry in the file above, then enable the server: ba (setting a variable is not enough)"));
}

TEST(CliImport, AFile_IsRecognisedOrNamed) {
  Household house;
  write(house.project() + "/some.json", R"({"context_servers": {"a": {"command": "x"}}})");
  auto result = house.run({"import", "some.json", "--dry-run", "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  auto json = json_of(result);
  EXPECT_EQ(json["written"], Json(false));
  EXPECT_EQ(json["files"].as_array().at(0)["client"], Json("zed"));
  EXPECT_EQ(json["files"].as_array().at(0)["file"], Json("some.json"));
  EXPECT_EQ(json["files"].as_array().at(0)["scope"], Json("local"));
  const auto& server = json["files"].as_array().at(0)["servers"].as_array().at(0);
  EXPECT_EQ(server["name"], Json("a"));
  EXPECT_EQ(server["action"], Json("add"));

  result = house.run({"import", "some.json", "--from", "cursor", "--dry-run"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.out, HasSubstr("! some.json:1:1: the file contains no servers"));

  write(house.project() + "/broken.json", "{\n  \"mcpServers\": {,}\n}");
  result = house.run({"import", "broken.json", "--from", "cursor"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.out, HasSubstr("broken.json:2:"));
  result = house.run({"import", "broken.json"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("name the client with --from"));
}

TEST(CliImport, Mistakes_AreNamedWithTheWayOut) {
  Household house;
  const auto none = house.run({"import", "cursor"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("/.cursor/mcp.json"));
  const auto typo = house.run({"import", "cursr"});
  EXPECT_EQ(typo.code, 2);
  EXPECT_THAT(typo.err, HasSubstr("did you mean \"cursor\"?"));
  EXPECT_EQ(house.run({"import", "no/such/file.json"}).code, 2);
  write(house.home() + "/.cursor/mcp.json", cursor);
  const auto name = house.run({"import", "cursor", "--name", "apj", "--yes"});
  EXPECT_EQ(name.code, 2);
  EXPECT_THAT(name.err, HasSubstr("did you mean \"api\"?"));
  EXPECT_EQ(house.run({"import"}).code, 0);
  const auto nobody = house.run({"import", "cursor"});
  EXPECT_EQ(nobody.code, 2);
  EXPECT_THAT(
      nobody.err,
      HasSubstr(
          "Nothing was written, because there is no terminal to ask on. To import: patchbay import cursor --yes"));
  EXPECT_FALSE(fs::exists(house.own_file()));
  const auto one = house.run({"import", "cursor", "--name", "api", "--yes"});
  EXPECT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(house.own()["mcpServers"].size(), 1u);
}

TEST(CliImport, WhatIsNotAFile_HangsNothingAndHarmsNoOther) {
  Household house;
  fs::create_directories(house.home() + "/.cursor");
  ASSERT_EQ(::mkfifo((house.home() + "/.cursor/mcp.json").c_str(), 0600), 0);
  write(house.home() + "/.gemini/settings.json", R"({"mcpServers": {"a": {"command": "x"}}})");
  const auto result = house.run({"import"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(HasSubstr("it is a pipe, not a file"), HasSubstr("+ a")));
}

// A name and a command can hold what moves a cursor.
TEST(CliImport, WhatAFileSays_IsShownClean) {
  Household house;
  write(house.home() + "/.cursor/mcp.json",
        "{\"mcpServers\": {\"a\\u001b[2Jb\": {\"command\": \"x\\u001b[31m\", \"\\u001b[0m\": 1}}}");
  const auto result = house.run({"import"});
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
  EXPECT_EQ(result.err.find('\x1b'), std::string::npos);
}

// compat: B5.6
TEST(CliImport, FromClaudeDesktop_SkipsInvalidNamesAndNumbersClashes) {
  Household house;
  write(house.home() + "/.config/Claude/claude_desktop_config.json",
        R"({"mcpServers": {"good": {"command": "x"}, "not good": {"command": "y"}}})");
  ASSERT_EQ(house.run({"mcp", "add", "good", "--", "other"}).code, 0);
  const auto result = house.run({"mcp", "add-from-claude-desktop", "--yes"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("+ good_1"), HasSubstr("- not good"),
                                HasSubstr("a name can only contain letters, digits")));
  const auto own = house.own();
  const auto& local = own["projects"][house.project()]["mcpServers"];
  EXPECT_EQ(local["good_1"], (Json{{"type", "stdio"}, {"command", "x"}}));
  EXPECT_EQ(local.size(), 2u);
  EXPECT_EQ(house.run({"mcp", "add-from-claude-desktop", "--scope", "user", "--yes"}).code, 0);
  EXPECT_EQ(house.own()["mcpServers"]["good"]["command"], Json("x"));
}

// What such an entry reads is seen before it is switched on, and told when it is.
TEST(CliImport, WhatReadsAFileIsNotOfferedToBeEnabled) {
  Household house;
  write(house.project() + "/.vscode/mcp.json",
        R"({"servers": {"q": {"type": "http", "url": "http://127.0.0.1:9/?k=${file:~/x}"},
                        "v": {"command": "x", "env": {"A": "${env:TOK}"}}}})");
  const auto result = house.run({"import", "--name", "q", "--name", "v", "--yes"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("then run: patchbay enable v\n"),
                                HasSubstr("edit the entry in the file above, then enable the server: q (")));
  const auto enabled = house.run({"enable", "q"});
  EXPECT_EQ(enabled.code, 0) << enabled.err;
  EXPECT_THAT(enabled.err, AllOf(HasSubstr("when \"q\" starts, ${file:~/x} in \"url\" reads this file"),
                                 HasSubstr("patchbay disable q\n")));
  // It is on already.
  EXPECT_EQ(house.run({"enable", "q"}).err, "");
  ASSERT_EQ(house.run({"disable", "q"}).code, 0);
  EXPECT_EQ(json_of(house.run({"enable", "q", "--json"}))["notes"].size(), 1u);
}

// A reference to what is not there would be sent as it is.
TEST(CliImport, AVariableThatIsNotSet_IsWaitedFor) {
  Household house;
  write(house.home() + "/.codex/config.toml",
        "[mcp_servers.figma]\nurl = \"https://figma.example/mcp\"\nbearer_token_env_var = \"FIGMA_TOKEN\"\n");
  write(house.home() + "/.config/goose/config.yaml",
        "extensions:\n  web: {type: stdio, cmd: web, env_keys: [SOME_KEY]}\n");
  write(house.home() + "/.cursor/mcp.json",
        R"({"mcpServers": {"cur": {"command": "x", "env": {"A": "${env:TOK}", "H": "${userHome}"}}}})");
  const auto result = house.run({"import", "--yes"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("disabled until this is set or checked: FIGMA_TOKEN"),
                                HasSubstr("disabled until this is set or checked: SOME_KEY"),
                                HasSubstr("disabled until this is set or checked: TOK")));
  EXPECT_THAT(result.err, HasSubstr("patchbay enable"));
  const auto servers = house.own()["mcpServers"];
  for (const std::string name : {"figma", "web", "cur"}) EXPECT_EQ(servers[name]["disabled"], Json(true)) << name;
  EXPECT_EQ(servers["cur"]["env"]["A"], Json("${env:TOK}"));
  // With the variable there is nothing to wait for.
  Household rich;
  write(rich.home() + "/.codex/config.toml", read(house.home() + "/.codex/config.toml"));
  auto options = rich.options();
  options.env["FIGMA_TOKEN"] = "x";
  ASSERT_EQ(test::run_program({test::built("patchbay"), "import", "codex", "--yes"}, options).code, 0);
  EXPECT_TRUE(rich.own()["mcpServers"]["figma"]["disabled"].is_null());
}

TEST(CliImport, WhatHasAnotherNameOrAnotherOwner_IsExplained) {
  Household house;
  write(house.project() + "/config.toml", "[mcp_servers.docs]\ncommand = \"docs\"\n");
  const auto wrong = house.run({"import", "config.toml", "--from", "vscode", "--dry-run"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.out, HasSubstr("it looks like a file of Codex (--from codex)"));
  write(house.home() + "/.cursor/mcp.json", R"({"mcpServers": {"fs desk": {"command": "x", "args": ["${cmd:id}"]}}})");
  const auto named = house.run({"import", "cursor", "--dry-run"});
  EXPECT_THAT(named.out, AllOf(HasSubstr("letters, digits, \"_\" and \"-\""), HasSubstr("so it is called fs_desk"),
                               HasSubstr("runs a command here"), Not(HasSubstr("no equivalent"))));
}

}  // namespace
}  // namespace patchbay
