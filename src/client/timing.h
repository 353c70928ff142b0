// How long requests may take. A request has settings of its own and shares the clock (rpc/call_clock.h) of all
// that it is a part of: rounds of questions, another try in a new session, the task a call became. Pure but for
// in_time(), which waits, and Tagged, which numbers calls.
#pragma once

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>

#include <patchbay/call.h>

#include "base/runtime.h"
#include "base/timeout.h"
#include "client/answers.h"
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

// What a call is known by to whoever is asked on its behalf, for as long as somebody waits for it. Gives the settings
// a clock if they have none. The method, the tool and the options must live as long.
class Tagged {
 public:
  // `session`: a SessionOwner.
  template <class Session>
  Tagged(Session& session, RequestSettings& settings, std::string_view method, std::string_view tool,
         const CallOptions& options)
      : tag_{method, tool, options.principal, options.call_id} {
    if (tag_.id == 0 && session.runtime().calls) tag_.id = ++*session.runtime().calls;
    if (!settings.clock) settings.clock = clock_for(session.clock(), settings);
    clock_ = settings.clock;
    clock_->tag = &tag_;
    answers_ = &session.answers();
  }
  // A request that nobody gave options.
  template <class Session>
  Tagged(Session& session, std::shared_ptr<CallClock> clock, std::string_view method)
      : tag_{.method = method, .tool = {}, .principal = {}}, clock_(std::move(clock)) {
    clock_->tag = &tag_;
    answers_ = &session.answers();
  }
  Tagged(const Tagged&) = delete;
  Tagged& operator=(const Tagged&) = delete;
  // What is still asked on behalf of a call that nobody waits for any more is not asked. A call that was answered may
  // not have been the one that the question was about: an older server does not say, and may ask while it lists.
  ~Tagged() {
    clock_->tag = nullptr;
    if (std::uncaught_exceptions() > unwinding_) answers_->call_left(*clock_);
  }

 private:
  CallTag tag_;
  const Answers* answers_ = nullptr;
  int unwinding_ = std::uncaught_exceptions();
  std::shared_ptr<CallClock> clock_;
};

// `work` that a call needs before it can go on, within what is left of the time of the call.
inline Task<void> in_time(std::string_view method, const RequestSettings& settings, Task<void> work) {
  return with_timeout(std::move(work), settings.clock->left(), timed_out(method, settings.total).message());
}

}  // namespace patchbay
