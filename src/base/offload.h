// Runs heavy or blocking work on a helper thread and resumes on the loop. The work gets
// only what it captures by value. Cancelling does not shorten the wait: the work is not
// interrupted, and its result is dropped when it has ended.
#pragma once

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/task.h>

namespace patchbay {

asio::thread_pool& offload_pool();

template <class F>
auto offload(F work) -> Task<std::invoke_result_t<F>> {
  using T = std::invoke_result_t<F>;
  // Cancellation stays out of the other thread: work that had ended by then would throw there,
  // with nobody to catch it.
  co_return co_await asio::co_spawn(
      offload_pool(), [work = std::move(work)]() mutable -> Task<T> { co_return work(); },
      asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
}

}  // namespace patchbay
