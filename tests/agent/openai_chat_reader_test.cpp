// What Chat Completions answers, as OpenAI and as other servers send it. G1, W3.
#include "agent/models/openai_chat_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/read_answer.h"

namespace patchbay {
namespace {

using test::AnswerPiece;
using test::AnswerRead;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ModelRequest request_with_tools() {
  auto pool = std::make_shared<ToolPool>();
  pool->tools.push_back({.name = "look"});
  return {.tools = pool};
}

AnswerRead read(const std::vector<AnswerPiece>& pieces, const ModelRequest& request = request_with_tools()) {
  const auto reader = openai_chat_reader({.provider = "openai-chat"}, request);
  return test::read_answer(*reader, pieces);
}

std::string delta(const std::string& members) { return R"({"choices": [{"index": 0, "delta": {)" + members + "}}]}"; }
std::string call(const std::string& members) { return delta(R"("tool_calls": [{)" + members + "}]"); }
std::string ended(const std::string& why) {
  return R"({"choices": [{"index": 0, "delta": {}, "finish_reason": ")" + why + R"("}]})";
}

std::vector<ModelToolUse> calls_of(const AnswerRead& read) {
  std::vector<ModelToolUse> calls;
  if (!read.answer) return calls;
  for (const auto& part : read.answer->message.parts) {
    if (const auto* use = std::get_if<ModelToolUse>(&part)) calls.push_back(*use);
  }
  return calls;
}

ModelToolUse use(std::string id, std::string at) {
  return {.id = std::move(id), .name = "look", .input = Json{{"at", std::move(at)}}};
}

TEST(OpenAiChatReader, ReadsTextAndUsage) {
  const auto got =
      read({R"({"model": "gpt-x-1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}],
                             "usage": null})",
            delta(R"("content": "It ")"), delta(R"("content": "rains.")"), ended("stop"),
            R"({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7,
                             "prompt_tokens_details": {"cached_tokens": 64}}})",
            "[DONE]"});
  ASSERT_TRUE(got.answer);
  EXPECT_EQ(*got.answer, (ModelAnswer{.message = {.role = Role::assistant, .parts = {ModelText{"It rains."}}},
                                      .stop = ModelStop::end_turn,
                                      .stop_text = "stop",
                                      .usage = {.input = 36, .cache_read = 64, .output = 7},
                                      .model = "gpt-x-1"}));
  EXPECT_THAT(got.told, ElementsAre("text It ", "text rains."));
  EXPECT_TRUE(got.complete);
}

TEST(OpenAiChatReader, ReadsCallsOfOneAnswer) {
  const auto got =
      read({delta(R"("content": "I look.")"),
            call(R"("index": 0, "id": "a", "type": "function", "function": {"name": "look", "arguments": ""})"),
            call(R"("index": 0, "function": {"arguments": "{\"at\""})"),
            call(R"("index": 0, "function": {"arguments": ":\"sky\"}"})"),
            call(R"("index": 1, "id": "b", "function": {"name": "look", "arguments": "{\"at\":"})"),
            call(R"("index": 1, "function": {"arguments": "\"sea\"}"})"), ended("tool_calls"), "[DONE]"});
  ASSERT_TRUE(got.answer);
  EXPECT_EQ(got.answer->stop, ModelStop::tool_use);
  EXPECT_EQ(got.answer->message.parts,
            (std::vector<ModelPart>{ModelText{"I look."}, use("a", "sky"), use("b", "sea")}));
  EXPECT_THAT(got.told, ElementsAre("text I look.", "begun a look", "begun b look"));
}

struct CallCase {
  const char* why;
  std::vector<AnswerPiece> pieces;
  std::vector<ModelToolUse> calls;
};

TEST(OpenAiChatReader, TellsTheCallsOfOtherServersApart) {
  const CallCase cases[] = {
      {"the second call begins with index 0 again and another id; later pieces have an empty id",
       {call(R"("index": 0, "id": "a", "function": {"name": "look", "arguments": "{\"at\":"})"),
        call(R"("index": 0, "id": "", "function": {"arguments": "\"sky\"}"})"),
        call(R"("index": 0, "id": "b", "function": {"name": "look", "arguments": "{\"at\":"})"),
        call(R"("index": 0, "id": "", "function": {"arguments": "\"sea\"}"})")},
       {use("a", "sky"), use("b", "sea")}},
      {"calls that take turns",
       {call(R"("index": 0, "id": "a", "function": {"name": "look", "arguments": "{\"at\":"})"),
        call(R"("index": 1, "id": "b", "function": {"name": "look", "arguments": "{\"at\":"})"),
        call(R"("index": 0, "function": {"arguments": "\"sky\"}"})"),
        call(R"("index": 1, "function": {"arguments": "\"sea\"}"})")},
       {use("a", "sky"), use("b", "sea")}},
      {"the id is sent with every piece",
       {call(R"("index": 0, "id": "a", "function": {"name": "look", "arguments": "{\"at\":"})"),
        call(R"("index": 0, "id": "a", "function": {"name": "look", "arguments": "\"sky\"}"})")},
       {use("a", "sky")}},
      {"whole calls with neither id nor index",
       {call(R"("function": {"name": "look", "arguments": "{\"at\":\"sky\"}"})"),
        call(R"("function": {"name": "look", "arguments": "{\"at\":\"sea\"}"})")},
       {use("call_1", "sky"), use("call_2", "sea")}},
      {"whole calls that all have index 0 and no id",
       {delta(R"("tool_calls": [
          {"index": 0, "id": "", "function": {"name": "look", "arguments": "{\"at\":\"sky\"}"}},
          {"index": 0, "id": "", "function": {"name": "look", "arguments": "{\"at\":\"sea\"}"}}])")},
       {use("call_1", "sky"), use("call_2", "sea")}},
      {"calls that all have the same id",
       {call(R"("index": 0, "id": "x", "function": {"name": "look", "arguments": "{\"at\":\"sky\"}"})"),
        call(R"("index": 1, "id": "x", "function": {"name": "look", "arguments": "{\"at\":\"sea\"}"})")},
       {use("x", "sky"), use("call_1", "sea")}},
      {"a name that comes after its id, in pieces",
       {call(R"("index": 0, "id": "a", "function": {"arguments": ""})"),
        call(R"("index": 0, "function": {"name": "look"})"),
        call(R"("index": 0, "function": {"name": "", "arguments": "{\"at\":\"sky\"}"})")},
       {use("a", "sky")}},
      {"arguments that are an object and no text",
       {call(R"("index": 0, "id": "a", "function": {"name": "look", "arguments": {"at": "sky"}})")},
       {use("a", "sky")}},
      {"no arguments at all",
       {call(R"("index": 0, "id": "a", "function": {"name": "look"})")},
       {{.id = "a", .name = "look"}}},
      {"nonsense for arguments",
       {call(R"("index": 0, "id": "a", "function": {"name": "look", "arguments": "{\"at\": sky"})")},
       {{.id = "a", .name = "look", .broken = "{\"at\": sky"}}},
      {"a call of nothing", {call(R"("index": 0, "function": {})")}, {}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.why);
    auto pieces = one.pieces;
    pieces.emplace_back(ended("stop"));  // others end with "stop" behind calls as well
    pieces.emplace_back("[DONE]");
    const auto got = read(pieces);
    EXPECT_EQ(calls_of(got), one.calls);
    ASSERT_TRUE(got.answer);
    EXPECT_EQ(got.answer->stop, one.calls.empty() ? ModelStop::end_turn : ModelStop::tool_use);
  }
}

TEST(OpenAiChatReader, GivesNoIdASecondTimeInAConversation) {
  auto before = std::make_shared<ModelMessage>();
  before->role = Role::assistant;
  before->parts = {ModelToolUse{.id = "functions.look:0", .name = "look"}};
  ModelRequest request = request_with_tools();
  request.messages = {before};
  const auto got =
      read({call(R"("index": 0, "id": "functions.look:0", "function": {"name": "look", "arguments": "{}"})"),
            ended("tool_calls"), "[DONE]"},
           request);
  EXPECT_EQ(calls_of(got), (std::vector<ModelToolUse>{{.id = "call_2", .name = "look"}}));
  EXPECT_THAT(got.told, ElementsAre("begun call_2 look"));
}

TEST(OpenAiChatReader, KeepsThoughtsUnderTheWordOfTheServer) {
  for (const std::string word : {"reasoning_content", "reasoning", "reasoning_text"}) {
    const auto got = read({delta('"' + word + R"(": "Hm")"), delta('"' + word + R"(": ".", "content": "Yes.")"),
                           ended("stop"), "[DONE]"});
    ASSERT_TRUE(got.answer) << word;
    EXPECT_EQ(got.answer->message.parts,
              (std::vector<ModelPart>{ProviderBlock{.provider = "openai-chat", .value = Json{{word, "Hm."}}},
                                      ModelText{"Yes."}}));
    EXPECT_THAT(got.told, ElementsAre("thought Hm", "thought .", "text Yes."));
  }
  // Some send it twice.
  const auto twice = read({delta(R"("reasoning": "Hm.", "reasoning_content": "Hm.")"), ended("stop"), "[DONE]"});
  EXPECT_THAT(twice.told, ElementsAre("thought Hm."));
  // And some as parts of the content.
  const auto parts = read({delta(R"("content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                                                 {"type": "text", "text": "Yes."}])"),
                           ended("stop"), "[DONE]"});
  EXPECT_THAT(parts.told, ElementsAre("thought Hm.", "text Yes."));
  EXPECT_EQ(parts.answer.value().message.parts, (std::vector<ModelPart>{ModelText{"Yes."}}));
}

TEST(OpenAiChatReader, WarnsOfCallsThatCameAsText) {
  const std::vector<AnswerPiece> pieces{delta(R"("content": "I look.\n<tool_")"),
                                        delta(R"("content": "call>{\"name\": \"look\"}</tool_call>")"), ended("stop"),
                                        "[DONE]"};
  const auto got = read(pieces);
  ASSERT_TRUE(got.answer);
  EXPECT_THAT(got.answer->warnings, ElementsAre(HasSubstr("parser")));
  EXPECT_EQ(got.answer->stop, ModelStop::end_turn);
  // Without tools it is only a text, and so is a mention in the middle of a line.
  EXPECT_THAT(read(pieces, {}).answer->warnings, IsEmpty());
  const auto mention = read({delta(R"("content": "It writes <tool_call> there.")"), ended("stop"), "[DONE]"});
  EXPECT_THAT(mention.answer->warnings, IsEmpty());
}

TEST(OpenAiChatReader, SaysWhyItStopped) {
  const std::string text = delta(R"("content": "So")");
  const std::string some_call = call(R"("index": 0, "id": "a", "function": {"name": "look", "arguments": "{\"a"})");
  struct Case {
    std::string piece;
    std::string why;
    ModelStop stop;
  };
  const Case cases[] = {
      {text, "stop", ModelStop::end_turn},
      {some_call, "stop", ModelStop::tool_use},
      {some_call, "tool_calls", ModelStop::tool_use},
      {some_call, "function_call", ModelStop::tool_use},
      {text, "tool_calls", ModelStop::malformed},
      {text, "length", ModelStop::max_tokens},
      {some_call, "length", ModelStop::max_tokens},
      {text, "content_filter", ModelStop::refusal},
      {text, "abort", ModelStop::other},
      {delta(R"("refusal": "No.")"), "stop", ModelStop::refusal},
  };
  for (const auto& one : cases) {
    const auto got = read({one.piece, ended(one.why), "[DONE]"});
    ASSERT_TRUE(got.answer);
    EXPECT_EQ(got.answer->stop, one.stop) << one.piece << one.why;
    EXPECT_EQ(got.answer->stop_text, one.why);
  }
}

TEST(OpenAiChatReader, IsContentWithOneOfTheTwoEnds) {
  const auto no_done = read({delta(R"("content": "So.")"), ended("stop")});
  EXPECT_FALSE(no_done.complete);
  EXPECT_EQ(text_of(no_done.answer.value().message), "So.");
  const auto no_reason = read({delta(R"("content": "So.")"), "[DONE]"});
  EXPECT_EQ(no_reason.answer.value().stop, ModelStop::end_turn);
  const auto neither = read({delta(R"("content": "So")")});
  ASSERT_FALSE(neither.answer);
  EXPECT_EQ(neither.answer.error().status, 0);
}

TEST(OpenAiChatReader, ReadsAWholeMessageOfAServerThatDoesNotStream) {
  const auto got = read({R"({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant",
      "content": null, "tool_calls": [{"id": "a", "function": {"name": "look", "arguments": "{\"at\":\"sky\"}"}}]}}]})",
                         "[DONE]"});
  EXPECT_EQ(calls_of(got), (std::vector<ModelToolUse>{use("a", "sky")}));
}

TEST(OpenAiChatReader, FailsWithWhatTheServerSaysInTheMiddle) {
  struct Case {
    AnswerPiece piece;
    int status;
    bool too_long = false;
  };
  const Case cases[] = {
      {R"({"error": {"message": "overloaded", "type": "server_error", "code": 503}})", 503},
      {R"({"error": {"message": "m", "type": "exceed_context_size_error", "code": 400}})", 400, true},
      {R"({"object": "error", "message": "m", "type": "BadRequestError", "code": 400})", 400},
      {{"error", R"({"message": "m", "code": "rate_limit_exceeded"})"}, 429},
      {R"({"error": "boom"})", 500},
      {"{\"choices\": [", 0},
      {"Internal Server Error", 0},
  };
  for (const auto& one : cases) {
    const auto got = read({delta(R"("content": "So")"), one.piece, "[DONE]"});
    ASSERT_FALSE(got.answer) << one.piece.data;
    EXPECT_EQ(got.answer.error().status, one.status) << one.piece.data;
    EXPECT_EQ(got.answer.error().too_long, one.too_long) << one.piece.data;
  }
}

TEST(OpenAiChatReader, PassesByWhatItDoesNotKnow) {
  const auto got = read({R"({"object": "chat.completion.chunk", "timings": {}, "error": null})", "", " ",
                         R"({"choices": [{"index": 1, "delta": {"content": "another"}}]})",
                         R"({"choices": [{"delta": {"content": "So.", "audio": {}}, "logprobs": null}]})",
                         R"({"choices": null, "usage": "none"})", R"([1])", ended("stop"), "[DONE]",
                         delta(R"("content": "late")"), "{"});
  ASSERT_TRUE(got.answer);
  EXPECT_EQ(text_of(got.answer->message), "So.");
}

TEST(OpenAiChatReader, ReadsNoMoreCallsThanAnAnswerCanHave) {
  std::vector<AnswerPiece> pieces;
  for (int i = 0; i <= 1'000; ++i) {
    pieces.emplace_back(call(R"("index": )" + std::to_string(i) + R"(, "function": {"name": "look"})"));
  }
  const auto got = read(pieces);
  ASSERT_FALSE(got.answer);
  EXPECT_EQ(got.answer.error().status, 413);
  EXPECT_THAT(got.told, SizeIs(1'001));
}

}  // namespace
}  // namespace patchbay
