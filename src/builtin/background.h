// Runs blocking file work on a helper thread with a flag that tells it when nobody waits any
// more. A cancelled caller raises the flag and returns when the work has seen it, so nothing
// it started runs on behind its back; work must look at the flag often.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/offload.h"

namespace patchbay::builtin {

// `work` is called as work(const std::atomic<bool>& stop) and owns what it captures.
template <class F>
auto in_background(F work) -> Task<std::invoke_result_t<F, const std::atomic<bool>&>> {
  using T = std::invoke_result_t<F, const std::atomic<bool>&>;
  auto stop = std::make_shared<std::atomic<bool>>(false);
  auto result = std::make_shared<std::optional<T>>();
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(
      [stop, result](auto handler, F blocking) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) slot.assign([stop](asio::cancellation_type) { *stop = true; });
        auto guard = asio::make_work_guard(asio::get_associated_executor(handler));
        asio::post(offload_pool(Pool::slow), [stop, result, slot, blocking = std::move(blocking),
                                              guard = std::move(guard), handler = std::move(handler)]() mutable {
          std::exception_ptr failed;
          try {
            // Cancelled while it waited for its turn: then it has no effect at all.
            if (!*stop) result->emplace(blocking(*stop));
          } catch (...) {
            failed = std::current_exception();
          }
          auto executor = guard.get_executor();
          asio::post(executor, [slot, failed, handler = std::move(handler)]() mutable {
            slot.clear();
            std::move(handler)(failed);
          });
        });
      },
      asio::use_awaitable, std::move(work));
  if (*stop) throw Error(Errc::cancelled, "cancelled");
  co_return std::move(**result);
}

}  // namespace patchbay::builtin
