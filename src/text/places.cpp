#include "text/places.h"

#include <algorithm>

namespace patchbay {
namespace {

class PlaceScanner {
 public:
  explicit PlaceScanner(std::string_view text, std::size_t at = 0) noexcept : text_(text), at_(at) {}

  Place value(std::size_t depth) {
    blanks();
    Place place{at_, at_, at_, {}};
    char open = peek();
    if (depth > 0 && (open == '{' || open == '[')) {
      children(place, open, depth);
    } else {
      skip_value();
    }
    place.end = std::min(at_, text_.size());
    return place;
  }

 private:
  char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }

  void blanks() noexcept { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  void children(Place& place, char open, std::size_t depth) {
    char close = open == '{' ? '}' : ']';
    ++at_;
    for (;;) {
      blanks();
      if (at_ >= text_.size()) return;
      if (peek() == close) break;
      if (peek() == ',') {
        ++at_;
        continue;
      }
      auto key = at_;
      if (open == '{') {
        skip_string();
        blanks();
        ++at_;  // ':'
      }
      place.children.push_back(value(depth - 1));
      if (open == '{') place.children.back().key = key;
    }
    ++at_;
  }

  void skip_string() noexcept {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  // Counts brackets, so it needs no stack however deep the value is.
  void skip_value() noexcept {
    std::size_t open = 0;
    do {
      blanks();
      switch (peek()) {
        case '"':
          skip_string();
          break;
        case '{':
        case '[':
          ++open;
          ++at_;
          break;
        case '}':
        case ']':
          --open;
          ++at_;
          break;
        case ',':
        case ':':
          ++at_;
          break;
        default:
          at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
      }
    } while (open > 0 && at_ < text_.size());
  }

  std::string_view text_;
  std::size_t at_;
};

bool starts_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

Place places_in(std::string_view text, std::size_t depth) { return PlaceScanner(text).value(depth); }

Place places_at(std::string_view text, std::size_t offset, std::size_t depth) {
  return PlaceScanner(text, offset).value(depth);
}

Position PositionCounter::at(std::size_t offset) noexcept {
  offset = std::min(offset, text_.size());
  bool forward = offset >= offset_;
  auto between = forward ? text_.substr(offset_, offset - offset_) : text_.substr(offset, offset_ - offset);
  auto lines = static_cast<std::size_t>(std::ranges::count(between, '\n'));
  auto characters = [](std::string_view part) {
    return static_cast<std::size_t>(std::ranges::count_if(part, starts_character));
  };
  if (lines == 0) {
    position_.column = forward ? position_.column + characters(between) : position_.column - characters(between);
  } else {
    position_.line = forward ? position_.line + lines : position_.line - lines;
    auto before = text_.substr(0, offset);
    auto line_start = before.rfind('\n') + 1;  // npos + 1 is the start of the text
    position_.column = 1 + characters(before.substr(line_start));
  }
  offset_ = offset;
  return position_;
}

}  // namespace patchbay
