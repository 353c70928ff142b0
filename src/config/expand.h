// ${VAR} and ${VAR:-default} in a text. Pure: where values come from is a function.
// A value is inserted as it is and not looked at again, so no variable can smuggle in
// another. $VAR and the other forms of a shell (${v%x}, ${#v}) are left alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

namespace patchbay {

struct Expanded {
  std::string text;
  std::vector<std::string> missing;  // variables left in the text: not set, no default
  bool operator==(const Expanded&) const = default;
};

// A variable that is set counts, even to nothing: the default is for unset ones.
Expanded expand(std::string_view text, const VariableLookup& lookup);

}  // namespace patchbay
