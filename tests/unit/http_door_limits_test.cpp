// What one client of the HTTP door may make the server do, and what the door says when it is too much.
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/server_http.h>

#include "support/http_door.h"
#include "support/http_wire.h"
#include "support/loop.h"
#include "support/sample_server.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::Door;
using test::HttpWire;
using test::LegacyClient;
using test::messages_of;
using test::modern_call;
using test::run_task;
using test::sample_server;
using test::text_result;
using testing::HasSubstr;

std::string pings(std::size_t count) {
  std::string batch;
  for (std::size_t i = 1; i <= count; ++i) {
    batch += fmt::format(R"({}{{"jsonrpc":"2.0","id":{},"method":"ping"}})", i == 1 ? "[" : ",", i);
  }
  return batch + "]";
}

// Comparing each id with every other would be 800 million comparisons.
TEST(HttpDoorLimits, ABatchOfFortyThousand_IsAnsweredInFull) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    ServerOptions options;
    options.requests_in_flight = 40'000;
    Runtime runtime;
    runtime.limits.items = 40'000;
    Door door(executor, sample_server(options), {{.keep_alive = 1h}}, runtime);  // one body, however slow the machine
    LegacyClient client(executor, door);
    co_await client.open("2025-03-26");
    co_await client.wire.send(client.post(pings(40'000)));
    const auto answer = co_await client.wire.answer();
    EXPECT_EQ(answer.status, 200);
    const auto messages = parse_json(answer.body);
    std::set<std::int64_t> answered;
    for (const auto& message : messages.value().as_array()) {
      if (message["result"] == Json::object()) answered.insert(message["id"].as_int());
    }
    EXPECT_EQ(answered.size(), 40'000u);
    EXPECT_EQ(*answered.begin(), 1);
    EXPECT_EQ(*answered.rbegin(), 40'000);
    // Its first id once more at its end: nothing of it is carried out.
    auto doubled = pings(40'000);
    doubled.back() = ',';
    co_await client.wire.send(client.post(doubled + R"({"jsonrpc":"2.0","id":1,"method":"ping"}])"));
    EXPECT_EQ((co_await client.wire.answer()).status, 400);
    co_await door.stop();
  });
}

TEST(HttpDoorLimits, ABatchOfTooManyMessages_IsRefusedAsAWhole) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Runtime runtime;
    runtime.limits.items = 100;
    Door door(executor, sample_server(), {}, runtime);
    LegacyClient client(executor, door);
    co_await client.open("2025-03-26");
    co_await client.wire.send(client.post(pings(100)));
    EXPECT_EQ((co_await client.wire.answer()).status, 200);
    co_await client.wire.send(client.post(pings(101)));
    const auto refused = co_await client.wire.answer();
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(
        refused.body,
        R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"the batch has more than 100 messages, which is the limit; send it in parts"}})");
    co_await client.wire.send(client.call("echo"));
    EXPECT_EQ((co_await client.wire.answer()).status, 200);
    co_await door.stop();
  });
}

// Short ones are read at once, long ones beside the loop: the bound is the same.
TEST(HttpDoorLimits, ARequestOfTooManyValues_IsRefusedHoweverLongItIs) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Runtime runtime;
    runtime.limits.nodes = 1'000;
    runtime.limits.parse_here = 8u << 10;
    Door door(executor, sample_server(), {}, runtime);
    LegacyClient client(executor, door);
    co_await client.open("2025-03-26");
    auto with_values = [&](std::size_t count) {
      std::string list = "0";
      for (std::size_t i = 1; i < count; ++i) list += ",0";
      return client.post(fmt::format(R"({{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"x":[{}]}}}})", list));
    };
    for (std::size_t count : {500u, 2'000u, 20'000u}) {
      co_await client.wire.send(with_values(count));
      const auto answer = co_await client.wire.answer();
      EXPECT_EQ(answer.status, count < 1'000 ? 200 : 400) << count << answer.body;
      if (count > 1'000) EXPECT_THAT(answer.body, HasSubstr("1000")) << count;
    }
    co_await client.wire.send(client.call("echo"));
    EXPECT_EQ((co_await client.wire.answer()).status, 200);
    co_await door.stop();
  });
}

std::shared_ptr<Server> server_with_large_answers() {
  auto server = sample_server();
  server->add_tool({.name = "large"}, [](RequestContext& context, Json) -> Task<CallToolResult> {
    context.progress(1);
    co_return text_result(std::string(5000, 'x'));
  });
  return server;
}

const std::string too_large = R"("error":{"code":-32603,"message":"the answer has )";
const std::string limit_of_1000 = R"(bytes; the limit of one answer is 1000"}})";

TEST(HttpDoorLimits, AnAnswerOverTheLimit_BecomesAnErrorOnEveryWay) {
  struct Way {
    const char* label;
    bool modern;
    const char* meta;
    const char* type;
  };
  const Way ways[] = {
      {"modern, one body", true, "", "application/json"},
      {"modern, a stream", true, R"(,"progressToken":"t")", "text/event-stream"},
      {"legacy, one body", false, "", "application/json"},
      {"legacy, a stream", false, R"(,"_meta":{"progressToken":"t"})", "text/event-stream"},
  };
  for (const auto& way : ways) {
    SCOPED_TRACE(way.label);
    run_task([&]() -> Task<void> {
      auto executor = co_await asio::this_coro::executor;
      Door door(executor, server_with_large_answers(), {{.max_answer = 1000}});
      LegacyClient client(executor, door);
      if (way.modern) {
        co_await door.connect(client.wire);
      } else {
        co_await client.open();
      }
      co_await client.wire.send(way.modern ? modern_call("large", way.meta) : client.call("large", 1, way.meta));
      const auto answer = co_await client.wire.answer();
      EXPECT_EQ(answer.status, 200);
      EXPECT_EQ(answer.headers.get("content-type"), way.type);
      EXPECT_THAT(answer.body, HasSubstr(too_large));
      EXPECT_THAT(answer.body, HasSubstr(limit_of_1000));
      co_await client.wire.send(way.modern ? modern_call("echo") : client.call("echo", 2));
      EXPECT_THAT((co_await client.wire.answer()).body, HasSubstr(R"("text":"{}")"));
      co_await door.stop();
    });
  }
}

TEST(HttpDoorLimits, TheLimitOfRequests_IsNotThatOfAnswers) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Door door(executor, server_with_large_answers(), {{.max_body = 1000}});
    HttpWire wire(executor);
    co_await door.connect(wire);
    co_await wire.send(modern_call("large"));
    EXPECT_THAT((co_await wire.answer()).body, HasSubstr(std::string(5000, 'x')));
    co_await door.stop();
  });
}

TEST(HttpDoorLimits, TheAnswersOfABatch_HaveTheLimitTogether) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Door door(executor, server_with_large_answers(), {{.max_answer = 7000}});
    LegacyClient client(executor, door);
    co_await client.open("2025-03-26");
    co_await client.wire.send(client.post(
        R"([{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"large"}},)"
        R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"large"}},{"jsonrpc":"2.0","id":3,"method":"ping"}])"));
    const auto answer = co_await client.wire.answer();
    const auto answers = parse_json(answer.body).value();
    EXPECT_EQ(answers.size(), 3u);
    int whole = 0;
    int refused = 0;
    for (const auto& one : answers.as_array()) {
      if (one.find("result")) ++whole;
      if (const Json* error = one.find("error")) {
        ++refused;
        EXPECT_EQ((*error)["code"], Json(-32603));
        EXPECT_THAT((*error)["message"].as_text(),
                    HasSubstr("are used by the other answers of its batch; the limit of one answer is 7000"));
      }
    }
    EXPECT_EQ(whole, 2);
    EXPECT_EQ(refused, 1);
    co_await door.stop();
  });
}

}  // namespace
}  // namespace patchbay
