// A session from its start to its end, as a person uses it from a shell. N9 N2.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/session_house.h"
#include "support/running_program.h"
#include "support/terminal.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// N9
TEST(SessionCommand, StartsOnceShowsItselfAndStops) {
  const SessionHouse house;
  EXPECT_EQ(house.status()["running"], Json(false));
  const auto pid = house.start();
  ASSERT_GT(pid, 0);
  const auto status = house.status();
  EXPECT_EQ(status["running"], Json(true));
  EXPECT_EQ(status["pid"], Json(pid));
  EXPECT_EQ(status["idleMinutes"].to_double(), 30.0);
  EXPECT_EQ(status["directory"], Json(std::filesystem::canonical(house.project()).string()));
  const auto again = house.run({"session", "start"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.out, AllOf(HasSubstr("already running"), HasSubstr(std::to_string(pid))));
  EXPECT_EQ(house.run({"session", "stop"}).code, 0);
  EXPECT_TRUE(ended(pid));
  EXPECT_EQ(house.status()["running"], Json(false));
  EXPECT_THAT(house.run({"session", "stop"}).out, HasSubstr("No session"));
}

// N9: files that others cannot reach.
TEST(SessionCommand, SocketAndFolderAreForTheUserAlone) {
  const SessionHouse house;
  house.start();
  struct stat about{};
  ASSERT_EQ(::stat((house.run_directory() + "/patchbay").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0700u);
  ASSERT_EQ(::stat(house.socket().c_str(), &about), 0);
  EXPECT_TRUE(S_ISSOCK(about.st_mode));
  EXPECT_EQ(about.st_mode & 07777, 0600u);
  EXPECT_THAT(house.socket(), testing::StartsWith(house.run_directory() + "/patchbay/"));
}

// N9
TEST(SessionCommand, WithoutARuntimeDirectoryTheSocketIsInTheStateDirectory) {
  SessionHouse house;
  house.more["XDG_RUNTIME_DIR"] = "/nowhere";
  EXPECT_GT(house.start(), 0);
  EXPECT_THAT(house.socket(), testing::StartsWith(house.home() + "/.local/state/patchbay/session/"));
}

// N9: nor in one where nothing can be made, whoever owns it.
TEST(SessionCommand, AnUnusableRuntimeDirectoryIsNotUsed) {
  SessionHouse house;
  house.more["XDG_RUNTIME_DIR"] = "/proc";
  EXPECT_GT(house.start(), 0);
  EXPECT_THAT(house.socket(), testing::StartsWith(house.home() + "/.local/state/patchbay/session/"));
}

// N9: one word for one thing; where its socket is belongs to `session status`.
TEST(SessionCommand, StatusAndSessionStatusUseTheSameWords) {
  const SessionHouse house;
  house.add_fixture_server();
  EXPECT_THAT(house.run({"session", "start", "--idle", "1"}).out, HasSubstr("after 1 minute without a command"));
  const auto states = [&](const std::string& of) { return AllOf(HasSubstr("session: running since"), HasSubstr(of)); };
  EXPECT_THAT(house.run({"status"}).out, AllOf(states("not started"), Not(HasSubstr(house.socket()))));
  EXPECT_THAT(house.run({"session", "status"}).out, AllOf(states("not started"), HasSubstr(house.socket())));
  EXPECT_THAT(house.run({"list"}).out, Not(HasSubstr(house.socket())));
  ASSERT_EQ(house.run({"call", "fix/echo"}).code, 0);
  const auto after = [](const std::string& text) { return text.substr(text.find("connected")); };
  const auto whole = house.run({"status"}).out;
  const auto own = house.run({"session", "status"}).out;
  EXPECT_EQ(after(whole).substr(0, after(whole).find('\n')), after(own).substr(0, after(own).find('\n')));
}

// N9: a path may be longer than the address of a socket.
TEST(SessionCommand, ALongPathIsNoObstacle) {
  const SessionHouse house(std::string(60, 'a') + "/" + std::string(60, 'b') + "/" + std::string(60, 'c'));
  house.add_fixture_server();
  EXPECT_GT(house.start(), 0);
  EXPECT_GT(house.socket().size(), 180u);
  EXPECT_EQ(house.run({"call", "fix/echo"}).code, 0);
  EXPECT_EQ(house.status()["servers"].as_array().front()["state"], Json("connected"));
}

// N9: two starts at once make one session.
TEST(SessionCommand, StartsAtOnceMakeOneSession) {
  const SessionHouse house;
  std::vector<CommandResult> results(6);
  {
    std::vector<std::jthread> starts;
    for (auto& result : results) {
      starts.emplace_back([&] { result = house.run({"session", "start", "--json"}); });
    }
  }
  std::set<std::int64_t> pids;
  int started = 0;
  for (const auto& result : results) {
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    const auto json = json_of(result);
    pids.insert(json["pid"].to_int().value_or(0));
    started += json["started"] == Json(true) ? 1 : 0;
  }
  EXPECT_THAT(pids, SizeIs(1));
  EXPECT_EQ(started, 1);
}

// N2: not even its kill -9 leaves a process, and the next start replaces the socket.
TEST(SessionCommand, KilledItLeavesNoProcessAndItsSocketIsReplaced) {
  const SessionHouse house;
  const auto pids = house.project() + "/pids";
  house.add_mode_server("good", pids);
  const auto pid = house.start();
  ASSERT_EQ(house.run({"call", "fake/echo", "text=one"}).out, "one\n");
  pid_t server = 0;
  std::ifstream(pids) >> server;
  ASSERT_GT(server, 0);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_TRUE(ended(pid));
  EXPECT_TRUE(ended(server));
  // Without a session a command starts servers itself, whatever lies there.
  EXPECT_EQ(house.run({"call", "fake/echo", "text=two"}).out, "two\n");
  const auto next = house.start();
  EXPECT_NE(next, pid);
  EXPECT_EQ(house.run({"call", "fake/echo", "text=three"}).out, "three\n");
  EXPECT_EQ(house.status()["pid"], Json(next));
}

// N2 N9: everything it started ends with it.
TEST(SessionCommand, StoppedItTakesItsServersAlong) {
  const SessionHouse house;
  const auto pids = house.project() + "/pids";
  house.add_mode_server("good", pids);
  house.start();
  ASSERT_EQ(house.run({"call", "fake/echo", "text=one"}).code, 0);
  pid_t server = 0;
  std::ifstream(pids) >> server;
  ASSERT_GT(server, 0);
  EXPECT_EQ(::kill(server, 0), 0);
  EXPECT_EQ(house.run({"session", "stop"}).code, 0);
  EXPECT_EQ(::kill(server, 0), -1);
}

// N9
TEST(SessionCommand, AStoppedProcessIsKilledBySessionStop) {
  const SessionHouse house;
  const auto pid = house.start();
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  const auto stopped = house.run({"session", "stop"});
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("killed"));
  EXPECT_TRUE(ended(pid));
}

// N9: it ends by itself when nobody uses it.
TEST(SessionCommand, EndsWhenNobodyUsesIt) {
  const SessionHouse house;
  const auto pid = house.start({"--idle", "0.001"});
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(ended(pid));
  EXPECT_EQ(house.status()["running"], Json(false));
}

// N9
TEST(SessionCommand, OtherDirectoriesHaveOtherSessions) {
  const SessionHouse house;
  house.tree.directory("project/below");
  const auto here = house.start();
  const auto below = house.run({"session", "start", "--json"}, "below");
  EXPECT_NE(json_of(below)["pid"], Json(here));
  // A link is the same directory.
  house.tree.link("project/link", house.project() + "/below");
  EXPECT_EQ(json_of(house.run({"session", "status", "--json"}, "link"))["pid"], json_of(below)["pid"]);
  EXPECT_EQ(house.run({"session", "stop"}, "below").code, 0);
  EXPECT_EQ(house.status()["running"], Json(true));
}

// N9: what a list of servers says about it.
TEST(SessionCommand, ListShowsTheSession) {
  const SessionHouse house;
  house.add_fixture_server();
  EXPECT_THAT(house.run({"list"}).out, Not(HasSubstr("session: running")));
  const auto pid = house.start();
  EXPECT_THAT(house.run({"list"}).out, AllOf(HasSubstr("session: running since"), HasSubstr("not started")));
  ASSERT_EQ(house.run({"call", "fix/echo"}).code, 0);
  EXPECT_THAT(house.run({"list"}).out, AllOf(HasSubstr("connected"), Not(HasSubstr("not started"))));
  EXPECT_EQ(json_of(house.run({"list", "--json"}))["session"]["pid"], Json(pid));
  EXPECT_THAT(house.run({}).out, HasSubstr("session: running since"));
}

}  // namespace
}  // namespace patchbay::test
