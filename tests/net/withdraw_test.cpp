// X5: a request that still waits behind the opening of a session is taken back unsent, and the server never sees it.
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "base/as_result.h"
#include "support/loop.h"
#include "support/scripted_server.h"
#include "transport/http.h"

namespace patchbay::test {
namespace {

using namespace std::literals;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

Request request(std::int64_t id, std::string method) { return {.id = id, .method = std::move(method), .params = {}}; }

void send(Channel& channel, Message message) {
  auto sent = channel.send(std::move(message));
  EXPECT_TRUE(sent) << sent.error().message();
}

// What a server was sent, in order: ids of requests, methods of notifications.
class Seen {
 public:
  std::string add(const std::string& body) {
    const auto value = parse_json(body).value_or(Json());
    const std::lock_guard lock(mutex_);
    const auto* id = value.find("id");
    return all_.emplace_back(id ? to_text(*id) : value["method"].as_text());
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> all_;
};

// Three requests that cannot be sent yet: one is taken back, and then all that is left.
Task<void> take_back(Channel& channel) {
  for (std::int64_t id : {2, 3, 4}) send(channel, request(id, "tools/call"));
  co_await settle();
  EXPECT_TRUE(channel.withdraw(RequestId(2)));
  EXPECT_FALSE(channel.withdraw(RequestId(2))) << "it is there only once";
  EXPECT_FALSE(channel.withdraw(RequestId(9)));
  EXPECT_THAT(channel.withdraw_all(), UnorderedElementsAre(RequestId(3), RequestId(4)));
  EXPECT_THAT(channel.withdraw_all(), ElementsAre());
  send(channel, request(5, "tools/call"));
}

constexpr auto stream_head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"sv;

TEST(Withdraw, OverSse_WhatWaitsForTheOpeningIsNeverSent) {
  Seen seen;
  Signal opening, open, called, answer;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (got.line().starts_with("GET")) {
      connection.write(stream_head);
      connection.write("event: endpoint\ndata: /post\n\n");
      connection.wait_for_end();
      return;
    }
    const auto what = seen.add(got.body);
    if (what == "1") {
      opening.set();
      EXPECT_TRUE(open.wait());
    } else {
      called.set();
      EXPECT_TRUE(answer.wait());
    }
    connection.answer("202 Accepted", "", "Connection: close\r\n");
  });
  run_task([&]() -> Task<void> {
    HttpOptions options{.url = server.url("/sse")};
    options.proxy = "";
    auto channel = co_await sse_transport_with(options, nullptr)->open(Runtime{});
    send(*channel, request(1, "initialize"));
    while (!opening.is_set()) co_await settle();
    EXPECT_FALSE(channel->withdraw(RequestId(1))) << "it was sent";
    co_await take_back(*channel);
    open.set();
    while (!called.is_set()) co_await settle();
    EXPECT_FALSE(channel->withdraw(RequestId(5))) << "it was sent";
    answer.set();
    co_await channel->close(CloseMode::graceful);
  });
  EXPECT_THAT(seen.all(), ElementsAre("1", "5"));
}

TEST(Withdraw, OverHttp_WhatWaitsForTheOpeningIsNeverSent) {
  Seen seen;
  Signal opening, open, called, answer;
  ScriptedServer server([&](ScriptConnection& connection) {
    const auto got = connection.read_request();
    if (!got.line().starts_with("POST")) {
      connection.answer("405 Method Not Allowed", "", "Connection: close\r\n");
      return;
    }
    const auto what = seen.add(got.body);
    if (what == "1") {
      connection.answer("200 OK", R"({"jsonrpc":"2.0","id":1,"result":{}})",
                        "Content-Type: application/json\r\nMcp-Session-Id: s\r\nConnection: close\r\n");
    } else if (what == "notifications/initialized") {
      opening.set();
      EXPECT_TRUE(open.wait());
      connection.answer("202 Accepted", "", "Connection: close\r\n");
    } else {
      called.set();
      EXPECT_TRUE(answer.wait());
      connection.answer("200 OK", R"({"jsonrpc":"2.0","id":5,"result":{}})",
                        "Content-Type: application/json\r\nConnection: close\r\n");
    }
  });
  run_task([&]() -> Task<void> {
    HttpOptions options{.url = server.url("/mcp")};
    options.proxy = "";
    auto channel = co_await http_transport_with(options, nullptr)->open(Runtime{});
    send(*channel, request(1, "initialize"));
    (void)co_await channel->receive();
    send(*channel, Notification{.method = "notifications/initialized", .params = {}});
    while (!opening.is_set()) co_await settle();
    co_await take_back(*channel);
    open.set();
    while (!called.is_set()) co_await settle();
    EXPECT_FALSE(channel->withdraw(RequestId(5))) << "it was sent";
    answer.set();
    co_await channel->close(CloseMode::graceful);
  });
  EXPECT_THAT(seen.all(), ElementsAre("1", "notifications/initialized", "5"));
}

}  // namespace
}  // namespace patchbay::test
