#include "settings/file_reader.h"

#include <fmt/format.h>

#include "json/kind_text.h"

namespace patchbay {

void ServerFileReader::wrong_kind(const Member& at, std::string_view what, std::string_view expected) {
  report_.error(at.place->value,
                fmt::format("{} must be {}, found {}; {}", what, expected, kind_with_article(*at.value), fix_the_file));
}

ParsedServers ServerFileReader::servers_of(const Member& at, ConfigScope scope) {
  auto parsed = parse_server_map(text_, at, {file_, 0, scope, trust_of(scope), 0});
  problems_.insert(problems_.end(), parsed.problems.begin(), parsed.problems.end());
  return parsed;
}

std::vector<std::string> ServerFileReader::texts(const Member& at, std::string_view key, Items items) {
  std::vector<std::string> out;
  if (!at) return out;
  const auto* array = at.value->if_array();
  if (array == nullptr) {
    wrong_kind(at, fmt::format("\"{}\"", key), "an array of strings");
    return out;
  }
  for (std::size_t i = 0; i < array->size(); ++i) {
    if (const auto text = (*array)[i].text()) {
      out.emplace_back(*text);
    } else if (items == Items::all) {
      wrong_kind({&(*array)[i], &at.place->children[i]}, fmt::format("\"{}[{}]\"", key, i), "a string");
    }
  }
  return out;
}

}  // namespace patchbay
