// What a server says is cleaned before a terminal or a model sees it: nothing invisible,
// nothing that moves a cursor, nothing that reorders what is read. Called wherever text
// of a peer is shown; stored results and forwarded arguments stay as they were sent.
// Pure, linear in the input, and cleaning twice changes nothing more.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

// Removed: C0 and C1 controls but tab and newline (CR and CRLF become newlines), whole
// escape sequences, bidirectional controls, zero-width characters, tag characters and
// variation selectors outside their proper place, interlinear annotations, noncharacters.
// Joiners stay between letters of scripts that need them and inside emoji; the tags of a
// subdivision flag stay. Line and paragraph separators become newlines, invalid UTF-8
// becomes U+FFFD.
std::string clean_for_display(std::string_view text);

// The same on one line: white space around newlines and tabs becomes one blank, none at
// either end.
std::string clean_line(std::string_view text);

// The same of the beginning of a text, of at most so many bytes of it: what a message quotes.
std::string clean_excerpt(std::string_view text, std::size_t bytes);

// The blanks a line begins with, at most 40; a tab is four. How far a line is indented says what it belongs to.
std::string indentation_of(std::string_view line);

}  // namespace patchbay
