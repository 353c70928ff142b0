// Hooks as a person at a terminal meets them: `patchbay call` with scripts that really run, files of a repository with
// and without trust, an organisation's switches, and the commands that show what would run. P3.
#include <fstream>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/session_house.h"
#include "support/household.h"
#include "support/places.h"
#include "support/scripted_server.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class HooksAtWork : public testing::Test {
 protected:
  // `lines` of sh as the one hook of an event in a settings file.
  static std::string settings(const std::string& hook, const std::string& event = "PreToolUse",
                              const std::string& more = "") {
    return R"({"hooks":{")" + event + R"(":[{"matcher":"mcp__fake__.*","hooks":[)" + "\n" + hook + "]}]}" + more + "}";
  }
  static std::string command(const std::string& line, const std::string& more = "") {
    return to_text(Json{{"type", "command"}, {"command", line}}).insert(1, more.empty() ? "" : more + ",");
  }
  static std::string decision(const std::string& word, const std::string& more = "") {
    return command(
        "echo '"
        R"({"hookSpecificOutput":{"permissionDecision":")" +
        word + "\"" + more + "}}'");
  }
  void user(const std::string& text) { house.tree.file("home/.claude/settings.json", text); }
  CommandResult call(std::vector<std::string> more = {}, const std::string& text = "text=hi") {
    std::vector<std::string> words{"--mcp-config", mode_server_file("good"), "call", "fake/echo", text};
    words.insert(words.end(), more.begin(), more.end());
    return house.run(words);
  }
  std::string path(const std::string& name) const { return (house.tree.path() / name).string(); }

  Household house;
};

TEST_F(HooksAtWork, ADenialNamesHookFileAndLineAndNothingIsSent) {
  user(settings(decision("deny", R"(,"permissionDecisionReason":"ask Ada first")")));
  const auto denied = call({"--json"});
  EXPECT_EQ(denied.code, 2);
  const auto error = json_of(denied)["error"];
  EXPECT_EQ(error["code"], Json("denied"));
  EXPECT_EQ(error["carried_out"], Json("no")) << denied.out;
  EXPECT_THAT(
      std::string(error["message"].as_text()),
      AllOf(HasSubstr("the PreToolUse hook"), HasSubstr("/.claude/settings.json:2"), HasSubstr("ask Ada first")));
}

TEST_F(HooksAtWork, WhatDoesNotAnswerDenies) {
  for (const auto& [hook, why] : std::vector<std::pair<std::string, std::string>>{
           {command("echo no >&2; echo '{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}'; exit 2"), "no"},
           {command("exit 3"), "exited with status 3"},
           {command("echo ok"), "it must print nothing or one JSON object"},
           {command("yes"), "more than 1 MiB"},
           {command("sleep 600", R"("timeout":0.1)"), "longer than 0.1 s"},
           {command("/nonexistent/guard", R"("args":[])"), "/nonexistent/guard"},
           {command("no-such-guard-anywhere"), "not found"},
           {R"({"type":"agent","prompt":"safe?"})", "\"command\", \"http\" or \"mcp_tool\""}}) {
    user(settings(hook));
    const auto denied = call();
    EXPECT_EQ(denied.code, 2) << hook;
    EXPECT_EQ(denied.out, "") << hook;
    EXPECT_THAT(denied.err, AllOf(HasSubstr(why), HasSubstr("settings.json:2"))) << hook;
  }
  user(settings(command("exit 3", R"("onError":"allow")")));
  const auto passed = call();
  EXPECT_EQ(passed.out, "hi\n");
  EXPECT_THAT(passed.err, AllOf(HasSubstr("failed and is ignored"), HasSubstr("status 3")));
}

TEST_F(HooksAtWork, RulesCountBehindAHooksAllow) {
  user(settings(decision("allow"), "PreToolUse", R"(,"permissions":{"deny":["mcp__fake__echo"]})"));
  const auto denied = call();
  EXPECT_EQ(denied.code, 2);
  EXPECT_THAT(denied.err, HasSubstr("denied by the rule"));
  // Where nothing may be asked, a hook's allow is enough, and an ask rule is stronger.
  user(settings(decision("allow"), "PreToolUse", R"(,"permissions":{"defaultMode":"dontAsk"})"));
  EXPECT_EQ(call().out, "hi\n");
  user(settings(decision("allow"), "PreToolUse",
                R"(,"permissions":{"defaultMode":"dontAsk","ask":["mcp__fake__echo"]})"));
  EXPECT_EQ(call().code, 2);
  // Whoever types a call has answered what a hook would ask.
  user(settings(decision("ask")));
  EXPECT_EQ(call().out, "hi\n");
}

TEST_F(HooksAtWork, ChangedArgumentsMeetRulesAndSchema) {
  user(settings(decision("allow", R"(,"updatedInput":{"text":"other"})")));
  EXPECT_EQ(call().out, "other\n");
  user(settings(decision("allow", R"(,"updatedInput":{"text":{}})")));
  EXPECT_THAT(call({"--no-check"}).err, AllOf(HasSubstr("do not fit"), HasSubstr("settings.json:2")));
  user(settings(decision("allow", R"(,"updatedInput":{"text":"other"})"), "PreToolUse",
                R"x(,"permissions":{"deny":["mcp__fake__echo(text: \"other\")"]})x"));
  EXPECT_THAT(call().err, HasSubstr("denied by the rule"));
}

TEST_F(HooksAtWork, AResultIsReplacedBeforeItIsPrinted) {
  user(settings(command("sed 's/.*/{\"hookSpecificOutput\":{\"updatedToolOutput\":\"[hidden]\"}}/'"), "PostToolUse"));
  EXPECT_EQ(call({}, "text=my-key").out, "[hidden]\n");
}

TEST_F(HooksAtWork, AHookKnowsTheProjectAndNoTokenOfOurs) {
  house.tree.file("home/hook.sh",
                  "cat > '" + path("seen") + "'\nenv > '" + path("env") + "'\npwd > '" + path("pwd") + "'\n");
  user(settings(command("sh '" + path("home/hook.sh") + "'")));
  auto options = house.options();
  options.env["PATCHBAY_SERVE_TOKEN"] = "the-serve-token";
  options.env["DEPLOY_TOKEN"] = "the-deploy-token";
  const auto run = [&] {
    return run_program({built("patchbay"), "--mcp-config", mode_server_file("good"), "call", "fake/echo", "text=hi"},
                       options);
  };
  EXPECT_EQ(run().out, "hi\n");
  EXPECT_EQ(json_of({0, house.tree.read("seen"), ""})["tool_name"], Json("mcp__fake__echo"));
  EXPECT_EQ(house.tree.read("pwd"), house.project() + "\n");
  EXPECT_THAT(house.tree.read("env"), AllOf(HasSubstr("CLAUDE_PROJECT_DIR=" + house.project()),
                                            HasSubstr("the-deploy-token"), Not(HasSubstr("the-serve-token"))));
  // One that came with the repository sees no secrets at all, trusted or not.
  user("{}");
  house.tree.file("project/.claude/settings.json", settings(command("sh '" + path("home/hook.sh") + "'")));
  ASSERT_EQ(house.run({"trust"}).code, 0);
  EXPECT_EQ(run().out, "hi\n");
  EXPECT_THAT(house.tree.read("env"), Not(HasSubstr("the-deploy-token")));
}

// C6: nothing that came with a repository runs before somebody trusts it.
TEST_F(HooksAtWork, HooksOfARepositoryNeedTrust) {
  const auto leaves = [&](const std::string& name) { return settings(command("touch '" + path(name) + "'")); };
  house.tree.file("project/.claude/settings.json", leaves("ran-project"));
  house.tree.file("project/.claude/settings.local.json", leaves("ran-local"));
  const auto untrusted = call();
  EXPECT_EQ(untrusted.out, "hi\n");
  EXPECT_FALSE(house.tree.has("ran-project"));
  EXPECT_FALSE(house.tree.has("ran-local"));
  EXPECT_THAT(untrusted.err,
              AllOf(HasSubstr(".claude/settings.json:2"), HasSubstr("not run"), HasSubstr("patchbay trust")));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"lint"}, {"doctor", "--offline"}}) {
    const auto shown = house.run(words);
    EXPECT_THAT(shown.out + shown.err, HasSubstr("the hooks of this file are not run")) << words.front();
  }
  const auto trusted = house.run({"trust"});
  EXPECT_THAT(trusted.out, AllOf(HasSubstr("runs a hook (PreToolUse)"), HasSubstr("ran-project")));
  const auto after = call();
  EXPECT_EQ(after.out, "hi\n");
  EXPECT_THAT(after.err, IsEmpty());
  EXPECT_TRUE(house.tree.has("ran-project"));
  EXPECT_TRUE(house.tree.has("ran-local"));
}

TEST_F(HooksAtWork, NoFileOfARepositorySwitchesAGuardOff) {
  user(settings(decision("deny")));
  house.tree.file("project/.claude/settings.json", R"({"disableAllHooks":true,"hooks":{}})");
  ASSERT_EQ(house.run({"trust"}).code, 0);
  EXPECT_EQ(call().code, 2);
  user(settings(decision("deny"), "PreToolUse", R"(,"disableAllHooks":true)"));
  EXPECT_EQ(call().out, "hi\n");
}

TEST_F(HooksAtWork, AnOrganisationDecidesWhichHooksRun) {
  auto options = house.options();
  options.env["PATCHBAY_TEST_ORGANISATION"] = path("etc");
  const auto run = [&](const std::string& managed) {
    house.tree.file("etc/managed-settings.json", managed);
    return run_program(
        {built("organised-patchbay"), "--mcp-config", mode_server_file("good"), "call", "fake/echo", "text=hi"},
        options);
  };
  user(settings(decision("deny")));
  EXPECT_EQ(run("{}").code, 2);
  EXPECT_EQ(run(R"({"allowManagedHooksOnly":true})").out, "hi\n");
  EXPECT_EQ(run(R"({"disableAllHooks":true})").out, "hi\n");
  // Its own stay when the user switches hooks off.
  user(R"({"disableAllHooks":true})");
  const auto denied = run(settings(decision("deny"), "PreToolUse", R"(,"allowManagedHooksOnly":true)"));
  EXPECT_EQ(denied.code, 2);
  EXPECT_THAT(denied.err, HasSubstr("managed-settings.json:2"));
}

TEST_F(HooksAtWork, AUrlIsAskedAndItsFailureDenies) {
  std::string seen, authorization;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto request = connection.read_request();
    if (connection.number() == 0) {
      seen = request.body;
      authorization = request.field("Authorization");
      connection.answer(
          "200 OK", R"({"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"from afar"}})");
    } else if (connection.number() == 1) {
      connection.answer("204 No Content", "");
    } else if (connection.number() == 2) {
      connection.answer("302 Found", "", "Location: http://127.0.0.1:1/\r\n");
    } else {
      connection.answer("500 Oops", "");
    }
    connection.finish();
  });
  const auto hook = to_text(Json{{"type", "http"},
                                 {"url", server.url("/check?token=abc")},
                                 {"headers", Json{{"Authorization", "Bearer $DEPLOY_TOKEN"}, {"X-Other", "$HOME"}}},
                                 {"allowedEnvVars", Json::array({"DEPLOY_TOKEN"})}});
  user(settings(hook));
  auto options = house.options();
  options.env["DEPLOY_TOKEN"] = "the-deploy-token";
  const auto run = [&] {
    return run_program({built("patchbay"), "--mcp-config", mode_server_file("good"), "call", "fake/echo", "text=hi"},
                       options);
  };
  const auto denied = run();
  EXPECT_EQ(denied.code, 2);
  EXPECT_THAT(denied.err, AllOf(HasSubstr("from afar"), HasSubstr("/check"), Not(HasSubstr("abc"))));
  EXPECT_EQ(json_of({0, seen, ""})["tool_input"], (Json{{"text", "hi"}}));
  EXPECT_EQ(authorization, "Bearer the-deploy-token");
  EXPECT_EQ(run().out, "hi\n");
  // A redirect is not followed: what a hook is told is for its URL alone.
  EXPECT_THAT(run().err, HasSubstr("HTTP status 302"));
  EXPECT_THAT(run().err, HasSubstr("HTTP status 500"));
}

TEST_F(HooksAtWork, AToolOfAServerIsAHook) {
  user(settings(
      to_text(Json{{"type", "mcp_tool"},
                   {"server", "fake"},
                   {"tool", "echo"},
                   {"input", Json{{"text", R"({"hookSpecificOutput":{"permissionDecision":"deny",)"
                                           R"("permissionDecisionReason":"it was ${tool_input.text}"}})"}}}})));
  const auto denied = call();
  EXPECT_EQ(denied.code, 2) << denied.out;
  EXPECT_THAT(denied.err, AllOf(HasSubstr("\"fake/echo\""), HasSubstr("it was hi")));
}

TEST_F(HooksAtWork, NothingOfAHookOutlivesTheCommand) {
  user(settings(command("setsid sleep 600 & echo $! > '" + path("pid") + "'")));
  EXPECT_EQ(call().out, "hi\n");
  EXPECT_TRUE(ended(std::stoi(house.tree.read("pid"))));
}

TEST_F(HooksAtWork, WhyNamesTheHooksThatWouldRun) {
  user(R"({"hooks":{"PreToolUse":[{"matcher":"mcp__fake__.*","hooks":[{"type":"command","command":"./guard.sh"}]},
                                  {"matcher":"mcp__other__.*","hooks":[{"type":"command","command":"./other.sh"}]}]}})");
  house.tree.file("home/.claude.json", R"({"mcpServers":{"fake":{"command":"true"}}})");
  const auto why = house.run({"why", "fake/echo"});
  EXPECT_THAT(why.out, AllOf(HasSubstr("Hook: PreToolUse ./guard.sh ("), HasSubstr("settings.json:1"),
                             Not(HasSubstr("other.sh"))));
  const auto hooks = json_of(house.run({"why", "fake/echo", "--json"}))["tool"]["hooks"];
  ASSERT_EQ(hooks.size(), 1u);
  EXPECT_EQ(hooks.items()[0]["target"], Json("./guard.sh"));
  EXPECT_EQ(hooks.items()[0]["onError"], Json("deny"));
}

// The first block of a page in this language.
std::string block_of(const std::string& page, std::string_view language) {
  std::istringstream lines(page);
  std::string text;
  bool inside = false, wanted = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      if (inside && wanted) return text;
      inside = !inside;
      wanted = inside && std::string_view(line).substr(3) == language;
    } else if (wanted) {
      text += line + "\n";
    }
  }
  return {};
}

// docs/hooks.md: what it shows works as written.
TEST_F(HooksAtWork, TheExampleOfThePageWorks) {
  std::ifstream file(in_sources("docs/hooks.md"));
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  user(block_of(page, "json"));
  house.tree.file("home/guard.sh", block_of(page, "sh"));
  const Json entry{{"command", built("patchbay")}, {"args", Json::array({"serve", "--root", house.project()})}};
  house.tree.file("home/.claude.json", to_text(Json{{"mcpServers", Json{{"files", entry}}}}));
  const auto write = [&](const std::string& name) {
    return house.run({"call", "files/write_file", "path=" + name, "content=x"});
  };
  EXPECT_EQ(write("notes.txt").code, 0);
  EXPECT_TRUE(house.tree.has("project/notes.txt"));
  const auto denied = write(".env");
  EXPECT_EQ(denied.code, 2);
  EXPECT_FALSE(house.tree.has("project/.env"));
  auto expected = block_of(page, "");
  const std::string there = "/home/me";
  expected.replace(expected.find(there), there.size(), house.home());
  EXPECT_EQ(denied.err, expected);
}

// A call that goes through a session meets every hook once.
TEST_F(HooksAtWork, ASessionRunsHooksOnce) {
  SessionHouse at_home;
  const auto log = (at_home.tree.path() / "log").string();
  at_home.tree.file("home/.claude/settings.json", settings(command("echo x >> '" + log + "'")));
  at_home.tree.file("home/.claude.json",
                    R"({"mcpServers":{"fake":{"command":")" + built("mode-server") + R"(","args":["good"]}}})");
  ASSERT_EQ(at_home.run({"session", "start"}).code, 0);
  EXPECT_EQ(at_home.run({"call", "fake/echo", "text=hi"}).out, "hi\n");
  EXPECT_EQ(at_home.tree.read("log"), "x\n");
  at_home.tree.file("home/.claude/settings.json", settings(decision("deny")));
  const auto denied = at_home.run({"call", "fake/echo", "text=hi", "--json"});
  EXPECT_EQ(denied.code, 2);
  EXPECT_EQ(json_of(denied)["error"]["carried_out"], Json("no")) << denied.out;
  EXPECT_THAT(denied.out, HasSubstr("the PreToolUse hook"));
}

}  // namespace
}  // namespace patchbay::test
