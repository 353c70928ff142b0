#include "support/loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/loop_clock.h"
#include "support/manual_clock.h"

namespace patchbay::test {
namespace {

using Real = std::chrono::steady_clock;
constexpr auto patience = std::chrono::minutes(5);

void run_on(asio::io_context& loop, std::function<Task<void>()> body, const std::function<void()>& run) {
  bool done = false;
  asio::co_spawn(loop, body(), [&](std::exception_ptr exception) {
    done = true;
    if (exception) {
      auto error = error_from(exception);
      ADD_FAILURE() << to_string(error.code()) << ": " << error.message() << "\n" << error.detail();
    }
  });
  run();
  if (!done) {
    ADD_FAILURE() << "the coroutine did not end within five minutes";
  } else if (!loop.stopped()) {
    ADD_FAILURE() << "the coroutine ended, but something it started still ran after five minutes";
  }
}

}  // namespace

void run_task(std::function<Task<void>()> body) {
  asio::io_context loop(1);
  run_on(loop, std::move(body), [&] { loop.run_for(patience); });
}

void run_task(ManualClock& clock, std::function<Task<void>()> body) {
  asio::io_context loop(1);
  use_clock(loop, clock);
  run_on(loop, std::move(body), [&] {
    for (const auto end = Real::now() + patience; !loop.stopped() && Real::now() < end;) {
      if (clock.wake_due() || loop.poll_one() > 0 || clock.turn()) continue;
      // What is ready now comes from outside: a descriptor, a thread.
      if (!loop.stopped()) loop.run_one_for(std::min<Duration>(clock.until_next(), end - Real::now()));
    }
  });
}

Task<void> settle() {
  for (int hop = 0; hop < 50; ++hop) co_await asio::post(asio::use_awaitable);
}

}  // namespace patchbay::test
