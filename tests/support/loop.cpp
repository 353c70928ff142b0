#include "support/loop.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "base/as_result.h"

namespace patchbay::test {

void run_task(std::function<Task<void>()> body) {
  asio::io_context loop(1);
  bool done = false;
  asio::co_spawn(loop, body(), [&](std::exception_ptr exception) {
    done = true;
    if (exception) {
      auto error = error_from(exception);
      ADD_FAILURE() << to_string(error.code()) << ": " << error.message() << "\n" << error.detail();
    }
  });
  loop.run_for(std::chrono::minutes(5));
  if (!done) {
    ADD_FAILURE() << "the coroutine did not end within five minutes";
  } else if (!loop.stopped()) {
    ADD_FAILURE() << "the coroutine ended, but something it started still ran after five minutes";
  }
}

Task<void> settle() {
  for (int hop = 0; hop < 50; ++hop) co_await asio::post(asio::use_awaitable);
}

}  // namespace patchbay::test
