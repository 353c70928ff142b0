// L7: the byte budget of the process, with real servers: messages that do not fit together, and calls meanwhile.
#include <boost/asio/this_coro.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>

#include "base/as_result.h"
#include "base/byte_budget.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "client/connect.h"
#include "support/loop.h"
#include "support/places.h"
#include "transport/stdio.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::size_t kibibyte = 1u << 10;

// A server that prints so many bytes of a message, and its end if that is wished for; then it waits.
Task<std::unique_ptr<Channel>> printing(std::size_t bytes, bool whole, Runtime runtime) {
  auto transport = stdio_transport(
      {.command = built("odd-server"),
       .args = {"lines", R"({"jsonrpc":"2.0","method":")", std::to_string(bytes), whole ? "\"}\\n" : "", "wait"}});
  co_return co_await transport->open(runtime);
}

struct Outcome {
  bool ended = false;
  Result<Incoming> incoming = fail(Errc::internal, "not yet");
};
Task<void> receive_one(Channel& channel, Outcome& outcome) {
  outcome.incoming = co_await as_result(channel.receive());
  outcome.ended = true;
}

TEST(Budget, HalfMessagesOfSilentServers_MakeRoomForAWholeOne) {
  run_task([]() -> Task<void> {
    Runtime runtime;
    runtime.limits.buffered = 4096 * kibibyte;
    const auto before = byte_budget().used();
    auto first = co_await printing(1950 * kibibyte, false, runtime);
    auto second = co_await printing(1900 * kibibyte, false, runtime);
    Outcome first_end, second_end, third_end;
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn(receive_one(*first, first_end));
    scope.spawn(receive_one(*second, second_end));
    while (byte_budget().used() - before < 3850 * kibibyte) co_await sleep_for(1ms);
    auto third = co_await printing(512 * kibibyte, true, runtime);
    scope.spawn(receive_one(*third, third_end));
    while (!third_end.ended) co_await sleep_for(1ms);
    EXPECT_TRUE(third_end.incoming) << third_end.incoming.error().message();
    // The largest had to go, and no other.
    while (!first_end.ended) co_await sleep_for(1ms);
    EXPECT_FALSE(first_end.incoming);
    if (!first_end.incoming) EXPECT_EQ(first_end.incoming.error().code(), Errc::limit);
    EXPECT_FALSE(second_end.ended);
    for (auto* channel : {first.get(), second.get(), third.get()}) co_await channel->close(CloseMode::quick);
    co_await scope.join();
    third_end.incoming = fail(Errc::internal, "");
    first.reset(), second.reset(), third.reset();
    EXPECT_EQ(byte_budget().used(), before);
  });
}

// Whoever holds all of it may do so for long: a call that needs some waits no longer than its own limit, and one that
// needs little does not notice.
TEST(Budget, WhileItIsSpent_EveryCallEnds) {
  run_task([]() -> Task<void> {
    Runtime runtime;
    StdioOptions options{.command = built("mode-server"), .args = {"good"}};
    auto session = co_await connect(Client({}), stdio_transport(options), runtime);
    {
      const auto all = byte_budget().charge(runtime.limits.buffered);
      auto small = co_await as_result(session.call_tool("echo", Json{{"text", "hello"}}, {.total = 60s}));
      EXPECT_TRUE(small);
      auto large = co_await as_result(
          session.call_tool("echo", Json{{"text", std::string(1024 * kibibyte, 'x')}}, {.total = 300ms}));
      EXPECT_FALSE(large);
      if (!large) EXPECT_THAT(large.error().message(), HasSubstr("no answer to tools/call within 300 ms"));
    }
    // Once there is room, what waited is read, and the session goes on.
    auto later = co_await as_result(
        session.call_tool("echo", Json{{"text", std::string(1024 * kibibyte, 'y')}}, {.total = 60s}));
    EXPECT_TRUE(later);
    if (later) EXPECT_EQ(text_of(*later), std::string(1024 * kibibyte, 'y'));
    co_await session.close();
  });
}

}  // namespace
}  // namespace patchbay::test
