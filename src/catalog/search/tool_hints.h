// What a server claims of its tools for finding and loading them, and what a tool costs a model. Claims: they decide
// what a model sees first, and nothing that a rule decides. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <patchbay/catalog.h>

namespace patchbay {

// Its title, where it has one beside its name.
std::optional<std::string_view> title_of(const Tool& tool) noexcept;
// _meta "anthropic/searchHint": words to find it by.
std::optional<std::string_view> search_hint(const Tool& tool) noexcept;
// _meta "anthropic/alwaysLoad": true asks to be loaded from the start, false not to be, whatever its server's entry
// says.
std::optional<bool> always_load(const Tool& tool) noexcept;
// About as many bytes as a model is given of it: name, description, schema.
std::size_t bytes_for_model(const CatalogEntry& entry);

}  // namespace patchbay
