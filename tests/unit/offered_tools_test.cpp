// Catalogs are made of what changed and when somebody looks; one that would be the same stays the same. W1, L8.
#include "host/offered_tools.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/rule_lists.h"

namespace patchbay {
namespace {

using testing::ElementsAre;

OfferedTools::Tools tools(std::vector<std::string> names) {
  OfferedTools::Tools out;
  for (auto& name : names) {
    Tool tool;
    tool.name = std::move(name);
    out.push_back(std::make_shared<const Tool>(std::move(tool)));
  }
  return out;
}

Permissions rules_with(const test::RuleLists& lists) {
  return Permissions(collect_rules(test::settings_with(lists, "/home/me/.claude/settings.json"), RuleRequest{}));
}

std::vector<std::string> names_of(const Catalog& catalog) {
  std::vector<std::string> names;
  for (const auto& entry : catalog.tools()) names.push_back(entry.name);
  return names;
}

TEST(OfferedTools, AreMadeIntoOneCatalogWhenSomebodyLooks) {
  OfferedTools offered;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(offered.set(fmt::format("s{}", i), NamePrefix::server, tools({"x"})));
  EXPECT_EQ(offered.built(), 0u);
  EXPECT_EQ(offered.all()->size(), 100u);
  EXPECT_EQ(offered.shown({})->size(), 100u);
  EXPECT_EQ(offered.all(), offered.shown({}));
  EXPECT_EQ(offered.built(), 1u);
}

TEST(OfferedTools, TheSameOfferIsNotAChangeAndMakesNoNewCatalog) {
  OfferedTools offered;
  EXPECT_TRUE(offered.set("s", NamePrefix::server, tools({"x", "y"})));
  const auto before = offered.all();
  EXPECT_FALSE(offered.set("s", NamePrefix::server, tools({"x", "y"})));
  EXPECT_FALSE(offered.remove("other"));
  EXPECT_FALSE(offered.set("other", NamePrefix::server, {}));
  EXPECT_EQ(offered.all(), before);
  // Gone and back again before anybody looked.
  EXPECT_TRUE(offered.set("t", NamePrefix::server, tools({"z"})));
  EXPECT_TRUE(offered.remove("t"));
  EXPECT_EQ(offered.all(), before);
  EXPECT_EQ(offered.shown({}), before);
  EXPECT_TRUE(offered.set("s", NamePrefix::none, tools({"x", "y"})));
  EXPECT_NE(offered.all(), before);
  EXPECT_THAT(names_of(*before), ElementsAre("mcp__s__x", "mcp__s__y"));
}

// A tool may carry a large schema: catalogs refer to it, however often they are made anew.
TEST(OfferedTools, ToolsAreSharedAndNeverCopied) {
  OfferedTools offered;
  const auto first = tools({"x"});
  offered.set("s", NamePrefix::server, first);
  EXPECT_EQ(offered.all()->tools()[0].tool, first[0]);
  offered.set("t", NamePrefix::server, tools({"y"}));
  // Listed again and the same: who holds the old one holds the current one.
  offered.set("s", NamePrefix::server, tools({"x"}));
  EXPECT_EQ(offered.all()->tools()[0].tool, first[0]);
  const auto rules = rules_with({.deny = {"mcp__t__y"}});
  offered.set_rules(rules);
  EXPECT_EQ(offered.shown(rules)->tools()[0].tool, first[0]);
}

TEST(OfferedTools, NamesDoNotDependOnWhoCameFirst) {
  OfferedTools left, right;
  left.set("a", NamePrefix::server, tools({"b__c"}));
  (void)left.all();
  left.set("a__b", NamePrefix::server, tools({"c"}));
  right.set("a__b", NamePrefix::server, tools({"c"}));
  (void)right.all();
  right.set("a", NamePrefix::server, tools({"b__c"}));
  EXPECT_EQ(names_of(*left.all()), names_of(*right.all()));
  EXPECT_EQ(left.all()->size(), 2u);
}

// N3: names are decided among the servers that are declared, and not among those that happen to be connected.
TEST(OfferedTools, ANameStaysWhenAnotherServerHasNothingToOfferForAWhile) {
  OfferedTools offered;
  offered.set("my.server", NamePrefix::server, tools({"x"}));
  offered.set("my server", NamePrefix::server, tools({"x"}));
  const auto both = names_of(*offered.all());
  ASSERT_EQ(both.size(), 2u);
  ASSERT_NE(both[0], "mcp__my_server__x");
  const auto kept = offered.all()->tools()[0].server == "my.server" ? both[0] : both[1];
  const auto before = offered.all();

  EXPECT_TRUE(offered.set("my server", NamePrefix::server, {}));
  EXPECT_FALSE(offered.set("my server", NamePrefix::server, {}));
  EXPECT_THAT(names_of(*offered.all()), ElementsAre(kept));
  // Back again: the tools are the same objects, under the same names.
  EXPECT_TRUE(offered.set("my server", NamePrefix::server, tools({"x"})));
  EXPECT_EQ(names_of(*offered.all()), both);
  EXPECT_EQ(offered.all()->tools()[0].tool, before->tools()[0].tool);
  // Removed: nobody else wants the name any more.
  EXPECT_TRUE(offered.remove("my server"));
  EXPECT_THAT(names_of(*offered.all()), ElementsAre("mcp__my_server__x"));
}

// N3, W5
TEST(OfferedTools, ACatalogThatWouldHaveTheSameBytesStaysTheSameObject) {
  OfferedTools offered;
  offered.set("s", NamePrefix::server, tools({"x", "y"}));
  offered.set("t", NamePrefix::server, tools({"z"}));
  const auto before = offered.all();
  // In another order.
  EXPECT_TRUE(offered.set("s", NamePrefix::server, tools({"y", "x"})));
  EXPECT_EQ(offered.all(), before);
  // Another list and back again.
  EXPECT_TRUE(offered.set("s", NamePrefix::server, tools({"y"})));
  EXPECT_TRUE(offered.set("s", NamePrefix::server, tools({"x", "y"})));
  EXPECT_EQ(offered.all(), before);
  // Gone and back again.
  EXPECT_TRUE(offered.set("t", NamePrefix::server, {}));
  EXPECT_TRUE(offered.set("t", NamePrefix::server, tools({"z"})));
  EXPECT_TRUE(offered.remove("s"));
  EXPECT_TRUE(offered.set("s", NamePrefix::server, tools({"x", "y"})));
  EXPECT_EQ(offered.all(), before);
  EXPECT_EQ(offered.shown({}), before);
}

TEST(OfferedTools, OneServersChangeMakesNothingAnewForOthers) {
  OfferedTools offered;
  for (int i = 0; i < 20; ++i) {
    offered.set(fmt::format("s{}", i), NamePrefix::server, tools({"x", "y"}));
    (void)offered.all();
  }
  EXPECT_EQ(offered.named(), 20u);
  const auto before = offered.all();
  offered.set("s7", NamePrefix::server, tools({"x"}));
  const auto after = offered.all();
  EXPECT_EQ(offered.named(), 21u);
  EXPECT_EQ(&after->tools()[0], &before->tools()[0]);
  EXPECT_EQ(after->size(), 39u);
  EXPECT_EQ(before->size(), 40u);
}

// A hidden tool that changes is not seen.
TEST(OfferedTools, WhatRulesHideMayChangeWithoutANewCatalog) {
  const auto rules = rules_with({.deny = {"mcp__a__secret"}});
  OfferedTools offered;
  offered.set_rules(rules);
  offered.set("a", NamePrefix::server, tools({"open", "secret"}));
  const auto before = offered.shown(rules);
  auto other = tools({"open", "secret"});
  Tool secret = *other[1];
  secret.description = "another one";
  other[1] = std::make_shared<const Tool>(secret);
  EXPECT_TRUE(offered.set("a", NamePrefix::server, other));
  EXPECT_EQ(offered.shown(rules), before);
  EXPECT_EQ(offered.all()->at("mcp__a__secret")->tool, other[1]);
}

TEST(OfferedTools, RulesLookOnlyAtWhatIsNew) {
  const auto rules = rules_with({.deny = {"mcp__*__secret"}});
  OfferedTools offered;
  offered.set_rules(rules);
  offered.set("a", NamePrefix::server, tools({"open", "secret"}));
  EXPECT_THAT(names_of(*offered.shown(rules)), ElementsAre("mcp__a__open"));
  EXPECT_EQ(offered.judged(), 2u);
  offered.set("b", NamePrefix::server, tools({"open", "secret"}));
  EXPECT_THAT(names_of(*offered.shown(rules)), ElementsAre("mcp__a__open", "mcp__b__open"));
  EXPECT_EQ(offered.judged(), 4u);
  // A name that becomes another one is judged again.
  const auto before = offered.shown(rules);
  offered.remove("a");
  EXPECT_THAT(names_of(*offered.shown(rules)), ElementsAre("mcp__b__open"));
  EXPECT_EQ(offered.judged(), 4u);
  EXPECT_NE(offered.shown(rules), before);
  EXPECT_EQ(offered.all()->size(), 2u);

  // Rules that hide nothing by name look at nothing.
  const auto others = rules_with({.deny = {"mcp__b__open(x: 1)"}});
  offered.set_rules(others);
  EXPECT_EQ(offered.shown(others), offered.all());
  EXPECT_EQ(offered.judged(), 4u);
  // What a new tool that is hidden changes is not seen.
  offered.set_rules(rules);
  const auto hidden_one = offered.shown(rules);
  offered.set("c", NamePrefix::server, tools({"secret"}));
  EXPECT_EQ(offered.shown(rules), hidden_one);
}

}  // namespace
}  // namespace patchbay
