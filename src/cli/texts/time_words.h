// Times as people read them: local, with the zone, so that all that a command prints can be compared. JSON has them in
// UTC. Any thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace patchbay::cli {

// "2026-11-18 03:30:00 +0100"
std::string local_time(std::chrono::sys_seconds time);
// Of a time in JSON, "2026-11-18T02:30:00Z"; anything else as it is.
std::string local_time(std::string_view utc);

}  // namespace patchbay::cli
