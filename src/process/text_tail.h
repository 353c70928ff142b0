// The last part of a text that keeps growing (a child's stderr): whole lines, at most
// `limit` bytes plus the line being written; and how it began. A value; pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

class TextTail {
 public:
  explicit TextTail(std::size_t limit) : limit_(limit) {}

  void append(std::string_view text) {
    if (begin_.size() < most_begin) begin_.append(text.substr(0, most_begin - begin_.size()));
    text_.append(text);
    // Cut in large steps, so that a chatty child costs one copy per limit, not per write.
    if (text_.size() <= 2 * limit_) return;
    const auto gone = text_.size() - kept().size();
    lines_gone_ +=
        static_cast<std::size_t>(std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(gone), '\n'));
    text_.erase(0, gone);
  }

  // What is kept, beginning at the start of a line unless one line fills it all.
  std::string_view kept() const noexcept {
    std::string_view all = text_;
    if (all.size() <= limit_) return all;
    all.remove_prefix(all.size() - limit_);
    const auto line_end = all.find('\n');
    return line_end == all.npos || line_end + 1 == all.size() ? all : all.substr(line_end + 1);
  }

  // The last `count` lines of it, without the final line end.
  std::string_view last_lines(std::size_t count) const noexcept {
    std::string_view all = kept();
    while (all.ends_with('\n') || all.ends_with('\r')) all.remove_suffix(1);
    std::size_t from = all.size();
    for (; count > 0; --count) {
      const auto line_end = from == 0 ? all.npos : all.rfind('\n', from - 1);
      if (line_end == all.npos) return all;
      from = line_end;
    }
    return from == all.size() ? std::string_view() : all.substr(from + 1);
  }

  // At most `count` lines, a few at least, that say what went wrong: how it began, lines that begin with "Error", and
  // the end. Where lines are missing, one says how many.
  std::string telling_lines(std::size_t count) const;

 private:
  static constexpr std::size_t most_begin = 4096;
  std::size_t limit_;
  std::string text_;
  std::string begin_;
  std::size_t lines_gone_ = 0;  // that were cut off in front of text_
};

}  // namespace patchbay
