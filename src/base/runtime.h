// What every resource of Patchbay needs from its surroundings, handed in by whoever
// creates it: randomness, a log and the limits. A cheap value; no globals. Time is the loop's: base/loop_clock.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

namespace patchbay {

struct Runtime {
  Random random = system_random();
  Log log;
  Limits limits;
  // Every message as JSON, "->" for sent and "<-" for received; unset: no work is done for it.
  std::function<void(std::string_view direction, std::string_view message)> trace;
  // Numbers the calls of all sessions that share it; unset: each session numbers its own.
  std::shared_ptr<std::uint64_t> calls;
};

}  // namespace patchbay
