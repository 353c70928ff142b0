// N1: what is remembered of the era a server speaks, for how long, and in what kind of file.
#include "client/era_memory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/transport.h>

#include "base/crypto.h"
#include "rpc/transport.h"
#include "settings/folders.h"
#include "support/command.h"
#include "transport/stdio.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using test::TemporaryDirectory;
using testing::HasSubstr;

const std::chrono::sys_seconds now{std::chrono::sys_days{std::chrono::year{2026} / 8 / 1}};
const std::string key(64, 'a');

std::string key_of(std::size_t number) { return sha256_hex(fmt::to_string(number)); }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(EraMemory, TheFirstQuestionFollowsFromWhatIsKnown) {
  constexpr auto discover = FirstQuestion::discover;
  constexpr auto initialize = FirstQuestion::initialize;
  struct Row {
    std::string name;
    std::optional<KnownLegacy> known;
    std::string stamp;
    FirstQuestion expected;
  };
  const std::vector<Row> rows{
      {"nothing is known", {}, "", discover},
      {"learned just now", KnownLegacy{now, ""}, "", initialize},
      {"learned six days ago", KnownLegacy{now - 6 * 24h, ""}, "", initialize},
      {"a second before it expires", KnownLegacy{now - 7 * 24h + 1s, ""}, "", initialize},
      {"expired", KnownLegacy{now - 7 * 24h, ""}, "", discover},
      {"learned in the future", KnownLegacy{now + 1s, ""}, "", discover},
      {"the same program", KnownLegacy{now - 1h, "1:2"}, "1:2", initialize},
      {"another program", KnownLegacy{now - 1h, "1:2"}, "1:3", discover},
      {"a program that is gone", KnownLegacy{now - 1h, "1:2"}, "", discover},
      {"a program where there was none", KnownLegacy{now - 1h, ""}, "1:2", discover},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(first_question(row.known, now, row.stamp), row.expected) << row.name;
  }
}

TEST(EraMemory, RecordsAreReadAsTheyWereWritten) {
  const EraRecords records{{key_of(1), {now, ""}}, {key_of(2), {now - 5h, "fe:1:2:3.4 fe:5"}}};
  EXPECT_EQ(read_era_records(write_era_records(records)), records);
  EXPECT_EQ(read_era_records(write_era_records({})), EraRecords{});
}

TEST(EraMemory, WhatCannotBeUnderstoodIsNotThere) {
  for (std::string_view text : {"", "null", "[]", "{", "{\"version\":1}", "{\"version\":1,\"servers\":[]}",
                                "{\"version\":2,\"servers\":{}}", "{\"servers\":{\"x\":{}}}", "\xFF\xFE"}) {
    EXPECT_EQ(read_era_records(text), EraRecords{}) << text;
  }
  auto with_entry = [](const std::string& name, std::string_view entry) {
    return fmt::format(R"({{"version":1,"servers":{{"{}":{},"{}":{{"learned":5,"stamp":""}}}}}})", name, entry,
                       key_of(1));
  };
  const EraRecords only_good{{key_of(1), {std::chrono::sys_seconds(5s), ""}}};
  for (std::string_view entry : {"null", "1", "{}", R"({"learned":"5","stamp":""})", R"({"learned":5})",
                                 R"({"learned":-5,"stamp":""})", R"({"learned":5.5,"stamp":""})",
                                 R"({"learned":9223372036854775807,"stamp":""})", R"({"learned":5,"stamp":7})"}) {
    EXPECT_EQ(read_era_records(with_entry(key, entry)), only_good) << entry;
  }
  EXPECT_EQ(read_era_records(with_entry("short", R"({"learned":5,"stamp":""})")), only_good);
  EXPECT_EQ(read_era_records(with_entry(std::string(64, 'G'), R"({"learned":5,"stamp":""})")), only_good);
  EXPECT_EQ(read_era_records(with_entry(key, fmt::format(R"({{"learned":5,"stamp":"{}"}})", std::string(300, 's')))),
            only_good);
}

TEST(EraMemory, UpdatesSetForgetAndDropWhatExpired) {
  EraRecords records{{key_of(1), {now - 8 * 24h, ""}}, {key_of(2), {now - 1h, ""}}, {key_of(3), {now + 1h, ""}}};
  update_era_records(records, key_of(4), KnownLegacy{now, "s"}, now);
  EXPECT_EQ(records, (EraRecords{{key_of(2), {now - 1h, ""}}, {key_of(4), {now, "s"}}}));
  update_era_records(records, key_of(2), std::nullopt, now);
  EXPECT_EQ(records, (EraRecords{{key_of(4), {now, "s"}}}));
  update_era_records(records, key_of(9), std::nullopt, now);
  EXPECT_EQ(records, (EraRecords{{key_of(4), {now, "s"}}}));
}

TEST(EraMemory, BeyondTheBoundTheOldestGo) {
  EraRecords records;
  const std::size_t more = 40;
  for (std::size_t i = 0; i < era_memory_entries + more; ++i) {
    const auto learned = now + std::chrono::seconds(i);
    update_era_records(records, key_of(i), KnownLegacy{learned, ""}, learned);
  }
  EXPECT_EQ(records.size(), era_memory_entries);
  EXPECT_FALSE(records.contains(key_of(more - 1)));
  EXPECT_TRUE(records.contains(key_of(more)));
}

TEST(EraMemoryFile, IsReadableByTheUserAloneAndKeepsWhatItIsGiven) {
  TemporaryDirectory directory;
  const auto path = directory.path() + "/new/folders/memory.json";
  EXPECT_EQ(recall_era(path, key), std::nullopt);
  ASSERT_TRUE(remember_era(path, key, KnownLegacy{now, "stamp"}, now));
  EXPECT_EQ(recall_era(path, key), (KnownLegacy{now, "stamp"}));
  EXPECT_EQ(recall_era(path, key_of(1)), std::nullopt);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat((directory.path() + "/new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  EXPECT_FALSE(fs::exists(path + ".new"));
  ASSERT_TRUE(remember_era(path, key, std::nullopt, now));
  EXPECT_EQ(recall_era(path, key), std::nullopt);
}

TEST(EraMemoryFile, IsLeftAloneWhenNothingChanges) {
  TemporaryDirectory directory;
  const auto path = directory.path() + "/memory.json";
  ASSERT_TRUE(remember_era(path, key, KnownLegacy{now, ""}, now));
  struct stat before{}, after{};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  ASSERT_TRUE(remember_era(path, key, KnownLegacy{now, ""}, now));
  ASSERT_TRUE(remember_era(path, key_of(1), std::nullopt, now));
  ASSERT_EQ(::stat(path.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST(EraMemoryFile, ABrokenOneIsEmptyAndIsReplaced) {
  TemporaryDirectory directory;
  const auto path = directory.write("memory.json", "{\"version\":1,\"servers\":{\"aaa");
  ::chmod(path.c_str(), 0666);
  EXPECT_EQ(recall_era(path, key), std::nullopt);
  ASSERT_TRUE(remember_era(path, key, KnownLegacy{now, ""}, now));
  EXPECT_EQ(recall_era(path, key), (KnownLegacy{now, ""}));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST(EraMemoryFile, NothingUnderItsNameIsWaitedFor) {
  TemporaryDirectory directory;
  const auto pipe = directory.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(recall_era(pipe, key), std::nullopt);
  EXPECT_EQ(recall_era(directory.path(), key), std::nullopt);
  EXPECT_EQ(recall_era("/dev/zero", key), std::nullopt);
  const auto loop = directory.path() + "/loop";
  fs::create_symlink(loop, loop);
  EXPECT_EQ(recall_era(loop, key), std::nullopt);
  const auto huge = directory.write("huge", std::string(2u << 20, ' '));
  EXPECT_EQ(recall_era(huge, key), std::nullopt);
}

TEST(EraMemoryFile, WhereNothingCanBeWrittenTheReasonIsReported) {
  auto written = remember_era("/dev/null/memory.json", key, KnownLegacy{now, ""}, now);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(), HasSubstr("/dev/null/memory.json"));
}

// A stranger's link under the name we write to is not followed.
TEST(EraMemoryFile, LinksAreNotWrittenThrough) {
  TemporaryDirectory directory;
  const auto victim = directory.write("victim", "precious");
  const auto path = directory.path() + "/memory.json";
  fs::create_symlink(victim, path + ".new");
  EXPECT_FALSE(remember_era(path, key, KnownLegacy{now, ""}, now));
  fs::remove(path + ".new");
  fs::create_symlink(victim, path);
  EXPECT_TRUE(remember_era(path, key, KnownLegacy{now, ""}, now));
  EXPECT_EQ(read_file(victim), "precious");
}

TEST(EraMemoryFile, ManyWritersLoseNothingThatWasReportedAsKept) {
  TemporaryDirectory directory;
  const auto path = directory.path() + "/memory.json";
  std::mutex mutex;
  std::vector<std::size_t> kept;
  std::vector<std::thread> writers;
  for (std::size_t writer = 0; writer < 6; ++writer) {
    writers.emplace_back([&, writer] {
      for (std::size_t i = 0; i < 20; ++i) {
        const auto number = writer * 100 + i;
        if (!remember_era(path, key_of(number), KnownLegacy{now, ""}, now)) continue;
        std::lock_guard lock(mutex);
        kept.push_back(number);
      }
    });
  }
  for (auto& writer : writers) writer.join();
  EXPECT_FALSE(kept.empty());
  const auto records = read_era_records(read_file(path));
  for (auto number : kept) EXPECT_TRUE(records.contains(key_of(number))) << number;
}

TEST(EraMemoryFile, ABusyOneIsGivenUp) {
  TemporaryDirectory directory;
  const auto path = directory.path() + "/memory.json";
  const int holder = ::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(holder, LOCK_EX), 0);
  EXPECT_FALSE(remember_era(path, key, KnownLegacy{now, ""}, now));
  ::close(holder);
  EXPECT_TRUE(remember_era(path, key, KnownLegacy{now, ""}, now));
}

TEST(EraMemory, AServerIsTheSameWhenAllThatMakesItIs) {
  auto key_for = [](StdioTarget target) { return stdio_transport_with(std::move(target), {})->identity().key; };
  const StdioOptions plain{.command = "true", .args = {"a", "b"}, .env = {{"T", "secret"}}, .cwd = "/tmp"};
  EXPECT_EQ(key_for(plain), key_for(plain));
  EXPECT_EQ(key_for(plain).size(), 64u);
  StdioTarget other = plain;
  other.shown = "only shown";
  EXPECT_EQ(key_for(plain), key_for(other));
  std::vector<StdioOptions> others(5, plain);
  others[0].command = "false";
  others[1].args = {"a b"};
  others[2].args = {"ab"};
  others[3].env["T"] = "other";
  others[4].cwd = "/";
  for (const auto& one : others) EXPECT_NE(key_for(plain), key_for(one));
  auto at = [](std::string url) { return http_transport({.url = std::move(url), .headers = {}}); };
  EXPECT_EQ(at("http://a/mcp")->identity().key, at("http://a/mcp")->identity().key);
  EXPECT_NE(at("http://a/mcp")->identity().key, at("http://b/mcp")->identity().key);
  EXPECT_EQ(at("http://a/mcp")->identity().stamp, "");
}

TEST(EraMemory, TheStampFollowsTheProgramAndItsScript) {
  TemporaryDirectory directory;
  const auto program = directory.write("program", "#!/bin/sh\n");
  const auto script = directory.write("script.js", "1");
  ::chmod(program.c_str(), 0755);
  auto stamp = [&] {
    return stdio_transport({.command = "./program", .args = {"--x", "script.js"}, .env = {}, .cwd = directory.path()})
        ->identity()
        .stamp;
  };
  const auto first = stamp();
  EXPECT_EQ(stamp(), first);
  directory.write("script.js", "22");
  const auto second = stamp();
  EXPECT_NE(second, first);
  directory.write("program", "#!/bin/sh\n\n");
  EXPECT_NE(stamp(), second);
  fs::remove(program);
  EXPECT_EQ(stamp(), "none");
}

TEST(CacheFolder, FollowsXdg) {
  using Variables = std::map<std::string, std::string, std::less<>>;
  auto folder = [](Variables variables) {
    return cache_folder([variables](std::string_view name) -> std::optional<std::string> {
      auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  EXPECT_EQ(folder({{"XDG_CACHE_HOME", "/c"}, {"HOME", "/h"}}), "/c/patchbay");
  EXPECT_EQ(folder({{"XDG_CACHE_HOME", ""}, {"HOME", "/h"}}), "/h/.cache/patchbay");
  EXPECT_EQ(folder({{"XDG_CACHE_HOME", "relative"}, {"HOME", "/h"}}), "/h/.cache/patchbay");
  EXPECT_EQ(folder({{"HOME", "/h"}}), "/h/.cache/patchbay");
  EXPECT_EQ(folder({{"HOME", ""}}), "");
  EXPECT_EQ(folder({}), "");
}

}  // namespace
}  // namespace patchbay
