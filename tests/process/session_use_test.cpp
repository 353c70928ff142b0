// Commands that use a session: what stays the same for them, and what becomes possible. N9.
#include <signal.h>

#include <fstream>
#include <iterator>
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

// N9: the state of a server survives from one command to the next.
TEST(SessionUse, AServerKeepsItsStateBetweenCommands) {
  const SessionHouse house;
  house.add_fixture_server();
  ASSERT_EQ(house.run({"call", "fix/add_tool", "name=extra"}).code, 0);
  EXPECT_THAT(house.run({"tools", "fix"}).out, Not(HasSubstr("mcp__fix__extra")));
  house.start();
  ASSERT_EQ(house.run({"call", "fix/add_tool", "name=extra"}).code, 0);
  EXPECT_THAT(house.run({"tools", "fix"}).out, HasSubstr("mcp__fix__extra"));
  // N5: it is new since the server was first seen.
  const auto refused = house.run({"call", "fix/extra"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("changed, awaiting approval (it is new)"));
  ASSERT_EQ(house.run({"pins", "approve", "fix"}).code, 0);
  const auto called = house.run({"call", "fix/extra"});
  EXPECT_EQ(called.code, 0) << called.err;
  EXPECT_THAT(house.run({"--no-session", "tools", "fix"}).out, Not(HasSubstr("mcp__fix__extra")));
}

// N9: what commands print is the same.
TEST(SessionUse, CommandsAnswerAsTheyDoWithoutIt) {
  const SessionHouse house;
  house.add_mode_server("good");
  house.add_fixture_server();
  house.start();
  const std::vector<std::vector<std::string>> commands{
      {"tools", "--json"},
      {"tools", "fake"},
      {"tools", "fake/add", "--json"},
      {"resources", "--json"},
      {"read", "fake", "mode://one"},
      {"prompts", "--json"},
      {"prompt", "fake/greet", "who=you", "--json"},
      {"skills", "--json"},
      {"skills", "fix", "pdf"},
      {"call", "fake/add", "a=1", "b=2"},
      {"call", "fix/blocks", "--json"},
      {"call", "fix/structured_only", "--json"},
      {"call", "fix/task_release", "--json"},
      {"list", "--check", "--json"},
  };
  for (const auto& words : commands) {
    auto alone = words;
    alone.insert(alone.begin(), "--no-session");
    const auto with = house.run(words);
    const auto without = house.run(alone);
    auto out = with.out;
    if (words.front() == "list") {
      auto json = json_of(with);
      json.erase("session");
      auto other = json_of(without);
      other.erase("session");
      EXPECT_EQ(json, other);
      continue;
    }
    EXPECT_EQ(out, without.out) << testing::PrintToString(words) << with.err;
    EXPECT_EQ(with.code, without.code) << testing::PrintToString(words);
  }
  for (const auto& server : house.status()["servers"].items()) EXPECT_EQ(server["state"], Json("connected"));
}

// N9 X5: an error has the same code, text, exit code and "carried out".
TEST(SessionUse, ErrorsAreTheSameAsWithoutIt) {
  struct Case {
    std::string mode;
    std::vector<std::string> words;
  };
  const std::vector<Case> cases{
      {"good", {"call", "fake/boom"}},
      {"good", {"call", "fake/fail"}},
      {"good", {"call", "fake/add", "a=x", "b=2"}},
      {"good", {"call", "fake/add", "a=1"}},
      {"good", {"call", "fake/unknown"}},
      {"good", {"call", "nobody/echo"}},
      {"good", {"read", "fake", "no://thing", "extra"}},
      {"good", {"prompt", "fake/nothing"}},
      {"exits-at-once", {"call", "fake/echo", "text=x"}},
      {"exits-on-call", {"call", "fake/echo", "text=x"}},
      {"error-on-call", {"call", "fake/echo", "text=x"}},
      {"garbage-on-call", {"call", "fake/echo", "text=x"}},
      {"string-ids", {"call", "fake/echo", "text=x"}},
      {"silent-on-call", {"call", "fake/echo", "text=x", "--timeout", "1"}},
      {"fails-tools-list", {"tools", "fake"}},
  };
  for (const auto& one : cases) {
    const SessionHouse house;
    house.add_mode_server(one.mode);
    auto words = one.words;
    words.push_back("--json");
    const auto without = house.run(words);
    house.start();
    const auto with = house.run(words);
    EXPECT_EQ(with.out, without.out) << one.mode << testing::PrintToString(words);
    EXPECT_EQ(with.code, without.code) << one.mode << testing::PrintToString(words);
    // It was the session that met them, where a server had to be asked.
    const bool asked = one.words.at(1) != "nobody/echo" && one.words.size() != 4;
    const auto state = house.status()["servers"].as_array().front();
    EXPECT_TRUE(!asked || state["reason"] != Json("not started")) << one.mode << to_text(state);
  }
}

// L1 N9: a server that died is started again when it is used, with a new state.
TEST(SessionUse, AServerThatDiedIsStartedAgain) {
  const SessionHouse house;
  house.add_fixture_server();
  const auto pid = house.start();
  EXPECT_EQ(house.run({"call", "fix/end_process"}).code, 3);
  EXPECT_EQ(house.run({"call", "fix/hangs"}).out, "0 began, 0 were cancelled\n");
  EXPECT_EQ(house.status()["pid"], Json(pid));
}

// N9: servers keep the environment of the start.
TEST(SessionUse, ServersKeepTheEnvironmentOfTheStart) {
  SessionHouse house;
  house.add_mode_server("good");
  house.more["MODE_SERVER_LOG"] = house.project() + "/at-start";
  house.start();
  house.more["MODE_SERVER_LOG"] = house.project() + "/at-call";
  ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  EXPECT_TRUE(house.tree.has("project/at-start"));
  EXPECT_FALSE(house.tree.has("project/at-call"));
}

// G4 N9: live, and not as it was last seen.
TEST(SessionUse, StatusShowsHowServersAreInTheSession) {
  const SessionHouse house;
  house.add_mode_server("good");
  ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  const auto pid = house.start();
  auto status = json_of(house.run({"status", "--json"}));
  EXPECT_EQ(status["session"]["pid"], Json(pid));
  EXPECT_EQ(status["clients"].as_array().front()["reason"], Json("not started"));
  ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  status = json_of(house.run({"status", "--json"}));
  EXPECT_EQ(status["clients"].as_array().front()["state"], Json("connected"));
  EXPECT_EQ(status["clients"].as_array().front()["age"], Json());
  EXPECT_EQ(status["clients"].as_array().front()["toolCount"], Json(6));
  EXPECT_THAT(house.run({"status"}).out, HasSubstr("session: running since"));
}

// L6 N9: what a command that reconnects asks for.
TEST(SessionUse, ItsServersCanBeConnectedAnew) {
  const SessionHouse house;
  const auto pids = house.project() + "/pids";
  house.add_mode_server("good", pids);
  house.start();
  ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  SocketClient client(house.socket());
  EXPECT_TRUE(client.ask("patchbay/reconnect", Json{{"server", "fake"}}).find("result"));
  EXPECT_TRUE(client.ask("patchbay/reconnect", Json{{"server", "nobody"}}).find("error"));
  const auto again = house.run({"reconnect", "fake"});
  EXPECT_EQ(again.code, 0) << again.err;
  ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  std::ifstream file(pids);
  EXPECT_EQ(std::distance(std::istream_iterator<std::string>(file), std::istream_iterator<std::string>()), 3);
  EXPECT_EQ(house.run({"reconnect", "nobody"}).code, 2);
}

// C6 N9: who says that a server is not to be used means it, also for one that runs.
TEST(SessionUse, AServerThatIsDisabledMeanwhileIsNotConnectedAnew) {
  const SessionHouse house;
  const auto pids = house.project() + "/pids";
  house.add_mode_server("good", pids);
  house.start();
  ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  ASSERT_EQ(house.run({"disable", "fake"}).code, 0);
  SocketClient client(house.socket());
  EXPECT_TRUE(client.ask("patchbay/reconnect", Json{{"server", "fake"}}).find("error"));
  EXPECT_EQ(house.run({"reconnect", "fake"}).code, 2);
  EXPECT_EQ(house.status()["servers"].as_array().front()["state"], Json("disabled"));
  std::ifstream file(pids);
  EXPECT_EQ(std::distance(std::istream_iterator<std::string>(file), std::istream_iterator<std::string>()), 1);
}

// N9: a machine without a place for a socket has no sessions, and is fine.
TEST(SessionUse, WithoutAPlaceForASocketCommandsWorkAsEver) {
  const SessionHouse house;
  auto options = house.options();
  for (const auto* name : {"HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"}) options.env[name] = "";
  const std::vector<std::string> call{built("patchbay"), "--mcp-config", mode_server_file("good"), "call",
                                      "fake/echo",       "text=x"};
  EXPECT_EQ(run_program(call, options).out, "x\n");
  const auto refused = run_program({built("patchbay"), "session", "start"}, options);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("XDG_RUNTIME_DIR"));
}

// N9: two terminals share it.
TEST(SessionUse, CommandsAtOnceAreServedSideBySide) {
  const SessionHouse house;
  house.add_fixture_server();
  house.start();
  RunningProgram::Options options{house.project(), house.options().env};
  RunningProgram hanging({built("patchbay"), "call", "fix/hang"}, options);
  std::string seen;
  for (int looked = 0; looked < 1000 && !seen.starts_with("1 began"); ++looked) {
    seen = house.run({"call", "fix/hangs"}).out;
  }
  EXPECT_EQ(seen, "1 began, 0 were cancelled\n");
  std::vector<CommandResult> results(8);
  {
    std::vector<std::jthread> calls;
    for (std::size_t i = 0; i < results.size(); ++i) {
      calls.emplace_back([&, i] { results[i] = house.run({"call", "fix/echo", "n:=" + std::to_string(i)}); });
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_THAT(results[i].out, HasSubstr("\"n\":" + std::to_string(i))) << results[i].err;
  }
  // X3: who goes away in the middle of a call takes it back, also by kill -9.
  hanging.end(SIGKILL);
  for (int looked = 0; looked < 1000 && !seen.ends_with("1 were cancelled\n"); ++looked) {
    seen = house.run({"call", "fix/hangs"}).out;
  }
  EXPECT_EQ(seen, "1 began, 1 were cancelled\n");
}

// P1 N9: rules are decided in the session, from the files as they are now.
TEST(SessionUse, RulesThatAreEditedMeanwhileAreObeyed) {
  const SessionHouse house;
  house.add_mode_server("good");
  house.start();
  EXPECT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  SocketClient client(house.socket());
  ASSERT_TRUE(client.open_for_user("fake").find("result"));
  const Json call{{"name", "echo"}, {"arguments", Json{{"text", "raw"}}}};
  EXPECT_EQ(text_of_call(client.ask("tools/call", call)), "raw");
  house.tree.file("home/.claude/settings.json", R"({"permissions":{"deny":["mcp__fake__echo"]}})");
  const auto denied = house.run({"call", "fake/echo", "text=x", "--json"});
  EXPECT_EQ(denied.code, 2);
  EXPECT_EQ(json_of(denied)["error"]["code"], Json("denied"));
  // Not only the command: a connection that knows no rules is told as well. Opening one reads the files.
  SocketClient second(house.socket());
  ASSERT_TRUE(second.open("fake").find("result"));
  const auto refused = client.ask("tools/call", call);
  EXPECT_EQ(refused["error"]["data"]["patchbay/error"]["code"], Json("denied")) << to_text(refused);
  EXPECT_EQ(refused["error"]["data"]["patchbay/error"]["carriedOut"], Json("no"));
}

// C11 N9
TEST(SessionUse, AServerAddedMeanwhileIsThere) {
  const SessionHouse house;
  house.add_mode_server("good");
  house.start();
  EXPECT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  house.add_fixture_server();
  EXPECT_EQ(house.run({"call", "fix/echo", "text=x"}).code, 0);
  const auto status = house.status();
  std::vector<std::string> connected;
  for (const auto& server : status["servers"].items()) {
    if (server["state"] == Json("connected")) connected.emplace_back(server["name"].as_text());
  }
  EXPECT_THAT(connected, testing::UnorderedElementsAre("fake", "fix"));
  EXPECT_EQ(house.run({"remove", "fix"}).code, 0);
  EXPECT_EQ(house.run({"call", "fix/echo", "text=x"}).code, 2);
}

// C6 N9: it never approves.
TEST(SessionUse, AServerThatAwaitsApprovalIsNotStarted) {
  const SessionHouse house;
  const auto started = house.project() + "/started";
  house.tree.file("project/.mcp.json", mode_server_file("good", started));
  house.start();
  const auto refused = house.run({"call", "fake/echo", "text=x", "--json"});
  EXPECT_EQ(refused.code, 2) << refused.out;
  SocketClient client(house.socket());
  const auto answer = client.open("fake");
  EXPECT_EQ(answer["error"]["data"]["patchbay/error"]["code"], Json("denied")) << to_text(answer);
  EXPECT_FALSE(std::ifstream(started).good());
  EXPECT_EQ(house.run({"approve", "fake"}).code, 0);
  EXPECT_EQ(house.run({"call", "fake/echo", "text=x"}).out, "x\n");
  EXPECT_EQ(house.status()["servers"].as_array().front()["state"], Json("connected"));
}

// N9: flags that change servers, settings or permissions.
TEST(SessionUse, FlagsThatItKnowsNothingOfAreSaid) {
  const SessionHouse house;
  house.add_mode_server("good");
  const auto before = house.run({"--no-session", "call", "fake/echo", "text=x"});
  EXPECT_EQ(before.out, "x\n");
  EXPECT_THAT(before.err, IsEmpty());
  const auto ignored = house.run({"session", "start", "--disallowedTools", "mcp__fake__echo"});
  EXPECT_EQ(ignored.code, 2);
  EXPECT_THAT(ignored.err, HasSubstr("--disallowedTools"));
  house.start();
  for (const auto& flags : std::vector<std::vector<std::string>>{{"--no-session"},
                                                                 {"--mcp-config", mode_server_file("good")},
                                                                 {"--allowedTools", "mcp__fake__echo"},
                                                                 {"--disallowedTools", "mcp__fake__add"},
                                                                 {"--permission-mode", "bypass"},
                                                                 {"--settings", "{}"},
                                                                 {"--trust-project"}}) {
    auto words = flags;
    words.insert(words.end(), {"call", "fake/echo", "text=x"});
    const auto called = house.run(words);
    EXPECT_EQ(called.out, "x\n") << called.err;
    EXPECT_THAT(called.err, AllOf(HasSubstr("is not used because of"), HasSubstr(flags.front())));
  }
  const auto servers = house.status()["servers"];
  EXPECT_EQ(servers.as_array().front()["state"], Json("pending"));
}

// N9 E1: a question goes to the terminal of the command that called.
TEST(SessionUse, AQuestionReachesTheTerminalOfTheCommandThatCalled) {
  const SessionHouse house;
  house.add_fixture_server();
  house.start();
  Terminal terminal({built("patchbay"), "call", "fix/ask_form"}, house.project(), house.options().env);
  ASSERT_TRUE(terminal.wait_for("who are you?")) << terminal.seen();
  ASSERT_TRUE(terminal.wait_for("Answer (3 fields)?")) << terminal.seen();
  // Meanwhile others are served.
  EXPECT_EQ(house.run({"call", "fix/hangs"}).code, 0);
  terminal.type("y\n");
  ASSERT_TRUE(terminal.wait_for("name (")) << terminal.seen();
  terminal.type("Ada\n");
  ASSERT_TRUE(terminal.wait_for("size (")) << terminal.seen();
  terminal.type("many\n");
  ASSERT_TRUE(terminal.wait_for("expected a whole number")) << terminal.seen();
  terminal.type("3\n");
  ASSERT_TRUE(terminal.wait_for("mail (")) << terminal.seen();
  terminal.type("\n");
  ASSERT_TRUE(terminal.wait_for("Send them?")) << terminal.seen();
  terminal.type("y\n");
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_THAT(terminal.seen(), HasSubstr(R"(accept {"name":"Ada","size":3})"));
  // Where nobody can be asked it is cancelled.
  EXPECT_EQ(house.run({"call", "fix/ask_form"}).out, "cancel -\n");
}

// C6 N9: who approves a server on the terminal means it for the session, which then keeps what the server holds.
TEST(SessionUse, AServerThatIsApprovedOnTheTerminalIsStartedInTheSession) {
  SessionHouse house;
  house.start();
  house.tree.file("project/.mcp.json", server_file({{"fix", {{"command", built("scenario-server")}}}}));
  // Nobody can be asked.
  EXPECT_EQ(house.run({"call", "fix/hangs"}).code, 2);
  Terminal terminal({built("patchbay"), "call", "fix/add_tool", "name=extra"}, house.project(), house.options().env);
  ASSERT_TRUE(terminal.wait_for("Start it?")) << terminal.seen();
  terminal.type("y\n");
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_THAT(terminal.seen(), HasSubstr("Approved \"fix\""));
  EXPECT_EQ(house.status()["servers"].as_array().front()["state"], Json("connected"));
  EXPECT_EQ(house.run({"call", "fix/extra"}).code, 2) << "that tool is new";
  ASSERT_EQ(house.run({"pins", "approve", "fix"}).code, 0);
  const auto called = house.run({"call", "fix/extra"});
  EXPECT_EQ(called.code, 0) << called.err;
}

// C6 N9
TEST(SessionUse, AServerThatIsRejectedOnTheTerminalIsNotStartedInTheSession) {
  SessionHouse house;
  house.start();
  house.tree.file("project/.mcp.json", server_file({{"fix", {{"command", built("scenario-server")}}}}));
  Terminal terminal({built("patchbay"), "call", "fix/hangs"}, house.project(), house.options().env);
  ASSERT_TRUE(terminal.wait_for("Start it?")) << terminal.seen();
  terminal.type("n\n");
  EXPECT_NE(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_THAT(terminal.seen(), HasSubstr("Rejected \"fix\""));
  EXPECT_EQ(house.status()["servers"].as_array().front()["state"], Json("disabled"));
}

// N9: a session that was killed does not end unnoticed; that is said once.
TEST(SessionUse, ASessionThatWasKilledIsMissedOnce) {
  const SessionHouse house;
  house.add_mode_server("good");
  const auto pid = house.start();
  ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).code, 0);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_TRUE(ended(pid));
  const auto first = house.run({"call", "fake/echo", "text=x"});
  EXPECT_EQ(first.out, "x\n");
  EXPECT_THAT(first.err, HasSubstr("the session of this directory has ended"));
  EXPECT_THAT(house.run({"call", "fake/echo", "text=x"}).err, Not(HasSubstr("session")));
  house.start();
  EXPECT_EQ(house.run({"call", "fake/echo", "text=x"}).out, "x\n");
}

// N9: a program of another version is refused, with the command that restarts the session.
TEST(SessionUse, AnotherVersionIsRefused) {
  const SessionHouse house;
  house.add_mode_server("good");
  const auto pid = house.start();
  const auto path = house.socket();
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_TRUE(ended(pid));
  ASSERT_EQ(::unlink(path.c_str()), 0);
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::chmod(path.c_str(), 0600);
  ASSERT_EQ(::listen(listener.get(), 8), 0);
  std::jthread other([&] {
    for (;;) {
      const Fd caller(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!caller) return;
      char line[4096];
      if (::recv(caller.get(), line, sizeof line, 0) <= 0) continue;
      const std::string answer = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"version\":\"0.0.1\",\"pid\":1}}\n";
      (void)::send(caller.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      (void)::recv(caller.get(), line, sizeof line, 0);
    }
  });
  const auto refused = house.run({"call", "fake/echo", "text=x"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("0.0.1"), HasSubstr("patchbay session stop && patchbay session start")));
  EXPECT_EQ(house.run({"session", "start"}).code, 2);
  EXPECT_EQ(house.run({"--no-session", "-q", "call", "fake/echo", "text=x"}).out, "x\n");
  ::shutdown(listener.get(), SHUT_RDWR);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace patchbay::test
