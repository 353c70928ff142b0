// What `list` and `get` warn about beside the servers themselves. Used by these two commands; warnings_of() is pure.
#pragma once

#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "cli/io.h"
#include "cli/words/settings.h"

namespace patchbay::cli {

// Where an entry was declared, as the documentation calls it.
std::string_view scope_word(ConfigScope scope);

// Notes are for who looks for them: doctor and lint; those about an entry that is used concern a listing as well.
std::vector<ConfigProblem> warnings_of(const LoadedConfig& config);
void say_warnings(const Settings& settings, Io& io, const std::vector<ConfigProblem>& warnings);

}  // namespace patchbay::cli
