// URI references as JSON Schema uses them: split, and resolved against a base (RFC 3986,
// section 5). Pure; the schema compiler calls it. It checks nothing: a text that is no URI
// simply names no document.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace patchbay::schema {

struct UriParts {
  std::optional<std::string_view> scheme;
  std::optional<std::string_view> authority;
  std::string_view path;
  std::optional<std::string_view> query;
  std::optional<std::string_view> fragment;
};

UriParts split_uri(std::string_view uri) noexcept;

// Without fragment. An empty base leaves the reference as it is.
std::string resolve_uri(std::string_view base, std::string_view reference);

// %41 → A. nullopt when a percent sign is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace patchbay::schema
