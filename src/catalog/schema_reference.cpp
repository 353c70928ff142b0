#include "catalog/schema_reference.h"

#include <charconv>
#include <string>

#include "base/strings.h"
#include "json/schema_uri.h"

namespace patchbay {
namespace {

std::string unescaped(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const bool escape = token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1');
    out += escape ? (token[++i] == '0' ? '~' : '/') : token[i];
  }
  return out;
}

const Json* child(const Json& of, const std::string& token) {
  if (of.is_object()) return of.find(token);
  std::size_t index = 0;
  const auto* end = token.data() + token.size();
  const auto read = std::from_chars(token.data(), end, index);
  if (!of.is_array() || read.ec != std::errc() || read.ptr != end || index >= of.size()) return nullptr;
  return &of.items()[index];
}

}  // namespace

const Json* follow_reference(const Json& document, std::string_view reference) {
  if (!reference.starts_with('#')) return nullptr;
  const auto pointer = schema::percent_decoded(reference.substr(1));
  if (!pointer) return nullptr;
  if (pointer->empty()) return &document;
  if (!pointer->starts_with('/')) return nullptr;
  const Json* at = &document;
  for (auto token : split(std::string_view(*pointer).substr(1), '/')) {
    at = child(*at, unescaped(token));
    if (!at) return nullptr;
  }
  return at;
}

}  // namespace patchbay
