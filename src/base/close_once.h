// CloseOnce: the first who closes something does the work; whoever comes later waits until it is done. Part of what is
// closed, which is kept alive meanwhile. Loop thread only.
#pragma once

#include <utility>

#include <patchbay/task.h>

#include "base/waiting.h"

namespace patchbay {

class CloseOnce {
 public:
  // True for the first, who calls finish() in the end; the others await finished().
  bool begin() noexcept { return !std::exchange(begun_, true); }
  bool begun() const noexcept { return begun_; }
  void finish() {
    finished_ = true;
    event_.notify_all();
  }
  Task<void> finished() {
    while (!finished_) co_await event_.wait();
  }

 private:
  bool begun_ = false;
  bool finished_ = false;
  Event event_;
};

}  // namespace patchbay
