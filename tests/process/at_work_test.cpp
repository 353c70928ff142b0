// Rows of docs/requirements.md: C2, L1, L5.
// What keys of an entry and variables do to servers that run: each read elsewhere, seen at work here.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "support/household.h"
#include "support/places.h"
#include "support/running_program.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Household;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string fake = test::built("mode-server");

Json fake_entry(const std::string& mode, const Json& more = Json::object()) {
  Json entry{{"command", fake}, {"args", Json::array({mode})}};
  for (const auto& [key, value] : more.as_object()) entry[key] = value;
  return entry;
}

// The binary with these servers and no others, and with variables of the test.
CommandResult run_with(const Household& house, const Json& servers, std::vector<std::string> words,
                       const std::map<std::string, std::string>& variables = {}) {
  words.insert(words.begin(),
               {test::built("patchbay"), "--quiet", "--strict-mcp-config", "--mcp-config", to_text(servers)});
  auto options = house.options();
  for (const auto& [name, value] : variables) options.env[name] = value;
  return test::run_program(words, options);
}

// compat: B3.6, B6.2, B6.3
TEST(AtWork, ACallEndsWhenItsTimeIsOver) {
  Household house;
  struct Case {
    const char* label;
    Json more;
    std::map<std::string, std::string> variables;
    const char* text;
  };
  const Case cases[] = {
      {"timeout", {{"timeout", 1000}}, {}, "within 1 s"},
      {"MCP_TOOL_TIMEOUT", Json::object(), {{"MCP_TOOL_TIMEOUT", "1000"}}, "within 1 s"},
      {"the entry before the variable", {{"timeout", 1000}}, {{"MCP_TOOL_TIMEOUT", "600000"}}, "within 1 s"},
      {"silence", Json::object(), {{"CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", "1000"}}, "no progress"},
  };
  for (const auto& one : cases) {
    const auto ran =
        run_with(house, {{"s", fake_entry("silent-on-call", one.more)}}, {"call", "s/echo", "text=x"}, one.variables);
    EXPECT_EQ(ran.code, 3) << one.label;
    EXPECT_THAT(ran.err, HasSubstr(one.text)) << one.label;
  }
}

// compat: B3.7
TEST(AtWork, AnotherRequestEndsWhenItsTimeIsOver) {
  Household house;
  const auto ran =
      run_with(house, {{"s", fake_entry("silent-on-prompts", {{"request_timeout_ms", 1000}})}}, {"prompts", "s"});
  EXPECT_THAT(ran.out + ran.err, HasSubstr("within 1 s"));
}

// compat: B6.1
TEST(AtWork, AStartEndsWhenItsTimeIsOver) {
  Household house;
  const auto ran = run_with(house, {{"s", fake_entry("never-answers")}}, {"tools"}, {{"MCP_TIMEOUT", "1000"}});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.out + ran.err, HasSubstr("within 1 s"));
}

// compat: B6.19
TEST(AtWork, VariablesOfSettingsAreLimitsAndSayWhereCommandsAre) {
  Household house;
  house.tree.file("home/bin/odd-name", "#!/bin/sh\nexec '" + test::built("mode-server") + "' never-answers\n");
  fs::permissions(house.home() + "/bin/odd-name", fs::perms::owner_all);
  house.tree.file("home/.claude/settings.json",
                  to_text(Json{{"env", {{"MCP_TIMEOUT", "1000"}, {"PATH", house.home() + "/bin:/usr/bin:/bin"}}}}));
  const auto ran = run_with(house, {{"s", {{"command", "odd-name"}}}}, {"tools"}, {{"MCP_TIMEOUT", "30000"}});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.out + ran.err, HasSubstr("within 1 s"));
}

// The second server is started when the first has failed, and not before: the first would be seen.
// compat: B6.8
TEST(AtWork, NoMoreServersStartAtOnceThanTheVariableSays) {
  Household house;
  const auto log = house.project() + "/alive";
  const std::string script = "echo in >> " + log + "; n=$(wc -l < " + log + "); test $n -gt 1 && echo together >> " +
                             log + "; read line; sed -i 1d " + log + "; exit 1";
  Json servers;
  for (const char* name : {"a", "b", "c"}) {
    servers[name] = Json{{"command", "/bin/sh"}, {"args", Json::array({"-c", script})}};
  }
  run_with(house, servers, {"tools"}, {{"MCP_SERVER_CONNECTION_BATCH_SIZE", "1"}});
  std::ifstream file(log);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, Not(HasSubstr("together")));
  EXPECT_TRUE(fs::exists(log));
}

// compat: C2.c, B3.21
TEST(AtWork, OnlyEnabledToolsAreListedAndCalled) {
  Household house;
  const Json servers{{"s", fake_entry("good", {{"enabledTools", Json::array({"e*", "add"})},
                                               {"disabledTools", Json::array({"add"})}})}};
  const auto listed = run_with(house, servers, {"tools"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out,
              AllOf(HasSubstr("mcp__s__echo"), Not(HasSubstr("mcp__s__add")), Not(HasSubstr("mcp__s__fail"))));
  EXPECT_EQ(run_with(house, servers, {"call", "s/echo", "text=x"}).code, 0);
  EXPECT_EQ(run_with(house, servers, {"call", "s/add", "a:=1", "b:=2"}).code, 2);
}

// compat: B3.21
TEST(AtWork, ARequiredServerThatFailsFailsTheCommand) {
  Household house;
  for (bool required : {false, true}) {
    const Json servers{{"good", fake_entry("good")}, {"bad", fake_entry("exits-at-once", {{"required", required}})}};
    EXPECT_EQ(run_with(house, servers, {"tools"}).code, required ? 3 : 0) << required;
  }
}

// A name with a slash is looked for where we were started, and that is the server's directory too.
// compat: B3.2
TEST(AtWork, ACommandIsStartedWhereWeWereStarted) {
  Household house;
  house.tree.file("project/bin/server", "#!/bin/sh\npwd > here\nexec " + fake + " good\n");
  fs::permissions(house.project() + "/bin/server", fs::perms::owner_all);
  const auto ran = run_with(house, {{"s", {{"command", "./bin/server"}, {"args", Json::array()}}}},
                            {"call", "s/echo", "text=hello"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::ifstream file(house.project() + "/here");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, fs::canonical(house.project()).string());
}

// compat: B3.23
TEST(AtWork, TheProjectDirectoryIsAVariableThatNeedsADefault) {
  Household house;
  const Json entry{{"command", "/bin/sh"},
                   {"args", Json::array({"-c", "echo \"$0 $1\" > got; exec " + fake + " good",
                                         "${CLAUDE_PROJECT_DIR:-none}", "${CLAUDE_PROJECT_DIR}"})}};
  const auto ran = run_with(house, {{"s", entry}}, {"call", "s/echo", "text=x"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::ifstream file(house.project() + "/got");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "none ${CLAUDE_PROJECT_DIR}");
}

// compat: B5.7, B7.12
TEST(AtWork, HealthTellsServersThatWantASignInFromThoseThatFail) {
  Household house;
  house.tree.file("token", "a-long-enough-token-for-a-test\n");
  test::RunningProgram server({test::built("patchbay"), "serve", "--http", "127.0.0.1:0", "--json", "--root",
                               house.project(), "--bearer-file", (house.tree.path() / "token").string()});
  const auto url = test::served_url(server);
  const Json servers{{"far", {{"type", "http"}, {"url", url}}},
                     {"near", fake_entry("fails-tools-list")},
                     {"good", fake_entry("good")}};
  const auto ran = run_with(house, servers, {"mcp", "list"});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("(HTTP) - ! Needs authentication"),
                             HasSubstr("! Connected · tools fetch failed"), HasSubstr("✔ Connected\n")));
  const auto asked = run_with(house, servers, {"mcp", "list", "--json"});
  const auto json = parse_json(asked.out);
  ASSERT_TRUE(json) << asked.out;
  for (const auto& one : (*json)["servers"].as_array()) {
    if (one["name"] == Json("far")) EXPECT_EQ(one["state"], Json("needs-auth"));
  }
}

// The first token is an old one; the helper is asked again, once, when the server refuses it.
// compat: B3.5
TEST(AtWork, AHelperIsAskedAgainAfterARefusal) {
  Household house;
  house.tree.file("token", "the-token-of-today\n");
  test::RunningProgram server({test::built("patchbay"), "serve", "--http", "127.0.0.1:0", "--json", "--root",
                               house.project(), "--bearer-file", (house.tree.path() / "token").string()});
  const std::string helper =
      R"(echo run >> runs; test $(wc -l < runs) -gt 1 && t=today || t=yesterday; echo "{\"Authorization\": \"Bearer the-token-of-$t\"}")";
  const Json servers{{"far", {{"type", "http"}, {"url", test::served_url(server)}, {"headersHelper", helper}}}};
  const auto ran = run_with(house, servers, {"tools"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("mcp__far__read_file"));
  std::ifstream file(house.project() + "/runs");
  const std::string runs((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(runs, "run\nrun\n");
}

// compat: B7.1
TEST(AtWork, ToolsOfAPluginCarryItsName) {
  Household house;
  house.tree.file("plug/.claude-plugin/plugin.json", R"({"name": "kit"})");
  house.tree.file("plug/.mcp.json", to_text(Json{{"mcpServers", {{"files", fake_entry("good")}}}}));
  const auto ran = house.run({"--quiet", "--plugin-dir", (house.tree.path() / "plug").string(), "tools", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"mcp__plugin_kit_files__echo\""));
}

}  // namespace
}  // namespace patchbay
