// A session among people and programs that mean it no good: others' folders and sockets, callers of another user, and
// clients that say nothing, junk, or too much. N9 N2.
#include <fcntl.h>
#include <sys/wait.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/session_house.h"
#include "support/capability.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Resident memory of a process in MiB.
std::size_t resident_mib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * 4096 >> 20;
}

// N9
TEST(SessionAmongOthers, AFolderOthersCanEnterIsRefused) {
  const SessionHouse house;
  house.add_mode_server("good");
  house.tree.directory("run/patchbay");
  const auto folder = house.run_directory() + "/patchbay";
  ::chmod(folder.c_str(), 0755);
  const auto refused = house.run({"session", "start"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr(folder), HasSubstr("others may enter it")));
  // A command says so as well: a session of somebody else may be there.
  EXPECT_THAT(house.run({"call", "fake/echo", "text=x"}).err, HasSubstr("others may enter it"));
  EXPECT_EQ(house.run({"--no-session", "call", "fake/echo", "text=x"}).out, "x\n");
  ::chmod(folder.c_str(), 0700);
}

// N9
TEST(SessionAmongOthers, AFolderThatIsALinkIsRefused) {
  const SessionHouse house;
  house.tree.directory("elsewhere");
  ::chmod((house.tree.path() / "elsewhere").c_str(), 0700);
  house.tree.link("run/patchbay", house.tree.path() / "elsewhere");
  const auto refused = house.run({"session", "start"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("it is a link"));
  ::unlink((house.run_directory() + "/patchbay").c_str());
}

// N9
TEST(SessionAmongOthers, WhatIsNotASocketOrALinkIsRefused) {
  const SessionHouse house;
  house.start();
  const auto path = house.socket();
  ASSERT_EQ(house.run({"session", "stop"}).code, 0);
  std::ofstream(path) << "no socket";
  const auto file = house.run({"session", "status"});
  EXPECT_EQ(file.code, 2);
  EXPECT_THAT(file.err, HasSubstr("it is not a socket"));
  ::unlink(path.c_str());
  ASSERT_EQ(::symlink("/dev/log", path.c_str()), 0);
  EXPECT_THAT(house.run({"session", "status"}).err, HasSubstr("it is not a socket"));
  ::unlink(path.c_str());
}

// N9: folder and socket opened on purpose, the caller is looked at all the same.
TEST(SessionAmongOthers, ACallerOfAnotherUserIsNotHeard) {
  NEEDS(root);
  const SessionHouse house;
  house.start();
  const auto path = house.socket();
  for (auto folder = std::filesystem::path(path).parent_path(); folder != folder.root_path();
       folder = folder.parent_path()) {
    if (folder.string().starts_with(house.tree.path().string())) ::chmod(folder.c_str(), 0755);
  }
  ::chmod(path.c_str(), 0666);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(3);
    SocketClient client(path);
    if (!client.connected()) ::_exit(2);
    ::_exit(client.ask("patchbay/status").is_null() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "1: it was answered, 2: it could not connect";
  ::chmod((house.run_directory() + "/patchbay").c_str(), 0700);
  ::chmod(path.c_str(), 0600);
  EXPECT_EQ(house.status()["running"], Json(true));
}

// N9: who connects and says nothing makes room.
TEST(SessionAmongOthers, SilentConnectionsKeepNobodyOut) {
  const SessionHouse house;
  house.add_mode_server("good");
  house.start();
  const auto path = house.socket();
  std::vector<std::unique_ptr<SocketClient>> silent;
  for (int i = 0; i < 600; ++i) {
    silent.push_back(std::make_unique<SocketClient>(path));
    EXPECT_TRUE(silent.back()->connected());
  }
  EXPECT_EQ(house.run({"call", "fake/echo", "text=x"}).out, "x\n");
}

// N9
TEST(SessionAmongOthers, JunkIsAnsweredAndHarmsNobody) {
  const SessionHouse house;
  house.add_mode_server("good");
  house.start();
  SocketClient junk(house.socket());
  EXPECT_TRUE(junk.send("GET / HTTP/1.1\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7}\n[]\n{\n"));
  EXPECT_TRUE(junk.next().find("error"));
  EXPECT_EQ(junk.ask("tools/list")["error"]["code"], Json(-32600));
  EXPECT_EQ(junk.ask("initialize", Json{{"capabilities", 3}})["error"]["code"], Json(-32602));
  EXPECT_EQ(house.run({"call", "fake/echo", "text=x"}).out, "x\n");
}

// N9: a message without an end.
TEST(SessionAmongOthers, AnEndlessMessageEndsItsConnectionAlone) {
  const SessionHouse house;
  house.add_mode_server("good");
  const auto pid = house.start();
  ASSERT_EQ(house.run({"call", "fake/echo", "text=x"}).out, "x\n");
  const auto before = resident_mib(pid);
  SocketClient endless(house.socket());
  std::string megabyte(1 << 20, 'x');
  bool taken = endless.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
  int sent = 0;
  for (; taken && sent < 100; ++sent) taken = endless.send(megabyte);
  EXPECT_FALSE(taken) << "100 MB were taken";
  EXPECT_EQ(house.run({"call", "fake/echo", "text=y"}).out, "y\n");
  // Sanitizers keep what was given back for a while.
  EXPECT_LT(resident_mib(pid), before + 200);
}

// N9: plain MCP without a server is all of them, under their full names; what would be asked is not done.
TEST(SessionAmongOthers, AnyClientSeesAllServersAndOnlyCallsWhatRulesAllow) {
  const SessionHouse house;
  house.add_mode_server("good");
  house.add_fixture_server();
  house.tree.file("home/.claude/settings.json", R"({"permissions":{"allow":["mcp__fake__slow"]}})");
  house.start();
  SocketClient client(house.socket());
  EXPECT_EQ(client.open()["result"]["serverInfo"]["name"], Json("patchbay"));
  std::vector<std::string> names;
  const auto listed = client.ask("tools/list");
  for (const auto& tool : listed["result"]["tools"].items()) names.emplace_back(tool["name"].as_text());
  EXPECT_THAT(names, testing::IsSupersetOf({"mcp__fake__echo", "mcp__fix__echo"}));
  const auto called =
      client.ask("tools/call", Json{{"name", "mcp__fake__slow"}, {"_meta", Json{{"progressToken", "token"}}}});
  EXPECT_EQ(text_of_call(called), "done");
  int progress = 0;
  for (const auto& told : client.told) {
    progress += told["method"] == Json("notifications/progress") && told["params"]["progressToken"] == Json("token");
  }
  EXPECT_EQ(progress, 3);
  const auto asked = client.ask("tools/call", Json{{"name", "mcp__fake__echo"}, {"arguments", Json{{"text", "x"}}}});
  EXPECT_EQ(asked["error"]["data"]["patchbay/error"]["code"], Json("denied")) << to_text(asked);
}

// P1 N9: the same for a client that names a server. It sees what rules leave, under the server's own names.
TEST(SessionAmongOthers, AClientOfOneServerOnlySeesAndCallsWhatRulesAllow) {
  const SessionHouse house;
  house.add_mode_server("good");
  house.tree.file(
      "home/.claude/settings.json",
      R"({"permissions":{"allow":["mcp__fake__slow"],"ask":["mcp__fake__add"],"deny":["mcp__fake__boom"]}})");
  house.start();
  SocketClient client(house.socket());
  ASSERT_TRUE(client.open("fake").find("result"));
  std::vector<std::string> names;
  const auto listed = client.ask("tools/list");
  for (const auto& tool : listed["result"]["tools"].items()) names.emplace_back(tool["name"].as_text());
  EXPECT_THAT(names, testing::UnorderedElementsAre("echo", "add", "fail", "slow", "raw"));
  EXPECT_EQ(text_of_call(client.ask("tools/call", Json{{"name", "slow"}})), "done");
  for (const auto& call : {Json{{"name", "add"}, {"arguments", Json{{"a", 1}, {"b", 2}}}},
                           Json{{"name", "echo"}, {"arguments", Json{{"text", "x"}}}}}) {
    const auto asked = client.ask("tools/call", call);
    EXPECT_EQ(asked["error"]["data"]["patchbay/error"]["code"], Json("denied")) << to_text(asked);
    EXPECT_EQ(asked["error"]["data"]["patchbay/error"]["carriedOut"], Json("no"));
  }
  // The user who types it is not asked.
  EXPECT_EQ(house.run({"call", "fake/add", "a=1", "b=2"}).out, "3\n");
}

// P1 N9: a server of which nothing may be used is not started, whoever looks at it.
TEST(SessionAmongOthers, AServerThatARuleDeniesWholeIsNotStarted) {
  const SessionHouse house;
  const auto started = house.project() + "/started";
  house.add_mode_server("good", started);
  house.tree.file("home/.claude/settings.json", R"({"permissions":{"deny":["mcp__fake"]}})");
  const auto checked = house.run({"status", "--check"});
  EXPECT_THAT(checked.out, HasSubstr("may not be used")) << checked.err;
  EXPECT_FALSE(std::ifstream(started).good());
  house.start();
  SocketClient client(house.socket());
  const auto refused = client.open("fake");
  EXPECT_EQ(refused["error"]["data"]["patchbay/error"]["code"], Json("denied")) << to_text(refused);
  EXPECT_EQ(house.run({"status", "--check"}).out, checked.out);
  EXPECT_FALSE(std::ifstream(started).good());
}

// P1 N9: nor by a command that would be refused, or that looks for a name that any server may have.
TEST(SessionAmongOthers, AServerThatARuleDeniesWholeIsNotStartedByACommandEither) {
  const SessionHouse house;
  const auto started = house.project() + "/started";
  house.add_mode_server("good", started);
  house.add_fixture_server();
  house.tree.file("home/.claude/settings.json", R"({"permissions":{"deny":["mcp__fake"]}})");
  const auto refused_everywhere = [&](const char* where) {
    for (const auto& words : std::vector<std::vector<std::string>>{{"call", "fake/echo", "text=x"},
                                                                   {"call", "mcp__fake__echo", "text=x"},
                                                                   {"call", "nobody-has-this"},
                                                                   {"tools", "fake/echo"},
                                                                   {"resources", "fake"},
                                                                   {"prompts", "fake"},
                                                                   {"prompt", "fake/greet", "name=x"},
                                                                   {"skills", "fake"},
                                                                   {"reconnect", "fake"}}) {
      const auto refused = house.run(words);
      EXPECT_EQ(refused.code, 2) << where << ": " << words[0] << " " << words[1] << ": " << refused.out << refused.err;
      EXPECT_THAT(refused.err, HasSubstr("denied by the rule \"mcp__fake\"")) << where << ": " << words[0];
      EXPECT_FALSE(std::ifstream(started).good()) << where << ": " << words[0] << " " << words[1];
      ::unlink(started.c_str());
    }
  };
  refused_everywhere("alone");
  house.start();
  refused_everywhere("in the session");
  // Whoever asks why gets the server's own word on it.
  EXPECT_THAT(house.run({"why", "--check", "boom"}).out, HasSubstr("denied by the rule"));
}

// E1 N9: a question of a server reaches whoever called, and nobody else.
TEST(SessionAmongOthers, AQuestionReachesWhoeverCalledAndNobodyElse) {
  const SessionHouse house;
  house.add_fixture_server();
  house.start();
  SocketClient caller(house.socket());
  SocketClient other(house.socket());
  const Json can_be_asked{{"elicitation", Json{{"form", Json::object()}}}};
  ASSERT_TRUE(caller.open_for_user("fix", can_be_asked).find("result"));
  ASSERT_TRUE(other.open_for_user("fix", can_be_asked).find("result"));
  caller.send(
      "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\"params\":{\"name\":\"ask_form\",\"arguments\":{}}}"
      "\n");
  const auto question = caller.next();
  ASSERT_EQ(question["method"], Json("elicitation/create")) << to_text(question);
  EXPECT_EQ(text_of_call(other.ask("tools/call", Json{{"name", "hangs"}})), "0 began, 0 were cancelled");
  EXPECT_THAT(other.told, testing::IsEmpty());
  caller.send(to_text(Json{{"jsonrpc", "2.0"},
                           {"id", question["id"]},
                           {"result", Json{{"action", "accept"}, {"content", Json{{"name", "Bo"}}}}}}) +
              "\n");
  EXPECT_THAT(text_of_call(caller.next()), HasSubstr("\"name\":\"Bo\""));
}

}  // namespace
}  // namespace patchbay::test
