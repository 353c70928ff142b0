// L7: large messages are read beside the loop, with a bound on the values in them and on what they take.
#include "rpc/read_messages.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "support/loop.h"

namespace patchbay::test {
namespace {

using testing::HasSubstr;

std::shared_ptr<const std::string> block_of(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

// An answer with so many ones in it.
std::string ones(std::size_t count, std::string_view before = R"({"jsonrpc":"2.0","id":7,"result":[0)",
                 std::string_view after = "]}") {
  std::string text(before);
  for (std::size_t i = 0; i < count; ++i) text += ",1";
  text += after;
  return text;
}

Task<ReadMessages> aside(std::string text, Limits limits = {}) {
  auto block = block_of(std::move(text));
  auto weight = byte_budget().charge(block->size());
  co_return co_await read_messages_aside(block, *block, std::move(weight), limits);
}

TEST(ReadMessages, TooManyValues_FailTheCallTheyAnswer) {
  Limits limits;
  limits.nodes = 100;
  const auto text = block_of(ones(100));
  const auto read = read_messages(text, *text, limits);
  ASSERT_FALSE(read.decoded);
  EXPECT_EQ(read.decoded.error().code(), Errc::limit);
  EXPECT_THAT(read.decoded.error().message(), HasSubstr("more than 100 values"));
  EXPECT_EQ(read.seems_to_answer, RequestId(7));

  const auto fits = block_of(ones(80));
  EXPECT_TRUE(read_messages(fits, *fits, limits).decoded);
}

// Messages of a batch take room, also empty ones.
TEST(ReadMessages, TooManyMessagesInOneBatch_AreALimit) {
  Limits limits;
  limits.nodes = 100;
  std::string batch = "[";
  for (int i = 0; i < 20; ++i) batch += std::string(i > 0 ? "," : "") + R"({"jsonrpc":"2.0","method":"x"})";
  const auto text = block_of(batch + "]");
  const auto read = read_messages(text, *text, limits);
  ASSERT_FALSE(read.decoded);
  EXPECT_EQ(read.decoded.error().code(), Errc::limit);
}

// A message that takes long to read does not keep others waiting: the loop turns while it is read.
TEST(ReadMessages, ALargeText_IsReadBesideTheLoop) {
  run_task([]() -> Task<void> {
    std::size_t turns = 0;
    bool done = false;
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn([](const bool& over, std::size_t& count) -> Task<void> {
      while (true) {
        if (over) co_return;
        co_await asio::post(asio::use_awaitable);
        ++count;
      }
    }(done, turns));
    auto read = co_await aside(ones(1'000'000));
    done = true;
    const auto during = turns;
    co_await scope.join();
    EXPECT_GT(during, 1u);
    EXPECT_TRUE(read.decoded);
    if (!read.decoded) co_return;
    const auto& response = std::get<Response>(read.decoded->messages.front());
    EXPECT_EQ(response.result.value().size(), 1'000'001u);
  });
}

TEST(ReadMessages, WhatALargeMessageTakes_IsChargedForAsLongAsItLives) {
  run_task([]() -> Task<void> {
    const auto before = byte_budget().used();
    {
      auto read = co_await aside(ones(100'000));
      // The text, and forty bytes or so for each value.
      EXPECT_GE(byte_budget().used() - before, 200'000 + 100'000 * sizeof(Json));
      auto message = std::move(std::get<Response>(read.decoded->messages.front()));
      read = {Decoded{}, {}};
      EXPECT_GT(byte_budget().used(), before);
    }
    EXPECT_EQ(byte_budget().used(), before);
  });
}

// Asked for before the values are made, not after.
TEST(ReadMessages, ValuesForWhichThereIsNoRoom_AreNotMade) {
  run_task([]() -> Task<void> {
    Limits limits;
    limits.buffered = byte_budget().used() + (1u << 20);
    const auto before = byte_budget().used();
    auto read = co_await aside(ones(100'000), limits);
    EXPECT_FALSE(read.decoded);
    if (!read.decoded) EXPECT_EQ(read.decoded.error().code(), Errc::limit);
    EXPECT_EQ(read.seems_to_answer, RequestId(7));
    EXPECT_EQ(byte_budget().used(), before);
  });
}

TEST(ReadMessages, AKeyThatComesTwice_IsFoundAside) {
  run_task([]() -> Task<void> {
    auto read = co_await aside(ones(10, R"({"jsonrpc":"2.0","id":7,"result":{"a":1,"a":[0)", "]}}"));
    EXPECT_FALSE(read.decoded);
    if (!read.decoded) EXPECT_THAT(read.decoded.error().message(), HasSubstr("duplicate key \"a\""));
    EXPECT_EQ(read.seems_to_answer, RequestId(7));
  });
}

}  // namespace
}  // namespace patchbay::test
