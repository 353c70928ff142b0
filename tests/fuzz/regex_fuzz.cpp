// Patterns of schemas: translated, compiled and searched within their budget; a plain word
// is found exactly where a plain search finds it. Input: the pattern on a line of its own,
// then the text.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "json/regex.h"
#include "json/utf8.h"

using namespace patchbay;
using fuzz::require;

FUZZ_TARGET(regex) {
  const auto pattern = fuzz::take_line(input);
  const auto translated = regex::translate(pattern);
  const auto compiled = Regex::compile(pattern, 512);
  if (!compiled) {
    const auto code = compiled.error().code();
    require(code == Errc::invalid_argument || code == Errc::limit, "compiling failed in an unknown way");
    return;
  }
  require(translated.has_value(), "compiled what cannot be translated");
  RegexScratch scratch;
  constexpr std::uint64_t budget = 20'000;
  std::uint64_t steps = budget;
  const auto outcome = compiled->search(input, scratch, steps);
  require(steps < budget, "a search cost nothing");
  require(outcome != Regex::Outcome::match || first_invalid_utf8(input) == all_utf8, "matched what is no text");

  // The same scratch gives the same answer, and costs the same.
  std::uint64_t again = budget;
  require(compiled->search(input, scratch, again) == outcome && again == steps, "a second search differs");

  const bool plain = std::ranges::all_of(pattern, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ' ';
  });
  if (plain && outcome != Regex::Outcome::limit && first_invalid_utf8(input) == all_utf8) {
    require((outcome == Regex::Outcome::match) == (input.find(pattern) != std::string_view::npos),
            "a plain word is found elsewhere");
  }
}
