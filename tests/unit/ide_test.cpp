// T5, T6: what the lock files of editors say, which of them counts, and which editor is meant.
#include "host/ide/ide.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::TempTree;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr std::string_view whole =
    R"({"pid":77,"workspaceFolders":["/home/me/one","/home/me/two"],"ideName":"Vim","transport":"ws","authToken":"t0k3n"})";

TEST(IdeLock, SaysWhereAnEditorIsAndHowItIsCalled) {
  const auto lock = read_ide_lock("41000.lock", whole);
  ASSERT_TRUE(lock) << lock.error().message();
  IdeLock expected;
  expected.port = 41000;
  expected.pid = 77;
  expected.folders = {"/home/me/one", "/home/me/two"};
  expected.editor = "Vim";
  expected.way = IdeLock::Way::websocket;
  expected.token = Secret("t0k3n");
  EXPECT_EQ(*lock, expected);
}

TEST(IdeLock, OnlyTheProcessIsRequired) {
  const auto lock = read_ide_lock("1.lock", R"({"pid":1,"runningInWindows":false})");
  ASSERT_TRUE(lock) << lock.error().message();
  EXPECT_EQ(lock->way, IdeLock::Way::sse);
  EXPECT_TRUE(lock->token.empty());
  EXPECT_THAT(lock->folders, IsEmpty());
  EXPECT_EQ(lock->editor, "an editor");
}

TEST(IdeLock, WhatIsWrongWithItIsReported) {
  struct Row {
    std::string text;
    std::string reason;
  };
  const std::vector<Row> rows{
      {"", "JSON"},
      {"{", "JSON"},
      {"[]", "JSON"},
      {"/home/me/one\n", "JSON"},
      {"{}", "pid"},
      {R"({"pid":"77"})", "pid"},
      {R"({"pid":0})", "pid"},
      {R"({"pid":-1})", "pid"},
      {R"({"pid":4294967297})", "pid"},
      {R"({"pid":7.5})", "pid"},
      {R"({"pid":7,"transport":"tcp"})", "transport"},
      {R"({"pid":7,"transport":1})", "transport"},
      {R"({"pid":7,"authToken":5})", "authToken"},
      {R"({"pid":7,"authToken":"a\r\nX: y"})", "authToken"},
      {R"({"pid":7,"authToken":"blank inside"})", "authToken"},
      {R"({"pid":7,"authToken":")" + std::string(2000, 'a') + R"("})", "authToken"},
      {R"({"pid":7,"workspaceFolders":"/one"})", "workspaceFolders"},
  };
  for (const auto& row : rows) {
    const auto lock = read_ide_lock("41000.lock", row.text);
    ASSERT_FALSE(lock) << row.text;
    EXPECT_THAT(lock.error().message(), HasSubstr(row.reason)) << row.text;
  }
}

TEST(IdeLock, ItsNameIsItsPort) {
  EXPECT_EQ(ide_lock_port("1.lock"), 1);
  EXPECT_EQ(ide_lock_port("65535.lock"), 65535);
  for (std::string_view name : {"0.lock", "65536.lock", "-1.lock", "080.lock", " 80.lock", "80", "80.lock~", ".lock",
                                "x.lock", "80.0.lock", "99999999999999999999.lock", ""}) {
    EXPECT_EQ(ide_lock_port(name), std::nullopt) << name;
  }
}

TEST(IdeLock, AnEditorsNameIsCleanedForDisplay) {
  EXPECT_EQ(read_ide_lock("1.lock", "{\"pid\":1,\"ideName\":\"a\\u001b[31mb\"}")->editor.find('\x1b'),
            std::string::npos);
  EXPECT_LE(read_ide_lock("1.lock", R"({"pid":1,"ideName":")" + std::string(500, 'x') + R"("})")->editor.size(), 80u);
}

struct Editor {
  std::uint16_t port;
  std::vector<std::string> folders;
  int written = 0;
  bool process_gone = false;
  bool port_closed = false;
};

TEST(IdeChoice, TheTerminalsEditorThenTheNearestFolderThenTheNewest) {
  struct Row {
    std::string name;
    std::vector<Editor> editors;
    std::optional<std::uint16_t> port;
    std::string cwd;
    std::optional<std::uint16_t> chosen;
  };
  const std::vector<Row> rows{
      {"nobody is there", {}, {}, "/a", {}},
      {"the folder itself", {{1, {"/a"}}}, {}, "/a", 1},
      {"below the folder", {{1, {"/a"}}}, {}, "/a/b/c", 1},
      {"one of several folders", {{1, {"/x", "/a"}}}, {}, "/a/b", 1},
      {"above the folder", {{1, {"/a/b"}}}, {}, "/a", {}},
      {"a name that only begins alike", {{1, {"/a/b"}}}, {}, "/a/bc", {}},
      {"another folder", {{1, {"/x"}}}, {}, "/a", {}},
      {"no folder", {{1, {}}}, {}, "/a", {}},
      {"a slash at the end", {{1, {"/a/"}}}, {}, "/a/b/", 1},
      {"the root", {{1, {"/"}}}, {}, "/a", 1},
      {"the root is the farthest", {{1, {"/"}}, {2, {"/a"}}}, {}, "/a/b", 2},
      {"a relative folder is none", {{1, {"a"}}, {2, {""}}}, {}, "/a", {}},
      {"the nearest folder", {{1, {"/a"}}, {2, {"/a/b"}}, {3, {"/"}}}, {}, "/a/b/c", 2},
      {"the nearest folder, whatever is newer", {{1, {"/a/b"}, 1}, {2, {"/a"}, 9}}, {}, "/a/b/c", 1},
      {"the newest of two with the same folder", {{1, {"/a"}, 1}, {2, {"/a"}, 2}}, {}, "/a", 2},
      {"the lower port of two of the same age", {{2, {"/a"}, 1}, {1, {"/a"}, 1}}, {}, "/a", 1},
      {"the terminal's editor, whatever it has open", {{1, {"/a"}}, {2, {"/x"}}}, 2, "/a", 2},
      {"the terminal's editor, with nothing open", {{1, {"/a"}}, {2, {}}}, 2, "/a", 2},
      {"the terminal's editor is not there", {{1, {"/a"}}}, 2, "/a", 1},
      {"the terminal's editor is not there, nor another that fits", {{1, {"/x"}}}, 2, "/a", {}},
      {"the terminal's editor has ended", {{1, {"/a"}}, {2, {"/a"}, 9, true}}, 2, "/a", 1},
      {"the terminal's editor has closed its port", {{1, {"/a"}}, {2, {"/a"}, 9, false, true}}, 2, "/a", 1},
      {"its process is gone", {{1, {"/a"}, 0, true}}, {}, "/a", {}},
      {"its port is closed", {{1, {"/a"}, 0, false, true}}, {}, "/a", {}},
      {"a stale one that is nearer", {{1, {"/a"}}, {2, {"/a/b"}, 9, true}}, {}, "/a/b", 1},
      {"all are stale", {{1, {"/a"}, 0, true}, {2, {"/a"}, 0, false, true}}, 1, "/a", {}},
  };
  for (const auto& row : rows) {
    std::vector<IdeCandidate> candidates;
    for (const auto& editor : row.editors) {
      IdeCandidate candidate;
      candidate.lock.port = editor.port;
      candidate.lock.folders = editor.folders;
      candidate.lock.written = std::chrono::sys_seconds(std::chrono::seconds(editor.written));
      candidate.process_gone = editor.process_gone;
      candidate.port_closed = editor.port_closed;
      candidates.push_back(std::move(candidate));
    }
    for (int order = 0; order < 2; ++order) {
      const auto chosen = choose_ide(candidates, {row.port, row.cwd});
      EXPECT_EQ(chosen ? std::optional(candidates[*chosen].lock.port) : std::nullopt, row.chosen) << row.name;
      std::ranges::reverse(candidates);
    }
  }
}

IdeSearch search_in(const TempTree& tree) {
  return {.folder = (tree.path() / "ide").string(), .cwd = "/", .port = "", .owner = ::geteuid()};
}

TEST(IdeFiles, AreReadWithTheirPlaceInTime) {
  TempTree tree;
  tree.directory("project");
  fs::create_symlink(tree.path() / "project", tree.path() / "link");
  tree.file("ide/41000.lock", fmt::format(R"({{"pid":{},"workspaceFolders":["{}"],"ideName":"Vim"}})", ::getpid(),
                                          (tree.path() / "link").string()));
  const auto found = find_ide_locks(search_in(tree));
  EXPECT_THAT(found.ignored, IsEmpty());
  ASSERT_THAT(found.candidates, SizeIs(1));
  const auto& [lock, process_gone, port_closed] = found.candidates.front();
  EXPECT_EQ(lock.port, 41000);
  EXPECT_FALSE(process_gone);
  EXPECT_GT(lock.written.time_since_epoch().count(), 0);
  // Folders are compared without links.
  EXPECT_THAT(lock.folders, ElementsAre(fs::canonical(tree.path() / "project").string()));
}

TEST(IdeFiles, WhatDoesNotCountIsIgnoredWithItsReason) {
  TempTree tree;
  const std::string good = R"({"pid":1})";
  tree.file("ide/1.lock", good);
  tree.file("ide/2.lock", "{");
  tree.file("ide/3.lock", std::string(70'000, ' '));
  tree.file("elsewhere", good);
  tree.link("ide/4.lock", tree.path() / "elsewhere");
  tree.fifo("ide/5.lock");
  tree.directory("ide/6.lock");
  tree.file("ide/7.lock", good);
  ::chmod((tree.path() / "ide/7.lock").c_str(), 0666);
  tree.file("ide/name.lock", good);
  tree.file("ide/8.lock.tmp", good);
  tree.file("ide/notes", good);
  const auto found = find_ide_locks(search_in(tree));
  ASSERT_THAT(found.candidates, SizeIs(1));
  EXPECT_EQ(found.candidates.front().lock.port, 1);
  EXPECT_THAT(found.ignored, UnorderedElementsAre(testing::AllOf(HasSubstr("2.lock"), HasSubstr("JSON")),
                                                  testing::AllOf(HasSubstr("3.lock"), HasSubstr("64 KiB")),
                                                  testing::AllOf(HasSubstr("4.lock"), HasSubstr("link")),
                                                  testing::AllOf(HasSubstr("5.lock"), HasSubstr("not a file")),
                                                  testing::AllOf(HasSubstr("6.lock"), HasSubstr("not a file")),
                                                  testing::AllOf(HasSubstr("7.lock"), HasSubstr("everybody")),
                                                  testing::AllOf(HasSubstr("name.lock"), HasSubstr("port"))));
}

TEST(IdeFiles, OfOtherPeopleDoNotCount) {
  TempTree tree;
  tree.file("ide/1.lock", R"({"pid":1})");
  auto search = search_in(tree);
  ++search.owner;
  const auto found = find_ide_locks(search);
  EXPECT_THAT(found.candidates, IsEmpty());
  EXPECT_THAT(found.ignored, ElementsAre(HasSubstr(fmt::format("belongs to user {}", ::geteuid()))));
}

TEST(IdeFiles, AreBoundedInNumber) {
  TempTree tree;
  for (int i = 1; i <= 300; ++i) tree.file(fmt::format("ide/{}.lock", i), R"({"pid":1})");
  const auto found = find_ide_locks(search_in(tree));
  EXPECT_THAT(found.candidates, SizeIs(256));
  EXPECT_THAT(found.ignored, ElementsAre(HasSubstr("only 256 lock files were read")));
}

TEST(IdeFiles, AFolderThatIsMissingHasNone) {
  TempTree tree;
  const auto found = find_ide_locks(search_in(tree));
  EXPECT_THAT(found.candidates, IsEmpty());
  EXPECT_THAT(found.ignored, IsEmpty());
}

TEST(IdeFiles, AreLookedForWhereEditorsPutThem) {
  using Variables = std::map<std::string, std::string, std::less<>>;
  auto search = [](Variables variables) {
    return ide_search(
        [variables](std::string_view name) -> std::optional<std::string> {
          auto found = variables.find(name);
          return found == variables.end() ? std::nullopt : std::optional(found->second);
        },
        "/work");
  };
  EXPECT_EQ(search({{"HOME", "/h"}}).folder, "/h/.claude/ide");
  EXPECT_EQ(search({{"HOME", "/h"}, {"CLAUDE_CONFIG_DIR", ""}}).folder, "/h/.claude/ide");
  const auto whole_search = search({{"HOME", "/h"}, {"CLAUDE_CONFIG_DIR", "/c"}, {"CLAUDE_CODE_SSE_PORT", "41000"}});
  EXPECT_EQ(whole_search.folder, "/c/ide");
  EXPECT_EQ(whole_search.port, "41000");
  EXPECT_EQ(whole_search.cwd, "/work");
  EXPECT_EQ(whole_search.owner, ::geteuid());
}

TEST(IdeServer, HasTheTwoToolsThatAreMeantForAModel) {
  const auto server = ide_server("--ide");
  EXPECT_EQ(server.name, "ide");
  EXPECT_THAT(server.enabled_tools.value(), ElementsAre("executeCode", "getDiagnostics"));
}

}  // namespace
}  // namespace patchbay
