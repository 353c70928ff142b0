// Fragments give the names that deciding about all tools at once would give, whatever came first. Rows of
// docs/requirements.md: W1, N3.
#include "catalog/fragment.h"

#include <algorithm>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crypto.h"
#include "catalog/naming.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ServerTools server(std::string name, std::vector<std::string> tools, NamePrefix prefix = NamePrefix::server) {
  ServerTools out{std::move(name), {}, prefix};
  for (auto& tool : tools) {
    auto value = std::make_shared<Tool>();
    value->name = std::move(tool);
    out.tools.push_back(std::move(value));
  }
  return out;
}

std::vector<std::string> names_of(const CatalogFragment& fragment) {
  std::vector<std::string> out;
  for (const auto& entry : fragment.entries) out.push_back(entry.name);
  return out;
}

std::string hash8(std::string_view server, std::string_view tool) {
  std::string original(server);
  original += '\0';
  original += tool;
  return sha256_hex(original).substr(0, 8);
}

TEST(Fragment, IsSortedAndNamedAsIfThereWereNoOtherServer) {
  const auto plain = name_alone(server("s", {"c", "a", "b"}));
  EXPECT_THAT(names_of(*plain), ElementsAre("mcp__s__a", "mcp__s__b", "mcp__s__c"));
  EXPECT_THAT(plain->contested, IsEmpty());
  const auto clashing = name_alone(server("s", {"x.y", "z", "x/y"}));
  std::vector<std::string> expected{"mcp__s__x_y_" + hash8("s", "x.y"), "mcp__s__x_y_" + hash8("s", "x/y"),
                                    "mcp__s__z"};
  std::ranges::sort(expected);
  EXPECT_EQ(names_of(*clashing), expected);
  EXPECT_THAT(clashing->contested, ElementsAre("mcp__s__x_y"));
  // One of them is in normal form and keeps it.
  EXPECT_THAT(name_alone(server("s", {"x.y", "x_y"}))->contested, IsEmpty());
  EXPECT_THAT(name_alone(server("s", {}))->entries, IsEmpty());
}

TEST(Fragment, OfAToolListedTwiceTheFirstCountsAndEveryOtherIsNoted) {
  const auto listed = server("s", {"b", "a", "b", "b"});
  const auto fragment = name_alone(listed);
  EXPECT_THAT(names_of(*fragment), ElementsAre("mcp__s__a", "mcp__s__b"));
  EXPECT_EQ(fragment->entries[1].tool, listed.tools[0]);
  EXPECT_THAT(fragment->repeated, ElementsAre(ToolId{"s", "b"}, ToolId{"s", "b"}));
}

TEST(Fragment, OnlyThoseThatWantTheSameNameAreMadeAnew) {
  const std::vector fragments{name_alone(server("a", {"b__c", "x"})), name_alone(server("a__b", {"c", "y"})),
                              name_alone(server("other", {"c", "x"}))};
  const auto settled = settle_names(fragments);
  EXPECT_NE(settled[0], fragments[0]);
  EXPECT_NE(settled[1], fragments[1]);
  EXPECT_EQ(settled[2], fragments[2]);
  EXPECT_THAT(names_of(*settled[0]), ElementsAre("mcp__a__b__c_" + hash8("a", "b__c"), "mcp__a__x"));
  EXPECT_THAT(names_of(*settled[1]), ElementsAre("mcp__a__b__c_" + hash8("a__b", "c"), "mcp__a__b__y"));
}

// A name that two tools of one server wanted is not free for a third of another server, unless that is its own
// spelling.
TEST(Fragment, AContestedNameIsNotTakenByAnotherServer) {
  const std::vector fragments{name_alone(server("s", {"x.y", "x/y"})),
                              name_alone(server("tools", {"mcp__s__x.y"}, NamePrefix::none))};
  EXPECT_THAT(names_of(*settle_names(fragments)[1]), ElementsAre("mcp__s__x_y_" + hash8("tools", "mcp__s__x.y")));
  const std::vector own{fragments[0], name_alone(server("tools", {"mcp__s__x_y"}, NamePrefix::none))};
  EXPECT_THAT(names_of(*settle_names(own)[1]), ElementsAre("mcp__s__x_y"));
}

// A server cannot take the name that another one's tool gets by a hash: everybody's names stay different.
TEST(Fragment, AHashThatSpellsAnotherServersToolMovesOn) {
  const std::string longest(80, 't');
  const auto squatted = "mcp__fs__" + std::string(46, 't') + "_" + hash8("fs", longest);
  const auto settled =
      settle_names({name_alone(server("fs", {longest})), name_alone(server("evil", {squatted}, NamePrefix::none))});
  EXPECT_THAT(names_of(*settled[1]), ElementsAre(squatted));
  EXPECT_NE(names_of(*settled[0]).front(), squatted);
  EXPECT_LE(names_of(*settled[0]).front().size(), exposed_name_limit);
}

TEST(Fragment, EntriesAreMergedInTheOrderOfTheirNames) {
  // A bare server's names stand before, between and after those of others.
  const std::vector fragments{name_alone(server("b", {"1", "2"})), name_alone(server("a", {"1", "9"})),
                              name_alone(server("bare", {"zoom", "add", "mcp__a__5", "mcp__azure"}, NamePrefix::none))};
  std::vector<std::string> names;
  for (const auto* entry : merge_entries(fragments)) names.push_back(entry->name);
  EXPECT_THAT(
      names, ElementsAre("add", "mcp__a__1", "mcp__a__5", "mcp__a__9", "mcp__azure", "mcp__b__1", "mcp__b__2", "zoom"));
}

TEST(Fragment, NamesAreThoseOfDecidingAboutAllToolsAtOnce) {
  std::mt19937 random(20261118);
  const std::vector<std::string> parts{"a", "_", ".", "__", "b", "/", "\xC3\xA9", "-", "long-long-long-long-name", ""};
  const auto word = [&] {
    std::string out;
    for (auto n = random() % 5; n > 0; --n) out += parts[random() % parts.size()];
    return out;
  };
  for (int round = 0; round < 300; ++round) {
    std::map<std::string, ServerTools> servers;
    for (int i = 0; i < 6; ++i) {
      std::vector<std::string> tools;
      for (auto n = random() % 8; n > 0; --n) tools.push_back(word());
      auto name = word();
      servers[name] = server(name, tools, random() % 6 == 0 ? NamePrefix::none : NamePrefix::server);
    }
    std::vector<Fragment> fragments;
    std::vector<ToolId> ids;
    for (const auto& [name, one] : servers) {
      fragments.push_back(name_alone(one));
      for (const auto& tool : one.tools) ids.push_back({name, tool->name, one.prefix});
    }
    const auto expected = expose_names(ids);
    const auto settled = settle_names(fragments);
    std::map<ToolId, std::string> names;
    for (const auto& fragment : settled) {
      for (const auto& entry : fragment->entries) names[{entry.server, entry.tool->name, entry.prefix}] = entry.name;
    }
    for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(names[ids[i]], expected[i]);
    const auto merged = merge_entries(settled);
    EXPECT_EQ(merged.size(), names.size());
    const auto in_order = [](const CatalogEntry* left, const CatalogEntry* right) { return left->name < right->name; };
    EXPECT_TRUE(std::ranges::is_sorted(merged, in_order));
    EXPECT_EQ(std::ranges::adjacent_find(merged, {}, [](const CatalogEntry* entry) { return entry->name; }),
              merged.end());
  }
}

}  // namespace
}  // namespace patchbay
