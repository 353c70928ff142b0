// The only place that races work against a timer. Racing `work || timer` directly hides
// a failure of the work until the timer fires (Boost 1.81), so the race is run on
// as_result(work). Loop thread only.
#pragma once

#include <chrono>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/as_result.h"

namespace patchbay {

using Duration = std::chrono::steady_clock::duration;

// Without overflow: what is longer than a clock can count is no limit.
inline Duration as_duration(std::chrono::milliseconds wait) {
  return wait >= std::chrono::duration_cast<std::chrono::milliseconds>(Duration::max()) ? Duration::max()
                                                                                        : Duration(wait);
}

// The work's value or error; when `limit` passes first, the work is cancelled and
// Errc::timeout with `message` is thrown. A limit of Duration::max() means none.
template <class T>
Task<T> with_timeout(Task<T> work, Duration limit, std::string message) {
  if (limit == Duration::max()) co_return co_await std::move(work);
  using asio::experimental::awaitable_operators::operator||;
  asio::steady_timer timer(co_await asio::this_coro::executor, limit);
  auto outcome = co_await (as_result(std::move(work)) || timer.async_wait(asio::use_awaitable));
  if (outcome.index() == 1) throw Error(Errc::timeout, std::move(message));
  co_return value_or_throw(std::move(std::get<0>(outcome)));
}

// Returns after `duration`; throws operation_aborted when cancelled.
inline Task<void> sleep_for(Duration duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace patchbay
