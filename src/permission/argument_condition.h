// What a permission rule asks of the arguments of a call: (path: ./docs/**, mode: "w", size: ..1000).
// Read once, held against every call. Pure.
//
// Values are exact texts in quotes, true, false, null, numbers and ranges of them, /patterns/ with the
// flag i, paths, URLs, and texts with `*`; docs/permissions.md has them all. A name leads through
// objects by dots, unless it is in quotes; @readOnly, @destructive, @idempotent and @openWorld are
// what the server says of the tool.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/json.h>
#include <patchbay/types.h>

namespace patchbay {

inline constexpr std::size_t longest_rule = 4096;

// What ./ and ~/ mean in a rule: where the program was started, and the user's home; absolute.
struct RulePlaces {
  std::string cwd;
  std::string home;
  bool operator==(const RulePlaces&) const = default;
};

// The call a condition looks at.
struct CallFacts {
  const Json* arguments = nullptr;  // null or not an object: there are none
  const ToolAnnotations* hints = nullptr;
  // What a relative path among the arguments is relative to; empty: not known.
  std::string_view cwd;
  // Other directories it may be relative to: it is clear only where all say the same.
  std::span<const std::string> also = {};
};

class ArgumentCondition {
 public:
  struct Test;  // what is asked of one value

  ArgumentCondition(std::vector<std::string> name, std::shared_ptr<const Test> test);

  // Whether the call surely is what the condition says.
  bool surely(const CallFacts& call) const;
  // Whether it may be.
  bool possibly(const CallFacts& call) const;
  // Why neither is certain, for people; empty when one is.
  std::string doubt(const CallFacts& call) const;

  // Why no value is ever surely what it says, for people: no number is in 10..1. Empty when one can be. A rule that
  // allows with it allows nothing, and one that denies denies only what cannot be judged.
  std::string never() const;

 private:
  const Json* value_in(const CallFacts& call, Json& hint) const;

  std::vector<std::string> name_;  // a way through objects; a hint has "@" in front, which no way has
  std::shared_ptr<const Test> test_;
};

struct ConditionFault {
  std::size_t offset = 0;  // in the text of the rule
  std::string reason;
};

// Of what stands in a rule between these offsets, without its parentheses.
std::expected<std::vector<ArgumentCondition>, ConditionFault> read_conditions(std::string_view rule, std::size_t from,
                                                                              std::size_t to, const RulePlaces& places);

}  // namespace patchbay
