// Definitions of sub-agents: what is read of a file, where it says what is wrong, and which tools it leaves. G2.
#include "agent/definitions.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/definition_files.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ReadDefinition read(std::string_view text) {
  return read_definition(text, "x.md", ConfigScope::project, ConfigTrust::needs_approval);
}

TEST(Definitions, ReadsAFile) {
  const auto all = read(R"(---
name: reviewer
description: "Reviews: changes"   # when
tools: Read, mcp__git, Bash
disallowedTools:
  - Bash
  - Write(*.md)
mcpServers:
  - git
  - browser:
      command: npx
      args: ["-y", "browser"]
  - {docs: {type: http, url: "https://docs.example/mcp"}}
model: haiku
colour: blue
---

You review.

---
Carefully.
)");
  ASSERT_TRUE(all.definition) << (all.problems.empty() ? "" : all.problems[0].text());
  EXPECT_THAT(all.problems, IsEmpty());
  const auto& d = *all.definition;
  EXPECT_EQ(d.name, "reviewer");
  EXPECT_EQ(d.description, "Reviews: changes");
  EXPECT_EQ(d.instructions, "You review.\n\n---\nCarefully.");
  EXPECT_THAT(*d.tools, ElementsAre("Read", "mcp__git", "Bash"));
  EXPECT_THAT(d.disallowed_tools, ElementsAre("Bash", "Write"));
  EXPECT_THAT(*d.servers, ElementsAre("git"));
  ASSERT_THAT(d.own_servers, SizeIs(2));
  EXPECT_EQ(d.own_servers[0].name, "browser");
  EXPECT_EQ(d.own_servers[0].command, "npx");
  EXPECT_EQ(d.own_servers[0].origin.trust, ConfigTrust::needs_approval);
  EXPECT_EQ(d.own_servers[0].origin.line, 10u);
  EXPECT_EQ(d.own_servers[1].url, "https://docs.example/mcp");
  EXPECT_EQ(d.model, "haiku");
}

TEST(Definitions, TellsNothingFromNone) {
  const auto plain = read("---\nname: a\ndescription: b\nmodel: inherit\n---\n");
  ASSERT_TRUE(plain.definition);
  EXPECT_FALSE(plain.definition->tools);
  EXPECT_FALSE(plain.definition->servers);
  EXPECT_EQ(plain.definition->model, "");
  const auto none = read("---\nname: a\ndescription: b\ntools: []\nmcpServers: []\n---\nx");
  ASSERT_TRUE(none.definition);
  EXPECT_THAT(*none.definition->tools, IsEmpty());
  EXPECT_THAT(*none.definition->servers, IsEmpty());
}

TEST(Definitions, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* text;
    const char* says;
    bool usable = false;
  };
  const Case cases[] = {
      {"no header", "x.md: it does not begin with a header"},
      {"---\nname: a\n---\n", "\"description\" is missing"},
      {"---\ndescription: a\nname: a b\n---\n", "x.md:3:1: \"name\" consists of"},
      {"---\nname: a\ndescription: b\ntools: 7\n---\n", "x.md:4:1: \"tools\" is a list of names"},
      {"---\nname: a\ndescription: b: c\n---\n", "line 3"},
      {"---\nname: a\ndescription: b\nmcpServers: git\n---\n", "x.md:4:1: \"mcpServers\" is a list"},
      {"---\nname: a\ndescription: b\nmcpServers:\n  - {a: {}, b: {}}\n---\n", "x.md:5:5: an item of"},
      {"---\nname: a\ndescription: b\nmcpServers:\n  - a: {command: 7}\n---\n", "x.md:5:"},
      {"---\nname: a\ndescription: b\ntools: Bash(git:*), Read\n---\n", "conditions on arguments belong", true},
      {"---\nname: a\ndescription: &x b\n---\n", "line 3"},
  };
  for (const auto& c : cases) {
    const auto out = read(c.text);
    EXPECT_EQ(out.definition.has_value(), c.usable) << c.text;
    std::string all;
    for (const auto& problem : out.problems) all += problem.text() + "\n";
    EXPECT_THAT(all, HasSubstr(c.says)) << c.text;
  }
  EXPECT_FALSE(read("---\nname: a\ndescription: b\n---\n" + std::string(300'000, 'x')).definition);
}

CatalogEntry entry(std::string server, std::string tool, NamePrefix prefix = NamePrefix::server) {
  auto name = prefix == NamePrefix::none ? tool : "mcp__" + server + "__" + tool;
  return {.name = std::move(name),
          .server = std::move(server),
          .tool = std::make_shared<Tool>(Tool{.name = std::move(tool)}),
          .prefix = prefix};
}

TEST(Definitions, NamesTools) {
  struct Case {
    const char* pattern;
    CatalogEntry tool;
    bool named;
  };
  const auto read_file = entry("patchbay", "read_file", NamePrefix::none);
  const auto search = entry("docs", "search");
  const Case cases[] = {
      {"*", search, true},
      {"mcp__docs", search, true},
      {"mcp__docs__*", search, true},
      {"mcp__docs__search", search, true},
      {"mcp__docs__sea*", search, true},
      {"mcp__*", search, true},
      {"docs/search", search, true},
      {"docs/*", search, true},
      {"search", search, false},  // any server could have one
      {"mcp__doc", search, false},
      {"mcp__docs__searc", search, false},
      {"mcp__docs", entry("docs__x", "search"), false},
      {"docs", search, false},
      {"Read", read_file, true},
      {"read_file", read_file, true},
      {"Bash", read_file, false},
      {"Read", entry("docs", "read_file"), false},
      {"", search, false},
  };
  for (const auto& c : cases) EXPECT_EQ(names_tool(c.pattern, c.tool, c.tool.server), c.named) << c.pattern;
  // A server of its own may have another name in the host.
  EXPECT_TRUE(names_tool("mcp__docs__search", entry("docs_2", "search"), "docs"));
}

TEST(Definitions, LeavesTools) {
  const auto search = entry("docs", "search");
  const auto push = entry("git", "push");
  const auto read_file = entry("patchbay", "read_file", NamePrefix::none);
  auto seen = [&](const AgentDefinition& d) {
    std::string all;
    if (allows(d, search)) all += "search ";
    if (allows(d, push)) all += "push ";
    if (allows(d, read_file)) all += "read ";
    return all;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(seen({}), "search push read ");
  EXPECT_EQ(seen({.servers = Names{}}), "read ");  // without MCP
  EXPECT_EQ(seen({.servers = Names{"git"}}), "push read ");
  EXPECT_EQ(seen({.tools = Names{"Read"}}), "read ");
  EXPECT_EQ(seen({.tools = Names{}}), "");
  EXPECT_EQ(seen({.tools = Names{"mcp__docs"}}), "search ");
  EXPECT_EQ(seen({.disallowed_tools = {"mcp__git__push"}}), "search read ");
  EXPECT_EQ(seen({.tools = Names{"*"}, .disallowed_tools = {"Read"}}), "search push ");
  EXPECT_EQ(seen({.tools = Names{"Read"}, .servers = Names{"git"}}), "push read ");
  EXPECT_EQ(seen({.tools = Names{"Read", "mcp__git__pull"}, .servers = Names{"git"}}), "read ");
  const auto own = entry("docs_2", "search");
  EXPECT_TRUE(allows_own({.tools = Names{"Read"}}, own, "docs"));
  EXPECT_FALSE(allows_own({.tools = Names{"mcp__docs__other"}}, own, "docs"));
  EXPECT_FALSE(allows_own({.disallowed_tools = {"mcp__docs"}}, own, "docs"));
  EXPECT_TRUE(asks_for({.tools = Names{"connect_mcp"}}, "connect_mcp"));
  EXPECT_FALSE(asks_for({}, "connect_mcp"));
  EXPECT_FALSE(asks_for({.tools = Names{"*"}}, "connect_mcp"));
}

struct Home {
  test::TempTree tree;
  LoadedConfig config;
  Home() {
    ::unsetenv("CLAUDE_CONFIG_DIR");  // what ./test gives its tests is not the home of this one
    tree.directory("home/.claude/agents");
    tree.directory("repo/.git");
    tree.directory("repo/deep");
    config.home = (tree.path() / "home").string();
    config.config_dir = config.home + "/.config/patchbay";
    config.cwd = (tree.path() / "repo/deep").string();
    config.project_dir = (tree.path() / "repo").string();
  }
  void define(const std::string& file, const std::string& name, const std::string& description) const {
    tree.file(file,
              "---\nname: " + name + "\ndescription: " + description + "\nmcpServers: [{x: {command: y}}]\n---\n");
  }
};

TEST(Definitions, AreFoundInTheirFolders) {
  Home home;
  home.define("home/.claude/agents/a.md", "a", "claude");
  home.define("home/.config/patchbay/agents/b.md", "b", "ours");
  home.define("home/.config/patchbay/agents/c.md", "c", "ours");
  home.define("repo/.claude/agents/a.md", "a", "of the repository");
  home.define("repo/deep/.patchbay/agents/d.md", "d", "of the repository");
  home.tree.file("repo/.claude/agents/e.md", "nonsense");
  home.tree.file("repo/.claude/agents/readme.txt", "nonsense");
  const auto found = [&] {
    std::string all;
    for (const auto& one : find_definitions(home.config).definitions) {
      all +=
          one.name + ": " + one.description + (one.own_servers.at(0).origin.trust == ConfigTrust::trusted ? "" : "?");
      all += "\n";
    }
    return all;
  };
  // Nobody trusts the repository.
  EXPECT_EQ(found(), "a: claude\nb: ours\nc: ours\n");
  EXPECT_THAT(find_definitions(home.config).problems, IsEmpty());
  home.config.project_trusted = true;
  EXPECT_EQ(found(), "a: of the repository?\nb: ours\nc: ours\nd: of the repository?\n");
  EXPECT_THAT(find_definitions(home.config).problems, SizeIs(1));
}

}  // namespace
}  // namespace patchbay
