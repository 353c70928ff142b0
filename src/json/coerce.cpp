#include "json/coerce.h"

#include <algorithm>
#include <utility>

#include "json/number.h"
#include "json/schema_program.h"
#include "json/schema_run.h"

namespace patchbay {

using namespace schema;

namespace {

constexpr std::size_t deepest_text = 64;       // of JSON inside of a text
constexpr std::uint64_t bytes_of_a_step = 16;  // of such JSON

std::optional<Json> read_number_text(std::string_view text) {
  bool integral = false;
  if (number_length(text, integral) != text.size()) return std::nullopt;
  auto number = Json::number(text);
  if (number.kind() != Json::Kind::real) return number;
  if (!stands_for(number, text)) return std::nullopt;
  // Programs that want an integer may not take 10.0 for one.
  const auto whole = text.starts_with('-') && *number.to_double() == 0 ? std::nullopt : number.to_int();
  return whole ? Json(*whole) : std::move(number);
}

// What a text says as JSON, unless that is a text again.
std::optional<Json> read_text(std::string_view text) {
  if (text == "true") return Json(true);
  if (text == "false") return Json(false);
  if (text == "null") return Json();
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return std::nullopt;
  if (text[first] == '{' || text[first] == '[') {
    auto value = parse_json(text, {.max_depth = deepest_text});
    return value ? std::optional(std::move(*value)) : std::nullopt;
  }
  return read_number_text(text);
}

std::string_view type_name(const Json& value) {
  switch (type_of(value)) {
    case type_null:
      return "null";
    case type_boolean:
      return "boolean";
    case type_integer:
      return "integer";
    case type_number:
      return "number";
    case type_array:
      return "array";
    case type_object:
      return "object";
    default:
      return "string";
  }
}

// A text fits without looking at it: the usual case.
bool takes_any_text(const Node& node) {
  return (node.types == 0 || (node.types & type_string) != 0) && !node.values && !node.string && !node.ref &&
         !node.in_place;
}

class Coercer {
 public:
  Coercer(const Program& program, const CoerceOptions& options)
      : program_(program), steps_(options.max_steps), max_depth_(options.max_depth) {}

  std::optional<Json> fit(const Json& value) { return fit(*program_.root, value, 0); }

  bool accepts(const Json& value) { return accepts(*program_.root, value); }

 private:
  // The value with the changes this part of the schema wants; nothing when it wants none.
  std::optional<Json> fit(const Node& node, const Json& value, std::uint32_t depth) {
    if (node.fixed != Node::Fixed::no || depth >= max_depth_) return std::nullopt;
    if (value.is_string()) return takes_any_text(node) ? std::nullopt : fit_text(node, value, depth);
    if (!value.is_object() && !value.is_array()) return std::nullopt;
    steps_.charge(1 + value.size() / 4);
    std::optional<Json> changed;
    if (node.object && value.is_object()) changed = fit_members(*node.object, value, depth);
    if (node.array && value.is_array()) changed = fit_items(*node.array, value, depth);
    if (node.ref) apply(changed, fit(*node.ref, changed ? *changed : value, depth + 1));
    if (node.in_place) apply(changed, fit_in_place(*node.in_place, changed ? *changed : value, depth));
    return changed;
  }

  static void apply(std::optional<Json>& changed, std::optional<Json> next) {
    if (next) changed = std::move(next);
  }

  std::optional<Json> fit_text(const Node& node, const Json& value, std::uint32_t depth) {
    if (accepts(node, value)) return std::nullopt;
    const auto text = value.as_text();
    steps_.charge(text.size() / bytes_of_a_step);
    auto read = read_text(text);
    if (!read) return std::nullopt;
    if (auto inside = fit(node, *read, depth + 1)) read = std::move(inside);
    return accepts(node, *read) ? std::move(read) : std::nullopt;
  }

  std::optional<Json> fit_members(const ObjectRules& rules, const Json& value, std::uint32_t depth) {
    std::optional<Json> changed;
    // `value` stays as it is while its members are looked at; what became of one is found again by its name.
    auto fit_member = [&](const Node& node, std::string_view name, const Json& member) {
      const auto& now = changed ? *changed->find(name) : member;
      auto next = fit(node, now, depth + 1);
      if (!next) return;
      if (!changed) changed = copy_of(value);
      *changed->find(name) = std::move(*next);
    };
    for (const auto& [name, member] : *value.if_object()) {
      bool looked_at = false;
      const auto* property = find_property(rules, name);
      if (property && property->node) {
        looked_at = true;
        fit_member(*property->node, name, member);
      }
      for (const auto& pattern : rules.patterns) {
        if (!matches(*pattern.regex, name)) continue;
        looked_at = true;
        fit_member(*pattern.node, name, member);
      }
      if (!looked_at && rules.additional) fit_member(*rules.additional, name, member);
    }
    for (const auto& dependency : rules.dependencies) {
      if (!dependency.node || !value.if_object()->contains(dependency.name)) continue;
      apply(changed, fit(*dependency.node, changed ? *changed : value, depth + 1));
    }
    return changed;
  }

  std::optional<Json> fit_items(const ArrayRules& rules, const Json& value, std::uint32_t depth) {
    std::optional<Json> changed;
    const auto& items = *value.if_array();
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto* node = i < rules.prefix.size() ? rules.prefix[i] : rules.rest;
      if (!node) break;
      auto next = fit(*node, items[i], depth + 1);
      if (!next) continue;
      if (!changed) changed = copy_of(value);
      changed->if_array()->at(i) = std::move(*next);
    }
    return changed;
  }

  std::optional<Json> fit_in_place(const InPlaceRules& rules, const Json& value, std::uint32_t depth) {
    std::optional<Json> changed;
    auto now = [&]() -> const Json& { return changed ? *changed : value; };
    if (rules.dynamic_ref) apply(changed, fit(*rules.dynamic_ref, now(), depth + 1));
    for (const auto* part : rules.all_of) apply(changed, fit(*part, now(), depth + 1));
    if (!rules.any_of.empty()) apply(changed, fit_one(rules.any_of, now(), depth));
    if (!rules.one_of.empty()) apply(changed, fit_one(rules.one_of, now(), depth));
    if (rules.condition) {
      const auto* node = accepts(*rules.condition, now()) ? rules.then : rules.otherwise;
      if (node) apply(changed, fit(*node, now(), depth + 1));
    }
    return changed;
  }

  // What the alternatives that can be met agree on.
  std::optional<Json> fit_one(const std::vector<const Node*>& nodes, const Json& value, std::uint32_t depth) {
    if (std::ranges::any_of(nodes, [&](const Node* node) { return accepts(*node, value); })) return std::nullopt;
    std::optional<Json> only;
    for (const auto* node : nodes) {
      auto next = fit(*node, value, depth + 1);
      if (!next || !accepts(*node, *next)) continue;
      if (only && !equal_values(*only, *next)) return std::nullopt;
      only = std::move(next);
    }
    return only;
  }

  bool accepts(const Node& node, const Json& value) { return accepts_part(program_, node, value, steps_, max_depth_); }

  bool matches(const Regex& regex, std::string_view text) {
    return regex.search(text, scratch_, steps_.left()) == Regex::Outcome::match;
  }

  Json copy_of(const Json& value) {
    steps_.charge(weight_of(value));
    return value;
  }

  const Program& program_;
  Steps steps_;
  std::uint32_t max_depth_;
  RegexScratch scratch_;
};

// Where the two differ, which they do in texts that became something else alone.
void compare(const Json& before, const Json& after, std::string& path, std::vector<CoercedPlace>& places) {
  const auto length = path.size();
  auto below = [&](const Json& from, const Json& to, std::string_view step) {
    path += '/';
    append_pointer_token(path, step);
    compare(from, to, path, places);
    path.resize(length);
  };
  if (before.is_string() && !after.is_string()) {
    places.push_back({path, type_name(before), type_name(after)});
    if (!after.is_object() && !after.is_array()) return;
    const auto read = read_text(before.as_text());
    if (read) compare(*read, after, path, places);
  } else if (before.is_object() && after.is_object()) {
    for (const auto& [name, member] : *before.if_object()) below(member, after[name], name);
  } else if (before.is_array() && after.is_array()) {
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
      below((*before.if_array())[i], (*after.if_array())[i], std::to_string(i));
    }
  }
}

}  // namespace

std::optional<Coercion> coerce(const Schema& schema, const Json& value, const CoerceOptions& options) {
  try {
    Coercer coercer(schema.program(), options);
    auto changed = coercer.fit(value);
    // The parts of a schema want what the whole may not: the whole decides.
    if (!changed || coercer.accepts(value) || !coercer.accepts(*changed)) return std::nullopt;
    Coercion coercion{.value = std::move(*changed), .places = {}};
    std::string path;
    compare(value, coercion.value, path, coercion.places);
    return coercion;
  } catch (const Exhausted&) {
    return std::nullopt;
  }
}

}  // namespace patchbay
