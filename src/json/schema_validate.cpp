#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "json/schema_program.h"

namespace patchbay::schema {
namespace {

// Both end an evaluation from any depth.
struct Exhausted {
  std::string reason;
};
struct Enough {};

// Which resources lead here, innermost first: the dynamic scope of $dynamicRef.
struct Scope {
  const Scope* outer;
  const Resource* resource;
};

// The way from the whole value to the present part.
struct Path {
  const Path* parent;
  std::string_view key;
  std::size_t index;  // Place::no_index when it is a key
};

std::string pointer_of(const Path* path) {
  std::vector<const Path*> way;
  for (; path; path = path->parent) way.push_back(path);
  std::string out;
  for (auto at = way.rbegin(); at != way.rend(); ++at) {
    out += '/';
    if ((*at)->index == Place::no_index) {
      append_pointer_token(out, (*at)->key);
    } else {
      fmt::format_to(std::back_inserter(out), "{}", (*at)->index);
    }
  }
  return out;
}

// The members or items some keyword has looked at, by position.
class Marks {
 public:
  void add(std::size_t position) {
    if (position < 64) {
      first_ |= std::uint64_t{1} << position;
      return;
    }
    const std::size_t word = position / 64 - 1;
    if (word >= more_.size()) more_.resize(word + 1);
    more_[word] |= std::uint64_t{1} << position % 64;
  }
  void add_all() { all_ = true; }
  bool has(std::size_t position) const {
    if (all_) return true;
    if (position < 64) return (first_ >> position & 1) != 0;
    const std::size_t word = position / 64 - 1;
    return word < more_.size() && (more_[word] >> position % 64 & 1) != 0;
  }
  void add(const Marks& others) {
    all_ |= others.all_;
    first_ |= others.first_;
    if (others.more_.size() > more_.size()) more_.resize(others.more_.size());
    for (std::size_t i = 0; i < others.more_.size(); ++i) more_[i] |= others.more_[i];
  }
  std::uint64_t cost() const { return more_.size() / 16; }

 private:
  bool all_ = false;
  std::uint64_t first_ = 0;
  std::vector<std::uint64_t> more_;
};

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ value >> 32) * 0x9E3779B97F4A7C15u;
  return value ^ value >> 29;
}

// Equal values have equal hashes, whatever the order of their members. What lies deeper than
// `levels` is not looked at, but its size is in the cost, since a comparison will.
std::uint64_t hash_of(const Json& value, int levels, std::uint64_t& cost) {
  ++cost;
  switch (value.kind()) {
    case Json::Kind::null:
      return 1;
    case Json::Kind::boolean:
      return *value.if_bool() ? 2 : 3;
    case Json::Kind::string:
      cost += value.if_string()->size() / 64;
      return std::hash<std::string_view>()(*value.if_string());
    case Json::Kind::array: {
      std::uint64_t hash = 5;
      if (levels == 0) {
        cost += weight_of(value);
        return hash;
      }
      for (const Json& item : *value.if_array()) hash = mixed(hash + hash_of(item, levels - 1, cost));
      return hash;
    }
    case Json::Kind::object: {
      std::uint64_t hash = 7;
      if (levels == 0) {
        cost += weight_of(value);
        return hash;
      }
      for (const auto& [key, member] : *value.if_object()) {
        hash += mixed(std::hash<std::string_view>()(key) + mixed(hash_of(member, levels - 1, cost)));
      }
      return hash;
    }
    default:
      if (const auto integer = value.to_int()) return mixed(static_cast<std::uint64_t>(*integer) + 11);
      if (const auto integer = value.to_uint()) return mixed(*integer + 11);
      return mixed(std::bit_cast<std::uint64_t>(*value.to_double()));
  }
}

std::uint64_t code_points(std::string_view text) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  text.resize(most);
  return text + "…";
}

std::string quoted(std::string_view text) { return cut(to_text(Json(text)), 80); }

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

std::string plural(std::uint64_t count, std::string_view singular, std::string_view several) {
  return fmt::format("{} {}", count, count == 1 ? singular : several);
}

class Run {
 public:
  Run(const Program& program, const ValidateOptions& options)
      : program_(program), steps_(options.max_steps), max_depth_(options.max_depth) {}

  bool accepts(const Json& value) {
    const Scope scope{nullptr, program_.root->resource};
    return evaluate<false>(*program_.root, value, scope, nullptr, nullptr);
  }

  void collect(const Json& value, std::vector<Violation>& into, std::size_t most) {
    sink_ = &into;
    most_ = most;
    const Scope scope{nullptr, program_.root->resource};
    try {
      evaluate<true>(*program_.root, value, scope, nullptr, nullptr);
    } catch (const Enough&) {
    }
  }

 private:
  void charge(std::uint64_t steps) {
    if (steps > steps_) throw Exhausted{"validating takes more steps than allowed"};
    steps_ -= steps;
  }

  void report(const Node& node, std::string_view keyword, const Path* path, std::string message) {
    Violation violation{
        .instance_path = pointer_of(path), .keyword = std::string(keyword), .message = std::move(message)};
    violation.schema_location = location_of(*node.place);
    if (node.fixed != Node::Fixed::rejects) {
      violation.schema_location += '/';
      append_pointer_token(violation.schema_location, keyword);
    }
    sink_->push_back(std::move(violation));
    if (sink_->size() >= most_) throw Enough();
  }

  // In the quick run the first failure ends an evaluation; when collecting it is written
  // down and the evaluation goes on. `failed` says whether to return.
  struct Verdict {
    bool good = true;
  };
  template <bool collecting, class Message>
  bool failed(Verdict& verdict, const Node& node, std::string_view keyword, const Path* path, Message&& message) {
    verdict.good = false;
    if constexpr (collecting) report(node, keyword, path, message());
    return !collecting;
  }

  template <bool collecting>
  bool evaluate(const Node& node, const Json& value, const Scope& outer, Marks* marks, const Path* path) {
    charge(1);
    if (node.fixed != Node::Fixed::no) {
      if (node.fixed == Node::Fixed::accepts) return true;
      if constexpr (collecting) report(node, "false", path, "nothing is allowed here");
      return false;
    }
    if (depth_ >= max_depth_) throw Exhausted{fmt::format("validating goes deeper than {} levels", max_depth_)};
    struct Level {
      std::uint32_t& depth;
      explicit Level(std::uint32_t& d) : depth(d) { ++depth; }
      ~Level() { --depth; }
    } level(depth_);
    const Scope inner{&outer, node.resource};
    const Scope& scope = outer.resource == node.resource ? outer : inner;
    if (node.only_ref) return evaluate<collecting>(*node.ref, value, scope, marks, path);
    const bool unevaluated =
        (node.unevaluated_properties && value.is_object()) || (node.unevaluated_items && value.is_array());
    if (unevaluated) return with_unevaluated<collecting>(node, value, scope, marks, path);
    return apply<collecting>(node, value, scope, marks, path);
  }

  // Everything but unevaluatedProperties and unevaluatedItems.
  template <bool collecting>
  bool apply(const Node& node, const Json& value, const Scope& scope, Marks* marks, const Path* path) {
    Verdict verdict;
    if (node.types != 0 && (node.types & type_of(value)) == 0) {
      const auto message = [&] {
        return fmt::format("expected {}, found {}", type_names(node.types), kind_name(value));
      };
      // The other keywords would only say the same again.
      failed<collecting>(verdict, node, "type", path, message);
      return false;
    }
    if (node.values && !check_values<collecting>(node, *node.values, value, path)) {
      if (!collecting) return false;
      verdict.good = false;
    }
    bool good = true;
    switch (value.kind()) {
      case Json::Kind::integer:
      case Json::Kind::unsigned_integer:
      case Json::Kind::real:
      case Json::Kind::big_number:
        if (node.number) good = check_number<collecting>(node, *node.number, value, path);
        break;
      case Json::Kind::string:
        if (node.string) good = check_string<collecting>(node, *node.string, *value.if_string(), path);
        break;
      case Json::Kind::array:
        if (node.array) good = check_array<collecting>(node, *node.array, *value.if_array(), scope, marks, path);
        break;
      case Json::Kind::object:
        if (node.object) good = check_object<collecting>(node, *node.object, value, scope, marks, path);
        break;
      default:
        break;
    }
    if (!good) {
      if (!collecting) return false;
      verdict.good = false;
    }
    if (node.ref && !evaluate<collecting>(*node.ref, value, scope, marks, path)) {
      if (!collecting) return false;
      verdict.good = false;
    }
    if (node.in_place && !check_in_place<collecting>(node, *node.in_place, value, scope, marks, path)) {
      verdict.good = false;
    }
    return verdict.good;
  }

  static std::uint8_t type_of(const Json& value) {
    switch (value.kind()) {
      case Json::Kind::null:
        return type_null;
      case Json::Kind::boolean:
        return type_boolean;
      case Json::Kind::integer:
      case Json::Kind::unsigned_integer:
        return type_integer;
      case Json::Kind::real:
      case Json::Kind::big_number:
        return is_integral(value) ? type_integer : type_number;
      case Json::Kind::string:
        return type_string;
      case Json::Kind::array:
        return type_array;
      case Json::Kind::object:
        return type_object;
    }
    return 0;
  }

  template <bool collecting>
  bool check_values(const Node& node, const ValueRules& rules, const Json& value, const Path* path) {
    Verdict verdict;
    if (rules.constant) {
      charge(rules.constant_weight);
      if (!equal_values(*rules.constant, value) && failed<collecting>(verdict, node, "const", path, [&] {
            return "must be " + cut(to_text(*rules.constant), 200);
          })) {
        return false;
      }
    }
    if (rules.choices_json && !is_choice(rules, value) && failed<collecting>(verdict, node, "enum", path, [&] {
          const std::string all = to_text(*rules.choices_json);
          return "must be one of " + cut(all.substr(1, all.size() - 2), 200);
        })) {
      return false;
    }
    return verdict.good;
  }

  bool is_choice(const ValueRules& rules, const Json& value) {
    if (const auto* text = value.if_string()) {
      charge(text->size() / 256);
      if (rules.index) return rules.index->contains(*text);
      return std::ranges::find(rules.strings, std::string_view(*text)) != rules.strings.end();
    }
    charge(rules.choices.size() / 4 + rules.choices_weight);
    return std::ranges::any_of(rules.choices, [&](const Json* choice) { return equal_values(*choice, value); });
  }

  template <bool collecting>
  bool check_number(const Node& node, const NumberRules& rules, const Json& value, const Path* path) {
    Verdict verdict;
    if (value.kind() == Json::Kind::big_number) charge(value.number_text().size() / 32);
    const auto bound = [&](const Json* limit, std::string_view keyword, std::string_view words, auto&& bad) {
      if (!limit || !bad(compare_numbers(value, *limit))) return false;
      return failed<collecting>(verdict, node, keyword, path,
                                [&] { return fmt::format("must be {} {}", words, cut(to_text(*limit), 80)); });
    };
    if (bound(rules.minimum, "minimum", "at least", [](auto order) { return order < 0; })) return false;
    if (bound(rules.maximum, "maximum", "at most", [](auto order) { return order > 0; })) return false;
    if (bound(rules.exclusive_minimum, "exclusiveMinimum", "above", [](auto order) { return order <= 0; }))
      return false;
    if (bound(rules.exclusive_maximum, "exclusiveMaximum", "below", [](auto order) { return order >= 0; }))
      return false;
    if (rules.multiple_of && !rules.multiple_of->divides(value) &&
        failed<collecting>(verdict, node, "multipleOf", path,
                           [&] { return "must be a multiple of " + cut(to_text(*rules.multiple_of_json), 80); })) {
      return false;
    }
    return verdict.good;
  }

  template <bool collecting>
  bool check_string(const Node& node, const StringRules& rules, const std::string& text, const Path* path) {
    Verdict verdict;
    const bool count = text.size() > rules.max_length || text.size() / 4 < rules.min_length;
    if (count) {
      charge(text.size() / 256);
      const std::uint64_t length = code_points(text);
      if (length < rules.min_length && failed<collecting>(
                                           verdict, node, "minLength", path,
                                           [&] {
                                             return fmt::format("must have at least {}, has {}",
                                                                plural(rules.min_length, "character", "characters"),
                                                                length);
                                           })) {
        return false;
      }
      if (length > rules.max_length && failed<collecting>(verdict, node, "maxLength", path, [&] {
            return fmt::format("must have at most {}, has {}", plural(rules.max_length, "character", "characters"),
                               length);
          })) {
        return false;
      }
    }
    if (rules.pattern && !matches(*rules.pattern, text) && failed<collecting>(verdict, node, "pattern", path, [&] {
          return "does not match the pattern " + cut(std::string(rules.pattern_text), 200);
        })) {
      return false;
    }
    if (rules.format) {
      charge(text.size() / 32);
      if (!rules.format(text) && failed<collecting>(verdict, node, "format", path, [&] {
            return "is not of the format " + cut(std::string(rules.format_name), 80);
          })) {
        return false;
      }
    }
    return verdict.good;
  }

  bool matches(const Regex& regex, std::string_view text) {
    const auto outcome = regex.search(text, scratch_, steps_);
    if (outcome == Regex::Outcome::limit) throw Exhausted{"matching a pattern takes more steps or memory than allowed"};
    return outcome == Regex::Outcome::match;
  }

  template <bool collecting>
  bool check_array(const Node& node, const ArrayRules& rules, const Json::Array& array, const Scope& scope,
                   Marks* marks, const Path* path) {
    Verdict verdict;
    const std::size_t size = array.size();
    if (size < rules.min_items && failed<collecting>(
                                      verdict, node, "minItems", path,
                                      [&] {
                                        return fmt::format("must have at least {}, has {}",
                                                           plural(rules.min_items, "item", "items"), size);
                                      })) {
      return false;
    }
    if (size > rules.max_items && failed<collecting>(verdict, node, "maxItems", path, [&] {
          return fmt::format("must have at most {}, has {}", plural(rules.max_items, "item", "items"), size);
        })) {
      return false;
    }
    if (rules.unique) {
      const auto [first, second] = find_duplicate(array);
      if (first != second && failed<collecting>(verdict, node, "uniqueItems", path, [&] {
            return fmt::format("items {} and {} are equal", first, second);
          })) {
        return false;
      }
    }
    const std::size_t prefix = std::min(size, rules.prefix.size());
    for (std::size_t i = 0; i < size; ++i) {
      const Node* item = i < prefix ? rules.prefix[i] : rules.rest;
      if (!item) break;
      if (i >= prefix && item->fixed != Node::Fixed::no) {
        // One verdict for all that are left.
        if (item->fixed == Node::Fixed::rejects && failed<collecting>(verdict, node, rules.rest_keyword, path, [&] {
              return fmt::format("must have at most {}, has {}", plural(prefix, "item", "items"), size);
            })) {
          return false;
        }
        break;
      }
      const Path here{path, {}, i};
      if (!evaluate<collecting>(*item, array[i], scope, nullptr, collecting ? &here : nullptr)) {
        if (!collecting) return false;
        verdict.good = false;
      }
    }
    if (marks) {
      for (std::size_t i = 0; i < prefix; ++i) marks->add(i);
      if (rules.rest) marks->add_all();
    }
    if (rules.contains && !check_contains<collecting>(node, rules, array, scope, marks, path)) verdict.good = false;
    return verdict.good;
  }

  template <bool collecting>
  bool check_contains(const Node& node, const ArrayRules& rules, const Json::Array& array, const Scope& scope,
                      Marks* marks, const Path* path) {
    Verdict verdict;
    const bool mark = marks && rules.contains_evaluates;
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < array.size(); ++i) {
      const bool all_known = !mark && found >= rules.min_contains && rules.max_contains == UINT64_MAX;
      if (all_known) break;
      if (!evaluate<false>(*rules.contains, array[i], scope, nullptr, nullptr)) continue;
      ++found;
      if (mark) marks->add(i);
    }
    if (found < rules.min_contains) {
      const std::string_view keyword = rules.min_contains == 1 ? "contains" : "minContains";
      failed<collecting>(verdict, node, keyword, path, [&] {
        return fmt::format("must contain at least {} of a certain kind, has {}",
                           plural(rules.min_contains, "item", "items"), found);
      });
    } else if (found > rules.max_contains) {
      failed<collecting>(verdict, node, "maxContains", path, [&] {
        return fmt::format("must contain at most {} of a certain kind, has {}",
                           plural(rules.max_contains, "item", "items"), found);
      });
    }
    return verdict.good;
  }

  // Two positions; equal ones when there is no duplicate.
  std::pair<std::size_t, std::size_t> find_duplicate(const Json::Array& array) {
    charge(array.size());
    const bool scalars =
        std::ranges::none_of(array, [](const Json& item) { return item.is_array() || item.is_object(); });
    if (scalars && array.size() <= 16) {
      for (std::size_t i = 1; i < array.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (equal_values(array[i], array[j])) return {j, i};
        }
      }
      return {0, 0};
    }
    struct Item {
      std::uint64_t hash;
      std::size_t position;
      std::uint64_t cost;
    };
    std::vector<Item> items;
    items.reserve(array.size());
    for (std::size_t i = 0; i < array.size(); ++i) {
      Item item{.hash = 0, .position = i, .cost = 0};
      item.hash = hash_of(array[i], 64, item.cost);
      charge(item.cost);
      items.push_back(item);
    }
    std::ranges::sort(items, [](const Item& a, const Item& b) {
      return a.hash != b.hash ? a.hash < b.hash : a.position < b.position;
    });
    for (std::size_t i = 1; i < items.size(); ++i) {
      for (std::size_t j = i; j > 0 && items[j - 1].hash == items[i].hash; --j) {
        charge(1 + items[i].cost);
        if (equal_values(array[items[i].position], array[items[j - 1].position])) {
          return {items[j - 1].position, items[i].position};
        }
      }
    }
    return {0, 0};
  }

  static const Property* find_property(const ObjectRules& rules, std::string_view name) {
    if (rules.index) {
      const Json* position = rules.index->find(name);
      return position ? &rules.properties[static_cast<std::size_t>(*position->to_int())] : nullptr;
    }
    for (const Property& property : rules.properties) {
      if (property.name == name) return &property;
    }
    return nullptr;
  }

  template <bool collecting>
  bool check_object(const Node& node, const ObjectRules& rules, const Json& value, const Scope& scope, Marks* marks,
                    const Path* path) {
    Verdict verdict;
    const Json::Object& object = *value.if_object();
    const std::size_t size = object.size();
    charge(size / 4);
    if (size < rules.min_properties && failed<collecting>(
                                           verdict, node, "minProperties", path,
                                           [&] {
                                             return fmt::format("must have at least {}, has {}",
                                                                plural(rules.min_properties, "property", "properties"),
                                                                size);
                                           })) {
      return false;
    }
    if (size > rules.max_properties && failed<collecting>(verdict, node, "maxProperties", path, [&] {
          return fmt::format("must have at most {}, has {}", plural(rules.max_properties, "property", "properties"),
                             size);
        })) {
      return false;
    }
    std::uint32_t required = 0;
    std::size_t position = 0;
    for (const auto& [name, member] : object) {
      const Path here{path, name, Place::no_index};
      const Path* const below = collecting ? &here : nullptr;
      bool looked_at = false;
      if (const Property* property = find_property(rules, name)) {
        required += property->required ? 1 : 0;
        if (property->node) {
          looked_at = true;
          if (!evaluate<collecting>(*property->node, member, scope, nullptr, below)) {
            if (!collecting) return false;
            verdict.good = false;
          }
        }
      }
      for (const auto& pattern : rules.patterns) {
        if (!matches(*pattern.regex, name)) continue;
        looked_at = true;
        if (!evaluate<collecting>(*pattern.node, member, scope, nullptr, below)) {
          if (!collecting) return false;
          verdict.good = false;
        }
      }
      if (rules.additional && !looked_at) {
        looked_at = true;
        if (rules.additional->fixed == Node::Fixed::rejects) {
          if (failed<collecting>(verdict, node, "additionalProperties", path,
                                 [&] { return unexpected(rules, name); })) {
            return false;
          }
        } else if (!evaluate<collecting>(*rules.additional, member, scope, nullptr, below)) {
          if (!collecting) return false;
          verdict.good = false;
        }
      }
      if (marks && looked_at) marks->add(position);
      if (rules.names && !check_name<collecting>(node, *rules.names, name, scope, path)) {
        if (!collecting) return false;
        verdict.good = false;
      }
      ++position;
    }
    if (required < rules.required_count) {
      if (!collecting) return false;
      for (const Property& property : rules.properties) {
        if (!property.required || object.contains(property.name)) continue;
        failed<collecting>(verdict, node, "required", path,
                           [&] { return "missing property " + quoted(property.name); });
      }
    }
    if (!rules.dependencies.empty() && !check_dependencies<collecting>(node, rules, value, scope, marks, path)) {
      verdict.good = false;
    }
    return verdict.good;
  }

  static std::string unexpected(const ObjectRules& rules, std::string_view name) {
    std::string out = "unexpected property " + quoted(name);
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

  template <bool collecting>
  bool check_name(const Node& node, const Node& rule, const std::string& name, const Scope& scope, const Path* path) {
    charge(name.size() / 256);
    const Json text(name);
    if (evaluate<false>(rule, text, scope, nullptr, nullptr)) return true;
    if constexpr (collecting) {
      report(node, "propertyNames", path,
             fmt::format("the name {} is not allowed: {}", quoted(name), first_reason(rule, text, scope)));
    }
    return false;
  }

  template <bool collecting>
  bool check_dependencies(const Node& node, const ObjectRules& rules, const Json& value, const Scope& scope,
                          Marks* marks, const Path* path) {
    Verdict verdict;
    const Json::Object& object = *value.if_object();
    charge(rules.dependencies.size() / 4);
    for (const Dependency& dependency : rules.dependencies) {
      if (!object.contains(dependency.name)) continue;
      charge(dependency.required.size() / 4);
      for (std::string_view name : dependency.required) {
        if (object.contains(name)) continue;
        if (failed<collecting>(verdict, node, dependency.keyword, path, [&] {
              return fmt::format("missing property {}, which {} needs", quoted(name), quoted(dependency.name));
            })) {
          return false;
        }
      }
      if (dependency.node && !evaluate<collecting>(*dependency.node, value, scope, marks, path)) {
        if (!collecting) return false;
        verdict.good = false;
      }
    }
    return verdict.good;
  }

  template <bool collecting>
  bool check_in_place(const Node& node, const InPlaceRules& rules, const Json& value, const Scope& scope, Marks* marks,
                      const Path* path) {
    Verdict verdict;
    if (rules.dynamic_ref && !evaluate<collecting>(dynamic_target(rules, scope), value, scope, marks, path)) {
      if (!collecting) return false;
      verdict.good = false;
    }
    for (const Node* part : rules.all_of) {
      if (evaluate<collecting>(*part, value, scope, marks, path)) continue;
      if (!collecting) return false;
      verdict.good = false;
    }
    if (!rules.any_of.empty() && !any_of(rules.any_of, value, scope, marks) &&
        failed<collecting>(verdict, node, "anyOf", path, [&] { return no_alternative(rules.any_of, value, scope); })) {
      return false;
    }
    if (!rules.one_of.empty()) {
      const auto [first, second] = one_of(rules.one_of, value, scope, marks);
      if (first == nothing && failed<collecting>(verdict, node, "oneOf", path,
                                                 [&] { return no_alternative(rules.one_of, value, scope); })) {
        return false;
      }
      if (second != nothing && failed<collecting>(verdict, node, "oneOf", path, [&] {
            return fmt::format("matches alternatives {} and {}, must match exactly one", first + 1, second + 1);
          })) {
        return false;
      }
    }
    if (rules.negated && evaluate<false>(*rules.negated, value, scope, nullptr, nullptr) &&
        failed<collecting>(verdict, node, "not", path, [] { return "matches what it must not match"; })) {
      return false;
    }
    if (rules.condition && !check_condition<collecting>(rules, value, scope, marks, path)) verdict.good = false;
    return verdict.good;
  }

  template <bool collecting>
  bool check_condition(const InPlaceRules& rules, const Json& value, const Scope& scope, Marks* marks,
                       const Path* path) {
    const Node* consequence = with_own_marks(*rules.condition, value, scope, marks) ? rules.then : rules.otherwise;
    return !consequence || evaluate<collecting>(*consequence, value, scope, marks, path);
  }

  // The marks of an alternative count only if it matches.
  bool with_own_marks(const Node& node, const Json& value, const Scope& scope, Marks* marks) {
    if (!marks) return evaluate<false>(node, value, scope, nullptr, nullptr);
    Marks own;
    if (!evaluate<false>(node, value, scope, &own, nullptr)) return false;
    charge(own.cost());
    marks->add(own);
    return true;
  }

  bool any_of(const std::vector<const Node*>& nodes, const Json& value, const Scope& scope, Marks* marks) {
    bool found = false;
    for (const Node* node : nodes) {
      if (with_own_marks(*node, value, scope, marks)) {
        if (!marks) return true;
        found = true;
      }
    }
    return found;
  }

  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);

  // The first two that match.
  std::pair<std::size_t, std::size_t> one_of(const std::vector<const Node*>& nodes, const Json& value,
                                             const Scope& scope, Marks* marks) {
    std::size_t found = nothing;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!with_own_marks(*nodes[i], value, scope, marks)) continue;
      if (found != nothing) return {found, i};
      found = i;
    }
    return {found, nothing};
  }

  const Node& dynamic_target(const InPlaceRules& rules, const Scope& scope) {
    const Node* target = rules.dynamic_ref;
    if (!rules.dynamic_name) return *target;
    std::uint64_t seen = 0;
    for (const Scope* at = &scope; at; at = at->outer) {
      seen += 1 + at->resource->dynamic_targets.size();
      for (const auto& [name, node] : at->resource->dynamic_targets) {
        if (name == *rules.dynamic_name) target = node;
      }
    }
    charge(seen / 8);
    return *target;
  }

  template <bool collecting>
  bool with_unevaluated(const Node& node, const Json& value, const Scope& scope, Marks* marks, const Path* path) {
    Marks own;
    bool good = apply<collecting>(node, value, scope, &own, path);
    if (!good && !collecting) return false;
    if (const auto* object = value.if_object()) {
      const Node& rule = *node.unevaluated_properties;
      std::size_t position = 0;
      for (const auto& [name, member] : *object) {
        if (!own.has(position++))
          good = good_rest<collecting>(node, rule, "unevaluatedProperties", member, name, scope, path) && good;
        if (!good && !collecting) return false;
      }
    } else {
      const Node& rule = *node.unevaluated_items;
      const Json::Array& array = *value.if_array();
      for (std::size_t i = 0; i < array.size(); ++i) {
        if (!own.has(i)) good = good_item<collecting>(node, rule, array[i], i, scope, path) && good;
        if (!good && !collecting) return false;
      }
    }
    if (marks) marks->add_all();
    return good;
  }

  template <bool collecting>
  bool good_rest(const Node& node, const Node& rule, std::string_view keyword, const Json& member,
                 std::string_view name, const Scope& scope, const Path* path) {
    if (collecting && rule.fixed == Node::Fixed::rejects) {
      report(node, keyword, path, "unexpected property " + quoted(name));
      return false;
    }
    const Path here{path, name, Place::no_index};
    return evaluate<collecting>(rule, member, scope, nullptr, &here);
  }

  template <bool collecting>
  bool good_item(const Node& node, const Node& rule, const Json& item, std::size_t index, const Scope& scope,
                 const Path* path) {
    if (collecting && rule.fixed == Node::Fixed::rejects) {
      report(node, "unevaluatedItems", path, fmt::format("unexpected item {}", index));
      return false;
    }
    const Path here{path, {}, index};
    return evaluate<collecting>(rule, item, scope, nullptr, &here);
  }

  // ---- reasons, for messages only ------------------------------------------------------

  std::string first_reason(const Node& node, const Json& value, const Scope& scope) {
    std::vector<Violation> found;
    std::vector<Violation>* const sink = std::exchange(sink_, &found);
    const std::size_t most = std::exchange(most_, 1);
    const std::uint32_t depth = depth_;
    ++reasons_;
    const auto restore = [&] {
      --reasons_;
      sink_ = sink;
      most_ = most;
      depth_ = depth;
    };
    try {
      evaluate<true>(node, value, scope, nullptr, nullptr);
    } catch (const Enough&) {
    } catch (...) {
      restore();
      throw;
    }
    restore();
    if (found.empty()) return {};
    const Violation& first = found.front();
    return first.instance_path.empty() ? first.message : first.instance_path + ": " + first.message;
  }

  std::string no_alternative(const std::vector<const Node*>& nodes, const Json& value, const Scope& scope) {
    constexpr std::size_t most = 4;
    std::string out = fmt::format("matches none of {}", plural(nodes.size(), "alternative", "alternatives"));
    // Alternatives of alternatives of alternatives explain nothing, and would multiply.
    if (reasons_ >= 2) return out;
    for (std::size_t i = 0; i < std::min(nodes.size(), most); ++i) {
      std::string reason = first_reason(*nodes[i], value, scope);
      out += fmt::format("{} ({}) {}", i == 0 ? ":" : ";", i + 1, cut(std::move(reason), 160));
    }
    if (nodes.size() > most) out += "; …";
    return out;
  }

  const Program& program_;
  std::uint64_t steps_;
  const std::uint32_t max_depth_;
  std::uint32_t depth_ = 0;
  int reasons_ = 0;  // how many alternatives deep first_reason() is
  RegexScratch scratch_;
  std::vector<Violation>* sink_ = nullptr;
  std::size_t most_ = 0;
};

}  // namespace

Result<bool> accepts(const Program& program, const Json& value, const ValidateOptions& options) {
  try {
    return Run(program, options).accepts(value);
  } catch (const Exhausted& exhausted) {
    return fail(Errc::limit, exhausted.reason);
  }
}

std::vector<Violation> violations(const Program& program, const Json& value, const ValidateOptions& options) {
  std::vector<Violation> found;
  try {
    Run(program, options).collect(value, found, std::max<std::size_t>(options.max_violations, 1));
  } catch (const Exhausted& exhausted) {
    // The verdict stands, only the reasons are incomplete.
    if (found.empty()) {
      found.push_back({.instance_path = "",
                       .keyword = "",
                       .schema_location = location_of(*program.root->place),
                       .message = "is not valid; why is not known, because " + exhausted.reason});
    }
  }
  return found;
}

}  // namespace patchbay::schema
