// Permits for work that may run a bounded number of times at once. Waiters are served in
// order; a cancelled wait leaves the queue. Loop thread only.
#pragma once

#include <cstddef>
#include <list>
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
    Place place(*this);
    // A permit that is free already belongs to whoever waits longest.
    while (free_ == 0 || queue_.front() != &place) co_await freed_.wait();
    --free_;
    co_return Permit(this);
  }
  std::size_t free() const noexcept { return free_; }
  // Before anybody has acquired one.
  void set_permits(std::size_t permits) noexcept { free_ = permits; }

 private:
  // A position in the queue, left when served and when cancelled.
  struct Place {
    explicit Place(Semaphore& s) : semaphore(s) { semaphore.queue_.push_back(this); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      semaphore.queue_.remove(this);
      if (semaphore.free_ > 0) semaphore.freed_.notify_all();
    }
    Semaphore& semaphore;
  };

  std::size_t free_;
  std::list<Place*> queue_;
  Event freed_;
};

}  // namespace patchbay
