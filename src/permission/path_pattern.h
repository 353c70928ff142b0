// Patterns of paths for argument rules: `**` for any directories, `*` for any characters of one name,
// `?` for one. A path is compared twice: by its text, made absolute and without `.` and `..`, and by where its
// symbolic links lead on this machine. Only where both say the same it is clear. Looks at links and opens nothing;
// any thread.
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
    // It depends on who reads it: "~/x", "file:///x", "a\b", blanks around it, /proc/self/cwd, a link that
    // leads in or out. Also the directory itself whose contents the pattern names.
    unclear,
    yes,
  };

  // Has a slash or `**`, or begins with '~', or is "." or "..".
  static bool looks_like_one(std::string_view text) noexcept;

  // //x and /x are absolute, ~/x is below `home`, the others are below `cwd`. With a slash at its end it
  // is that directory and everything in it.
  static Result<PathPattern> parse(std::string_view text, std::string_view cwd, std::string_view home);

  // Why no path is ever surely in it, for people; empty when one can be.
  std::string never() const;

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

  struct Form {
    std::vector<Segment> segments;
    // Whose contents the pattern names, when it ends in **.
    std::optional<std::vector<Segment>> directory;

    Match match(const std::vector<std::string_view>& names) const;
  };
  // The same with its first `count` segments replaced by where those really are; nothing when they are there.
  static std::optional<Form> elsewhere(const Form& written, std::size_t count);

  Form written_;
  // With links followed in the directory it is relative to: a person may have started in a directory by another
  // name. What the rule itself names must be what it says, or a link in a repository could stand in for it.
  std::optional<Form> based_;
  // With links followed up to its first wildcard: what is forbidden is so by its other name as well.
  std::optional<Form> real_;
  std::string home_;         // set when the pattern begins with ~
  char begins_with_ = '\0';  // as written
};

}  // namespace patchbay
