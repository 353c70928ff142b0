// The regular expressions of JSON Schema: ECMA-262 syntax, matched by PCRE2 within a
// budget. Pure; a compiled Regex is immutable and may be used from several threads, each
// with its own RegexScratch. It finds out whether a text contains a match, nothing more.
//
// The pattern is read and rewritten here, because PCRE2 means other things by \d, \s, \w,
// $, dot, \A and a dozen more; what ECMA-262 does not know is an error. Of its lenient
// (non-unicode) syntax only escaped punctuation, lone braces and class escapes beside a
// hyphen are accepted, since real schemas contain them. One difference is left: a group
// keeps what it matched when the repetition around it begins anew, which only a backreference
// into the same repetition can tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

// PCRE2's working memory, made on first use and kept for the next match.
class RegexScratch {
 public:
  RegexScratch() noexcept = default;
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;
  ~RegexScratch();

 private:
  friend class Regex;
  void* match_data_ = nullptr;
  void* match_context_ = nullptr;
};

// Whether an upper case letter is another one than the lower case letter.
enum class RegexCase : std::uint8_t { counts, ignored };

class Regex {
 public:
  enum class Outcome : std::uint8_t { no_match, match, limit };

  // Errc::invalid_argument with the reason, or Errc::limit above `max_bytes`.
  static Result<Regex> compile(std::string_view pattern, std::size_t max_bytes = 8'192,
                               RegexCase letter_case = RegexCase::counts);

  // Takes what the search costs off `steps`; `limit` when that is not enough. Text that is
  // not UTF-8 never matches.
  Outcome search(std::string_view text, RegexScratch& scratch, std::uint64_t& steps) const;

 private:
  struct Free {
    void operator()(void* code) const noexcept;
  };
  explicit Regex(void* code) noexcept : code_(code) {}
  std::unique_ptr<void, Free> code_;
};

namespace regex {

// The same pattern in PCRE2's syntax, with numbered callouts wherever work can pile up. Each
// stands for the work since the one before:
//   1…240    as many plain comparisons, and the way the match has moved
//   241…254  the way it has moved, times 2, 4, 8 … for a class that is slow to look up
//   255      a comparison that may run over the whole text
Result<std::string> translate(std::string_view pattern);

inline constexpr unsigned plain_callouts = 240;
inline constexpr unsigned whole_text_callout = 255;

}  // namespace regex
}  // namespace patchbay
