#include "protocol/tool_name.h"

#include <algorithm>

#include <fmt/format.h>

namespace patchbay {
namespace {

constexpr std::size_t longest = 128;

bool is_allowed(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

}  // namespace

Result<void> check_tool_name(std::string_view name) {
  if (name.empty()) return fail(Errc::invalid_argument, "a tool needs a name");
  if (name.size() > longest) {
    return fail(Errc::invalid_argument, fmt::format("the tool name \"{}...\" has {} characters; {} are allowed",
                                                    name.substr(0, 40), name.size(), longest));
  }
  if (!std::ranges::all_of(name, is_allowed)) {
    return fail(Errc::invalid_argument,
                fmt::format("the tool name \"{}\" may have only letters, digits, '_', '-' and '.'", name));
  }
  return {};
}

}  // namespace patchbay
