#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "transport/memory.h"

namespace patchbay {
namespace {

using test::FailsWith;
using test::run_task;

Message note(std::string method, Json params = {}) {
  return Notification{std::move(method), params.is_null() ? Payload() : Payload(std::move(params))};
}

std::string text_of(const Incoming& incoming) {
  std::string text;
  if (const auto* message = std::get_if<Message>(&incoming)) append_message(text, *message);
  if (const auto* batch = std::get_if<Batch>(&incoming)) {
    for (const auto& message : batch->messages) {
      append_message(text, message);
      text += '\n';
    }
  }
  return text;
}

Json nested(std::size_t depth) {
  Json value = 1;
  for (std::size_t i = 0; i < depth; ++i) {
    Json outer = Json::array();
    outer.push_back(std::move(value));
    value = std::move(outer);
  }
  return value;
}

// Receives until the end and counts how often it is heard.
struct Ear {
  std::vector<std::string> heard;
  std::optional<Error> end;

  Task<void> listen(Channel& channel) {
    while (!end) {
      auto incoming = co_await as_result(channel.receive());
      if (incoming) {
        heard.push_back(text_of(*incoming));
      } else {
        end = incoming.error();
      }
    }
  }
};

class MemoryPair : public ::testing::TestWithParam<MemoryPayloads> {
 protected:
  ChannelPair make(const Limits& limits = {}) { return make_memory_pair(limits, GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Payloads, MemoryPair, ::testing::Values(MemoryPayloads::share, MemoryPayloads::copy),
                         [](const auto& p) { return p.param == MemoryPayloads::share ? "share" : "copy"; });

// T7
TEST_P(MemoryPair, MessagesOfEveryKindArriveInOrder) {
  run_task([this]() -> Task<void> {
    auto [a, b] = make();
    std::vector<Message> sent;
    sent.push_back(Request{std::int64_t{1}, "x", Json{{"k", "v"}}});
    sent.push_back(Request{std::string("1"), "y", {}});
    sent.push_back(note("z"));
    sent.push_back(Response{std::int64_t{2}, Json{{"ok", true}}});
    sent.push_back(ErrorResponse{std::int64_t{3}, {-32602, "no", Json{{"uri", "u"}}}});
    std::vector<std::string> expected;
    for (const auto& message : sent) {
      expected.push_back(text_of(Incoming(message)));
      EXPECT_TRUE(a->send(message));
    }
    for (const auto& text : expected) {
      auto incoming = co_await b->receive();
      EXPECT_EQ(text_of(incoming), text);
    }
  });
}

TEST_P(MemoryPair, BothDirectionsAreIndependent) {
  run_task([this]() -> Task<void> {
    auto [a, b] = make();
    EXPECT_TRUE(a->send(note("to-b")));
    EXPECT_TRUE(b->send(note("to-a")));
    EXPECT_EQ(text_of(co_await a->receive()), R"({"jsonrpc":"2.0","method":"to-a"})");
    EXPECT_EQ(text_of(co_await b->receive()), R"({"jsonrpc":"2.0","method":"to-b"})");
  });
}

TEST_P(MemoryPair, ABatchArrivesAsABatch) {
  run_task([this]() -> Task<void> {
    auto [a, b] = make();
    std::vector<Message> messages;
    messages.push_back(note("one"));
    messages.push_back(note("two"));
    EXPECT_TRUE(a->send_batch(std::move(messages)));
    auto incoming = co_await b->receive();
    EXPECT_TRUE(std::holds_alternative<Batch>(incoming));
    EXPECT_EQ(text_of(incoming),
              "{\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"two\"}\n");
  });
}

TEST_P(MemoryPair, AWaitingReceiverIsNotRunOnTheSendersStack) {
  run_task([this]() -> Task<void> {
    auto [a, b] = make();
    Scope scope(co_await asio::this_coro::executor);
    Ear ear;
    scope.spawn(ear.listen(*b));
    co_await asio::post(asio::use_awaitable);  // the receiver is waiting now
    EXPECT_TRUE(a->send(note("x")));
    EXPECT_TRUE(ear.heard.empty());
    co_await a->close(CloseMode::graceful);
    EXPECT_FALSE(ear.end);
    co_await scope.join();
    EXPECT_EQ(ear.heard.size(), 1u);
  });
}

TEST_P(MemoryPair, WhatWasSentBeforeCloseArrivesThenTheEndIsHeardOnceOnEachSide) {
  run_task([this]() -> Task<void> {
    auto [a, b] = make();
    Scope scope(co_await asio::this_coro::executor);
    Ear at_a;
    Ear at_b;
    scope.spawn(at_a.listen(*a));
    EXPECT_TRUE(a->send(note("last words")));
    co_await a->close(CloseMode::graceful);
    co_await a->close(CloseMode::graceful);
    co_await b->close(CloseMode::quick);
    scope.spawn(at_b.listen(*b));
    co_await scope.join();
    EXPECT_TRUE(at_a.heard.empty());
    EXPECT_EQ(at_a.end, Error(Errc::closed, "the connection was closed"));
    EXPECT_EQ(at_b.heard.size(), 1u);
    EXPECT_EQ(at_b.end, Error(Errc::closed, "the other side closed the connection"));
    // Whoever asks again is told the same.
    auto again = co_await as_result(b->receive());
    EXPECT_THAT(again, FailsWith(*at_b.end));
  });
}

TEST_P(MemoryPair, SendAfterCloseFailsOnBothSides) {
  run_task([this]() -> Task<void> {
    auto [a, b] = make();
    co_await b->close(CloseMode::graceful);
    EXPECT_THAT(a->send(note("x")), FailsWith(Errc::closed));
    EXPECT_THAT(b->send(note("x")), FailsWith(Errc::closed));
  });
}

TEST_P(MemoryPair, EitherEndMayBeDestroyedFirst) {
  run_task([this]() -> Task<void> {
    for (bool first : {true, false}) {
      auto pair = make();
      auto& gone = first ? pair.first : pair.second;
      auto& left = first ? pair.second : pair.first;
      EXPECT_TRUE(gone->send(note("x")));
      gone.reset();
      EXPECT_THAT(left->send(note("y")), FailsWith(Errc::closed));
      EXPECT_EQ(text_of(co_await left->receive()), R"({"jsonrpc":"2.0","method":"x"})");
      auto end = co_await as_result(left->receive());
      EXPECT_THAT(end, FailsWith(Errc::closed));
    }
  });
}

TEST_P(MemoryPair, AChannelDestroyedWhileReceivingEndsThatReceive) {
  run_task([this]() -> Task<void> {
    auto [a, b] = make();
    Scope scope(co_await asio::this_coro::executor);
    std::optional<Error> end;
    scope.spawn([](Task<Incoming> receive, std::optional<Error>& out) -> Task<void> {
      auto incoming = co_await as_result(std::move(receive));
      if (!incoming) out = incoming.error();
    }(a->receive(), end));
    co_await asio::post(asio::use_awaitable);
    a.reset();
    co_await scope.join();
    EXPECT_EQ(end, Error(Errc::closed, "the connection was closed"));
  });
}

TEST_P(MemoryPair, ACancelledReceiveLosesNoMessage) {
  run_task([this]() -> Task<void> {
    auto [a, b] = make();
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn([](Channel& channel) -> Task<void> { (void)co_await channel.receive(); }(*b));
    co_await asio::post(asio::use_awaitable);
    scope.cancel();
    EXPECT_TRUE(a->send(note("x")));
    co_await scope.join();
    EXPECT_EQ(text_of(co_await b->receive()), R"({"jsonrpc":"2.0","method":"x"})");
  });
}

TEST_P(MemoryPair, AFullQueueRefusesUntilThePeerReads) {
  run_task([this]() -> Task<void> {
    Limits limits;
    limits.outgoing = 100;
    auto [a, b] = make(limits);
    const Json half = Json::array({std::string(60, 'x')});
    EXPECT_TRUE(a->send(note("x", half)));
    auto refused = a->send(note("x", half));
    EXPECT_THAT(refused, FailsWith(Errc::limit));
    (void)co_await b->receive();
    EXPECT_TRUE(a->send(note("x", half)));
    EXPECT_TRUE(b->send(note("x", half)));  // the other direction has its own queue
  });
}

TEST_P(MemoryPair, AMessageOverTheBoundsEndsTheConnection) {
  struct Case {
    Json params;
    bool accepted;
  };
  Limits limits;
  limits.message = 50;
  limits.depth = 8;
  const std::vector<Case> cases{
      {Json::array({std::string(44, 'x')}), true},   // with brackets, quotes and the method's two bytes: 50
      {Json::array({std::string(45, 'x')}), false},  // one byte more
      {nested(7), true},                             // inside the message object: 8
      {nested(8), false},                            // one level more
      {Json::array({"[[[[[[[[[[\\\"[["}), true},     // brackets in a string are no depth
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(to_text(c.params));
    run_task([&]() -> Task<void> {
      auto [a, b] = make(limits);
      auto sent = a->send(note("xy", c.params));
      EXPECT_EQ(sent.has_value(), c.accepted);
      auto incoming = co_await as_result(b->receive());
      EXPECT_EQ(incoming.has_value(), c.accepted);
      if (!incoming) {
        EXPECT_EQ(incoming.error().code(), Errc::limit);
        EXPECT_THAT(sent, FailsWith(Errc::limit));
        auto mine = co_await as_result(a->receive());
        EXPECT_THAT(mine, FailsWith(Errc::closed));
      }
    });
  }
}

TEST(MemoryPairSharing, SharedPayloadsAreTheSameBytesAndCopiesAreNot) {
  for (auto mode : {MemoryPayloads::share, MemoryPayloads::copy}) {
    run_task([mode]() -> Task<void> {
      auto [a, b] = make_memory_pair({}, mode);
      Payload payload(Json{{"k", std::string(100, 'v')}});
      const auto* bytes = payload.text().data();
      EXPECT_TRUE(a->send(Notification{"x", payload}));
      auto incoming = co_await b->receive();
      const auto& got = std::get<Notification>(std::get<Message>(incoming)).params;
      EXPECT_EQ(got.text(), payload.text());
      EXPECT_EQ(got.text().data() == bytes, mode == MemoryPayloads::share);
    });
  }
}

}  // namespace
}  // namespace patchbay
