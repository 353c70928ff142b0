#include "results/read_part.h"

#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "base/strings.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t most_bytes = 1u << 20;
constexpr std::size_t least_bytes = 256;
constexpr std::size_t most_matches = 1000;   // lines in one part
constexpr std::size_t longest_match = 1000;  // of a line, around what matches
constexpr std::size_t longest_pattern = 4096;
constexpr std::int64_t pattern_memory = 16 << 20;
constexpr std::size_t most_indentation = 64u << 20;

// The blanks that indenting puts in, as far as `left`. Depth is that of a value that was read: bounded.
std::size_t indentation(const Json& value, std::size_t depth, std::size_t left) {
  std::size_t blanks = 0;
  auto add = [&](const Json& inner) {
    blanks += 2 * (depth + 1);
    if (blanks <= left) blanks += indentation(inner, depth + 1, left - blanks);
    return blanks <= left;
  };
  for (const auto& item : value.items()) {
    if (!add(item)) return blanks;
  }
  for (const auto& [name, member] : value.members()) {
    if (!add(member)) return blanks;
  }
  return blanks;
}

// Of many small values deep inside of each other, indentation would be a hundred times the rest.
std::string text_of_value(const Json& value) {
  return indentation(value, 0, most_indentation) > most_indentation ? to_text(value) : to_pretty_text(value);
}

std::uint64_t lines_in(std::string_view text) {
  if (text.empty()) return 0;
  return static_cast<std::uint64_t>(std::ranges::count(text, '\n')) + (text.ends_with('\n') ? 0 : 1);
}

// Of a line that is too long, what stands around the match.
std::string around(std::string_view line, std::size_t at) {
  if (line.size() <= longest_match) return clean_line(line);
  auto from = at > longest_match / 3 ? at - longest_match / 3 : 0;
  while (from > 0 && (static_cast<unsigned char>(line[from]) & 0xC0) == 0x80) --from;
  const auto piece = cut_utf8(line.substr(from), longest_match);
  return (from > 0 ? "…" : "") + clean_line(piece) + (from + piece.size() < line.size() ? "…" : "");
}

std::string how_much(const Json& value, const ResultPart& part) {
  const auto text = fmt::format("{} bytes, {}", part.total_bytes, plural(part.total_lines, "line"));
  if (value.is_array()) return fmt::format("{}; as text: {}", plural(value.size(), "item"), text);
  if (value.is_object()) return fmt::format("{}; as text: {}", plural(value.size(), "member"), text);
  return text;
}

void slice(std::string_view text, const ResultQuery& query, std::size_t room, ResultPart& part) {
  std::size_t from = std::min(query.offset, text.size());
  while (from > 0 && from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) --from;
  if (query.offset == 0) {
    for (std::size_t skipped = 0; skipped < query.skip_lines && from < text.size(); ++skipped) {
      from = std::min(text.find('\n', from), text.size() - 1) + 1;
    }
  }
  auto piece = cut_utf8(text.substr(from), room);
  if (query.lines > 0) {
    std::size_t end = 0;
    for (std::size_t count = 0; count < query.lines && end < piece.size(); ++count) {
      end = std::min(piece.find('\n', end), piece.size() - 1) + 1;
    }
    piece = piece.substr(0, end);
  }
  part.text = clean_for_display(piece);
  if (from + piece.size() < text.size()) part.next_offset = from + piece.size();
}

Result<void> search(std::string_view text, const ResultQuery& query, std::size_t room, ResultPart& part) {
  if (query.pattern.size() > longest_pattern) return fail(Errc::invalid_argument, "the pattern is too long");
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(pattern_memory);
  const RE2 pattern(query.pattern, options);
  if (!pattern.ok()) {
    return fail(Errc::invalid_argument,
                fmt::format("the pattern is not a regular expression (RE2): {}", clean_line(pattern.error())));
  }
  const auto most = query.lines > 0 ? std::min(query.lines, most_matches) : most_matches;
  std::uint64_t matches = 0;
  std::size_t number = 0, shown = 0, from = 0;
  bool full = false;
  while (from < text.size()) {
    const auto end = std::min(text.find('\n', from), text.size());
    const auto line = text.substr(from, end - from);
    ++number;
    re2::StringPiece match;
    if (pattern.Match(re2::StringPiece(line.data(), line.size()), 0, line.size(), RE2::UNANCHORED, &match, 1)) {
      ++matches;
      if (matches > query.skip_lines && !full && !query.count) {
        const auto row =
            fmt::format("{}: {}\n", number, around(line, static_cast<std::size_t>(match.data() - line.data())));
        full = shown == most || part.text.size() + row.size() > room;
        if (!full) {
          part.text += row;
          ++shown;
        }
      }
    }
    from = end + 1;
  }
  part.matches = matches;
  return {};
}

}  // namespace

Result<ResultPart> read_part(const Json& value, const ResultQuery& query) {
  const auto own = value.text();
  const std::string written = own ? std::string() : text_of_value(value);
  const std::string_view text = own ? *own : std::string_view(written);
  const auto room = std::clamp(query.bytes, least_bytes, most_bytes);
  ResultPart part;
  part.total_bytes = text.size();
  part.total_lines = lines_in(text);
  if (!query.pattern.empty()) {
    if (auto done = search(text, query, room, part); !done) return std::unexpected(std::move(done).error());
    if (query.count) part.text = fmt::format("{} of {} match", *part.matches, plural(part.total_lines, "line"));
  } else if (query.count) {
    part.text = how_much(value, part);
  } else {
    slice(text, query, room, part);
  }
  return part;
}

std::optional<std::size_t> next_match(const ResultQuery& query, const ResultPart& part) {
  if (!part.matches || query.count) return std::nullopt;
  // Each match is a line of its own.
  const auto behind = query.skip_lines + static_cast<std::size_t>(std::ranges::count(part.text, '\n'));
  return behind < *part.matches ? std::optional(behind) : std::nullopt;
}

}  // namespace patchbay
