// A coroutine beside the test, and what it came to. Loop thread only.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/as_result.h"
#include "base/scope.h"

namespace patchbay::test {

template <class T>
struct Beside {
  std::optional<Result<T>> result;  // once it has ended
  Spawned running;
};

template <class T>
std::shared_ptr<Beside<T>> beside(Scope& scope, Task<T> work) {
  auto outcome = std::make_shared<Beside<T>>();
  outcome->running = scope.spawn([](Task<T> task, std::shared_ptr<Beside<T>> out) -> Task<void> {
    out->result = co_await as_result(std::move(task));
  }(std::move(work), outcome));
  return outcome;
}

// How it failed; Errc::internal while it has not, or did not.
template <class T>
Errc failure_of(const Beside<T>& one) {
  return one.result && !*one.result ? one.result->error().code() : Errc::internal;
}

}  // namespace patchbay::test
