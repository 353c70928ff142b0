// The flags about permissions as what the host takes. Pure. Commands that decide without a host take them
// from here as well.
#pragma once

#include <patchbay/host.h>

#include "cli/words/settings.h"
#include "permission/decide.h"

namespace patchbay::cli {

// Errc::invalid_argument when a rule cannot be read.
PermissionOptions permission_options(const Settings& settings);

// The rules that hold for a configuration with these flags.
Permissions permissions_of(const LoadedConfig& config, const Settings& settings);

}  // namespace patchbay::cli
