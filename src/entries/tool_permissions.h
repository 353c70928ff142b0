// What is wrong with "tools" and "toolPermissions" of an entry: permission/entry_rules.h makes rules of them. Pure; a
// helper of the reader of entries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/document.h"

namespace patchbay {

struct ToolPermissionFault {
  std::size_t offset = 0;
  std::string message;
  bool is_error = false;  // else a warning: the calls of that tool are denied
};

std::vector<ToolPermissionFault> tool_permission_faults(std::string_view key, const ConfigDocument::Member& at);

}  // namespace patchbay
