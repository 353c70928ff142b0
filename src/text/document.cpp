#include "text/document.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/utf8.h"
#include "text/jsonc.h"

namespace patchbay {

const std::string_view fix_the_file = "fix the file";

namespace {

// Where the key that stands again at `again` stands first in its object. The text before it is JSON.
std::size_t first_of_key(std::string_view plain, std::size_t again) {
  const auto end_of_string = [&](std::size_t at) {
    for (++at; at < plain.size() && plain[at] != '"'; ++at) {
      if (plain[at] == '\\') ++at;
    }
    return std::min(at + 1, plain.size());
  };
  const auto key = plain.substr(again, end_of_string(again) - again);
  std::vector<std::size_t> first;  // of each open object or list; npos: not yet
  for (std::size_t at = 0; at < again; ++at) {
    switch (plain[at]) {
      case '{':
      case '[':
        first.push_back(std::string_view::npos);
        break;
      case '}':
      case ']':
        if (!first.empty()) first.pop_back();
        break;
      case '"': {
        const auto end = end_of_string(at);
        const auto next = plain.find_first_not_of(" \t\r\n", end);
        const bool is_key = next != std::string_view::npos && plain[next] == ':';
        if (is_key && !first.empty() && first.back() == std::string_view::npos && plain.substr(at, end - at) == key) {
          first.back() = at;
        }
        at = end - 1;
        break;
      }
      default:
        break;
    }
  }
  return first.empty() ? std::string_view::npos : first.back();
}

// A key that is written twice makes the whole text unusable: which of the two is meant is anybody's guess, and another
// program may guess otherwise.
std::string twice_text(std::string_view text, std::string_view plain, const JsonFault& fault) {
  const auto first = first_of_key(plain, fault.offset);
  const auto where =
      first == std::string_view::npos ? std::string("above") : fmt::format("in line {}", position_of(text, first).line);
  return fmt::format(
      "{} (it already occurs {}): the whole file is ignored, because programs disagree about which one is used; remove "
      "or rename one of them",
      fault.reason, where);
}

}  // namespace

ConfigDocument::Member member_of(const ConfigDocument::Member& in, std::string_view key) noexcept {
  if (!in) return {};
  const auto* object = in.value->if_object();
  if (object == nullptr) return {};
  std::size_t i = 0;
  for (const auto& [name, value] : *object) {
    if (name == key && i < in.place->children.size()) return {&value, &in.place->children[i]};
    ++i;
  }
  return {};
}

std::expected<ConfigDocument, ConfigProblem> read_document(std::string_view text, const std::string& file,
                                                           std::string_view expected, std::size_t depth) {
  auto fault = [&](std::size_t offset, std::string message) {
    auto [line, column] = position_of(text, offset);
    return std::unexpected(ConfigProblem{file, line, column, std::move(message), {}, Severity::error});
  };
  if (!valid_utf8(text)) {
    return fault(first_invalid_utf8(text), "the file is not valid UTF-8; save it as UTF-8 and run the command again");
  }
  auto plain = without_comments(text);
  if (!plain) return fault(plain.error().offset, fmt::format("{}; {}", plain.error().reason, fix_the_file));
  if (trim(*plain).empty()) {
    return fault(0, fmt::format("the file is empty, expected {}; {}", expected, fix_the_file));
  }
  auto root = parse_json_located(*plain);
  if (!root) {
    const auto& wrong = root.error();
    return fault(wrong.offset, wrong.reason.starts_with("duplicate key")
                                   ? twice_text(text, *plain, wrong)
                                   : fmt::format("{}; {}", wrong.reason, fix_the_file));
  }
  return ConfigDocument{std::move(*root), places_in(*plain, depth)};
}

}  // namespace patchbay
