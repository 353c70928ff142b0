// Which clock a loop follows. One per loop, so that a coroutine needs only its executor to know it, and what waits in
// the same loop agrees about the time (docs/adr/0018-one-clock-per-loop.md). Any thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/execution_context.hpp>

#include "base/clock.h"

namespace patchbay {

namespace asio = boost::asio;

// Once, before anything runs on the loop; the clock outlives it. A loop that was given none has the system's.
void use_clock(asio::execution_context& loop, Clock& clock);

// Looks it up in the loop: whoever asks often keeps the answer.
Clock& loop_clock(const asio::any_io_executor& executor);

}  // namespace patchbay
