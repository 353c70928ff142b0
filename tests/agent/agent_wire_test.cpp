// A conversation over real HTTP, in the words of every provider, with servers that are processes: several calls in a
// turn, who decides about them, questions, large results, interrupts, channels and sign-in. G1, P2, R3, H1, A6.
#include <patchbay/server.h>
#include <patchbay/tools.h>

#include "base/scope.h"
#include "settings/settings_layers.h"
#include "support/beside.h"
#include "wire_scene.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using End = AgentAnswer::End;

INSTANTIATE_TEST_SUITE_P(, EachProvider, every_provider(), testing::PrintToStringParamName());

Json words(std::string text) { return Json{{"text", std::move(text)}}; }

TEST_P(EachProvider, SeveralCallsOfATurnAreAnsweredInTheirOrder) {
  add("one", {"mode-server", "good"});
  add("two", {"scenario-server"});
  then({.text = "I look.",
        .uses = {use("a1", "mcp__one__echo", words("first words")), use("a2", "mcp__two__fails"),
                 use("a3", "mcp__two__echo", words("third words")), use("a4", "mcp__one__fail"),
                 use("a5", "mcp__one__slow"), use("a6", "nothing_like_it"), use("a7", "mcp__one__boom")}});
  then({.text = "That is it."});
  then({.text = "Still here."});
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_EQ(answer.text, "That is it.");
    EXPECT_EQ(answer.turns, 2u);
    (void)co_await agent.send({.text = "and now?"});
  });
  EXPECT_TRUE(in_order(said(1), {"first words", "it broke", "third words", "the tool failed", "done",
                                 "unknown tool 'nothing_like_it'", "boom"}))
      << said(1);
  EXPECT_TRUE(in_order(said(2), {"boom", "That is it.", "and now?"}));
  expect_stable_tools();
  std::vector<std::string> steps;
  for (const auto& event : events) {
    if (const auto* progress = std::get_if<AgentToolProgress>(&event.what)) steps.push_back(progress->id);
  }
  EXPECT_THAT(steps, ElementsAre("a5", "a5", "a5"));
}

TEST_P(EachProvider, RulesHooksAndThePersonDecide) {
  add("one", {"mode-server", "good"});
  host_options.config->settings = settings_layers({parse_settings(
      R"({"permissions": {"allow": ["mcp__one__echo"], "deny": ["mcp__one__boom"]},
          "hooks": {"PreToolUse": [{"matcher": "mcp__one__echo", "hooks": [{"type": "command", "command":
            "echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"updatedInput\":{\"text\":\"changed\"}}}'"
          }]}]}})",
      SettingsSource::user, "/settings.json")});
  std::vector<std::string> asked;
  host_options.permission.ask = [&](PermissionQuestion question) -> Task<bool> {
    asked.push_back(question.tool.name);
    co_return question.tool.name == "mcp__one__add";
  };
  then({.uses = {use("a1", "mcp__one__echo", words("as it was")),
                 use("a2", "mcp__one__add", Json{{"a", 40000}, {"b", 2}}), use("a3", "mcp__one__slow"),
                 use("a4", "mcp__one__boom")}});
  then({.text = "done"});
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_THAT(asked, ElementsAre("mcp__one__add", "mcp__one__slow"));
    std::vector<std::string> denied;
    for (const auto& one : answer.denied) denied.push_back(one.use.id);
    EXPECT_THAT(denied, ElementsAre("a3", "a4"));
    EXPECT_EQ(answer.end, End::answered);
  });
  EXPECT_TRUE(in_order(said(1), {"changed", "40002"})) << said(1);
  EXPECT_THAT(said(1), AllOf(HasSubstr("mcp__one__boom"), HasSubstr("was not carried out")));
}

TEST_P(EachProvider, AQuestionOfAServerIsAnsweredDuringItsCall) {
  add("two", {"scenario-server"});
  std::string message;
  host_options.asking.person = [&](ElicitRequest request, CallContext) -> Task<ElicitResult> {
    message = request.message;
    co_return ElicitResult{.action = ElicitResult::Action::accept, .content = Json{{"name", "Ann"}, {"size", 41}}};
  };
  then({.uses = {use("a1", "mcp__two__ask_form")}});
  then({.text = "done"});
  run([&](Agent& agent) -> Task<void> { (void)co_await agent.send({.text = "go"}); });
  EXPECT_EQ(message, "who are you?");
  EXPECT_THAT(said(1), AllOf(HasSubstr("Ann"), HasSubstr("41")));
}

// The model reads neither the text nor what becomes of it: it passes a name on.
TEST_P(EachProvider, ALargeResultGoesToAnotherServerUnread) {
  add("source", {"restless-server", "good", tree.path().string()});
  add("sink", {"mode-server", "good"});
  host_options.state_directory = (tree.path() / "state").string();
  then({.uses = {use("a1", "mcp__source__large")}});
  then([this](const ModelApiRequest& request) -> Said {
    const auto text = said_in(spoken(), request);
    const auto at = text.rfind("kept as @result:") + std::string_view("kept as ").size();
    EXPECT_TRUE(text.contains("kept as @result:")) << text.substr(0, 3000);
    const auto handle = text.substr(at, std::string_view("@result:12345678").size());
    return {.uses = {use("a2", "mcp__sink__echo", words(handle))}};
  });
  then({.text = "It has it."});
  run([&](Agent& agent) -> Task<void> {
    EXPECT_EQ((co_await agent.send({.text = "pass it on"})).text, "It has it.");
    std::vector<AgentToolResult> results;
    for (const auto& event : events) {
      if (const auto* result = std::get_if<AgentToolResult>(&event.what)) results.push_back(*result);
    }
    EXPECT_THAT(results, SizeIs(2));
    // What came back is what the sink was given: five million bytes again.
    const auto back = co_await host->read_result({.handle = results.at(1).result.handle, .count = true});
    EXPECT_EQ(back.total_bytes, 5'000'000u);
  });
  for (const auto& request : api.requests()) EXPECT_LT(request.body.size(), 400'000u);
}

TEST_P(EachProvider, AnInterruptEndsTheCallAndTheModelIsTold) {
  add("mute", {"mode-server", "silent-on-call"});
  then({.uses = {use("a1", "mcp__mute__echo", words("x")), use("a2", "mcp__mute__add")}});
  then({.text = "I stop."});
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "go"}));
    co_await until([&] {
      return std::ranges::any_of(events,
                                 [](const auto& event) { return std::holds_alternative<AgentToolCall>(event.what); });
    });
    co_await settle();
    agent.interrupt();
    co_await scope.join();
    EXPECT_EQ((*sent->result)->text, "I stop.");
  });
  EXPECT_TRUE(in_order(said(1), {"interrupted by the person", "Not called"})) << said(1);
}

TEST_P(EachProvider, AnInterruptEndsAnAnswerThatIsBeingWritten) {
  then(when_released({.text = "too late"}));
  then({.text = "and on"});
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "go"}));
    co_await requested(1);
    agent.interrupt();
    co_await scope.join();
    EXPECT_EQ((*sent->result)->end, End::interrupted);
    release();
    EXPECT_EQ((co_await agent.send({.text = "go on"})).text, "and on");
  });
}

TEST_P(EachProvider, WhatWasWrittenBeforeAnInterruptStays) {
  refuse = [this, first = true](const ModelApiRequest&) mutable -> std::optional<ModelApiReply> {
    if (!std::exchange(first, false)) return std::nullopt;
    auto hanging = streamed(spoken(), frames_up_to(frames_of(spoken(), {.text = "Written behind."}), "Written"));
    hanging.hang = true;
    return hanging;
  };
  then({.text = "and on"});
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    const auto sent = beside(scope, agent.send({.text = "go"}));
    co_await until([&] {
      return std::ranges::any_of(events,
                                 [](const auto& event) { return std::holds_alternative<AgentText>(event.what); });
    });
    agent.interrupt();
    co_await scope.join();
    EXPECT_EQ((*sent->result)->end, End::interrupted);
    EXPECT_EQ((co_await agent.send({.text = "go on"})).text, "and on");
  });
  EXPECT_TRUE(in_order(said(1), {"Written", "go on"})) << said(1);
}

TEST_P(EachProvider, ArgumentsThatCannotBeReadAreToldTheModelAndNothingIsCalled) {
  add("one", {"mode-server", "good"});
  then({.uses = {{.id = "a1", .name = "mcp__one__echo", .broken = "{\"text\": \"half"},
                 use("a2", "mcp__one__echo", words("the whole"))}});
  then({.text = "Better."});
  run([&](Agent& agent) -> Task<void> { EXPECT_EQ((co_await agent.send({.text = "go"})).text, "Better."); });
  EXPECT_TRUE(in_order(said(1), {"The arguments are not a JSON object, so nothing was called", "the whole"}))
      << said(1);
}

TEST_P(EachProvider, ARefusalEndsTheTurnAndTheConversationGoesOn) {
  if (spoken() == Spoken::ollama) return;  // it has no word for it
  add("one", {"mode-server", "good"});
  then({.text = "I will not.", .uses = {use("a1", "mcp__one__echo", words("x"))}, .refuses = true});
  then({.text = "That I will."});
  run([&](Agent& agent) -> Task<void> {
    EXPECT_EQ((co_await agent.send({.text = "go"})).end, End::refused);
    EXPECT_EQ((co_await agent.send({.text = "something else"})).text, "That I will.");
  });
  EXPECT_THAT(api.requests(), SizeIs(2));
  EXPECT_FALSE(
      std::ranges::any_of(events, [](const auto& event) { return std::holds_alternative<AgentToolCall>(event.what); }));
}

// A tool that comes while the model works is in its next request; one that goes between two turns is named as gone.
TEST_P(EachProvider, ToolsComeAndGoAndTheBeginningStays) {
  add("one", {"mode-server", "good"});
  add("two", {"scenario-server"});
  then({.uses = {use("a1", "mcp__two__add_tool", Json{{"name", "fresh"}})}});
  then(when_released({.uses = {use("a2", "mcp__one__echo", words("x"))}}));
  then({.uses = {use("a3", "mcp__two__fresh")}});
  then({.text = "It works."});
  then({.uses = {use("a4", "mcp__two__remove_tool", Json{{"name", "fresh"}})}});
  then(when_released({.text = "Gone."}));
  then({.text = "I know."});
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto sent = beside(scope, agent.send({.text = "make one"}));
    co_await until([&] { return offers("mcp__two__fresh"); });
    release();
    co_await scope.join();
    EXPECT_EQ((*sent->result)->text, "It works.");
    sent = beside(scope, agent.send({.text = "remove it"}));
    co_await until([&] { return !offers("mcp__two__fresh"); });
    release();
    co_await scope.join();
    (void)co_await agent.send({.text = "and now?"});
  });
  EXPECT_THAT(said(2), HasSubstr("mcp__two__fresh"));
  EXPECT_TRUE(in_order(said(3), {"mcp__two__fresh", "new"})) << said(3);
  EXPECT_THAT(said(6), HasSubstr("These tools are gone: mcp__two__fresh")) << said(6);
  expect_stable_tools();
  const auto sent = sent_tools();
  if (spoken() == Spoken::anthropic) EXPECT_THAT(sent.at(2).held_back, Contains(HasSubstr("mcp__two__fresh")));
  if (spoken() == Spoken::responses) EXPECT_THAT(said(2), HasSubstr("additional_tools"));
}

TEST_P(EachProvider, AServerThatDiesWithEveryCallChangesNothing) {
  add("shaky", {"mode-server", "exits-on-call"});
  add("one", {"mode-server", "good"});
  // Longer pauses between its starts are the same for all.
  const std::size_t deaths = spoken() == Spoken::anthropic ? 3 : 2;
  for (std::size_t i = 0; i < deaths; ++i) {
    const auto id = std::to_string(i);
    then({.uses = {use("a" + id, "mcp__shaky__echo", words("x")), use("b" + id, "mcp__one__echo", words("ok"))}});
  }
  then({.text = "It is broken."});
  then({.text = "Still."});
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go"});
    (void)co_await agent.send({.text = "again"});
  });
  EXPECT_THAT(api.requests(), SizeIs(deaths + 2));
  const auto sent = sent_tools();
  EXPECT_THAT(sent.at(0).loaded, Contains(HasSubstr("mcp__shaky__echo")));
  for (const auto& one : sent) {
    EXPECT_EQ(one.loaded, sent.front().loaded);
    EXPECT_EQ(one.held_back, sent.front().held_back);
  }
}

TEST_P(EachProvider, AServerThatTheModelConnectsIsUsed) {
  std::string approved;
  agent_options.approve_server = [&](ApprovalQuestion question) -> Task<bool> {
    approved = question.server.command;
    co_return true;
  };
  add("one", {"mode-server", "good"});
  then({.uses = {use("a1", "connect_mcp",
                     Json{{"name", "late"}, {"command", built("mode-server")}, {"args", Json::array({"one-tool"})}})}});
  then({.uses = {use("a2", "mcp__late__echo", words("hello from afar"))}});
  then({.text = "Connected."});
  run([&](Agent& agent) -> Task<void> { EXPECT_EQ((co_await agent.send({.text = "connect it"})).text, "Connected."); });
  EXPECT_EQ(approved, built("mode-server"));
  EXPECT_THAT(said(1), HasSubstr("Connected to 'late'. Discovered: mcp__late__echo"));
  EXPECT_THAT(said(2), HasSubstr("hello from afar"));
  expect_stable_tools();
}

// G1: servers begin with the first message and not before; one that fails stops nothing.
TEST_P(EachProvider, ServersAreStartedByTheFirstMessageAndAFailingOneIsNamed) {
  const auto started = (tree.path() / "started").string();
  add("one", {"mode-server", "good", started});
  add("broken", {"mode-server", "exits-at-once"});
  for (int i = 0; i < 2; ++i)
    then({.uses = {use("a" + std::to_string(i), "mcp__one__echo", words("hi"))}}).then({.text = "Done."});
  run([&](Agent& agent) -> Task<void> {
    co_await settle();
    EXPECT_FALSE(tree.has("started"));
    (void)co_await agent.send({.text = "one"});
    // The second time nothing is started any more.
    const auto once = tree.read("started");
    (void)co_await agent.send({.text = "two"});
    EXPECT_EQ(tree.read("started"), once);
    EXPECT_THAT(testing::PrintToString(once), Not(testing::IsEmpty()));
  });
  EXPECT_THAT(said(3), HasSubstr("Server \\\"broken\\\" could not be used"));
  EXPECT_THAT(said(3), HasSubstr("exited with status 3"));
  expect_stable_tools();
}

// G2: the words of the one are not the other's; its report is an outcome like any other.
TEST_P(EachProvider, ASubAgentHasAConversationOfItsOwn) {
  add("one", {"mode-server", "good"});
  then({.uses = {use("a1", "agent", Json{{"prompt", "say hi to the server"}})}});
  then({.uses = {use("b1", "mcp__one__echo", words("hi there"))}});
  then({.text = "It answers."});
  then({.text = "Both work."});
  run([&](Agent& agent) -> Task<void> {
    EXPECT_EQ((co_await agent.send({.text = "is the other one well?"})).text, "Both work.");
  });
  EXPECT_THAT(said(1), AllOf(HasSubstr("say hi to the server"), Not(HasSubstr("is the other one well?"))));
  EXPECT_TRUE(in_order(said(2), {"say hi to the server", "hi there"})) << said(2);
  EXPECT_THAT(said(3), AllOf(HasSubstr("It answers."), Not(HasSubstr("hi there"))));
}

// C10: whoever takes a conversation up sends what was said, and the same tools first where servers offer the same.
TEST_P(EachProvider, AConversationThatWasTakenUpAgainIsSentWhole) {
  agent_options.state_directory = (tree.path() / "state").string();
  agent_options.directory = tree.path().string();
  add("one", {"mode-server", "good"});
  then({.text = "I look.", .uses = {use("a1", "mcp__one__echo", words("the first words"))}});
  then({.text = "So it is."});
  run([&](Agent& agent) -> Task<void> {
    (void)co_await agent.send({.text = "go and see"});
    agent_options.resume = agent.id();
  });
  host_options = empty_options();
  then({.uses = {use("a1", "mcp__one__echo", words("the second words"))}});
  then({.text = "And so it is."});
  run([&](Agent& agent) -> Task<void> {
    EXPECT_EQ((co_await agent.send({.text = "once more"})).text, "And so it is.");
  });
  EXPECT_TRUE(
      in_order(said(3), {"go and see", "I look.", "the first words", "So it is.", "once more", "the second words"}))
      << said(3);
  expect_stable_tools();
}

// The text that a conversation begins with.
std::string system_in(Spoken spoken, const ModelApiRequest& request) {
  const auto body = request.json();
  switch (spoken) {
    case Spoken::anthropic:
      return to_text(body["system"]);
    case Spoken::responses:
      return to_text(body["instructions"]);
    case Spoken::gemini:
      return to_text(body["systemInstruction"]);
    default:
      return to_text(body["messages"].items()[0]);
  }
}

// Everything that happens to servers, models and the mode in one conversation: what a provider keeps of its beginning
// stays.
TEST_P(EachProvider, TheBeginningStaysThroughWhateverHappens) {
  agent_options.state_directory = (tree.path() / "state").string();
  agent_options.directory = tree.path().string();
  agent_options.approve_server = [](ApprovalQuestion) -> Task<bool> { co_return true; };
  add("one", {"mode-server", "good"});
  add("shaky", {"mode-server", "exits-on-call"});
  add("two", {"scenario-server"});
  const auto done = [&](Agent& agent, std::string text) -> Task<void> {
    EXPECT_EQ((co_await agent.send({.text = std::move(text)})).text, "Done.");
  };
  const auto other = spoken() == Spoken::gemini ? Spoken::chat : Spoken::gemini;
  then({.text = "Done."});
  // A server dies with a call; a list changes, also back again; the model connects a server.
  then({.uses = {use("a1", "mcp__shaky__echo", words("x"))}}).then({.text = "Done."});
  then({.uses = {use("a2", "mcp__two__add_tool", Json{{"name", "fresh"}})}});
  then(when_released({.text = "Done."}));
  then({.uses = {use("a3", "mcp__two__remove_tool", Json{{"name", "fresh"}})}});
  then(when_released({.text = "Done."}));
  then({.uses = {use("a4", "connect_mcp",
                     Json{{"name", "late"}, {"command", built("mode-server")}, {"args", Json::array({"one-tool"})}})}});
  then({.uses = {use("a5", "mcp__late__echo", words("hello"))}}).then({.text = "Done."});
  for (int i = 0; i < 8; ++i) then({.text = "Done."});
  run([&](Agent& agent) -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    co_await done(agent, "hi");
    co_await done(agent, "call the shaky one");
    for (const bool there : {true, false}) {
      const auto sent = beside(scope, agent.send({.text = "change"}));
      co_await until([&] { return offers("mcp__two__fresh") == there; });
      release();
      co_await scope.join();
      EXPECT_TRUE(*sent->result);
    }
    co_await done(agent, "connect one");
    // A server is removed, and is there again.
    EXPECT_TRUE(host->remove_server("one"));
    co_await until([&] { return !offers("mcp__one__echo"); });
    co_await done(agent, "without");
    host->add_server(servers.front());
    co_await host->begin(BeginWait::all);
    co_await until([&] { return offers("mcp__one__echo"); });
    co_await done(agent, "with");
    // Another model of the same provider, another provider, and back.
    agent.set_mode(AgentMode::plan);
    agent.set_model(model_of(other, api.url()));
    co_await done(agent, "whoever you are");
    agent.set_model(model_of(spoken(), api.url()));
    co_await done(agent, "you again");
    EXPECT_TRUE(host->remove_server("shaky"));
    co_await until([&] { return !offers("mcp__shaky__echo"); });
    co_await done(agent, "less");
    agent.set_model(model_of(other, api.url()));
    co_await done(agent, "and you");
    agent.set_model(model_of(spoken(), api.url()));
    agent.set_mode(AgentMode::normal);
    co_await done(agent, "back");
  });
  EXPECT_THAT(said(14), HasSubstr("Plan mode is on"));
  EXPECT_TRUE(in_order(said(16), {"Plan mode is on", "Plan mode is off"})) << said(16);
  std::string before;
  std::optional<std::string> begun;
  std::size_t asked = 0;
  for (const auto& request : api.requests()) {
    if (spoken_by(request) != spoken()) continue;
    const auto system = system_in(spoken(), request);
    EXPECT_THAT(system, HasSubstr("Directory: "));
    EXPECT_EQ(system, begun.value_or(system)) << "request " << asked + 1;
    begun = system;
    const auto now = tools_of(spoken(), request).first_bytes();
    EXPECT_THAT(now, HasSubstr("mcp__one__echo"));
    EXPECT_EQ(now.substr(0, before.size()), before) << "request " << asked + 1;
    const bool told = spoken() == Spoken::anthropic || spoken() == Spoken::responses;
    if (told && asked > 0) EXPECT_EQ(now, before) << "request " << asked + 1;
    before = now;
    ++asked;
  }
  EXPECT_EQ(asked, 15u);
  EXPECT_EQ(api.requests().size(), 17u);
}

// C10: definitions that the conversation has named are those of its beginning, also when it is taken up again.
TEST_P(EachProvider, WhatAConversationThatWasTakenUpAgainSaidBeforeStaysAsItIs) {
  agent_options.state_directory = (tree.path() / "state").string();
  agent_options.directory = tree.path().string();
  agent_options.model_tools.tool_search = "true";
  const auto own = std::make_shared<Server>("three", "1");
  const auto define = [&](std::string description) {
    own->add_tool({.name = "fresh", .description = std::move(description)},
                  [](RequestContext&, Json) -> Task<CallToolResult> { co_return text("done"); });
  };
  const auto described = [&](std::string_view description) {
    const auto* entry = host->catalog()->at("mcp__three__fresh");
    return entry != nullptr && entry->tool->description == description;
  };
  const auto begin = [&](std::string_view description) -> Task<void> {
    host->add_server("three", own);
    co_await host->begin(BeginWait::all);
    co_await until([&] { return described(description); });
  };
  define("as it was");
  then({.uses = {use("a1", "tool_search", Json{{"query", "select:mcp__three__fresh"}})}}).then({.text = "Found."});
  then({.text = "Hello."}).then({.text = "Again."}).then({.text = "And again."});
  run([&](Agent& agent) -> Task<void> {
    co_await begin("as it was");
    EXPECT_EQ((co_await agent.send({.text = "find it"})).text, "Found.");
    agent_options.resume = agent.id();
  });
  host_options = empty_options();
  run([&](Agent& agent) -> Task<void> {
    co_await begin("as it was");
    (void)co_await agent.send({.text = "hi"});
    define("as it is");
    co_await until([&] { return described("as it is"); });
    (void)co_await agent.send({.text = "and now?"});
    (void)co_await agent.send({.text = "sure?"});
  });
  const auto requests = api.requests();
  ASSERT_THAT(requests, SizeIs(5));
  for (std::size_t at = 3; at < requests.size(); ++at) {
    const auto before = tools_of(spoken(), requests[2]), now = tools_of(spoken(), requests[at]);
    EXPECT_EQ(now.loaded, before.loaded);
    EXPECT_EQ(now.held_back, before.held_back);
    EXPECT_TRUE(said(at).starts_with(said(2).substr(0, said(2).rfind("hi")))) << said(at);
    // Where the API does not hold it, it has to be found again: nothing is sent of it before.
    const bool holds = spoken() == Spoken::anthropic || spoken() == Spoken::responses;
    EXPECT_EQ(said(at).contains("mcp__three__fresh is another one now: as it is"), holds) << said(at);
  }
  EXPECT_THAT(requests.back().body, HasSubstr("as it was"));
}

// The conversation goes back as it is, with what only the provider understands.
class AgentWire : public WireScene {};

TEST_F(AgentWire, AnAnswerThatPausesIsAskedForTheRestOfIt) {
  refuse = [paused = 0](const ModelApiRequest&) mutable -> std::optional<ModelApiReply> {
    if (paused++ > 1) return std::nullopt;
    auto frames = frames_of(Spoken::anthropic, {.text = "Searching.", .own = "own-" + std::to_string(paused)});
    for (auto& frame : frames) {
      if (const auto at = frame.find("end_turn"); at != std::string::npos) frame.replace(at, 8, "pause_turn");
    }
    return streamed(Spoken::anthropic, frames);
  };
  then({.text = "Found."});
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_EQ(answer.text, "Found.");
    EXPECT_EQ(answer.turns, 3u);
  });
  EXPECT_TRUE(in_order(said(2), {"own-1", "own-2"})) << said(2);
  EXPECT_THAT(said(2), Not(HasSubstr("Found")));
  EXPECT_THAT(api.requests(), SizeIs(3));
}

}  // namespace
}  // namespace patchbay::test
