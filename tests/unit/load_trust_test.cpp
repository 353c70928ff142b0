// What loading makes of files that a repository, or somebody's archive, brings along: for what and where an
// answer of the user counts, and what a file that a flag names may ask for. C1 C6.
#include <unistd.h>

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/signature.h"
#include "servers/answer_place.h"
#include "servers/load.h"
#include "settings/files.h"
#include "settings/settings_file.h"
#include "support/load_home.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class LoadTrust : public test::LoadHome {
 protected:
  static std::string servers(std::string_view entry) { return R"({"mcpServers":{"s":)" + std::string(entry) + "}}"; }
  const ServerConfig& loaded() {
    config = load_servers(request);
    return config.servers.at(0);
  }
  std::string standing(const std::string& cwd = {}) {
    if (!cwd.empty()) request.cwd = path(cwd);
    return std::string(to_string(loaded().standing));
  }
  // What the user said of the entry as it is in `file`, under the name of a directory.
  void answer(std::string_view list, const std::string& directory, const std::string& hash) {
    tree.file("home/.config/patchbay/config.json", R"({"version":1,"projects":{")" + path(directory) + R"(":{")" +
                                                       std::string(list) + R"(":{"s":")" + hash + R"("}}}})");
  }

  LoadedConfig config;
};

// ---- what approved it

TEST_F(LoadTrust, WhatLetAnEntryPassIsKept) {
  tree.file("repo/.mcp.json", servers(R"({"command":"x"})"));
  const auto hash = entry_hash(loaded());
  auto passed_by = [&] {
    EXPECT_TRUE(loaded().approved);
    const auto& by = config.servers.at(0).decided_by;
    return by.file.empty() ? by.what : by.file;
  };
  tree.file("home/.claude.json", R"({"projects":{")" + path("repo") + R"(":{"enabledMcpjsonServers":["s"]}}})");
  EXPECT_EQ(passed_by(), path("home/.claude.json"));
  request.trust_project = true;
  EXPECT_EQ(passed_by(), "trust_project");
  request.trust_project = false;
  tree.file("home/.claude/settings.json", R"({"enableAllProjectMcpServers": true})");
  EXPECT_EQ(passed_by(), path("home/.claude/settings.json"));
  // Also when they said yes themselves: it would pass without that.
  answer("approved", "repo", hash);
  EXPECT_EQ(passed_by(), path("home/.claude/settings.json"));
  fs::remove(path("home/.claude/settings.json"));
  EXPECT_EQ(passed_by(), path("home/.claude.json"));
  fs::remove(path("home/.claude.json"));
  EXPECT_EQ(passed_by(), "");
}

// ---- where an answer counts

// The same words in another directory start another file.
TEST_F(LoadTrust, AnApprovalOfTheRootsFileDoesNotApproveTheSameEntryBelow) {
  const auto entry = servers(R"({"command":"./run.sh"})");
  tree.file("repo/.mcp.json", entry);
  tree.file("repo/run.sh", "good");
  answer("approved", "repo", entry_hash(loaded()));
  EXPECT_EQ(standing(), "active");

  tree.file("repo/vendor/evil/.mcp.json", entry);
  EXPECT_EQ(standing("repo/vendor/evil"), "active") << "the root's entry, which finds nothing to run here";
  EXPECT_EQ(loaded().origin.file, path("repo/.mcp.json"));
  ASSERT_EQ(config.shadowed.size(), 1u);
  EXPECT_EQ(config.shadowed[0].standing, ServerStanding::awaiting_approval);
  tree.file("repo/vendor/evil/run.sh", "bad");
  EXPECT_EQ(standing(), "awaiting approval");
  EXPECT_TRUE(std::ranges::none_of(config.shadowed, &ServerConfig::approved));
  fs::remove(path("repo/vendor/evil/.mcp.json"));
  EXPECT_EQ(standing(), "awaiting approval") << "the root's entry would run the file that is here";
  EXPECT_THAT(loaded().reason, HasSubstr("other files than in " + path("repo")));
  EXPECT_EQ(loaded().remedy, (Remedy{Remedy::Kind::approve_server, "s"}));
  // Nothing of this reaches the directory it was said in.
  EXPECT_EQ(standing("repo"), "active");
  // Whoever looks and says yes there means there.
  tree.file("home/.config/patchbay/config.json", R"({"version":1,"projects":{")" + path("repo/vendor/evil") +
                                                     R"(":{"approved":{"s":")" + entry_hash(loaded()) + R"("}}}})");
  EXPECT_EQ(standing("repo/vendor/evil"), "active");
  EXPECT_EQ(standing("repo"), "awaiting approval");
}

TEST_F(LoadTrust, AnAnswerIsForTheDirectoryOfItsFile) {
  tree.file("repo/sub/.mcp.json", servers(R"({"command":"x"})"));
  tree.directory("repo/sub/deep");
  request.cwd = path("repo/sub");
  const auto hash = entry_hash(loaded());
  answer("approved", "repo", hash);
  EXPECT_EQ(standing("repo/sub"), "awaiting approval");
  answer("approved", "repo/sub", hash);
  EXPECT_EQ(standing("repo/sub"), "active");
  EXPECT_EQ(standing("repo/sub/deep"), "active");
  // A no on the way up goes on counting, as long as there is no yes to this one.
  answer("rejected", "repo", hash);
  EXPECT_EQ(standing("repo/sub"), "rejected");
  tree.file("home/.config/patchbay/config.json", R"({"version":1,"projects":{")" + path("repo") +
                                                     R"(":{"rejected":{"s":")" + hash + R"("}},")" + path("repo/sub") +
                                                     R"(":{"approved":{"s":")" + hash + R"("}}}})");
  EXPECT_EQ(standing("repo/sub"), "active");
}

// What was said about the entry when it was another one hides nothing that was said about it since.
TEST_F(LoadTrust, ANoOnTheWayUpIsNotHiddenByAnOldAnswer) {
  tree.file("repo/.mcp.json", servers(R"({"command":"sh","args":["x.sh"]})"));
  tree.file("repo/x.sh", "");
  tree.file("repo/sub/x.sh", "");
  const auto now = entry_hash(loaded());
  request.trust_project = true;
  for (const auto* old : {"approved", "rejected"}) {
    tree.file("home/.config/patchbay/config.json", R"({"version":1,"projects":{")" + path("repo") +
                                                       R"(":{"rejected":{"s":")" + now + R"("}},")" + path("repo/sub") +
                                                       R"(":{")" + old + R"(":{"s":"another"}}}})");
    EXPECT_EQ(standing("repo/sub"), "rejected") << old;
  }
}

TEST_F(LoadTrust, APathThatBeginsWithPwdFollowsTheUser) {
  tree.file("repo/.mcp.json", servers(R"({"command":"${PWD}/x.sh"})"));
  answer("approved", "repo", entry_hash(loaded()));
  variables["PWD"] = path("repo");
  EXPECT_EQ(standing("repo"), "active");
  EXPECT_EQ(standing("repo/sub"), "active") << "it says where it is meant";
  variables["PWD"] = path("repo/sub");
  EXPECT_EQ(standing("repo/sub"), "awaiting approval");
}

TEST_F(LoadTrust, AnAnswerAboutAFileBelowCountsInOtherWorkTrees) {
  tree.file("tree/.git", "gitdir: " + path("repo/.git/worktrees/tree") + "\n");
  tree.file("repo/.git/worktrees/tree/gitdir", path("tree/.git") + "\n");
  tree.file("repo/.git/worktrees/tree/commondir", "../..\n");
  tree.file("tree/sub/.mcp.json", servers(R"({"command":"x"})"));
  request.cwd = path("tree/sub");
  answer("approved", "repo/sub", entry_hash(loaded()));
  EXPECT_EQ(standing("tree/sub"), "active");
}

TEST_F(LoadTrust, WhichPathsOfAnEntryNameOtherFiles) {
  tree.file("repo/sub/a.js", "");
  tree.file("repo/sub/in/b.js", "");
  tree.file("repo/a.js", "");
  tree.link("repo/sub/linked", path("repo/linked"));
  tree.directory("repo/linked");
  tree.link("repo/sub/same.js", path("repo/same.js"));
  tree.file("repo/same.js", "");
  struct Case {
    std::string label;
    std::function<void(ServerConfig&)> change;
    bool other;
  };
  for (const auto& one : std::vector<Case>{
           {"a program by its path", [](auto& s) { s.command = "./a.js"; }, true},
           {"one that is not here", [](auto& s) { s.command = "./none"; }, false},
           {"a name is looked up along PATH", [](auto& s) { s.command = "a.js"; }, false},
           {"an argument", [](auto& s) { s.args = {"-x", "a.js"}; }, true},
           {"behind a flag", [](auto& s) { s.args = {"--file=a.js"}; }, true},
           {"through a directory above", [](auto& s) { s.args = {"../sub/a.js"}; }, true},
           {"an absolute path", [this](auto& s) { s.args = {path("repo/sub/a.js")}; }, false},
           {"the directory one is in", [](auto& s) { s.args = {"."}; }, true},
           {"a directory", [](auto& s) { s.args = {"--root", "in"}; }, true},
           {"the very same directory", [](auto& s) { s.args = {"linked"}; }, false},
           {"one that is only there", [](auto& s) { s.args = {"sub"}; }, false},
           {"words of a line for a shell", [](auto& s) { s.args = {"-c", "exec './a.js' --x"}; }, true},
           {"behind a flag of one letter", [](auto& s) { s.args = {"-r./a.js"}; }, true},
           {"a file of arguments", [](auto& s) { s.args = {"@a.js"}; }, true},
           {"a value of the environment", [](auto& s) { s.env = {{"BASH_ENV", "./a.js"}}; }, true},
           {"a word of one", [](auto& s) { s.env = {{"NODE_OPTIONS", "--no-warnings --require ./a.js"}}; }, true},
           {"behind a sign in one", [](auto& s) { s.env = {{"NODE_OPTIONS", "--import=./a.js"}}; }, true},
           {"one of a list", [](auto& s) { s.env = {{"LD_PRELOAD", "/lib/x.so:./a.js"}}; }, true},
           {"a directory of a list", [](auto& s) { s.env = {{"PYTHONPATH", "/usr/lib:in"}}; }, true},
           {"an empty directory of a list", [](auto& s) { s.env = {{"PATH", "/usr/bin:"}}; }, true},
           {"values that are no paths", [](auto& s) { s.env = {{"MODE", "a"}, {"URL", "https://x/a?b=c"}}; }, false},
           {"a helper for headers", [](auto& s) { s.headers_helper = "./a.js"; }, true},
           {"words of one", [](auto& s) { s.headers_helper = "sh -e \"a.js\""; }, true},
           {"one along PATH", [](auto& s) { s.headers_helper = "print-headers --all"; }, false},
           {"a file of authorities", [](auto& s) { s.tls.ca = "a.js"; }, true},
           {"more words than anybody looks at",
            [](auto& s) {
              for (int i = 0; i < 20000; ++i) s.args.emplace_back("no-such-file");
            },
            true},
           {"the very same file", [](auto& s) { s.args = {"same.js"}; }, false},
           {"an envFile", [](auto& s) { s.env_file = "a.js"; }, true},
           {"a directory to run in",
            [](auto& s) {
              s.cwd = "in";
              s.args = {"b.js"};
            },
            true},
           {"an absolute directory to run in",
            [this](auto& s) {
              s.cwd = path("repo");
              s.args = {"a.js"};
            },
            false},
       }) {
    ServerConfig server;
    server.command = "node";
    one.change(server);
    EXPECT_EQ(names_other_files(server, path("repo/sub"), path("repo")), one.other) << one.label;
    EXPECT_FALSE(names_other_files(server, path("repo/sub"), path("repo/sub"))) << one.label;
  }
}

// ---- work trees

// A relative pointer back, which git 2.48 can be told to write, holds wherever an archive that brings both ends along
// is unpacked.
TEST_F(LoadTrust, AWorkTreeIsKnownByItsWholePathOnly) {
  for (const auto* directory : {"arch", "arch/sub"}) {
    tree.file(std::string(directory) + "/.mcp.json", servers(R"({"command":"./server.sh"})"));
    tree.file(std::string(directory) + "/server.sh", directory);
  }
  tree.file("arch/.git", "gitdir: sub/.git/worktrees/x\n");
  tree.file("arch/sub/.git/worktrees/x/commondir", "../..\n");
  request.cwd = path("arch/sub");
  tree.file("home/.config/patchbay/config.json", R"({"version":1,"projects":{")" + path("arch/sub") +
                                                     R"(":{"trusted":true,"approved":{"s":")" + entry_hash(loaded()) +
                                                     R"("}}}})");
  tree.link("name", path("arch"));
  for (const auto& back : std::vector<std::string>{"../../../../.git", "../../../../../arch/.git", "", ".", ".git",
                                                   path("arch"), path("arch/sub/../.git"), path("name/.git")}) {
    tree.file("arch/sub/.git/worktrees/x/gitdir", back + "\n");
    EXPECT_EQ(standing("arch/sub"), "active") << back;
    EXPECT_EQ(standing("arch"), "awaiting approval") << back;
    EXPECT_FALSE(config.project_trusted) << back;
  }
  tree.file("arch/sub/.git/worktrees/x/gitdir", path("arch/.git") + "\n");
  EXPECT_EQ(standing("arch"), "active") << "a repository that has always been here knows of it";
}

// What may forbid something is not taken for absent because one may not look; to tell a person of a file, somebody
// must have seen it.
TEST_F(LoadTrust, WhatCannotBeLookedAtIsNotSeen) {
  const auto unknowable = "/" + std::string(5000, 'x');
  EXPECT_TRUE(config_file_exists(unknowable));
  EXPECT_FALSE(config_file_seen(unknowable));
  tree.link("repo/dangling", path("nowhere"));
  EXPECT_TRUE(config_file_seen(path("repo/dangling")));
  EXPECT_FALSE(config_file_seen(path("repo/nothing")));
}

// ---- files that a flag names

TEST_F(LoadTrust, AnArchiveWithoutARepositoryGetsNoSecretsWhereverItIsEntered) {
  const auto entry = R"({"s":{"command":"x","args":["${file:~/secret}"]}})";
  for (const auto* file :
       {"arch/evil.json", "arch/sub/evil.json", "arch/other/evil.json", "home/mine.json", "home/work/arch/evil.json"}) {
    tree.file(file, entry);
  }
  tree.directory("home/work/arch/sub");
  tree.file("arch/nested/.git", "");
  tree.directory("arch/nested/deep");
  struct Case {
    std::string cwd;
    std::string argument;
    std::string expected;
  };
  for (const auto& [cwd, argument, expected] : std::vector<Case>{
           {"arch/sub", "../evil.json", "broken"},
           {"arch/sub", "evil.json", "broken"},
           {"arch/sub", "../other/evil.json", "broken"},
           {"arch", "sub/evil.json", "broken"},
           {"home/work/arch/sub", "../evil.json", "broken"},
           {"home/work/arch/sub", path("home/mine.json"), "active"},
           {"arch/sub", path("home/mine.json"), "active"},
           // A .git that an archive brings along makes no other archive of what is above it.
           {"arch/nested", "../evil.json", "broken"},
           {"arch/nested/deep", "../../other/evil.json", "broken"},
           {"repo/sub", path("arch/evil.json"), "active"},
       }) {
    request.mcp_configs = {argument};
    EXPECT_EQ(standing(cwd), expected) << cwd << " " << argument;
  }
  request.mcp_configs = {"../evil.json"};
  request.trust_project = true;
  EXPECT_EQ(standing("arch/sub"), "active");
}

// Trusting the project would not help, so it is not what is advised.
TEST_F(LoadTrust, ACommandReferenceIsRefusedWithItsOwnReason) {
  tree.file("repo/list.json", R"({"s":{"command":"x","args":["${file:~/x}","${cmd:id}"]}})");
  request.mcp_configs = {"list.json"};
  EXPECT_EQ(standing(), "broken");
  EXPECT_THAT(loaded().reason, AllOf(HasSubstr("${cmd:…}"), HasSubstr("declare the server in user scope")));
  EXPECT_EQ(loaded().remedy, std::nullopt);
}

// ---- switched off

// Nobody is asked to start what would not be started.
TEST_F(LoadTrust, WhatIsSwitchedOffDoesNotWaitForAnAnswer) {
  tree.file("repo/.mcp.json", servers(R"({"command":"x","disabled":true})"));
  EXPECT_EQ(standing(), "disabled");
  EXPECT_FALSE(loaded().approved);
  EXPECT_EQ(loaded().remedy, (Remedy{Remedy::Kind::enable_server, "s"}));
  tree.file("home/.config/patchbay/config.json", R"({"version":1,"enabledServers":["s"]})");
  EXPECT_EQ(standing(), "awaiting approval");
  tree.file("repo/.mcp.json", servers(R"({"command":"x"})"));
  tree.file("home/.config/patchbay/config.json", R"({"version":1,"disabledServers":["s"]})");
  EXPECT_EQ(standing(), "disabled");
  fs::remove(path("home/.config/patchbay/config.json"));
  EXPECT_EQ(standing(), "awaiting approval");
}

TEST_F(LoadTrust, ADisabledEntryGoesOnSayingWhatItLacks) {
  tree.file("home/.config/patchbay/config.json",
            R"({"version":1,"mcpServers":{"s":{"type":"http","url":"https://x/","disabled":true,)"
            R"("headers":{"A":"Bearer ${INPUT_T}","B":"${env:OTHER}","C":"${config:a.b}","D":"${D:-d}"}}}})");
  EXPECT_EQ(standing(), "disabled");
  EXPECT_THAT(loaded().reason,
              AllOf(HasSubstr(", and the variables INPUT_T, OTHER, which the server needs, are not set; ${config:a.b}, "
                              "which only another client understands, has no value here; "),
                    HasSubstr("set what is missing first")));
  EXPECT_EQ(loaded().remedy, (Remedy{Remedy::Kind::enable_server, "s"}));
  variables["INPUT_T"] = "t";
  EXPECT_THAT(loaded().reason, HasSubstr(", and the variable OTHER, which the server needs, is not set; "));
}

}  // namespace
}  // namespace patchbay
