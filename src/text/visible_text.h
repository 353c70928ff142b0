// A text of a stranger for somebody who decides by what they see: nothing is left out, and what would not show
// itself is written out. Deleting it would show another text than the one that counts. Pure, linear; any thread.
// Called by whatever shows names, files, commands and problems; what servers merely tell is cleaned
// (text/clean_text).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay {

// False for whatever is invisible, blank without being a blank, moves a cursor, reorders or covers its neighbours
// (also letters written from right to left), or looks different on every machine (private use, unassigned).
bool shows_itself(char32_t c) noexcept;

// On one line, and exact: two different texts are never shown alike. \n, \t, \r, \x1b for controls and bytes that
// are not UTF-8, \u200b and \U000e0041 for other characters, \\ for a backslash, \{40 blanks} for three blanks or more.
std::string visible_text(std::string_view text);
// The same for sentences with a stranger's words in them: backslashes stay as they are.
std::string visible_message(std::string_view text);
// visible_text as one word of several: in single quotes (one inside is \') unless it is plain. Exact as well.
std::string visible_word(std::string_view text);

// Lines of at most `columns` for a visible text. All but the first begin with `before`, so that nothing in the text can
// look like a line of its own. 0 columns: one line. What is not ASCII is counted as two columns, a colour as none. A
// word is broken only where it is longer than a line.
std::vector<std::string> wrapped(std::string_view visible, std::size_t columns, std::string_view before);

}  // namespace patchbay
