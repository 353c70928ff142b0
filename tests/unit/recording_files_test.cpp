// The files of recordings: names, and which have to go. N8.
#include "host/flight/recording_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::TempTree;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const auto now = std::filesystem::file_time_type::clock::now();

StoredRecording stored(std::string stem, std::chrono::seconds age, std::uintmax_t bytes = 1000) {
  return {fmt::format("{}-{}", stem, age.count()), stem, now - age, bytes};
}
std::vector<std::string> files(const std::vector<StoredRecording>& all) {
  std::vector<std::string> out;
  for (const auto& one : all) out.push_back(one.file);
  return out;
}

// N8: seven days, 64 MiB for all servers, and none pushes out the others.
TEST(RecordingFiles, TheOldAndWhatIsTooMuchGo) {
  EXPECT_THAT(recordings_to_drop({stored("a", 1s), stored("b", 6 * 24h), stored("b", 8 * 24h)}, now), SizeIs(1));
  const std::uintmax_t half = most_recording_bytes / 2;
  EXPECT_THAT(files(recordings_to_drop({stored("a", 1s, half), stored("b", 2s, half), stored("c", 3s, 1)}, now)),
              ElementsAre("c-3"));
  std::vector<StoredRecording> flapping;
  for (int i = 0; i < 30; ++i) flapping.push_back(stored("flaps", std::chrono::seconds(i)));
  flapping.push_back(stored("quiet", 3600s));
  const auto gone = recordings_to_drop(flapping, now);
  EXPECT_THAT(gone, SizeIs(30 - most_recordings_each));
  for (const auto& one : gone) EXPECT_EQ(one.stem, "flaps");
}

TEST(RecordingFiles, OneThatWasWrittenAMomentAgoIsEnough) {
  EXPECT_TRUE(is_recorded_just_now({stored("a", 59s)}, "a", now));
  EXPECT_FALSE(is_recorded_just_now({stored("a", 61s)}, "a", now));
  EXPECT_FALSE(is_recorded_just_now({stored("a", 1s)}, "b", now));
  // A clock that was turned back does not keep everybody quiet.
  EXPECT_FALSE(is_recorded_just_now({stored("a", -3600s)}, "a", now));
}

TEST(RecordingFiles, AreForTheUserAloneAndListedNewestFirst) {
  const TempTree tree;
  const auto folder = recordings_folder((tree.path() / "state").string());
  ServerConfig server;
  server.name = "odd/name";
  server.origin.file = "/x/.mcp.json";
  const auto stem = recording_stem(server);
  EXPECT_EQ(stem.find('/'), std::string::npos);
  const auto first = store_recording(folder, stem, "20261118T000000000Z", "one");
  const auto second = store_recording(folder, stem, "20261118T000001000Z", "two");
  ASSERT_TRUE(first && second);
  struct stat about{};
  ASSERT_EQ(::stat(first->c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(folder.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
  std::filesystem::last_write_time(*first, now - 10s);
  // What is none of ours is left alone.
  std::filesystem::create_symlink("/etc/passwd", folder + "/link.1.jsonl");
  std::filesystem::create_directory(folder + "/folder.1.jsonl");
  EXPECT_THAT(files(stored_recordings(folder)), ElementsAre(*second, *first));
  EXPECT_THAT(stored_recordings(folder + "/nowhere"), IsEmpty());
}

TEST(RecordingFiles, WritingDropsWhatIsTooOld) {
  const TempTree tree;
  const auto folder = (tree.path() / "recordings").string();
  const auto old = store_recording(folder, "a-1", "1", "one");
  ASSERT_TRUE(old);
  std::filesystem::last_write_time(*old, now - 8 * 24h);
  const auto fresh = store_recording(folder, "b-1", "2", "two");
  ASSERT_TRUE(fresh);
  EXPECT_THAT(files(stored_recordings(folder)), ElementsAre(*fresh));
}

}  // namespace
}  // namespace patchbay
