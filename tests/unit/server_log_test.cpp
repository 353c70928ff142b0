// The log of one server: its lines, its file, and what happens when it is full. L5.
#include "host/kept/server_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/strings.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::TempTree;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

ServerLogLine line(std::string text, ServerLogKind kind = ServerLogKind::wrote) {
  return {std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(1'800'000'000'123)), kind,
          std::move(text)};
}

TEST(ServerLog, ALineSaysWhenWhatAndComesBack) {
  const auto text = write_log_line(line("listening on 80"));
  EXPECT_EQ(text, "2027-01-15T08:00:00.123Z stderr listening on 80\n");
  EXPECT_EQ(read_log_line(text.substr(0, text.size() - 1)), line("listening on 80"));
  const auto event = write_log_line(line("connected: 3 tools", ServerLogKind::event));
  EXPECT_EQ(event, "2027-01-15T08:00:00.123Z event connected: 3 tools\n");
  EXPECT_EQ(read_log_line(event.substr(0, event.size() - 1)), line("connected: 3 tools", ServerLogKind::event));
}

TEST(ServerLog, WhatAServerWritesStaysOneCleanBoundedLine) {
  const auto text = write_log_line(line("a\033[31mred\033[0m\nb\r\x01" + std::string(10'000, 'x')));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_LT(text.size(), 5000u);
}

TEST(ServerLog, WhatIsNotALineOfOursIsNotRead) {
  for (const auto* bad :
       {"", "x", "2027-01-15T08:00:00.123Z", "2027-01-15T08:00:00.123Z other x", "2027-13-15T08:00:00.123Z stderr x",
        "2027-01-15 08:00:00.123Z stderr x", "2027-01-15T08:00:00.123Zstderr x"}) {
    EXPECT_FALSE(read_log_line(bad)) << bad;
  }
}

TEST(ServerLog, TheFileIsNamedAfterTheServerAndItsPlace) {
  ServerConfig server;
  server.name = "a/../b c";
  server.origin.file = "/p/.mcp.json";
  const auto path = server_log_path("/state", server, "/p");
  EXPECT_THAT(path, MatchesRegex("/state/logs/a____b_c-[0-9a-f]{16}\\.log"));
  auto edited = server;
  edited.command = "another";
  EXPECT_EQ(server_log_path("/state", edited, "/p"), path);
  edited.origin.file = "/q/.mcp.json";
  EXPECT_NE(server_log_path("/state", edited, "/p"), path);
}

// One file has the local entries of every project, and flags are of no file: the same name is another server elsewhere.
TEST(ServerLog, EntriesOfOneProjectHaveALogOfTheirOwn) {
  ServerConfig server;
  server.name = "a";
  server.origin.file = "/home/me/.claude.json";
  for (const auto scope : {ConfigScope::local, ConfigScope::dynamic}) {
    server.origin.scope = scope;
    EXPECT_NE(server_log_path("/state", server, "/p"), server_log_path("/state", server, "/q"));
  }
  for (const auto scope : {ConfigScope::user, ConfigScope::enterprise}) {
    server.origin.scope = scope;
    EXPECT_EQ(server_log_path("/state", server, "/p"), server_log_path("/state", server, "/q"));
  }
}

TEST(ServerLog, AFullFileIsMovedAsideOnce) {
  TempTree tree;
  const auto path = (tree.path() / "logs/a.log").string();
  const auto much = std::string(200'000, 'x') + "\n";
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(append_server_log(path, fmt::format("{} {}", i, much)));
  EXPECT_FALSE(fs::exists(older_server_log(path)));
  ASSERT_TRUE(append_server_log(path, "sixth " + much));
  EXPECT_TRUE(fs::exists(older_server_log(path)));
  EXPECT_THAT(tree.read("logs/a.log"), testing::StartsWith("sixth"));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(append_server_log(path, "more " + much));
  EXPECT_LE(fs::file_size(path), largest_server_log);
  EXPECT_LE(fs::file_size(older_server_log(path)), largest_server_log);
  EXPECT_EQ(std::distance(fs::directory_iterator(tree.path() / "logs"), {}), 2);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

// N2: somebody holds it locked for good, or the file system has no locks.
TEST(ServerLog, AFileThatCannotBeMovedAsideDoesNotGrowForEver) {
  TempTree tree;
  const auto path = (tree.path() / "logs/a.log").string();
  ASSERT_TRUE(append_server_log(path, "first\n"));
  const Fd held(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(held.get(), LOCK_EX | LOCK_NB), 0);
  const std::string lines(largest_server_log / 4, '\n');
  bool refused = false;
  for (int i = 0; i < 20; ++i) refused |= !append_server_log(path, lines).has_value();
  EXPECT_TRUE(refused);
  EXPECT_LE(fs::file_size(path), 2 * largest_server_log);
}

// A link that somebody put there does not decide which file grows.
TEST(ServerLog, ALinkIsNotFollowed) {
  TempTree tree;
  tree.file("precious", "mine");
  tree.directory("logs");
  tree.link("logs/a.log", tree.path() / "precious");
  EXPECT_FALSE(append_server_log((tree.path() / "logs/a.log").string(), "line\n"));
  EXPECT_EQ(tree.read("precious"), "mine");
}

TEST(ServerLog, EightProcessesAppendWholeLines) {
  TempTree tree;
  const auto path = (tree.path() / "logs/a.log").string();
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = true;
      for (int round = 0; round < 100; ++round) {
        good = good && append_server_log(path, std::string(300, static_cast<char>('a' + i)) + "\n").has_value();
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const auto child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto text = tree.read("logs/a.log");
  std::size_t lines = 0;
  for (const auto one : split(text, '\n')) {
    if (one.empty()) continue;
    ++lines;
    EXPECT_EQ(one, std::string(300, one.front()));
  }
  EXPECT_EQ(lines, 800u);
}

}  // namespace
}  // namespace patchbay
