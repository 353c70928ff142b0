// The log and the trace a command line asks for; where it asks for none, what a person should hear all the same.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "cli/known_secrets.h"
#include "cli/words/settings.h"

namespace patchbay::cli {

// `talk` writes to stderr; `secrets` are taken out of every line.
using Talk = std::function<void(std::string_view)>;
Log make_log(const Settings& settings, Talk talk, std::shared_ptr<const KnownSecrets> secrets);
// --log-level or --log-file was given.
bool log_is_wanted(const Settings& settings);
// Warnings as sentences, each once; for --json and --quiet errors only.
Log words_for_people(const Settings& settings, std::function<void(const std::string&)> say,
                     std::shared_ptr<const KnownSecrets> secrets);
std::function<void(std::string_view, std::string_view)> make_trace(const Settings& settings, Talk talk,
                                                                   std::shared_ptr<const KnownSecrets> secrets);

}  // namespace patchbay::cli
