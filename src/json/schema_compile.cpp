#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "json/schema_program.h"
#include "json/schema_references.h"

namespace patchbay::schema {
namespace {

// Below this many, comparing one by one beats an index.
constexpr std::size_t indexed_above = 12;

class Compiler {
 public:
  explicit Compiler(const SchemaOptions& options) : options_(options), program_(std::make_shared<Program>()) {}

  std::shared_ptr<const Program> run(const Json& schema) {
    program_->root = node_at(*references_.add_root(schema)->root);
    do {
      while (!queue_.empty()) {
        Place* place = queue_.back();
        queue_.pop_back();
        build(*place);
      }
      gather_dynamic_targets();
    } while (!queue_.empty());
    return program_;
  }

 private:
  std::uint32_t number_of_name(std::string_view name) {
    return dynamic_names_.try_emplace(std::string(name), static_cast<std::uint32_t>(dynamic_names_.size()))
        .first->second;
  }

  // Whichever resource a $dynamicRef may be asked from, its anchor must be compiled.
  void gather_dynamic_targets() {
    for (Resource& resource : program_->resources) {
      for (const auto& [name, place] : resource.dynamic_anchors) {
        const auto wanted = dynamic_names_.find(name);
        if (wanted == dynamic_names_.end()) continue;
        const Node* node = node_at(*place);
        const std::pair<std::uint32_t, const Node*> target{wanted->second, node};
        if (std::ranges::find(resource.dynamic_targets, target) == resource.dynamic_targets.end()) {
          resource.dynamic_targets.push_back(target);
        }
      }
    }
  }

  Node* node_at(Place& place) {
    if (!place.node) {
      place.node = &program_->nodes.emplace_back();
      place.node->place = &place;
      place.node->resource = place.resource;
      queue_.push_back(&place);
    }
    return place.node;
  }

  const Node* child(const Place& place, std::string_view keyword, const Json& json) {
    Place* const found = references_.place_of(json);
    if (!is_schema(json) || !found) bad(place, keyword, "expected a schema, an object or a boolean");
    return node_at(*found);
  }

  std::vector<const Node*> children(const Place& place, std::string_view keyword, const Json& json) {
    const auto* array = json.if_array();
    if (!array || array->empty()) bad(place, keyword, "expected an array of schemas that is not empty");
    std::vector<const Node*> nodes;
    nodes.reserve(array->size());
    for (const Json& item : *array) nodes.push_back(child(place, keyword, item));
    return nodes;
  }

  template <class T>
  static T& rules(Node& node, std::unique_ptr<T>& slot) {
    node.fixed = Node::Fixed::no;
    if (!slot) slot = std::make_unique<T>();
    return *slot;
  }

  void build(Place& place) {
    Node& node = *place.node;
    if (const auto fixed = place.json->to_bool()) {
      node.fixed = *fixed ? Node::Fixed::accepts : Node::Fixed::rejects;
      return;
    }
    const auto* object = place.json->if_object();
    if (!object) bad(place, "", "expected a schema, an object or a boolean");
    const Dialect& dialect = place.resource->dialect;
    if (const Json* reference = object->find("$ref")) {
      if (!reference->is_string()) bad(place, "$ref", "expected a string");
      node.ref = node_at(*references_.follow(place, "$ref", reference->as_text()).place);
      node.fixed = Node::Fixed::no;
      if (dialect.draft == SchemaDialect::draft_07) {
        node.only_ref = true;
        return;
      }
    }
    if (dialect.draft == SchemaDialect::draft_2020_12) build_dynamic_reference(place, node, *object);
    if (dialect.validation) {
      build_values(place, node, *object);
      build_numbers(place, node, *object);
    }
    build_strings(place, node, *object);
    build_arrays(place, node, *object);
    build_objects(place, node, *object);
    if (dialect.applicator) build_in_place(place, node, *object);
    if (dialect.draft == SchemaDialect::draft_2020_12 && dialect.unevaluated) {
      const auto unevaluated = [&](std::string_view keyword, const Node*& slot) {
        if (const Json* value = object->find(keyword)) {
          slot = child(place, keyword, *value);
          node.fixed = Node::Fixed::no;
        }
      };
      unevaluated("unevaluatedItems", node.unevaluated_items);
      unevaluated("unevaluatedProperties", node.unevaluated_properties);
    }
    node.only_ref = node.ref && node.types == 0 && !node.values && !node.number && !node.string && !node.array &&
                    !node.object && !node.in_place && !node.unevaluated_items && !node.unevaluated_properties;
  }

  void build_dynamic_reference(Place& place, Node& node, const Json::Object& object) {
    const Json* reference = object.find("$dynamicRef");
    if (!reference) return;
    if (!reference->is_string()) bad(place, "$dynamicRef", "expected a string");
    const auto target = references_.follow(place, "$dynamicRef", reference->as_text());
    auto& in_place = rules(node, node.in_place);
    in_place.dynamic_ref = node_at(*target.place);
    if (target.dynamic) in_place.dynamic_name = number_of_name(target.anchor);
  }

  void build_values(const Place& place, Node& node, const Json::Object& object) {
    if (const Json* type = object.find("type")) {
      const auto add = [&](const Json& name) {
        const auto text = name.text();
        const auto bit = text ? type_bit(*text) : 0;
        if (bit == 0) bad(place, "type", "expected null, boolean, integer, number, string, array or object");
        node.types = static_cast<std::uint8_t>(node.types | bit);
      };
      if (const auto* several = type->if_array()) {
        for (const Json& name : *several) add(name);
        if (several->empty()) bad(place, "type", "expected at least one type");
      } else {
        add(*type);
      }
      node.fixed = Node::Fixed::no;
    }
    if (const Json* constant = object.find("const")) {
      auto& values = rules(node, node.values);
      values.constant = constant;
      values.constant_weight = weight_of(*constant);
    }
    if (const Json* choices = object.find("enum")) {
      const auto* array = choices->if_array();
      if (!array) bad(place, "enum", "expected an array");
      auto& values = rules(node, node.values);
      values.choices_json = choices;
      for (const Json& choice : *array) {
        if (const auto text = choice.text()) {
          values.strings.push_back(*text);
        } else {
          values.choices.push_back(&choice);
          values.choices_weight += weight_of(choice);
        }
      }
      if (values.strings.size() > indexed_above) {
        values.index = std::make_unique<Json::Object>();
        for (std::string_view text : values.strings) values.index->set(text, {});
      }
    }
  }

  static std::uint8_t type_bit(std::string_view name) {
    if (name == "null") return type_null;
    if (name == "boolean") return type_boolean;
    if (name == "integer") return type_integer;
    if (name == "number") return type_number | type_integer;
    if (name == "string") return type_string;
    if (name == "array") return type_array;
    if (name == "object") return type_object;
    return 0;
  }

  void build_numbers(const Place& place, Node& node, const Json::Object& object) {
    const auto bound = [&](std::string_view keyword, const Json* NumberRules::* slot) {
      const Json* value = object.find(keyword);
      if (!value) return;
      if (!value->is_number()) bad(place, keyword, "expected a number");
      rules(node, node.number).*slot = value;
    };
    bound("minimum", &NumberRules::minimum);
    bound("maximum", &NumberRules::maximum);
    bound("exclusiveMinimum", &NumberRules::exclusive_minimum);
    bound("exclusiveMaximum", &NumberRules::exclusive_maximum);
    bound("multipleOf", &NumberRules::multiple_of_json);
    if (node.number && node.number->multiple_of_json) {
      node.number->multiple_of = Divisor::from(*node.number->multiple_of_json);
      if (!node.number->multiple_of) bad(place, "multipleOf", "expected a positive number of at most 18 digits");
    }
  }

  // A count; beyond 64 bits it is as good as infinite.
  static std::optional<std::uint64_t> count(const Place& place, std::string_view keyword, const Json::Object& object) {
    const Json* value = object.find(keyword);
    if (!value) return std::nullopt;
    if (!value->is_number() || !is_integral(*value) || compare_numbers(*value, Json(0)) < 0) {
      bad(place, keyword, "expected an integer that is not negative");
    }
    return value->to_uint().value_or(UINT64_MAX);
  }

  const Regex* regex(const Place& place, std::string_view keyword, std::string_view pattern) {
    if (const auto known = regexes_.find(pattern); known != regexes_.end()) return known->second;
    auto compiled = Regex::compile(pattern, options_.max_pattern_bytes);
    if (!compiled) {
      std::string where = location_of(place) + '/';
      append_pointer_token(where, keyword);
      throw Error(compiled.error().code(), fmt::format("{}: \"{}\" cannot be used as a regular expression: {}", where,
                                                       shown(pattern), compiled.error().message()));
    }
    const Regex* kept = &program_->regexes.emplace_back(std::move(*compiled));
    regexes_.emplace(pattern, kept);
    return kept;
  }

  void build_strings(const Place& place, Node& node, const Json::Object& object) {
    const Dialect& dialect = place.resource->dialect;
    if (dialect.validation) {
      if (const auto least = count(place, "minLength", object)) rules(node, node.string).min_length = *least;
      if (const auto most = count(place, "maxLength", object)) rules(node, node.string).max_length = *most;
      if (const Json* pattern = object.find("pattern")) {
        const auto text = pattern->text();
        if (!text) bad(place, "pattern", "expected a string");
        auto& string = rules(node, node.string);
        string.pattern_text = *text;
        string.pattern = regex(place, "pattern", *text);
      }
    }
    if (options_.assert_formats || dialect.format_assertion) {
      const Json* format = object.find("format");
      const auto name = format ? format->text() : std::nullopt;
      if (const FormatCheck check = name ? find_format(*name) : nullptr) {
        auto& string = rules(node, node.string);
        string.format_name = *name;
        string.format = check;
      }
    }
  }

  void build_arrays(const Place& place, Node& node, const Json::Object& object) {
    const Dialect& dialect = place.resource->dialect;
    if (dialect.validation) {
      if (const auto least = count(place, "minItems", object)) rules(node, node.array).min_items = *least;
      if (const auto most = count(place, "maxItems", object)) rules(node, node.array).max_items = *most;
      if (const Json* unique = object.find("uniqueItems")) {
        if (!unique->is_bool()) bad(place, "uniqueItems", "expected a boolean");
        if (*unique->to_bool()) rules(node, node.array).unique = true;
      }
    }
    if (!dialect.applicator) return;
    const bool old = dialect.draft == SchemaDialect::draft_07;
    const Json* items = object.find("items");
    const bool tuple = old && items && items->is_array();
    if (tuple && !items->if_array()->empty()) {
      rules(node, node.array).prefix = children(place, "items", *items);
    } else if (const Json* prefix = old ? nullptr : object.find("prefixItems")) {
      rules(node, node.array).prefix = children(place, "prefixItems", *prefix);
    }
    const std::string_view rest_keyword = tuple ? "additionalItems" : "items";
    if (const Json* rest = object.find(rest_keyword)) {
      auto& array = rules(node, node.array);
      array.rest = child(place, rest_keyword, *rest);
      array.rest_keyword = rest_keyword;
    }
    if (const Json* contains = object.find("contains")) {
      auto& array = rules(node, node.array);
      array.contains = child(place, "contains", *contains);
      array.contains_evaluates = !old;
      if (!old && dialect.validation) {
        array.min_contains = count(place, "minContains", object).value_or(1);
        array.max_contains = count(place, "maxContains", object).value_or(UINT64_MAX);
      }
    }
  }

  static const Json::Object& map(const Place& place, std::string_view keyword, const Json& value) {
    const auto* object = value.if_object();
    if (!object) bad(place, keyword, "expected an object");
    return *object;
  }

  static std::vector<std::string_view> names(const Place& place, std::string_view keyword, const Json& value) {
    const auto* array = value.if_array();
    if (!array) bad(place, keyword, "expected an array of strings");
    std::vector<std::string_view> out;
    for (const Json& item : *array) {
      if (!item.is_string()) bad(place, keyword, "expected an array of strings");
      out.push_back(item.as_text());
    }
    return out;
  }

  void build_objects(const Place& place, Node& node, const Json::Object& object) {
    const Dialect& dialect = place.resource->dialect;
    const bool old = dialect.draft == SchemaDialect::draft_07;
    if (dialect.validation) {
      if (const auto least = count(place, "minProperties", object)) rules(node, node.object).min_properties = *least;
      if (const auto most = count(place, "maxProperties", object)) rules(node, node.object).max_properties = *most;
    }
    if (dialect.applicator) {
      if (const Json* properties = object.find("properties")) {
        auto& slots = rules(node, node.object).properties;
        for (const auto& [name, json] : map(place, "properties", *properties)) {
          slots.push_back({.name = name, .node = child(place, "properties", json)});
        }
      }
      if (const Json* patterns = object.find("patternProperties")) {
        auto& slots = rules(node, node.object).patterns;
        for (const auto& [pattern, json] : map(place, "patternProperties", *patterns)) {
          const Regex* compiled = regex(place, "patternProperties", pattern);
          slots.push_back({.text = pattern, .regex = compiled, .node = child(place, "patternProperties", json)});
        }
      }
      if (const Json* additional = object.find("additionalProperties")) {
        rules(node, node.object).additional = child(place, "additionalProperties", *additional);
      }
      if (const Json* property_names = object.find("propertyNames")) {
        rules(node, node.object).names = child(place, "propertyNames", *property_names);
      }
    }
    if (const Json* required = dialect.validation ? object.find("required") : nullptr) {
      require(rules(node, node.object), names(place, "required", *required));
    }
    if (node.object && node.object->properties.size() > indexed_above) {
      node.object->index = std::make_unique<Json::Object>();
      for (std::size_t i = 0; i < node.object->properties.size(); ++i) {
        node.object->index->set(node.object->properties[i].name, i);
      }
    }
    // 2020-12 split `dependencies` in two, but its meta-schema still describes the old word.
    if (!old && dialect.validation) dependencies(place, node, object, "dependentRequired");
    if (!old && dialect.applicator) dependencies(place, node, object, "dependentSchemas");
    if (dialect.applicator) dependencies(place, node, object, "dependencies");
  }

  static void require(ObjectRules& rules, const std::vector<std::string_view>& required) {
    std::map<std::string_view, std::size_t> known;
    for (std::size_t i = 0; i < rules.properties.size(); ++i) known.emplace(rules.properties[i].name, i);
    for (std::string_view name : required) {
      const auto [found, fresh] = known.emplace(name, rules.properties.size());
      if (fresh) rules.properties.push_back({.name = name});
      Property& property = rules.properties[found->second];
      if (!property.required) ++rules.required_count;
      property.required = true;
    }
  }

  void dependencies(const Place& place, Node& node, const Json::Object& object, std::string_view keyword) {
    const Json* value = object.find(keyword);
    if (!value) return;
    auto& slots = rules(node, node.object).dependencies;
    for (const auto& [name, json] : map(place, keyword, *value)) {
      Dependency dependency{.name = name, .keyword = keyword};
      const bool is_names = keyword == "dependentRequired" || (keyword == "dependencies" && json.is_array());
      if (is_names) {
        dependency.required = names(place, keyword, json);
      } else {
        dependency.node = child(place, keyword, json);
      }
      slots.push_back(std::move(dependency));
    }
  }

  void build_in_place(const Place& place, Node& node, const Json::Object& object) {
    const auto several = [&](std::string_view keyword, std::vector<const Node*> InPlaceRules::* slot) {
      if (const Json* value = object.find(keyword)) {
        rules(node, node.in_place).*slot = children(place, keyword, *value);
      }
    };
    const auto one = [&](std::string_view keyword, const Node* InPlaceRules::* slot) {
      if (const Json* value = object.find(keyword)) {
        rules(node, node.in_place).*slot = child(place, keyword, *value);
      }
    };
    several("allOf", &InPlaceRules::all_of);
    several("anyOf", &InPlaceRules::any_of);
    several("oneOf", &InPlaceRules::one_of);
    one("not", &InPlaceRules::negated);
    one("if", &InPlaceRules::condition);
    if (node.in_place && node.in_place->condition) {
      one("then", &InPlaceRules::then);
      one("else", &InPlaceRules::otherwise);
    }
  }

  const SchemaOptions& options_;
  std::shared_ptr<Program> program_;
  References references_{options_, *program_};
  std::map<std::string, const Regex*, std::less<>> regexes_;
  std::map<std::string, std::uint32_t, std::less<>> dynamic_names_;
  std::vector<Place*> queue_;
};

}  // namespace

std::uint64_t weight_of(const Json& json) {
  std::uint64_t parts = 0;
  std::uint64_t bytes = 0;
  std::vector<const Json*> open{&json};
  while (!open.empty()) {
    const Json& next = *open.back();
    open.pop_back();
    ++parts;
    if (const auto text = next.text()) {
      bytes += text->size();
    } else if (const auto* array = next.if_array()) {
      for (const Json& item : *array) open.push_back(&item);
    } else if (const auto* object = next.if_object()) {
      for (const auto& [key, value] : *object) {
        bytes += key.size();
        open.push_back(&value);
      }
    }
  }
  return parts / 4 + bytes / 256;
}

Result<std::shared_ptr<const Program>> compile(const Json& schema, const SchemaOptions& options) {
  try {
    return Compiler(options).run(schema);
  } catch (const Error& error) {
    return std::unexpected(error);
  }
}

}  // namespace patchbay::schema
