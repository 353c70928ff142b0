// How edit.cpp sees a text it changes: where members, commas and comments stand in it, and how new members look
// beside those that are there. Pure; the text is known to be valid, comments included.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/json.h>

namespace patchbay {

// What is put on one line because its siblings are, or because it is a short list.
inline constexpr std::size_t one_line_width = 100;

inline bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// A member of an object, or an item of an array: then it has no key, and key_begin is value_begin.
struct TextMember {
  std::string key;
  std::size_t key_begin = 0;
  std::size_t key_end = 0;
  std::size_t value_begin = 0;
  std::size_t value_end = 0;
  std::size_t comma = std::string_view::npos;  // the one behind it
};

struct TextBody {
  std::size_t open = 0;   // '{' or '['
  std::size_t close = 0;  // '}' or ']'
  std::vector<TextMember> members;
  bool is_array = false;
};

class TextWalker {
 public:
  explicit TextWalker(std::string_view text) noexcept : text_(text) {}

  // The next token behind blanks and comments.
  std::size_t next(std::size_t at) const noexcept;

  // Behind the last comment between a place and the next token; the place when there is none.
  struct Comments {
    std::size_t end = 0;
    bool to_line_end = false;  // the last one ends with its line
  };
  Comments comments_behind(std::size_t at) const noexcept;

  TextBody body(std::size_t open) const;

 private:
  std::size_t behind_comment(std::size_t at) const noexcept;
  std::size_t behind_string(std::size_t at) const noexcept;
  std::size_t behind_value(std::size_t at) const noexcept;

  std::string_view text_;
};

struct OneLineStyle {
  bool after_colon = true;
  bool after_comma = true;
  bool in_braces = false;
};

struct TextLayout {
  std::string newline = "\n";
  std::string unit = "  ";
};

class TextRenderer {
 public:
  TextRenderer(const TextLayout& layout, OneLineStyle one_line) : layout_(layout), one_line_(one_line) {}

  std::string on_one_line(const Json& value) const;
  // The first line continues where it is put; the others are indented by `indent` or more.
  std::string on_lines(const Json& value, const std::string& indent) const;
  // What comes before the value: nothing before an item of an array.
  std::string key(std::optional<std::string_view> name) const;

 private:
  std::string_view colon() const noexcept { return one_line_.after_colon ? ": " : ":"; }
  void append_on_one_line(std::string& out, const Json& value) const;
  void append_on_lines(std::string& out, const Json& value, const std::string& indent) const;

  const TextLayout& layout_;
  OneLineStyle one_line_;
};

}  // namespace patchbay
