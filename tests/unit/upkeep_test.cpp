// Our own files on the disk, and setting them right. N6.
#include "store/upkeep.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class Upkeep : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (tree.path() / name).string(); }
  ConfigStore store() const { return ConfigStore({path("config/config.json"), path("state")}); }
  void put(const std::string& name, const std::string& text, int mode = 0600) {
    tree.file(name, text);
    ::chmod(path(name).c_str(), static_cast<mode_t>(mode));
  }
  unsigned mode_of(const std::string& name) const {
    struct stat status{};
    ::stat(path(name).c_str(), &status);
    return status.st_mode & 07777U;
  }
  void make_old(const std::string& name) {
    fs::last_write_time(path(name), fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  std::vector<Repair> fix() { return repair(store(), look_after(store())); }

  test::TempTree tree;
};

TEST_F(Upkeep, WithoutFilesThereIsNothingToDo) {
  EXPECT_EQ(look_after(store()), UpkeepState());
  EXPECT_THAT(fix(), IsEmpty());
  EXPECT_FALSE(tree.has("config"));
}

TEST_F(Upkeep, FoldersInWhichNothingCanBeWrittenAreFound) {
  using Use = ClosedFolder::Use;
  put("state", "");
  put("file", "");
  const ConfigStore within({path("file/config.json"), path("state")});
  EXPECT_THAT(look_after(within).closed_folders,
              ElementsAre(ClosedFolder{path("file"), Use::config, "Not a directory"},
                          ClosedFolder{path("state"), Use::state, "Not a directory"}));
  // A link to nowhere, which no folder can take the place of.
  std::filesystem::create_symlink("nowhere", path("link"));
  const ConfigStore linked({path("config/config.json"), path("link/patchbay")});
  EXPECT_THAT(look_after(linked).closed_folders,
              ElementsAre(ClosedFolder{path("link/patchbay"), Use::state, "No such file or directory"}));
  if (::getuid() == 0) return;  // may write everywhere
  tree.directory("shut/config");
  ::chmod(path("shut").c_str(), 0500);
  const ConfigStore shut({path("shut/config/config.json"), path("shut/state/patchbay")});
  EXPECT_THAT(look_after(shut).closed_folders,
              ElementsAre(ClosedFolder{path("shut/state/patchbay"), Use::state, "Permission denied"}));
  ::chmod(path("shut").c_str(), 0700);
}

TEST_F(Upkeep, FilesThatOthersCanReadAreClosed) {
  put("config/config.json", R"({"version": 1, "mcpServers": {"a": {"command": "b", "env": {"API_KEY": "k"}}}})", 0644);
  put("config/secrets.json", "{}", 0604);
  const auto state = look_after(store());
  EXPECT_THAT(state.files, ElementsAre(OwnFileState{path("config/config.json"), 0644, true, true},
                                       OwnFileState{path("config/secrets.json"), 0604, true, true}));
  const auto repairs = fix();
  ASSERT_EQ(repairs.size(), 2u);
  for (const auto& done : repairs) EXPECT_EQ(done.error, "");
  EXPECT_EQ(mode_of("config/config.json"), 0600u);
  EXPECT_EQ(mode_of("config/secrets.json"), 0600u);
  EXPECT_THAT(fix(), IsEmpty());
}

TEST_F(Upkeep, AReferenceToASecretIsNotASecret) {
  put("config/config.json",
      R"({"mcpServers": {"a": {"url": "https://x", "headers": {"Authorization": "${secret:X}"}}}})", 0644);
  EXPECT_FALSE(look_after(store()).files.at(0).has_secrets);
  put("config/config.json", R"({"mcpServers": {"a": {"url": "https://x", "headers": {"Authorization": "Bearer x"}}}})");
  EXPECT_TRUE(look_after(store()).files.at(0).has_secrets);
}

TEST_F(Upkeep, WhatWritersLeftBehindGoesWhenItIsOld) {
  put("config/config.json", "{}");
  put("config/config.json.patchbay-new", "{");
  put("state/backups/new-config.json", "{");
  EXPECT_THAT(look_after(store()).leftovers, IsEmpty());
  make_old("config/config.json.patchbay-new");
  make_old("state/backups/new-config.json");
  for (int i = 0; i < 7; ++i) {
    put("state/backups/config.json.2026010" + std::to_string(i) + "T000000.000000000Z", "{}");
  }
  put("state/backups/notes.txt", "mine");
  EXPECT_THAT(look_after(store()).leftovers,
              UnorderedElementsAre(path("config/config.json.patchbay-new"), path("state/backups/new-config.json"),
                                   path("state/backups/config.json.20260100T000000.000000000Z"),
                                   path("state/backups/config.json.20260101T000000.000000000Z")));
  EXPECT_EQ(fix().size(), 4u);
  EXPECT_THAT(look_after(store()).leftovers, IsEmpty());
  EXPECT_TRUE(tree.has("state/backups/notes.txt"));
  EXPECT_TRUE(tree.has("state/backups/config.json.20260102T000000.000000000Z"));
  EXPECT_TRUE(tree.has("config/config.json"));
}

TEST_F(Upkeep, WhileAnotherProgramWritesNothingIsRemoved) {
  put("config/config.json", "{}");
  put("config/config.json.patchbay-new", "{");
  make_old("config/config.json.patchbay-new");
  const int fd = ::open(path("config").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  EXPECT_TRUE(look_after(store()).being_changed);
  const auto repairs = fix();
  ASSERT_EQ(repairs.size(), 1u);
  EXPECT_THAT(repairs[0].error, HasSubstr("try again"));
  EXPECT_TRUE(tree.has("config/config.json.patchbay-new"));
  ::close(fd);
  EXPECT_FALSE(look_after(store()).being_changed);
  EXPECT_EQ(fix().at(0).error, "");
}

TEST_F(Upkeep, AnswersForProjectsThatAreGoneAreForgottenAndServersStay) {
  tree.directory("here");
  put("config/config.json", R"({"version": 1, "projects": {
    ")" + path("here") + R"(": {"approved": {"a": "sha256:1"}},
    "/gone/one": {"approved": {"a": "sha256:1"}, "trusted": true, "disabledServers": []},
    "/gone/two": {"rejected": {"a": "sha256:1"}, "mcpServers": {"b": {"command": "c"}}},
    "/gone/three": {"mcpServers": {"b": {"command": "c"}}}
  }})");
  EXPECT_THAT(look_after(store()).gone_projects, ElementsAre("/gone/one", "/gone/two"));
  EXPECT_EQ(fix().size(), 2u);
  const auto now = parse_json(tree.read("config/config.json")).value();
  const Json rest{{"mcpServers", {{"b", {{"command", "c"}}}}}};
  EXPECT_EQ(now["projects"].as_object().size(), 3u);
  EXPECT_FALSE(now["projects"][path("here")]["approved"].is_null());
  EXPECT_EQ(now["projects"]["/gone/two"], rest);
  EXPECT_EQ(now["projects"]["/gone/three"], rest);
  EXPECT_THAT(look_after(store()).gone_projects, IsEmpty());
}

TEST_F(Upkeep, AFileOfANewerProgramIsLeftAsItIs) {
  const std::string text = R"({"version": 99, "projects": {"/gone": {"approved": {"a": "sha256:1"}}}})";
  put("config/config.json", text);
  const auto repairs = fix();
  ASSERT_EQ(repairs.size(), 1u);
  EXPECT_THAT(repairs[0].error, HasSubstr("newer patchbay"));
  EXPECT_EQ(tree.read("config/config.json"), text);
}

}  // namespace
}  // namespace patchbay
