// What a line of the log says to somebody who asked for no log: `server=x event=y text="…"` as a sentence. Pure.
// Lines that nobody at a terminal can do anything about stay in the log.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"

namespace patchbay::cli {

// Nothing when the line is for the log alone.
std::optional<std::string> log_words(LogLevel level, std::string_view line);
// The event of a line; empty when it has none.
std::string_view log_event(std::string_view line);

}  // namespace patchbay::cli
