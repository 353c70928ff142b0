// Where things are in a JSON text, for messages that point at them. Built in one pass
// beside the value the reader returned: children are in the order of the value's
// members. Pure.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/strings.h"

namespace patchbay {

struct Place {
  std::size_t key = 0;    // offset of the member's name; of the value in arrays and at the root
  std::size_t value = 0;  // offset of the value
  std::size_t end = 0;    // offset behind it
  std::vector<Place> children;
};

// `text` must be valid JSON. Nesting below `depth` is skipped.
Place places_in(std::string_view text, std::size_t depth);
// Of the value that begins at `offset`.
Place places_at(std::string_view text, std::size_t offset, std::size_t depth);

// Line and column for many offsets of one text, cheap when neighbours follow each other:
// it counts from the last answer, so a minified file costs one pass and not one per entry.
class PositionCounter {
 public:
  explicit PositionCounter(std::string_view text) noexcept : text_(text) {}
  Position at(std::size_t offset) noexcept;

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
  Position position_;
};

}  // namespace patchbay
