// L7: a line that had to go for want of room, but whose end had arrived already, is handed out and ends nothing.
#include "transport/line_messages.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/scope.h"
#include "support/loop.h"

namespace patchbay::test {
namespace {

void feed(LineMessages& lines, std::string_view text) {
  while (!text.empty()) {
    auto room = lines.reader().room();
    const auto part = std::min(room.size(), text.size());
    std::copy_n(text.begin(), part, room.begin());
    lines.commit(part);
    text.remove_prefix(part);
  }
}

std::optional<Incoming> next(LineMessages& lines) {
  return lines.next([](const LineReader::Line&, ReadMessages read) -> std::optional<Incoming> {
    EXPECT_TRUE(read.decoded);
    return read.decoded ? std::optional(Incoming(std::move(read.decoded->messages.at(0)))) : std::nullopt;
  });
}

TEST(LineMessages, ALineThatIsWholeWhenItHasToGo_IsHandedOutAndTheNextOneRead) {
  for (const bool whole : {true, false}) {
    run_task([whole]() -> Task<void> {
      Limits limits;
      limits.buffered = 250'000;
      const auto executor = co_await asio::this_coro::executor;
      int interrupted = 0;
      LineMessages lines(executor, limits, [&] { ++interrupted; });
      feed(lines, R"({"jsonrpc":"2.0","method":"m","params":{"text":")" + std::string(150'000, 'x'));
      EXPECT_FALSE(next(lines));
      EXPECT_EQ(lines.todo(), LineMessages::Todo::read);
      // Somebody else needs the room, and this is the largest.
      ByteBudget::Unfinished other(byte_budget(), executor, limits.buffered);
      other.hold(90'000);
      Scope scope(executor);
      scope.start([](ByteBudget::Unfinished& message) -> Task<void> { co_await message.room(20'000); }(other));
      EXPECT_TRUE(lines.failed());
      if (whole) {
        feed(lines, "\"}}\n");
        EXPECT_TRUE(next(lines));
        EXPECT_FALSE(next(lines));
        EXPECT_EQ(lines.todo(), LineMessages::Todo::read);
      } else {
        EXPECT_EQ(lines.todo(), LineMessages::Todo::give_up);
      }
      co_await settle();
      EXPECT_EQ(interrupted, 0);
      co_await scope.join();
    });
  }
}

}  // namespace
}  // namespace patchbay::test
