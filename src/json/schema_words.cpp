#include "json/schema_words.h"

#include <fmt/format.h>

namespace patchbay::schema {
namespace {

std::string_view kind_name(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
      return "boolean";
    case Json::Kind::string:
      return "string";
    case Json::Kind::array:
      return "array";
    case Json::Kind::object:
      return "object";
    default:
      return is_integral(value) ? "integer" : "number";
  }
}

std::string type_names(std::uint8_t types) {
  std::string out;
  const auto add = [&](std::string_view name) {
    if (!out.empty()) out += " or ";
    out += name;
  };
  if (types & type_number) {
    add("number");
  } else if (types & type_integer) {
    add("integer");
  }
  if (types & type_string) add("string");
  if (types & type_boolean) add("boolean");
  if (types & type_array) add("array");
  if (types & type_object) add("object");
  if (types & type_null) add("null");
  return out;
}

}  // namespace

std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  text.resize(most);
  return text + "…";
}

std::string quoted(std::string_view text) { return cut(to_text(Json(text)), 80); }

std::string plural(std::uint64_t count, std::string_view singular) {
  if (count == 1) return fmt::format("1 {}", singular);
  if (singular.ends_with('y')) return fmt::format("{} {}ies", count, singular.substr(0, singular.size() - 1));
  return fmt::format("{} {}s", count, singular);
}

std::string wrong_type(std::uint8_t types, const Json& found) {
  return fmt::format("expected {}, found {}", type_names(types), kind_name(found));
}

std::string not_constant(const ValueRules& rules) { return "must be " + cut(to_text(*rules.constant), 200); }

std::string not_a_choice(const ValueRules& rules) {
  const std::string all = to_text(*rules.choices_json);
  return "must be one of " + cut(all.substr(1, all.size() - 2), 200);
}

std::string out_of_bounds(std::string_view words, const Json& limit) {
  return fmt::format("must be {} {}", words, cut(to_text(limit), 80));
}

std::string not_a_multiple(const NumberRules& rules) {
  return "must be a multiple of " + cut(to_text(*rules.multiple_of_json), 80);
}

std::string no_match(const StringRules& rules) {
  return "does not match the pattern " + cut(std::string(rules.pattern_text), 200);
}

std::string wrong_format(const StringRules& rules) {
  return "is not of the format " + cut(std::string(rules.format_name), 80);
}

std::string too_few(std::uint64_t least, std::string_view singular, std::uint64_t found) {
  return fmt::format("must have at least {}, has {}", plural(least, singular), found);
}

std::string too_many(std::uint64_t most, std::string_view singular, std::uint64_t found) {
  return fmt::format("must have at most {}, has {}", plural(most, singular), found);
}

std::string contains_too_few(const ArrayRules& rules, std::uint64_t found) {
  return fmt::format("must contain at least {} of a certain kind, has {}", plural(rules.min_contains, "item"), found);
}

std::string contains_too_many(const ArrayRules& rules, std::uint64_t found) {
  return fmt::format("must contain at most {} of a certain kind, has {}", plural(rules.max_contains, "item"), found);
}

std::string equal_items(std::size_t first, std::size_t second) {
  return fmt::format("items {} and {} are equal", first, second);
}

std::string missing_property(std::string_view name) { return "missing property " + quoted(name); }

std::string missing_dependency(std::string_view name, const Dependency& dependency) {
  return fmt::format("missing property {}, which {} needs", quoted(name), quoted(dependency.name));
}

std::string unexpected_property(std::string_view name) { return "unexpected property " + quoted(name); }

std::string unexpected_property(const ObjectRules& rules, std::string_view name) {
  std::string out = unexpected_property(name);
  std::string known;
  for (const Property& property : rules.properties) {
    if (!property.node) continue;
    if (!known.empty()) known += ", ";
    known += quoted(property.name);
    if (known.size() > 200) break;
  }
  if (!known.empty()) out += "; known are " + cut(std::move(known), 200);
  return out;
}

std::string unexpected_item(std::size_t index) { return fmt::format("unexpected item {}", index); }

std::string name_not_allowed(std::string_view name, std::string_view reason) {
  return fmt::format("the name {} is not allowed: {}", quoted(name), reason);
}

std::string two_alternatives(std::size_t first, std::size_t second) {
  return fmt::format("matches alternatives {} and {}, must match exactly one", first + 1, second + 1);
}

}  // namespace patchbay::schema
