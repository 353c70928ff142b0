// The bridge between the two ways an operation can fail: coroutines throw, pure code
// returns a Result. Whatever escapes a coroutine (our Error, an Asio error, a
// std::exception) becomes one Error here and nowhere else.
#pragma once

#include <exception>

#include <patchbay/task.h>

namespace patchbay {

// Names the exception as an Error; Asio's operation_aborted is Errc::cancelled.
Error error_from(std::exception_ptr exception);

template <class T>
Task<Result<T>> as_result(Task<T> work) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(work);
      co_return Result<T>{};
    } else {
      co_return Result<T>(co_await std::move(work));
    }
  } catch (const Error& error) {
    co_return std::unexpected(error);  // as error_from says, which would throw it once more to see it
  } catch (...) {
    co_return std::unexpected(error_from(std::current_exception()));
  }
}

// The other way: the value, or the error thrown.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::move(result).error();
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace patchbay
