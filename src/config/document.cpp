#include "config/document.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "config/jsonc.h"

namespace patchbay {

const std::string_view fix_the_file = "fix the file and run the command again";

namespace {

// Offset of the first byte that is not part of UTF-8.
std::size_t first_invalid(std::string_view text) noexcept {
  std::size_t at = 0;
  while (at < text.size()) {
    auto lead = static_cast<unsigned char>(text[at]);
    std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (!valid_utf8(text.substr(at, length))) break;
    at += length;
  }
  return at;
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
    return fault(first_invalid(text), "the file is not UTF-8; save it as UTF-8 and run the command again");
  }
  auto plain = without_comments(text);
  if (!plain) return fault(plain.error().offset, fmt::format("{}; {}", plain.error().reason, fix_the_file));
  if (trim(*plain).empty()) {
    return fault(0, fmt::format("the file is empty, expected {}; {}", expected, fix_the_file));
  }
  auto root = parse_json_located(*plain);
  if (!root) return fault(root.error().offset, fmt::format("{}; {}", root.error().reason, fix_the_file));
  return ConfigDocument{std::move(*root), places_in(*plain, depth)};
}

}  // namespace patchbay
