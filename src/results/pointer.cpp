#include "results/pointer.h"

#include <charconv>
#include <string>

#include <fmt/format.h>

#include "base/strings.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_pointer = 4096;
constexpr std::size_t quoted = 80;
constexpr std::size_t named_keys = 12;

std::unexpected<Error> wrong(std::string message) { return fail(Errc::invalid_argument, std::move(message)); }

// "~1" is "/", "~0" is "~".
std::optional<std::string> unescaped(std::string_view token) {
  std::string out;
  out.reserve(token.size());
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out += token[i];
      continue;
    }
    if (++i == token.size() || (token[i] != '0' && token[i] != '1')) return std::nullopt;
    out += token[i] == '0' ? '~' : '/';
  }
  return out;
}

std::optional<std::size_t> index_of(std::string_view token) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool plain = token == "0" || !token.starts_with('0');
  if (token.empty() || error != std::errc() || end != token.data() + token.size() || !plain) return std::nullopt;
  return index;
}

std::string shown(std::string_view text) { return clean_line(clean_excerpt(text, quoted)); }

std::string what_there_is(const Json& value) {
  if (value.is_array()) return fmt::format("an array of {}", plural(value.size(), "item"));
  if (!value.is_object()) return fmt::format("a value of type {}", to_string(value.kind()));
  std::vector<std::string> keys;
  for (const auto& [name, member] : value.members()) {
    if (keys.size() == named_keys) {
      keys.emplace_back("…");
      break;
    }
    keys.push_back(shown(name));
  }
  return keys.empty() ? std::string("an empty object") : fmt::format("an object with {}", join(keys, ", "));
}

}  // namespace

Result<const Json*> at_pointer(const Json& root, std::string_view pointer) {
  if (pointer.size() > longest_pointer) return wrong("the JSON pointer is too long");
  if (!pointer.empty() && pointer.front() != '/') {
    return wrong(fmt::format("\"{}\" is not a JSON pointer: it has to begin with \"/\"", shown(pointer)));
  }
  const Json* at = &root;
  for (std::size_t from = 0; from < pointer.size();) {
    const auto end = std::min(pointer.find('/', from + 1), pointer.size());
    const auto raw = pointer.substr(from + 1, end - from - 1);
    const auto token = unescaped(raw);
    if (!token) return wrong(fmt::format("\"{}\" is not a JSON pointer: \"~\" is written \"~0\"", shown(pointer)));
    const Json* next = nullptr;
    if (at->is_array()) {
      const auto index = index_of(*token);
      if (index && *index < at->size()) next = &at->items()[*index];
    } else if (at->is_object()) {
      next = at->find(*token);
    }
    if (next == nullptr) {
      return wrong(
          fmt::format("there is nothing at \"{}\": {} is {}", shown(pointer.substr(0, end)),
                      from == 0 ? std::string("the value") : fmt::format("\"{}\"", shown(pointer.substr(0, from))),
                      what_there_is(*at)));
    }
    at = next;
    from = end;
  }
  return at;
}

}  // namespace patchbay
