#include "process/text_tail.h"

#include <vector>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t first_lines = 3;
constexpr std::size_t most_errors = 4;

bool begins_with_error(std::string_view line) {
  const auto text = trim(line);
  return text.starts_with("Error") || text.starts_with("error") || text.starts_with("ERROR");
}

}  // namespace

std::string TextTail::telling_lines(std::size_t count) const {
  std::string_view all = text_;
  while (all.ends_with('\n') || all.ends_with('\r')) all.remove_suffix(1);
  if (all.empty()) return {};
  const auto lines = split(all, '\n');
  count = std::max(count, first_lines + most_errors + 2);
  if (lines_gone_ == 0 && lines.size() <= count) return std::string(all);

  // Places among all lines there were; those before lines_gone_ are only known from the beginning.
  std::vector<std::string_view> begin;
  if (lines_gone_ == 0) {
    begin.assign(lines.begin(), lines.begin() + first_lines);
  } else {
    for (const auto line : split(std::string_view(begin_), '\n')) {
      if (begin.size() < std::min(first_lines, lines_gone_)) begin.push_back(line);
    }
  }
  const auto skipped = lines_gone_ == 0 ? begin.size() : 0;  // of `lines`
  const auto last = lines.size() - std::min(lines.size() - skipped, count - first_lines - most_errors);
  std::vector<std::size_t> shown;
  for (std::size_t i = skipped; i < last && shown.size() < most_errors; ++i) {
    if (begins_with_error(lines[i])) shown.push_back(i);
  }
  for (std::size_t i = last; i < lines.size(); ++i) shown.push_back(i);

  std::string out;
  for (const auto line : begin) out += std::string(line) + "\n";
  std::size_t next = begin.size();  // among all lines
  for (const auto i : shown) {
    const auto place = lines_gone_ + i;
    if (place > next) {
      const auto missing = place - next;
      out += fmt::format("… ({} {} not shown)\n", missing, missing == 1 ? "line is" : "lines are");
    }
    out += std::string(lines[i]) + "\n";
    next = place + 1;
  }
  out.pop_back();
  return out;
}

}  // namespace patchbay
