// How much another definition of a tool matters: pure notation is nobody's business, a new text is for a person. A
// table of rules (docs/pins.md), from values to a value; pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/types.h>

namespace patchbay {

enum class ChangeGrade : std::uint8_t {
  none,    // the same, but for notation and what is not looked at
  silent,  // annotations that promise less than before
  note,    // optional arguments or results more
  ask,     // somebody has to agree
  block,   // it hides something: nobody is asked, who wants it has to say so
};
std::string_view to_string(ChangeGrade grade) noexcept;

struct ToolChange {
  ChangeGrade grade = ChangeGrade::none;
  std::vector<std::string> reasons;  // "its description is another one"
  bool operator==(const ToolChange&) const = default;
};

// Both have the same name.
ToolChange grade_change(const Tool& before, const Tool& now);
// Of a tool that was not there before.
ToolChange grade_new_tool(const Tool& now);

}  // namespace patchbay
