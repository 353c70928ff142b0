// The log and the trace a command line asks for.
#pragma once

#include <functional>
#include <string_view>

#include "base/log.h"
#include "cli/settings.h"

namespace patchbay::cli {

Log make_log(const Settings& settings);
std::function<void(std::string_view, std::string_view)> make_trace(const Settings& settings);

}  // namespace patchbay::cli
