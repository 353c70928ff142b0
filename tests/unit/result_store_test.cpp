// Where kept results lie: who can read them, how much of them there is, what a full disk and other processes do. N4,
// X2.
#include "host/results/result_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/results/zstd.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::TempTree;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

std::string state(const TempTree& tree) { return (tree.path() / "state").string(); }

std::vector<fs::path> files_in(const TempTree& tree) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(tree.path())) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

// Bytes that do not become smaller.
std::string noise(std::size_t size, std::uint32_t seed = 1) {
  std::string out(size, ' ');
  for (auto& c : out) {
    seed = seed * 1664525u + 1013904223u;
    c = static_cast<char>(seed >> 24);
  }
  return out;
}

std::string kept(const ResultStore& store, std::string_view conversation, std::string_view result) {
  auto id = store.keep(conversation, "mcp__s__t", result);
  EXPECT_TRUE(id) << id.error().message();
  return id.value_or("");
}

TEST(ResultStore, KeepsEveryByteForTheUserAloneAndForOneConversation) {
  const TempTree tree;
  const ResultStore store(state(tree));
  const std::string result = "{\"text\":\"\\u0000 \xc3\xa4 " + noise(1000) + std::string(5'000'000, 'x') + "\"}";
  const auto id = kept(store, "a", result);
  EXPECT_TRUE(is_result_id(id));
  EXPECT_EQ(store.load("a", id), result);
  const auto elsewhere = store.load("b", id);
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.error().code(), Errc::invalid_argument);
  EXPECT_EQ(elsewhere.error().message(), "@result:" + id + ": this conversation has no such result");
  EXPECT_EQ(store.load_any(id), result);
  const auto files = files_in(tree);
  ASSERT_THAT(files, SizeIs(1));
  EXPECT_EQ(fs::status(files[0]).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(fs::status(files[0].parent_path()).permissions(), fs::perms::owner_all);
  if (zstd_packed(result)) EXPECT_LT(fs::file_size(files[0]), 100'000u) << "compressed where libzstd is installed";
}

TEST(ResultStore, WithoutCompressionIsTheSame) {
  const TempTree tree;
  const ResultStore store(state(tree), {.compress = false});
  const auto id = kept(store, "a", "{\"a\":1}");
  EXPECT_EQ(ResultStore(state(tree)).load("a", id), "{\"a\":1}");
  ASSERT_THAT(files_in(tree), SizeIs(1));
  EXPECT_GE(fs::file_size(files_in(tree)[0]), 7u);
}

TEST(ResultStore, NamesThatAreNoneLeadNowhere) {
  const TempTree tree;
  tree.file("state/results/secret", "x");
  const ResultStore store(state(tree));
  for (const auto* id : {"", "..", "../secret", "abcdefgh", "ABCDEFGH", "abcdefgh/../x"}) {
    const auto loaded = store.load("a", id);
    ASSERT_FALSE(loaded) << id;
    EXPECT_EQ(loaded.error().code(), Errc::invalid_argument) << id;
    EXPECT_FALSE(store.remove(id)) << id;
  }
  EXPECT_FALSE(ResultStore("").keep("a", "t", "x"));
  EXPECT_THAT(ResultStore("").list(), IsEmpty());
}

TEST(ResultStore, AWeekLaterItIsGone) {
  const TempTree tree;
  const ResultStore store(state(tree));
  const auto old = kept(store, "a", "1");
  const auto newer = kept(store, "b", "2");
  for (const auto& file : files_in(tree)) {
    if (file.filename() == old) fs::last_write_time(file, fs::file_time_type::clock::now() - 7 * 24h - 1min);
  }
  EXPECT_FALSE(store.load("a", old));
  EXPECT_THAT(store.list(), SizeIs(1));
  kept(store, "b", "3");
  EXPECT_THAT(files_in(tree), SizeIs(2)) << "what is too old goes when something is kept";
  EXPECT_EQ(store.load("b", newer), "2");
}

TEST(ResultStore, TheOldestGoWhenThereIsNoRoom) {
  const TempTree tree;
  const ResultStore store(state(tree), {.bytes = 100'000, .one = 50'000, .files = 1000});
  std::vector<std::string> ids;
  for (std::uint32_t i = 0; i < 5; ++i) {
    ids.push_back(kept(store, fmt::format("conversation {}", i), noise(30'000, i)));
    for (const auto& file : files_in(tree)) {
      if (file.filename() == ids.back()) fs::last_write_time(file, fs::file_time_type::clock::now() - 1h + i * 1min);
    }
  }
  std::uint64_t bytes = 0;
  for (const auto& file : files_in(tree)) bytes += fs::file_size(file);
  EXPECT_LE(bytes, 100'000u);
  EXPECT_FALSE(store.load_any(ids[0]));
  EXPECT_TRUE(store.load_any(ids[4]));
  const auto large = store.keep("a", "t", noise(50'001));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), Errc::limit);

  const ResultStore few(state(tree), {.files = 2});
  const auto last = kept(few, "a", "x");
  EXPECT_THAT(files_in(tree), SizeIs(2));
  EXPECT_EQ(few.load("a", last), "x");
}

TEST(ResultStore, AFileThatIsDamagedOrAnothersIsAnError) {
  const TempTree tree;
  const ResultStore store(state(tree));
  const auto result = noise(1000) + std::string(10'000, 'x');
  const auto id = kept(store, "a", result);
  const auto path = files_in(tree)[0];
  std::ifstream in(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  auto rewrite = [&](std::string_view text) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, whole.size() / 2, whole.size() - 1}) {
    rewrite(whole.substr(0, size));
    const auto loaded = store.load("a", id);
    ASSERT_FALSE(loaded) << size;
    EXPECT_EQ(loaded.error().code(), Errc::internal);
    EXPECT_THAT(loaded.error().message(), HasSubstr("@result:" + id + " cannot be read"));
  }
  // A head that promises more than there may be.
  auto lying = whole;
  const auto at = lying.find("\"size\":");
  lying.replace(at, lying.find(',', at) - at, "\"size\":999999999999");
  rewrite(lying);
  EXPECT_FALSE(store.load("a", id));
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(store.load("a", id)) << "nor does it wait";
  EXPECT_THAT(store.list(), IsEmpty());
}

TEST(ResultStore, ListsAndRemovesThoseOfEveryConversation) {
  const TempTree tree;
  const ResultStore store(state(tree));
  const auto a = kept(store, "a", "1");
  const auto b = kept(store, "b", "22");
  std::vector<std::string> listed;
  for (const auto& one : store.list()) {
    listed.push_back(one.head.id);
    EXPECT_EQ(one.head.tool, "mcp__s__t");
    EXPECT_EQ(one.head.size, one.head.id == a ? 1u : 2u);
  }
  EXPECT_THAT(listed, testing::UnorderedElementsAre(a, b));
  EXPECT_TRUE(store.remove(a));
  EXPECT_FALSE(store.remove(a));
  EXPECT_EQ(store.remove_all(), 1u);
  EXPECT_THAT(files_in(tree), IsEmpty());
}

TEST(ResultStore, OnAFullDiskNothingIsLeftBehind) {
  const TempTree tree;
  const auto child = ::fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::signal(SIGXFSZ, SIG_IGN);
    const auto result = ResultStore(state(tree)).keep("a", "t", noise(100'000));
    ::_exit(!result && result.error().message().contains("File too large") ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(files_in(tree), IsEmpty());
}

// Two processes and one store: nothing that either of them kept is torn or lost, and its limits hold.
TEST(ResultStore, ProcessesThatShareItDoNotDisturbEachOther) {
  const TempTree tree;
  constexpr int each = 40;
  std::vector<pid_t> children;
  for (std::uint32_t who = 0; who < 2; ++who) {
    const auto child = ::fork();
    if (child == 0) {
      const ResultStore store(state(tree), {.files = 60});
      int bad = 0;
      for (std::uint32_t i = 0; i < each; ++i) {
        const auto text = noise(2000, who * 1000 + i);
        const auto id = store.keep("shared", "t", text);
        // The other one may have needed the room already, but what is there is whole.
        if (!id) ++bad;
        if (id && i < 10 && store.load("shared", *id) != text) ++bad;
        if (id && i % 7 == 0) (void)store.remove(*id);
      }
      ::_exit(bad == 0 ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const auto child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const ResultStore store(state(tree), {.files = 60});
  (void)kept(store, "shared", "last");
  EXPECT_LE(store.list().size(), 60u);
  for (const auto& one : store.list()) EXPECT_TRUE(store.load("shared", one.head.id));
}

}  // namespace
}  // namespace patchbay
