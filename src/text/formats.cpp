#include "text/formats.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/utf8.h"

namespace patchbay {

namespace {

constexpr std::size_t characters_per_mark = 64;

bool begins_character(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

}  // namespace

CharacterOffsets::CharacterOffsets(std::string_view text) : text_(text) {
  std::size_t index = 0;
  for (std::size_t offset = 0; offset < text.size(); ++offset) {
    if (!begins_character(text[offset])) continue;
    if (index % characters_per_mark == 0) marks_.push_back(offset);
    ++index;
  }
}

std::size_t CharacterOffsets::at_character(std::size_t index) const noexcept {
  const auto mark = index / characters_per_mark;
  if (mark >= marks_.size()) return text_.size();
  auto offset = marks_[mark];
  for (auto left = index % characters_per_mark; left > 0 && offset < text_.size(); --left) {
    ++offset;
    while (offset < text_.size() && !begins_character(text_[offset])) ++offset;
  }
  return offset;
}

ConfigProblem import_fault(std::string_view text, const std::string& file, std::size_t offset, std::string message) {
  auto [line, column] = position_of(text, std::min(offset, text.size()));
  return {file, line, column, std::move(message), {}, Severity::error};
}

std::expected<void, ConfigProblem> check_import_text(std::string_view text, const std::string& file) {
  if (text.size() > import_text_limit) {
    return std::unexpected(import_fault(
        text, file, 0, fmt::format("the file is larger than {} KiB; make it smaller", import_text_limit >> 10)));
  }
  if (!valid_utf8(text)) {
    return std::unexpected(import_fault(text, file, first_invalid_utf8(text),
                                        "the file is not valid UTF-8; save it as UTF-8 and run the command again"));
  }
  return {};
}

}  // namespace patchbay
