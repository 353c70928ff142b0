// A terminal as a value: the bytes a program writes, as lines that scrolled away and lines on the screen. Knows what
// our programs may write and counts anything else, so that a test can say that nothing else was written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "terminal/width.h"

namespace patchbay::test {

class Screen {
 public:
  Screen(std::size_t columns, std::size_t rows) : columns_(columns), rows_(rows), lines_(1) {}

  void write(std::string_view bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const char c = bytes[at];
      if (c == '\r') {
        column_ = 0, ++at;
      } else if (c == '\n') {
        down(), ++at;
      } else if (c == '\033') {
        at = sequence(bytes, at);
      } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
        ++unknown_, ++at;
      } else {
        const auto end = terminal::next_character(bytes, at);
        put(std::string(bytes.substr(at, end - at)));
        at = end;
      }
    }
  }

  // All lines, from the first that ever was, without blanks at their ends.
  std::vector<std::string> lines() const {
    std::vector<std::string> out;
    for (const auto& line : lines_) out.push_back(text_of(line));
    while (!out.empty() && out.back().empty()) out.pop_back();
    return out;
  }
  std::size_t row() const { return row_; }  // in lines()
  std::size_t column() const { return column_; }
  std::size_t unknown() const { return unknown_; }
  // How far up the cursor went beyond what is still on the screen: that would have been lost.
  std::size_t out_of_reach() const { return out_of_reach_; }

 private:
  using Line = std::vector<std::string>;  // a cell each; the second of a wide character is empty

  static std::string text_of(const Line& line) {
    std::string out;
    for (const auto& cell : line) out += cell;
    while (out.ends_with(' ')) out.pop_back();
    return out;
  }
  void down() {
    if (++row_ == lines_.size()) lines_.emplace_back();
  }
  void put(std::string character) {
    const auto width = terminal::columns_of(character);
    if (width == 0) return;
    if (column_ + width > columns_) {
      column_ = 0;
      down();
    }
    auto& line = lines_[row_];
    if (line.size() < column_ + width) line.resize(column_ + width, " ");
    line[column_] = std::move(character);
    for (std::size_t i = 1; i < width; ++i) line[column_ + i].clear();
    column_ += width;
  }
  std::size_t sequence(std::string_view bytes, std::size_t at) {
    if (at + 1 >= bytes.size() || bytes[at + 1] != '[') return ++unknown_, at + 1;
    auto end = at + 2;
    while (end < bytes.size() && (bytes[end] < 0x40 || bytes[end] > 0x7E)) ++end;
    if (end == bytes.size()) return ++unknown_, end;
    const auto parameters = bytes.substr(at + 2, end - at - 2);
    const bool own = parameters.starts_with('?');
    const std::size_t number = parameters.empty() || own ? 1 : std::stoul(std::string(parameters));
    switch (bytes[end]) {
      case 'A':
        if (number > row_ || row_ - number + rows_ < lines_.size()) ++out_of_reach_;
        row_ -= std::min(number, row_);
        break;
      case 'C':
        column_ = std::min(column_ + number, columns_ - 1);
        break;
      case 'K':
        if (lines_[row_].size() > column_) lines_[row_].resize(column_);
        break;
      case 'J':
        if (!parameters.empty()) ++unknown_;  // more than what is below
        if (lines_[row_].size() > column_) lines_[row_].resize(column_);
        lines_.resize(row_ + 1);
        break;
      case 'h':
      case 'l':
        if (parameters != "?2026" && parameters != "?25" && parameters != "?2004") ++unknown_;
        break;
      case 'm':
        break;
      default:
        ++unknown_;
    }
    return end + 1;
  }

  std::size_t columns_;
  std::size_t rows_;
  std::vector<Line> lines_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  std::size_t unknown_ = 0;
  std::size_t out_of_reach_ = 0;
};

}  // namespace patchbay::test
