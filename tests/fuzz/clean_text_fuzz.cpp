// What is shown is UTF-8 without controls, cleaning twice changes nothing more, and a text
// never grows beyond a replacement character per byte.
#include <algorithm>

#include "base/strings.h"
#include "fuzz/fuzz.h"
#include "text/clean_text.h"

using namespace patchbay;
using fuzz::require;

namespace {

bool has_controls(std::string_view text, std::string_view allowed) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 || byte == 0x7F) && allowed.find(text[i]) == std::string_view::npos) return true;
    // C1 controls, and the directional overrides as the ones that do most harm.
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) return true;
    const auto three = text.substr(i, 3);
    if (three >= "\xE2\x80\xAA" && three <= "\xE2\x80\xAE") return true;
    if (three >= "\xE2\x81\xA6" && three <= "\xE2\x81\xA9") return true;
  }
  return false;
}

}  // namespace

FUZZ_TARGET(clean_text) {
  const std::string shown = clean_for_display(input);
  require(valid_utf8(shown), "cleaned text is not UTF-8");
  require(shown.size() <= input.size() * 3, "cleaned text grew");
  require(!has_controls(shown, "\t\n"), "a control is left");
  require(clean_for_display(shown) == shown, "cleaning twice changes more");

  const std::string line = clean_line(input);
  require(valid_utf8(line), "a cleaned line is not UTF-8");
  require(line.size() <= shown.size(), "a line is longer than its text");
  require(!has_controls(line, ""), "a control is left in a line");
  require(!line.starts_with(' ') && !line.ends_with(' '), "a line with blanks around it");
  require(clean_line(line) == line, "cleaning a line twice changes more");
  require(clean_line(shown) == line, "a line depends on what was cleaned before");
}
