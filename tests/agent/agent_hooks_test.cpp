// What hooks of settings files have to say about an agent itself, with commands that really run. P3, G1.
#include <algorithm>
#include <fstream>

#include "agent_scene.h"
#include "base/scope.h"
#include "settings/settings_layers.h"
#include "support/fails_with.h"
#include "support/temp_tree.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using End = AgentAnswer::End;

class AgentHooks : public AgentScene {
 protected:
  // One hook of an event: a line of sh.
  void hook(const std::string& event, const std::string& line, const std::string& more = "",
            SettingsSource source = SettingsSource::user) {
    const auto entry = to_text(Json{{"type", "command"}, {"command", line}}).insert(1, more.empty() ? "" : more + ",");
    layers.push_back(
        parse_settings(R"({"hooks":{")" + event + R"(":[{"hooks":[)" + entry + "]}]}}", source, "/" + event + ".json"));
  }
  // That writes down what it gets, one object per line.
  std::string keep() const {
    return "cat >> '" + tree.path().string() + "/log'; echo >> '" + tree.path().string() + "/log'; ";
  }
  std::vector<Json> kept() const {
    std::vector<Json> out;
    std::ifstream file(tree.path().string() + "/log");
    for (std::string line; std::getline(file, line);) {
      if (auto value = parse_json(line)) out.push_back(std::move(*value));
    }
    return out;
  }
  void with(const std::function<Task<void>(Agent&)>& body) {
    host_options.config->settings = settings_layers(std::move(layers));
    run(body);
  }
  std::vector<std::string> notices() const {
    std::vector<std::string> out;
    for (const auto& event : events) {
      if (const auto* notice = std::get_if<AgentNotice>(&event.what)) out.push_back(notice->text);
    }
    return out;
  }
  static std::vector<std::string> texts(const ModelMessage& message) {
    std::vector<std::string> out;
    for (const auto& part : message.parts) {
      if (const auto* text = std::get_if<ModelText>(&part)) out.push_back(text->text);
    }
    return out;
  }
  static std::string block(const std::string& reason) {
    return R"(echo '{"decision":"block","reason":")" + reason + R"("}')";
  }

  TempTree tree;
  std::vector<SettingsLayer> layers;
};

TEST_F(AgentHooks, AMessageThatIsRefusedIsNotSent) {
  hook("UserPromptSubmit", keep() + "if tail -1 '" + tree.path().string() +
                               "/log' | grep -q secret; then echo 'no secrets' >&2; exit 2; fi");
  model->then(says("hello"));
  with([&](Agent& agent) -> Task<void> {
    const auto refused = co_await as_result(agent.send({.text = "a secret"}));
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Errc::denied);
    EXPECT_THAT(std::string(refused.error().message()),
                AllOf(HasSubstr("the message was not sent: the UserPromptSubmit hook"),
                      HasSubstr("/UserPromptSubmit.json:1"), HasSubstr("no secrets")));
    EXPECT_THAT(model->requests, IsEmpty());
    EXPECT_THAT(agent.messages(), IsEmpty());
    EXPECT_EQ((co_await agent.send({.text = "good day"})).text, "hello");
  });
  const auto inputs = kept();
  ASSERT_THAT(inputs, SizeIs(2));
  EXPECT_EQ(inputs[0]["hook_event_name"], Json("UserPromptSubmit"));
  EXPECT_EQ(inputs[0]["prompt"], Json("a secret"));
  EXPECT_EQ(inputs[1]["prompt"], Json("good day"));
}

TEST_F(AgentHooks, AMessageThatCannotBeCheckedIsNotSentUnlessItsEntrySaysSo) {
  hook("UserPromptSubmit", "exit 3");
  with([&](Agent& agent) -> Task<void> {
    const auto refused = co_await as_result(agent.send({.text = "hi"}));
    EXPECT_FALSE(refused);
    EXPECT_THAT(std::string(refused.error().message()), AllOf(HasSubstr("failed"), HasSubstr("\"onError\"")));
  });
  layers.clear();
  host_options = empty_options();
  hook("UserPromptSubmit", "exit 3", R"("onError":"allow")");
  model->then(says("hello"));
  with([&](Agent& agent) -> Task<void> { EXPECT_EQ((co_await agent.send({.text = "hi"})).text, "hello"); });
  EXPECT_THAT(notices(), Contains(AllOf(HasSubstr("the UserPromptSubmit hook"), HasSubstr("failed"))));
}

TEST_F(AgentHooks, WhatTheyAddGoesWithTheMessage) {
  hook(
      "UserPromptSubmit",
      R"(echo '{"systemMessage":"look out","hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"it is Friday"}}')");
  hook("SessionStart", keep() + "echo 'the branch is main'");
  hook("SessionEnd", keep());
  model->then(says("one")).then(says("two"));
  with([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "hi"});
    EXPECT_THAT(texts(*agent.messages().at(0)), ElementsAre("the branch is main", "hi", "it is Friday"));
    (void)co_await agent.send({.text = "again"});
    EXPECT_THAT(texts(*agent.messages().at(2)), ElementsAre("again", "it is Friday"));
  });
  EXPECT_THAT(notices(), Contains(HasSubstr("look out")));
  const auto inputs = kept();
  ASSERT_THAT(inputs, SizeIs(2));
  EXPECT_EQ(inputs[0]["source"], Json("startup"));
  EXPECT_EQ(inputs[1]["hook_event_name"], Json("SessionEnd"));
  EXPECT_EQ(inputs[1]["reason"], Json("other"));
}

TEST_F(AgentHooks, TheBeginningSaysThatAConversationGoesOn) {
  hook("SessionStart", keep());
  agent_options.state_directory = tree.path();
  agent_options.directory = tree.path();
  model->then(says("one")).then(says("two"));
  with([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "hi"});
    agent_options.resume = agent.id();
  });
  layers.clear();
  host_options = empty_options();
  hook("SessionStart", keep());
  with([&](Agent& agent) -> Task<void> { (void)co_await agent.send({.text = "hi"}); });
  ASSERT_THAT(kept(), SizeIs(2));
  EXPECT_EQ(kept()[1]["source"], Json("resume"));
}

// Where a program begins the next conversation before it ends this one, each is told of its own.
TEST_F(AgentHooks, AreToldOfTheConversationTheyAreAbout) {
  hook("UserPromptSubmit", keep());
  hook("SessionEnd", keep());
  agent_options.state_directory = tree.path().string() + "/state";
  model->then(says("hello")).then(says("hello again"));
  std::vector<std::string> ids;
  with([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "hi"});
    ids.push_back(agent.id());
    Agent next(*host, model, agent_options);
    co_await next.begin();
    ids.push_back(next.id());
    co_await agent.stop();
    (void)co_await next.send({.text = "hi"});
    co_await next.stop();
  });
  std::vector<std::string> told;
  for (const auto& input : kept()) {
    told.emplace_back(input["session_id"].as_text());
    EXPECT_THAT(std::string(input["transcript_path"].as_text()), HasSubstr(told.back() + ".jsonl"));
  }
  EXPECT_THAT(told, ElementsAre(ids[0], ids[0], ids[1], ids[1]));
}

// What the Host's own hooks are told of goes with the agent, and with the file.
TEST_F(AgentHooks, AreToldOfAConversationOnlyAsLongAsItIsThere) {
  hook("PreToolUse", keep());
  agent_options.state_directory = tree.path().string() + "/state";
  host_options.permission.allowed_tools = {"mcp__s"};
  std::string first, second;
  with([&](Agent& agent) -> Task<void> {
    const auto call = [&]() -> Task<void> { (void)co_await as_result(host->call("mcp__s__look")); };
    first = agent.id();
    co_await call();
    Agent next(*host, model, agent_options);
    co_await next.begin();
    second = next.id();
    co_await agent.stop();
    co_await call();
    co_await next.stop();
    co_await call();
  });
  const auto told = kept();
  ASSERT_THAT(told, SizeIs(3));
  EXPECT_EQ(told[0]["session_id"], Json(first));
  EXPECT_EQ(told[1]["session_id"], Json(second));
  EXPECT_THAT(std::string(told[1]["transcript_path"].as_text()), HasSubstr(second + ".jsonl"));
  EXPECT_NE(told[2]["session_id"], Json(second));
  EXPECT_EQ(told[2]["transcript_path"].text().value_or(""), "");
}

TEST_F(AgentHooks, AreNotSentToAFileThatIsKeptNoLonger) {
  hook("UserPromptSubmit", keep());
  hook("Stop", keep());
  hook("PreToolUse", keep());
  // A file where the folder would be.
  std::ofstream(tree.path().string() + "/state") << "x";
  agent_options.state_directory = tree.path().string() + "/state";
  host_options.permission.allowed_tools = {"mcp__s"};
  model->then(calls({use("1", "mcp__s__look", Json{{"at", "x"}})})).then(says("done"));
  with([&](Agent& agent) -> Task<void> { (void)co_await agent.send({.text = "hi"}); });
  EXPECT_THAT(notices(), Contains(HasSubstr("is not kept any more")));
  const auto told = kept();
  ASSERT_THAT(told, SizeIs(3));
  EXPECT_NE(told[0]["transcript_path"].text().value_or(""), "");
  EXPECT_EQ(told[1]["transcript_path"].text().value_or(""), "") << to_text(told[1]);
  EXPECT_EQ(told[2]["transcript_path"].text().value_or(""), "") << to_text(told[2]);
}

TEST_F(AgentHooks, TheModelGoesOnWhereItIsNotDone) {
  hook("Stop", keep() + "tail -1 '" + tree.path().string() + "/log' | grep -q 'stop_hook_active\":true' || " +
                   block("run the tests"));
  model->then(says("done")).then(says("now it is"));
  with([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "do it"});
    EXPECT_EQ(answer.text, "now it is");
    EXPECT_EQ(answer.turns, 2u);
    EXPECT_THAT(texts(*agent.messages().at(2)), ElementsAre(HasSubstr("run the tests")));
  });
  ASSERT_THAT(kept(), SizeIs(2));
  EXPECT_EQ(kept()[0]["last_assistant_message"], Json("done"));
  EXPECT_EQ(kept()[0]["stop_hook_active"], Json(false));
}

TEST_F(AgentHooks, AHookThatIsNeverContentEnds) {
  hook("Stop", block("more"));
  for (int i = 0; i < 6; ++i) model->then(says("done"));
  with([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "do it"});
    EXPECT_EQ(answer.end, End::answered);
    EXPECT_EQ(answer.turns, 6u);
  });
  EXPECT_THAT(notices(), Contains(HasSubstr("5 times")));
}

TEST_F(AgentHooks, OneThatFailsOrEndsItKeepsNobodyAtWork) {
  hook("Stop", "exit 3", R"("onError":"deny")");
  hook("Stop", block("more"));
  hook("Stop", R"(echo '{"continue":false,"stopReason":"enough"}')");
  model->then(says("done"));
  with([&](Agent& agent) -> Task<void> { EXPECT_EQ((co_await agent.send({.text = "do it"})).turns, 1u); });
  EXPECT_THAT(notices(), Contains(HasSubstr("enough")));
  EXPECT_THAT(notices(), Contains(HasSubstr("failed")));
}

TEST_F(AgentHooks, ThePersonEndsWhatTheyDo) {
  layers.push_back(
      parse_settings(R"({"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"mcp_tool","server":"s","tool":"hang"}]}]}})",
                     SettingsSource::user, "/s.json"));
  with([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    scope.start(
        [](Agent& a) -> Task<void> { EXPECT_EQ((co_await a.send({.text = "hi"})).end, End::interrupted); }(agent));
    while (hanging == 0) co_await hangs.wait();
    agent.interrupt();
    co_await scope.join();
    EXPECT_THAT(agent.messages(), IsEmpty());
  });
}

TEST_F(AgentHooks, ThoseOfARepositoryNeedTrust) {
  hook("UserPromptSubmit", "exit 2", "", SettingsSource::project);
  model->then(says("hello"));
  with([&](Agent& agent) -> Task<void> { EXPECT_EQ((co_await agent.send({.text = "hi"})).text, "hello"); });
}

TEST_F(AgentHooks, OfASubAgentAreAboutItsTaskAndItsEnd) {
  hook("UserPromptSubmit", keep());
  hook("Stop", keep());
  hook("SubagentStart",
       keep() + R"(echo '{"hookSpecificOutput":{"hookEventName":"SubagentStart","additionalContext":"be short"}}')");
  hook("SubagentStop", keep() + "tail -1 '" + tree.path().string() + "/log' | grep -q 'stop_hook_active\":true' || " +
                           block("count again"));
  model->then(calls({use("1", "agent", Json{{"prompt", "count"}})}))
      .then(says("four"))
      .then(says("five"))
      .then(says("it is five"));
  with([&](Agent& agent) -> Task<void> {
    EXPECT_EQ((co_await agent.send({.text = "how many?"})).text, "it is five");
    EXPECT_THAT(words(outcomes_of(*agent.messages().at(2)).at(0)), HasSubstr("five"));
    EXPECT_THAT(texts(*model->requests.at(1).messages.at(0)),
                Contains(AllOf(HasSubstr("count"), HasSubstr("be short"))));
    EXPECT_THAT(texts(*model->requests.at(2).messages.back()), Contains(HasSubstr("count again")));
  });
  std::vector<std::string> names;
  for (const auto& input : kept()) names.emplace_back(input["hook_event_name"].as_text());
  EXPECT_THAT(names, ElementsAre("UserPromptSubmit", "SubagentStart", "SubagentStop", "SubagentStop", "Stop"));
  EXPECT_EQ(kept().at(1)["agent_type"], Json("general-purpose"));
  EXPECT_EQ(kept().at(2)["last_assistant_message"], Json("four"));
}

TEST_F(AgentHooks, AConversationThatIsToStayAsItIsStays) {
  hook("PreCompact", keep() + "echo 'not now' >&2; exit 2");
  model->then(says("hello"));
  with([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "hi"});
    // The person asked for it: this is the answer.
    EXPECT_THAT(co_await as_result(agent.compact()),
                FailsWith(Errc::denied, AllOf(HasSubstr("was not made shorter"), HasSubstr("not now"))));
    EXPECT_THAT(agent.messages(), SizeIs(2));
  });
  EXPECT_THAT(notices(), IsEmpty());
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0]["trigger"], Json("manual"));
}

// A context that is nearly full: each answer says how full.
class NearlyFull : public AgentHooks {
 protected:
  static ModelAnswer says_at(std::size_t tokens) {
    auto answer = says("hello");
    answer.usage.input = tokens;
    return answer;
  }
  NearlyFull() {
    model->info_.context_tokens = 100'000;
    hook("PreCompact", keep() + "exit 2");
  }
};

TEST_F(NearlyFull, AHookThatKeepsAConversationAsItIsIsAskedAgainWhenThereIsMoreOfIt) {
  for (const std::size_t tokens : {81'000u, 81'100u, 81'200u, 87'000u, 87'100u, 87'200u}) model->then(says_at(tokens));
  with([&](Agent& agent) -> Task<void> {
    // The first request begins with nothing; each later one with what the answer before said.
    for (const std::size_t asked : {0u, 1u, 1u, 1u, 2u, 2u}) {
      (void)co_await agent.send({.text = "hi"});
      EXPECT_THAT(kept(), SizeIs(asked));
    }
    // The person may ask whenever they want.
    EXPECT_THAT(co_await as_result(agent.compact()), FailsWith(Errc::denied));
    EXPECT_THAT(kept(), SizeIs(3));
    EXPECT_EQ(kept().back()["trigger"], Json("manual"));
  });
  EXPECT_EQ(std::ranges::count_if(notices(), [](const auto& text) { return text.contains("not made shorter"); }), 2);
}

TEST_F(NearlyFull, OneThatRefusedIsAskedOnceMoreWhenTheProviderSaysThatItIsFull) {
  model->then(says_at(81'000)).then([](const ModelRequest&) -> Task<ModelAnswer> {
    throw Error(Errc::limit, "too long");
    co_return ModelAnswer();
  });
  with([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "hi"});
    EXPECT_FALSE(co_await as_result(agent.send({.text = "on"})));
  });
  // Once because of its size; nothing has come since, so its answer is known.
  ASSERT_THAT(kept(), SizeIs(1));
  EXPECT_EQ(kept()[0]["trigger"], Json("auto"));
}

// ---- the person is waited for

// The hook is a tool, so that nothing runs in a time of its own.
class Waiting : public AgentHooks {
 protected:
  Waiting() {
    clock = &time;
    server->add_tool({.name = "told"}, [this](RequestContext&, Json facts) -> Task<CallToolResult> {
      told.push_back(std::move(facts));
      heard.notify_all();
      co_return text("");
    });
    layers.push_back(
        parse_settings(R"({"hooks":{"Notification":[{"hooks":[{"type":"mcp_tool","server":"s","tool":"told",
      "input":{"event":"${hook_event_name}","kind":"${notification_type}","text":"${message}"}}]}]}})",
                       SettingsSource::user, "/s.json"));
  }
  ManualClock time;
  std::vector<Json> told;
  Event heard;
};

TEST_F(Waiting, AQuestionThatWaitsIsTold) {
  Event asked, answer;
  host_options.permission.ask = [&](PermissionQuestion) -> Task<bool> {
    asked.notify_all();
    co_await answer.wait();
    co_return true;
  };
  model->then(calls({use("1", "mcp__s__change", Json{{"what", "it"}})})).then(says("done"));
  with([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    scope.start([](Agent& a) -> Task<void> { (void)co_await a.send({.text = "go"}); }(agent));
    co_await asked.wait();
    co_await settle();
    co_await time.advance(std::chrono::milliseconds(5'999));
    EXPECT_THAT(told, IsEmpty());
    co_await time.advance(std::chrono::milliseconds(1));
    while (told.empty()) co_await heard.wait();
    answer.notify_all();
    co_await scope.join();
  });
  EXPECT_THAT(told, ElementsAre(Json{{"event", "Notification"},
                                     {"kind", "permission_prompt"},
                                     {"text", "Patchbay needs your permission to use mcp__s__change"}}));
}

TEST_F(Waiting, AQuestionThatIsAnsweredAtOnceIsNot) {
  host_options.permission.ask = [](PermissionQuestion) -> Task<bool> { co_return false; };
  model->then(calls({use("1", "mcp__s__change")})).then(says("done"));
  with([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    co_await time.advance(std::chrono::seconds(59));
    EXPECT_THAT(told, IsEmpty());
  });
}

TEST_F(Waiting, ThePersonWhoSaysNothingForAMinuteIsToldOnce) {
  model->then(says("done")).then(says("and again"));
  with([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    co_await time.advance(std::chrono::seconds(59));
    (void)co_await agent.send({.text = "on"});
    co_await time.advance(std::chrono::milliseconds(59'999));
    EXPECT_THAT(told, IsEmpty()) << "it begins anew with each answer";
    co_await time.advance(std::chrono::milliseconds(1));
    while (told.empty()) co_await heard.wait();
    co_await time.advance(std::chrono::hours(1));
  });
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0]["kind"], Json("idle_prompt"));
}

}  // namespace
}  // namespace patchbay::test
