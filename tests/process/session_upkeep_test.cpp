// A session when things happen to its servers, its files and itself between two commands: what the next command is
// told, and what the session does by itself. N9 N2 L1 L6.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/session_house.h"
#include "support/running_program.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

pid_t last_pid(const std::string& file) {
  std::ifstream in(file);
  pid_t last = 0;
  for (pid_t pid = 0; in >> pid;) last = pid;
  return last;
}

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Json only_server(const Json& status) { return status["servers"].as_array().front(); }

// A server that can be broken: it cannot be started again while the file `broken` is there.
class FragileHouse : public SessionHouse {
 public:
  FragileHouse() {
    tree.file("project/serve", "#!/bin/sh\nif [ -e " + broken() + " ]; then echo 'no disk' >&2; exit 3; fi\nexec " +
                                   built("mode-server") + " good " + pids() + "\n");
    ::chmod((project() + "/serve").c_str(), 0755);
    EXPECT_EQ(run({"add", "fake", "--", project() + "/serve"}).code, 0);
  }
  std::string broken() const { return project() + "/broken"; }
  std::string pids() const { return project() + "/pids"; }
  // Its server has run, ended, and comes back in vain.
  void break_server() const {
    EXPECT_EQ(run({"call", "fake/echo", "text=x"}).out, "x\n");
    std::ofstream(broken()) << "yes";
    EXPECT_EQ(::kill(last_pid(pids()), SIGKILL), 0);
    for (int looked = 0; looked < 1000; ++looked) {
      const auto server = only_server(status());
      const auto error = server["error"].text();
      if (error && error->contains("status 3")) return;
    }
    ADD_FAILURE() << to_text(status());
  }
};

// L1 N9: the session knows why, so the command says it.
TEST(SessionUpkeep, ACommandTellsWhyAServerIsNotBackYet) {
  const FragileHouse house;
  house.start();
  house.break_server();
  const auto called = house.run({"call", "fake/echo", "text=x", "--timeout", "3"});
  EXPECT_EQ(called.code, 3) << called.err;
  EXPECT_THAT(called.err, AllOf(HasSubstr("status 3"), HasSubstr("of 5"), Not(HasSubstr("no answer from"))));
  const auto json = json_of(house.run({"call", "fake/echo", "text=x", "--timeout", "3", "--json"}));
  EXPECT_EQ(json["error"]["carried_out"], Json("no")) << to_text(json);
  std::filesystem::remove(house.broken());
}

// X5 N9
TEST(SessionUpkeep, ACommandTellsOfAServerThatTalksButNotToUs) {
  const SessionHouse house;
  house.add_mode_server("garbage");
  house.start();
  const auto called = house.run({"call", "fake/echo", "text=x", "--timeout", "3"});
  EXPECT_EQ(called.code, 3);
  EXPECT_THAT(called.err, AllOf(HasSubstr("not JSON-RPC"), HasSubstr("<html>not this</html>")));
}

// G4 N9: numbers and earlier failures, as without a session.
TEST(SessionUpkeep, StatusTellsTheAttemptAndTheLastFailure) {
  const FragileHouse house;
  house.start();
  house.break_server();
  const auto client = json_of(house.run({"status", "--json"}))["clients"].as_array().front();
  EXPECT_GE(client["attempt"].to_int().value_or(0), 1) << to_text(client);
  EXPECT_EQ(client["attempts"], Json(5));
  EXPECT_THAT(house.run({"status"}).out, AllOf(HasSubstr("reconnecting, attempt"), HasSubstr("of 5")));
  EXPECT_THAT(house.run({"session", "status"}).out, AllOf(HasSubstr("reconnecting, attempt"), HasSubstr("of 5")));
  std::filesystem::remove(house.broken());
  ASSERT_EQ(house.run({"reconnect", "fake"}).code, 0);
  const auto back = json_of(house.run({"status", "--json"}))["clients"].as_array().front();
  EXPECT_EQ(back["state"], Json("connected"));
  EXPECT_THAT(std::string(back["lastFailure"]["error"].as_text()), HasSubstr("status 3"));
  EXPECT_TRUE(back["lastFailure"]["age"].to_int()) << to_text(back);
  EXPECT_THAT(house.run({"status"}).out, AllOf(HasSubstr("connected"), HasSubstr("last failure")));
}

// N9: what a server held is gone with it, and whoever built on it should know.
TEST(SessionUpkeep, ARestartIsReportedOnce) {
  const SessionHouse house;
  house.add_fixture_server();
  house.add_mode_server("good");
  house.start();
  EXPECT_THAT(house.run({"call", "fix/echo"}).err, Not(HasSubstr("was restarted")));
  EXPECT_EQ(house.run({"call", "fix/end_process"}).code, 3);
  // Another server is none of its business.
  EXPECT_THAT(house.run({"call", "fake/echo", "text=x"}).err, Not(HasSubstr("was restarted")));
  const auto next = house.run({"call", "fix/hangs"});
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_THAT(next.err, testing::ContainsRegex("server \"fix\" was restarted at [-0-9: +]+; what it held is gone"));
  EXPECT_THAT(house.run({"call", "fix/hangs"}).err, Not(HasSubstr("was restarted")));
  // Who asks for it need not be told.
  EXPECT_THAT(house.run({"reconnect", "fix"}).err, Not(HasSubstr("was restarted")));
  EXPECT_THAT(house.run({"call", "fix/hangs"}).err, Not(HasSubstr("was restarted")));
}

// N2 N9: nobody can reach it any more.
TEST(SessionUpkeep, ASessionWhoseSocketIsGoneEndsWithItsServers) {
  const SessionHouse house;
  const auto pids = house.project() + "/pids";
  house.add_mode_server("good", pids);
  const auto pid = house.start();
  ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  std::filesystem::remove_all(house.run_directory() + "/patchbay");
  EXPECT_TRUE(ended(pid));
  EXPECT_TRUE(ended(last_pid(pids)));
  EXPECT_FALSE(std::filesystem::exists(house.run_directory() + "/patchbay"));
}

// C6 C11 N9: no command has to come first.
TEST(SessionUpkeep, AServerThatIsTurnedOffEndsAtOnce) {
  const SessionHouse house;
  const auto pids = house.project() + "/pids";
  house.tree.file("project/.mcp.json", mode_server_file("good", pids));
  ASSERT_EQ(house.run({"approve", "fake"}).code, 0);
  house.start();
  for (const auto& [off, on] : std::vector<std::pair<std::string, std::string>>{
           {"disable", "enable"}, {"reject", "approve"}, {"disable", "enable"}}) {
    ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).out, "x\n");
    ASSERT_EQ(house.run({off, "fake"}).code, 0);
    EXPECT_TRUE(ended(last_pid(pids))) << off;
    ASSERT_EQ(house.run({on, "fake"}).code, 0);
  }
}

// N9: a session that does not answer keeps no file from being written.
TEST(SessionUpkeep, ASessionThatDoesNotAnswerHoldsUpNoChange) {
  const SessionHouse house;
  house.add_mode_server("good");
  const auto pid = house.start();
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  const auto disabled = house.run({"disable", "fake"});
  EXPECT_EQ(disabled.code, 0) << disabled.err;
  EXPECT_EQ(::kill(pid, SIGCONT), 0);
}

// N4 N9: secrets of entries that came after its start.
TEST(SessionUpkeep, LogAndTraceHideSecretsOfEntriesAddedLater) {
  const SessionHouse house;
  const auto log = house.project() + "/log";
  house.add_mode_server("good");
  house.start({"--log-file", log, "--log-level", "debug", "--trace"});
  ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  const std::string secret = "correct-horse-battery";
  ASSERT_EQ(house.run({"add", "later", "-e", "LATER_API_KEY=" + secret, "--", built("mode-server"), "good"}).code, 0);
  EXPECT_EQ(house.run({"call", "later/echo", "text=it is " + secret}).out, "it is " + secret + "\n");
  const auto written = text_of(log);
  EXPECT_THAT(written, AllOf(HasSubstr("later"), HasSubstr("tools/call"), HasSubstr("it is ")));
  EXPECT_THAT(written, Not(HasSubstr(secret)));
}

// N4 N9: a secret that is replaced while the session runs.
TEST(SessionUpkeep, LogAndTraceHideASecretThatWasReplacedMeanwhile) {
  const SessionHouse house;
  const auto log = house.project() + "/log";
  const auto file = house.project() + "/token";
  const std::string first = "correct-horse-battery", second = "another-staple-entirely";
  std::ofstream(file) << first << "\n";
  ::chmod(file.c_str(), 0600);
  ASSERT_EQ(house.run({"add", "fake", "-e", "API_KEY=${file:" + file + "}", "--", built("mode-server"), "good"}).code,
            0);
  house.start({"--log-file", log, "--log-level", "debug", "--trace"});
  EXPECT_EQ(house.run({"call", "fake/echo", "text=it is " + first}).out, "it is " + first + "\n");
  std::ofstream(file) << second << "\n";
  ASSERT_EQ(house.run({"reconnect", "fake"}).code, 0);
  EXPECT_EQ(house.run({"call", "fake/echo", "text=now " + second}).out, "now " + second + "\n");
  EXPECT_EQ(house.run({"call", "fake/echo", "text=then " + first}).out, "then " + first + "\n");
  const auto written = text_of(log);
  EXPECT_THAT(written, AllOf(HasSubstr("it is "), HasSubstr("now "), HasSubstr("then ")));
  EXPECT_THAT(written, AllOf(Not(HasSubstr(first)), Not(HasSubstr(second))));
}

// N9: one that is ending is waited for.
TEST(SessionUpkeep, StopsAtOnceKillNobody) {
  const SessionHouse house;
  house.tree.file("project/serve", "#!/bin/sh\n" + built("mode-server") + " good\nsleep 1\n");
  ::chmod((house.project() + "/serve").c_str(), 0755);
  ASSERT_EQ(house.run({"add", "fake", "--", house.project() + "/serve"}).code, 0);
  const auto pid = house.start();
  ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  std::vector<CommandResult> results(6);
  {
    std::vector<std::jthread> stops;
    for (auto& result : results) {
      stops.emplace_back([&] { result = house.run({"session", "stop"}); });
    }
  }
  for (const auto& result : results) {
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, Not(HasSubstr("killed")));
  }
  EXPECT_TRUE(ended(pid));
}

// N9 X5: a remote server that is gone is noticed by the next command, which waits as long as it is told to.
TEST(SessionUpkeep, ARemoteServerThatIsGoneIsWaitedForWithinTheLimitOfTheCall) {
  const SessionHouse house;
  RunningProgram server({built("patchbay"), "serve", "--http", "127.0.0.1:0", "--json", "--root", house.project()});
  ASSERT_EQ(house.run({"add", "-t", "http", "web", served_url(server)}).code, 0);
  house.start();
  ASSERT_EQ(house.run({"call", "web/list_dir", "path=."}).code, 0);
  server.end(SIGTERM);
  const auto begun = std::chrono::steady_clock::now();
  const auto called = house.run({"call", "web/list_dir", "path=.", "--timeout", "2", "--json"});
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
  EXPECT_EQ(called.code, 3);
  const auto error = json_of(called)["error"];
  EXPECT_EQ(error["code"], Json("connect"));
  EXPECT_EQ(error["carried_out"], Json("no"));
  EXPECT_THAT(std::string(error["message"].as_text()), AllOf(HasSubstr("no connection"), HasSubstr("coming back")));
}

}  // namespace
}  // namespace patchbay::test
