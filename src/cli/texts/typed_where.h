// Where a person is who reads what to type next: texts that name a command name the one of that place. Pure.
#pragma once

#include <cstdint>

namespace patchbay::cli {

enum class TypedWhere : std::uint8_t {
  shell,  // patchbay call TOOL
  chat,   // /call TOOL
};

}  // namespace patchbay::cli
