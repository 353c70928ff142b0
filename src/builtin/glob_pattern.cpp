#include "builtin/glob_pattern.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/utf8.h"

namespace patchbay::builtin {

namespace {

constexpr std::size_t most_alternatives = 256;
constexpr std::size_t longest_pattern = 4096;

// Code points; a byte that is no UTF-8 counts as one character of its own beyond Unicode.
std::vector<char32_t> characters_of(std::string_view text) {
  std::vector<char32_t> out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t k) { return static_cast<char32_t>(static_cast<unsigned char>(text[i + k])); };
    const auto length = utf8_sequence(text, i);
    switch (length) {
      case 0:
        out.push_back(0x110000 + byte(0));
        break;
      case 1:
        out.push_back(byte(0));
        break;
      case 2:
        out.push_back((byte(0) & 0x1F) << 6 | (byte(1) & 0x3F));
        break;
      case 3:
        out.push_back((byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F));
        break;
      default:
        out.push_back((byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F));
    }
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

// The bracket expression that begins at `open` ends here, or npos. "[]a]" and "[!]a]" hold a ']'.
std::size_t bracket_end(std::string_view text, std::size_t open) {
  std::size_t i = open + 1;
  if (i < text.size() && (text[i] == '!' || text[i] == '^')) ++i;
  if (i < text.size() && text[i] == ']') ++i;
  for (; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ']') {
      return i;
    }
  }
  return std::string_view::npos;
}

// Replaces the first brace group by each of its parts; later ones follow when those are
// expanded in turn.
Result<std::vector<std::string>> expand_braces(std::string_view pattern) {
  std::vector<std::string> open{std::string(pattern)};
  std::vector<std::string> done;
  while (!open.empty()) {
    if (open.size() + done.size() > most_alternatives) {
      return fail(Errc::invalid_argument, fmt::format("the braces make more than {} patterns", most_alternatives));
    }
    const std::string text = std::move(open.back());
    open.pop_back();
    std::size_t depth = 0, begin = 0, end = std::string::npos;
    std::vector<std::size_t> commas;
    for (std::size_t i = 0; i < text.size() && end == std::string::npos; ++i) {
      switch (text[i]) {
        case '\\':
          ++i;
          break;
        case '[':
          if (const auto close = bracket_end(text, i); close != std::string::npos) i = close;
          break;
        case '{':
          if (depth++ == 0) begin = i;
          break;
        case ',':
          if (depth == 1) commas.push_back(i);
          break;
        case '}':
          if (depth > 0 && --depth == 0) end = i;
          break;
        default:
          break;
      }
    }
    if (depth > 0) return fail(Errc::invalid_argument, "a '{' is not closed (write \\{ for the character itself)");
    if (end == std::string::npos) {
      done.push_back(text);
      continue;
    }
    commas.push_back(end);
    std::vector<std::string> parts;
    std::size_t from = begin + 1;
    for (const auto comma : commas) {
      parts.push_back(text.substr(0, begin) + text.substr(from, comma - from) + text.substr(end + 1));
      from = comma + 1;
    }
    for (auto& part : parts) open.push_back(std::move(part));
  }
  return done;
}

bool is_kept_out(std::string_view name) { return name == ".git" || name == "node_modules"; }

}  // namespace

Result<GlobPattern> GlobPattern::parse(std::string_view pattern) {
  GlobPattern glob;
  if (pattern.empty()) return fail(Errc::invalid_argument, "the pattern is empty");
  if (pattern.size() > longest_pattern) {
    return fail(Errc::invalid_argument, fmt::format("the pattern is longer than {} bytes", longest_pattern));
  }
  if (pattern.starts_with('!')) {
    return fail(Errc::invalid_argument, "a pattern cannot exclude; write \\! for a name that begins with '!'");
  }
  if (pattern.ends_with('/')) glob.directories_ = true;
  auto expanded = expand_braces(pattern);
  if (!expanded) return std::unexpected(std::move(expanded).error());
  for (const auto& text : *expanded) {
    auto alternative = compile(text);
    if (!alternative) return std::unexpected(std::move(alternative).error());
    if (!alternative->empty()) glob.alternatives_.push_back(std::move(*alternative));
  }
  if (glob.alternatives_.empty()) return fail(Errc::invalid_argument, "the pattern does not name a file or directory");
  return glob;
}

Result<GlobPattern::Alternative> GlobPattern::compile(std::string_view pattern) {
  if (pattern.starts_with('/')) {
    return fail(Errc::invalid_argument, "the pattern must be relative; say where to look with \"path\"");
  }
  Alternative segments;
  for (const auto part : split(pattern, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return fail(Errc::invalid_argument, "the pattern must not contain '..'");
    auto segment = compile_segment(part);
    if (!segment) return std::unexpected(std::move(segment).error());
    // ** beside ** says nothing new and would only cost time.
    if (segment->deep && !segments.empty() && segments.back().deep) continue;
    segments.push_back(std::move(*segment));
  }
  return segments;
}

Result<GlobPattern::Segment> GlobPattern::compile_segment(std::string_view text) {
  Segment segment;
  if (text == "**") {
    segment.deep = true;
    segment.literal = false;
    return segment;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    Piece piece;
    if (text[i] == '*') {
      segment.literal = false;
      if (!segment.pieces.empty() && segment.pieces.back().kind == Piece::Kind::many) continue;
      piece.kind = Piece::Kind::many;
    } else if (text[i] == '?') {
      segment.literal = false;
      piece.kind = Piece::Kind::any;
    } else if (text[i] == '[') {
      const auto end = bracket_end(text, i);
      if (end == std::string_view::npos) {
        return fail(Errc::invalid_argument, "a '[' is not closed (write \\[ for the character itself)");
      }
      segment.literal = false;
      piece.kind = Piece::Kind::set;
      auto body = text.substr(i + 1, end - i - 1);
      if (body.starts_with('!') || body.starts_with('^')) {
        piece.negated = true;
        body.remove_prefix(1);
      }
      // An escaped '-' or ']' is the character; keep the marks apart from what they mark.
      std::vector<std::pair<char32_t, bool>> marks;
      const auto characters = characters_of(body);
      for (std::size_t k = 0; k < characters.size(); ++k) {
        const bool escaped = characters[k] == U'\\' && k + 1 < characters.size();
        if (escaped) ++k;
        marks.emplace_back(characters[k], escaped);
      }
      for (std::size_t k = 0; k < marks.size(); ++k) {
        const bool range = k + 2 < marks.size() && marks[k + 1] == std::pair(U'-', false);
        const auto low = marks[k].first;
        const auto high = range ? marks[k + 2].first : low;
        if (high < low)
          return fail(Errc::invalid_argument,
                      "a range in '[…]' ends before it begins; write the smaller character first");
        piece.ranges.emplace_back(low, high);
        if (range) k += 2;
      }
      i = end;
    } else {
      if (text[i] == '\\' && i + 1 < text.size()) ++i;
      const auto length = std::max<std::size_t>(utf8_sequence(text, i), 1);
      piece.character = characters_of(text.substr(i, length)).front();
      i += length - 1;
    }
    segment.pieces.push_back(std::move(piece));
  }
  return segment;
}

bool GlobPattern::fits(const Piece& piece, char32_t character) noexcept {
  switch (piece.kind) {
    case Piece::Kind::literal:
      return piece.character == character;
    case Piece::Kind::any:
      return true;
    case Piece::Kind::many:
      return false;
    case Piece::Kind::set:
      break;
  }
  const bool inside = std::ranges::any_of(
      piece.ranges, [&](const auto& range) { return range.first <= character && character <= range.second; });
  return inside != piece.negated;
}

bool GlobPattern::fits(const Segment& segment, std::string_view name, const std::vector<char32_t>& characters) {
  const auto& pieces = segment.pieces;
  if (!segment.literal) {
    if (is_kept_out(name)) return false;
    const bool dot_written = !pieces.empty() && pieces[0].kind == Piece::Kind::literal && pieces[0].character == U'.';
    if (name.starts_with('.') && !dot_written) return false;
  }
  // One place to go back to is enough: a later star can do whatever an earlier one could.
  std::size_t piece = 0, at = 0;
  std::optional<std::pair<std::size_t, std::size_t>> retry;
  while (at < characters.size()) {
    if (piece < pieces.size() && pieces[piece].kind == Piece::Kind::many) {
      retry = {++piece, at};
    } else if (piece < pieces.size() && fits(pieces[piece], characters[at])) {
      ++piece;
      ++at;
    } else if (retry) {
      piece = retry->first;
      at = ++retry->second;
    } else {
      return false;
    }
  }
  while (piece < pieces.size() && pieces[piece].kind == Piece::Kind::many) ++piece;
  return piece == pieces.size();
}

// Stands at the segment and, as ** may match nothing, behind it as well.
void GlobPattern::reach(State& state, std::size_t alternative, std::size_t segment) const {
  const auto& segments = alternatives_[alternative];
  for (;; ++segment) {
    const std::pair place(alternative, segment);
    const auto position = std::ranges::lower_bound(state.at, place);
    if (position != state.at.end() && *position == place) return;
    state.at.insert(position, place);
    if (segment >= segments.size() || !segments[segment].deep) return;
  }
}

GlobPattern::State GlobPattern::start() const {
  State state;
  for (std::size_t i = 0; i < alternatives_.size(); ++i) reach(state, i, 0);
  return state;
}

GlobPattern::Step GlobPattern::step(const State& state, std::string_view name) const {
  Step result;
  State reached;
  const auto characters = characters_of(name);
  const bool plain = !name.starts_with('.') && !is_kept_out(name);
  for (const auto& [alternative, segment] : state.at) {
    const auto& segments = alternatives_[alternative];
    if (segment >= segments.size()) continue;
    if (segments[segment].deep) {
      if (plain) reach(reached, alternative, segment);
    } else if (fits(segments[segment], name, characters)) {
      reach(reached, alternative, segment + 1);
    }
  }
  for (const auto& place : reached.at) {
    if (place.second == alternatives_[place.first].size()) {
      result.matches = true;
    } else {
      result.inside.at.push_back(place);
    }
  }
  return result;
}

bool GlobPattern::matches(std::string_view path) const {
  State state = start();
  const auto names = split(path, '/');
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto next = step(state, names[i]);
    if (i + 1 == names.size()) return next.matches;
    state = std::move(next.inside);
  }
  return false;
}

}  // namespace patchbay::builtin
