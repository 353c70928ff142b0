// What an edit changes, as lines: those that go, those that come, and a few around them. Cleaned for a terminal by
// whoever shows them (shown_diff does). Pure; bounded work and bounded output whatever the texts are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace patchbay::terminal {

struct DiffLine {
  enum class Kind : std::uint8_t { same, removed, added, skipped } kind = Kind::same;
  std::string text = {};  // without its line feed; of `skipped` empty
  std::size_t lines = 0;  // of `skipped`: how many
  bool operator==(const DiffLine&) const = default;
};

struct DiffOptions {
  std::size_t context = 3;      // lines around a change
  std::size_t most_lines = 60;  // of all; the rest is one `skipped`
};

std::vector<DiffLine> diff_lines(std::string_view before, std::string_view now, const DiffOptions& options = {});

struct DiffLook {
  std::size_t columns = 80;
  bool color = false;
};
// "- old", "+ new", "  same", "  … 12 lines": every line as it can be seen (text/visible_text), cut to the width unless
// `whole`, when it goes on below.
std::vector<std::string> shown_diff(const std::vector<DiffLine>& lines, const DiffLook& look, bool whole = false);

}  // namespace patchbay::terminal
