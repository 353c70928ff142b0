#include "terminal/diff_lines.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/strings.h"
#include "terminal/width.h"
#include "text/clean_text.h"
#include "text/visible_text.h"

namespace patchbay::terminal {
namespace {

// Beyond this many lines that differ on either side, the middle is shown as one piece.
constexpr std::size_t most_compared = 1000;

using Lines = std::span<const std::string_view>;

std::vector<std::string_view> lines_of(std::string_view text) {
  if (text.empty()) return {};
  if (text.ends_with('\n')) text.remove_suffix(1);
  return split(text, '\n');
}

void add(std::vector<DiffLine>& out, DiffLine::Kind kind, Lines lines) {
  for (const auto line : lines) out.push_back({.kind = kind, .text = std::string(line)});
}

// By a longest common row of lines.
void add_middle(std::vector<DiffLine>& out, Lines before, Lines now) {
  using Kind = DiffLine::Kind;
  if (before.size() > most_compared || now.size() > most_compared) {
    add(out, Kind::removed, before);
    add(out, Kind::added, now);
    return;
  }
  const auto columns = now.size() + 1;
  std::vector<std::uint16_t> longest((before.size() + 1) * columns);
  for (std::size_t i = before.size(); i-- > 0;) {
    for (std::size_t j = now.size(); j-- > 0;) {
      longest[i * columns + j] = before[i] == now[j]
                                     ? static_cast<std::uint16_t>(longest[(i + 1) * columns + j + 1] + 1)
                                     : std::max(longest[(i + 1) * columns + j], longest[i * columns + j + 1]);
    }
  }
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < before.size() && j < now.size()) {
    if (before[i] == now[j]) {
      add(out, Kind::same, before.subspan(i, 1));
      ++i, ++j;
    } else if (longest[(i + 1) * columns + j] >= longest[i * columns + j + 1]) {
      add(out, Kind::removed, before.subspan(i++, 1));
    } else {
      add(out, Kind::added, now.subspan(j++, 1));
    }
  }
  add(out, Kind::removed, before.subspan(i));
  add(out, Kind::added, now.subspan(j));
}

// Lines that are the same stay only beside a change.
std::vector<DiffLine> near_changes(std::vector<DiffLine> all, std::size_t context) {
  std::vector<bool> kept(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].kind == DiffLine::Kind::same) continue;
    const auto from = i > context ? i - context : 0;
    for (std::size_t k = from; k <= i + context && k < all.size(); ++k) kept[k] = true;
  }
  std::vector<DiffLine> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (kept[i]) {
      out.push_back(std::move(all[i]));
    } else if (!out.empty() && out.back().kind == DiffLine::Kind::skipped) {
      ++out.back().lines;
    } else {
      out.push_back({.kind = DiffLine::Kind::skipped, .lines = 1});
    }
  }
  return out;
}

}  // namespace

std::vector<DiffLine> diff_lines(std::string_view before, std::string_view now, const DiffOptions& options) {
  if (before == now) return {};
  const auto old_lines = lines_of(before);
  const auto new_lines = lines_of(now);
  const Lines was(old_lines);
  const Lines is(new_lines);
  std::size_t head = 0;
  while (head < was.size() && head < is.size() && was[head] == is[head]) ++head;
  std::size_t tail = 0;
  while (tail < was.size() - head && tail < is.size() - head &&
         was[was.size() - 1 - tail] == is[is.size() - 1 - tail]) {
    ++tail;
  }
  std::vector<DiffLine> all;
  add(all, DiffLine::Kind::same, was.first(head));
  add_middle(all, was.subspan(head, was.size() - head - tail), is.subspan(head, is.size() - head - tail));
  add(all, DiffLine::Kind::same, was.last(tail));
  auto out = near_changes(std::move(all), options.context);
  if (out.size() > options.most_lines) {
    std::size_t left_out = 0;
    for (std::size_t i = options.most_lines; i < out.size(); ++i) left_out += std::max<std::size_t>(out[i].lines, 1);
    out.resize(options.most_lines);
    out.push_back({.kind = DiffLine::Kind::skipped, .lines = left_out});
  }
  return out;
}

std::vector<std::string> shown_diff(const std::vector<DiffLine>& lines, const DiffLook& look, bool whole) {
  using Kind = DiffLine::Kind;
  std::vector<std::string> out;
  const auto paint = [&](std::string text, std::string_view code) {
    out.push_back(look.color && !code.empty() ? fmt::format("\033[{}m{}\033[0m", code, text) : std::move(text));
  };
  for (const auto& line : lines) {
    if (line.kind == Kind::skipped) {
      paint(fmt::format("  … {}", plural(line.lines, "line")), "2");
      continue;
    }
    const auto mark = line.kind == Kind::removed ? "- " : line.kind == Kind::added ? "+ " : "  ";
    const auto code = line.kind == Kind::removed ? "31" : line.kind == Kind::added ? "32" : "";
    const auto blanks = std::min(line.text.find_first_not_of(" \t"), line.text.size());
    auto text = indentation_of(line.text) + visible_message(std::string_view(line.text).substr(blanks));
    if (whole) {
      for (auto& one : wrapped(mark + text, look.columns, "    ")) paint(std::move(one), code);
    } else {
      paint(mark + cut(text, look.columns > 2 ? look.columns - 2 : 1), code);
    }
  }
  return out;
}

}  // namespace patchbay::terminal
