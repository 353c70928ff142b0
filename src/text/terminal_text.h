// The last look at what goes to a terminal or to stderr, whoever made it: the one place that every text passes.
// Pure. It is a net, and not what texts are made with: names and entries are written out before (text/visible_text),
// and what servers tell is cleaned (text/clean_text).
#pragma once

#include <string>
#include <string_view>

namespace patchbay {

// Controls but tab and newline, directional controls, tags and bytes that are not UTF-8 are written out. The colours
// of our own stay.
std::string terminal_text(std::string_view text);

}  // namespace patchbay
