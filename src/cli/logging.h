// The log and the trace a command line asks for.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "cli/settings.h"

namespace patchbay::cli {

Log make_log(const Settings& settings);
// `secrets` are values that must not appear in it, whatever they stand in.
std::function<void(std::string_view, std::string_view)> make_trace(const Settings& settings,
                                                                   std::vector<std::string> secrets);

}  // namespace patchbay::cli
