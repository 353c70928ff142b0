// What every resource of Patchbay needs from its surroundings, handed in by whoever
// creates it: time, randomness, a log and the limits. A cheap value; no globals.
#pragma once

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

namespace patchbay {

struct Runtime {
  Clock clock;
  Random random = system_random();
  Log log;
  Limits limits;
};

}  // namespace patchbay
