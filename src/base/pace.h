// Pace: when a coroutine that finds work without ever waiting has to let others have their turn. A peer
// that sends faster than we read would otherwise have the loop for itself: no timer fires, no signal is
// heard. Owned by whoever reads; loop thread only.
//
//   while (next piece) { pace.note(size); ... if (pace.due()) co_await pace.turn(); }
#pragma once

#include <cstddef>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/task.h>

namespace patchbay {

class Pace {
 public:
  static constexpr std::size_t pieces = 256;
  static constexpr std::size_t bytes = 1u << 20;

  void note(std::size_t size) noexcept {
    ++pieces_;
    bytes_ += size;
  }
  bool due() const noexcept { return pieces_ >= pieces || bytes_ >= bytes; }
  // It had to wait for something, so others had theirs.
  void rested() noexcept { pieces_ = bytes_ = 0; }
  // Returns when everything that was ready has run. Keep the owner alive meanwhile.
  Task<void> turn() {
    rested();
    return asio::post(asio::use_awaitable);
  }

 private:
  std::size_t pieces_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace patchbay
