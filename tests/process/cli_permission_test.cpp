// The flags about permissions, as people type them. P1 P2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "support/command.h"
#include "support/places.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CliPermission : public testing::Test {
 protected:
  CliPermission() { tree.directory("home/.claude"); }

  CommandResult run(std::vector<std::string> words) {
    words.insert(words.begin(), {test::built("patchbay"), "--mcp-config", test::mode_server_file("good")});
    const auto home = (tree.path() / "home").string();
    CommandOptions options;
    options.cwd = tree.path();
    options.env = {{"HOME", home},
                   {"XDG_CONFIG_HOME", home + "/.config"},
                   {"XDG_CACHE_HOME", home + "/.cache"},
                   {"XDG_STATE_HOME", home + "/.state"},
                   {"CLAUDE_CONFIG_DIR", home + "/.claude"}};
    return run_program(words, options);
  }

  TempTree tree;
};

// compat: B5.13, P2.a
TEST_F(CliPermission, CallingAnswersWhatWouldBeAskedAndNothingElse) {
  EXPECT_EQ(run({"call", "mcp__fake__echo", "text=hi"}).out, "hi\n");
  EXPECT_EQ(run({"--permission-mode", "dontAsk", "call", "mcp__fake__echo", "text=hi"}).code, 2);
  EXPECT_EQ(run({"--permission-mode", "dontAsk", "--allowedTools", "mcp__fake__echo", "call", "echo", "text=hi"}).out,
            "hi\n");
  const auto denied = run({"--disallowedTools", "mcp__fake__echo", "call", "mcp__fake__echo", "text=hi", "--json"});
  EXPECT_EQ(denied.code, 2);
  const auto error = parse_json(denied.out).value_or(Json())["error"];
  EXPECT_EQ(error["code"], Json("denied"));
  EXPECT_THAT(to_text(error["message"]),
              AllOf(HasSubstr("--disallowedTools"), HasSubstr("leave --disallowedTools out")));
}

// A rule that denies all of a server leaves none of its resources and prompts either.
TEST_F(CliPermission, ADeniedServersResourcesAndPromptsAreNeitherListedNorRead) {
  const auto listed = parse_json(run({"resources", "--json"}).out).value_or(Json())["resources"];
  ASSERT_TRUE(listed.is_array() && !listed.as_array().empty());
  const std::string uri(listed.as_array().front()["uri"].as_text());
  EXPECT_EQ(run({"read", "fake", uri}).code, 0);
  EXPECT_THAT(run({"prompts"}).out, HasSubstr("mcp__fake__greet"));
  for (const std::string rule : {"mcp__fake", "mcp__fake__*", "MCPTool(mcp__fake__*)"}) {
    const auto with_rule = [&](std::vector<std::string> words) {
      words.insert(words.begin(), {"--disallowedTools", rule});
      return run(std::move(words));
    };
    for (const auto& words : std::vector<std::vector<std::string>>{{"read", "fake", uri},
                                                                   {"resources", "fake"},
                                                                   {"prompts", "fake"},
                                                                   {"skills", "fake"},
                                                                   {"prompt", "mcp__fake__greet", "name=x"}}) {
      const auto refused = with_rule(words);
      EXPECT_EQ(refused.code, 2) << words.front() << refused.out;
      EXPECT_EQ(refused.out, "") << words.front();
      EXPECT_THAT(refused.err, AllOf(HasSubstr("the server \"fake\" may not be used"), HasSubstr(rule)));
    }
    EXPECT_NE(with_rule({"read", uri}).code, 0);
    const auto empty = with_rule({"resources"});
    EXPECT_EQ(empty.code, 0) << empty.err;
    EXPECT_THAT(empty.out, Not(HasSubstr(uri)));
    EXPECT_THAT(with_rule({"prompts"}).out, Not(HasSubstr("greet")));
  }
  // One tool is not the server.
  EXPECT_EQ(run({"--disallowedTools", "mcp__fake__echo", "read", "fake", uri}).code, 0);
}

// compat: B5.13
TEST_F(CliPermission, OneFlagTakesSeveralRulesAndBothSpellings) {
  const auto tools = run(
      {"--disallowed-tools", "mcp__fake__echo,mcp__fake__add", "--disallowedTools", "MCPTool(mcp__fake__f*)", "tools"});
  EXPECT_EQ(tools.code, 0) << tools.err;
  EXPECT_THAT(tools.out, AllOf(HasSubstr("mcp__fake__boom"), Not(HasSubstr("mcp__fake__echo")),
                               Not(HasSubstr("mcp__fake__add")), Not(HasSubstr("mcp__fake__fail"))));
  const auto arguments = run({"--disallowedTools", "mcp__fake__add(a: 1..5, b: >10)", "call", "add", "a=2", "b=11"});
  EXPECT_EQ(arguments.code, 2) << arguments.out;
  EXPECT_EQ(run({"--disallowedTools", "mcp__fake__add(a: 1..5, b: >10)", "call", "add", "a=2", "b=3"}).out, "5\n");
}

TEST_F(CliPermission, FlagsThatCannotBeReadEndTheCommand) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"--disallowedTools", "mcp__fake__echo(", "tools"},
           {"--allowedTools", "mcp__fake__echo(x: )", "tools"},
           {"--permission-mode", "wild", "tools"},
       }) {
    const auto result = run(words);
    EXPECT_EQ(result.code, 2) << words[1];
    EXPECT_THAT(result.err, HasSubstr(words[0])) << words[1];
  }
}

// compat: B7.5, B7.7
TEST_F(CliPermission, RulesWithoutEffectAreWarnedAbout) {
  const auto unknown = run({"--disallowedTools", "mcp__fakke__echo", "tools"});
  EXPECT_EQ(unknown.code, 0);
  EXPECT_THAT(unknown.err,
              AllOf(HasSubstr("warning"), HasSubstr("mcp__fakke__echo"), HasSubstr("does not name a server")));
  EXPECT_THAT(run({"--allowedTools", "mcp__*", "tools"}).err, AllOf(HasSubstr("warning"), HasSubstr("is skipped")));
  EXPECT_EQ(run({"--disallowedTools", "mcp__fakke__echo", "tools", "--json"}).err, "");
}

// compat: P2.b
TEST_F(CliPermission, SkippingPermissionsCanBeSwitchedOff) {
  tree.file("home/.claude/settings.json", R"({"permissions": {"defaultMode": "dontAsk", "ask": ["mcp__fake__add"]}})");
  EXPECT_EQ(run({"call", "echo", "text=hi"}).code, 2);
  EXPECT_EQ(run({"--dangerously-skip-permissions", "call", "echo", "text=hi"}).out, "hi\n");
  tree.file("home/.claude/settings.json", R"({"permissions": {"disableBypassPermissionsMode": "disable"}})");
  EXPECT_THAT(run({"--dangerously-skip-permissions", "tools"}).err, HasSubstr("is ignored"));
}

}  // namespace
}  // namespace patchbay::test
