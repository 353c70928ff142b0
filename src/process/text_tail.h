// The last part of a text that keeps growing (a child's stderr): whole lines, at most
// `limit` bytes plus the line being written. A value; pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace patchbay {

class TextTail {
 public:
  explicit TextTail(std::size_t limit) : limit_(limit) {}

  void append(std::string_view text) {
    text_.append(text);
    // Cut in large steps, so that a chatty child costs one copy per limit, not per write.
    if (text_.size() > 2 * limit_) text_.erase(0, text_.size() - kept().size());
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

 private:
  std::size_t limit_;
  std::string text_;
};

}  // namespace patchbay
