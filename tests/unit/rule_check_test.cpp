// Permission rules that can never decide anything. P1 B7.
#include "permission/rule_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/config/rule_request.h"
#include "support/rule_lists.h"

namespace patchbay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Lists = test::RuleLists;

RuleSet rules_of(const Lists& lists) {
  const auto layers = test::settings_with(lists, "/s.json");
  RuleRequest request;
  request.places = {"/w", "/home/me"};
  return collect_rules(layers, request);
}

TEST(RuleCheck, RulesThatOthersMakePointlessAreFound) {
  struct Case {
    Lists lists;
    std::string loses;  // the rule that never decides; empty: all have their use
    std::string to;
  };
  const std::vector<Case> cases{
      {{{"mcp__fs__read"}, {}, {"mcp__fs__read"}}, "mcp__fs__read", "deny"},
      {{{"mcp__fs__read"}, {}, {"mcp__fs"}}, "mcp__fs__read", "mcp__fs"},
      {{{"mcp__fs__read"}, {}, {"mcp__fs__*"}}, "mcp__fs__read", "mcp__fs__*"},
      {{{"mcp__fs"}, {}, {"mcp__fs__*"}}, "mcp__fs", "mcp__fs__*"},
      {{{"fs/read"}, {}, {"mcp__fs"}}, "fs/read", "mcp__fs"},
      {{{"mcp__fs__read_*"}, {}, {"mcp__*"}}, "mcp__fs__read_*", "mcp__*"},
      {{{"MCPTool(mcp__fs__read)"}, {}, {"*"}}, "MCPTool(mcp__fs__read)", "*"},
      {{{"mcp__fs__read"}, {"mcp__fs"}, {}}, "mcp__fs__read", "ask"},
      {{{}, {"mcp__fs__read"}, {"mcp__fs"}}, "mcp__fs__read", "deny"},
      // With conditions the stronger rule leaves something over; the weaker one has none of it.
      {{{"mcp__fs__read"}, {}, {"mcp__fs__read(path: /etc/**)"}}, "", ""},
      {{{"mcp__fs__read(path: ./a/**)"}, {}, {"mcp__fs__read"}}, "mcp__fs__read(path: ./a/**)", "deny"},
      // Narrower, or about something else.
      {{{"mcp__fs"}, {}, {"mcp__fs__read"}}, "", ""},
      {{{"mcp__fs__*"}, {}, {"mcp__fs__read_*"}}, "", ""},
      {{{"mcp__fs__read"}, {}, {"mcp__fsx"}}, "", ""},
      {{{"mcp__fs__read"}, {}, {"mcp__f"}}, "", ""},
      {{{}, {}, {"mcp__fs", "mcp__fs__read"}}, "", ""},
      // Tools that are no server's are left alone.
      {{{"Bash(ls)"}, {}, {"Bash"}}, "", ""},
  };
  for (const auto& one : cases) {
    const auto problems = pointless_rules(rules_of(one.lists)).problems;
    const auto shown = testing::PrintToString(one.lists.allow) + testing::PrintToString(one.lists.deny);
    if (one.loses.empty()) {
      EXPECT_THAT(problems, IsEmpty()) << shown;
      continue;
    }
    ASSERT_EQ(problems.size(), 1u) << shown;
    EXPECT_EQ(problems[0].severity, Severity::warning) << shown;
    EXPECT_THAT(problems[0].message, HasSubstr(to_text(Json(one.loses)) + " never has an effect")) << shown;
    EXPECT_THAT(problems[0].message, HasSubstr(one.to)) << shown;
    EXPECT_EQ(problems[0].file, "/s.json");
    EXPECT_GT(problems[0].line, 0u);
  }
}

TEST(RuleCheck, ADenyRuleIsNamedBeforeAnAskRule) {
  const auto problems = pointless_rules(rules_of({{"mcp__fs__read"}, {"mcp__fs"}, {"mcp__fs__read"}})).problems;
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].message, HasSubstr("the deny rule"));
}

TEST(RuleCheck, TheSameRuleTwiceIsANote) {
  const auto problems = pointless_rules(rules_of({{"mcp__fs__read", "mcp__fs__read"}, {}, {}})).problems;
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].severity, Severity::note);
  EXPECT_THAT(problems[0].message, HasSubstr("is the same"));
}

// What is spent grows with the rules and not with their square, and what would is bounded and said.
TEST(RuleCheck, ManyRulesAreNotComparedOneByOne) {
  const auto lists = [](std::size_t count) {
    Lists out;
    for (std::size_t i = 0; i < count; ++i) {
      out.allow.push_back(fmt::format("mcp__s{}__tool_{}", i % 7, i));
      out.deny.push_back(i % 2 == 0 ? fmt::format("mcp__t{}__tool_{}", i % 7, i)
                                    : fmt::format("mcp__t{}__x{}_*", i % 7, i));
    }
    out.allow.push_back("mcp__t1__x1_y");
    return rules_of(out);
  };
  const auto few = pointless_rules(lists(100));
  const auto many = pointless_rules(lists(10'000));
  EXPECT_THAT(few.problems, SizeIs(1));
  EXPECT_THAT(many.problems, SizeIs(1));
  EXPECT_LE(many.steps, few.steps * 1'000);  // and not ten thousand times as many

  // Every * behind the same words: these have to be compared.
  RuleSet wild = rules_of({{"mcp__s__a", "mcp__s__b", "mcp__s__c"}, {}, {"mcp__*_x", "mcp__*_y", "mcp__*__b"}});
  EXPECT_THAT(pointless_rules(wild).problems, SizeIs(1));
  const auto cut = pointless_rules(wild, 4);
  EXPECT_LE(cut.steps, 4u);
  ASSERT_THAT(cut.problems, SizeIs(1));
  EXPECT_THAT(cut.problems[0].message, HasSubstr("the rules after this one were not compared"));
  EXPECT_EQ(cut.problems[0].severity, Severity::note);
}

TEST(RuleCheck, ARunThatTrustsTheProjectSaysSo) {
  LoadedConfig config;
  config.cwd = "/w";
  config.home = "/home/me";
  PermissionOptions options;
  options.allowed_tools = {"mcp__a__b"};
  options.mode = PermissionMode::bypass;
  EXPECT_FALSE(rule_request(config, options, false).trusted);
  EXPECT_TRUE(rule_request(config, options, true).trusted);
  config.project_trusted = true;
  const auto request = rule_request(config, options, false);
  EXPECT_TRUE(request.trusted);
  EXPECT_EQ(request.places, (RulePlaces{"/w", "/home/me"}));
  EXPECT_EQ(request.allowed_tools, options.allowed_tools);
  EXPECT_EQ(request.mode, PermissionMode::bypass);
}

}  // namespace
}  // namespace patchbay
