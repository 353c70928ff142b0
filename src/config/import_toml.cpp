// TOML by toml++, which stays in this file. The library is told not to throw, and nothing deep reaches
// it: it limits arrays and tables inside one another, but neither the parts of a dotted key nor what
// destroying them costs in stack.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
#define TOML_MAX_NESTED_VALUES 32
#include <fmt/format.h>
#include <toml++/toml.h>

#include "config/import_source.h"

namespace patchbay {
namespace {

constexpr std::size_t most_key_parts = 32;

// Behind a string that begins at `at`; behind the line for one that does not end there.
std::size_t behind_text(std::string_view text, std::size_t at) noexcept {
  const char quote = text[at];
  const bool escapes = quote == '"';
  const auto mark = text.substr(at, 3);
  const bool many_lines = mark.size() == 3 && mark[1] == quote && mark[2] == quote;
  at += many_lines ? 3 : 1;
  for (; at < text.size(); ++at) {
    if (escapes && text[at] == '\\') {
      ++at;
    } else if (many_lines ? text.substr(at, 3) == mark : text[at] == quote) {
      at += many_lines ? 3 : 1;
      // Up to two more quotes belong to the text and its end follows them.
      while (many_lines && at < text.size() && text[at] == quote) ++at;
      return at;
    } else if (!many_lines && text[at] == '\n') {
      return at;
    }
  }
  return text.size();
}

// Where a key has more parts than anybody writes: a.a.a.a. Outside of texts and comments, dots between
// two of the characters that end a key or a number are the dots of one key.
std::optional<std::size_t> overlong_key(std::string_view text) noexcept {
  std::size_t dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"' || c == '\'') {
      at = behind_text(text, at);
    } else {
      if (c == '.' && ++dots >= most_key_parts) return at;
      if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos) dots = 0;
      ++at;
    }
  }
  return std::nullopt;
}

class TomlReader {
 public:
  TomlReader(std::string_view text, const std::string& file) : text_(text), file_(file), offsets_(text) {}

  std::expected<ConfigDocument, ConfigProblem> read(const toml::table& table) {
    ConfigDocument document;
    convert(table, document.root, document.place, 0);
    if (fault_) return std::unexpected(std::move(*fault_));
    return document;
  }

  std::size_t offset(const toml::source_position& position) noexcept {
    return position.line == 0 ? 0 : offsets_.at(position.line, position.column);
  }

 private:
  struct Item {
    std::size_t offset;
    const toml::key* key;
    const toml::node* node;
  };

  void convert(const toml::node& node, Json& out, Place& place, std::size_t depth) {
    place.value = offset(node.source().begin);
    place.end = std::max(place.value, offset(node.source().end));
    if (depth >= import_depth_limit) {
      if (!fault_) fault_ = import_fault(text_, file_, place.value, "values are nested too deeply here");
      return;
    }
    if (const auto* table = node.as_table()) return convert_table(*table, out, place, depth);
    if (const auto* array = node.as_array()) {
      Json::Array items;
      items.reserve(array->size());
      for (const auto& element : *array) {
        auto& below = place.children.emplace_back();
        convert(element, items.emplace_back(), below, depth + 1);
        below.key = below.value;
      }
      out = std::move(items);
    } else if (const auto* text = node.as_string()) {
      out = text->get();
    } else if (const auto* integer = node.as_integer()) {
      out = static_cast<std::int64_t>(integer->get());
    } else if (const auto* real = node.as_floating_point()) {
      out = real->get();
    } else if (const auto* flag = node.as_boolean()) {
      out = flag->get();
    } else {
      out = std::string(text_.substr(place.value, place.end - place.value));  // a date or a time, as written
    }
  }

  // The library sorts by name; people expect the order of the file.
  void convert_table(const toml::table& table, Json& out, Place& place, std::size_t depth) {
    std::vector<Item> items;
    items.reserve(table.size());
    for (const auto& [key, value] : table) items.push_back({offset(key.source().begin), &key, &value});
    std::ranges::sort(items, {}, &Item::offset);
    Json::Object members;
    place.children.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      auto& value = members.append(std::string(items[i].key->str()), Json());
      convert(*items[i].node, value, place.children[i], depth + 1);
      place.children[i].key = items[i].offset;
    }
    out = std::move(members);
  }

  std::string_view text_;
  const std::string& file_;
  CharacterOffsets offsets_;
  std::optional<ConfigProblem> fault_;
};

}  // namespace

std::expected<ConfigDocument, ConfigProblem> read_toml(std::string_view text, const std::string& file) {
  if (auto sound = check_import_text(text, file); !sound) return std::unexpected(std::move(sound.error()));
  if (auto at = overlong_key(text)) {
    return std::unexpected(import_fault(text, file, *at, fmt::format("a key has more than {} parts", most_key_parts)));
  }
  auto parsed = toml::parse(text);
  TomlReader reader(text, file);
  if (!parsed) {
    auto at = reader.offset(parsed.error().source().begin);
    return std::unexpected(
        import_fault(text, file, at, fmt::format("{}; {}", parsed.error().description(), fix_the_file)));
  }
  return reader.read(parsed.table());
}

}  // namespace patchbay
