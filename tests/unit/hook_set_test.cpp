// Which hooks count, and for which tool or server. P3.
#include "hooks/hook_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct MatcherCase {
  std::string matcher;
  std::string name;
  bool matches;
};

TEST(HookMatcher, ListsAreExactAndEverythingElseIsAnExpression) {
  const std::vector<MatcherCase> cases{
      {"", "mcp__a__b", true},
      {"*", "mcp__a__b", true},
      {"mcp__a__b", "mcp__a__b", true},
      {"mcp__a__b", "mcp__a__b2", false},
      {"mcp__a", "mcp__a__b", false},  // the name of no tool
      {"Bash|mcp__a__b", "mcp__a__b", true},
      {"Bash, mcp__a__b", "mcp__a__b", true},
      {" mcp__a__b ", "mcp__a__b", true},
      {"a-b", "a-b", true},
      {"|", "mcp__a__b", false},
      {"mcp__a__.*", "mcp__a__b", true},
      {"mcp__a__.*", "mcp__b__a", false},
      {"__b$", "mcp__a__b", true},  // found anywhere
      {"a__b.", "mcp__a__b", false},
      {"^mcp__(a|b)__", "mcp__b__x", true},
      {"mcp__.*__(write|delete).*", "mcp__fs__delete_file", true},
      {"MCP__.*", "mcp__a__b", false},
      {"(?i)MCP__.*", "mcp__a__b", true},
  };
  for (const auto& [text, name, expected] : cases) {
    const auto matcher = HookMatcher::compile(text);
    ASSERT_TRUE(matcher) << text;
    EXPECT_EQ(matcher->matches(name), expected) << text << " " << name;
  }
}

TEST(HookMatcher, WhatIsNotRe2OrTooLargeIsRefused) {
  for (const auto& text : {std::string("mcp__(?=a)"), std::string("("), std::string(R"((a)\1)"),
                           std::string(20'000, '.'), std::string("((a{100}){100}){100}")}) {
    const auto matcher = HookMatcher::compile(text);
    ASSERT_FALSE(matcher) << text.substr(0, 30);
    EXPECT_EQ(matcher.error().code(), Errc::invalid_argument);
  }
}

SettingsLayer layer(SettingsSource source, const std::string& command, const std::string& more = {},
                    const std::string& matcher = "mcp__.*") {
  return parse_settings(R"({"hooks":{"PreToolUse":[{"matcher":")" + matcher +
                            R"(","hooks":[{"type":"command","command":")" + command + R"("}]}]})" + more + "}",
                        source, "/f/" + std::string(to_string(source)) + ".json");
}

CatalogEntry tool(std::string server, std::string name, std::string exposed = {}) {
  Tool made;
  made.name = name;
  if (exposed.empty()) exposed = "mcp__" + server + "__" + name;
  return {exposed, std::move(server), std::make_shared<const Tool>(std::move(made))};
}

std::vector<std::string> commands(const HookSet& set) {
  std::vector<std::string> out;
  const auto about = set.about(tool("s", "t"));
  if (!about) return out;
  for (const auto& hook : about->of(HookEvent::pre_tool_use)) out.push_back(hook->setting.command);
  return out;
}

TEST(HookSet, AllFilesApplyAndTheRepositorysComeLast) {
  const std::vector layers{layer(SettingsSource::user, "user"), layer(SettingsSource::project, "project"),
                           layer(SettingsSource::enterprise, "managed"), layer(SettingsSource::flag, "flag")};
  EXPECT_THAT(commands(HookSet(layers, true)), ElementsAre("managed", "flag", "user", "project"));
}

TEST(HookSet, ThoseOfARepositoryNeedTrust) {
  const std::vector layers{layer(SettingsSource::user, "user"), layer(SettingsSource::project_local, "local"),
                           layer(SettingsSource::project, "project")};
  const HookSet set(layers, false);
  EXPECT_THAT(commands(set), ElementsAre("user"));
  ASSERT_THAT(set.problems(), SizeIs(2));
  for (const auto& problem : set.problems()) {
    EXPECT_THAT(problem.message, HasSubstr("a repository that you do not trust"));
    EXPECT_EQ(problem.severity, Severity::warning);
    EXPECT_EQ(problem.remedy, (Remedy{Remedy::Kind::trust_project}));
  }
  // Those about tools of other programs are worth no word.
  const std::vector others{layer(SettingsSource::project, "x", "", "Edit|Write")};
  EXPECT_THAT(HookSet(others, false).problems(), IsEmpty());
}

TEST(HookSet, WhoMaySwitchWhoseHooksOff) {
  const std::string off = R"(,"disableAllHooks":true)";
  const std::string only = R"(,"allowManagedHooksOnly":true)";
  auto all = [&](const std::string& managed, const std::string& user, const std::string& project) {
    const std::vector layers{layer(SettingsSource::enterprise, "managed", managed),
                             layer(SettingsSource::user, "user", user),
                             layer(SettingsSource::project, "project", project)};
    return commands(HookSet(layers, true));
  };
  EXPECT_THAT(all("", "", ""), ElementsAre("managed", "user", "project"));
  EXPECT_THAT(all(off, "", ""), IsEmpty());
  EXPECT_THAT(all(only, "", ""), ElementsAre("managed"));
  EXPECT_THAT(all("", off, ""), ElementsAre("managed"));
  // A repository switches off no guard of the user's.
  EXPECT_THAT(all("", "", off), ElementsAre("managed", "user"));
  EXPECT_THAT(all("", only, ""), ElementsAre("managed", "user", "project"));
}

TEST(HookSet, AnOrganisationWithoutHooksMaySwitchOthersOff) {
  const std::vector layers{
      parse_settings(R"({"allowManagedHooksOnly":true})", SettingsSource::enterprise, "/etc/m.json"),
      layer(SettingsSource::user, "user")};
  const HookSet set(layers, true);
  EXPECT_TRUE(set.empty());
  ASSERT_THAT(set.problems(), SizeIs(1));
  EXPECT_THAT(set.problems()[0].message,
              AllOf(HasSubstr("not run"), HasSubstr("allowManagedHooksOnly"), HasSubstr("/etc/m.json:1")));
}

TEST(HookSet, EventsOfAnAgentAreMatchedByHowTheyCameAbout) {
  const auto events = parse_settings(R"({"hooks":{
      "SessionStart":[{"matcher":"resume","hooks":[{"type":"command","command":"r"}]},
                      {"hooks":[{"type":"command","command":"a"}]}],
      "Stop":[{"matcher":"(","hooks":[{"type":"command","command":"s"}]}]}})",
                                     SettingsSource::user, "/s.json");
  const HookSet set(std::vector{events}, true);
  EXPECT_THAT(set.problems(), IsEmpty()) << "what has no matcher has none that is wrong";
  EXPECT_THAT(set.about_agent(HookEvent::session_start, "startup"), SizeIs(1));
  EXPECT_THAT(set.about_agent(HookEvent::session_start, "resume"), SizeIs(2));
  EXPECT_THAT(set.about_agent(HookEvent::stop, ""), SizeIs(1));
  EXPECT_FALSE(set.about(tool("s", "t"))) << "they are about no call";
}

TEST(HookSet, AToolIsFoundInEverySpelling) {
  const std::vector layers{layer(SettingsSource::user, "x", "", "mcp__my_server__do_it")};
  EXPECT_TRUE(HookSet(layers, true).about(tool("my server", "do it", "mcp__my_server__do_it_1a2b")));
  const std::vector raw{layer(SettingsSource::user, "x", "", "mcp__my server__do it")};
  EXPECT_TRUE(HookSet(raw, true).about(tool("my server", "do it", "mcp__my_server__do_it")));
  // A tool of this process under its bare name.
  const std::vector bare{layer(SettingsSource::user, "x", "", "mcp__inside__read")};
  EXPECT_TRUE(HookSet(bare, true).about(tool("inside", "read", "read")));
  EXPECT_FALSE(HookSet(bare, true).about(tool("outside", "read")));
}

TEST(HookSet, TheSameCommandIsRunOnce) {
  std::vector layers{layer(SettingsSource::user, "same"), layer(SettingsSource::own, "same"),
                     layer(SettingsSource::flag, "other")};
  EXPECT_THAT(commands(HookSet(layers, true)), ElementsAre("other", "same"));
  // One of a repository gets another environment.
  layers.push_back(layer(SettingsSource::project, "same"));
  EXPECT_THAT(commands(HookSet(layers, true)), ElementsAre("other", "same", "same"));
}

TEST(HookSet, AMatcherThatCannotBeReadIsAboutEverything) {
  const std::vector layers{layer(SettingsSource::user, "x", "", "(")};
  const HookSet set(layers, true);
  const auto about = set.about(tool("any", "thing"));
  ASSERT_TRUE(about);
  EXPECT_NE(about->of(HookEvent::pre_tool_use).front()->setting.fault, "");
  ASSERT_THAT(set.problems(), SizeIs(1));
  EXPECT_EQ(set.problems()[0].severity, Severity::error);
}

TEST(HookSet, QuestionsAreMatchedByServer) {
  const std::vector layers{
      parse_settings(R"({"hooks":{"Elicitation":[{"matcher":"db","hooks":[{"type":"command","command":"x"}]}]}})",
                     SettingsSource::user, "/f")};
  const HookSet set(layers, true);
  EXPECT_THAT(set.about_server(HookEvent::elicitation, "db"), SizeIs(1));
  EXPECT_THAT(set.about_server(HookEvent::elicitation, "db2"), IsEmpty());
  EXPECT_THAT(set.about_server(HookEvent::elicitation_result, "db"), IsEmpty());
  EXPECT_FALSE(set.about(tool("db", "x")));
}

TEST(HookSet, AHookIsDescribedWithoutSecretsAndWithItsPlace) {
  const auto url = parse_settings(
      R"({"hooks":{"PostToolUse":[{"hooks":[{"type":"http","url":"https://me:pw@h.example/x?token=abc"}]}]}})",
      SettingsSource::user, "/f/s.json");
  const HookSet set(std::span(&url, 1), true);
  const auto text = set.all().at(0)->described();
  EXPECT_THAT(text, AllOf(HasSubstr("the PostToolUse hook \"https://h.example/x"), HasSubstr("(/f/s.json:1)")));
  EXPECT_THAT(text, testing::Not(testing::AnyOf(HasSubstr("pw"), HasSubstr("abc"))));
  HookSetting curl;
  curl.command = "curl -H 'Authorization: Bearer abcdef' --data @- \x1b[31mhttps://h.example";
  EXPECT_THAT(shown_target(curl),
              AllOf(HasSubstr("curl -H"), testing::Not(HasSubstr("abcdef")), testing::Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace patchbay
