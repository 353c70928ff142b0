// How a broken stream of events is asked for again (Streamable HTTP of the older revisions): after
// which pause, and from which event on. Pure; the HTTP channel calls it.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/timeout.h"

namespace patchbay {

// The server's wish, if it has one, holds for the first attempt, within bounds: no stream is asked
// for without a pause, and none later than in an hour. Attempts after it wait longer and longer.
Duration pause_before_resuming(std::optional<std::chrono::milliseconds> wish, int attempt);

// Whether an event's id can be sent back as a header.
bool usable_event_id(std::string_view id) noexcept;

}  // namespace patchbay
