// Two texts of a stranger beside each other, with the words that differ marked, for somebody who decides about them.
// Nothing is left out, and nothing in a text can look like a mark. Pure; bounded work whatever the texts are.
#pragma once

#include <string>
#include <string_view>

namespace patchbay {

// Each on one line, exact, as text/visible_text writes it: what is only in the first stands between [- and -], what is
// only in the second between {+ and +}. A mark that is part of a text has a backslash in it: \[-.
struct WordDiff {
  std::string before;
  std::string now;
  bool operator==(const WordDiff&) const = default;
};
WordDiff word_diff(std::string_view before, std::string_view now);

}  // namespace patchbay
