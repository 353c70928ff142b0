#include "host/events.h"

#include <algorithm>

#include "base/as_result.h"

namespace patchbay {

void HostEvents::tell(const HostEvent& event) {
  if (!function_) return;
  try {
    // It may end the host, and with it itself.
    const auto function = function_;
    function(event);
  } catch (...) {
    log_(LogLevel::error, "callback_threw", "text", error_from(std::current_exception()).message());
  }
}

Log HostEvents::log_of(const std::shared_ptr<HostEvents>& events) {
  if (!events->wanted()) return events->log_;
  const auto threshold = std::min(events->log_.threshold(), LogLevel::warning);
  return Log(threshold, [events](const LogEvent& event) {
    events->log_.pass(event);
    if (event.level >= LogLevel::warning) events->tell(event);
  });
}

}  // namespace patchbay
