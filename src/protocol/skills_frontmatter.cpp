#include "protocol/skills_frontmatter.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "text/yaml.h"

namespace patchbay {
namespace {

constexpr std::string_view blanks = " \t";

bool is_mark(std::string_view line) noexcept {
  return line.starts_with("---") && line.find_first_not_of(blanks, 3) == std::string_view::npos;
}

// What no line of a header may have, whatever YAML says. Some programs break lines at U+0085, U+2028 and U+2029, and
// some take a byte order mark for a blank.
std::string_view fault_of(std::string_view line) noexcept {
  const bool control = std::ranges::any_of(line, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
  if (control) return "a control character";
  if (!valid_utf8(line)) return "not UTF-8";
  for (const std::string_view odd : {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf"}) {
    if (line.find(odd) != std::string_view::npos) return "a line separator or byte order mark";
  }
  return {};
}

// The lines between the two marks, each with a line break behind it.
Result<std::string> header_of(std::string_view skill_md, std::size_t bytes) {
  if (skill_md.starts_with("\xef\xbb\xbf")) skill_md.remove_prefix(3);
  std::string header;
  bool begun = false;
  std::size_t number = 0;
  for (std::size_t at = 0; at < skill_md.size();) {
    const auto end = std::min(skill_md.find('\n', at), skill_md.size());
    auto line = skill_md.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    ++number;
    if (!begun) {
      if (!is_mark(line)) break;
      begun = true;
      continue;
    }
    if (at > bytes) return fail(Errc::limit, fmt::format("the header is longer than {} bytes", bytes));
    if (is_mark(line)) return header;
    if (const auto fault = fault_of(line); !fault.empty()) {
      return fail(Errc::protocol, fmt::format("line {}: {}", number, fault));
    }
    header.append(line).append("\n");
  }
  return fail(Errc::protocol, begun ? "the header does not end with a line ---"
                                    : "it does not begin with a header between two lines ---");
}

}  // namespace

Result<Json> read_frontmatter(std::string_view skill_md, FrontmatterBounds bounds) {
  const auto header = header_of(skill_md, bounds.bytes);
  if (!header) return std::unexpected(header.error());
  auto read = read_yaml_text(*header, {.strict = true, .only_json_numbers = false, .depth = bounds.depth});
  if (!read) {
    const auto& fault = read.error();
    if (fault.kind == YamlFault::Kind::empty)
      return fail(Errc::protocol, "the header between the two lines --- is empty");
    if (fault.kind == YamlFault::Kind::too_deep) {
      return fail(Errc::limit, fmt::format("the header is nested deeper than {} levels", bounds.depth));
    }
    // The line of the mark comes before the first.
    return fail(Errc::protocol, fmt::format("line {}: {}", position_of(*header, fault.offset).line + 1, fault.reason));
  }
  if (!read->root.is_object()) return fail(Errc::protocol, "line 2: expected `key: value`");
  return std::move(read->root);
}

}  // namespace patchbay
