// The file of messages that nobody has acknowledged yet: what survives a process that is killed. H1
#include "host/channels/inbox_file.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

KeptMessage message(std::string id, std::string server = "chat", std::string digest = "") {
  return {std::move(id), std::move(server), std::chrono::sys_seconds(std::chrono::seconds(7)), "text\n\"1\"",
          std::move(digest)};
}

std::vector<std::string> ids_of(const InboxContents& contents) {
  std::vector<std::string> out;
  for (const auto& one : contents.messages) out.push_back(one.id);
  return out;
}

TEST(InboxText, IsReadAsItWasWritten) {
  InboxContents contents{{message("1"), message("2", "other", "d2")}, {{"chat", {"a", "b"}}, {"other", {"d2"}}}};
  InboxContents again;
  read_inbox(write_inbox(contents), again);
  EXPECT_EQ(again, contents);
}

// H1
TEST(InboxText, ThatWasCutOrIsForeignCostsNothingElse) {
  const std::vector<std::string> gone{"1", "unknown"};
  const auto text = write_message(message("1")) + "no JSON\n[]\n7\n{\"id\":\"x\"}\n\n" + write_message(message("2")) +
                    write_gone(gone) + write_message(message("2")) + write_message(message("3"));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    InboxContents contents;
    read_inbox(std::string_view(text).substr(0, cut), contents);
    EXPECT_LE(contents.messages.size(), 2u);
  }
  InboxContents contents;
  read_inbox(text + R"({"id":"4","server":"chat","text":"half a li)", contents);
  EXPECT_THAT(ids_of(contents), ElementsAre("2", "3"));
}

TEST(SeenDigests, AreBounded) {
  SeenDigests seen;
  EXPECT_TRUE(add_digest(seen, "s", "first"));
  EXPECT_FALSE(add_digest(seen, "s", "first"));
  EXPECT_TRUE(add_digest(seen, "t", "first"));
  for (std::size_t i = 0; i < most_seen_digests; ++i) EXPECT_TRUE(add_digest(seen, "s", std::to_string(i)));
  EXPECT_EQ(seen["s"].size(), most_seen_digests);
  EXPECT_TRUE(add_digest(seen, "s", "first"));
}

class InboxFiles : public testing::Test {
 protected:
  std::string folder() const { return (tree.path() / "state/channels/p").string(); }
  InboxFile opened() const {
    auto file = InboxFile::open(folder());
    if (!file) throw std::move(file).error();
    return std::move(*file);
  }
  test::TempTree tree;
};

// H1
TEST_F(InboxFiles, KeepWhatWasNotAcknowledged) {
  {
    auto file = opened();
    EXPECT_THAT(file.take_contents().messages, IsEmpty());
    ASSERT_TRUE(file.add(write_message(message("1")) + write_message(message("2"))));
    ASSERT_TRUE(file.add(write_message(message("3", "chat", "digest"))));
    ASSERT_TRUE(file.note(write_gone(std::vector<std::string>{"2"})));
  }
  struct stat status{};
  ASSERT_EQ(::stat((folder() + "/1.jsonl").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  auto file = opened();
  const auto contents = file.take_contents();
  EXPECT_THAT(ids_of(contents), ElementsAre("1", "3"));
  EXPECT_THAT(contents.seen.at("chat"), ElementsAre("digest"));
}

// H1
TEST_F(InboxFiles, OfProcessesThatHaveEndedAreTakenOver_AndThoseOfOthersAreNot) {
  {
    auto first = opened();
    auto second = opened();  // as another process: each opens the lock for itself
    ASSERT_TRUE(first.add(write_message(message("1"))));
    ASSERT_TRUE(second.add(write_message(message("2"))));
    auto third = opened();
    EXPECT_THAT(third.take_contents().messages, IsEmpty());
  }
  {
    auto next = opened();
    EXPECT_THAT(ids_of(next.take_contents()), ElementsAre("1", "2"));
    auto beside = opened();
    EXPECT_THAT(beside.take_contents().messages, IsEmpty());
  }
}

// H1
TEST_F(InboxFiles, HoldEveryMessageThatWasAddedWhenAProcessIsKilled) {
  for (const int kill_after : {1, 7, 40}) {
    std::filesystem::remove_all(folder());
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto file = InboxFile::open(folder());
      for (int i = 0; file; ++i) {
        if (!file->add(write_message(message(std::to_string(i))))) ::_exit(2);
        if (::write(pipe[1], "x", 1) != 1) ::_exit(3);
      }
      ::_exit(1);
    }
    ::close(pipe[1]);
    char byte = 0;
    int told = 0;
    while (told < kill_after && ::read(pipe[0], &byte, 1) == 1) ++told;
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    while (::read(pipe[0], &byte, 1) == 1) ++told;
    ::close(pipe[0]);
    auto file = opened();
    const auto ids = ids_of(file.take_contents());
    // One more may have been written whose byte was not.
    ASSERT_GE(ids.size(), static_cast<std::size_t>(told));
    for (int i = 0; i < told; ++i) EXPECT_EQ(ids[static_cast<std::size_t>(i)], std::to_string(i));
  }
}

TEST_F(InboxFiles, SayWhyThereIsNone) {
  tree.file("state/channels", "a file");
  EXPECT_FALSE(InboxFile::open(folder()));
}

}  // namespace
}  // namespace patchbay
