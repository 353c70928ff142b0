// The only place that races work against a timer. Racing `work || timer` directly hides
// a failure of the work until the timer fires (Boost 1.81), so the race is run on
// as_result(work). Time is that of the loop's clock. Loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/as_result.h"
#include "base/timer.h"

namespace patchbay {

// Without overflow: what is longer than a clock can count is no limit.
inline Duration as_duration(std::chrono::milliseconds wait) {
  return wait >= std::chrono::duration_cast<std::chrono::milliseconds>(Duration::max()) ? Duration::max()
                                                                                        : Duration(wait);
}

// The work's value or error; when `over` returns first, the work is cancelled and Errc::timeout with what `message`
// returns is thrown. What `over` throws is thrown.
template <class T, class Message>
Task<T> unless(Task<T> work, Task<void> over, Message message) {
  using asio::experimental::awaitable_operators::operator||;
  auto outcome = co_await (as_result(std::move(work)) || as_result(std::move(over)));
  if (outcome.index() == 1) {
    value_or_throw(std::move(std::get<1>(outcome)));
    throw Error(Errc::timeout, message());
  }
  co_return value_or_throw(std::move(std::get<0>(outcome)));
}

template <class T>
Task<void> keep_result(Task<T> work, std::optional<Result<T>>& kept) {
  kept = co_await as_result(std::move(work));
}

// The work's value or error; when `limit` passes first, the work is cancelled and
// Errc::timeout with `message` is thrown. A limit of Duration::max() means none.
template <class T>
Task<T> with_timeout(Task<T> work, Duration limit, std::string message) {
  if (limit == Duration::max()) co_return co_await std::move(work);
  using asio::experimental::awaitable_operators::operator||;
  Timer timer(co_await asio::this_coro::executor);
  timer.set_after(limit);
  // Kept beside the race: whoever cancels both ends the timer first, which is not the end of the time.
  std::optional<Result<T>> outcome;
  const auto first = co_await (keep_result(std::move(work), outcome) || timer.came());
  const auto* timed = std::get_if<1>(&first);
  if (timed != nullptr && !std::get<0>(*timed)) throw Error(Errc::timeout, std::move(message));
  if (!outcome) throw boost::system::system_error(asio::error::operation_aborted);
  co_return value_or_throw(*std::move(outcome));
}

// Returns after `duration`; throws operation_aborted when cancelled.
inline Task<void> sleep_for(Duration duration) {
  Timer timer(co_await asio::this_coro::executor);
  timer.set_after(duration);
  co_await timer.wait();
}

}  // namespace patchbay
