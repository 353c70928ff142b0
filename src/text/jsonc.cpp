#include "text/jsonc.h"

#include <algorithm>

namespace patchbay {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

void blank(std::string& text, std::size_t from, std::size_t to) {
  for (auto i = from; i < to; ++i) {
    if (text[i] != '\n' && text[i] != '\r') text[i] = ' ';
  }
}

// Behind the string that begins at `at`.
std::size_t behind_string(std::string_view text, std::size_t at) noexcept {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Whether a comma behind this character separates something: not in "[,]" or "{,}".
bool ends_value(char c) noexcept { return c != '\0' && c != '[' && c != '{' && c != ',' && c != ':'; }

}  // namespace

std::expected<std::string, JsonFault> without_comments(std::string_view text) {
  std::string out(text);
  std::size_t at = 0;
  if (text.starts_with(byte_order_mark)) {
    blank(out, 0, byte_order_mark.size());
    at = byte_order_mark.size();
  }
  constexpr auto none = std::string_view::npos;
  std::size_t comma = none;  // the last thing seen, when it is a comma behind a value
  char last = '\0';
  while (at < text.size()) {
    const char c = text[at];
    if (is_blank(c)) {
      ++at;
    } else if (text.substr(at).starts_with("//")) {
      auto end = std::min(text.find_first_of("\r\n", at), text.size());
      blank(out, at, end);
      at = end;
    } else if (text.substr(at).starts_with("/*")) {
      auto end = text.find("*/", at + 2);
      if (end == none) return std::unexpected(JsonFault{at, "the comment that begins here is not closed"});
      blank(out, at, end + 2);
      at = end + 2;
    } else {
      if (comma != none && (c == '}' || c == ']')) out[comma] = ' ';
      comma = c == ',' && ends_value(last) ? at : none;
      last = c;
      at = c == '"' ? behind_string(text, at) : at + 1;
    }
  }
  return out;
}

}  // namespace patchbay
