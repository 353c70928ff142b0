#include <patchbay/questions.h>
#include <patchbay/types.h>

#include "protocol/names.h"

namespace patchbay {

std::string_view to_string(Role role) noexcept { return name_of(role); }
std::string_view to_string(LoggingLevel level) noexcept { return name_of(level); }
std::string_view to_string(TaskStatus status) noexcept { return name_of(status); }
std::string_view to_string(ElicitResult::Action action) noexcept { return name_of(action); }

std::optional<LoggingLevel> parse_logging_level(std::string_view name) noexcept {
  return value_named<LoggingLevel>(name);
}

// Not defaulted in the class: there the variant that holds ToolResult is not complete yet.
bool ToolResult::operator==(const ToolResult& other) const {
  return tool_use_id == other.tool_use_id && content == other.content &&
         structured_content == other.structured_content && is_error == other.is_error && meta == other.meta &&
         extra == other.extra;
}

}  // namespace patchbay
