// How long requests may take. A request has settings of its own and shares the clock (rpc/call_clock.h) of all
// that it is a part of: rounds of questions, another try in a new session, the task a call became. Pure but for
// in_time(), which waits.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string_view>

#include <patchbay/call.h>

#include "base/runtime.h"
#include "base/timeout.h"
#include "rpc/call_clock.h"
#include "rpc/peer.h"

namespace patchbay {

struct RequestSettings {
  Duration total = Duration::max();
  Duration idle = Duration::max();
  // The time of all that this is a part of: a list of many pages, the task a call became. Unset: its own.
  std::shared_ptr<CallClock> clock;
  std::function<void(const Progress&)> on_progress;
  bool tasks = false;  // whether the answer may be a task
};

// `standard`: the limit of a call that names none.
inline RequestSettings settings_for(const CallOptions& call, std::chrono::milliseconds standard) {
  RequestSettings settings;
  settings.total = as_duration(call.total.value_or(standard));
  if (call.idle) settings.idle = as_duration(*call.idle);
  settings.on_progress = call.on_progress;
  return settings;
}

inline std::shared_ptr<CallClock> clock_for(const Clock& clock, const RequestSettings& settings) {
  return std::make_shared<CallClock>(clock, settings.total, std::min(settings.total, settings.idle));
}

// `work` that a call needs before it can go on, within what is left of the time of the call.
inline Task<void> in_time(std::string_view method, const RequestSettings& settings, Task<void> work) {
  return with_timeout(std::move(work), settings.clock->left(), timed_out(method, settings.total).message());
}

}  // namespace patchbay
