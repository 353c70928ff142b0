// A model behind HTTP, over real connections: streams, storms, cuts, refusals. Anthropic's provider stands for all. G1.
#include "agent/models/http_model.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/models/anthropic.h"
#include "base/scope.h"
#include "support/anthropic_replies.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/scripted_server.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::anthropic_error;
using test::anthropic_events;
using test::anthropic_reply;
using test::ModelApi;
using test::ModelApiReply;
using test::ModelApiRequest;
using test::run_task;
using test::sse_event;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::string_view key = "sk-secret-key-1234";

HttpModelOptions options_for(const std::string& url) {
  AnthropicOptions anthropic;
  anthropic.info.model = "claude-test";
  anthropic.info.holds_deferred = true;
  HttpModelOptions options{.provider = anthropic_provider(std::move(anthropic)),
                           .base_url = url,
                           .key = Secret(std::string(key)),
                           .key_name = "ANTHROPIC_API_KEY"};
  // Nothing of the machine's own environment, and no real waiting.
  options.http.environment = [](std::string_view) { return std::optional<std::string>(); };
  options.retry.first = options.retry.most = 0ms;
  options.jitter = [] { return 0.0; };
  return options;
}

ModelRequest hello() {
  ModelRequest request;
  request.messages.push_back(
      std::make_shared<const ModelMessage>(ModelMessage{.role = Role::user, .parts = {ModelText{"Hello"}}}));
  return request;
}

ModelTool tool(std::string name) {
  return {.name = name,
          .catalog_name = "server/" + name,
          .description = "x",
          .input_schema = std::make_shared<const Json>(Json{{"type", "object"}})};
}

struct Asking {
  Result<ModelAnswer> answer = fail(Errc::internal, "not asked");
  std::string text;                 // of the pieces since the last retry
  std::vector<std::string> voided;  // texts that a retry made void
  std::vector<ModelRetry> retries;
};

Task<Asking> asking(std::shared_ptr<Model> model, ModelRequest request) {
  Asking asked;
  const auto tell = [&](const ModelEvent& event) {
    if (const auto* text = std::get_if<ModelTextDelta>(&event)) asked.text += text->text;
    if (const auto* retry = std::get_if<ModelRetry>(&event)) {
      asked.retries.push_back(*retry);
      asked.voided.push_back(std::exchange(asked.text, {}));
    }
  };
  asked.answer = co_await as_result(model->ask(std::move(request), tell));
  co_return asked;
}

Asking ask(HttpModelOptions options, ModelRequest request = hello()) {
  Asking asked;
  run_task([&]() -> Task<void> { asked = co_await asking(make_http_model(std::move(options)), std::move(request)); });
  return asked;
}

TEST(HttpModel, StreamsAnAnswerOfTextAndTools) {
  ModelApi api(
      {anthropic_reply({.text = "I look.", .uses = {{.id = "t1", .name = "look", .input = Json{{"at", 1}}}}})});
  const auto asked = ask(options_for(api.url() + "/"));
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(asked.text, "I look.");
  EXPECT_EQ(asked.answer->stop, ModelStop::tool_use);
  EXPECT_EQ(asked.answer->message.parts,
            (std::vector<ModelPart>{ModelText{"I look."},
                                    ModelToolUse{.id = "t1", .name = "look", .input = Json{{"at", 1}}}}));
  EXPECT_THAT(asked.retries, IsEmpty());
  ASSERT_THAT(api.requests(), SizeIs(1));
  const auto request = api.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/v1/messages");
  EXPECT_EQ(request.header("x-api-key"), key);
  EXPECT_EQ(request.header("authorization"), "");
  EXPECT_EQ(request.header("anthropic-version"), "2023-06-01");
  EXPECT_EQ(request.header("content-type"), "application/json");
  EXPECT_EQ(request.header("accept"), "text/event-stream");
  EXPECT_EQ(request.json()["model"], Json("claude-test"));
}

TEST(HttpModel, UsesOneConnectionForAWholeConversation) {
  std::atomic<int> connections = 0;
  test::ScriptedServer server([&](test::ScriptConnection& connection) {
    ++connections;
    std::string body;
    for (const auto& event : anthropic_events({.text = "Hello"})) body += event;
    for (;;) {
      connection.read_request();
      connection.answer("200 OK", body, "Content-Type: text/event-stream\r\n");
    }
  });
  run_task([&]() -> Task<void> {
    const auto model = make_http_model(options_for(server.url("")));
    for (int turn = 0; turn < 3; ++turn) {
      const auto asked = co_await asking(model, hello());
      EXPECT_EQ(asked.text, "Hello");
      co_await test::settle();
    }
  });
  EXPECT_EQ(connections, 1);
}

TEST(HttpModel, GetsThroughAStorm) {
  std::vector<ModelApiReply> replies;
  for (int at = 0; at < 6; ++at) replies.push_back(anthropic_error(529, "overloaded_error", "Overloaded"));
  replies.push_back(anthropic_error(429, "rate_limit_error", "Slow down", {{"retry-after-ms", "1"}}));
  replies.push_back(anthropic_reply({.text = "Here I am."}));
  ModelApi api(std::move(replies));
  const auto asked = ask(options_for(api.url()));
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(asked.text, "Here I am.");
  ASSERT_THAT(asked.retries, SizeIs(7));
  EXPECT_EQ(asked.retries[0].attempt, 2);
  EXPECT_EQ(asked.retries[0].of, 8);
  EXPECT_EQ(asked.retries[0].reason, "529 overloaded_error: Overloaded");
  EXPECT_EQ(asked.retries[6].pause, 1ms);
}

TEST(HttpModel, WaitsBetweenAttempts) {
  ModelApi api({anthropic_error(529, "overloaded_error", "Overloaded", {{"retry-after", "40"}}),
                anthropic_error(500, "api_error", "Oops"), anthropic_reply({.text = "Hello"})});
  auto options = options_for(api.url());
  options.retry = {};
  test::ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    Asking asked;
    Event retrying;
    bool ended = false;
    auto work = [&]() -> Task<void> {
      const auto model = make_http_model(options);
      asked.answer = co_await as_result(model->ask(hello(), [&](const ModelEvent& event) {
        if (!std::holds_alternative<ModelRetry>(event)) return;
        asked.retries.push_back(std::get<ModelRetry>(event));
        retrying.notify_all();
      }));
      ended = true;
    };
    scope.spawn(work());
    while (asked.retries.empty()) co_await retrying.wait();
    co_await test::settle();
    co_await clock.advance(39'999ms);
    EXPECT_THAT(api.requests(), SizeIs(1));
    co_await clock.advance(1ms);
    while (asked.retries.size() < 2) co_await retrying.wait();
    co_await test::settle();
    EXPECT_FALSE(ended);
    co_await clock.advance(1s);
    co_await scope.join();
    EXPECT_TRUE(asked.answer);
    EXPECT_EQ(asked.retries[0].pause, 40s);
    EXPECT_EQ(asked.retries[1].pause, 1s);
  });
  EXPECT_THAT(api.requests(), SizeIs(3));
}

TEST(HttpModel, GivesUpAfterSoManyAttempts) {
  ModelApi api({{.status = 529, .chunks = {"{}"}, .repeat = true}});
  const auto asked = ask(options_for(api.url()));
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().code(), Errc::http);
  EXPECT_EQ(asked.answer.error().http_status(), 529);
  EXPECT_EQ(asked.answer.error().message(), "anthropic answered 529; tried 8 times");
  EXPECT_THAT(api.requests(), SizeIs(8));
}

TEST(HttpModel, DoesNotWaitForAnHour) {
  ModelApi api({anthropic_error(429, "rate_limit_error", "Your limit is used up", {{"retry-after", "3600"}})});
  const auto asked = ask(options_for(api.url()));
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().message(),
            "anthropic answered 429 rate_limit_error: Your limit is used up; it asks to wait 3600 s");
}

TEST(HttpModel, RepeatsAnAnswerThatWasCutOff) {
  auto cut = anthropic_reply({.text = "This is void."});
  cut.chunks.resize(cut.chunks.size() - 3);
  cut.cut = true;
  auto ended = cut;
  ended.cut = false;
  ModelApi api({cut, ended, {.status = 0, .cut = true}, anthropic_reply({.text = "This counts."})});
  const auto asked = ask(options_for(api.url()));
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(asked.text, "This counts.");
  EXPECT_EQ(text_of(asked.answer->message), "This counts.");
  EXPECT_THAT(asked.voided, ElementsAre("This i", "This i", ""));
  EXPECT_THAT(asked.retries[1].reason, HasSubstr("cut off"));
}

TEST(HttpModel, TakesAnAnswerWhoseConnectionBreaksBehindIt) {
  auto reply = anthropic_reply({.text = "All of it."});
  reply.cut = true;
  ModelApi api({reply});
  const auto asked = ask(options_for(api.url()));
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(asked.text, "All of it.");
  EXPECT_THAT(asked.retries, IsEmpty());
}

TEST(HttpModel, RepeatsAfterAnErrorInsideOfTheStream) {
  const auto with_error = [](std::string type, std::string message) {
    ModelApiReply reply{.chunks = anthropic_events({.text = "Half of it"})};
    reply.chunks.resize(4);
    reply.chunks.push_back(sse_event(
        "error", {{"type", "error"}, {"error", {{"type", std::move(type)}, {"message", std::move(message)}}}}));
    return reply;
  };
  const auto failing = with_error("overloaded_error", "Overloaded");
  const auto refused = with_error("invalid_request_error", "No.");
  ModelApi api({failing, anthropic_reply({.text = "Whole"}), refused});
  run_task([&]() -> Task<void> {
    const auto model = make_http_model(options_for(api.url()));
    auto asked = co_await asking(model, hello());
    EXPECT_EQ(asked.text, "Whole");
    EXPECT_THAT(asked.voided, ElementsAre("Half "));
    asked = co_await asking(model, hello());
    EXPECT_FALSE(asked.answer);
    EXPECT_EQ(asked.answer.error().message(), "anthropic answered 400 invalid_request_error: No.");
    EXPECT_THAT(asked.retries, IsEmpty());
  });
}

TEST(HttpModel, ObeysAnApiThatSaysNo) {
  ModelApi api({anthropic_error(500, "api_error", "Do not try again", {{"x-should-retry", "false"}})});
  const auto asked = ask(options_for(api.url()));
  ASSERT_FALSE(asked.answer);
  EXPECT_THAT(api.requests(), SizeIs(1));
}

TEST(HttpModel, GivesBackArgumentsThatAreNoJson) {
  ModelApi api({anthropic_reply({.uses = {{.id = "t1", .name = "look", .broken = "{\"at\": "}}})});
  const auto asked = ask(options_for(api.url()));
  ASSERT_TRUE(asked.answer);
  EXPECT_EQ(std::get<ModelToolUse>(asked.answer->message.parts[0]).broken, "{\"at\": ");
}

TEST(HttpModel, NamesAKeyThatIsRefusedAndNeverShowsIt) {
  ModelApi api({anthropic_error(401, "authentication_error", "invalid x-api-key: " + std::string(key) + "\x1b[31m!"),
                anthropic_error(403, "permission_error", "Not for you"),
                {.status = 401, .chunks = {"no"}}});
  auto error = ask(options_for(api.url())).answer.error();
  EXPECT_EQ(error.code(), Errc::unauthorized);
  EXPECT_EQ(error.message(), "anthropic refuses the key from ANTHROPIC_API_KEY (401): invalid x-api-key: (the key)!");
  error = ask(options_for(api.url())).answer.error();
  EXPECT_EQ(error.code(), Errc::unauthorized);
  EXPECT_EQ(error.message(), "anthropic does not allow the key from ANTHROPIC_API_KEY to do this (403): Not for you");
  auto without = options_for(api.url());
  without.key = Secret();
  error = ask(without).answer.error();
  EXPECT_EQ(error.message(), "anthropic needs a key, and there is none in ANTHROPIC_API_KEY (401): no");
  EXPECT_EQ(api.requests()[2].header("x-api-key"), "");
  EXPECT_THAT(api.requests(), SizeIs(3));
}

TEST(HttpModel, SaysThatAConversationIsTooLong) {
  ModelApi api({anthropic_error(400, "invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"),
                anthropic_error(413, "request_too_large", "Too large")});
  for (int time = 0; time < 2; ++time) EXPECT_EQ(ask(options_for(api.url())).answer.error().code(), Errc::limit);
}

TEST(HttpModel, LeavesOutAToolThatIsRefused) {
  auto first = std::make_shared<ToolPool>();
  first->tools = {tool("bash"), tool("bad"), tool("good")};
  first->own = 1;
  auto deferred = std::make_shared<ToolPool>();
  deferred->tools = {tool("later"), tool("worse")};
  ModelApi api({anthropic_error(400, "invalid_request_error", "tools.1.custom.input_schema: JSON schema is invalid"),
                anthropic_error(400, "invalid_request_error", "tools.3.custom.name: should match"),
                anthropic_reply({.text = "Hello"}), anthropic_reply({.text = "Again"}),
                anthropic_reply({.text = "Changed"})});
  run_task([&]() -> Task<void> {
    const auto model = make_http_model(options_for(api.url()));
    auto request = hello();
    request.tools = first;
    request.deferred = deferred;
    auto asked = co_await asking(model, request);
    EXPECT_TRUE(asked.answer);
    if (!asked.answer) co_return;
    const std::vector<ToolLeftOut> left_out{
        {"server/bad", "anthropic refuses it: tools.1.custom.input_schema: JSON schema is invalid"},
        {"server/worse", "anthropic refuses it: tools.3.custom.name: should match"}};
    EXPECT_EQ(asked.answer->left_out, left_out);
    EXPECT_THAT(asked.retries, IsEmpty());
    // Later requests begin without them.
    asked = co_await asking(model, request);
    EXPECT_EQ(asked.answer->left_out, left_out);
    // A tool that has changed since is another one.
    auto changed = std::make_shared<ToolPool>(*first);
    changed->tools[1].description = "y";
    request.tools = changed;
    request.deferred.reset();
    asked = co_await asking(model, request);
    EXPECT_THAT(asked.answer->left_out, IsEmpty());
  });
  const auto names = [](const ModelApiRequest& request) {
    std::vector<std::string> all;
    const auto body = request.json();
    for (const auto& each : body["tools"].items()) all.emplace_back(each["name"].as_text());
    return all;
  };
  const auto requests = api.requests();
  ASSERT_THAT(requests, SizeIs(5));
  EXPECT_THAT(names(requests[0]), ElementsAre("bash", "bad", "good", "later", "worse"));
  EXPECT_THAT(names(requests[1]), ElementsAre("bash", "good", "later", "worse"));
  EXPECT_THAT(names(requests[2]), ElementsAre("bash", "good", "later"));
  EXPECT_EQ(requests[2].json()["tools"], requests[3].json()["tools"]);
  EXPECT_THAT(names(requests[4]), ElementsAre("bash", "bad", "good"));
  EXPECT_EQ(requests[4].json()["tools"].items()[0]["cache_control"], (Json{{"type", "ephemeral"}}));
}

TEST(HttpModel, DoesNotLeaveOutOneToolAfterTheOtherForever) {
  auto many = std::make_shared<ToolPool>();
  for (char c = 'a'; c <= 'z'; ++c) many->tools.push_back(tool(std::string(1, c)));
  auto refusal = anthropic_error(400, "invalid_request_error", "tools.0.custom.name: should match");
  refusal.repeat = true;
  ModelApi api({refusal});
  auto request = hello();
  request.tools = many;
  const auto asked = ask(options_for(api.url()), std::move(request));
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().http_status(), 400);
  EXPECT_THAT(api.requests(), SizeIs(6));
}

TEST(HttpModel, EndsAtOnceWhenItIsCancelled) {
  auto hanging = anthropic_reply({.text = "I am thinking about"});
  hanging.chunks.resize(hanging.chunks.size() - 3);
  hanging.hang = true;
  ModelApi api({hanging,
                {.status = 0, .hang = true},
                {.status = 529, .headers = {{"retry-after", "50"}}},
                anthropic_reply({.text = "Hello"})});
  run_task([&]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    const auto model = make_http_model(options_for(api.url()));
    // In the middle of an answer, before it begins, and in a pause.
    enum class At { text, sent, pause };
    for (const auto at : {At::text, At::pause}) {
      Scope scope(executor);
      Event reached;
      Result<ModelAnswer> outcome;
      auto work = [&]() -> Task<void> {
        outcome = co_await as_result(model->ask(hello(), [&](const ModelEvent& event) {
          const bool retry = std::holds_alternative<ModelRetry>(event);
          if (retry == (at == At::pause)) reached.notify_all();
        }));
      };
      auto spawned = scope.spawn(work());
      co_await reached.wait();
      spawned.cancel();
      co_await scope.join();
      EXPECT_FALSE(outcome);
      if (!outcome) {
        EXPECT_EQ(outcome.error().code(), Errc::cancelled);
      }
      if (at == At::text) {
        // The request that is never answered.
        Scope silent(executor);
        Result<ModelAnswer> nothing;
        auto waiting = [&]() -> Task<void> { nothing = co_await as_result(model->ask(hello(), {})); };
        auto begun = silent.spawn(waiting());
        while (api.requests().size() < 2) co_await test::settle();
        begun.cancel();
        co_await silent.join();
        EXPECT_EQ(nothing.error().code(), Errc::cancelled);
      }
    }
    // And it can be asked again.
    const auto asked = co_await asking(model, hello());
    EXPECT_EQ(asked.text, "Hello");
  });
}

TEST(HttpModel, RefusesWhatIsTooLarge) {
  auto large = anthropic_reply({.text = std::string(100'000, 'x')});
  std::vector<std::string> pieces(300, sse_event("ping", {{"type", "ping"}, {"x", std::string(500, 'x')}}));
  ModelApi api({large, {.chunks = pieces}});
  auto options = options_for(api.url());
  options.limits.message = 20'000;
  for (int time = 0; time < 2; ++time) {
    const auto asked = ask(options);
    ASSERT_FALSE(asked.answer);
    EXPECT_EQ(asked.answer.error().code(), Errc::protocol) << "limit is a conversation that is too long";
    EXPECT_THAT(asked.answer.error().message(), HasSubstr("larger than"));
    EXPECT_THAT(asked.retries, IsEmpty());
  }
}

// A server that reads a long conversation says so that it is alive; one that says nothing else for ever is given up.
TEST(HttpModel, DoesNotWaitForEverWhileOnlyCommentsCome) {
  test::Signal comment, word, last_comment;
  std::atomic<int> commented = 0;
  const auto comments = ":" + std::string(1u << 20, ' ') + "\n\n";
  constexpr int parts = 20;
  test::ScriptedServer server([&](test::ScriptConnection& connection) {
    const auto events = anthropic_events({.text = "Half of it"});
    connection.read_request();
    connection.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    for (std::size_t at = 0; at < 4; ++at) connection.write(events[at]);  // up to the first piece of text
    comment.wait();
    // More than what lies between us can hold: when it is written, some of it was read.
    for (int part = 0; part < parts; ++part) connection.write(comments);
    ++commented;
    word.wait();
    connection.write(events[4]);
    last_comment.wait();
    for (int part = 0; part < parts; ++part) connection.write(comments);
    ++commented;
    connection.wait_for_end();
  });
  auto options = options_for(server.url(""));
  options.waits = {};
  test::ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    Event heard;
    std::string text;
    Result<ModelAnswer> answer = fail(Errc::internal, "not asked");
    bool ended = false;
    auto work = [&]() -> Task<void> {
      const auto model = make_http_model(options);
      answer = co_await as_result(model->ask(hello(), [&](const ModelEvent& event) {
        if (const auto* piece = std::get_if<ModelTextDelta>(&event)) text += piece->text;
        EXPECT_FALSE(std::holds_alternative<ModelRetry>(event)) << "an hour was enough";
        heard.notify_all();
      }));
      ended = true;
    };
    scope.spawn(work());
    while (text != "Half ") co_await heard.wait();
    co_await clock.advance(59min);
    comment.set();
    while (commented < 1) co_await test::settle();
    co_await clock.advance(59s);
    EXPECT_FALSE(ended);
    word.set();
    while (text != "Half of it") co_await heard.wait();
    co_await test::settle();
    co_await clock.advance(59min);
    EXPECT_FALSE(ended) << "it went on meanwhile";
    last_comment.set();
    while (commented < 2) co_await test::settle();
    EXPECT_FALSE(ended);
    co_await clock.advance(1min);
    co_await scope.join();
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Errc::timeout);
    EXPECT_THAT(answer.error().message(), HasSubstr("does not go on"));
  });
}

TEST(HttpModel, TellsAPauseFromAnEnd) {
  ModelApi api({anthropic_reply({.text = "Searching", .stop = "pause_turn"}), anthropic_reply({.text = "Found"})});
  run_task([&]() -> Task<void> {
    const auto model = make_http_model(options_for(api.url()));
    auto request = hello();
    auto asked = co_await asking(model, request);
    EXPECT_TRUE(asked.answer);
    if (!asked.answer) co_return;
    EXPECT_EQ(asked.answer->stop, ModelStop::pause);
    request.messages.push_back(std::make_shared<const ModelMessage>(asked.answer->message));
    asked = co_await asking(model, request);
    EXPECT_EQ(asked.text, "Found");
  });
  const auto messages = api.requests()[1].json()["messages"];
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages.items()[1]["content"], Json::array({Json{{"type", "text"}, {"text", "Searching"}}}));
}

TEST(HttpModel, SaysWhoCannotBeReached) {
  std::string url;
  {
    url = ModelApi({}).url();
  }
  const auto asked = ask(options_for(url));
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().code(), Errc::connect);
  EXPECT_THAT(asked.answer.error().message(),
              AllOf(HasSubstr("anthropic"), HasSubstr(url), HasSubstr("tried 3 times")));
  EXPECT_THAT(asked.retries, SizeIs(2));
}

TEST(HttpModel, TakesNoPageForAnAnswer) {
  ModelApi api({{.headers = {{"Content-Type", "text/html; charset=utf-8"}}, .chunks = {"<html>Sign in"}},
                {.status = 307, .headers = {{"Location", "http://127.0.0.1:1/"}}},
                {.status = 404, .headers = {{"Content-Type", "text/html"}}, .chunks = {"not found"}},
                anthropic_error(200, "invalid_request_error", "Wrong")});
  auto error = ask(options_for(api.url())).answer.error();
  EXPECT_EQ(error.code(), Errc::protocol);
  EXPECT_THAT(error.message(), HasSubstr("a page"));
  error = ask(options_for(api.url())).answer.error();
  EXPECT_EQ(error.http_status(), 307);
  EXPECT_THAT(error.message(), HasSubstr("redirects"));
  error = ask(options_for(api.url())).answer.error();
  EXPECT_THAT(error.message(), AllOf(HasSubstr("claude-test"), HasSubstr("404")));
  // JSON where events were asked for says what is wrong.
  error = ask(options_for(api.url())).answer.error();
  EXPECT_THAT(error.message(), HasSubstr("Wrong"));
}

TEST(HttpModel, GoesThroughAProxyOfTheEnvironment) {
  ModelApi proxy({anthropic_reply({.text = "By way of it"})});
  auto options = options_for("http://model.example");
  options.http.environment = [url = proxy.url()](std::string_view name) {
    return name == "HTTP_PROXY" || name == "http_proxy" ? std::optional(url) : std::nullopt;
  };
  const auto asked = ask(std::move(options));
  ASSERT_TRUE(asked.answer) << asked.answer.error().message();
  EXPECT_EQ(asked.text, "By way of it");
  EXPECT_EQ(proxy.requests()[0].path, "http://model.example/v1/messages");
  // The key goes out in clear: that is said.
  EXPECT_THAT(asked.answer->warnings, ElementsAre(HasSubstr("without encryption")));
}

TEST(HttpModel, AddressesAreJoined) {
  EXPECT_EQ(model_url("https://api.example", "/v1/messages"), "https://api.example/v1/messages");
  EXPECT_EQ(model_url("https://api.example/", "/v1/messages"), "https://api.example/v1/messages");
  EXPECT_EQ(model_url("https://gw.example/team/v1/", "/v1/messages"), "https://gw.example/team/v1/messages");
  EXPECT_EQ(model_url("https://gw.example/v1beta", "/v1/messages"), "https://gw.example/v1beta/v1/messages");
  EXPECT_EQ(model_url("http://localhost:8080/v1", "/chat/completions"), "http://localhost:8080/v1/chat/completions");
  for (const std::string bad : {"", "api.example", "ftp://api.example", "https://api.example/?x=1", "https://"}) {
    EXPECT_THROW(make_http_model(options_for(bad)), Error) << bad;
  }
}

// ---- what an API need not have ------------------------------------------------------------------------------------

HttpModelOptions options_with_extras(const std::string& url) {
  AnthropicOptions anthropic;
  anthropic.info.model = "claude-test";
  anthropic.info.holds_deferred = true;
  anthropic.tool_changes = anthropic.cache_diagnosis = true;
  auto options = options_for(url);
  options.provider = anthropic_provider(std::move(anthropic));
  return options;
}

std::vector<std::string> betas(const ModelApi& api) {
  std::vector<std::string> out;
  for (const auto& request : api.requests()) out.push_back(request.header("anthropic-beta"));
  return out;
}

constexpr const char* both = "mid-conversation-tool-changes-2026-07-01,cache-diagnosis-2026-04-07";
constexpr const char* changes_alone = "mid-conversation-tool-changes-2026-07-01";

TEST(HttpModelExtras, OneThatIsRefusedIsLeftOutOfTheSameRequestAndOfAllThatCome) {
  ModelApi api({anthropic_error(400, "invalid_request_error", "diagnostics: Extra inputs are not permitted"),
                anthropic_reply({.text = "one"}), anthropic_reply({.text = "two"}),
                anthropic_reply({.text = "three"})});
  auto options = options_with_extras(api.url());
  options.refused = std::make_shared<RefusedExtras>();
  run_task([&]() -> Task<void> {
    const auto model = make_http_model(options);
    const auto asked = co_await asking(model, hello());
    EXPECT_EQ(asked.text, "one");
    EXPECT_THAT(asked.retries, IsEmpty()) << "it is no failure that may pass";
    EXPECT_THAT(asked.answer->warnings, IsEmpty()) << "nobody misses it";
    EXPECT_EQ((co_await asking(model, hello())).text, "two");
    // Another model of the same process, and one that knows nothing.
    EXPECT_EQ((co_await asking(make_http_model(options), hello())).text, "three");
  });
  EXPECT_THAT(betas(api), ElementsAre(both, changes_alone, changes_alone, changes_alone));
}

TEST(HttpModelExtras, ARefusalThatDoesNotSayWhyIsAskedOnceWithoutAll) {
  ModelApi api({anthropic_error(400, "invalid_request_error", "Bad request"), anthropic_reply({.text = "one"}),
                anthropic_reply({.text = "two"})});
  const auto options = options_with_extras(api.url());
  run_task([&]() -> Task<void> {
    const auto model = make_http_model(options);
    const auto asked = co_await asking(model, hello());
    EXPECT_EQ(asked.text, "one");
    EXPECT_THAT(asked.answer->warnings, ElementsAre(HasSubstr("it is told of them in words")));
    const auto next = co_await asking(model, hello());
    EXPECT_EQ(next.text, "two");
    EXPECT_THAT(next.answer->warnings, IsEmpty()) << "said once";
  });
  EXPECT_THAT(betas(api), ElementsAre(both, "", ""));
}

TEST(HttpModelExtras, WhatIsRefusedAllTheSameWasNotTheirFault) {
  ModelApi api({anthropic_error(400, "invalid_request_error", "Bad request"),
                anthropic_error(400, "invalid_request_error", "Bad request"), anthropic_reply({.text = "later"})});
  const auto options = options_with_extras(api.url());
  run_task([&]() -> Task<void> {
    const auto model = make_http_model(options);
    const auto asked = co_await asking(model, hello());
    EXPECT_FALSE(asked.answer);
    if (!asked.answer) EXPECT_EQ(asked.answer.error().http_status(), 400);
    EXPECT_EQ((co_await asking(model, hello())).text, "later");
  });
  EXPECT_THAT(betas(api), ElementsAre(both, "", both));
}

// Only what is answered as soon as they are left out was refused for them.
TEST(HttpModelExtras, AnAnswerBehindAnotherFailureSaysNothingOfThem) {
  const auto bad = anthropic_error(400, "invalid_request_error", "Bad request");
  for (const auto& between : {anthropic_error(529, "overloaded_error", "Overloaded"),
                              anthropic_error(400, "invalid_request_error", "tools.0.custom.input_schema: no")}) {
    ModelApi api({bad, between, anthropic_reply({.text = "one"}), anthropic_reply({.text = "two"})});
    run_task([&]() -> Task<void> {
      const auto model = make_http_model(options_with_extras(api.url()));
      auto request = hello();
      auto pool = std::make_shared<ToolPool>();
      pool->tools = {tool("a"), tool("b")};
      request.tools = pool;
      const auto asked = co_await asking(model, request);
      EXPECT_EQ(asked.text, "one");
      EXPECT_THAT(asked.answer->warnings, IsEmpty());
      EXPECT_EQ((co_await asking(model, hello())).text, "two");
    });
    EXPECT_THAT(betas(api), ElementsAre(both, "", "", both));
  }
}

TEST(HttpModelExtras, WhatIsLeftOutFromNowOnIsSaidAlsoWhenTheRequestFails) {
  ModelApi api({anthropic_error(400, "invalid_request_error", "messages: Unexpected role \"system\""),
                anthropic_error(403, "permission_error", "No."), anthropic_reply({.text = "one"}),
                anthropic_reply({.text = "two"})});
  run_task([&]() -> Task<void> {
    const auto model = make_http_model(options_with_extras(api.url()));
    EXPECT_FALSE((co_await asking(model, hello())).answer);
    EXPECT_THAT((co_await asking(model, hello())).answer->warnings, ElementsAre(HasSubstr("told of them in words")));
    EXPECT_THAT((co_await asking(model, hello())).answer->warnings, IsEmpty());
  });
}

TEST(HttpModelExtras, AreNotDoubtedInAStormOrForATool) {
  ModelApi api({anthropic_error(529, "overloaded_error", "Overloaded"),
                anthropic_error(400, "invalid_request_error", "tools.0.custom.input_schema: no"),
                anthropic_reply({.text = "one"})});
  auto request = hello();
  auto pool = std::make_shared<ToolPool>();
  pool->tools = {tool("a"), tool("b")};
  request.tools = pool;
  const auto asked = ask(options_with_extras(api.url()), request);
  EXPECT_EQ(asked.text, "one");
  EXPECT_THAT(betas(api), ElementsAre(both, both, both));
  EXPECT_THAT(asked.answer->left_out, SizeIs(1));
}

// It has taken them: what is wrong in the middle of an answer is not their fault, and what was said stays said once.
TEST(HttpModelExtras, AreNotDoubtedInAnAnswerThatHasBegun) {
  ModelApiReply reply{.chunks = anthropic_events({.text = "Half of it"})};
  reply.chunks.resize(4);
  reply.chunks.push_back(sse_event(
      "error", {{"type", "error"}, {"error", {{"type", "invalid_request_error"}, {"message", "Bad request"}}}}));
  ModelApi api({reply, anthropic_reply({.text = "two"})});
  run_task([&]() -> Task<void> {
    const auto model = make_http_model(options_with_extras(api.url()));
    const auto asked = co_await asking(model, hello());
    EXPECT_FALSE(asked.answer);
    EXPECT_EQ(asked.text, "Half ");
    EXPECT_EQ((co_await asking(model, hello())).text, "two");
  });
  EXPECT_THAT(betas(api), ElementsAre(both, both));
}

TEST(HttpModelExtras, EachRequestNamesTheAnswerBeforeOfItsConversation) {
  ModelApi api({anthropic_reply({.text = "Hello", .id = "msg_1"}), anthropic_reply({.text = "Hello", .id = "msg_2"}),
                anthropic_reply({.text = "Hello", .id = "msg_3"})});
  run_task([&]() -> Task<void> {
    const auto model = make_http_model(options_with_extras(api.url()));
    for (const char* conversation : {"x", "y", "x"}) {
      auto request = hello();
      request.conversation = conversation;
      EXPECT_TRUE((co_await asking(model, request)).answer);
    }
  });
  std::vector<std::string> named;
  for (const auto& request : api.requests()) named.push_back(to_text(request.json()["diagnostics"]));
  EXPECT_THAT(named, ElementsAre(R"({"previous_message_id":null})", R"({"previous_message_id":null})",
                                 R"({"previous_message_id":"msg_1"})"));
}

}  // namespace
}  // namespace patchbay
