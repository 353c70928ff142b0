// What Responses answers. G1, W3.
#include "agent/models/openai_responses_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/read_answer.h"

namespace patchbay {
namespace {

using test::AnswerPiece;
using test::AnswerRead;

using testing::ElementsAre;
using testing::IsEmpty;

AnswerRead read(const std::vector<AnswerPiece>& pieces, const ModelRequest& request = {}) {
  const auto reader = openai_responses_reader({.provider = "openai"}, request);
  return test::read_answer(*reader, pieces);
}

// Of an event with these members beside its type.
std::string said(const std::string& type, const std::string& members) {
  return R"({"type": "response.)" + type + "\"" + (members.empty() ? "" : ", ") + members + "}";
}
std::string ended(const std::string& type = "completed", const std::string& members = "") {
  return said(type, R"("response": {"status": ")" + type + "\"" + (members.empty() ? "" : ", ") + members + "}");
}

ProviderBlock block(std::string_view value) { return {.provider = "openai", .value = parse_json(value).value()}; }

TEST(OpenAiResponsesReader, ReadsAnAnswerWithThoughtsTextAndCalls) {
  const auto got = read({
      said("created", R"("response": {"model": "gpt-x-1", "status": "in_progress"})"),
      said("in_progress", R"("response": {"model": "gpt-x-1"})"),
      said("output_item.added", R"("output_index": 0, "item": {"type": "reasoning", "id": "r1", "summary": []})"),
      said("reasoning_summary_part.added", R"("output_index": 0, "summary_index": 0, "part": {})"),
      said("reasoning_summary_text.delta", R"("output_index": 0, "summary_index": 0, "delta": "First.")"),
      said("reasoning_summary_part.added", R"("output_index": 0, "summary_index": 1, "part": {})"),
      said("reasoning_summary_text.delta", R"("output_index": 0, "summary_index": 1, "delta": "Then.")"),
      said("output_item.done", R"("output_index": 0, "item": {"type": "reasoning", "id": "r1",
           "summary": [{"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Then."}],
           "encrypted_content": "abc"})"),
      said("output_item.added", R"("output_index": 1, "item": {"type": "message", "id": "m1", "content": []})"),
      said("content_part.added", R"("output_index": 1, "content_index": 0, "part": {"type": "output_text"})"),
      said("output_text.delta", R"("output_index": 1, "content_index": 0, "delta": "I ")"),
      said("output_text.delta", R"("output_index": 1, "content_index": 0, "delta": "look.")"),
      said("output_text.done", R"("output_index": 1, "content_index": 0, "text": "I look.")"),
      said("output_item.done", R"("output_index": 1, "item": {"type": "message", "id": "m1", "phase": "commentary",
           "content": [{"type": "output_text", "text": "I look.", "annotations": []}]})"),
      said("output_item.added",
           R"("output_index": 2, "item": {"type": "function_call", "id": "f1", "call_id": "c1", "name": "look",
              "arguments": ""})"),
      said("function_call_arguments.delta", R"("output_index": 2, "delta": "{\"at\":")"),
      said("function_call_arguments.delta", R"("output_index": 2, "delta": "\"sky\"}")"),
      said("function_call_arguments.done", R"("output_index": 2, "arguments": "{\"at\":\"sky\"}")"),
      said("output_item.done",
           R"("output_index": 2, "item": {"type": "function_call", "id": "f1", "call_id": "c1", "name": "look",
              "arguments": "{\"at\":\"sky\"}", "status": "completed"})"),
      ended("completed", R"("model": "gpt-x-1", "output": [], "usage": {"input_tokens": 100, "output_tokens": 9,
            "input_tokens_details": {"cached_tokens": 64}})"),
  });
  ASSERT_TRUE(got.answer);
  EXPECT_TRUE(got.complete);
  EXPECT_EQ(*got.answer,
            (ModelAnswer{.message = {.role = Role::assistant,
                                     .parts = {block(R"({"type": "reasoning", "id": "r1",
                                       "summary": [{"type": "summary_text", "text": "First."},
                                                   {"type": "summary_text", "text": "Then."}],
                                       "encrypted_content": "abc"})"),
                                               block(R"({"phase": "commentary"})"), ModelText{"I look."},
                                               ModelToolUse{.id = "c1", .name = "look", .input = Json{{"at", "sky"}}}}},
                         .stop = ModelStop::tool_use,
                         .stop_text = "completed",
                         .usage = {.input = 36, .cache_read = 64, .output = 9},
                         .model = "gpt-x-1"}));
  EXPECT_THAT(got.told,
              ElementsAre("thought First.", "thought \n\n", "thought Then.", "text I ", "text look.", "begun c1 look"));
}

struct Case {
  const char* why;
  std::vector<AnswerPiece> pieces;
  std::vector<ModelPart> parts;
};

TEST(OpenAiResponsesReader, ReliesOnTheLeastThatServersSend) {
  const ModelToolUse sky{.id = "c1", .name = "look", .input = Json{{"at", "sky"}}};
  const ModelToolUse sea{.id = "c2", .name = "look", .input = Json{{"at", "sea"}}};
  const Case cases[] = {
      {"ids differ from event to event, and calls take turns",
       {said("output_item.added",
             R"("output_index": 0, "item": {"type": "function_call", "id": "A", "call_id": "c1", "name": "look"})"),
        said("output_item.added",
             R"("output_index": 1, "item": {"type": "function_call", "id": "B", "call_id": "c2", "name": "look"})"),
        said("function_call_arguments.delta", R"("item_id": "C", "output_index": 1, "delta": "{\"at\":\"sea\"}")"),
        said("function_call_arguments.delta", R"("item_id": "D", "output_index": 0, "delta": "{\"at\":\"sky\"}")")},
       {sky, sea}},
      {"the last event has other items, which are not looked at",
       {said("output_item.done",
             R"("output_index": 0, "item": {"type": "function_call", "call_id": "c1", "name": "look",
             "arguments": "{\"at\":\"sky\"}"})"),
        ended("completed", R"("output": [{"type": "function_call", "call_id": "z", "name": "look"}])")},
       {sky}},
      {"only the last event has the items",
       {ended("completed", R"("output": [
          {"type": "message", "content": [{"type": "output_text", "text": "I look."}]},
          {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{\"at\":\"sky\"}"}])")},
       {ModelText{"I look."}, sky}},
      {"events that do not say which item they speak of",
       {said("output_item.added", R"("item": {"type": "message"})"), said("output_text.delta", R"("delta": "I look.")"),
        said("output_item.added", R"("item": {"type": "function_call", "call_id": "c1", "name": "look"})"),
        said("function_call_arguments.delta", R"("delta": "{\"at\":\"sky\"}")")},
       {ModelText{"I look."}, sky}},
      {"only pieces of a text",
       {said("output_text.delta", R"("output_index": 0, "content_index": 0, "delta": "So")"),
        said("output_text.delta", R"("output_index": 0, "content_index": 0, "delta": ".")")},
       {ModelText{"So."}}},
      {"only the whole text",
       {said("output_item.done",
             R"("output_index": 0, "item": {"type": "message", "content": [{"type": "output_text", "text": "So."}]})")},
       {ModelText{"So."}}},
      {"the end of a call without its beginning, with an id that is empty",
       {said("function_call_arguments.delta", R"("output_index": 0, "delta": "{\"at\":")"),
        said("output_item.done", R"("output_index": 0, "item": {"type": "function_call", "call_id": "", "name": "look",
             "arguments": "{\"at\":\"sky\"}"})")},
       {ModelToolUse{.id = "call_1", .name = "look", .input = Json{{"at", "sky"}}}}},
      {"arguments that are nonsense",
       {said("output_item.done", R"("output_index": 0, "item": {"type": "function_call", "call_id": "c1",
             "name": "look", "arguments": "{at"})")},
       {ModelToolUse{.id = "c1", .name = "look", .broken = "{at"}}},
      {"an item that nobody knows goes back as it came",
       {said("output_item.added", R"("output_index": 0, "item": {"type": "dream", "status": "in_progress"})"),
        said("output_item.done", R"("output_index": 0, "item": {"type": "dream", "of": [1, 2]})"),
        said("dream.delta", R"("output_index": 7, "delta": "…")")},
       {block(R"({"type": "dream", "of": [1, 2]})")}},
      {"thoughts that never became an item",
       {said("reasoning_text.delta", R"("output_index": 0, "delta": "Hm")"),
        said("output_text.delta", R"("output_index": 1, "content_index": 0, "delta": "So.")")},
       {ModelText{"So."}}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.why);
    auto pieces = one.pieces;
    pieces.emplace_back(ended());
    const auto got = read(pieces);
    ASSERT_TRUE(got.answer);
    EXPECT_EQ(got.answer->message.parts, one.parts);
  }
}

TEST(OpenAiResponsesReader, TellsWhatWasNotStreamedWhenItIsThere) {
  const auto got = read({
      said("output_item.done", R"("output_index": 0, "item": {"type": "reasoning",
           "summary": [{"text": "First."}, {"text": "Then."}]})"),
      said("output_item.done",
           R"("output_index": 1, "item": {"type": "message", "content": [{"type": "output_text", "text": "So."}]})"),
      said(
          "output_item.done",
          R"("output_index": 2, "item": {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"})"),
      ended(),
  });
  EXPECT_THAT(got.told, ElementsAre("thought First.", "thought \n\nThen.", "text So.", "begun c1 look"));
}

TEST(OpenAiResponsesReader, GivesNoIdASecondTimeInAConversation) {
  auto before = std::make_shared<ModelMessage>();
  before->role = Role::assistant;
  before->parts = {ModelToolUse{.id = "c1", .name = "look"}};
  const auto got = read({said("output_item.done", R"("output_index": 0, "item": {"type": "function_call",
                              "call_id": "c1", "name": "look", "arguments": "{}"})"),
                         ended()},
                        {.messages = {before}});
  EXPECT_EQ(got.answer.value().message.parts, (std::vector<ModelPart>{ModelToolUse{.id = "call_2", .name = "look"}}));
}

TEST(OpenAiResponsesReader, SaysWhyItStopped) {
  const std::string text = said("output_text.delta", R"("output_index": 0, "delta": "So")");
  struct StopCase {
    AnswerPiece piece;
    AnswerPiece end;
    ModelStop stop;
    const char* text;
  };
  const StopCase cases[] = {
      {text, ended(), ModelStop::end_turn, "completed"},
      {text, ended("incomplete", R"("incomplete_details": {"reason": "max_output_tokens"})"), ModelStop::max_tokens,
       "incomplete: max_output_tokens"},
      {text, ended("incomplete", R"("incomplete_details": {"reason": "content_filter"})"), ModelStop::refusal,
       "incomplete: content_filter"},
      {text, ended("incomplete"), ModelStop::other, "incomplete"},
      {said("refusal.delta", R"("output_index": 0, "content_index": 0, "delta": "No.")"), ended(), ModelStop::refusal,
       "completed"},
      {said("output_item.done", R"("output_index": 0, "item": {"type": "message",
            "content": [{"type": "refusal", "refusal": "No."}]})"),
       ended(), ModelStop::refusal, "completed"},
      {text, said("completed", R"("response": {})"), ModelStop::end_turn, "completed"},
  };
  for (const auto& one : cases) {
    const auto got = read({one.piece, one.end});
    ASSERT_TRUE(got.answer) << one.end.data;
    EXPECT_EQ(got.answer->stop, one.stop) << one.piece.data << one.end.data;
    EXPECT_EQ(got.answer->stop_text, one.text);
    EXPECT_THAT(text_of(got.answer->message), testing::AnyOf("So", "No."));
  }
}

TEST(OpenAiResponsesReader, FailsWithWhatTheServerSaysInTheMiddle) {
  struct FailureCase {
    AnswerPiece piece;
    ProviderFailure failure;
  };
  const FailureCase cases[] = {
      {ended("failed", R"("error": {"code": "server_error", "message": "m"})"),
       {.status = 500, .type = "server_error", .message = "m"}},
      {ended("failed", R"("error": {"code": "rate_limit_exceeded", "message": "m"})"),
       {.status = 429, .type = "rate_limit_exceeded", .message = "m"}},
      {ended("failed", R"("error": {"code": "context_length_exceeded", "message": "m"})"),
       {.status = 400, .type = "context_length_exceeded", .message = "m", .too_long = true}},
      {ended("failed", R"("error": null)"),
       {.status = 500, .message = "the provider gave up the answer without a reason"}},
      {R"({"type": "error", "code": "server_error", "message": "m", "param": null})",
       {.status = 500, .type = "server_error", .message = "m"}},
      {R"({"type": "error", "error": {"type": "invalid_request_error", "code": "context_length_exceeded",
           "message": "m"}})",
       {.status = 400, .type = "context_length_exceeded", .message = "m", .too_long = true}},
      {{"error", R"({"message": "m", "code": "rate_limit_exceeded"})"},
       {.status = 429, .type = "rate_limit_exceeded", .message = "m"}},
      {R"({"error": {"message": "m", "code": 503}})", {.status = 503, .message = "m"}},
  };
  for (const auto& one : cases) {
    const auto got = read({said("output_text.delta", R"("output_index": 0, "delta": "So")"), one.piece});
    ASSERT_FALSE(got.answer) << one.piece.data;
    EXPECT_EQ(got.answer.error(), one.failure) << one.piece.data;
  }
  EXPECT_EQ(read({"{\"type\":"}).answer.error().status, 0);
}

TEST(OpenAiResponsesReader, ReadsAWholeResponseOfAServerThatDoesNotStream) {
  const auto got = read({R"({"object": "response", "status": "completed", "model": "m", "output": [
      {"type": "message", "content": [{"type": "output_text", "text": "So."}]}]})"});
  ASSERT_TRUE(got.answer);
  EXPECT_EQ(text_of(got.answer->message), "So.");
  const auto failed = read({R"({"object": "response", "status": "failed", "error": {"code": "server_error"}})"});
  ASSERT_FALSE(failed.answer);
  EXPECT_EQ(failed.answer.error().status, 500);
}

TEST(OpenAiResponsesReader, IsNotContentWithAnAnswerThatWasCutOff) {
  const auto got = read({said("output_text.done", R"("output_index": 0, "text": "So.")"),
                         said("output_item.done", R"("output_index": 0, "item": {"type": "message", "content": []})")});
  EXPECT_FALSE(got.complete);
  ASSERT_FALSE(got.answer);
  EXPECT_EQ(got.answer.error().status, 0);
}

TEST(OpenAiResponsesReader, PassesByWhatItDoesNotKnow) {
  const auto got = read({"",
                         "[DONE]",
                         "[1]",
                         "{}",
                         R"({"type": 7})",
                         said("queued", R"("response": {})"),
                         {"response.output_text.delta", R"({"output_index": 0, "delta": "So."})"},
                         said("output_text.annotation.added", R"("output_index": 9)"),
                         said("completed", ""),
                         ended(),
                         said("output_text.delta", R"("output_index": 0, "delta": "late")"),
                         "{"});
  ASSERT_TRUE(got.answer);
  EXPECT_EQ(text_of(got.answer->message), "So.");
  EXPECT_THAT(got.answer->warnings, IsEmpty());
}

TEST(OpenAiResponsesReader, ReadsNoMoreItemsThanAnAnswerCanHave) {
  for (const std::string where : {"output_index", "content_index"}) {
    std::vector<AnswerPiece> pieces;
    for (int i = 0; i <= 1'000; ++i) {
      pieces.emplace_back(said("output_text.delta", "\"" + where + "\": " + std::to_string(i) + R"(, "delta": "x")"));
    }
    const auto got = read(pieces);
    ASSERT_FALSE(got.answer) << where;
    EXPECT_EQ(got.answer.error().status, 413) << where;
  }
}

}  // namespace
}  // namespace patchbay
