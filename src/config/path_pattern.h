// Patterns of paths for argument rules: `**` for any directories, `*` for any characters of one name,
// `?` for one. A path is compared after it was made absolute and `.` and `..` were taken out of it, by
// its text alone: nothing looks at the file system, and a symbolic link is a name like others. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/error.h>

namespace patchbay {

class PathPattern {
 public:
  enum class Match : std::uint8_t {
    no,
    // It depends on who reads it: "~/x", "file:///x", "a\b", blanks around it. Also the directory
    // itself whose contents the pattern names.
    unclear,
    yes,
  };

  // Has a slash or `**`, or begins with '~', or is "." or "..".
  static bool looks_like_one(std::string_view text) noexcept;

  // //x and /x are absolute, ~/x is below `home`, the others are below `cwd`. With a slash at its end it
  // is that directory and everything in it.
  static Result<PathPattern> parse(std::string_view text, std::string_view cwd, std::string_view home);

  // `cwd` is what a relative path is relative to; empty: not known.
  Match match(std::string_view path, std::string_view cwd) const;

 private:
  struct Segment {
    std::string text;
    bool literal = true;
    bool deep = false;
  };
  static bool fits(const Segment& segment, std::string_view name) noexcept;
  static bool matches(const std::vector<Segment>& segments, const std::vector<std::string_view>& names);

  std::vector<Segment> segments_;
  // Whose contents the pattern names, when it ends in **.
  std::optional<std::vector<Segment>> directory_;
  std::string home_;  // set when the pattern begins with ~
};

}  // namespace patchbay
