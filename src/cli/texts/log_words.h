// What an event of the log says to somebody who did not ask for a log: one sentence. Pure.
// Events that nobody at a terminal can do anything about stay in the log.
#pragma once

#include <optional>
#include <string>

#include <patchbay/log.h>

namespace patchbay::cli {

// Nothing when the event is for the log alone.
std::optional<std::string> log_words(const LogEvent& event);

}  // namespace patchbay::cli
