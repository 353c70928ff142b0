// What the bytes of a file are, and how they are shown: binary or text, images by their
// magic numbers, and text made fit for a model. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay::builtin {

// How many bytes at the beginning decide what a file is.
inline constexpr std::size_t sniffed_bytes = 8192;

// "image/png", "image/jpeg", "image/gif", "image/webp", or empty.
std::string_view image_type(std::string_view beginning) noexcept;

// Empty for text (of any 8-bit encoding), else what a person would call it: "UTF-16 text",
// "an ELF program", "binary data".
std::string_view binary_kind(std::string_view beginning) noexcept;

// The text with every byte that is no UTF-8 as U+FFFD.
struct Repaired {
  std::string text;
  std::size_t replaced = 0;
};
Repaired repair_utf8(std::string_view bytes);

// A file name on one line: control characters as \n, \t or \xNN, bad UTF-8 as U+FFFD.
std::string printable_name(std::string_view name);

// "812 bytes", "14.2 KiB", "3.0 MiB".
std::string size_text(std::size_t bytes);

// Lines of a text without their ends; the last line needs none. Empty text has no lines.
class Lines {
 public:
  explicit Lines(std::string_view text) noexcept : rest_(text) {}
  bool next(std::string_view& line) noexcept;  // without "\n" or "\r\n"

 private:
  std::string_view rest_;
};

// At most `bytes` of a line, with an ellipsis where something was left out. `around` is an
// offset that stays visible.
std::string cut_line(std::string_view line, std::size_t bytes, std::size_t around = 0);

}  // namespace patchbay::builtin
