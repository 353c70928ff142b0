// What passes over a channel is seen by whoever taps it, in order and once, and goes on as it was. N8.
#include "rpc/channel_tap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "rpc/trace_context.h"
#include "support/loop.h"
#include "transport/memory.h"

namespace patchbay {
namespace {

using test::run_task;
using testing::ElementsAre;

class Notes final : public ChannelTap {
 public:
  std::uint32_t opened() override {
    lines.push_back("opened");
    return ++channels;
  }
  void sent(std::uint32_t channel, const Message& message) override { note("sent", channel, message); }
  void received(std::uint32_t channel, const Message& message) override { note("received", channel, message); }
  void lost(std::uint32_t, const Lost& lost) override { lines.push_back("lost " + to_text(lost.id)); }
  void closed(std::uint32_t, const Error* why) override { lines.push_back(why ? "ended" : "closed"); }

  std::vector<std::string> lines;
  std::uint32_t channels = 0;

 private:
  void note(std::string what, std::uint32_t channel, const Message& message) {
    std::string text;
    append_message(text, message);
    lines.push_back(what + " " + std::to_string(channel) + " " + text.substr(17));
  }
};

// Opens one end of a pair; the test holds the other.
class PairTransport final : public Transport {
 public:
  Kind kind() const noexcept override { return Kind::stdio; }
  std::string describe() const override { return "a pair"; }
  Identity identity() const override { return {"key", "stamp"}; }
  std::unique_ptr<Transport> fallback() const override { return std::make_unique<PairTransport>(); }
  Task<std::unique_ptr<Channel>> open(const Runtime&) override {
    return [](PairTransport* self) -> Task<std::unique_ptr<Channel>> {
      auto [near, other] = make_memory_pair();
      self->far = std::move(other);
      co_return std::move(near);
    }(this);
  }
  std::unique_ptr<Channel> far;
};

Message request(std::int64_t id) { return Request{id, "ping", {}}; }
Message response(std::int64_t id) { return Response{id, Payload(Json::object())}; }

TEST(ChannelTap, SeesWhatPassesInBothDirectionsAndTheEnd) {
  run_task([]() -> Task<void> {
    const auto notes = std::make_shared<Notes>();
    const auto inner = std::make_shared<PairTransport>();
    const auto transport = tapped(inner, {notes});
    EXPECT_EQ(transport->kind(), Transport::Kind::stdio);
    EXPECT_EQ(transport->describe(), "a pair");
    EXPECT_EQ(transport->identity().key, "key");
    const Runtime runtime;
    auto channel = co_await transport->open(runtime);
    EXPECT_TRUE(channel->send(request(1)).has_value());
    EXPECT_TRUE(channel->send_about(std::int64_t{9}, request(2)).has_value());
    EXPECT_TRUE(channel->send_batch({response(3), response(4)}).has_value());
    auto passed = co_await inner->far->receive();
    EXPECT_EQ(std::get<Request>(std::get<Message>(passed)).id, RequestId(std::int64_t{1}));
    EXPECT_TRUE(inner->far->send(response(1)).has_value());
    (void)co_await channel->receive();
    co_await inner->far->close(CloseMode::quick);
    auto ended = co_await as_result(channel->receive());
    EXPECT_FALSE(ended.has_value());
    co_await channel->close(CloseMode::quick);
    EXPECT_THAT(notes->lines,
                ElementsAre("opened", R"(sent 1 "id":1,"method":"ping"})", R"(sent 1 "id":2,"method":"ping"})",
                            R"(sent 1 "id":3,"result":{}})", R"(sent 1 "id":4,"result":{}})",
                            R"(received 1 "id":1,"result":{}})", "ended"));
  });
}

TEST(ChannelTap, EachChannelHasItsNumberAndOneThatWeCloseIsClosedByUs) {
  run_task([]() -> Task<void> {
    const auto notes = std::make_shared<Notes>();
    const auto transport = tapped(std::make_shared<PairTransport>(), {notes});
    const Runtime runtime;
    auto first = co_await transport->open(runtime);
    co_await first->close(CloseMode::quick);
    // The older way to the same server is seen as well.
    const auto older = transport->fallback();
    auto second = co_await older->open(runtime);
    (void)second->send(request(1));
    co_await second->close(CloseMode::quick);
    EXPECT_THAT(notes->lines, ElementsAre("opened", "closed", "opened", R"(sent 2 "id":1,"method":"ping"})", "closed"));
  });
}

TEST(ChannelTap, WithoutATapTheTransportStaysAsItIs) {
  const auto inner = std::make_shared<PairTransport>();
  EXPECT_EQ(tapped(inner, {}), inner);
}

TEST(ChannelTap, ATraceContextIsInRequestsAlone) {
  run_task([]() -> Task<void> {
    const auto inner = std::make_shared<PairTransport>();
    const auto context = std::make_shared<const TraceContext>(std::nullopt, "", system_random());
    const auto transport = tapped(inner, {}, context);
    const Runtime runtime;
    auto channel = co_await transport->open(runtime);
    (void)channel->send(request(1));
    (void)channel->send(Notification{"n", Payload(Json::object())});
    auto first = co_await inner->far->receive();
    auto second = co_await inner->far->receive();
    const auto& params = std::get<Request>(std::get<Message>(first)).params;
    EXPECT_TRUE(params.value()["_meta"].find("traceparent"));
    EXPECT_EQ(std::get<Notification>(std::get<Message>(second)).params.text(), "{}");
    co_await channel->close(CloseMode::quick);
  });
}

TEST(TraceTap, WritesEveryMessageWithItsServerAndOutlivesAnErrorOfItsWriter) {
  run_task([]() -> Task<void> {
    std::vector<std::string> lines, logged;
    const Log log(LogLevel::error, [&](const LogEvent& event) { logged.emplace_back(event.event); });
    const auto tap = trace_tap(
        "files",
        [&](std::string_view direction, std::string_view message) {
          lines.push_back(std::string(direction) + " " + std::string(message));
          if (message.contains("\"id\":2")) throw Error(Errc::internal, "no room");
        },
        log);
    const auto inner = std::make_shared<PairTransport>();
    const Runtime runtime;
    auto channel = co_await tapped(inner, {tap})->open(runtime);
    for (std::int64_t id : {1, 2, 2}) EXPECT_TRUE(channel->send(request(id)).has_value());
    (void)inner->far->send(response(1));
    (void)co_await channel->receive();
    EXPECT_THAT(lines, ElementsAre(R"(files -> {"jsonrpc":"2.0","id":1,"method":"ping"})",
                                   R"(files -> {"jsonrpc":"2.0","id":2,"method":"ping"})",
                                   R"(files -> {"jsonrpc":"2.0","id":2,"method":"ping"})",
                                   R"(files <- {"jsonrpc":"2.0","id":1,"result":{}})"));
    EXPECT_THAT(logged, ElementsAre("trace_failed"));
    co_await channel->close(CloseMode::quick);
  });
}

}  // namespace
}  // namespace patchbay
