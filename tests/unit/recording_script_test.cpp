// What a recording says that a server did, and which of it another client's request means. N8.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recording/script.h"

namespace patchbay {
namespace {

using End = RecordedExchange::End;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// One line each: "> {…}" to the server, "< {…}" from it, "! mark {…}".
Script script(const std::vector<std::string>& lines) {
  std::string text = R"({"patchbayRecording":1,"server":"files"})";
  text += "\n";
  int time = 0;
  for (const auto& line : lines) {
    auto frame = line.substr(2);
    if (line[0] == '!') {
      text += R"({"t":)" + std::to_string(++time) + R"(,"c":1,)" + frame + "}\n";
      continue;
    }
    frame.insert(1, R"("jsonrpc":"2.0",)");
    text += R"({"t":)" + std::to_string(++time) + R"(,"c":1,"dir":")" + (line[0] == '>' ? "sent" : "received") +
            R"(","frame":)" + frame + "}\n";
  }
  const auto recording = read_recording(text);
  EXPECT_TRUE(recording.has_value());
  EXPECT_THAT(recording->warnings, IsEmpty());
  return script_of(*recording);
}

std::vector<std::string> methods(const std::vector<Message>& messages) {
  std::vector<std::string> out;
  for (const auto& message : messages) {
    if (const auto* request = std::get_if<Request>(&message)) out.push_back(request->method + "?");
    if (const auto* notification = std::get_if<Notification>(&message)) out.push_back(notification->method);
  }
  return out;
}

Json params(std::string_view text) { return params_to_match(*Payload::parse(std::string(text))); }

// N8: what the server said by itself keeps its place.
TEST(RecordingScript, WhatTheServerSaidStaysWhereItWasSaid) {
  const auto played = script({
      R"(< {"method":"early"})",
      R"(> {"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}})",
      R"(> {"id":2,"method":"tools/call","params":{"name":"b"}})",
      R"(< {"method":"notifications/progress","params":{"progressToken":1,"progress":1}})",
      R"(< {"id":"q","method":"elicitation/create","params":{}})",
      R"(> {"id":"q","result":{}})",
      R"(< {"id":2,"result":{}})",
      R"(< {"method":"notifications/tools/list_changed"})",
      R"(< {"id":1,"result":{}})",
      R"(< {"method":"late"})",
  });
  EXPECT_THAT(played.warnings, IsEmpty());
  EXPECT_THAT(methods(played.opening), ElementsAre("early"));
  ASSERT_THAT(played.exchanges, SizeIs(2));
  const auto& [first, second] = std::tie(played.exchanges[0], played.exchanges[1]);
  EXPECT_THAT(methods(first.during), ElementsAre("notifications/progress"));
  EXPECT_THAT(methods(first.after), ElementsAre("late"));
  EXPECT_THAT(methods(second.during), ElementsAre("elicitation/create?"));
  EXPECT_THAT(methods(second.after), ElementsAre("notifications/tools/list_changed"));
  EXPECT_EQ(first.progress_token, Json(1));
  EXPECT_EQ(first.params, (Json{{"name", "a"}}));
}

// N8: every way in which a request ended.
TEST(RecordingScript, KnowsHowRequestsEnded) {
  const auto played = script({
      R"(> {"id":1,"method":"a"})",
      R"(< {"id":1,"error":{"code":5,"message":"no"}})",
      R"(> {"id":2,"method":"b"})",
      R"(! "mark":"cut","dir":"received","bytes":300000,"envelope":{"jsonrpc":"2.0","id":2,"result":{}})",
      R"(> {"id":3,"method":"c"})",
      R"(! "mark":"lost","request":{"id":3,"reason":"reset"})",
      R"(! "mark":"cut","dir":"sent","bytes":400000,"envelope":{"jsonrpc":"2.0","id":4,"method":"d"})",
      R"(> {"id":5,"method":"e"})",
      R"(! "mark":"ended","reason":"it exited")",
      R"(! "mark":"opened")",
      R"(> {"id":1,"method":"f"})",
      R"(! "mark":"closed")",
      R"(! "mark":"gap","frames":7)",
      R"(< {"id":99,"result":{}})",
  });
  std::vector<End> ends;
  for (const auto& exchange : played.exchanges) ends.push_back(exchange.end);
  EXPECT_THAT(ends, ElementsAre(End::answered, End::cut, End::lost, End::ended, End::ended, End::unanswered));
  EXPECT_EQ(played.exchanges[1].bytes, 300'000u);
  EXPECT_EQ(played.exchanges[2].why, "reset");
  EXPECT_FALSE(played.exchanges[3].params.has_value());
  EXPECT_EQ(played.exchanges[4].why, "it exited");
  EXPECT_THAT(played.warnings,
              ElementsAre(HasSubstr("7 frames are missing"),
                          "the answer to request 99 is left out: the request is not in the recording"));
}

TEST(RecordingScript, AServerThatEndedBetweenRequestsEndsThere) {
  const auto played =
      script({R"(> {"id":1,"method":"a"})", R"(< {"id":1,"result":{}})", R"(! "mark":"ended","reason":"x")"});
  EXPECT_TRUE(played.exchanges[0].server_ends_then);
}

// N8: by method and params, whatever else differs.
TEST(RecordingMatcher, FindsTheNextUnusedExchangeThatMeansTheSame) {
  const auto played = script({
      R"(> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"a"}}})",
      R"(> {"id":2,"method":"tools/call","params":{"name":"count","arguments":{}}})",
      R"(> {"id":3,"method":"tools/call","params":{"name":"other","arguments":{"x":1,"y":2}}})",
      R"(> {"id":4,"method":"tools/call","params":{"name":"count","arguments":{},"_meta":{"progressToken":4}}})",
      R"(> {"id":5,"method":"tools/list"})",
  });
  Matcher matcher(played);
  const auto count = params(R"({"arguments":{},"name":"count","_meta":{"progressToken":"p","traceparent":"00"}})");
  EXPECT_EQ(matcher.match("initialize", params(R"({"clientInfo":{"name":"b"}})")), 0u);
  EXPECT_EQ(matcher.match("tools/call", count), 1u);
  EXPECT_EQ(matcher.match("tools/call", count), 3u);
  // One that was passed by is still there.
  EXPECT_EQ(matcher.match("tools/call", params(R"({"name":"other","arguments":{"y":2,"x":1.0}})")), 2u);
  // Used up: the last again.
  EXPECT_EQ(matcher.match("tools/call", count), 3u);
  EXPECT_EQ(matcher.match("tools/list", params("{}")), 4u);
  EXPECT_EQ(matcher.match("tools/call", params(R"({"name":"count","arguments":{"more":1}})")), std::nullopt);
  EXPECT_EQ(matcher.match("prompts/list", Json::object()), std::nullopt);
  matcher.begin_again();
  EXPECT_EQ(matcher.match("tools/call", count), 1u);
}

TEST(RecordingMatcher, WhatWasRedactedMeansAnyText) {
  const auto played = script({
      R"(> {"id":1,"method":"tools/call","params":{"password":"[redacted]","pin":1,"text":"user [redacted] of [redacted]!"}})",
  });
  Matcher matcher(played);
  EXPECT_EQ(matcher.match("tools/call", params(R"({"password":"real","pin":1,"text":"user ann of ACME!"})")), 0u);
  EXPECT_EQ(matcher.match("tools/call", params(R"({"password":"real","pin":1,"text":"user ann at ACME!"})")),
            std::nullopt);
  EXPECT_EQ(matcher.match("tools/call", params(R"({"password":"real","pin":2,"text":"user ann of ACME!"})")),
            std::nullopt);
  EXPECT_EQ(matcher.match("tools/call", params(R"({"password":"real","pin":1,"text":7})")), std::nullopt);
}

TEST(RecordingMatcher, ParamsThatWereTooLargeToKeepMayBeAnyOfTheirMethod) {
  const auto played = script({
      R"(! "mark":"cut","dir":"sent","bytes":400000,"envelope":{"jsonrpc":"2.0","id":4,"method":"tools/call"})",
      R"(> {"id":5,"method":"tools/call","params":{"name":"small"}})",
  });
  Matcher matcher(played);
  EXPECT_EQ(matcher.match("tools/call", params(R"({"name":"small"})")), 1u);
  EXPECT_EQ(matcher.match("tools/call", params(R"({"name":"large"})")), 0u);
}

// N8: whoever asks for something else learns what there is.
TEST(RecordingMatcher, AnErrorSaysWhatWasRecorded) {
  const auto played = script({
      R"(> {"id":1,"method":"tools/call","params":{"name":"a"}})",
      R"(> {"id":2,"method":"tools/call","params":{"name":"a"}})",
      R"(> {"id":3,"method":"tools/call","params":{"name":"b"}})",
      R"(> {"id":4,"method":"ping"})",
  });
  const Matcher matcher(played);
  const auto params = matcher.no_match("tools/call");
  EXPECT_EQ(params.code, rpc_code::invalid_params);
  EXPECT_EQ(params.message,
            R"(this is a recording of "files", which has no tools/call with these params; it has: tools/call )"
            R"({"name":"a"} (2 times); tools/call {"name":"b"})");
  const auto method = matcher.no_match("prompts/list");
  EXPECT_EQ(method.code, rpc_code::method_not_found);
  EXPECT_EQ(method.message,
            R"(this is a recording of "files", which has no prompts/list; it has: tools/call (3 times); ping)");
  const Script empty;
  EXPECT_THAT(Matcher(empty).no_match("x").message, HasSubstr("it has: no request at all"));
}

}  // namespace
}  // namespace patchbay
