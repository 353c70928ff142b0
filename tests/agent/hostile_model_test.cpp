// APIs that are broken or mean harm, over real HTTP, for every provider: what they send is bounded, and there is one
// outcome. G1, P3.
#include <atomic>
#include <limits>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "spoken.h"
#include "support/loop.h"
#include "support/scripted_server.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::size_t limit = 1u << 20;

ModelRequest hello() {
  const auto pool = std::make_shared<ToolPool>();
  pool->tools.push_back({.name = "look",
                         .description = "Looks.",
                         .input_schema = std::make_shared<const Json>(Json{{"type", "object"}})});
  return {.tools = pool,
          .messages = {
              std::make_shared<const ModelMessage>(ModelMessage{.role = Role::user, .parts = {ModelText{"Hello"}}})}};
}

std::vector<ModelToolUse> uses_of(const ModelAnswer& answer) {
  std::vector<ModelToolUse> out;
  for (const auto& part : answer.message.parts) {
    if (const auto* use = std::get_if<ModelToolUse>(&part)) out.push_back(*use);
  }
  return out;
}

class HostileModel : public testing::TestWithParam<Spoken> {
 protected:
  // With a small limit, unless the test wants the usual one.
  Result<ModelAnswer> ask(const std::string& url, std::size_t largest = limit) {
    Result<ModelAnswer> answer = fail(Errc::internal, "not asked");
    run_task([&]() -> Task<void> {
      MakeModelOptions options;
      options.retry.first = options.retry.most = 0ms;
      options.limits.message = largest;
      const auto model = model_of(spoken, url, {}, std::move(options));
      answer = co_await as_result(model->ask(hello(), {}));
    });
    return answer;
  }

  // One call: the pieces of its arguments, or where those are never in pieces, the arguments.
  struct Call {
    std::uint64_t index = 0;
    std::string id = {};
    std::string name = {};
    std::vector<std::string> pieces = {};
  };
  std::vector<std::string> frames_with(const std::vector<Call>& calls) const {
    auto frames = frames_of(spoken, {});
    std::vector<std::string> more;
    const auto add = [&](Json event) {
      more.push_back(spoken == Spoken::ollama ? to_text(event) + "\n" : sse_event("", event));
    };
    for (const auto& call : calls) {
      std::string whole;
      for (const auto& piece : call.pieces) whole += piece;
      const auto arguments = parse_json(whole);
      const Json input = arguments ? *arguments : Json::object();
      switch (spoken) {
        case Spoken::anthropic:
          add({{"type", "content_block_start"},
               {"index", call.index},
               {"content_block", Json{{"type", "tool_use"}, {"id", call.id}, {"name", call.name}}}});
          for (const auto& piece : call.pieces) {
            add({{"type", "content_block_delta"},
                 {"index", call.index},
                 {"delta", Json{{"type", "input_json_delta"}, {"partial_json", piece}}}});
          }
          break;
        case Spoken::responses:
          add({{"type", "response.output_item.added"},
               {"output_index", call.index},
               {"item", Json{{"type", "function_call"}, {"call_id", call.id}, {"name", call.name}}}});
          for (const auto& piece : call.pieces) {
            add({{"type", "response.function_call_arguments.delta"}, {"output_index", call.index}, {"delta", piece}});
          }
          break;
        case Spoken::chat: {
          const auto delta = [&](Json tool) {
            tool["index"] = call.index;
            add({{"choices",
                  Json::array({Json{{"index", 0}, {"delta", Json{{"tool_calls", Json::array({std::move(tool)})}}}}})}});
          };
          delta({{"id", call.id}, {"function", Json{{"name", call.name}, {"arguments", ""}}}});
          for (const auto& piece : call.pieces) delta({{"function", Json{{"arguments", piece}}}});
          break;
        }
        case Spoken::gemini:
          add({{"candidates",
                Json::array({Json{
                    {"content", Json{{"parts", Json::array({Json{{"functionCall", Json{{"id", call.id},
                                                                                       {"name", call.name},
                                                                                       {"args", input}}}}})}}}}})}});
          break;
        case Spoken::ollama:
          add({{"message",
                Json{{"tool_calls",
                      Json::array(
                          {Json{{"id", call.id}, {"function", Json{{"name", call.name}, {"arguments", input}}}}})}}}});
          break;
      }
    }
    // Where an answer begins with something, behind that, and always in front of its end.
    const auto at = spoken == Spoken::anthropic || spoken == Spoken::responses || spoken == Spoken::chat ? 1 : 0;
    frames.insert(frames.begin() + at, more.begin(), more.end());
    return frames;
  }
  ModelApiReply calls(const std::vector<Call>& each) const { return streamed(spoken, frames_with(each)); }

  const Spoken spoken = GetParam();
};

INSTANTIATE_TEST_SUITE_P(, HostileModel, every_provider(), testing::PrintToStringParamName());

TEST_P(HostileModel, WhatNeverEndsIsEndedByUs) {
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
  const std::string many(1u << 16, 'x');
  std::string lines;
  while (lines.size() < many.size()) lines += spoken == Spoken::ollama ? "\r\n \n" : ": still here\n\n";
  struct Case {
    std::string begin;
    std::string again;
    std::string_view words;
  };
  for (const auto& one :
       {Case{ok + (spoken == Spoken::ollama ? "{\"message\": {\"content\": \"" : "data: "), many, "larger than 1 MiB"},
        Case{ok, lines, "larger than 1 MiB"}, Case{ok + "event: ", many, "larger than 1 MiB"},
        Case{ok + "{\"error\": \"", many, "larger than 1 MiB"},
        Case{"HTTP/1.1 200 OK\r\n", "X-More: " + many.substr(0, 1'000) + "\r\n", "header"},
        Case{"HTTP/1.1 200 OK\r\nX-More: ", many, ""},
        Case{"", "HTTP/1.1 103 Early Hints\r\nLink: " + many.substr(0, 1'000) + "\r\n\r\n", ""},
        Case{"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", many, "400"}}) {
    std::atomic<int> asked = 0, ended = 0;
    {
      ScriptedServer server([&](ScriptConnection& connection) {
        connection.read_request();
        ++asked;
        try {
          connection.write(one.begin);
          for (;;) connection.write(one.again);
        } catch (const ScriptConnection::Ended&) {
          ++ended;
          throw;
        }
      });
      const auto answer = ask(server.url(""));
      ASSERT_FALSE(answer) << one.begin;
      EXPECT_NE(answer.error().code(), Errc::limit) << answer.error().message();
      EXPECT_NE(answer.error().code(), Errc::internal);
      EXPECT_THAT(answer.error().message(), HasSubstr(one.words));
      EXPECT_LE(answer.error().message().size(), 2'000u);
    }
    EXPECT_EQ(ended, asked);
    EXPECT_GE(asked, 1);
    EXPECT_LE(asked, 8);
  }
}

TEST_P(HostileModel, NumbersThatMeanNothingCountAsNone) {
  const std::regex counts("((?:[a-z]+_tokens|[a-zA-Z]+TokenCount|[a-z_]*eval_count)\":)[0-9]+");
  for (const auto* number : {"-5", "1e308", "1e-308", "1e999", "18446744073709551615", "123456789012345678901234567890",
                             "0.5", "\"12\"", "null", "[]", "{}", "true"}) {
    auto frames = frames_of(spoken, {.text = "Hello."});
    for (auto& frame : frames) frame = std::regex_replace(frame, counts, "$01" + std::string(number));
    ModelApi api({streamed(spoken, frames)});
    const auto answer = ask(api.url());
    ASSERT_TRUE(answer) << number << ": " << answer.error().message();
    EXPECT_EQ(text_of(answer->message), "Hello.");
    EXPECT_LT(answer->usage.prompt() + answer->usage.output, 4'000'000'000u) << number;
  }
}

TEST_P(HostileModel, AHundredThousandPiecesAreOneCall) {
  constexpr std::size_t many = 100'000;
  std::vector<std::string> pieces(many, "x");
  pieces.insert(pieces.begin(), "{\"text\": \"");
  pieces.push_back("\"}");
  std::string all;
  for (const auto& frame : frames_with({{.index = 1, .id = "a", .name = "look", .pieces = pieces}})) all += frame;
  ModelApi api({streamed(spoken, {all})});
  const auto answer = ask(api.url(), Limits{}.message);
  ASSERT_TRUE(answer) << answer.error().message();
  const auto uses = uses_of(*answer);
  ASSERT_THAT(uses, SizeIs(1));
  EXPECT_EQ(uses[0].broken, "");
  EXPECT_EQ(uses[0].input["text"].as_text().size(), many);
}

TEST_P(HostileModel, IdsThatAreThereTwiceAndPlacesWithGapsAreToldApart) {
  const auto far = std::numeric_limits<std::int64_t>::max();
  const std::string long_id(100'000, 'i');
  ModelApi api({calls({{.index = 7, .id = "a", .name = "one", .pieces = {"{\"n\": 1}"}},
                       {.index = 900, .id = "a", .name = "two", .pieces = {"{\"n\": 2}"}},
                       {.index = 901, .id = long_id, .name = "three", .pieces = {"{\"n\": 3}"}},
                       {.index = 902, .id = "", .name = "four", .pieces = {"{\"n\": 4}"}},
                       {.index = static_cast<std::uint64_t>(far),
                        .id = long_id,
                        .name = std::string(100'000, 'n'),
                        .pieces = {"{\"n\": 5}"}}})});
  const auto answer = ask(api.url());
  ASSERT_TRUE(answer) << answer.error().message();
  const auto uses = uses_of(*answer);
  ASSERT_THAT(uses, SizeIs(5));
  std::set<std::string> ids;
  for (std::size_t at = 0; at < uses.size(); ++at) {
    EXPECT_TRUE(ids.insert(uses[at].id).second) << uses[at].id;
    EXPECT_THAT(uses[at].id, Not(IsEmpty()));
    EXPECT_LE(uses[at].id.size(), 256u);
    EXPECT_LE(uses[at].name.size(), 256u);
    EXPECT_EQ(uses[at].input, (Json{{"n", at + 1}}));
  }
  EXPECT_EQ(uses[0].id, "a");
}

TEST_P(HostileModel, AnAnswerHasSoManyCallsAndNoMore) {
  std::vector<Call> many;
  for (std::uint64_t i = 0; i < 1'200; ++i) {
    many.push_back({.index = i + 1, .id = "c" + std::to_string(i), .name = "look", .pieces = {"{}"}});
  }
  auto reply = calls(many);
  reply.repeat = true;
  ModelApi api({reply});
  const auto answer = ask(api.url());
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Errc::http) << answer.error().message();
  EXPECT_EQ(answer.error().http_status(), 413);
  EXPECT_THAT(api.requests(), SizeIs(1)) << "asking again would not make it less";
}

TEST_P(HostileModel, NonsenseIsAskedAgainSoOftenAndNoMore) {
  std::string deep;
  for (int level = 0; level < 50'000; ++level) deep += "{\"a\":";
  for (const auto& nonsense :
       {deep, std::string("\"a text\""), std::string("{\"type\": 7, \"choices\": 8, \"message\": 9}"),
        std::string("{\"candidates\": {}, \"done\": \"yes\", \"usage\": 1}"), std::string("{\"\xff\xfe\": \"\xc3\"}"),
        std::string("{\"a\": 1, \"a\": 2}")}) {
    auto reply = streamed(spoken, {spoken == Spoken::ollama ? nonsense + "\n" : "data: " + nonsense + "\n\n"});
    reply.repeat = true;
    ModelApi api({reply});
    const auto answer = ask(api.url());
    ASSERT_FALSE(answer) << nonsense.substr(0, 100);
    EXPECT_EQ(answer.error().code(), Errc::closed) << answer.error().message();
    EXPECT_THAT(answer.error().message(), HasSubstr("tried 8 times"));
    EXPECT_LE(answer.error().message().size(), 2'000u);
    EXPECT_THAT(api.requests(), SizeIs(8));
  }
}

// The key and the conversation go where somebody sent them, and nowhere else.
TEST_P(HostileModel, NothingIsSentToWhereAnAnswerLeads) {
  ModelApi other({[] {
    ModelApiReply any{.chunks = {"{}"}};
    any.repeat = true;
    return any;
  }()});
  for (const int status : {300, 301, 302, 303, 307, 308}) {
    for (const auto& place : {other.url() + "/v1/messages", "//127.0.0.1:" + std::to_string(other.port()) + "/"}) {
      ModelApi api({{.status = status, .headers = {{"Location", place}, {"Refresh", "0; url=" + place}}}});
      const auto answer = ask(api.url());
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().code(), Errc::http);
      EXPECT_EQ(answer.error().http_status(), status);
      EXPECT_THAT(answer.error().message(), HasSubstr("redirects to another address"));
      EXPECT_THAT(api.requests(), SizeIs(1));
    }
  }
  EXPECT_THAT(other.requests(), IsEmpty());
}

TEST_P(HostileModel, TheKeyIsInNoMessageThatAnApiCausesOrWrites) {
  if (spoken == Spoken::ollama) return;  // it has none
  const std::string key = "sk-test-1234";
  for (const int status : {400, 401, 403, 404, 418}) {
    ModelApi api({failure_of(spoken, status, "your key is " + key + ", is it not? " + std::string(399, 'k') + key),
                  failure_of(spoken, status, key)});
    const auto answer = ask(api.url());
    ASSERT_FALSE(answer);
    EXPECT_THAT(answer.error().message(), Not(HasSubstr(key))) << status;
  }
  auto failing = frames_up_to(frames_of(spoken, {.text = "Void this."}), "Void ");
  failing.push_back(error_frame(spoken, 403, "the key " + key));
  ModelApi api({streamed(spoken, failing)});
  const auto answer = ask(api.url());
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message(), Not(HasSubstr(key)));
}

}  // namespace
}  // namespace patchbay::test
