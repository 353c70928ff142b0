#include "pins/pin_mode.h"

#include <algorithm>
#include <array>

namespace patchbay {
namespace {

constexpr auto modes = std::to_array<std::string_view>({"off", "record", "ask"});  // in the order of PinMode

}  // namespace

std::string_view to_string(PinMode mode) noexcept { return modes.at(static_cast<std::size_t>(mode)); }

std::optional<PinMode> pin_mode(std::string_view text) noexcept {
  const auto found = std::ranges::find(modes, text);
  if (found == modes.end()) return std::nullopt;
  return static_cast<PinMode>(found - modes.begin());
}

}  // namespace patchbay
