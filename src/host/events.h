// The one way by which a Host tells its program what happens. What the program's function throws is logged and goes no
// further. Shared with the log, which may be written to after the host has gone: then nobody is notified. Loop thread
// only.
#pragma once

#include <functional>
#include <memory>

#include <patchbay/events.h>

#include "base/log.h"

namespace patchbay {

class HostEvents {
 public:
  using Function = std::function<void(const HostEvent&)>;

  HostEvents(Function function, Log log) : function_(std::move(function)), log_(std::move(log)) {}

  bool wanted() const noexcept { return function_ != nullptr; }
  void tell(const HostEvent& event);
  // The program's function is not called any more.
  void end() { function_ = nullptr; }

  // A log that writes where `log` of `events` does, and tells the program of problems.
  static Log log_of(const std::shared_ptr<HostEvents>& events);

 private:
  Function function_;
  Log log_;  // as the program gave it: what goes wrong with telling is not told again
};

}  // namespace patchbay
