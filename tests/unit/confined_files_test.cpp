#include "builtin/confined_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;

// root/ is the confined directory; secret.txt lies beside it.
class ConfinedFiles : public testing::Test {
 protected:
  ConfinedFiles() {
    std::string pattern = (fs::temp_directory_path() / "patchbay-files-XXXXXX").string();
    top_ = fs::canonical(::mkdtemp(pattern.data()));
    root_ = top_ / "root";
    fs::create_directories(root_ / "dir/sub");
    put(top_ / "secret.txt", "secret");
    put(root_ / "a.txt", "alpha");
    put(root_ / "dir/b.txt", "beta");
    fs::create_symlink("a.txt", root_ / "inside-link");
    fs::create_symlink("../a.txt", root_ / "dir/up-link");
    fs::create_symlink("../secret.txt", root_ / "escape");
    fs::create_symlink("..", root_ / "escape-dir");
    fs::create_symlink(top_ / "secret.txt", root_ / "absolute-escape");
    fs::create_symlink(root_ / "a.txt", root_ / "absolute-inside");
    fs::create_symlink("loop", root_ / "loop");
    fs::create_symlink("nowhere", root_ / "dangling");
    fs::create_symlink("../new-outside", root_ / "dangling-escape");
    fs::create_symlink("/proc/self/fd/0", root_ / "magic");
    ::mkfifo((root_ / "fifo").c_str(), 0600);
  }
  ~ConfinedFiles() override { fs::remove_all(top_); }

  static void put(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
  static std::string get(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  ConfinedRoot open() const { return ConfinedRoot::open(root_.string()).value(); }
  std::string outside(std::string_view path) const {
    return std::string(path) + ": is outside " + root_.string() + ", and only files beneath that directory can be used";
  }
  std::vector<std::string> leftovers() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(top_)) {
      if (entry.path().extension() == ".tmp") out.push_back(entry.path().string());
    }
    return out;
  }

  fs::path top_, root_;
};

TEST_F(ConfinedFiles, ReadsBeneathTheRootHoweverItIsSpelled) {
  auto root = open();
  struct Case {
    std::string path, content;
  };
  for (const auto& [path, content] : std::initializer_list<Case>{
           {"a.txt", "alpha"},
           {"./a.txt", "alpha"},
           {"dir//b.txt", "beta"},
           {"dir/../a.txt", "alpha"},
           {"dir/sub/../../a.txt", "alpha"},
           {"inside-link", "alpha"},
           {"dir/up-link", "alpha"},
           {root_ / "a.txt", "alpha"},
           {root_.string() + "//./dir/b.txt", "beta"},
       }) {
    EXPECT_EQ(root.read(path).value_or("?"), content) << path;
  }
}

TEST_F(ConfinedFiles, NothingLeadsOut) {
  auto root = open();
  for (const std::string& path : {
           std::string("../secret.txt"),
           std::string("dir/../../secret.txt"),
           std::string("escape"),
           std::string("escape-dir/secret.txt"),
           std::string("absolute-escape"),
           std::string("absolute-inside"),
           std::string("magic"),
           std::string(".."),
           (top_ / "secret.txt").string(),
           std::string("/etc/passwd"),
           std::string("/"),
           root_.string() + "/../secret.txt",
           root_.string() + "x/a.txt",
       }) {
    auto result = root.read(path);
    ASSERT_FALSE(result) << path;
    EXPECT_EQ(result.error(), Error(Errc::denied, outside(path)));
    EXPECT_THAT(root.status(path), FailsWith(Error(Errc::denied, outside(path))));
    EXPECT_THAT(root.list(path), FailsWith(Error(Errc::denied, outside(path))));
    EXPECT_THAT(root.write(path, "x"), FailsWith(Error(Errc::denied, outside(path))));
  }
  for (std::string path : {"../new", "escape-dir/new", "escape-dir/new/deep", "../new/deep", "dangling-escape"}) {
    auto result = root.write(path, "x", {.parents = Parents::create});
    ASSERT_FALSE(result) << path;
    EXPECT_EQ(result.error().code(), Errc::denied) << result.error().message();
  }
  EXPECT_THAT(root.make_directories("escape-dir/made"), FailsWith(Error(Errc::denied, outside("escape-dir/made"))));
  EXPECT_THAT(root.make_directories("../made"), FailsWith(Error(Errc::denied, outside("../made"))));
  EXPECT_EQ(get(top_ / "secret.txt"), "secret");
  EXPECT_FALSE(fs::exists(top_ / "new"));
  EXPECT_FALSE(fs::exists(top_ / "new-outside"));
  EXPECT_FALSE(fs::exists(top_ / "made"));
}

TEST_F(ConfinedFiles, MagicLinksAndCirclesAreNotFollowed) {
  auto loop = open().read("loop");
  ASSERT_FALSE(loop);
  EXPECT_EQ(loop.error().code(), Errc::denied);
  EXPECT_THAT(loop.error().message(), HasSubstr("loop: leads through links that are not followed beneath"));
  // A link into /proc from within: exe and cwd jump without being paths.
  auto process = ConfinedRoot::open("/proc/self").value();
  EXPECT_THAT(process.read("exe"), FailsWith(Errc::denied));
  EXPECT_THAT(process.list("cwd"), FailsWith(Errc::denied));
  EXPECT_TRUE(process.read("comm"));
}

TEST_F(ConfinedFiles, OtherRefusalsSayWhy) {
  auto root = open();
  struct Case {
    std::string path, message;
  };
  for (const auto& [path, message] : std::initializer_list<Case>{
           {"", "\"\": the path is empty"},
           {"missing", "missing: there is no such file or directory"},
           {"dangling", "dangling: there is no such file or directory"},
           {"a.txt/x", "a.txt/x: Not a directory"},
           {"a.txt/", "a.txt/: Not a directory"},
           {"dir", "dir: is a directory"},
           {".", ".: is a directory"},
           {"fifo", "fifo: is not a regular file"},
           {std::string("a.txt\0b", 7), "a.txt: contains a NUL"},
       }) {
    auto result = root.read(path);
    ASSERT_FALSE(result) << path;
    EXPECT_EQ(result.error(), Error(Errc::invalid_argument, message));
  }
  EXPECT_THAT(root.read(std::string(5000, 'x')), FailsWith(Errc::invalid_argument));
  EXPECT_THAT(ConfinedRoot::open("/dev").value().read("null"),
              FailsWith(Error(Errc::invalid_argument, "null: is not a regular file")));
}

TEST_F(ConfinedFiles, ReadingStopsAtTheLimit) {
  auto root = open();
  EXPECT_EQ(root.read("a.txt", 5).value(), "alpha");
  EXPECT_THAT(root.read("a.txt", 4), FailsWith(Error(Errc::limit, "a.txt: is larger than the limit of 4 bytes")));
  // A file that claims to be empty is held to the limit as well.
  auto process = ConfinedRoot::open("/proc/self").value();
  EXPECT_GT(process.read("status").value().size(), 100u);
  EXPECT_THAT(process.read("status", 100), FailsWith(Errc::limit));
}

TEST_F(ConfinedFiles, RootMustBeADirectory) {
  EXPECT_THAT(
      ConfinedRoot::open((root_ / "missing").string()),
      FailsWith(Error(Errc::invalid_argument, (root_ / "missing").string() +
                                                  ": cannot be used as a root directory: No such file or directory")));
  EXPECT_FALSE(ConfinedRoot::open((root_ / "a.txt").string()));
}

TEST_F(ConfinedFiles, ARootReachedByALinkIsFoundByBothItsNames) {
  fs::create_directory_symlink("root", top_ / "alias");
  auto root = ConfinedRoot::open((top_ / "alias").string()).value();
  EXPECT_EQ(root.path(), root_.string());
  EXPECT_EQ(root.read((top_ / "alias/a.txt").string()).value(), "alpha");
  EXPECT_EQ(root.read((root_ / "a.txt").string()).value(), "alpha");
  auto everything = ConfinedRoot::open("/").value();
  EXPECT_EQ(everything.read((root_ / "a.txt").string()).value(), "alpha");
}

TEST_F(ConfinedFiles, StatusAndResolvedFollowLinksInside) {
  auto root = open();
  EXPECT_EQ(root.status("inside-link").value(), root.status("a.txt").value());
  EXPECT_EQ(root.status("a.txt").value().size, 5u);
  EXPECT_EQ(root.status("a.txt").value().kind, FileKind::file);
  EXPECT_EQ(root.status(".").value().kind, FileKind::directory);
  EXPECT_EQ(root.status("fifo").value().kind, FileKind::other);
  EXPECT_EQ(root.resolved("dir/up-link").value(), "a.txt");
  EXPECT_EQ(root.resolved("dir/sub/../b.txt").value(), "dir/b.txt");
  EXPECT_EQ(root.resolved(".").value(), ".");
}

TEST_F(ConfinedFiles, ListsSortedWithoutFollowingLinks) {
  auto root = open();
  auto listing = root.list(".").value();
  std::vector<std::string> names;
  for (const auto& entry : listing.entries) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("a.txt", "absolute-escape", "absolute-inside", "dangling", "dangling-escape", "dir",
                                 "escape", "escape-dir", "fifo", "inside-link", "loop", "magic"));
  EXPECT_EQ(listing.entries[0].status, root.status("a.txt").value());
  EXPECT_EQ(listing.entries[5].status.kind, FileKind::directory);
  EXPECT_EQ(listing.entries[6].status.kind, FileKind::link);
  EXPECT_EQ(listing.entries[7].status.kind, FileKind::link);
  EXPECT_FALSE(listing.cut);
  EXPECT_TRUE(root.list("dir", 1).value().cut);
  EXPECT_EQ(root.list("dir", 1).value().entries.size(), 1u);
  EXPECT_THAT(root.list("a.txt"), FailsWith(Error(Errc::invalid_argument, "a.txt: Not a directory")));
  EXPECT_TRUE(root.list("dir/sub").value().entries.empty());
}

TEST_F(ConfinedFiles, WritingReplacesWholeAndKeepsPermissions) {
  auto root = open();
  ASSERT_EQ(::chmod((root_ / "a.txt").c_str(), 04751), 0);
  std::ifstream reader(root_ / "a.txt");  // opened before: it keeps the old content
  ASSERT_TRUE(root.write("a.txt", "new"));
  EXPECT_EQ(get(root_ / "a.txt"), "new");
  std::string old;
  reader >> old;
  EXPECT_EQ(old, "alpha");
  EXPECT_EQ(root.status("a.txt").value().mode, 0751u);  // not the right to run as its owner
  EXPECT_THAT(leftovers(), testing::IsEmpty());
}

TEST_F(ConfinedFiles, NewFilesFollowTheUmask) {
  auto root = open();
  ASSERT_TRUE(root.write("new.txt", std::string("a\0b", 3)));
  EXPECT_EQ(get(root_ / "new.txt"), std::string("a\0b", 3));
  put(root_ / "ordinary.txt", "");
  EXPECT_EQ(root.status("new.txt").value().mode, root.status("ordinary.txt").value().mode);
  ASSERT_TRUE(root.write("empty.txt", ""));
  EXPECT_EQ(root.read("empty.txt").value(), "");
  ASSERT_TRUE(root.write((root_ / "dir/abs.txt").string(), "x"));
  EXPECT_EQ(get(root_ / "dir/abs.txt"), "x");
}

TEST_F(ConfinedFiles, WritingThroughALinkKeepsTheLink) {
  auto root = open();
  ASSERT_TRUE(root.write("dir/up-link", "through"));
  EXPECT_TRUE(fs::is_symlink(root_ / "dir/up-link"));
  EXPECT_EQ(get(root_ / "a.txt"), "through");
}

TEST_F(ConfinedFiles, WritingRefusesWhatItMustNotTouch) {
  auto root = open();
  struct Case {
    std::string path, message;
    WriteOptions options = {};
  };
  for (const auto& [path, message, options] : std::initializer_list<Case>{
           {"dir", "dir: is a directory"},
           {".", ".: is a directory"},
           {"new/", "new/: is a directory"},
           {"fifo", "fifo: is not a regular file"},
           {"dangling", "dangling: is a link to a file that does not exist"},
           {"no/such/dir.txt", "no/such/dir.txt: there is no such file or directory"},
           {"a.txt/x", "a.txt/x: Not a directory"},
           {"a.txt/x/y", "a.txt/x/y: Not a directory", {.parents = Parents::create}},
           {"a.txt", "a.txt: already exists", {.existing = Existing::refuse}},
       }) {
    auto result = root.write(path, "x", options);
    ASSERT_FALSE(result) << path;
    EXPECT_EQ(result.error(), Error(Errc::invalid_argument, message));
  }
  EXPECT_THAT(root.write("a.txt", "123456", {.limit = 5}),
              FailsWith(Error(Errc::limit, "a.txt: is larger than the limit of 5 bytes")));
  EXPECT_EQ(get(root_ / "a.txt"), "alpha");
  ASSERT_TRUE(root.write("fresh.txt", "x", {.existing = Existing::refuse}));
  EXPECT_EQ(get(root_ / "fresh.txt"), "x");
  EXPECT_THAT(leftovers(), testing::IsEmpty());
}

TEST_F(ConfinedFiles, MissingDirectoriesAreMadeWhenAsked) {
  auto root = open();
  ASSERT_TRUE(root.write("x/y/../z/file.txt", "deep", {.parents = Parents::create}));
  EXPECT_EQ(get(root_ / "x/z/file.txt"), "deep");
  EXPECT_TRUE(fs::is_directory(root_ / "x/y"));
  ASSERT_TRUE(root.make_directories("x/y/w/"));
  ASSERT_TRUE(root.make_directories("x/y/w"));
  ASSERT_TRUE(root.make_directories("."));
  EXPECT_TRUE(fs::is_directory(root_ / "x/y/w"));
  EXPECT_FALSE(root.make_directories("a.txt"));
  EXPECT_FALSE(root.make_directories("dangling/x"));
}

// As an ordinary user, also where the tests run as root, whom permissions do not stop.
TEST_F(ConfinedFiles, AProtectedFileIsNotReplaced) {
  fs::permissions(top_, fs::perms::all);
  fs::permissions(root_, fs::perms::all);
  ASSERT_EQ(::chmod((root_ / "a.txt").c_str(), 0444), 0);
  auto attempt = [&] {
    if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(2);
    auto root = ConfinedRoot::open(root_.string());
    bool refused = root && root->write("a.txt", "x") == fail(Errc::invalid_argument, "a.txt: Permission denied");
    bool allowed = root && root->write("mine.txt", "x").has_value();
    ::_exit(refused && allowed ? 0 : 1);
  };
  EXPECT_EXIT(attempt(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(get(root_ / "a.txt"), "alpha");
}

TEST_F(ConfinedFiles, ALinkSwappedInMeanwhileNeverLeadsOut) {
  auto root = open();
  put(root_ / "dir/secret.txt", "harmless");
  std::atomic<bool> done = false;
  // "dir" is a directory and a link that leads out, in turns.
  std::jthread swapper([&] {
    while (!done) {
      ::renameat2(AT_FDCWD, (root_ / "dir").c_str(), AT_FDCWD, (root_ / "escape-dir").c_str(), RENAME_EXCHANGE);
    }
  });
  for (int i = 0; i < 3000; ++i) {
    auto content = root.read("dir/secret.txt");
    EXPECT_EQ(content.value_or("harmless"), "harmless");
    if (i % 10 == 0) (void)root.write("dir/secret.txt", "harmless");
  }
  done = true;
  swapper.join();
  EXPECT_EQ(get(top_ / "secret.txt"), "secret");
}

}  // namespace
}  // namespace patchbay
