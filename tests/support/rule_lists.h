// Permission rules as a test writes them: three lists, and the settings file they would stand in.
#pragma once

#include <string>
#include <vector>

#include <patchbay/permission.h>

#include "settings/settings_file.h"

namespace patchbay::test {

struct RuleLists {
  std::vector<std::string> allow = {};
  std::vector<std::string> ask = {};
  std::vector<std::string> deny = {};
  PermissionMode mode = PermissionMode::standard;  // not in the file: of the run
};

// The user's own settings with these rules, as if read from `file`.
std::vector<SettingsLayer> settings_with(const RuleLists& lists, const std::string& file);

}  // namespace patchbay::test
