// Hooks around the calls of a Host and around questions of its servers, with scripts that really run, in both eras.
// P3, E1. compat: B7.14
#include <signal.h>

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>
#include <patchbay/server.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "settings/settings_layers.h"
#include "support/beside.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string words_of(const CallToolResult& result) {
  std::string out;
  for (const auto& block : result.content) {
    if (const auto* text = std::get_if<TextContent>(&block)) out += (out.empty() ? "" : "|") + text->text;
  }
  return out;
}

Json text_schema(const char* type = "string") {
  return {
      {"type", "object"}, {"properties", Json{{"text", Json{{"type", type}}}}}, {"required", Json::array({"text"})}};
}

class Hooks : public testing::TestWithParam<bool> {
 protected:
  Hooks() {
    options.client.protocol = GetParam() ? "legacy" : "auto";
    Tool say;
    say.name = "say";
    say.input_schema = text_schema();
    server->add_tool(say, [this](RequestContext&, Json arguments) -> Task<CallToolResult> {
      called.push_back(to_text(arguments));
      CallToolResult result;
      result.content.emplace_back(TextContent{.text = std::string(arguments["text"].as_text())});
      co_return result;
    });
    Tool fails;
    fails.name = "fails";
    server->add_tool(fails, [](RequestContext&, Json) -> Task<CallToolResult> {
      CallToolResult result;
      result.is_error = true;
      result.content.emplace_back(TextContent{.text = "no such row"});
      co_return result;
    });
    Tool breaks;
    breaks.name = "breaks";
    server->add_tool(breaks, [](RequestContext&, Json) -> Task<CallToolResult> {
      throw Error::rpc(-32050, "broken");
      co_return CallToolResult{};
    });
    Tool asks;
    asks.name = "asks";
    server->add_tool(asks, [](RequestContext& context, Json) -> Task<CallToolResult> {
      ElicitRequest question;
      question.message = "Who?";
      question.requested_schema = Json{{"type", "object"}, {"properties", Json{{"name", Json{{"type", "string"}}}}}};
      const auto answer = co_await context.elicit(question);
      CallToolResult result;
      result.content.emplace_back(TextContent{
          .text = fmt::format("{} {}", to_string(answer.action), to_text(answer.content.value_or(Json())))});
      co_return result;
    });
  }

  std::string path(std::string_view name) const { return (tree.path() / name).string(); }

  // A hook that runs these lines of sh.
  std::string script(std::string_view lines, std::string_view more = "") {
    const auto name = fmt::format("hook{}.sh", ++scripts);
    tree.file(name, lines);
    return fmt::format(R"({{"type":"command","command":"sh '{}'"{}}})", path(name), more);
  }
  // One that prints this.
  std::string prints(std::string_view answer, std::string_view more = "") {
    tree.file(fmt::format("answer{}", scripts + 1), answer);
    return script(fmt::format("cat '{}'\n", path(fmt::format("answer{}", scripts + 1))), more);
  }
  void on(std::string_view event, const std::string& hook, std::string_view matcher = "mcp__s__.*") {
    hooks +=
        fmt::format(R"({}"{}":[{{"matcher":"{}","hooks":[{}]}}])", hooks.empty() ? "" : ",\n", event, matcher, hook);
  }
  std::unique_ptr<Host> made(std::string_view permissions = "{}") {
    LoadedConfig config;
    config.cwd = tree.path();
    config.home = path("home");
    const auto text = fmt::format("{{\"permissions\":{},\n\"hooks\":{{\n{}\n}}}}", permissions, hooks);
    config.settings = settings_layers({parse_settings(text, SettingsSource::user, "/home/me/settings.json")});
    options.config = std::move(config);
    auto host = std::make_unique<Host>(options);
    host->add_server("s", server);
    return host;
  }
  // Stops it whatever happens.
  void with(std::function<Task<void>(Host&)> body, std::string_view permissions = "{}") {
    run_task([&]() -> Task<void> {
      const auto host = made(permissions);
      auto done = co_await as_result(body(*host));
      co_await host->stop();
      if (!done) ADD_FAILURE() << done.error().message();
    });
  }

  TempTree tree;
  HostOptions options;
  std::shared_ptr<Server> server = std::make_shared<Server>(ServerOptions{});
  std::vector<std::string> called;
  std::string hooks;
  int scripts = 0;
};

INSTANTIATE_TEST_SUITE_P(Eras, Hooks, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "legacy" : "modern"; });

TEST_P(Hooks, AHookSeesTheCallAndLetsItPass) {
  on("PreToolUse", script(fmt::format("cat > '{}'\n", path("seen"))));
  on("PostToolUse", script(fmt::format("cat > '{}'\n", path("after"))));
  with([&](Host& host) -> Task<void> {
    EXPECT_EQ(words_of(co_await host.call("s/say", Json{{"text", "hi"}})), "hi");
    const auto seen = parse_json(tree.read("seen")).value_or(Json());
    EXPECT_EQ(seen["hook_event_name"], Json("PreToolUse"));
    EXPECT_EQ(seen["tool_name"], Json("mcp__s__say"));
    EXPECT_EQ(seen["tool_input"], (Json{{"text", "hi"}}));
    EXPECT_EQ(seen["cwd"], Json(tree.path().string()));
    EXPECT_EQ(seen["permission_mode"], Json("default"));
    const auto after = parse_json(tree.read("after")).value_or(Json());
    EXPECT_EQ(after["hook_event_name"], Json("PostToolUse"));
    EXPECT_EQ(after["session_id"], seen["session_id"]);
    EXPECT_EQ(after["tool_use_id"], seen["tool_use_id"]);
    EXPECT_EQ(after["tool_response"]["content"].items()[0]["text"], Json("hi"));
    EXPECT_TRUE(after["duration_ms"].is_integer());
  });
}

TEST_P(Hooks, ADenialNamesTheHookAndSendsNothing) {
  on("PreToolUse",
     prints(R"({"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"not today"}})"));
  on("PermissionDenied", prints(R"({"hookSpecificOutput":{"additionalContext":"ask Ada"}})"));
  with([&](Host& host) -> Task<void> {
    const auto denied = co_await as_result(host.call("s/say", Json{{"text", "hi"}}));
    EXPECT_THAT(denied,
                FailsWith(Errc::denied, AllOf(HasSubstr("\"mcp__s__say\" was not called"), HasSubstr("hook1.sh"),
                                              HasSubstr("/home/me/settings.json:3"), HasSubstr("not today"))));
    if (!denied) {
      EXPECT_EQ(denied.error().carried_out(), CarriedOut::no);
      EXPECT_EQ(denied.error().detail(), "ask Ada");
    }
    EXPECT_THAT(called, IsEmpty());
  });
}

struct Refusal {
  std::string name;
  std::string lines;
  std::string why;
};

// P3: a hook that fails denies.
TEST_P(Hooks, WhateverIsNotAnAnswerDeniesUnlessTheEntryAllowsIt) {
  const std::vector<Refusal> cases{
      {"status 2 over a JSON allow",
       "echo 'because I say so' >&2\necho '{\"hookSpecificOutput\":{\"permissionDecision\":\"allow\"}}'\nexit 2\n",
       "because I say so"},
      {"status 1", "echo oops >&2\nexit 1\n", "exited with status 1: oops"},
      {"killed", "kill -9 $$\n", "failed: it "},
      {"junk", "echo fine\n", "it must print nothing or one JSON object"},
      {"a wrong word", "echo '{\"decision\":\"perhaps\"}'\n", "is not a value of"},
      {"a flood", "yes\n", "more than 1 MiB"},
  };
  for (const auto& one : cases) {
    hooks.clear();
    on("PreToolUse", script(one.lines));
    with([&](Host& host) -> Task<void> {
      EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", "hi"}})),
                  FailsWith(Errc::denied, HasSubstr(one.why)))
          << one.name;
      EXPECT_THAT(called, IsEmpty()) << one.name;
    });
    hooks.clear();
    on("PreToolUse", script(one.lines, R"(,"onError":"allow")"));
    with([&](Host& host) -> Task<void> {
      const auto passed = co_await as_result(host.call("s/say", Json{{"text", "hi"}}));
      // To block is no failure.
      EXPECT_EQ(passed.has_value(), one.name != cases.front().name) << one.name;
    });
    called.clear();
  }
}

TEST_P(Hooks, OneThatTakesTooLongOrCannotStartDenies) {
  on("PreToolUse", script("sleep 600\n", R"(,"timeout":0.05)"));
  with([&](Host& host) -> Task<void> {
    EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", "hi"}})),
                FailsWith(Errc::denied, HasSubstr("took longer than 0.05 s")));
  });
  for (const std::string hook : {R"({"type":"command","command":"/nonexistent/hook","args":[]})",
                                 R"({"type":"http","url":"http://127.0.0.1:1/"})",
                                 R"({"type":"mcp_tool","server":"nobody","tool":"x"})", R"({"type":"prompt"})"}) {
    hooks.clear();
    on("PreToolUse", hook);
    with([&](Host& host) -> Task<void> {
      EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", "hi"}})),
                  FailsWith(Errc::denied, HasSubstr("failed")))
          << hook;
    });
  }
  EXPECT_THAT(called, IsEmpty());
}

// Deny and ask rules count after a hook's allow.
TEST_P(Hooks, AnAllowStandsForAnAllowRuleAndNoMore) {
  on("PreToolUse", prints(R"({"hookSpecificOutput":{"permissionDecision":"allow"}})"));
  int asked = 0;
  options.permission.ask = [&asked](PermissionQuestion) -> Task<bool> {
    ++asked;
    co_return true;
  };
  with([&](Host& host) -> Task<void> {
    (void)co_await host.call("s/say", Json{{"text", "hi"}});
    EXPECT_EQ(asked, 0);
  });
  with(
      [&](Host& host) -> Task<void> {
        (void)co_await host.call("s/say", Json{{"text", "hi"}});
        EXPECT_EQ(asked, 1);
      },
      R"({"ask":["mcp__s__say"]})");
  with(
      [&](Host& host) -> Task<void> {
        EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", "hi"}})),
                    FailsWith(Errc::denied, HasSubstr("denied by the rule")));
      },
      R"x({"deny":["mcp__s__say(text: \"hi\")"]})x");
  EXPECT_EQ(asked, 1);
}

TEST_P(Hooks, AQuestionOfAHookIsPutToTheUser) {
  on("PreToolUse", prints(R"({"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"sure?"}})"));
  std::string reason;
  options.permission.ask = [&reason](PermissionQuestion question) -> Task<bool> {
    reason = question.decision.reason;
    co_return false;
  };
  with(
      [&](Host& host) -> Task<void> {
        EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", "hi"}})),
                    FailsWith(Errc::denied, HasSubstr("the answer to the question was no")));
        EXPECT_THAT(reason, AllOf(HasSubstr("hook1.sh"), HasSubstr("sure?")));
        CallOptions unasked;
        unasked.refuse_asking = true;
        EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", "hi"}}, unasked)),
                    FailsWith(Errc::denied, HasSubstr("the user would have to be asked")));
      },
      R"({"allow":["mcp__s__say"]})");
  EXPECT_THAT(called, IsEmpty());
}

TEST_P(Hooks, ChangedArgumentsAreCheckedByRulesAndSchemaAgain) {
  on("PreToolUse", prints(R"({"hookSpecificOutput":{"updatedInput":{"text":"changed"}}})"));
  with([&](Host& host) -> Task<void> {
    EXPECT_EQ(words_of(co_await host.call("s/say", Json{{"text", "hi"}})), "changed");
    EXPECT_THAT(called, ElementsAre(R"({"text":"changed"})"));
  });
  with(
      [&](Host& host) -> Task<void> {
        EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", "hi"}})),
                    FailsWith(Errc::denied, HasSubstr("denied by the rule")));
      },
      R"x({"deny":["mcp__s__say(text: \"changed\")"]})x");
  // And what a rule would have denied before does not count any more.
  with(
      [&](Host& host) -> Task<void> {
        EXPECT_EQ(words_of(co_await host.call("s/say", Json{{"text", "hi"}})), "changed");
      },
      R"x({"deny":["mcp__s__say(text: \"hi\")"]})x");
  hooks.clear();
  on("PreToolUse", prints(R"({"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"text":{}}}})"));
  called.clear();
  with([&](Host& host) -> Task<void> {
    CallOptions unchecked;
    unchecked.check_arguments = false;
    for (const auto& call_options : {CallOptions(), unchecked}) {
      EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", "hi"}}, call_options)),
                  FailsWith(Errc::denied, AllOf(HasSubstr("changed its arguments, and they do not fit"),
                                                HasSubstr("settings.json:3"))));
    }
    EXPECT_THAT(called, IsEmpty());
  });
}

TEST_P(Hooks, AResultIsReplacedWithheldOrAddedTo) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"hookSpecificOutput":{"updatedToolOutput":"clean"}})", "clean"},
      {R"({"hookSpecificOutput":{"updatedMCPToolOutput":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}})",
       "a|b"},
      {R"({"hookSpecificOutput":{"additionalContext":"by the way"}})", "hi|by the way"},
  };
  for (const auto& [answer, expected] : cases) {
    hooks.clear();
    on("PostToolUse", prints(answer));
    with([&](Host& host) -> Task<void> {
      const auto result = co_await host.call("s/say", Json{{"text", "hi"}});
      EXPECT_EQ(words_of(result), expected);
      EXPECT_FALSE(result.is_error);
    });
  }
  hooks.clear();
  on("PostToolUse", prints(R"({"decision":"block","reason":"it has a key in it"})"));
  with([&](Host& host) -> Task<void> {
    const auto result = co_await host.call("s/say", Json{{"text", "hi"}});
    EXPECT_TRUE(result.is_error);
    EXPECT_THAT(words_of(result), AllOf(HasSubstr("withheld"), HasSubstr("it has a key in it"), Not(HasSubstr("hi|"))));
  });
  // What looks at results lets them pass when it fails, unless its entry says otherwise.
  for (const bool refuses : {false, true}) {
    hooks.clear();
    on("PostToolUse", script("exit 1\n", refuses ? R"(,"onError":"deny")" : ""));
    with([&](Host& host) -> Task<void> {
      const auto result = co_await host.call("s/say", Json{{"text", "hi"}});
      EXPECT_EQ(words_of(result) == "hi", !refuses);
      EXPECT_EQ(result.is_error, refuses);
    });
  }
}

TEST_P(Hooks, AFailureIsToldAndAddedTo) {
  on("PostToolUseFailure",
     script(fmt::format("cat >> '{}'\necho '{{\"hookSpecificOutput\":{{\"additionalContext\":\"try x\"}}}}'\n",
                        path("seen"))));
  with([&](Host& host) -> Task<void> {
    const auto failed = co_await host.call("s/fails");
    EXPECT_TRUE(failed.is_error);
    EXPECT_EQ(words_of(failed), "no such row|try x");
    EXPECT_THAT(tree.read("seen"), HasSubstr(R"("error":"no such row")"));
    const auto broken = co_await as_result(host.call("s/breaks"));
    EXPECT_FALSE(broken);
    if (!broken) EXPECT_THAT(broken.error().detail(), HasSubstr("try x"));
    EXPECT_THAT(tree.read("seen"), HasSubstr("broken"));
  });
}

TEST_P(Hooks, AHookMayAnswerInsteadOfTheUser) {
  int asked = 0;
  options.permission.ask = [&asked](PermissionQuestion) -> Task<bool> {
    ++asked;
    co_return true;
  };
  on("PermissionRequest",
     prints(R"({"hookSpecificOutput":{"decision":{"behavior":"allow","updatedInput":{"text":"ok"}}}})"));
  with([&](Host& host) -> Task<void> {
    EXPECT_EQ(words_of(co_await host.call("s/say", Json{{"text", "hi"}})), "ok");
    CallOptions unasked;
    unasked.refuse_asking = true;
    EXPECT_EQ(words_of(co_await host.call("s/say", Json{{"text", "hi"}}, unasked)), "ok");
  });
  hooks.clear();
  on("PermissionRequest", prints(R"({"hookSpecificOutput":{"decision":{"behavior":"deny","message":"no"}}})"));
  with([&](Host& host) -> Task<void> {
    EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", "hi"}})),
                FailsWith(Errc::denied, HasSubstr("the PermissionRequest hook")));
  });
  EXPECT_EQ(asked, 0);
  hooks.clear();
  on("PermissionRequest", script("exit 1\n"));
  with([&](Host& host) -> Task<void> { (void)co_await host.call("s/say", Json{{"text", "hi"}}); });
  EXPECT_EQ(asked, 1);
}

TEST_P(Hooks, AToolThatMustHaveThePersonHasThemWhateverAHookSays) {
  int asked = 0;
  options.permission.ask = [&asked](PermissionQuestion question) -> Task<bool> {
    ++asked;
    EXPECT_EQ(to_text(question.arguments.value()), R"({"text":"ok"})");
    co_return false;
  };
  Tool vote;
  vote.name = "vote";
  vote.meta = Json{{"anthropic/requiresUserInteraction", true}};
  server->add_tool(vote, [this](RequestContext&, Json arguments) -> Task<CallToolResult> {
    called.push_back(to_text(arguments));
    co_return CallToolResult{};
  });
  on("PreToolUse", prints(R"({"hookSpecificOutput":{"permissionDecision":"allow"}})"));
  on("PermissionRequest",
     prints(R"({"hookSpecificOutput":{"decision":{"behavior":"allow","updatedInput":{"text":"ok"}}}})"));
  with([&](Host& host) -> Task<void> {
    EXPECT_THAT(co_await as_result(host.call("s/vote", Json{{"text", "hi"}})), FailsWith(Errc::denied));
    CallOptions unasked;
    unasked.refuse_asking = true;
    EXPECT_THAT(co_await as_result(host.call("s/vote", Json{{"text", "hi"}}, unasked)), FailsWith(Errc::denied));
  });
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(called, IsEmpty());
}

TEST_P(Hooks, SeveralRunAtTheSameTime) {
  tree.fifo("one");
  tree.fifo("two");
  // Each waits for the other.
  on("PreToolUse", script(fmt::format("echo x > '{}'\nread line < '{}'\n", path("one"), path("two"))) + "," +
                       script(fmt::format("read line < '{}'\necho x > '{}'\n", path("one"), path("two"))));
  with([&](Host& host) -> Task<void> { (void)co_await host.call("s/say", Json{{"text", "hi"}}); });
}

// Whether or not it reads what it is given, and however much that is.
TEST_P(Hooks, ALargeInputReachesAHookThatReadsItAndHindersNoneThatDoesNot) {
  const std::string large(3 << 20, 'x');
  on("PreToolUse", script("true\n") + "," + script(fmt::format("wc -c > '{}'\n", path("size"))));
  with([&](Host& host) -> Task<void> {
    (void)co_await host.call("s/say", Json{{"text", large}});
    EXPECT_GT(std::stoul(tree.read("size")), large.size());
  });
  called.clear();
  const std::string huge(17 << 20, 'x');
  with([&](Host& host) -> Task<void> {
    EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", huge}})),
                FailsWith(Errc::denied, HasSubstr("larger than 16 MiB")));
  });
  EXPECT_THAT(called, IsEmpty());
}

TEST_P(Hooks, WhatAHookLeavesBehindEndsWithIt) {
  on("PreToolUse", script(fmt::format("sleep 600 &\necho $! > '{}'\n", path("pid"))));
  with([&](Host& host) -> Task<void> {
    EXPECT_EQ(words_of(co_await host.call("s/say", Json{{"text", "hi"}})), "hi");
    EXPECT_NE(::kill(std::stoi(tree.read("pid")), 0), 0);
  });
}

TEST_P(Hooks, WhoGivesUpEndsTheHookAndSendsNothing) {
  tree.fifo("started");
  on("PreToolUse", script(fmt::format("echo $$ > '{}'\nsleep 600\n", path("started"))));
  with([&](Host& host) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto call = beside(scope, host.call("s/say", Json{{"text", "hi"}}));
    const auto pid = co_await offload(Pool::slow, [name = path("started")] {
      std::ifstream in(name);
      int number = 0;
      in >> number;
      return number;
    });
    EXPECT_GT(pid, 0);
    call->running.cancel();
    co_await scope.join();
    EXPECT_EQ(failure_of(*call), Errc::cancelled);
    if (call->result && !*call->result) EXPECT_EQ(call->result->error().carried_out(), CarriedOut::no);
    EXPECT_THAT(called, IsEmpty());
    co_await host.stop();
    EXPECT_NE(::kill(pid, 0), 0) << "the hook is still there";
  });
}

// A server in this process whose tool is a hook, and that says when it is asked.
struct Guard {
  explicit Guard(std::string answer, bool waits = false) {
    Tool tool;
    tool.name = "check";
    server->add_tool(tool, [this, answer, waits](RequestContext&, Json arguments) -> Task<CallToolResult> {
      asked.push_back(to_text(arguments));
      happened.notify_all();
      if (waits) co_await never.wait();
      CallToolResult result;
      result.content.emplace_back(TextContent{.text = answer});
      co_return result;
    });
  }
  std::shared_ptr<Server> server = std::make_shared<Server>(ServerOptions{});
  std::vector<std::string> asked;
  Event happened, never;
};

constexpr auto check_tool =
    R"({"type":"mcp_tool","server":"guard","tool":"check","input":{"tool":"${tool_name}","text":"${tool_input.text}"}})";

TEST_P(Hooks, AToolMayBeAHookAndItsOwnCallRunsNone) {
  Guard guard(R"({"hookSpecificOutput":{"permissionDecision":"deny"}})");
  on("PreToolUse", check_tool, "*");
  with([&](Host& host) -> Task<void> {
    host.add_server("guard", guard.server);
    EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", "hi"}})),
                FailsWith(Errc::denied, HasSubstr("\"guard/check\"")));
    EXPECT_THAT(guard.asked, ElementsAre(R"({"tool":"mcp__s__say","text":"hi"})"));
    // Called by somebody else it is a tool like the others.
    EXPECT_THAT(co_await as_result(host.call("guard/check")), FailsWith(Errc::denied, HasSubstr("denies it")));
    EXPECT_EQ(guard.asked.size(), 2u);
  });
  EXPECT_THAT(called, IsEmpty());
}

TEST_P(Hooks, RulesCountForAToolThatIsAHook) {
  Guard guard("{}");
  on("PreToolUse", check_tool);
  with(
      [&](Host& host) -> Task<void> {
        host.add_server("guard", guard.server);
        EXPECT_THAT(co_await as_result(host.call("s/say", Json{{"text", "hi"}})),
                    FailsWith(Errc::denied, HasSubstr("denied by the rule")));
      },
      R"({"deny":["mcp__guard__check"]})");
  EXPECT_THAT(guard.asked, IsEmpty());
}

TEST_P(Hooks, StoppingDuringAHookEndsTheCall) {
  for (const std::string event : {"PreToolUse", "PostToolUse"}) {
    hooks.clear();
    called.clear();
    Guard guard("{}", true);
    on(event, check_tool);
    with([&](Host& host) -> Task<void> {
      host.add_server("guard", guard.server);
      Scope scope(co_await asio::this_coro::executor);
      auto call = beside(scope, host.call("s/say", Json{{"text", "hi"}}));
      while (guard.asked.empty()) co_await guard.happened.wait();
      co_await host.stop();
      co_await scope.join();
      EXPECT_EQ(failure_of(*call), Errc::closed) << event;
      if (!call->result || *call->result) co_return;
      EXPECT_EQ(call->result->error().carried_out(), event == "PreToolUse" ? CarriedOut::no : CarriedOut::unknown);
    });
    EXPECT_EQ(called.empty(), event == "PreToolUse");
  }
}

TEST_P(Hooks, TheTimeOfHooksIsNotTheTimeOfTheCall) {
  Guard guard("{}", true);
  on("PreToolUse", check_tool);
  on("PostToolUse", check_tool);
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    const auto host = made();
    host->add_server("guard", guard.server);
    co_await host->start();
    CallOptions hurried;
    hurried.total = std::chrono::seconds(5);
    Scope scope(co_await asio::this_coro::executor);
    auto call = beside(scope, host->call("s/say", Json{{"text", "hi"}}, hurried));
    for (const std::size_t times : {1u, 2u}) {
      while (guard.asked.size() < times) co_await guard.happened.wait();
      co_await clock.advance(std::chrono::seconds(60));
      guard.never.notify_all();
    }
    co_await scope.join();
    EXPECT_TRUE(call->result && *call->result) << (call->result ? call->result->error().message() : "");
    co_await host->stop();
  });
}

TEST_P(Hooks, AProgramMayLeaveThemOut) {
  on("PreToolUse", script("exit 2\n"));
  options.hooks = false;
  with([&](Host& host) -> Task<void> { EXPECT_EQ(words_of(co_await host.call("s/say", Json{{"text", "hi"}})), "hi"); });
}

// ---- questions of servers

TEST_P(Hooks, AQuestionIsAnsweredByAHookBeforeAnybodyIsAsked) {
  int asked = 0;
  options.client.elicit = [&asked](ElicitRequest, CallContext) -> Task<ElicitResult> {
    ++asked;
    co_return ElicitResult{.action = ElicitResult::Action::accept, .content = Json{{"name", "Ben"}}};
  };
  on("Elicitation", prints(R"({"hookSpecificOutput":{"action":"accept","content":{"name":"Ada"}}})"), "s");
  with([&](Host& host) -> Task<void> {
    EXPECT_EQ(words_of(co_await host.call("s/asks")), R"(accept {"name":"Ada"})");
    EXPECT_EQ(asked, 0);
  });
  // One that says nothing leaves it to the program.
  hooks.clear();
  on("Elicitation", script(fmt::format("cat > '{}'\n", path("seen"))), "s");
  with([&](Host& host) -> Task<void> {
    EXPECT_EQ(words_of(co_await host.call("s/asks")), R"(accept {"name":"Ben"})");
    EXPECT_EQ(asked, 1);
    const auto seen = parse_json(tree.read("seen")).value_or(Json());
    EXPECT_EQ(seen["mcp_server_name"], Json("s"));
    EXPECT_EQ(seen["message"], Json("Who?"));
    EXPECT_EQ(seen["requested_schema"]["type"], Json("object"));
  });
}

TEST_P(Hooks, AHookThatFailsOrBlocksDeclinesTheQuestion) {
  options.client.elicit = [](ElicitRequest, CallContext) -> Task<ElicitResult> {
    ADD_FAILURE() << "nobody may be asked";
    co_return ElicitResult{};
  };
  for (const std::string lines : {"exit 2\n", "exit 1\n", "echo junk\n"}) {
    hooks.clear();
    on("Elicitation", script(lines), "s");
    with([&](Host& host) -> Task<void> { EXPECT_EQ(words_of(co_await host.call("s/asks")), "decline null") << lines; });
  }
}

TEST_P(Hooks, WithNobodyElseToAskAHookAnswersOrTheQuestionIsCancelled) {
  on("Elicitation", prints(R"({"hookSpecificOutput":{"action":"accept","content":{"name":"Ada"}}})"), "s");
  with(
      [&](Host& host) -> Task<void> { EXPECT_EQ(words_of(co_await host.call("s/asks")), R"(accept {"name":"Ada"})"); });
  hooks.clear();
  on("Elicitation", script("true\n"), "s");
  with([&](Host& host) -> Task<void> { EXPECT_EQ(words_of(co_await host.call("s/asks")), "cancel null"); });
}

TEST_P(Hooks, TheUsersAnswerIsLookedAtBeforeItIsSent) {
  options.client.elicit = [](ElicitRequest, CallContext) -> Task<ElicitResult> {
    co_return ElicitResult{.action = ElicitResult::Action::accept, .content = Json{{"name", "my password"}}};
  };
  on("ElicitationResult",
     script(fmt::format("cat > '{}'\necho '{{\"hookSpecificOutput\":{{\"action\":\"decline\"}}}}'\n", path("seen"))),
     "s");
  with([&](Host& host) -> Task<void> {
    EXPECT_EQ(words_of(co_await host.call("s/asks")), "decline null");
    const auto seen = parse_json(tree.read("seen")).value_or(Json());
    EXPECT_EQ(seen["action"], Json("accept"));
    EXPECT_EQ(seen["content"], (Json{{"name", "my password"}}));
  });
}

// An answer of a hook is checked by the form, as the user's is.
TEST_P(Hooks, AnAnswerThatDoesNotFitTheFormIsNotSent) {
  on("Elicitation", prints(R"({"hookSpecificOutput":{"action":"accept","content":{"name":5}}})"), "s");
  with([&](Host& host) -> Task<void> {
    const auto called_with = co_await as_result(host.call("s/asks"));
    // An error of ours, or what the server makes of the error that it gets.
    EXPECT_TRUE(!called_with || called_with->is_error);
  });
}

}  // namespace
}  // namespace patchbay::test
