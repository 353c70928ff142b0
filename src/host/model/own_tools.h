// The tools of ModelTools as a model is told of them, and what they are also called. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <patchbay/types.h>

namespace patchbay {

enum class OwnTool : std::uint8_t { search, list_resources, read_resource, list_skills, read_skill };

std::string_view name_of(OwnTool tool) noexcept;
// By its name or a short one.
std::optional<OwnTool> own_tool(std::string_view name) noexcept;
Tool describe(OwnTool tool);

}  // namespace patchbay
