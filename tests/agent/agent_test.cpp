// One send(): the model is asked, what it wants is called, the outcome goes back, until it is content. G1, X5.
#include "agent/models/script.h"
#include "agent_scene.h"

namespace patchbay::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using End = AgentAnswer::End;
using Ended = AgentToolResult::End;

TEST_F(AgentScene, AModelWithNothingToCallAnswers) {
  model->then(says("hello"));
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "hi"});
    EXPECT_EQ(answer.text, "hello");
    EXPECT_EQ(answer.end, End::answered);
    EXPECT_EQ(answer.turns, 1u);
    EXPECT_EQ(agent.messages().size(), 2u);
  });
}

TEST_F(AgentScene, CallsAreMadeAndTheirOutcomesGoBack) {
  model->then(calls({use("1", "mcp__s__look", Json{{"at", "sky"}}), use("2", "mcp__s__change", Json{{"what", "it"}})}))
      .then(says("done"));
  run([&](Agent& agent) -> Task<void> {
    const auto answer = co_await agent.send({.text = "go"});
    EXPECT_EQ(answer.text, "done");
    EXPECT_EQ(answer.turns, 2u);
    EXPECT_THAT(order, ElementsAre("look sky", "change it"));
    const auto outcomes = outcomes_of(*agent.messages().at(2));
    EXPECT_THAT(outcomes, SizeIs(2));
    EXPECT_EQ(words(outcomes.at(0)), "seen sky");
    EXPECT_EQ(outcomes.at(1).id, "2");
    EXPECT_EQ(model->prefixes.at(0), model->prefixes.at(1));
  });
  EXPECT_THAT(results(), SizeIs(2));
}

TEST_F(AgentScene, AScriptPlays) {
  agent_options.directory = "/";
  const auto script = make_script_model("demo", R"({"turns": [
    {"when": "sky", "text": "I look.", "calls": [{"name": "look", "input": {"at": "sky"}}]},
    {"text": "It says: ${result}"}]})");
  run([&](Agent& agent) -> Task<void> {
    agent.set_model(script);
    const auto answer = co_await agent.send({.text = "the sky?"});
    EXPECT_EQ(answer.text, "It says: seen sky");
  });
}

}  // namespace
}  // namespace patchbay::test
