// GlobPattern: path patterns with ** * ? [abc] [!a-z] {a,b} and \ to take a character
// literally, matched one path segment at a time so that a walk enters only directories that
// can lead to a match. Used by the glob and grep tools; pure, linear in the name's length.
//
// Names that begin with a dot are matched only by a segment that writes the dot; .git and
// node_modules only by a segment that is exactly that name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

namespace patchbay::builtin {

class GlobPattern {
 public:
  // Errc::invalid_argument with a reason: an absolute pattern, "..", an unclosed bracket or
  // brace, too many alternatives.
  static Result<GlobPattern> parse(std::string_view pattern);

  // "src/" asks for directories, everything else for files.
  bool wants_directories() const noexcept { return directories_; }

  // Where a walk stands: the places in the pattern that the path so far has reached.
  struct State {
    std::vector<std::pair<std::size_t, std::size_t>> at;  // (alternative, segment), sorted
  };
  State start() const;
  struct Step {
    bool matches = false;  // the path that ends in this name is a match
    State inside;          // for what lies in it; empty: nothing there can match
  };
  Step step(const State& state, std::string_view name) const;

  // The whole path at once.
  bool matches(std::string_view path) const;

 private:
  struct Piece {
    enum class Kind : unsigned char { literal, any, many, set };
    Kind kind = Kind::literal;
    char32_t character = 0;
    bool negated = false;
    std::vector<std::pair<char32_t, char32_t>> ranges;
  };
  struct Segment {
    bool deep = false;    // **
    bool literal = true;  // no wildcard in it
    std::vector<Piece> pieces;
  };
  using Alternative = std::vector<Segment>;

  static Result<Alternative> compile(std::string_view pattern);
  static Result<Segment> compile_segment(std::string_view text);
  static bool fits(const Piece& piece, char32_t character) noexcept;
  static bool fits(const Segment& segment, std::string_view name, const std::vector<char32_t>& characters);
  void reach(State& state, std::size_t alternative, std::size_t segment) const;

  std::vector<Alternative> alternatives_;
  bool directories_ = false;
};

}  // namespace patchbay::builtin
