// Rows of docs/requirements.md: W1.
#include <algorithm>

#include <gtest/gtest.h>

#include <patchbay/catalog.h>

namespace patchbay {
namespace {

ServerTools server(std::string name, std::initializer_list<std::string_view> tools) {
  ServerTools out{std::move(name), {}, NamePrefix::server};
  for (auto tool : tools) {
    auto value = std::make_shared<Tool>();
    value->name = tool;
    out.tools.push_back(std::move(value));
  }
  return out;
}

std::vector<std::string> names(const Catalog& catalog) {
  std::vector<std::string> out;
  for (const auto& entry : catalog.tools()) out.push_back(entry.name);
  return out;
}

// "=name" for one entry, "?a, b" for several, "!suggestion" for none.
std::string found(const Catalog& catalog, std::string_view text) {
  auto result = catalog.find(text);
  if (auto* entry = std::get_if<const CatalogEntry*>(&result)) return "=" + (*entry)->name;
  if (auto* several = std::get_if<Catalog::Ambiguous>(&result)) {
    std::string out = "?";
    for (const auto& candidate : several->candidates) out += candidate + ";";
    return out;
  }
  return "!" + std::get<Catalog::Unknown>(result).suggestion;
}

TEST(Catalog, IsSortedBytewiseWhateverTheOrderOfArrival) {
  std::vector<ServerTools> one{server("zeta", {"b", "a"}), server("Alpha", {"x"}), server("fs", {"a.b", "a_b"})};
  std::vector<ServerTools> two{server("fs", {"a_b", "a.b"}), server("Alpha", {"x"}), server("zeta", {"a", "b"})};
  Catalog first(one), second(two);
  EXPECT_EQ(names(first), names(second));
  EXPECT_TRUE(std::ranges::is_sorted(names(first)));
  EXPECT_EQ(names(first).front(), "mcp__Alpha__x");
  EXPECT_EQ(first.size(), 5u);
  EXPECT_TRUE(Catalog().empty());
}

TEST(Catalog, KeepsTheToolAsDeclaredAndSharesIt) {
  std::vector<ServerTools> servers{server("my server", {"read.file"})};
  auto catalog = Catalog::build(servers);
  const auto* entry = catalog->at("mcp__my_server__read_file");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->server, "my server");
  EXPECT_EQ(entry->tool->name, "read.file");
  EXPECT_EQ(entry->tool, servers[0].tools[0]);
  EXPECT_EQ(catalog->at("read.file"), nullptr);
}

TEST(Catalog, AToolListedTwiceIsTakenOnceAndNoted) {
  std::vector<ServerTools> servers{server("fs", {"read", "write", "read"})};
  Catalog catalog(servers);
  EXPECT_EQ(names(catalog), (std::vector<std::string>{"mcp__fs__read", "mcp__fs__write"}));
  EXPECT_EQ(catalog.at("mcp__fs__read")->tool, servers[0].tools[0]);
  EXPECT_EQ(catalog.repeated(), (std::vector<ToolId>{{"fs", "read"}}));
}

TEST(Catalog, FindsOneSeveralOrNone) {
  std::vector<ServerTools> servers{server("fs", {"read_file", "list"}), server("git", {"list", "log"})};
  Catalog catalog(servers);
  struct Case {
    std::string_view text, expected;
  };
  for (auto [text, expected] : std::initializer_list<Case>{
           {"mcp__fs__read_file", "=mcp__fs__read_file"},
           {"fs/read_file", "=mcp__fs__read_file"},
           {"read_file", "=mcp__fs__read_file"},
           {"log", "=mcp__git__log"},
           {"list", "?fs/list;git/list;"},
           {"git/list", "=mcp__git__list"},
           {"read_fil", "!read_file"},
           {"git/lgo", "!git/log"},
           {"mcp__fs__read-file", "!mcp__fs__read_file"},
           {"something else", "!"},
           {"", "!"},
       }) {
    EXPECT_EQ(found(catalog, text), expected) << text;
  }
}

TEST(Catalog, RequireSaysWhatToTypeInstead) {
  std::vector<ServerTools> servers{server("fs", {"list"}), server("git", {"list"})};
  Catalog catalog(servers);
  EXPECT_EQ((*catalog.require("fs/list"))->server, "fs");
  struct Case {
    std::string_view text, message;
    std::optional<Remedy> remedy = std::nullopt;
  };
  for (const auto& [text, message, remedy] : std::initializer_list<Case>{
           {"list", "several servers have a tool called \"list\": use one of fs/list, git/list"},
           {"lits", "there is no tool called \"lits\"; did you mean \"list\"?"},
           {"frobnicate", "there is no tool called \"frobnicate\"", Remedy{Remedy::Kind::list_tools}},
       }) {
    auto result = catalog.require(text);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), Errc::invalid_argument);
    EXPECT_EQ(result.error().message(), message);
    EXPECT_EQ(result.error().remedy(), remedy);
  }
}

TEST(Catalog, AnOldSnapshotOutlivesItsSuccessor) {
  std::vector<ServerTools> servers{server("fs", {"a"})};
  auto before = Catalog::build(servers);
  servers[0] = server("fs", {"b"});
  auto after = Catalog::build(servers);
  EXPECT_EQ(names(*before), (std::vector<std::string>{"mcp__fs__a"}));
  EXPECT_EQ(names(*after), (std::vector<std::string>{"mcp__fs__b"}));
}

}  // namespace
}  // namespace patchbay
