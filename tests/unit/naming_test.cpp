// Rows of docs/requirements.md: W1.
#include "catalog/naming.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "base/crypto.h"

namespace patchbay {
namespace {

std::string hash8(std::string_view server, std::string_view tool) {
  std::string original(server);
  original += '\0';
  original += tool;
  return sha256_hex(original).substr(0, 8);
}

TEST(Naming, OtherCharactersBecomeOneUnderscorePerCodePoint) {
  struct Case {
    std::string_view in, out;
  };
  for (auto [in, out] : std::initializer_list<Case>{
           {"", ""},
           {"read_file", "read_file"},
           {"Read-File9", "Read-File9"},
           {"a.b/c d", "a_b_c_d"},
           {"caf\xC3\xA9", "caf_"},
           {"\xF0\x9F\x98\x80x", "_x"},
           {"\xE6\x97\xA5\xE6\x9C\xAC", "__"},
           {"\xFF\xC3", "__"},
           {"\xC3z", "_z"},
           {std::string_view("a\0b", 3), "a_b"},
       }) {
    EXPECT_EQ(normalise_name(in), out);
  }
}

// compat: B7.17
TEST(Naming, ExposesServerAndToolOrShortensOrHashes) {
  struct Case {
    std::vector<ToolId> ids;
    std::vector<std::string> names;
  };
  const std::string long_tool(80, 't');
  const std::string long_server(60, 's');
  std::vector<Case> cases{
      {{}, {}},
      {{{"fs", "read"}}, {"mcp__fs__read"}},
      {{{"my server", "read.file"}}, {"mcp__my_server__read_file"}},
      // Exactly 64 characters stay, 65 do not.
      {{{"fs", std::string(55, 'x')}}, {"mcp__fs__" + std::string(55, 'x')}},
      {{{"fs", std::string(56, 'x')}}, {"mcp__fs__" + std::string(46, 'x') + "_" + hash8("fs", std::string(56, 'x'))}},
      {{{"fs", long_tool}}, {"mcp__fs__" + std::string(46, 't') + "_" + hash8("fs", long_tool)}},
      {{{long_server, "go"}}, {"mcp__" + std::string(46, 's') + "__go_" + hash8(long_server, "go")}},
      {{{long_server, long_tool}},
       {"mcp__" + std::string(24, 's') + "__" + std::string(24, 't') + "_" + hash8(long_server, long_tool)}},
      // The one already in normal form keeps the name.
      {{{"fs", "a.b"}, {"fs", "a_b"}}, {"mcp__fs__a_b_" + hash8("fs", "a.b"), "mcp__fs__a_b"}},
      // Nobody is: all get a hash.
      {{{"fs", "a.b"}, {"fs", "a/b"}}, {"mcp__fs__a_b_" + hash8("fs", "a.b"), "mcp__fs__a_b_" + hash8("fs", "a/b")}},
      // Servers that normalise to the same name.
      {{{"my server", "x"}, {"my_server", "x"}, {"my_server", "y"}},
       {"mcp__my_server__x_" + hash8("my server", "x"), "mcp__my_server__x", "mcp__my_server__y"}},
      // Two in normal form: neither may answer to the other's name.
      {{{"a", "b__c"}, {"a__b", "c"}}, {"mcp__a__b__c_" + hash8("a", "b__c"), "mcp__a__b__c_" + hash8("a__b", "c")}},
      {{{"fs", ""}}, {"mcp__fs__"}},
      {{{"", ""}}, {"mcp____"}},
      {{{"sdk", "go", NamePrefix::none}}, {"go"}},
      {{{"sdk", "", NamePrefix::none}}, {"tool_" + hash8("sdk", "")}},
      {{{"sdk", std::string(65, 'x'), NamePrefix::none}},
       {std::string(55, 'x') + "_" + hash8("sdk", std::string(65, 'x'))}},
      {{{"one", "go", NamePrefix::none}, {"two", "go", NamePrefix::none}},
       {"go_" + hash8("one", "go"), "go_" + hash8("two", "go")}},
      {{{"fs", "read"}, {"sdk", "mcp__fs__read", NamePrefix::none}},
       {"mcp__fs__read_" + hash8("fs", "read"), "mcp__fs__read_" + hash8("sdk", "mcp__fs__read")}},
      // The same tool listed twice is one tool.
      {{{"fs", "read"}, {"fs", "read"}}, {"mcp__fs__read", "mcp__fs__read"}},
  };
  for (const auto& c : cases) EXPECT_EQ(expose_names(c.ids), c.names);
}

// W1: what nothing is shown for cannot make one tool look like another.
TEST(Naming, InvisibleCharactersMakeNoTwin) {
  for (const std::string invisible : {"\u200B", "\u00AD", "\u034F", "\u3164", "\u2060", "\uFE0F", "\U000E0041"}) {
    const ToolId plain{"s", "write"}, odd{"s", "wri" + invisible + "te"}, taken{"s", "wri_te"};
    EXPECT_EQ(normalise_name(odd.tool), "wri_te");
    EXPECT_EQ(expose_names(std::vector{plain, odd}), (std::vector<std::string>{"mcp__s__write", "mcp__s__wri_te"}));
    const auto names = expose_names(std::vector{odd, plain, taken});
    EXPECT_TRUE(names[0].starts_with("mcp__s__wri_te_")) << names[0];
    EXPECT_EQ(names[1], "mcp__s__write");
    EXPECT_EQ(names[2], "mcp__s__wri_te");
    // Nor do two of them in two places, or on two servers that look alike.
    const auto twins = expose_names(std::vector<ToolId>{{"s", invisible + "a"}, {"s", "_a"}, {"s" + invisible, "a"}});
    EXPECT_EQ(std::set<std::string>(twins.begin(), twins.end()).size(), 3u);
  }
}

TEST(Naming, AHashThatSpellsAnExistingToolMovesOn) {
  auto squatted = "a_b_" + hash8("fs", "a.b");
  std::vector<ToolId> ids{{"fs", "a.b"}, {"fs", "a/b"}, {"fs", squatted}};
  auto names = expose_names(ids);
  EXPECT_EQ(names[2], "mcp__fs__" + squatted);
  EXPECT_EQ(names[1], "mcp__fs__a_b_" + hash8("fs", "a/b"));
  EXPECT_TRUE(names[0].starts_with("mcp__fs__a_b_")) << names[0];
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), 3u);
  // Even one that foresees the second attempt is evaded.
  ids.push_back({"fs", names[0].substr(9)});
  auto again = expose_names(ids);
  EXPECT_EQ(again[3], names[0]);
  EXPECT_EQ(std::set(again.begin(), again.end()).size(), 4u);
}

TEST(Naming, IdsThatHashAlikeStillGetDifferentNames) {
  // Joined by NUL these two are the same bytes, and both are cut to the same letters.
  std::string x(80, '\0');
  std::vector<ToolId> ids{{x, x + "z"}, {x + '\0', x.substr(1) + "z"}};
  auto names = expose_names(ids);
  EXPECT_NE(names[0], names[1]);
  // A bare and a prefixed tool whose cut names are the same.
  std::string periodic;
  while (periodic.size() < 100) periodic += "mcp__s__";
  std::vector<ToolId> twice{{"s", periodic}, {"s", periodic, NamePrefix::none}};
  names = expose_names(twice);
  EXPECT_NE(names[0], names[1]);
}

TEST(Naming, NamesAreUniqueValidAndIndependentOfOrder) {
  std::mt19937 random(20260728);
  const std::vector<std::string> parts{"a", "_", ".", "__", "b", "/", "\xC3\xA9", "-", "long-long-long-long-name", ""};
  for (int round = 0; round < 200; ++round) {
    std::set<ToolId> set;
    for (int i = 0; i < 30; ++i) {
      auto word = [&] {
        std::string out;
        for (auto n = random() % 5; n > 0; --n) out += parts[random() % parts.size()];
        return out;
      };
      set.insert({word(), word(), random() % 8 == 0 ? NamePrefix::none : NamePrefix::server});
    }
    std::vector<ToolId> ids(set.begin(), set.end());
    auto names = expose_names(ids);
    std::map<ToolId, std::string> by_id;
    std::set<std::string> unique;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      by_id[ids[i]] = names[i];
      unique.insert(names[i]);
      EXPECT_FALSE(names[i].empty());
      EXPECT_LE(names[i].size(), exposed_name_limit);
      EXPECT_EQ(normalise_name(names[i]), names[i]);
    }
    EXPECT_EQ(unique.size(), ids.size());
    std::ranges::shuffle(ids, random);
    names = expose_names(ids);
    for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(names[i], by_id[ids[i]]);
  }
}

// The positions in `ids` that `text` names in a catalog of them.
std::vector<std::size_t> find_named(std::string_view text, const std::vector<ToolId>& ids) {
  std::vector<ServerTools> servers;
  for (const auto& id : ids) {
    auto tool = std::make_shared<Tool>();
    tool->name = id.tool;
    servers.push_back({id.server, {std::move(tool)}, id.prefix});
  }
  const Catalog catalog(servers);
  const auto found = catalog.find(text);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (auto* entry = std::get_if<const CatalogEntry*>(&found)) {
      if ((*entry)->server == ids[i].server && (*entry)->tool->name == ids[i].tool) out.push_back(i);
    } else if (auto* several = std::get_if<Catalog::Ambiguous>(&found)) {
      if (std::ranges::count(several->candidates, ids[i].server + "/" + ids[i].tool) > 0) out.push_back(i);
    }
  }
  return out;
}

TEST(Naming, FindsByEverySpellingTheMostDirectFirst) {
  std::vector<ToolId> ids{
      {"fs", "read"}, {"my server", "read.all"}, {"a/b", "c"}, {"a", "b/c"}, {"s", "mcp__fs__read"}, {"git", "read"},
  };
  struct Case {
    std::string_view text;
    std::vector<std::size_t> found;
  };
  for (const auto& [text, found] : std::initializer_list<Case>{
           {"mcp__fs__read", {0}},  // the exposed name beats the other tool's own name
           {"fs/read", {0}},
           {"my server/read.all", {1}},
           {"mcp__my server__read.all", {1}},
           {"mcp__my_server__read_all", {1}},
           {"read.all", {1}},
           {"a/b/c", {2, 3}},
           {"c", {2}},
           {"b/c", {3}},
           {"read", {0, 5}},
           {"write", {}},
           {"", {}},
           {"mcp__", {}},
           {"/", {}},
       }) {
    EXPECT_EQ(find_named(text, ids), found) << text;
  }
}

TEST(Naming, ShortenedAndHashedToolsAreStillFoundByTheirFullNames) {
  std::vector<ToolId> ids{{"fs", std::string(80, 'x')}, {"fs", "a.b"}, {"fs", "a/b"}};
  auto names = expose_names(ids);
  EXPECT_EQ(find_named("mcp__fs__" + std::string(80, 'x'), ids), (std::vector<std::size_t>{0}));
  EXPECT_EQ(find_named("mcp__fs__a.b", ids), (std::vector<std::size_t>{1}));
  EXPECT_EQ(find_named("mcp__fs__a_b", ids), (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(find_named(names[2], ids), (std::vector<std::size_t>{2}));
}

TEST(Naming, ATextAddressesAServerInThreeSpellings) {
  struct Case {
    std::string text, server;
    std::vector<std::string_view> parts;
  };
  for (const auto& [text, server, parts] : std::vector<Case>{
           {"fs/read", "fs", {"read"}},
           {"fs/", "fs", {""}},
           {"mcp__fs__read", "fs", {"read"}},
           {"mcp__my files__read", "my files", {"read"}},
           {"mcp__my_files__read", "my files", {"read"}},
           {"my files/a/b", "my files", {"a/b"}},
           // Only a name that a model sees is written so.
           {"my_files/read", "my files", {}},
           // Which part is the server's cannot be seen from the text alone.
           {"mcp__a__b__c", "a", {"b__c"}},
           {"mcp__a__b__c", "a__b", {"c"}},
           {"mcp__\u00e9__b", "\u00e9", {"b"}},
           {"mcp______b", "_", {"_b"}},
           {"fs", "fs", {}},
           {"mcp__fs", "fs", {}},
           {"mcp__fsx__read", "fs", {}},
           {"fsx/read", "fs", {}},
           {"read", "fs", {}},
           {"", "fs", {}},
       }) {
    EXPECT_EQ(addressed_parts(text, server), parts) << text << " of " << server;
    EXPECT_EQ(addresses_server(text, server), !parts.empty()) << text << " of " << server;
  }
}

}  // namespace
}  // namespace patchbay
