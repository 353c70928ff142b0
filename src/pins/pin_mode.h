// What becomes of tools that are not any more what they were when they were first seen. Values only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace patchbay {

enum class PinMode : std::uint8_t {
  off,     // nothing is remembered
  record,  // remembered and told, and nothing is refused
  ask,     // nobody calls them until somebody agrees
};
std::string_view to_string(PinMode mode) noexcept;  // as settings have it: "off", "record", "ask"
std::optional<PinMode> pin_mode(std::string_view text) noexcept;

}  // namespace patchbay
