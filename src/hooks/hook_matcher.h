// Which names a hook is about. A matcher of nothing but letters, digits, "_", "-", blanks, "," and "|" is a list of
// exact names; "" and "*" are every name; anything else is a regular expression (RE2) that has to be found somewhere in
// the name. So mcp__files is the name of no tool, and mcp__files__.* are all tools of a server. Pure, bounded, and
// immutable once compiled.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

namespace re2 {
class RE2;
}

namespace patchbay {

class HookMatcher {
 public:
  HookMatcher() = default;  // every name
  // Errc::invalid_argument with the reason.
  static Result<HookMatcher> compile(std::string_view text);

  bool matches(std::string_view name) const;
  // Whether it may be about a server's tool: a list of the names of other tools is not.
  bool may_name_server_tool() const;

 private:
  bool everything_ = true;
  std::vector<std::string> names_;
  std::shared_ptr<const re2::RE2> pattern_;  // set: instead of names
};

}  // namespace patchbay
