// Runs one coroutine to its end on a fresh loop, for tests. Whatever it throws is
// reported as a test failure. A coroutine that hangs is ended after a minute, so a
// broken wait fails the test instead of stopping the suite.
#pragma once

#include <functional>

#include <patchbay/task.h>

namespace patchbay::test {

void run_task(std::function<Task<void>()> body);
// The same on a loop whose only time is this clock's.
class ManualClock;
void run_task(ManualClock& clock, std::function<Task<void>()> body);

// Lets everything that is ready run, several hops deep. For checking that something did not
// happen; to wait for something, wait for it.
Task<void> settle();

}  // namespace patchbay::test
