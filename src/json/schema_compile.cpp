#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "json/schema_program.h"
#include "json/schema_uri.h"

namespace patchbay::schema {
namespace {

constexpr std::string_view schema_2020_12 = "https://json-schema.org/draft/2020-12/schema";
constexpr std::string_view vocabulary_2020_12 = "https://json-schema.org/draft/2020-12/vocab/";
constexpr std::string_view schema_07 = "http://json-schema.org/draft-07/schema";
constexpr std::string_view schema_07_tls = "https://json-schema.org/draft-07/schema";

// Below this many, comparing one by one beats an index.
constexpr std::size_t indexed_above = 12;

enum class Holds : std::uint8_t { schema, schemas, map, schema_or_array };

struct Applicator {
  std::string_view keyword;
  Holds holds;
};

// Where subschemas, and with them identifiers, are. An $id anywhere else is just data.
constexpr Applicator applicators_2020_12[] = {
    {"$defs", Holds::map},
    {"definitions", Holds::map},
    {"properties", Holds::map},
    {"patternProperties", Holds::map},
    {"additionalProperties", Holds::schema},
    {"propertyNames", Holds::schema},
    {"dependentSchemas", Holds::map},
    {"dependencies", Holds::map},
    {"items", Holds::schema},
    {"prefixItems", Holds::schemas},
    {"contains", Holds::schema},
    {"allOf", Holds::schemas},
    {"anyOf", Holds::schemas},
    {"oneOf", Holds::schemas},
    {"not", Holds::schema},
    {"if", Holds::schema},
    {"then", Holds::schema},
    {"else", Holds::schema},
    {"unevaluatedItems", Holds::schema},
    {"unevaluatedProperties", Holds::schema},
    {"contentSchema", Holds::schema},
};
constexpr Applicator applicators_07[] = {
    {"definitions", Holds::map},
    {"properties", Holds::map},
    {"patternProperties", Holds::map},
    {"additionalProperties", Holds::schema},
    {"propertyNames", Holds::schema},
    {"dependencies", Holds::map},
    {"items", Holds::schema_or_array},
    {"additionalItems", Holds::schema},
    {"contains", Holds::schema},
    {"allOf", Holds::schemas},
    {"anyOf", Holds::schemas},
    {"oneOf", Holds::schemas},
    {"not", Holds::schema},
    {"if", Holds::schema},
    {"then", Holds::schema},
    {"else", Holds::schema},
};

std::span<const Applicator> applicators(SchemaDialect draft) {
  if (draft == SchemaDialect::draft_07) return applicators_07;
  return applicators_2020_12;
}

bool is_schema(const Json& json) { return json.is_object() || json.is_bool(); }

std::string shown(std::string_view text) {
  constexpr std::size_t most = 120;
  return text.size() <= most ? std::string(text) : std::string(text.substr(0, most)) + "…";
}

class Compiler {
 public:
  explicit Compiler(const SchemaOptions& options) : options_(options), program_(std::make_shared<Program>()) {}

  std::shared_ptr<const Program> run(const Json& schema) {
    default_dialect_.draft = options_.default_dialect;
    const Resource* root = add_document(schema, resolve_uri("", options_.base_uri));
    default_dialect_ = root->dialect;  // documents that do not say are taken to speak as the schema does
    program_->root = node_at(*root->root);
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
  [[noreturn]] static void bad(const Place& place, std::string_view keyword, std::string_view reason) {
    std::string where = location_of(place);
    if (!keyword.empty()) {
      where += '/';
      append_pointer_token(where, keyword);
    }
    throw Error(Errc::invalid_argument, fmt::format("{}: {}", where, reason));
  }

  // ---- documents, identifiers ----------------------------------------------------------

  Resource* add_document(const Json& document, std::string uri) {
    const Json& owned = program_->documents.emplace_back(document);
    auto& resource = program_->resources.emplace_back();
    resource.uri = std::move(uri);
    resource.dialect = default_dialect_;
    by_uri_.emplace(resource.uri, &resource);
    scan(owned, {.resource = &resource, .begins_document = true});
    return &resource;
  }

  struct Scan {
    const Json* json = nullptr;
    Resource* resource = nullptr;
    const Place* parent = nullptr;
    std::string_view keyword;
    std::string_view key;
    std::size_t index = Place::no_index;
    bool raw = false;
    bool begins_document = false;
  };

  // Gives a Place to `json` and to every subschema in it.
  Place* scan(const Json& json, Scan first) {
    first.json = &json;
    std::vector<Scan> open{first};
    Place* outcome = nullptr;
    while (!open.empty()) {
      const Scan next = open.back();
      open.pop_back();
      if (places_.contains(next.json)) continue;
      if (places_.size() >= options_.max_subschemas) {
        throw Error(Errc::limit, fmt::format("the schema has more than {} subschemas", options_.max_subschemas));
      }
      Place& place = program_->places.emplace_back();
      if (!outcome) outcome = &place;
      places_.emplace(next.json, &place);
      place.json = next.json;
      place.resource = next.resource;
      place.parent = next.parent;
      place.keyword = next.keyword;
      place.key = next.key;
      place.index = next.index;
      place.raw = next.raw;
      if (next.begins_document) next.resource->root = &place;
      const auto* object = next.json->if_object();
      if (!object) continue;
      identify(place, *object, next.begins_document);
      for (const Applicator& applicator : applicators(place.resource->dialect.draft)) {
        const Json* value = object->find(applicator.keyword);
        if (value) open_children(place, applicator, *value, open);
      }
    }
    return outcome;
  }

  static void open_children(const Place& place, const Applicator& applicator, const Json& value,
                            std::vector<Scan>& open) {
    const Scan child{.resource = place.resource, .parent = &place, .keyword = applicator.keyword};
    const auto add = [&](const Json& json, std::string_view key, std::size_t index) {
      Scan item = child;
      item.json = &json;
      item.key = key;
      item.index = index;
      open.push_back(item);
    };
    const auto* array = value.if_array();
    if (applicator.holds == Holds::map) {
      if (const auto* map = value.if_object()) {
        for (const auto& [key, json] : *map) {
          if (is_schema(json)) add(json, key, Place::no_index);
        }
      }
    } else if (array && applicator.holds != Holds::schema) {
      for (std::size_t i = 0; i < array->size(); ++i) add((*array)[i], {}, i);
    } else if (!array && applicator.holds != Holds::schemas) {
      add(value, {}, Place::no_index);
    }
  }

  // $schema, $id and the anchors of one subschema.
  void identify(Place& place, const Json::Object& object, bool begins_document) {
    const auto text_of = [&object](std::string_view keyword) {
      const Json* value = object.find(keyword);
      return value ? value->if_string() : nullptr;
    };
    const std::string* id = text_of("$id");
    const std::string* dialect = text_of("$schema");
    if (begins_document && dialect) place.resource->dialect = dialect_named(*dialect, 0);
    // In draft-07 a $ref hides everything beside it.
    if (place.resource->dialect.draft == SchemaDialect::draft_07 && text_of("$ref")) id = nullptr;

    std::string_view anchor;
    if (id) {
      const auto fragment = split_uri(*id).fragment;
      const std::string_view before = std::string_view(*id).substr(0, id->find('#'));
      if (!before.empty()) {
        std::string uri = resolve_uri(place.resource->uri, before);
        if (!begins_document) {
          auto& resource = program_->resources.emplace_back();
          resource.dialect = dialect ? dialect_named(*dialect, 0) : place.resource->dialect;
          resource.root = &place;
          place.resource = &resource;
          place.parent = nullptr;
        }
        place.resource->uri = std::move(uri);
        const auto [known, fresh] = by_uri_.emplace(place.resource->uri, place.resource);
        if (!fresh && known->second != place.resource && !begins_document) {
          throw Error(Errc::invalid_argument, fmt::format("two schemas have the $id '{}'", shown(place.resource->uri)));
        }
      }
      if (fragment && !fragment->empty()) {
        if (place.resource->dialect.draft != SchemaDialect::draft_07) bad(place, "$id", "an $id has no fragment");
        anchor = *fragment;
      }
    }
    auto& resource = *place.resource;
    if (!anchor.empty()) resource.anchors.emplace_back(anchor, &place);
    if (resource.dialect.draft == SchemaDialect::draft_07) return;
    if (const auto* name = text_of("$anchor")) resource.anchors.emplace_back(*name, &place);
    if (const auto* name = text_of("$dynamicAnchor")) {
      resource.anchors.emplace_back(*name, &place);
      resource.dynamic_anchors.emplace_back(*name, &place);
    }
  }

  Dialect dialect_named(std::string_view uri, int depth) {
    const std::string_view bare = uri.substr(0, uri.find('#'));
    if (bare == schema_2020_12) return {};
    if (bare == schema_07 || bare == schema_07_tls) return {.draft = SchemaDialect::draft_07};
    const Json* meta = supplied(bare);
    if (!meta || depth > 8) {
      throw Error(Errc::unsupported, fmt::format("the schema dialect '{}' is not known; known are '{}' and '{}#'",
                                                 shown(uri), schema_2020_12, schema_07));
    }
    const auto* parent = (*meta)["$schema"].if_string();
    Dialect dialect = parent && *parent != uri ? dialect_named(*parent, depth + 1) : default_dialect_;
    const auto* vocabularies = (*meta)["$vocabulary"].if_object();
    if (!vocabularies || dialect.draft == SchemaDialect::draft_07) return dialect;
    dialect = {.applicator = false, .unevaluated = false, .validation = false};
    for (const auto& [name, required] : *vocabularies) {
      const std::string_view brief = std::string_view(name).starts_with(vocabulary_2020_12)
                                         ? std::string_view(name).substr(vocabulary_2020_12.size())
                                         : std::string_view();
      if (brief == "applicator") {
        dialect.applicator = true;
      } else if (brief == "unevaluated") {
        dialect.unevaluated = true;
      } else if (brief == "validation") {
        dialect.validation = true;
      } else if (brief == "format-assertion") {
        dialect.format_assertion = true;
      } else if (brief != "core" && brief != "meta-data" && brief != "format-annotation" && brief != "content" &&
                 required == Json(true)) {
        throw Error(Errc::unsupported, fmt::format("the schema dialect '{}' requires the vocabulary '{}', "
                                                   "which is not known",
                                                   shown(uri), shown(name)));
      }
    }
    return dialect;
  }

  const Json* supplied(std::string_view uri) const {
    if (!options_.documents) return nullptr;
    const auto found = options_.documents->find(uri);
    return found == options_.documents->end() ? nullptr : &found->second;
  }

  Resource* resource_at(const std::string& uri) {
    if (const auto known = by_uri_.find(uri); known != by_uri_.end()) return known->second;
    if (const Json* document = supplied(uri)) return add_document(*document, uri);
    if (const auto text = builtin_document(uri); !text.empty()) return add_document(*parse_json(text), uri);
    return nullptr;
  }

  // ---- references ----------------------------------------------------------------------

  struct Target {
    Place* place;
    bool dynamic;             // found by a name that is a dynamic anchor
    std::string_view anchor;  // that name, in the document
  };

  Target follow(const Place& from, std::string_view keyword, const std::string& reference) {
    const auto leads_nowhere = [&](std::string_view reason) {
      bad(from, keyword, fmt::format("'{}' cannot be resolved: {}", shown(reference), reason));
    };
    const std::string_view before = std::string_view(reference).substr(0, reference.find('#'));
    Resource* resource = from.resource;
    if (!before.empty()) {
      const std::string uri = resolve_uri(resource->uri, before);
      resource = resource_at(uri);
      if (!resource) {
        leads_nowhere(fmt::format("there is no document '{}', and nothing is fetched from the network", shown(uri)));
      }
    }
    const auto fragment = percent_decoded(split_uri(reference).fragment.value_or(""));
    if (!fragment) leads_nowhere("its fragment is not well percent-encoded");
    if (fragment->empty()) return {.place = resource->root, .dynamic = false};
    if (fragment->starts_with('/')) {
      Place* place = at_pointer(*resource, *fragment);
      if (!place) leads_nowhere("there is nothing at this place");
      return {.place = place, .dynamic = false};
    }
    for (const auto& [name, place] : resource->dynamic_anchors) {
      if (name == *fragment) return {.place = place, .dynamic = true, .anchor = name};
    }
    for (const auto& [name, place] : resource->anchors) {
      if (name == *fragment) return {.place = place, .dynamic = false};
    }
    leads_nowhere("there is no such anchor");
    return {};
  }

  Place* at_pointer(const Resource& resource, std::string_view pointer) {
    const Json* json = resource.root->json;
    Place* nearest = resource.root;
    std::string_view behind = pointer;  // what leads from `nearest` to `json`
    for (std::string_view rest = pointer; !rest.empty();) {
      const auto end = rest.find('/', 1);
      std::string token;
      for (std::size_t i = 1; i < std::min(end, rest.size()); ++i) {
        const bool escaped = rest[i] == '~' && i + 1 < rest.size() && (rest[i + 1] == '0' || rest[i + 1] == '1');
        token += escaped ? (rest[++i] == '0' ? '~' : '/') : rest[i];
      }
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
      if (const auto* array = json->if_array()) {
        std::size_t index = 0;
        const bool number = !token.empty() && token.size() <= 9 && (token == "0" || token[0] != '0') &&
                            std::ranges::all_of(token, [](char c) { return c >= '0' && c <= '9'; });
        for (char c : token) index = number ? index * 10 + static_cast<std::size_t>(c - '0') : 0;
        if (!number || index >= array->size()) return nullptr;
        json = &(*array)[index];
      } else {
        json = json->find(token);
        if (!json) return nullptr;
      }
      if (const auto known = places_.find(json); known != places_.end()) {
        nearest = known->second;
        behind = rest;
      }
    }
    if (nearest->json == json) return nearest;
    // Nothing told us that this is a schema; being referred to, it is one.
    const std::string& raw = program_->texts.emplace_back(behind.substr(1));
    return scan(*json, {.resource = nearest->resource, .parent = nearest, .keyword = raw, .raw = true});
  }

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

  // ---- nodes ---------------------------------------------------------------------------

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
    const auto found = places_.find(&json);
    if (!is_schema(json) || found == places_.end()) bad(place, keyword, "expected a schema, an object or a boolean");
    return node_at(*found->second);
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
    if (const bool* fixed = place.json->if_bool()) {
      node.fixed = *fixed ? Node::Fixed::accepts : Node::Fixed::rejects;
      return;
    }
    const auto* object = place.json->if_object();
    if (!object) bad(place, "", "expected a schema, an object or a boolean");
    const Dialect& dialect = place.resource->dialect;
    if (const Json* reference = object->find("$ref")) {
      if (!reference->is_string()) bad(place, "$ref", "expected a string");
      node.ref = node_at(*follow(place, "$ref", *reference->if_string()).place);
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
    const Target target = follow(place, "$dynamicRef", *reference->if_string());
    auto& in_place = rules(node, node.in_place);
    in_place.dynamic_ref = node_at(*target.place);
    if (target.dynamic) in_place.dynamic_name = number_of_name(target.anchor);
  }

  void build_values(const Place& place, Node& node, const Json::Object& object) {
    if (const Json* type = object.find("type")) {
      const auto add = [&](const Json& name) {
        const auto* text = name.if_string();
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
        if (const auto* text = choice.if_string()) {
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

  const Regex* regex(const Place& place, std::string_view keyword, const std::string& pattern) {
    if (const auto known = regexes_.find(pattern); known != regexes_.end()) return known->second;
    auto compiled = Regex::compile(pattern, options_.max_pattern_bytes);
    if (!compiled) {
      std::string where = location_of(place) + '/';
      append_pointer_token(where, keyword);
      throw Error(compiled.error().code(), fmt::format("{}: '{}' cannot be used as a regular expression: {}", where,
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
        const auto* text = pattern->if_string();
        if (!text) bad(place, "pattern", "expected a string");
        auto& string = rules(node, node.string);
        string.pattern_text = *text;
        string.pattern = regex(place, "pattern", *text);
      }
    }
    if (options_.assert_formats || dialect.format_assertion) {
      const Json* format = object.find("format");
      const auto* name = format ? format->if_string() : nullptr;
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
        if (*unique->if_bool()) rules(node, node.array).unique = true;
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
      out.push_back(*item.if_string());
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
  Dialect default_dialect_;
  std::unordered_map<const Json*, Place*> places_;
  std::map<std::string, Resource*, std::less<>> by_uri_;
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
    if (const auto* text = next.if_string()) {
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

void append_pointer_token(std::string& out, std::string_view token) {
  for (char c : token) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
}

std::string location_of(const Place& place) {
  std::vector<const Place*> way;
  for (const Place* at = &place; at->parent; at = at->parent) way.push_back(at);
  std::string out = place.resource->uri + "#";
  for (auto at = way.rbegin(); at != way.rend(); ++at) {
    out += '/';
    if ((*at)->raw) {
      out += (*at)->keyword;
      continue;
    }
    append_pointer_token(out, (*at)->keyword);
    if ((*at)->index != Place::no_index) {
      fmt::format_to(std::back_inserter(out), "/{}", (*at)->index);
    } else if ((*at)->key.data()) {
      out += '/';
      append_pointer_token(out, (*at)->key);
    }
  }
  return out;
}

Result<std::shared_ptr<const Program>> compile(const Json& schema, const SchemaOptions& options) {
  try {
    return Compiler(options).run(schema);
  } catch (const Error& error) {
    return std::unexpected(error);
  }
}

}  // namespace patchbay::schema
