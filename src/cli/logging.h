// The log and the trace a command line asks for; where it asks for none, what a person should hear all the same.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "cli/settings.h"

namespace patchbay::cli {

Log make_log(const Settings& settings);
// --log-level or --log-file was given.
bool log_is_wanted(const Settings& settings);
// Warnings as sentences, each once; for --json and --quiet errors only.
Log words_for_people(const Settings& settings, std::function<void(const std::string&)> say);
// `secrets` are values that must not appear in it, whatever they stand in.
std::function<void(std::string_view, std::string_view)> make_trace(const Settings& settings,
                                                                   std::vector<std::string> secrets);

}  // namespace patchbay::cli
