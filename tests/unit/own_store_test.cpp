// Writing our two files: nothing is lost, whatever stands in the way or whoever is killed.
// compat: B1.13, C5.c
#include "store/own_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::FailsSaying;
using test::TempTree;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;

VariableLookup lookup(std::map<std::string, std::string, std::less<>> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

class OwnStore : public testing::Test {
 protected:
  StorePlaces places() const {
    return {(tree.path() / "config/config.json").string(), (tree.path() / "state").string()};
  }
  ConfigStore store(StoreOptions options = {}) const { return ConfigStore(places(), std::move(options)); }
  std::string project() const { return (tree.path() / "project").string(); }

  static ConfigStore::Decide set(std::string name, Json value = Json::object()) {
    return [name = std::move(name), value = std::move(value)](const Json&) -> Result<std::vector<ConfigEdit>> {
      return std::vector{set_member({"mcpServers", name}, value)};
    };
  }
  // What a change that must be refused says.
  std::string refusal(const ConfigStore& one, bool own = true) const {
    auto done = own ? one.change_own_file(set("a")) : one.change_project_file(project(), project(), set("a"));
    EXPECT_FALSE(done) << "it was written";
    return done ? std::string() : std::string(done.error().message());
  }
  std::vector<std::string> backups() const {
    std::vector<std::string> names;
    if (!tree.has("state/backups")) return names;
    for (const auto& file : fs::directory_iterator(tree.path() / "state/backups")) {
      names.push_back(file.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  mode_t mode_of(const std::string& name) const {
    struct stat status{};
    EXPECT_EQ(::stat((tree.path() / name).c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  std::vector<std::string> files_in(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(tree.path() / name))
      names.push_back(file.path().filename().string());
    return names;
  }

  TempTree tree;
};

TEST(StorePlacesOf, StandBesideWhatIsRead) {
  EXPECT_EQ(*store_places("/c/patchbay", "/h", lookup({})),
            (StorePlaces{"/c/patchbay/config.json", "/h/.local/state/patchbay"}));
  EXPECT_EQ(*store_places("/c/patchbay", "", lookup({{"XDG_STATE_HOME", "/s"}})),
            (StorePlaces{"/c/patchbay/config.json", "/s/patchbay"}));
  EXPECT_EQ(*store_places("/c/patchbay", "/h", lookup({{"XDG_STATE_HOME", "relative"}})),
            (StorePlaces{"/c/patchbay/config.json", "/h/.local/state/patchbay"}));
  EXPECT_THAT(store_places("/c/patchbay", "", lookup({})), FailsSaying(HasSubstr("set HOME")));
  EXPECT_THAT(store_places("", "/h", lookup({})), FailsSaying(HasSubstr("set HOME")));
}

TEST_F(OwnStore, FirstChangeMakesAFileThatOnlyTheUserCanRead) {
  auto done = store().change_own_file(set("a", Json{{"command", "x"}}));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_TRUE(done->changed);
  EXPECT_EQ(done->file, places().config_file);
  EXPECT_EQ(tree.read("config/config.json"),
            "{\n  \"version\": 1,\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\"\n    }\n  }\n}\n");
  EXPECT_EQ(mode_of("config/config.json"), 0600u);
  EXPECT_EQ(mode_of("config"), 0700u);
  EXPECT_THAT(files_in("config"), SizeIs(1));
  EXPECT_THAT(backups(), SizeIs(0));
}

TEST_F(OwnStore, SecretsAreKeptBesideItWithoutBackups) {
  const auto keep = [](const char* value) {
    return [value](const Json&) -> Result<std::vector<ConfigEdit>> {
      return std::vector{set_member({"secrets", "a"}, value)};
    };
  };
  ASSERT_TRUE(store().change_secrets_file(keep("one")));
  ASSERT_TRUE(store().change_secrets_file(keep("two")));
  EXPECT_EQ(tree.read("config/secrets.json"), "{\n  \"version\": 1,\n  \"secrets\": {\n    \"a\": \"two\"\n  }\n}\n");
  EXPECT_EQ(mode_of("config/secrets.json"), 0600u);
  EXPECT_THAT(backups(), SizeIs(0));
}

TEST_F(OwnStore, ProjectFilesHaveNoVersionAndOrdinaryRights) {
  tree.directory("project");
  const auto umask_before = ::umask(022);
  auto done = store().change_project_file(project(), project(), set("a"));
  ::umask(umask_before);
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(tree.read("project/.mcp.json"), "{\n  \"mcpServers\": {\n    \"a\": {}\n  }\n}\n");
  EXPECT_EQ(mode_of("project/.mcp.json"), 0644u);
  EXPECT_THAT(files_in("project"), SizeIs(1)) << "a lock or a backup was left in the repository";
}

TEST_F(OwnStore, RightsAndOwnerStayAsTheyWere) {
  tree.file("config/config.json", "{}\n");
  ASSERT_EQ(::chmod(places().config_file.c_str(), 0640), 0);
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::chown(places().config_file.c_str(), 12345, 23456), 0);
  }
  ASSERT_TRUE(store().change_own_file(set("a")));
  EXPECT_EQ(mode_of("config/config.json"), 0640u);
  if (root) {
    struct stat status{};
    ASSERT_EQ(::stat(places().config_file.c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, 12345u);
    EXPECT_EQ(status.st_gid, 23456u);
  }
}

TEST_F(OwnStore, NothingIsWrittenWhenNothingChanges) {
  tree.file("config/config.json", "{\"version\": 1, \"mcpServers\": {\"a\": {}}}");
  auto done = store().change_own_file(set("a"));
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->changed);
  EXPECT_THAT(backups(), SizeIs(0));
  auto nothing = store().change_own_file([](const Json&) -> Result<std::vector<ConfigEdit>> { return {}; });
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(nothing->changed);
}

TEST_F(OwnStore, DecidingNoMeansNothingIsWritten) {
  tree.file("config/config.json", "{}");
  auto done = store().change_own_file([](const Json& root) -> Result<std::vector<ConfigEdit>> {
    EXPECT_EQ(root, Json::object());
    return fail(Errc::config, "no");
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), "no");
  EXPECT_EQ(tree.read("config/config.json"), "{}");
}

TEST_F(OwnStore, FiveNewestBackupsAreKeptOfEachFile) {
  tree.file("config/config.json", "{\"n\": 0}");
  tree.file("project/.mcp.json", "{}");
  for (int i = 1; i <= 8; ++i) {
    ASSERT_TRUE(store().change_own_file(
        [i](const Json&) -> Result<std::vector<ConfigEdit>> { return std::vector{set_member({"n"}, i)}; }));
  }
  ASSERT_TRUE(store().change_project_file(project(), project(), set("a")));
  const auto kept = backups();
  ASSERT_THAT(kept, SizeIs(6));
  EXPECT_THAT(kept[0], HasSubstr(".mcp.json-"));
  EXPECT_EQ(mode_of("state/backups/" + kept[1]), 0600u);
  for (std::size_t i = 1; i < 6; ++i) {
    EXPECT_THAT(tree.read("state/backups/" + kept[i]), HasSubstr("\"n\": " + std::to_string(i + 2)));
  }
}

TEST_F(OwnStore, ChangeGoesOnWhenNoBackupCanBeKept) {
  tree.file("config/config.json", "{}");
  tree.file("state", "a file where the directory should be");
  auto done = store().change_own_file(set("a"));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_TRUE(done->changed);
  ASSERT_THAT(done->warnings, SizeIs(1));
  EXPECT_THAT(done->warnings[0], AllOf(HasSubstr("could not be backed up"),
                                       HasSubstr("state/backups cannot be created: Not a directory")));
}

TEST_F(OwnStore, LinksAreWrittenThrough) {
  tree.file("dotfiles/real.json", "{}");
  tree.directory("config");
  tree.link("config/config.json", "../dotfiles/second.json");
  tree.link("dotfiles/second.json", tree.path() / "dotfiles/real.json");
  auto done = store().change_own_file(set("a"));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(done->file, (tree.path() / "dotfiles/real.json").string());
  EXPECT_TRUE(fs::is_symlink(tree.path() / "config/config.json"));
  EXPECT_TRUE(fs::is_symlink(tree.path() / "dotfiles/second.json"));
  EXPECT_THAT(tree.read("dotfiles/real.json"), HasSubstr("\"a\""));
}

// `..` behind a link is the parent of where it leads: what is written is the file that is read.
TEST_F(OwnStore, TheParentOfALinkIsWhereItReallyIs) {
  tree.directory("project/deep/er");
  tree.file("project/deep/x.json", "{\"mcpServers\": {}}");
  tree.link("project/d", "deep/er");
  tree.link("project/.mcp.json", "d/../x.json");
  auto done = store().change_project_file(project(), project(), set("a"));
  ASSERT_TRUE(done) << done.error().message();
  EXPECT_EQ(done->file, (tree.path() / "project/deep/x.json").string());
  EXPECT_THAT(tree.read("project/.mcp.json"), HasSubstr("\"a\""));
  EXPECT_FALSE(tree.has("project/x.json"));
  // Out of the project that way is out of it.
  tree.directory("home/sub");
  tree.file("home/x.json", "{}");
  fs::remove(tree.path() / "project/d");
  tree.link("project/d", tree.path() / "home/sub");
  EXPECT_THAT(refusal(store(), false), HasSubstr("outside the project"));
  EXPECT_EQ(tree.read("home/x.json"), "{}");
}

TEST_F(OwnStore, LinkToNothingMakesTheFileItNames) {
  tree.directory("config");
  tree.link("config/config.json", tree.path() / "elsewhere/real.json");
  ASSERT_TRUE(store().change_own_file(set("a")));
  EXPECT_THAT(tree.read("elsewhere/real.json"), HasSubstr("\"a\""));
  EXPECT_TRUE(fs::is_symlink(tree.path() / "config/config.json"));
}

TEST_F(OwnStore, LinksInsideAProjectAreFollowedAndOthersAreNot) {
  tree.file("project/sub/real.json", "{}");
  tree.link("project/.mcp.json", "sub/real.json");
  ASSERT_TRUE(store().change_project_file(project(), project(), set("a")));
  EXPECT_THAT(tree.read("project/sub/real.json"), HasSubstr("\"a\""));

  tree.file("home/.claude.json", "{\"mcpServers\": {}}");
  fs::remove(tree.path() / "project/.mcp.json");
  tree.link("project/.mcp.json", tree.path() / "home/.claude.json");
  EXPECT_THAT(refusal(store(), false), AllOf(HasSubstr("outside the project"), HasSubstr(".claude.json")));
  EXPECT_EQ(tree.read("home/.claude.json"), "{\"mcpServers\": {}}");

  // A directory on the way can be a link as well.
  fs::remove(tree.path() / "project/.mcp.json");
  tree.link("project/away", tree.path() / "home");
  tree.link("project/.mcp.json", "away/.claude.json");
  EXPECT_THAT(refusal(store(), false), HasSubstr("outside the project"));
  EXPECT_EQ(tree.read("home/.claude.json"), "{\"mcpServers\": {}}");
}

TEST_F(OwnStore, WhatCannotBeChangedIsRefusedWithItsReason) {
  struct Case {
    const char* name;
    std::function<void(const TempTree&)> make;
    std::string reason;
  };
  const auto file = [](std::string text) {
    return [text = std::move(text)](const TempTree& at) { at.file("config/config.json", text); };
  };
  const Case cases[] = {
      {"loop", [](const TempTree& at) { at.directory("config"), at.link("config/config.json", "config.json"); },
       "form a circle"},
      {"pipe", [](const TempTree& at) { at.directory("config"), at.fifo("config/config.json"); }, "it is a pipe"},
      {"directory", [](const TempTree& at) { at.directory("config/config.json"); }, "it is a directory"},
      {"not UTF-8", file("{\"a\": \"\xFF\"}"), "is not valid UTF-8"},
      {"too large", file("{\"a\": \"" + std::string(10u << 20, 'x') + "\"}"), "larger than 10 MiB"},
      {"not JSON", file("{\n  \"a\": }"), "config.json:2:8: expected"},
      {"key twice", file("{\n\"a\": 1,\n\"a\": 2}"), "config.json:3:1: "},
      {"not an object", file("[1]"), "config.json:1:1: the top of the file must be an object"},
      {"servers are no object", file("{\"mcpServers\": []}"), "config.json:1:16: \"mcpServers\" must be an object"},
      {"newer", file("{\"version\": 2}"),
       "has version 2, but this patchbay knows only version 1, so it is not changed"},
      {"odd version", file("{\"version\": \"x\"}"), "has version \"x\""},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.name);
    fs::remove_all(tree.path() / "config");
    one.make(tree);
    std::error_code none;
    const bool readable = fs::is_regular_file(tree.path() / "config/config.json", none);
    const auto before = readable ? tree.read("config/config.json") : std::string();
    EXPECT_THAT(refusal(store()), HasSubstr(one.reason));
    if (readable) EXPECT_TRUE(tree.read("config/config.json") == before) << "it was changed";
    EXPECT_THAT(files_in("config"), SizeIs(1));
  }
}

TEST_F(OwnStore, ReadOnlyFileIsNotReplaced) {
  tree.file("config/config.json", "{}");
  ASSERT_EQ(::chmod(places().config_file.c_str(), 0444), 0);
  if (::geteuid() != 0) {
    EXPECT_THAT(refusal(store()), HasSubstr("cannot be written: Permission denied"));
    EXPECT_EQ(tree.read("config/config.json"), "{}");
    return;
  }
  // Root may write everything, so another user tries.
  ASSERT_EQ(::chmod(tree.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((tree.path() / "config").c_str(), 0777), 0);
  const auto child = ::fork();
  if (child == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
    auto done = store({.backups = 0}).change_own_file(set("a"));
    ::_exit(!done && done.error().message().find("Permission denied") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(tree.read("config/config.json"), "{}");
}

TEST_F(OwnStore, FullDiskLeavesTheOldFile) {
  tree.file("config/config.json", "{}");
  const auto child = ::fork();
  if (child == 0) {
    // The nearest thing to a full disk that needs no disk.
    ::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit{16, 16};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto done = store().change_own_file(set("a"));
    ::_exit(!done && done.error().message().find("the file is unchanged") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(tree.read("config/config.json"), "{}");
  EXPECT_THAT(files_in("config"), SizeIs(1)) << "something unfinished was left";
}

TEST_F(OwnStore, LockHeldByAnotherIsWaitedForAndNamedWhenItTakesTooLong) {
  tree.file("config/config.json", "{}");
  for (const bool directory_locks : {true, false}) {
    SCOPED_TRACE(directory_locks);
    StoreOptions holding{.directory_locks = directory_locks};
    std::string refused;
    // Somebody else comes while the lock is held.
    holding.before_step = [&](std::string_view step) {
      if (step != "write") return;
      using namespace std::chrono_literals;
      refused = refusal(store({.lock_wait = 20ms, .directory_locks = directory_locks}));
    };
    ASSERT_TRUE(store(holding).change_own_file(set("b", directory_locks)));
    EXPECT_THAT(refused, HasSubstr("another program has been changing"));
    EXPECT_TRUE(store({.directory_locks = directory_locks}).change_own_file(set("c", directory_locks)));
  }
}

// Dies at every step in turn; what is there afterwards is the old file or the new one, and the next
// change works.
TEST_F(OwnStore, KilledAtAnyStepLeavesTheOldOrTheNewFile) {
  std::vector<std::string> steps;
  tree.file("config/config.json", "{}");
  ASSERT_TRUE(
      store({.before_step = [&](std::string_view step) { steps.emplace_back(step); }}).change_own_file(set("warm")));
  ASSERT_GE(steps.size(), 8u);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    SCOPED_TRACE(steps[i]);
    const auto before = tree.read("config/config.json");
    const auto name = "s" + std::to_string(i);
    const auto after = edit_text(before, set_member({"mcpServers", name}, Json::object()));
    const auto child = ::fork();
    if (child == 0) {
      std::size_t at = 0;
      (void)store({.before_step = [&](std::string_view) {
        if (at++ == i) ::kill(::getpid(), SIGKILL);
      }}).change_own_file(set(name));
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const bool renamed = steps[i] == "sync directory" || steps[i] == "unlock";
    EXPECT_EQ(tree.read("config/config.json"), renamed ? *after : before);
    ASSERT_TRUE(store().change_own_file(set(name)));
    EXPECT_EQ(tree.read("config/config.json"), *after);
    EXPECT_THAT(files_in("config"), SizeIs(1));
  }
}

TEST_F(OwnStore, WhatLiesUnderTheNameOfTheNewFileIsNotFollowed) {
  tree.file("project/.mcp.json", "{}");
  tree.file("home/victim", "mine");
  tree.link("project/.mcp.json.patchbay-new", tree.path() / "home/victim");
  ASSERT_TRUE(store().change_project_file(project(), project(), set("a")));
  EXPECT_EQ(tree.read("home/victim"), "mine");
  EXPECT_THAT(files_in("project"), SizeIs(1));
}

}  // namespace
}  // namespace patchbay
