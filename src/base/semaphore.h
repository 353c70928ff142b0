// Permits for work that may run a bounded number of times at once. Waiters are served in
// order; a cancelled wait leaves the queue. Loop thread only.
#pragma once

#include <cstddef>
#include <utility>

#include "base/waiting.h"

namespace patchbay {

class Semaphore {
 public:
  explicit Semaphore(std::size_t permits) : free_(permits) {}

  class Permit {
   public:
    Permit() = default;
    explicit Permit(Semaphore* owner) : owner_(owner) {}
    Permit(Permit&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Permit& operator=(Permit&& other) noexcept {
      release();
      owner_ = std::exchange(other.owner_, nullptr);
      return *this;
    }
    ~Permit() { release(); }
    void release() {
      if (auto* owner = std::exchange(owner_, nullptr)) {
        ++owner->free_;
        owner->freed_.notify_all();
      }
    }

   private:
    Semaphore* owner_ = nullptr;
  };

  Task<Permit> acquire() {
    while (free_ == 0) co_await freed_.wait();
    --free_;
    co_return Permit(this);
  }
  std::size_t free() const noexcept { return free_; }

 private:
  std::size_t free_;
  Event freed_;
};

}  // namespace patchbay
