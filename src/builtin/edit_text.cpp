#include "builtin/edit_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "builtin/text.h"

namespace patchbay::builtin {

namespace {

constexpr std::size_t context_lines = 2;
constexpr std::size_t most_hunks = 3;
constexpr std::size_t most_hunk_lines = 40;  // of each side
constexpr std::size_t longest_line = 300;
constexpr std::size_t most_places = 10;  // line numbers in an error

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A text with "\n" for every "\r\n", and the way back to offsets of the original.
class Unified {
 public:
  explicit Unified(std::string_view original) {
    text_.reserve(original.size());
    for (std::size_t i = 0; i < original.size(); ++i) {
      if (original[i] == '\r' && i + 1 < original.size() && original[i + 1] == '\n') {
        dropped_.push_back(text_.size());
      } else {
        text_ += original[i];
      }
    }
  }
  const std::string& text() const noexcept { return text_; }
  // A '\r' belongs to the newline behind it: the offset of the newline is that of its '\r'.
  std::size_t original(std::size_t offset) const {
    return offset + static_cast<std::size_t>(std::ranges::lower_bound(dropped_, offset) - dropped_.begin());
  }

 private:
  std::string text_;
  std::vector<std::size_t> dropped_;  // where in text_ a '\r' stood, ascending
};

struct Occurrences {
  std::vector<Span> places;
  std::size_t count = 0;
};

// In one pass (Knuth, Morris and Pratt), since a text of few different characters has no other bound.
// Overlapping occurrences count when one has to be unique: either could be meant; then no more places
// are kept than are shown.
Occurrences occurrences(std::string_view text, std::string_view piece, bool overlapping) {
  Occurrences found;
  if (piece.size() > text.size()) return found;
  std::vector<std::uint32_t> back(piece.size(), 0);  // how much of the piece is known when the next character differs
  for (std::size_t i = 1, known = 0; i < piece.size(); ++i) {
    while (known > 0 && piece[i] != piece[known]) known = back[known - 1];
    if (piece[i] == piece[known]) ++known;
    back[i] = static_cast<std::uint32_t>(known);
  }
  for (std::size_t i = 0, known = 0; i < text.size(); ++i) {
    while (known > 0 && text[i] != piece[known]) known = back[known - 1];
    if (text[i] == piece[known]) ++known;
    if (known < piece.size()) continue;
    ++found.count;
    if (!overlapping || found.places.size() <= most_places) found.places.push_back({i + 1 - piece.size(), i + 1});
    known = overlapping ? back[known - 1] : 0;
  }
  return found;
}

// Whether the lines at a place end in "\r\n": the first line end inside the place, else the one behind
// it, else the one before. Asked for places in ascending order.
class LineEnds {
 public:
  explicit LineEnds(std::string_view text) : text_(text), last_(text.rfind('\n')) {}
  bool has_crlf(Span place) {
    if (next_ < place.begin) next_ = text_.find('\n', place.begin);
    const auto newline = next_ == std::string_view::npos ? last_ : next_;
    return newline != std::string_view::npos && newline > 0 && text_[newline - 1] == '\r';
  }

 private:
  std::string_view text_;
  std::size_t next_ = text_.find('\n');  // at or behind the place asked for last
  std::size_t last_;
};

std::string with_crlf(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') out += '\r';
    out += c;
  }
  return out;
}

std::size_t line_of(std::string_view text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, offset), '\n'));
}

std::string places_text(const std::vector<std::size_t>& lines) {
  std::vector<std::string> texts;
  for (const auto line : lines) {
    if (texts.size() == most_places) {
      texts.emplace_back("…");
      break;
    }
    texts.push_back(std::to_string(line));
  }
  return fmt::format("{} {}", lines.size() == 1 ? "line" : "lines", join(texts, ", "));
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  Lines reader(text);
  for (std::string_view line; reader.next(line);) lines.push_back(line);
  return lines;
}

// Why a piece is not there, as far as that can be seen: a difference in blanks, or a first
// line that is there while the rest is not.
std::string not_found(std::string_view text, std::string_view piece) {
  std::string message = "old_text does not occur in the file";
  const auto wanted = lines_of(piece);
  auto first = std::ranges::find_if(wanted, [](auto line) { return !trim(line).empty(); });
  if (first == wanted.end()) return message + ".";
  const auto lines = lines_of(text);
  std::vector<std::size_t> same_but_blanks, first_lines;
  // Lines of a text that repeats itself would be compared for ever.
  std::size_t left = 4 * text.size();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (trim(lines[i]) != trim(*first)) continue;
    first_lines.push_back(i + 1);
    const auto before = static_cast<std::size_t>(first - wanted.begin());
    if (i < before || i - before + wanted.size() > lines.size()) continue;
    bool same = true;
    for (std::size_t k = 0; same && k < wanted.size(); ++k) {
      const auto here = lines[i - before + k];
      left -= std::min(left, here.size() + 1);
      same = left > 0 && trim(here) == trim(wanted[k]);
    }
    if (same) same_but_blanks.push_back(i - before + 1);
  }
  if (!same_but_blanks.empty()) {
    return fmt::format("{}. The text at {} differs only in blanks: copy its indentation and trailing blanks exactly.",
                       message, places_text(same_but_blanks));
  }
  if (!first_lines.empty() && wanted.size() > 1) {
    return fmt::format("{}. Its first line occurs at {}, but what follows there is different: read that part again.",
                       message, places_text(first_lines));
  }
  return message + ": read the file again and copy the text exactly.";
}

void append_lines(std::string& out, char mark, const std::vector<std::string_view>& lines) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i == most_hunk_lines) {
      out += fmt::format("{}… {}\n", mark, plural(lines.size() - i, "more line"));
      return;
    }
    out += fmt::format("{}{}\n", mark, cut_line(lines[i], longest_line));
  }
}

// One hunk: whole lines around the place, before and after.
std::string hunk(std::string_view text, Span place, std::string_view replacement) {
  std::size_t begin = place.begin == 0 ? 0 : text.rfind('\n', place.begin - 1) + 1;  // npos + 1 is 0
  std::size_t end = place.end;
  const bool whole_lines =
      text[end - 1] == '\n' && (replacement.ends_with('\n') || (replacement.empty() && begin == place.begin));
  if (!whole_lines) {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  }
  end = std::min(end, text.size());
  const std::string after = fmt::format("{}{}{}", text.substr(begin, place.begin - begin), replacement,
                                        text.substr(place.end, end - place.end));

  std::size_t lead = begin;
  for (std::size_t i = 0; i < context_lines && lead > 0; ++i) lead = lead < 2 ? 0 : text.rfind('\n', lead - 2) + 1;
  std::size_t tail = end;
  for (std::size_t i = 0; i < context_lines && tail < text.size(); ++i) {
    tail = std::min(text.find('\n', tail), text.size() - 1) + 1;
  }
  std::string out = fmt::format("@@ line {} @@\n", line_of(text, begin));
  append_lines(out, ' ', lines_of(text.substr(lead, begin - lead)));
  append_lines(out, '-', lines_of(text.substr(begin, end - begin)));
  append_lines(out, '+', lines_of(after));
  append_lines(out, ' ', lines_of(text.substr(end, tail - end)));
  return out;
}

}  // namespace

Result<Edit> edit_text(std::string_view text, const EditRequest& request) {
  const auto refuse = [](std::string message) { return fail(Errc::invalid_argument, std::move(message)); };
  if (request.old_text.empty()) {
    return refuse("old_text is empty. Give the exact text to replace, or use write_file to write the whole file.");
  }
  if (request.old_text == request.new_text) return refuse("old_text and new_text are the same: nothing to change.");

  Occurrences found;
  auto& places = found.places;
  const bool overlapping = !request.replace_all;
  if (request.old_text.contains('\r') || !request.old_text.contains('\n') || !text.contains("\r\n")) {
    found = occurrences(text, request.old_text, overlapping);
  } else {
    const Unified unified(text);
    found = occurrences(unified.text(), request.old_text, overlapping);
    for (auto& place : places) place = {unified.original(place.begin), unified.original(place.end)};
  }
  if (places.empty()) return refuse(not_found(text, request.old_text));
  if (places.size() > 1 && !request.replace_all) {
    std::vector<std::size_t> lines;
    for (const auto& place : places) lines.push_back(line_of(text, place.begin));
    return refuse(
        fmt::format("old_text occurs {} times ({}). Add lines around it until it is unique, or set replace_all.",
                    found.count, places_text(lines)));
  }

  const bool adapts = !request.old_text.contains('\r') && !request.new_text.contains('\r');
  const std::string crlf = adapts && text.contains("\r\n") ? with_crlf(request.new_text) : std::string();
  const auto longest = std::max(crlf.size(), request.new_text.size());
  if (longest > 0 && places.size() > request.most_bytes / longest) {
    return refuse(fmt::format("{} of {} each would exceed the {} that a file may have.",
                              plural(places.size(), "replacement"), size_text(longest), size_text(request.most_bytes)));
  }
  LineEnds ends(text);
  Edit edit;
  std::size_t from = 0;
  for (const auto& place : places) {
    const std::string_view replacement = !crlf.empty() && ends.has_crlf(place) ? crlf : request.new_text;
    edit.text += text.substr(from, place.begin - from);
    edit.text += replacement;
    from = place.end;
    if (edit.replacements++ < most_hunks) edit.excerpt += hunk(text, place, replacement);
  }
  edit.text += text.substr(from);
  if (edit.text.size() > request.most_bytes) {
    return refuse(fmt::format("the file would have {}, and the limit is {}.", size_text(edit.text.size()),
                              size_text(request.most_bytes)));
  }
  if (edit.replacements > most_hunks)
    edit.excerpt += fmt::format("… {}\n", plural(edit.replacements - most_hunks, "more place"));
  return edit;
}

}  // namespace patchbay::builtin
