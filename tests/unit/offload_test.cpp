// Work on the helper thread: its value, its error, and a caller who does not wait for it.
#include "base/offload.h"

#include <future>
#include <thread>

#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "support/fails_with.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using test::FailsWith;
using test::run_task;
using test::settle;

TEST(Offload, ValuesAndErrorsComeBackToTheLoop) {
  run_task([]() -> Task<void> {
    const auto here = std::this_thread::get_id();
    const auto there = co_await offload([] { return std::this_thread::get_id(); });
    EXPECT_NE(there, here);
    EXPECT_EQ(std::this_thread::get_id(), here);
    auto failed = co_await as_result(offload([]() -> int { throw Error(Errc::limit, "too much"); }));
    EXPECT_THAT(failed, FailsWith(Error(Errc::limit, "too much")));
  });
}

TEST(Offload, WorkThatIsNoLongerWantedEndsAllTheSame) {
  run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::promise<void> begun, release;
    bool ended = false;
    scope.spawn([](std::promise<void>& b, std::promise<void>& r, bool& e) -> Task<void> {
      co_await offload([&b, &r] {
        b.set_value();
        r.get_future().wait();
        return 1;
      });
      e = true;
    }(begun, release, ended));
    co_await settle();
    begun.get_future().wait();
    scope.cancel();
    release.set_value();
    co_await scope.join();
    EXPECT_TRUE(ended);
  });
}

}  // namespace
}  // namespace patchbay
