// What model APIs and the servers that speak like them do, each over real HTTP: what a client has to read, survive and
// give back. G1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "spoken.h"
#include "support/loop.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

struct Quirk {
  const char* what;
  Spoken spoken;
  std::vector<std::string> frames;  // the data of each event, or a line
  std::string read;                 // see shown()
  // In the next request, when the conversation goes on with what was read.
  std::vector<std::string> goes_back = {};
  std::vector<std::string> stays_away = {};
};

void PrintTo(const Quirk& quirk, std::ostream* out) { *out << quirk.what; }

// "tool_use: text, name {arguments}, <block>; 10+0+0/5", and "!" behind it when something was warned of.
std::string shown(const ModelAnswer& answer) {
  std::vector<std::string> parts;
  for (const auto& part : answer.message.parts) {
    if (const auto* text = std::get_if<ModelText>(&part)) parts.push_back(text->text);
    if (const auto* use = std::get_if<ModelToolUse>(&part)) {
      parts.push_back(use->name + " " + (use->broken.empty() ? to_text(use->input) : "broken " + use->broken));
    }
    if (const auto* block = std::get_if<ProviderBlock>(&part)) parts.push_back("<" + to_text(block->value) + ">");
  }
  const auto& usage = answer.usage;
  std::string out(to_string(answer.stop));
  out += ": " + join(parts, ", ") + "; " + std::to_string(usage.input) + "+" + std::to_string(usage.cache_read) + "+" +
         std::to_string(usage.cache_written) + "/" + std::to_string(usage.output);
  return out + (answer.warnings.empty() ? "" : "!");
}

class ModelQuirk : public testing::TestWithParam<Quirk> {};

TEST_P(ModelQuirk, IsRead) {
  const auto& quirk = GetParam();
  std::vector<std::string> frames;
  for (const auto& frame : quirk.frames) {
    frames.push_back(quirk.spoken == Spoken::ollama ? frame + "\n" : "data: " + frame + "\n\n");
  }
  ModelApi api({streamed(quirk.spoken, frames), reply_of(quirk.spoken, Said{.text = "And on."})});
  auto pool = std::make_shared<ToolPool>();
  for (const auto* name : {"look", "smell"}) {
    pool->tools.push_back(
        {.name = name, .description = "Does.", .input_schema = std::make_shared<const Json>(Json{{"type", "object"}})});
  }
  const auto message = [](Role role, std::vector<ModelPart> parts) {
    return std::make_shared<const ModelMessage>(ModelMessage{.role = role, .parts = std::move(parts)});
  };
  ModelRequest request{.tools = pool, .messages = {message(Role::user, {ModelText{"Hello"}})}};
  run_task([&]() -> Task<void> {
    MakeModelOptions options;
    options.retry.attempts = 1;
    const auto model = model_of(quirk.spoken, api.url(), {}, std::move(options));
    auto answer = co_await as_result(model->ask(request, {}));
    EXPECT_EQ(answer ? shown(*answer) : "failed: " + std::string(answer.error().message()), quirk.read);
    if (!answer) co_return;
    std::vector<ModelPart> outcomes;
    for (const auto& part : answer->message.parts) {
      const auto* use = std::get_if<ModelToolUse>(&part);
      if (use) outcomes.emplace_back(ModelToolOutcome{.id = use->id, .name = use->name, .blocks = {ModelText{"done"}}});
    }
    if (outcomes.empty()) outcomes.emplace_back(ModelText{"go on"});
    request.messages.push_back(message(Role::assistant, answer->message.parts));
    request.messages.push_back(message(Role::user, std::move(outcomes)));
    EXPECT_TRUE(co_await as_result(model->ask(request, {})));
    const auto sent = api.requests().at(1).body;
    for (const auto& text : quirk.goes_back) EXPECT_THAT(sent, HasSubstr(text));
    for (const auto& text : quirk.stays_away) EXPECT_THAT(sent, Not(HasSubstr(text)));
  });
}

// ---- Anthropic

std::string anthropic_begin() {
  return R"({"type":"message_start","message":{"id":"m","model":"c","usage":{"input_tokens":7,"cache_read_input_tokens":2,)"
         R"("cache_creation_input_tokens":3,"output_tokens":1}}})";
}
std::string anthropic_end(const std::string& stop) {
  return R"({"type":"message_delta","delta":{"stop_reason":")" + stop + R"("},"usage":{"output_tokens":5}})";
}
std::string block(int index, const std::string& begun) {
  return R"({"type":"content_block_start","index":)" + std::to_string(index) + R"(,"content_block":)" + begun + "}";
}
std::string delta(int index, const std::string& delta) {
  return R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":)" + delta + "}";
}
Quirk anthropic(const char* what, std::vector<std::string> blocks, const std::string& stop, std::string read,
                std::vector<std::string> goes_back = {}) {
  std::vector<std::string> frames{anthropic_begin(), R"({"type":"ping"})", R"({"type":"event_of_tomorrow","x":[1]})"};
  frames.insert(frames.end(), blocks.begin(), blocks.end());
  frames.push_back(anthropic_end(stop));
  frames.push_back(R"({"type":"message_stop"})");
  return {what, Spoken::anthropic, std::move(frames), std::move(read), std::move(goes_back)};
}
const std::string said_hi = block(0, R"({"type":"text","text":"hi"})");

INSTANTIATE_TEST_SUITE_P(
    Anthropic, ModelQuirk,
    testing::Values(
        anthropic("ThoughtsGoBackWithTheirSignature",
                  {block(0, R"({"type":"thinking","thinking":"","signature":""})"),
                   delta(0, R"({"type":"thinking_delta","thinking":"Hm"})"),
                   delta(0, R"({"type":"thinking_delta","thinking":"m."})"),
                   delta(0, R"({"type":"signature_delta","signature":"c2ln"})"),
                   block(1, R"({"type":"redacted_thinking","data":"ZGF0YQ"})"),
                   block(2, R"({"type":"tool_use","id":"a","name":"look","input":{},"caller":{"type":"direct"}})"),
                   delta(2, R"({"type":"input_json_delta","partial_json":"{\"at\":"})"),
                   delta(2, R"({"type":"input_json_delta","partial_json":"1}"})")},
                  "tool_use",
                  R"(tool_use: <{"type":"thinking","thinking":"Hmm.","signature":"c2ln"}>, )"
                  R"(<{"type":"redacted_thinking","data":"ZGF0YQ"}>, look {"at":1}; 7+2+3/5)",
                  {R"({"type":"thinking","thinking":"Hmm.","signature":"c2ln"})",
                   R"({"type":"redacted_thinking","data":"ZGF0YQ"})"}),
        anthropic("ACompactionGoesBack",
                  {block(0, R"({"type":"compaction","content":""})"),
                   delta(0, R"({"type":"compaction_delta","content":"so far"})"),
                   block(1, R"({"type":"text","text":""})"),
                   delta(1, R"({"type":"citations_delta","citation":{"type":"x"}})"),
                   delta(1, R"({"type":"text_delta","text":"hi"})")},
                  "end_turn", R"(end_turn: <{"type":"compaction","content":"so far"}>, hi; 7+2+3/5)",
                  {R"({"type":"compaction","content":"so far"})"}),
        anthropic("StopSequence", {said_hi}, "stop_sequence", "end_turn: hi; 7+2+3/5"),
        anthropic("MaxTokens", {said_hi}, "max_tokens", "max_tokens: hi; 7+2+3/5"),
        anthropic("PauseTurn", {said_hi}, "pause_turn", "pause: hi; 7+2+3/5"),
        anthropic("Refusal", {said_hi}, "refusal", "refusal: hi; 7+2+3/5"),
        anthropic("ContextFull", {said_hi}, "model_context_window_exceeded", "context_full: hi; 7+2+3/5"),
        anthropic("AReasonOfTomorrow", {said_hi}, "tomorrow", "other: hi; 7+2+3/5"),
        anthropic("ACallWithoutArguments", {block(0, R"({"type":"tool_use","id":"a","name":"look","input":{}})")},
                  "tool_use", "tool_use: look {}; 7+2+3/5")),
    testing::PrintToStringParamName());

// ---- OpenAI Responses

std::string item_done(int index, const std::string& item) {
  return R"({"type":"response.output_item.done","output_index":)" + std::to_string(index) + R"(,"item":)" + item + "}";
}
std::string response_end(const std::string& members) {
  return R"({"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":10,)"
         R"("input_tokens_details":{"cached_tokens":4},"output_tokens":5})" +
         members + "}}";
}
const std::string said_by_responses =
    item_done(0, R"({"type":"message","id":"m2","role":"assistant","content":[{"type":"output_text","text":"hi"}]})");

INSTANTIATE_TEST_SUITE_P(
    Responses, ModelQuirk,
    testing::Values(
        Quirk{
            "ItemsWhoseIdsChangeAndACompletionThatSaysNothing",
            Spoken::responses,
            {R"({"type":"response.created","response":{"status":"in_progress"}})",
             R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r1","summary":[]}})",
             R"({"type":"response.reasoning_summary_text.delta","item_id":"r9","output_index":0,"delta":"Hm."})",
             item_done(0, R"({"type":"reasoning","id":"r2","summary":[],"encrypted_content":"ZW5j"})"),
             R"({"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"f1",)"
             R"("call_id":"a","name":"look","arguments":""}})",
             R"({"type":"response.function_call_arguments.delta","item_id":"f7","output_index":1,"delta":"{\"at\":"})",
             R"({"type":"response.function_call_arguments.delta","item_id":"f8","output_index":1,"delta":"1}"})",
             R"({"type":"response.function_call_arguments.done","output_index":1,"arguments":"{\"at\":1}"})",
             response_end("")},
            R"(tool_use: <{"type":"reasoning","id":"r2","summary":[],"encrypted_content":"ZW5j"}>, look {"at":1}; 6+4+0/5)",
            {R"("encrypted_content":"ZW5j")", R"("call_id":"a")"}},
        Quirk{"ItemsOfTomorrowGoBack",
              Spoken::responses,
              {item_done(0, R"({"type":"compaction","id":"c","encrypted_content":"c29mYXI"})"),
               R"({"type":"response.event_of_tomorrow","x":1})",
               item_done(1, R"({"type":"message","content":[{"type":"output_text","text":"hi"}]})"), response_end("")},
              R"(end_turn: <{"type":"compaction","id":"c","encrypted_content":"c29mYXI"}>, hi; 6+4+0/5)",
              {R"({"type":"compaction","id":"c","encrypted_content":"c29mYXI"})"}},
        Quirk{"CutOffAtItsLength",
              Spoken::responses,
              {said_by_responses, response_end(R"(,"incomplete_details":{"reason":"max_output_tokens"})")},
              "max_tokens: hi; 6+4+0/5"},
        Quirk{"AFilterIsARefusal",
              Spoken::responses,
              {said_by_responses, response_end(R"(,"incomplete_details":{"reason":"content_filter"})")},
              "refusal: hi; 6+4+0/5"},
        Quirk{
            "ARefusalIsSaid",
            Spoken::responses,
            {R"({"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"No."})", response_end("")},
            "refusal: No.; 6+4+0/5"},
        Quirk{
            "AFailureBehindAGoodStatus",
            Spoken::responses,
            {said_by_responses,
             R"({"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"Oops"}}})"},
            "failed: openai answered 500 server_error: Oops"}),
    testing::PrintToStringParamName());

// ---- chat completions, and servers that speak like them

std::string chat_delta(const std::string& delta, const std::string& finish = "null") {
  return R"({"choices":[{"index":0,"delta":)" + delta + R"(,"finish_reason":)" + finish + "}]}";
}
std::string tool_delta(const std::string& call) { return chat_delta(R"({"tool_calls":[)" + call + "]}"); }
const std::string chat_usage =
    R"({"choices":[],"usage":{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens":5}})";
Quirk thinks_in(const char* what, const std::string& word) {
  return {what,
          Spoken::chat,
          {chat_delta("{\"" + word + "\":\"Hm.\"}"),
           tool_delta(R"({"index":0,"id":"a","function":{"name":"look","arguments":"{}"}})"),
           chat_delta("{}", "\"tool_calls\""), chat_usage, "[DONE]"},
          "tool_use: <{\"" + word + "\":\"Hm.\"}>, look {}; 6+4+0/5",
          {"\"" + word + "\":\"Hm.\""}};
}

INSTANTIATE_TEST_SUITE_P(
    Chat, ModelQuirk,
    testing::Values(Quirk{"EveryCallHasIndexZeroAndAnotherIdAndLaterPiecesHaveNone",
                          Spoken::chat,
                          {tool_delta(R"({"index":0,"id":"a","function":{"name":"look","arguments":""}})"),
                           tool_delta(R"({"index":0,"id":"","function":{"arguments":"{\"n\":"}})"),
                           tool_delta(R"({"index":0,"id":"","function":{"name":"","arguments":"1}"}})"),
                           tool_delta(R"({"index":0,"id":"b","function":{"name":"smell","arguments":""}})"),
                           tool_delta(R"({"index":0,"id":"","function":{"arguments":"{\"n\":2}"}})"),
                           chat_delta("{}", "\"stop\""), chat_usage, "[DONE]"},
                          R"(tool_use: look {"n":1}, smell {"n":2}; 6+4+0/5)",
                          {R"("id":"a")", R"("id":"b")"}},
                    thinks_in("ThinksInReasoningContent", "reasoning_content"),
                    thinks_in("ThinksInReasoning", "reasoning"), thinks_in("ThinksInReasoningText", "reasoning_text"),
                    Quirk{"ACallAsTextIsWarnedOf",
                          Spoken::chat,
                          {chat_delta(R"({"content":"<tool_call>\n{\"name\": \"look\"}\n</tool_call>"})"),
                           chat_delta("{}", "\"stop\""), "[DONE]"},
                          "end_turn: <tool_call>\n{\"name\": \"look\"}\n</tool_call>; 0+0+0/0!"},
                    Quirk{"CutOffAtItsLength",
                          Spoken::chat,
                          {chat_delta(R"({"content":"hi"})"), chat_delta("{}", "\"length\""), chat_usage, "[DONE]"},
                          "max_tokens: hi; 6+4+0/5"},
                    Quirk{"AFilterIsARefusal",
                          Spoken::chat,
                          {chat_delta(R"({"content":"hi"})"), chat_delta("{}", "\"content_filter\""), chat_usage},
                          "refusal: hi; 6+4+0/5"},
                    Quirk{"NobodySaysDone",
                          Spoken::chat,
                          {chat_delta(R"({"role":"assistant","content":null,"novel":1})"),
                           chat_delta(R"({"content":"hi"})", "\"stop\"")},
                          "end_turn: hi; 0+0+0/0"}),
    testing::PrintToStringParamName());

// ---- Gemini

std::string gemini_chunk(const std::string& parts, const std::string& finish = {}) {
  return R"({"candidates":[{"content":{"role":"model","parts":[)" + parts + "]}" +
         (finish.empty() ? "" : R"(,"finishReason":")" + finish + "\"") + "}]" +
         (finish.empty() ? ""
                         : R"(,"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,)"
                           R"("candidatesTokenCount":3,"thoughtsTokenCount":2})") +
         "}";
}

INSTANTIATE_TEST_SUITE_P(
    Gemini, ModelQuirk,
    testing::Values(
        Quirk{"ThoughtsAndSignaturesGoBack",
              Spoken::gemini,
              {gemini_chunk(R"({"text":"Hm","thought":true})"),
               gemini_chunk(R"({"functionCall":{"name":"look","args":{"at":1}},"thoughtSignature":"c2ln"})"),
               gemini_chunk(R"({"functionCall":{"name":"smell"}})", "STOP")},
              R"(tool_use: <{"model":"gemini-3.5-flash","part":{"text":"Hm","thought":true}}>, )"
              R"(<{"model":"gemini-3.5-flash","signature":"c2ln"}>, look {"at":1}, smell {}; 6+4+0/5)",
              {R"("thoughtSignature":"c2ln")", R"({"text":"Hm","thought":true})"}},
        Quirk{"ACallThatCannotBeRead",
              Spoken::gemini,
              {gemini_chunk("", "MALFORMED_FUNCTION_CALL")},
              "malformed: ; 6+4+0/5"},
        Quirk{"ACallThatNobodyExpected",
              Spoken::gemini,
              {gemini_chunk("", "UNEXPECTED_TOOL_CALL")},
              "malformed: ; 6+4+0/5"},
        Quirk{"SafetyIsARefusal", Spoken::gemini, {gemini_chunk(R"({"text":"hi"})", "SAFETY")}, "refusal: hi; 6+4+0/5"},
        Quirk{"AQuestionThatIsBlocked",
              Spoken::gemini,
              {R"({"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}})"},
              "refusal: ; 0+0+0/0"},
        Quirk{"CutOffAtItsLength",
              Spoken::gemini,
              {gemini_chunk(R"({"text":"hi"})", "MAX_TOKENS")},
              "max_tokens: hi; 6+4+0/5"},
        Quirk{
            "AReasonOfTomorrow", Spoken::gemini, {gemini_chunk(R"({"text":"hi"})", "TOMORROW")}, "other: hi; 6+4+0/5"},
        Quirk{"CountsBehindTheLastPart",
              Spoken::gemini,
              {R"({"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]})",
               R"({"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5}})"},
              "end_turn: hi; 10+0+0/5"}),
    testing::PrintToStringParamName());

// ---- Ollama

INSTANTIATE_TEST_SUITE_P(
    Ollama, ModelQuirk,
    testing::Values(
        Quirk{"ThoughtsGoBackAndCallsWithoutIdsHaveSome",
              Spoken::ollama,
              {R"({"message":{"thinking":"Hm","content":""},"done":false})",
               R"({"message":{"content":"","tool_calls":[{"function":{"name":"look","arguments":"{\"at\":1}"}},)"
               R"({"function":{"name":"smell","arguments":{}}}]},"done":false})",
               R"({"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":5})"},
              R"(tool_use: <{"model":"qwen3","thinking":"Hm"}>, look {"at":1}, smell {}; 10+0+0/5)",
              {R"("thinking":"Hm")", R"("tool_call_id":"call_1")", R"("tool_call_id":"call_2")", R"("num_ctx":32768)"}},
        Quirk{
            "CutOffAtItsLength",
            Spoken::ollama,
            {R"({"message":{"content":"hi"},"done":false})", R"({"done":true,"done_reason":"length","eval_count":5})"},
            "max_tokens: hi; 0+0+0/5"},
        Quirk{"OlderServersGiveNoReason",
              Spoken::ollama,
              {R"({"message":{"content":"hi"},"done":false})", "", R"({"done":true})"},
              "end_turn: hi; 0+0+0/0"}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace patchbay::test
