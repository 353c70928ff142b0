// A model that plays a file. G1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/models/script.h"
#include "base/as_result.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using test::run_task;

using testing::HasSubstr;
using testing::SizeIs;

std::shared_ptr<const ModelMessage> said(std::string text) {
  auto message = std::make_shared<ModelMessage>();
  message->parts.emplace_back(ModelText{std::move(text)});
  return message;
}

ModelAnswer answer_of(Model& model, ModelRequest request) {
  ModelAnswer answer;
  run_task([&]() -> Task<void> { answer = co_await model.ask(std::move(request), {}); });
  return answer;
}

TEST(ScriptModel, PlaysTheTurnsThatFitInTheirOrder) {
  const auto model = make_script_model("demo", R"({"turns": [
    {"when": "weather", "text": "It rains."},
    {"text": "Hello.", "calls": [{"name": "look", "input": {"at": "sky"}}]},  // the first without "when"
  ]})");
  const auto ask = [&](std::string text) { return answer_of(*model, {.messages = {said(std::move(text))}}); };
  const auto first = ask("hi");
  EXPECT_EQ(first.stop, ModelStop::tool_use);
  ASSERT_THAT(first.message.parts, SizeIs(2));
  EXPECT_EQ(std::get<ModelToolUse>(first.message.parts[1]).input, (Json{{"at", "sky"}}));
  EXPECT_EQ(text_of(ask("how is the weather?").message), "It rains.");
  run_task([&]() -> Task<void> {
    const auto last = co_await as_result(model->ask({.messages = {said("and now?")}}, {}));
    EXPECT_FALSE(last);
  });
}

TEST(ScriptModel, PutsTheNewestOutcomeIntoItsText) {
  const auto model = make_script_model("demo", R"({"turns": [{"text": "It says: ${result}"}]})");
  auto outcome = std::make_shared<ModelMessage>();
  outcome->parts.emplace_back(ModelToolOutcome{.id = "1", .name = "look", .blocks = {ModelText{"blue"}}});
  EXPECT_EQ(text_of(answer_of(*model, {.messages = {outcome}}).message), "It says: blue");
}

TEST(ScriptModel, CallsAToolByTheEndOfItsName) {
  const auto model = make_script_model("demo", R"({"turns": [{"calls": [{"name": "read"}]}]})");
  auto pool = std::make_shared<ToolPool>();
  pool->tools.push_back({.name = "mcp__files__read"});
  const auto answer = answer_of(*model, {.tools = pool, .messages = {said("go")}});
  EXPECT_EQ(std::get<ModelToolUse>(answer.message.parts.front()).name, "mcp__files__read");
}

TEST(ScriptModel, SaysWhereAScriptIsWrong) {
  const auto wrong = read_script("demo.json", "{\"turns\": [{\"calls\": [{}]}]}");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), Errc::config);
  EXPECT_THAT(wrong.error().message(), HasSubstr("demo.json:1"));
}

}  // namespace
}  // namespace patchbay
