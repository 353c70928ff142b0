// Rows of docs/requirements.md: C1, C2, C3, C4, C5, C6, C7, C10.
// What a directory and a home directory full of files come to.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/config.h>

#include "entries/signature.h"
#include "permission/policy.h"
#include "servers/load.h"
#include "settings/settings_layers.h"
#include "settings/sources.h"
#include "support/load_home.h"
#include "support/ordinary_user.h"
#include "support/places.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ConfigLoad : public test::LoadHome {
 protected:
  LoadedConfig load() const { return load_servers(request); }

  // One server called `name` whose command says where it was declared.
  static std::string servers(std::string_view name, std::string_view command) {
    return R"({"mcpServers":{")" + std::string(name) + R"(":{"command":")" + std::string(command) + R"("}}})";
  }
  static const ServerConfig* find(const LoadedConfig& config, std::string_view name) {
    auto found = std::ranges::find(config.servers, name, &ServerConfig::name);
    return found == config.servers.end() ? nullptr : &*found;
  }
  // "standing: command", or nothing when nobody has the name.
  static std::string outcome(const LoadedConfig& config, std::string_view name = "s") {
    const auto* server = find(config, name);
    if (server == nullptr) return "";
    return std::string(to_string(server->standing)) + ": " +
           (server->kind == ServerKind::stdio ? server->command : server->url);
  }
  static std::vector<std::string> texts(const LoadedConfig& config, Severity severity) {
    std::vector<std::string> out;
    for (const auto& problem : config.problems) {
      if (problem.severity == severity) out.push_back(problem.text());
    }
    return out;
  }

  // Writes one entry into the source with this number, counted from the highest.
  struct Place {
    std::string label;
    std::function<void(std::string_view command)> write;
  };
  std::vector<Place> places() {
    auto file = [this](std::string name) {
      return [this, name](std::string_view command) { tree.file(name, servers("s", command)); };
    };
    auto own = [this](std::string_view command) { own_user = command; };
    auto own_local = [this](std::string_view command) { own_project = command; };
    auto claude = [this](std::string_view command) { claude_user = command; };
    auto claude_local = [this](std::string_view command) { claude_project = command; };
    return {
        {"mcp_servers", [this](std::string_view command) { request.mcp_servers = {"s=" + std::string(command)}; }},
        {"mcp_configs", [this](std::string_view command) { request.mcp_configs = {servers("s", command)}; }},
        {"own projects[path]", own_local},
        {"~/.claude.json projects[path]", claude_local},
        {".claude/settings.local.json", file("repo/.claude/settings.local.json")},
        {".claude/local.json", file("repo/.claude/local.json")},
        {".mcp.json", file("repo/.mcp.json")},
        {".claude/settings.json", file("repo/.claude/settings.json")},
        {"./.claude.json", file("repo/.claude.json")},
        {"own", own},
        {"~/.claude.json", claude},
        {"~/.claude/settings.json", file("home/.claude/settings.json")},
        {"~/.claude/mcp.json", file("home/.claude/mcp.json")},
    };
  }
  void write_person_files() {
    auto two = [this](const std::string& user, const std::string& project) {
      return R"({"version":1,"mcpServers":{)" + (user.empty() ? "" : R"("s":{"command":")" + user + R"("})") +
             R"(},"projects":{")" + path("repo") + R"(":{"mcpServers":{)" +
             (project.empty() ? "" : R"("s":{"command":")" + project + R"("})") + "}}}}";
    };
    tree.file("home/.config/patchbay/config.json", two(own_user, own_project));
    tree.file("home/.claude.json", two(claude_user, claude_project));
  }
  void clear() {
    for (auto* text : {&own_user, &own_project, &claude_user, &claude_project}) text->clear();
    request.mcp_configs.clear();
    request.mcp_servers.clear();
    for (auto* name : {"repo/.claude", "repo/.mcp.json", "repo/.claude.json", "home/.claude/settings.json",
                       "home/.claude/mcp.json"}) {
      fs::remove_all(path(name));
    }
  }

  std::string own_user, own_project, claude_user, claude_project;
};

// compat: B1.1, B1.2, B1.3, B2.1, C1.a, C1.b, C1.c, C1.d, C1.f, C3.a
TEST_F(ConfigLoad, OfEveryTwoSourcesTheHigherWinsWhole) {
  request.trust_project = true;
  const auto all = places();
  for (std::size_t high = 0; high < all.size(); ++high) {
    for (std::size_t low = high + 1; low < all.size(); ++low) {
      clear();
      all[low].write("low");
      all[high].write("high");
      write_person_files();
      auto config = load();
      EXPECT_EQ(outcome(config), "active: high") << all[high].label << " over " << all[low].label;
      ASSERT_EQ(config.servers.size(), 1u);
      ASSERT_EQ(config.servers[0].shadows.size(), 1u);
      ASSERT_EQ(config.shadowed.size(), 1u);
      EXPECT_EQ(config.shadowed[0].command, "low");
      EXPECT_EQ(config.shadowed[0].standing, ServerStanding::shadowed);
      EXPECT_EQ(config.servers[0].shadows[0], config.shadowed[0].origin);
      EXPECT_THAT(config.shadowed[0].reason, HasSubstr(config.servers[0].origin.file));
      EXPECT_EQ(texts(config, Severity::note).size(), 1u);
    }
  }
}

// compat: C1.a
TEST_F(ConfigLoad, TheTableOfSourcesIsInOrderAndSaysWhomItTrusts) {
  std::vector<ConfigScope> order;
  for (const auto& row : source_table()) {
    if (order.empty() || order.back() != row.scope) order.push_back(row.scope);
    EXPECT_EQ(row.trust == ConfigTrust::needs_approval, row.place == SourcePlace::project) << row.file;
  }
  EXPECT_THAT(order, ElementsAre(ConfigScope::enterprise, ConfigScope::dynamic, ConfigScope::local,
                                 ConfigScope::project, ConfigScope::user, ConfigScope::plugin, ConfigScope::connector));
}

// compat: C1.c
TEST_F(ConfigLoad, OfSeveralProjectFilesTheNearestWinsByName) {
  request.trust_project = true;
  request.cwd = path("repo/sub");
  tree.file(".mcp.json", servers("outside", "x"));
  tree.file("repo/.mcp.json", R"({"s":{"command":"far"},"t":{"command":"far"}})");
  tree.file("repo/sub/.mcp.json", R"({"s":{"command":"near"}})");
  auto config = load();
  EXPECT_EQ(outcome(config), "active: near");
  EXPECT_EQ(outcome(config, "t"), "active: far");
  EXPECT_EQ(find(config, "outside"), nullptr);
  EXPECT_EQ(config.project_dir, path("repo"));
  EXPECT_EQ(config.cwd, path("repo/sub"));
}

// compat: C1.e, C6.c
TEST_F(ConfigLoad, WhatARepositoryBringsWaitsAndShadowsNothing) {
  const auto all = places();
  for (auto high : {4, 5, 6, 7, 8}) {
    clear();
    all[static_cast<std::size_t>(high)].write("hostile");
    write_person_files();
    auto alone = load();
    EXPECT_EQ(outcome(alone), "awaiting approval: hostile") << all[static_cast<std::size_t>(high)].label;
    EXPECT_FALSE(find(alone, "s")->reason.empty());
    own_user = "mine";
    write_person_files();
    auto config = load();
    EXPECT_EQ(outcome(config), "active: mine") << all[static_cast<std::size_t>(high)].label;
    EXPECT_THAT(config.servers[0].shadows, IsEmpty());
    ASSERT_EQ(config.shadowed.size(), 1u);
    EXPECT_EQ(config.shadowed[0].standing, ServerStanding::awaiting_approval);
  }
}

TEST_F(ConfigLoad, ABrokenEntryOfARepositoryDoesNotHoldItsNameAndOneOfTheUserDoes) {
  tree.file("repo/.mcp.json", R"({"mcpServers":{"s":{"command":1}}})");
  own_user = "mine";
  write_person_files();
  auto config = load();
  EXPECT_EQ(outcome(config), "active: mine");
  EXPECT_THAT(texts(config, Severity::error),
              ElementsAre(".mcp.json:1:31: MCP server \"s\": \"command\" must be a string, found a number"));
  request.trust_project = true;
  auto trusted = load();
  EXPECT_EQ(outcome(trusted), "broken: ");
  EXPECT_EQ(trusted.servers.at(0).reason, "\"command\" must be a string, found a number");
  EXPECT_EQ(trusted.servers.at(0).shadows.size(), 1u);
}

// compat: C6.a
TEST_F(ConfigLoad, AnApprovalIsForOneProjectAndOneEntry) {
  tree.file("repo/.mcp.json", servers("s", "x"));
  auto hash = entry_hash(load().servers.at(0));
  auto remember = [&](std::string_view list, const std::string& project) {
    tree.file("home/.config/patchbay/config.json", R"({"version":1,"projects":{")" + project + R"(":{")" +
                                                       std::string(list) + R"(":{"s":")" + hash + R"("}}}})");
  };
  remember("approved", path("repo"));
  EXPECT_EQ(outcome(load()), "active: x");
  request.cwd = path("repo/sub");
  EXPECT_EQ(outcome(load()), "active: x");
  request.cwd = path("repo");
  tree.file("repo/.mcp.json", servers("s", "changed"));
  EXPECT_EQ(outcome(load()), "awaiting approval: changed");
  tree.file("repo/.mcp.json", servers("s", "x"));
  remember("approved", path("elsewhere"));
  EXPECT_EQ(outcome(load()), "awaiting approval: x");
  remember("rejected", path("repo"));
  EXPECT_EQ(outcome(load()), "rejected: x");
  // A rejected entry shadows nothing either.
  tree.file("home/.claude.json", servers("s", "mine"));
  EXPECT_EQ(outcome(load()), "active: mine");
}

TEST_F(ConfigLoad, AWorkTreeSharesWhatIsKnownOfItsRepository) {
  tree.file("tree/.git", "gitdir: " + path("repo/.git/worktrees/tree") + "\n");
  tree.file("repo/.git/worktrees/tree/gitdir", path("tree/.git") + "\n");
  tree.file("repo/.git/worktrees/tree/commondir", "../..\n");
  claude_project = "local";
  write_person_files();
  request.cwd = path("tree");
  EXPECT_EQ(outcome(load()), "active: local");
  // By another name it is the same work tree.
  tree.link("link", path("tree"));
  request.cwd = path("link");
  EXPECT_EQ(outcome(load()), "active: local");
  // A directory that only claims to be one of its work trees is a stranger.
  tree.file("liar/.git", "gitdir: " + path("repo/.git/worktrees/tree") + "\n");
  request.cwd = path("liar");
  EXPECT_EQ(outcome(load()), "");
}

// Whatever a download brings along: the repository itself must know of the work tree.
TEST_F(ConfigLoad, NothingInsideADirectoryMakesItAWorkTree) {
  tree.file("tree/.git", "gitdir: " + path("repo/.git/worktrees/tree") + "\n");
  tree.file("repo/.git/worktrees/tree/gitdir", path("tree/.git") + "\n");
  tree.file("repo/.git/worktrees/tree/commondir", "../..\n");
  claude_project = "local";
  write_person_files();
  struct Case {
    std::string label;
    std::function<void()> write;  // below evil/
  };
  // A directory of its own that says whatever is wanted.
  auto own = [&](const std::string& directory, const std::string& back, const std::string& common) {
    return [&, directory, back, common] {
      tree.file("evil/.git", "gitdir: " + directory + "\n");
      tree.file("evil/" + directory + "/gitdir", back + "\n");
      tree.file("evil/" + directory + "/commondir", common + "\n");
    };
  };
  const std::vector<Case> cases{
      {"a directory of its own, relative back pointer", own("fake", ".git", path("repo/.git"))},
      {"absolute back pointer", own("fake", path("evil/.git"), path("repo/.git"))},
      {"in the shape of a repository", own("x/.git/worktrees/tree", path("evil/.git"), path("repo/.git"))},
      {"the .git file of a real work tree as a link", [&] { tree.link("evil/.git", path("tree/.git")); }},
      {"the real one by its name", [&] { tree.file("evil/.git", "gitdir: " + path("repo/.git/worktrees/tree")); }},
      {"by a link to it",
       [&] {
         tree.file("evil/.git", "gitdir: fake");
         tree.link("evil/fake", path("repo/.git/worktrees/tree"));
       }},
      {"the repository itself", [&] { tree.file("evil/.git", "gitdir: " + path("repo/.git")); }},
  };
  for (const auto& [label, write] : cases) {
    fs::remove_all(path("evil"));
    tree.directory("evil");
    write();
    for (const auto* cwd : {"evil", "repo"}) {
      request.cwd = path(cwd);
      EXPECT_EQ(outcome(load()), std::string_view(cwd) == "evil" ? "" : "active: local") << label;
    }
  }
}

// An answer without a hash is for the file the user saw.
// compat: B1.9
TEST_F(ConfigLoad, AnApprovalByNameIsForTheFileOfThatDirectory) {
  tree.file("home/.claude.json", R"({"projects":{")" + path("repo") +
                                     R"(":{"enabledMcpjsonServers":["s"],"disabledMcpjsonServers":["t"]}}})");
  tree.file("repo/.mcp.json", servers("s", "x"));
  EXPECT_EQ(outcome(load()), "active: x");
  request.cwd = path("repo/sub");
  EXPECT_EQ(outcome(load()), "active: x");
  tree.file("repo/sub/.mcp.json", R"({"s":{"command":"unpacked"},"t":{"command":"y"}})");
  EXPECT_EQ(outcome(load()), "active: x");
  EXPECT_EQ(load().shadowed.at(0).standing, ServerStanding::awaiting_approval);
  // A no is for all of them.
  EXPECT_EQ(outcome(load(), "t"), "rejected: y");
  fs::remove(path("repo/.mcp.json"));
  EXPECT_EQ(outcome(load()), "awaiting approval: unpacked");
  // Nor is it for servers in another file.
  request.cwd = path("repo");
  tree.file("repo/.claude/settings.json", servers("s", "z"));
  EXPECT_EQ(outcome(load()), "awaiting approval: z");
  tree.file("tree/.git", "gitdir: " + path("repo/.git/worktrees/tree") + "\n");
  tree.file("repo/.git/worktrees/tree/gitdir", path("tree/.git") + "\n");
  tree.file("repo/.git/worktrees/tree/commondir", "../..\n");
  tree.file("tree/.mcp.json", servers("s", "x"));
  request.cwd = path("tree");
  EXPECT_EQ(outcome(load()), "active: x");
}

// compat: B1.4
TEST_F(ConfigLoad, ServersInASettingsFileAreReadWithAHint) {
  tree.file("home/.claude/settings.json",
            "{\n  \"model\": \"m\",\n  \"mcpServers\": {\n    \"s\": {\"command\": \"x\"}\n  }\n}");
  auto config = load();
  EXPECT_EQ(outcome(config), "active: x");
  EXPECT_THAT(
      texts(config, Severity::warning),
      ElementsAre(path("home/.claude/settings.json") +
                  ":4:5: servers in a settings file are used by patchbay but not by Claude Code; for both, move them "
                  "to .mcp.json"));
}

// compat: C2.a
TEST_F(ConfigLoad, ABareMapIsReadWhereItMayBe) {
  struct Case {
    std::string file;
    bool read;
  };
  const std::string bare = R"({"s":{"command":"x"}})";
  request.trust_project = true;
  for (const auto& [file, read] : std::initializer_list<Case>{{"repo/.mcp.json", true},
                                                              {"home/.claude/mcp.json", true},
                                                              {"repo/.claude/local.json", true},
                                                              {"repo/.claude/settings.json", false},
                                                              {"repo/.claude/settings.local.json", false},
                                                              {"repo/.claude.json", false},
                                                              {"home/.claude/settings.json", false},
                                                              {"home/.claude.json", false}}) {
    tree.file(file, bare);
    EXPECT_EQ(outcome(load()), read ? "active: x" : "") << file;
    fs::remove(path(file));
  }
  request.mcp_configs = {bare};
  EXPECT_EQ(outcome(load()), "active: x");
}

// compat: B1.3
TEST_F(ConfigLoad, FilesThatLookRightAndAreNotAreNotRead) {
  request.trust_project = true;
  tree.file("repo/.claude/.mcp.json", servers("s", "x"));
  tree.file("repo/mcp.json", servers("s", "x"));
  EXPECT_THAT(load().servers, IsEmpty());
}

// compat: B1.7
TEST_F(ConfigLoad, TheDirectoriesOfTheUserCanBeMoved) {
  tree.file("home/.claude.json", servers("old", "x"));
  tree.file("moved/.claude.json", servers("json", "x"));
  tree.file("moved/mcp.json", servers("mcp", "x"));
  tree.file("xdg/patchbay/config.json", servers("own", "x"));
  variables["CLAUDE_CONFIG_DIR"] = path("moved");
  variables["XDG_CONFIG_HOME"] = path("xdg");
  variables["HOME"] = path("elsewhere");
  std::vector<std::string> names;
  for (const auto& server : load().servers) names.push_back(server.name);
  EXPECT_THAT(names, ElementsAre("own", "json", "mcp"));
  // A relative directory is none.
  variables["XDG_CONFIG_HOME"] = "xdg";
  variables["CLAUDE_CONFIG_DIR"] = "";
  EXPECT_EQ(outcome(load(), "old"), "active: x");
  // The embedding program has the last word.
  request.claude_dir = path("moved");
  request.config_dir = path("xdg/patchbay");
  EXPECT_EQ(load().servers.size(), 3u);
}

TEST_F(ConfigLoad, InTheHomeDirectoryThePersonsFilesAreNotTheProjects) {
  request.cwd = path("home");
  tree.file("home/.claude.json", servers("a", "x"));
  tree.file("home/.claude/settings.json", servers("b", "x"));
  tree.file("home/.mcp.json", servers("c", "x"));
  auto config = load();
  EXPECT_EQ(outcome(config, "a"), "active: x");
  EXPECT_EQ(outcome(config, "b"), "active: x");
  EXPECT_EQ(outcome(config, "c"), "awaiting approval: x");
  EXPECT_THAT(config.shadowed, IsEmpty());
}

// compat: B1.8
TEST_F(ConfigLoad, SwitchesByNameAreHeeded) {
  tree.file("home/.claude.json", R"({"mcpServers":{"a":{"command":"x"},"b":{"command":"x","args":["b"]},)"
                                 R"("c":{"command":"x","args":["c"]},"d":{"command":"x","disabled":true},)"
                                 R"("e":{"command":"x","args":["e"]}},)"
                                 R"("projects":{")" +
                                     path("repo") + R"(":{"disabledMcpServers":["a"],"enabledMcpServers":["e"]}}})");
  tree.file("home/.config/patchbay/config.json",
            R"({"disabledServers":["b"],"projects":{")" + path("repo") + R"(":{"disabledServers":["c"]}}})");
  auto config = load();
  for (auto* name : {"a", "b", "c", "d"}) EXPECT_EQ(outcome(config, name), "disabled: x") << name;
  EXPECT_EQ(outcome(config, "e"), "active: x");
  EXPECT_THAT(find(config, "a")->reason, HasSubstr("disabledMcpServers"));
  EXPECT_THAT(find(config, "b")->reason, HasSubstr("config.json"));
  EXPECT_THAT(find(config, "d")->reason, HasSubstr("\"disabled\" is true"));
  request.cwd = path("");
  EXPECT_EQ(outcome(load(), "a"), "active: x");
}

// compat: B1.9
TEST_F(ConfigLoad, TrustIsForThatVeryDirectory) {
  tree.file("home/.claude.json", R"({"projects":{")" + path("repo") + R"(":{"hasTrustDialogAccepted":true}}})");
  EXPECT_TRUE(load().project_trusted);
  request.cwd = path("repo/sub");
  EXPECT_FALSE(load().project_trusted);
  tree.file("home/.config/patchbay/config.json", R"({"projects":{")" + path("repo") + R"(":{"trusted":true}}})");
  EXPECT_TRUE(load().project_trusted);
}

// compat: B1.5, C7.a
TEST_F(ConfigLoad, AnEnterpriseFileExcludesEverythingElse) {
  tree.file("etc/managed-mcp.json", servers("s", "theirs"));
  request.trust_project = true;
  for (const auto& place : places()) place.write("mine");
  write_person_files();
  tree.file("home/.config/patchbay/config.json", R"({"disabledServers":["s"],"mcpServers":{"o":{"command":"mine"}}})");
  auto config = load();
  EXPECT_EQ(config.servers.size(), 1u);
  EXPECT_EQ(outcome(config), "active: theirs");
  EXPECT_THAT(config.shadowed, IsEmpty());
  EXPECT_EQ(config.exclusive, path("etc/managed-mcp.json"));
  tree.file("etc/managed-mcp.json", R"({"mcpServers":{}})");
  EXPECT_THAT(load().servers, IsEmpty());
}

// compat: B2.3
TEST_F(ConfigLoad, FlagsAreRefusedBesideAnEnterpriseFile) {
  tree.file("etc/managed-mcp.json", R"({"mcpServers":{}})");
  request.mcp_configs = {servers("s", "mine")};
  request.strict = true;
  EXPECT_THAT(texts(load(), Severity::error),
              ElementsAre("mcp_configs: You cannot dynamically configure MCP servers when an enterprise MCP config is "
                          "present"));
  request.mcp_configs.clear();
  request.mcp_servers = {"s=x"};
  auto config = load();
  EXPECT_THAT(texts(config, Severity::error), ElementsAre(HasSubstr("mcp_servers: You cannot dynamically")));
  EXPECT_THAT(config.servers, IsEmpty());
}

// compat: C7.b
TEST_F(ConfigLoad, AnEnterpriseFileThatOthersCouldHaveWrittenIsRefused) {
  tree.file("etc/managed-mcp.json", servers("s", "theirs"));
  own_user = "mine";
  write_person_files();
  owned_by(::getuid() + 1);
  auto foreign = load();
  EXPECT_EQ(outcome(foreign), "active: mine");
  EXPECT_THAT(texts(foreign, Severity::error),
              ElementsAre(HasSubstr("managed-mcp.json: is not used: it belongs to user")));
  owned_by(::getuid());
  for (mode_t mode : {0620, 0602, 0666}) {
    ::chmod(path("etc/managed-mcp.json").c_str(), mode);
    auto config = load();
    // It is the administrator's all the same: nothing else counts until its mode is right.
    EXPECT_THAT(config.servers, IsEmpty());
    EXPECT_TRUE(config.exclusive.has_value());
    EXPECT_THAT(texts(config, Severity::error),
                ElementsAre(HasSubstr("is not used: users other than its owner can write it; run: chmod go-w")));
  }
}

TEST_F(ConfigLoad, AnEnterpriseFileThatIsBrokenStillExcludes) {
  own_user = "mine";
  write_person_files();
  for (std::string_view text : {"{", "[]", R"({"s":{"command":"x"}})", R"({"servers":{}})"}) {
    tree.file("etc/managed-mcp.json", text);
    auto config = load();
    EXPECT_THAT(config.servers, IsEmpty()) << text;
    EXPECT_EQ(texts(config, Severity::error).size(), 1u) << text;
  }
  fs::remove(path("etc/managed-mcp.json"));
  tree.fifo("etc/managed-mcp.json");
  EXPECT_THAT(load().servers, IsEmpty());
}

// What an organisation forbids holds whatever became of its file.
// compat: C7.b
TEST_F(ConfigLoad, ManagedSettingsThatCannotBeUsedDenyEveryServer) {
  own_user = "mine";
  write_person_files();
  const auto denies = R"({"deniedMcpServers":[{"serverName":"other"}],"permissions":{"deny":["mcp__x"]}})";
  struct Case {
    std::string label;
    std::string file;
    std::function<void(const std::string&)> make;
    std::string said;
  };
  auto mode = [&](mode_t bits) {
    return [&, bits](const std::string& file) {
      tree.file(file, denies);
      ::chmod(path(file).c_str(), bits);
    };
  };
  const std::vector<Case> cases{
      {"others can write it", "etc/managed-settings.json", mode(0666), "users other than its owner can write it"},
      {"one of several", "etc/managed-settings.d/10.json", mode(0622), "users other than its owner can write it"},
      {"a dangling link", "etc/managed-settings.json", [&](const auto& file) { tree.link(file, "gone"); },
       "there is no such file"},
      {"a loop", "etc/managed-settings.json", [&](const auto& file) { tree.link(file, "managed-settings.json"); },
       "form a circle"},
      {"a pipe", "etc/managed-settings.json", [&](const auto& file) { tree.fifo(file); }, "it is a pipe"},
      {"a directory", "etc/managed-settings.json", [&](const auto& file) { tree.directory(file); },
       "it is a directory"},
      {"too large", "etc/managed-settings.json",
       [&](const auto& file) { tree.file(file, std::string((10u << 20) + 1, ' ')); }, "larger than 10 MiB"},
      {"no JSON", "etc/managed-settings.json", [&](const auto& file) { tree.file(file, "{"); }, "managed-settings"},
      {"no directory of files", "etc/managed-settings.d", [&](const auto& file) { tree.file(file, "x"); },
       "cannot be read: Not a directory"},
  };
  for (const auto& [label, file, make, said] : cases) {
    fs::remove_all(path("etc"));
    tree.directory("etc");
    EXPECT_EQ(outcome(load()), "active: mine");
    make(file);
    const auto config = load();
    EXPECT_EQ(outcome(config), "policy: mine") << label;
    EXPECT_THAT(find(config, "s")->reason, HasSubstr("what your organisation denies")) << label;
    EXPECT_THAT(texts(config, Severity::error), ElementsAre(HasSubstr(said))) << label;
    // Servers of a program as well.
    ServerConfig embedded;
    embedded.name = "in-process";
    embedded.origin.scope = ConfigScope::embedded;
    EXPECT_FALSE(judge_policy(embedded, layers_of(config.settings)).allowed()) << label;
  }
  fs::remove_all(path("etc"));
  tree.file("etc/managed-settings.json", denies);
  owned_by(::getuid() + 1);
  EXPECT_EQ(outcome(load()), "policy: mine");
  EXPECT_THAT(texts(load(), Severity::error), ElementsAre(HasSubstr("it belongs to user")));
}

// compat: B4.19
TEST_F(ConfigLoad, AServerThatPolicyTakesAwayIsShownWithTheReason) {
  tree.file("etc/managed-settings.json", "{\n  \"deniedMcpServers\": [{\"serverName\": \"s\"}]\n}");
  own_user = "mine";
  write_person_files();
  auto config = load();
  EXPECT_EQ(outcome(config), "policy: mine");
  EXPECT_THAT(config.servers.at(0).reason, HasSubstr("managed-settings.json"));
  // It keeps its name: the lower entry must not come up instead.
  tree.file("home/.claude/mcp.json", servers("s", "lower"));
  EXPECT_EQ(outcome(load()), "policy: mine");
  request.settings = {R"({"deniedMcpServers":[{"serverName":"t"}]})"};
  request.mcp_servers = {"t=x"};
  EXPECT_EQ(outcome(load(), "t"), "policy: x");
}

// Rules must not get lost because their file cannot be read.
// compat: C5.b
TEST_F(ConfigLoad, SettingsThatCannotBeReadAreALayerThatSaysSo) {
  struct Case {
    std::string file;
    SettingsSource source;
  };
  for (const auto& [file, source] : std::initializer_list<Case>{
           {"home/.claude/settings.json", SettingsSource::user},
           {"home/.config/patchbay/config.json", SettingsSource::own},
           {"repo/.claude/settings.json", SettingsSource::project},
           {"repo/.claude/settings.local.json", SettingsSource::project_local},
           {"repo/flag.json", SettingsSource::flag},
       }) {
    tree.directory(fs::path(file).parent_path().string());
    request.settings = {};
    if (source == SettingsSource::flag) request.settings = {"flag.json"};
    const std::vector<std::function<void()>> ways{
        [&] { tree.link(file, "gone"); }, [&] { tree.fifo(file); },
        [&] { tree.directory(file); },    [&] { tree.file(file, std::string((10u << 20) + 1, ' ')); },
        [&] { tree.file(file, "{"); },    [&] { tree.file(file, "[]"); },
    };
    for (std::size_t i = 0; i < ways.size(); ++i) {
      fs::remove_all(path(file));
      ways[i]();
      const auto config = load();
      const auto layers = layers_of(config.settings);
      const auto lost = std::ranges::find(layers, true, &SettingsLayer::unreadable);
      ASSERT_NE(lost, layers.end()) << file << " " << i;
      EXPECT_EQ(lost->source, source) << file << " " << i;
      EXPECT_EQ(lost->file, path(file)) << file << " " << i;
      const auto fault = flag_settings_fault(layers);
      EXPECT_EQ(fault.has_value(), source == SettingsSource::flag) << file << " " << i;
      EXPECT_THAT(texts(config, Severity::error), testing::Not(IsEmpty()));
    }
    fs::remove_all(path(file));
    EXPECT_FALSE(source != SettingsSource::flag &&
                 std::ranges::any_of(layers_of(load().settings), &SettingsLayer::unreadable))
        << file;
  }
  request.settings = {"nowhere.json"};
  ASSERT_TRUE(flag_settings_fault(layers_of(load().settings)));
  EXPECT_THAT(flag_settings_fault(layers_of(load().settings))->text(),
              HasSubstr("nowhere.json: cannot be read: there is no"));
  request.settings = {R"({"permissions":{"deny":"mcp__a"}})"};
  EXPECT_THAT(flag_settings_fault(layers_of(load().settings))->text(), HasSubstr("settings:1:"));
  tree.file("home/.config/patchbay/config.json", R"({"settings":[]})");
  request.settings = {};
  EXPECT_TRUE(std::ranges::any_of(layers_of(load().settings), &SettingsLayer::unreadable));
}

// compat: B3.22
TEST_F(ConfigLoad, AFileOfTheProjectThatAFlagNamesGetsNoSecrets) {
  const auto entry = [](std::string_view reference) {
    return R"({"s":{"command":"x","args":[")" + std::string(reference) + R"("]},"t":{"command":"y"}})";
  };
  tree.file("repo/sub/list.json", entry("${secret:K}"));
  tree.link("repo/link.json", path("repo/sub/list.json"));
  tree.file("elsewhere/list.json", entry("${file:~/x}"));
  tree.link("repo/out.json", path("elsewhere/list.json"));
  struct Case {
    std::string argument;
    std::string expected;
  };
  for (const auto& [argument, expected] : std::vector<Case>{
           {"sub/list.json", "broken: "},
           {path("repo/sub/../sub/list.json"), "broken: "},
           {"link.json", "broken: "},
           {path("elsewhere/list.json"), "active: x"},
           {"out.json", "active: x"},
           {entry("${secret:K}"), "active: x"},
       }) {
    request.mcp_configs = {argument};
    auto config = load();
    EXPECT_EQ(outcome(config), expected) << argument;
    EXPECT_EQ(outcome(config, "t"), "active: y") << argument;
    if (expected == "broken: ") {
      EXPECT_THAT(texts(config, Severity::error), ElementsAre(HasSubstr("inside a project that you do not trust")));
    }
  }
  for (std::string_view reference : {"${file:~/secret}", "${cmd:id}", "${secret:K}"}) {
    tree.file("repo/sub/list.json", entry(reference));
    request.mcp_configs = {"sub/list.json"};
    EXPECT_EQ(outcome(load()), "broken: ") << reference;
  }
  // A variable is what anybody may use.
  tree.file("repo/sub/list.json", entry("${env:HOME}"));
  EXPECT_EQ(outcome(load()), "active: x");
  tree.file("repo/sub/list.json", entry("${secret:K}"));
  request.trust_project = true;
  EXPECT_EQ(outcome(load()), "active: x");
  request.trust_project = false;
  // One's home is not somebody else's project.
  request.cwd = path("home");
  tree.file("home/list.json", entry("${secret:K}"));
  request.mcp_configs = {"list.json"};
  EXPECT_EQ(outcome(load()), "active: x");
}

// compat: C8.a
TEST_F(ConfigLoad, ALinkInAPluginThatLeadsOutOfItIsNotRead) {
  tree.file("elsewhere/list.json", servers("stolen", "x"));
  tree.file("plugin/inside.json", R"({"good":{"command":"y"}})");
  tree.file("plugin/plugin.json", R"({"mcpServers":["./out.json","./deep/list.json","./in.json"]})");
  tree.link("plugin/out.json", path("elsewhere/list.json"));
  tree.link("plugin/deep", path("elsewhere"));
  tree.link("plugin/in.json", "inside.json");
  tree.link("plugin/.mcp.json", "../elsewhere/list.json");
  tree.link("by-another-name", path("plugin"));
  for (const auto* name : {"plugin", "by-another-name"}) {
    request.plugin_dirs = {path(name)};
    const auto config = load();
    ASSERT_EQ(config.servers.size(), 1u) << name;
    EXPECT_EQ(config.servers[0].name, "plugin:" + std::string(name) + ":good");
    EXPECT_THAT(texts(config, Severity::error),
                testing::Contains(HasSubstr("point outside the directory of the plugin")));
  }
}

// compat: B1.6
TEST_F(ConfigLoad, ListsOfAllSettingsFilesAreJoined) {
  auto denies = [](std::string_view name) {
    return R"({"deniedMcpServers":[{"serverName":")" + std::string(name) + R"("}]})";
  };
  tree.file("etc/managed-settings.json", denies("enterprise"));
  tree.file("etc/managed-settings.d/10-more.json", denies("more"));
  request.settings = {denies("flag"), "settings.json"};
  tree.file("repo/settings.json", denies("file"));
  tree.file("repo/.claude/settings.local.json", denies("local"));
  tree.file("repo/.claude/settings.json", denies("project"));
  tree.file("home/.claude/settings.json", denies("user"));
  tree.file("home/.config/patchbay/config.json", R"({"settings":)" + denies("own") + "}");
  for (auto* name : {"enterprise", "more", "flag", "file", "local", "project", "user", "own", "free"}) {
    request.mcp_servers.push_back(std::string(name) + "=x " + name);
  }
  auto config = load();
  EXPECT_EQ(config.servers.size(), 9u);
  for (const auto& server : config.servers) {
    EXPECT_EQ(server.standing, server.name == "free" ? ServerStanding::active : ServerStanding::policy) << server.name;
  }
  EXPECT_THAT(texts(config, Severity::error), IsEmpty());
}

// compat: C4.a, B3.11
TEST_F(ConfigLoad, AnUnsetVariableIsAWarningWithItsPlace) {
  variables["SET"] = "1";
  tree.file("home/.claude/mcp.json",
            "{\n  \"s\": {\n    \"command\": \"x\",\n    \"args\": [\"${SET}\", \"${UNSET}\", \"${D:-d}\", "
            "\"${v%x}\"]\n  },\n"
            "  \"off\": {\"command\": \"${GONE}\", \"disabled\": true}\n}");
  auto config = load();
  EXPECT_THAT(
      texts(config, Severity::warning),
      ElementsAre(path("home/.claude/mcp.json") +
                  ":4:24: MCP server \"s\": the variable UNSET used in \"args[1]\" is not set, so the text ${UNSET} "
                  "is used unchanged; set it or write ${UNSET:-default}"));
  EXPECT_THAT(find(config, "s")->args, ElementsAre("${SET}", "${UNSET}", "${D:-d}", "${v%x}"));
}

// compat: C3.c
TEST_F(ConfigLoad, TwoEntriesByHandWithOneContentBothStayWithANote) {
  variables["HOST"] = "h";
  tree.file("home/.claude/mcp.json",
            R"({"a":{"type":"http","url":"https://h/"},"b":{"type":"sse","url":"https://${HOST}/"},)"
            R"("c":{"command":"x","env":{"A":"1"}},"d":{"command":"x","env":{"A":"2"}}})");
  auto config = load();
  for (auto* name : {"a", "b", "c", "d"}) EXPECT_EQ(find(config, name)->standing, ServerStanding::active) << name;
  EXPECT_THAT(texts(config, Severity::note),
              ElementsAre(HasSubstr("MCP server \"b\": it has the same URL as \"a\", the user entry in")));
}

// compat: B3.4
TEST_F(ConfigLoad, AnEmptyUrlIsNotConfigured) {
  tree.file("home/.claude/mcp.json", R"({"s":{"type":"http","url":""}})");
  EXPECT_EQ(outcome(load()), "not configured: ");
}

// compat: C10.a, B2.3
TEST_F(ConfigLoad, StrictLeavesOutEverythingButTheFlags) {
  for (const auto& place : places()) place.write("other");
  write_person_files();
  request.mcp_servers = {"a=x"};
  request.mcp_configs = {R"({"b":{"command":"y"}})"};
  request.strict = true;
  auto config = load();
  EXPECT_EQ(config.servers.size(), 2u);
  EXPECT_EQ(outcome(config, "a"), "active: x");
  EXPECT_EQ(outcome(config, "b"), "active: y");
  request.mcp_servers.clear();
  request.mcp_configs.clear();
  EXPECT_THAT(load().servers, IsEmpty());
}

// compat: C8.a, C3.b
TEST_F(ConfigLoad, PluginsAreFoundInAllThreePlaces) {
  tree.file("home/.claude/plugins/theirs/.mcp.json", R"({"a":{"command":"x","args":["theirs"]}})");
  tree.file("home/.claude/plugins/cache/m/p/1/.mcp.json", R"({"a":{"command":"x","args":["cache"]}})");
  tree.file("home/.claude/plugins/installed_plugins.json", R"({"version":2,"plugins":{"p@m":[{"installPath":")" +
                                                               path("home/.claude/plugins/cache/m/p/1") + R"("}]}})");
  tree.file("home/.claude/settings.json", R"({"enabledPlugins":{"p@m":true}})");
  tree.file("home/.config/patchbay/plugins/ours/plugin.json",
            R"({"mcpServers":{"a":{"command":"x","args":["ours"]}}})");
  tree.file("repo/tool/.mcp.json", R"({"a":{"command":"x","args":["flag"]},"copy":{"command":"by hand"}})");
  tree.file("home/.claude/mcp.json", servers("hand", "by hand"));
  request.plugin_dirs = {"tool"};
  auto config = load();
  std::vector<std::string> found;
  for (const auto& server : config.servers) {
    if (server.origin.scope == ConfigScope::plugin) {
      found.push_back(server.name + " " + std::string(to_string(server.standing)));
    }
  }
  EXPECT_THAT(found, ElementsAre("plugin:tool:a active", "plugin:tool:copy duplicate", "plugin:ours:a active",
                                 "plugin:p:a active", "plugin:theirs:a active"));
  EXPECT_THAT(find(config, "plugin:tool:copy")->reason,
              HasSubstr("it has the same command and environment as \"hand\""));
  EXPECT_THAT(texts(config, Severity::error), IsEmpty());
  request.strict = true;
  EXPECT_THAT(load().servers, IsEmpty());
  request.strict = false;
  request.plugin_dirs = {"gone"};
  EXPECT_THAT(texts(load(), Severity::error), ElementsAre("gone: cannot be read: there is no such directory"));
}

// A repository cannot bring a plugin in, by whatever it says in its own files.
TEST_F(ConfigLoad, ARepositoryCannotSwitchOnAPlugin) {
  tree.file("home/.claude/plugins/installed_plugins.json",
            R"({"version":2,"plugins":{"p@m":[{"installPath":")" + path("repo/evil") + R"("}]}})");
  tree.file("repo/evil/.mcp.json", servers("a", "x"));
  tree.file("repo/.claude/settings.json", R"({"enabledPlugins":{"p@m":true}})");
  tree.file("repo/.claude/settings.local.json", R"({"enabledPlugins":{"p@m":true}})");
  tree.file("repo/.claude/plugins/evil/.mcp.json", servers("a", "x"));
  EXPECT_THAT(load().servers, IsEmpty());
}

// One broken thing of every kind beside good ones: each has its message, and the good ones are there.
// compat: C5.a, C5.b, B2.5, B3.1, B3.20
TEST_F(ConfigLoad, EveryBadInputIsNamedAndTheRestLoads) {
  request.trust_project = true;
  tree.file("home/.claude.json", servers("good", "x"));
  struct Case {
    std::string label;
    std::function<void()> write;
    std::string problem;  // of repo/.mcp.json
    bool sibling;         // a good entry of the same file survives
  };
  const std::string file = "repo/.mcp.json";
  auto text = [&](std::string content) { return [&, content] { tree.file(file, content); }; };
  auto entry = [&](std::string_view name, std::string_view body) {
    return text("{\"mcpServers\": {\n  \"" + std::string(name) + "\": " + std::string(body) +
                ",\n  \"sibling\": {\"command\": \"true\"}\n}}");
  };
  const std::vector<Case> cases{
      {"syntax error", text("{\n  \"mcpServers\": {\n    \"a\" {}\n}}"), ".mcp.json:3:9: expected ':'", false},
      {"unterminated comment", text("{ /*"), ".mcp.json:1:3: the comment that begins here is not closed", false},
      {"wrong type", entry("a", R"({"command": ["x"]})"),
       ".mcp.json:2:20: MCP server \"a\": \"command\" must be a string, found an array", true},
      {"url without type", entry("a", R"({"url": "https://h"})"),
       ".mcp.json:2:9: MCP server \"a\" has a \"url\" but no \"type\"; add \"type\": \"http\" (or \"sse\" / \"ws\") to "
       "this entry",
       true},
      {"servers key", text("{\n \"servers\": {\"a\": {\"command\": \"x\"}}}"),
       ".mcp.json:2:2: \"servers\" is not read here; rename it to \"mcpServers\"", false},
      {"white space", entry("a", R"({"command": "x "})"),
       ".mcp.json:2:20: MCP server \"a\": \"command\" begins or ends with a blank, and the blank is kept", true},
      {"reserved name", entry("workspace", R"({"command": "x"})"),
       ".mcp.json:2:3: MCP server \"workspace\": the name is reserved; choose another name", true},
      {"invalid name", entry("a\\u0007", R"({"command": "x"})"),
       ".mcp.json:2:3: MCP server \"a\\u0007\": the name contains a control character", true},
      {"empty url", entry("a", R"({"type": "http", "url": ""})"),
       ".mcp.json:2:32: MCP server \"a\": \"url\" is empty, so there is no server to connect to", true},
      {"unset variable", entry("a", R"({"command": "${UNSET}"})"),
       ".mcp.json:2:20: MCP server \"a\": the variable UNSET used in \"command\" is not set", true},
      {"duplicate name across scopes", entry("good", R"({"command": "y"})"),
       path("home/.claude.json") + ":1:16: MCP server \"good\": the project entry in " + path(file) +
           ":2 has the same name and overrides this one; rename or remove one of them",
       true},
      {"duplicate name in one file", text("{\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"x\"}}"),
       ".mcp.json:2:1: duplicate key \"a\" (it already occurs in line 1): the whole file is ignored", false},
      {"symlink loop", [&] { tree.link(file, ".mcp.json"); },
       ".mcp.json: cannot be read: its symbolic links form a circle", false},
      {"dangling symlink", [&] { tree.link(file, "nowhere"); }, ".mcp.json: cannot be read: there is no such file",
       false},
      {"directory", [&] { tree.directory(file); }, ".mcp.json: cannot be read: it is a directory, not a file", false},
      {"pipe", [&] { tree.fifo(file); }, ".mcp.json: cannot be read: it is a pipe, not a file", false},
      {"more than 10 MiB", text(std::string((10u << 20) + 1, ' ')),
       ".mcp.json: cannot be read: it is larger than 10 MiB", false},
      {"not UTF-8", text("{\n \"\xFF\": 1}"), ".mcp.json:2:3: the file is not valid UTF-8", false},
      {"nothing", text(""), ".mcp.json:1:1: the file is empty", false},
      {"an array", text("[]"), ".mcp.json:1:1: expected an object with \"mcpServers\", found an array", false},
      {"internal type", entry("a", R"({"type": "sdk"})"),
       ".mcp.json:2:17: MCP server \"a\": type \"sdk\" cannot be used", true},
      {"unknown key", entry("a", R"({"command": "x", "comand": "y"})"),
       ".mcp.json:2:25: MCP server \"a\": unknown key \"comand\" has no effect; did you mean \"command\"?", true},
  };
  for (const auto& one : cases) {
    fs::remove_all(path(file));
    one.write();
    auto config = load();
    std::vector<std::string> all;
    for (const auto& problem : config.problems) all.push_back(problem.text());
    EXPECT_THAT(all, testing::Contains(testing::StartsWith(one.problem))) << one.label << "\n"
                                                                          << testing::PrintToString(all);
    EXPECT_NE(find(config, "good"), nullptr) << one.label;
    if (one.sibling) EXPECT_EQ(outcome(config, "sibling"), "active: true") << one.label;
  }
}

// Every text that is kept for the fuzzer of the reader: what is wrong with it has a place, and no other file is
// the worse for it. Those called bad_ have one broken entry beside a good one, those called lost_ cannot be read
// at all.
TEST_F(ConfigLoad, EveryKnownTextIsReadOrNamedWithItsPlace) {
  tree.file("home/.claude.json", servers("sibling", "x"));
  std::size_t bad = 0;
  std::size_t lost = 0;
  for (const auto* folder : {"corpus/config", "regressions/config"}) {
    const auto place = fs::path(test::in_sources("tests/fuzz")) / folder;
    if (!fs::exists(place)) continue;
    for (const auto& entry : fs::directory_iterator(place)) {
      const auto name = entry.path().filename().string();
      fs::copy_file(entry.path(), path("repo/.mcp.json"), fs::copy_options::overwrite_existing);
      auto config = load();
      EXPECT_EQ(outcome(config, "sibling"), "active: x") << name;
      for (const auto& problem : config.problems) {
        EXPECT_GE(problem.line, 1u) << name << ": " << problem.text();
        EXPECT_GE(problem.column, 1u) << name << ": " << problem.text();
      }
      if (name.starts_with("bad_") || name.starts_with("lost_")) {
        EXPECT_THAT(config.problems, testing::Not(IsEmpty())) << name;
        ++(name.starts_with("bad_") ? bad : lost);
      }
      if (name.starts_with("bad_")) EXPECT_EQ(outcome(config, "good"), "awaiting approval: true") << name;
    }
  }
  EXPECT_GE(bad, 40u);
  EXPECT_GE(lost, 20u);
}

// Whatever stands where an object should: it is said, and everything else is there.
TEST_F(ConfigLoad, AFileOfTheWrongKindNeverStopsTheRest) {
  const std::vector<std::string> files{"home/.claude.json",
                                       "home/.claude/settings.json",
                                       "home/.claude/mcp.json",
                                       "home/.claude/plugins/installed_plugins.json",
                                       "home/.claude/plugins/p/.mcp.json",
                                       "home/.claude/plugins/p/plugin.json",
                                       "home/.config/patchbay/config.json",
                                       "etc/managed-settings.json",
                                       "repo/.mcp.json",
                                       "repo/.claude/settings.json",
                                       "repo/.claude/settings.local.json",
                                       "repo/.claude/local.json",
                                       "repo/.claude.json"};
  for (std::string_view text : {"[]", "1", "null", "\"x\"", "{", R"({"mcpServers":[],"projects":1,"plugins":[]})",
                                R"({"enabledPlugins":[],"pluginConfigs":{"a":1},"settings":[],"connectors":[]})",
                                R"({"plugins":{"a@b":1,"c@d":[1]},"enabledPlugins":{"a@b":true,"c@d":true}})"}) {
    for (const auto& file : files) tree.file(file, text);
    request.mcp_servers = {"good=x"};
    // An organisation's list that cannot be understood forbids everything; without it the server is there.
    if (text.starts_with('{') && text.size() > 1) EXPECT_EQ(outcome(load(), "good"), "active: x") << text;
    for (const auto& file : files) {
      for (const auto& other : files) fs::remove(path(other));
      tree.file(file, text);
      auto config = load();
      ASSERT_NE(find(config, "good"), nullptr) << file << ": " << text;
    }
  }
}

// Nothing that may not be looked at is taken for absent: neither a file, nor one in a directory that is closed.
// compat: C7.b
TEST_F(ConfigLoad, WhatMayNotBeReadIsReportedAndForbids) {
  own_user = "mine";
  write_person_files();
  tree.file("etc/managed-settings.json", "{}");
  tree.file("etc/managed-settings.d/10.json", "{}");
  tree.file("home/.claude/settings.json", "{}");
  tree.file("home/.claude/mcp.json", "{}");
  tree.file("home/.claude/plugins/p/.mcp.json", servers("s", "x"));
  tree.file("repo/.claude/settings.json", "{}");
  request.settings = {path("flag.json")};
  tree.file("flag.json", "{}");
  // Standing of the server, whether calls are possible, and every file that is said to be unreadable.
  auto seen = [&] {
    const auto config = load();
    std::string out = outcome(config);
    const auto layers = layers_of(config.settings);
    if (std::ranges::any_of(layers, &SettingsLayer::unreadable)) out += ", no calls";
    if (flag_settings_fault(layers)) out += ", no command";
    if (config.exclusive) out += ", exclusive";
    for (const auto& problem : config.problems) {
      if (problem.message.starts_with("cannot be read: Permission denied"))
        out += " " + fs::path(problem.file).filename().string();
    }
    return out;
  };
  struct Case {
    std::string closed;
    std::string expected;
  };
  owned_by(::getuid());
  for (const auto& [closed, expected] : std::initializer_list<Case>{
           {"", "active: mine"},
           {"home/.claude/mcp.json", "active: mine mcp.json"},
           {"home/.claude/settings.json", "active: mine, no calls settings.json"},
           {"home/.claude", "active: mine, no calls settings.json mcp.json installed_plugins.json plugins"},
           {"home/.claude/plugins", "active: mine installed_plugins.json plugins"},
           {"home/.config/patchbay/config.json", ", no calls config.json"},
           {"home/.config/patchbay", ", no calls config.json plugins"},
           {"repo/.claude/settings.json", "active: mine, no calls settings.json"},
           {"flag.json", "active: mine, no calls, no command flag.json"},
           {"etc/managed-settings.json", "policy: mine, no calls managed-settings.json"},
           {"etc/managed-settings.d/10.json", "policy: mine, no calls 10.json"},
           {"etc/managed-settings.d", "policy: mine, no calls managed-settings.d"},
           {"etc", ", no calls, exclusive managed-settings.json managed-settings.d managed-mcp.json"},
       }) {
    // Whose the tree is must not matter, only the mode.
    if (!closed.empty()) fs::permissions(path(closed), fs::perms::none);
    EXPECT_EQ(test::as_ordinary_user(path(""), seen), expected) << closed;
    if (closed.empty()) continue;
    fs::permissions(path(closed), fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                                      fs::perms::others_read | fs::perms::others_exec);
  }
}

// compat: C11.b
TEST_F(ConfigLoad, WithAMemoryAFileThatBreaksKeepsItsLastGoodContent) {
  ConfigMemory memory;
  tree.file("home/.claude/mcp.json", servers("s", "x"));
  EXPECT_EQ(outcome(load_servers(request, memory)), "active: x");
  for (std::string_view text : {"{\n \"s\": ", "", "\xFF"}) {
    tree.file("home/.claude/mcp.json", text);
    auto config = load_servers(request, memory);
    EXPECT_EQ(outcome(config), "active: x") << text;
    EXPECT_THAT(texts(config, Severity::error), ElementsAre(HasSubstr("its previous content stays in use"))) << text;
  }
  tree.file("home/.claude/mcp.json", servers("s", "y"));
  auto mended = load_servers(request, memory);
  EXPECT_EQ(outcome(mended), "active: y");
  EXPECT_THAT(texts(mended, Severity::error), IsEmpty());
  fs::remove(path("home/.claude/mcp.json"));
  EXPECT_EQ(outcome(load_servers(request, memory)), "");
  EXPECT_TRUE(memory.looked_for.contains(path("home/.claude/mcp.json")));
  EXPECT_TRUE(memory.looked_for.contains(path("repo/.mcp.json")));
}

}  // namespace
}  // namespace patchbay
