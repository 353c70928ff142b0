// How an answer of Anthropic's Messages API is read. Pure. G1.
#include "agent/models/anthropic_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/models/answer_stream.h"
#include "support/anthropic_replies.h"

namespace patchbay {
namespace {

using namespace std::literals;
using test::anthropic_events;
using test::AnthropicReply;
using test::sse_event;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Seen {
  std::expected<ModelAnswer, ProviderFailure> answer;
  std::vector<std::string> told;
  bool complete = false;
};

std::string shown(const ModelEvent& event) {
  if (const auto* text = std::get_if<ModelTextDelta>(&event)) return "text " + text->text;
  if (const auto* thinking = std::get_if<ModelThinkingDelta>(&event)) return "thinking " + thinking->text;
  if (const auto* begun = std::get_if<ModelToolBegun>(&event)) return "tool " + begun->id + " " + begun->name;
  return "retry";
}

// The stream in pieces of so many bytes.
Seen read(const std::string& stream, std::size_t piece = 1 << 20, const ModelRequest& request = {}) {
  Seen seen;
  const auto reader = anthropic_reader("anthropic", request);
  AnswerFrames frames(AnswerFraming::events, *reader, 1u << 20);
  const auto tell = [&](const ModelEvent& event) { seen.told.push_back(shown(event)); };
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    const auto outcome = frames.feed(std::string_view(stream).substr(at, piece), tell);
    if (!outcome) throw outcome.error();
    if (!*outcome) {
      seen.answer = std::unexpected(outcome->error());
      return seen;
    }
  }
  seen.complete = reader->complete();
  seen.answer = reader->finish();
  return seen;
}

std::string stream_of(const AnthropicReply& reply) {
  std::string all;
  for (const auto& event : anthropic_events(reply)) all += event;
  return all;
}

// A whole answer around blocks that are written out.
std::string around(const std::string& blocks) {
  return sse_event("message_start", {{"type", "message_start"}, {"message", {{"model", "claude-test"}}}}) + blocks +
         sse_event("message_delta", {{"type", "message_delta"}, {"delta", {{"stop_reason", "end_turn"}}}}) +
         sse_event("message_stop", {{"type", "message_stop"}});
}
std::string begin(int index, Json block) {
  return sse_event("content_block_start",
                   {{"type", "content_block_start"}, {"index", index}, {"content_block", std::move(block)}});
}
std::string delta(int index, Json piece) {
  return sse_event("content_block_delta",
                   {{"type", "content_block_delta"}, {"index", index}, {"delta", std::move(piece)}});
}

TEST(AnthropicReader, PutsAnAnswerTogetherHoweverItIsCut) {
  const auto stream =
      stream_of({.thinking = "Let me see.",
                 .text = "I look.",
                 .uses = {{.id = "t1", .name = "look", .input = Json{{"at", "sky"}}}, {.id = "t2", .name = "wait"}},
                 .usage = {.input = 7, .cache_read = 100, .cache_written = 20, .output = 33}});
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    const auto seen = read(stream, piece);
    ASSERT_TRUE(seen.answer) << piece;
    EXPECT_TRUE(seen.complete);
    EXPECT_EQ(*seen.answer,
              (ModelAnswer{.message = {.role = Role::assistant,
                                       .parts = {ProviderBlock{.provider = "anthropic",
                                                               .value = {{"type", "thinking"},
                                                                         {"thinking", "Let me see."},
                                                                         {"signature", "c2lnbmVk"}}},
                                                 ModelText{"I look."},
                                                 ModelToolUse{.id = "t1", .name = "look", .input = Json{{"at", "sky"}}},
                                                 ModelToolUse{.id = "t2", .name = "wait"}}},
                           .stop = ModelStop::tool_use,
                           .stop_text = "tool_use",
                           .usage = {.input = 7, .cache_read = 100, .cache_written = 20, .output = 33},
                           .model = "claude-test"}));
    EXPECT_THAT(seen.told, ElementsAre("thinking Let m", "thinking e see.", "text I l", "text ook.", "tool t1 look",
                                       "tool t2 wait"));
  }
}

TEST(AnthropicReader, KnowsWhyTheModelStopped) {
  const std::vector<std::pair<std::string, ModelStop>> cases{
      {"end_turn", ModelStop::end_turn},
      {"stop_sequence", ModelStop::end_turn},
      {"tool_use", ModelStop::tool_use},
      {"max_tokens", ModelStop::max_tokens},
      {"pause_turn", ModelStop::pause},
      {"refusal", ModelStop::refusal},
      {"model_context_window_exceeded", ModelStop::context_full},
      {"something_new", ModelStop::other},
  };
  for (const auto& [word, stop] : cases) {
    const auto seen = read(stream_of({.text = "x", .stop = word}));
    ASSERT_TRUE(seen.answer) << word;
    EXPECT_EQ(seen.answer->stop, stop) << word;
    EXPECT_EQ(seen.answer->stop_text, word);
  }
}

TEST(AnthropicReader, KeepsArgumentsThatAreNoObject) {
  for (const std::string broken : {R"({"a": )", "[1]", "\"text\"", R"({"a":1,"a":2})"}) {
    const auto seen = read(stream_of({.uses = {{.id = "t1", .name = "look", .broken = broken}}}));
    ASSERT_TRUE(seen.answer) << broken;
    EXPECT_THAT(seen.answer->message.parts,
                ElementsAre(ModelPart(ModelToolUse{.id = "t1", .name = "look", .broken = broken})));
  }
}

TEST(AnthropicReader, KeepsBlocksThatItDoesNotKnow) {
  const auto seen = read(around(
      begin(0, {{"type", "compaction"}, {"content", nullptr}}) +
      delta(0, {{"type", "compaction_delta"}, {"content", "All of "}}) +
      delta(0, {{"type", "compaction_delta"}, {"content", "it."}}) +
      begin(1, {{"type", "redacted_thinking"}, {"data", "xyz"}}) +
      begin(2, {{"type", "server_tool_use"}, {"id", "s1"}, {"name", "web"}, {"input", Json::object()}}) +
      delta(2, {{"type", "input_json_delta"}, {"partial_json", "{\"q\":"}}) +
      delta(2, {{"type", "input_json_delta"}, {"partial_json", "1}"}}) + begin(3, {{"type", "text"}, {"text", ""}}) +
      delta(3, {{"type", "citations_delta"}, {"citation", {{"url", "u"}}}}) +
      delta(3, {{"type", "text_delta"}, {"text", "Seen."}}) +
      sse_event("something_new", {{"type", "something_new"}, {"index", 17}})));
  ASSERT_TRUE(seen.answer);
  const auto own = [](Json value) {
    return ModelPart(ProviderBlock{.provider = "anthropic", .value = std::move(value)});
  };
  EXPECT_THAT(seen.answer->message.parts,
              ElementsAre(own({{"type", "compaction"}, {"content", "All of it."}}),
                          own({{"type", "redacted_thinking"}, {"data", "xyz"}}),
                          own({{"type", "server_tool_use"}, {"id", "s1"}, {"name", "web"}, {"input", {{"q", 1}}}}),
                          ModelPart(ModelText{"Seen."})));
}

TEST(AnthropicReader, GivesAnIdOfItsOwnToACallWithoutOne) {
  ModelRequest request;
  request.messages.push_back(std::make_shared<ModelMessage>(
      ModelMessage{.role = Role::assistant, .parts = {ModelToolUse{.id = "t1", .name = "look"}}}));
  const auto seen =
      read(stream_of({.uses = {{.id = "t1", .name = "again"}, {.id = "t2", .name = "new"}}}), 100, request);
  ASSERT_TRUE(seen.answer);
  ASSERT_THAT(seen.answer->message.parts, SizeIs(2));
  const auto& first = std::get<ModelToolUse>(seen.answer->message.parts[0]).id;
  EXPECT_NE(first, "t1");
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(std::get<ModelToolUse>(seen.answer->message.parts[1]).id, "t2");
  EXPECT_THAT(seen.told, ElementsAre("tool " + first + " again", "tool t2 new"));
}

TEST(AnthropicReader, APieceOfACallChangesNeitherItsIdNorItsName) {
  const auto seen =
      read(around(begin(0, {{"type", "tool_use"}, {"id", "t1"}, {"name", "look"}}) +
                  delta(0, {{"type", "input_json_delta"}, {"partial_json", "{}"}, {"id", "2"}, {"name", "_again"}})));
  ASSERT_TRUE(seen.answer);
  EXPECT_THAT(seen.answer->message.parts, ElementsAre(ModelPart(ModelToolUse{.id = "t1", .name = "look"})));
}

TEST(AnthropicReader, AnErrorInsideTheStreamCountsLikeItsStatus) {
  const std::vector<std::pair<std::string, int>> cases{{"invalid_request_error", 400}, {"authentication_error", 401},
                                                       {"rate_limit_error", 429},      {"api_error", 500},
                                                       {"overloaded_error", 529},      {"something_new", 500}};
  for (const auto& [type, status] : cases) {
    const auto seen = read(begin(0, {{"type", "text"}, {"text", "Half"}}) +
                           sse_event("error", {{"type", "error"}, {"error", {{"type", type}, {"message", "No."}}}}));
    ASSERT_FALSE(seen.answer) << type;
    EXPECT_EQ(seen.answer.error(), (ProviderFailure{.status = status, .type = type, .message = "No."}));
    EXPECT_THAT(seen.told, ElementsAre("text Half"));
  }
}

TEST(AnthropicReader, AStreamThatIsCutOffIsNoAnswer) {
  const auto events = anthropic_events({.text = "Hello there.", .uses = {{.id = "t", .name = "x"}}});
  std::string stream;
  for (std::size_t at = 0; at + 2 < events.size(); ++at) {
    stream += events[at];
    const auto seen = read(stream);
    ASSERT_FALSE(seen.answer) << at;
    EXPECT_EQ(seen.answer.error().status, 0);
  }
  // Everything came but the last frame.
  const auto seen = read(stream + events[events.size() - 2]);
  EXPECT_FALSE(seen.complete);
  EXPECT_TRUE(seen.answer);
}

TEST(AnthropicReader, NonsenseIsAFailureThatMayPass) {
  for (const std::string& stream :
       {"data: {\"type\"\n\n"s, "data: 17\n\n"s, around(delta(0, {{"text", "x"}})), around(begin(0, Json("x"))),
        around(begin(-1, Json::object())), around(begin(0, Json::object()) + begin(0, Json::object()))}) {
    const auto seen = read(stream);
    ASSERT_FALSE(seen.answer) << stream;
    EXPECT_EQ(seen.answer.error().status, 0) << stream;
    EXPECT_THAT(seen.told, IsEmpty());
  }
}

TEST(AnthropicReader, JsonInPlaceOfEventsIsReadAsAWhole) {
  const auto error = to_text(Json{{"type", "error"}, {"error", {{"type", "api_error"}, {"message", "No."}}}});
  const auto reader = anthropic_reader("anthropic", {});
  AnswerFrames frames(AnswerFraming::events, *reader, 1u << 20);
  for (const auto piece : {"\n "sv, std::string_view(error).substr(0, 9), std::string_view(error).substr(9)}) {
    const auto outcome = frames.feed(piece, {});
    ASSERT_TRUE(outcome && *outcome);
  }
  const auto end = frames.end({});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error(), (ProviderFailure{.status = 500, .type = "api_error", .message = "No."}));
}

TEST(AnthropicReader, TakesTheTypeFromTheDataOrTheEvent) {
  std::string stream = stream_of({.text = "Hello"});
  for (auto at = stream.find("event: "); at != std::string::npos; at = stream.find("event: ")) {
    stream.erase(at, stream.find('\n', at) - at + 1);
  }
  const auto seen = read(stream);
  ASSERT_TRUE(seen.answer);
  EXPECT_EQ(text_of(seen.answer->message), "Hello");
}

}  // namespace
}  // namespace patchbay
