// What is reported about a value that a schema does not accept: one function for each reason, for people and models.
// schema_validate.cpp decides and asks for the words only when somebody wants reasons. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "json/schema_program.h"

namespace patchbay::schema {

// A text cut to about so many bytes, between characters.
std::string cut(std::string text, std::size_t most);
std::string quoted(std::string_view text);
// "1 item", "2 items"
std::string plural(std::uint64_t count, std::string_view singular);

std::string wrong_type(std::uint8_t types, const Json& found);
std::string not_constant(const ValueRules& rules);
std::string not_a_choice(const ValueRules& rules);
std::string out_of_bounds(std::string_view words, const Json& limit);
std::string not_a_multiple(const NumberRules& rules);
std::string no_match(const StringRules& rules);
std::string wrong_format(const StringRules& rules);
std::string too_few(std::uint64_t least, std::string_view singular, std::uint64_t found);
std::string too_many(std::uint64_t most, std::string_view singular, std::uint64_t found);
std::string contains_too_few(const ArrayRules& rules, std::uint64_t found);
std::string contains_too_many(const ArrayRules& rules, std::uint64_t found);
std::string equal_items(std::size_t first, std::size_t second);
std::string missing_property(std::string_view name);
std::string missing_dependency(std::string_view name, const Dependency& dependency);
std::string unexpected_property(std::string_view name);
std::string unexpected_property(const ObjectRules& rules, std::string_view name);
std::string unexpected_item(std::size_t index);
std::string name_not_allowed(std::string_view name, std::string_view reason);
std::string two_alternatives(std::size_t first, std::size_t second);

}  // namespace patchbay::schema
