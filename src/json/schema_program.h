// What a schema is compiled to: nodes that point at each other. schema_compile.cpp builds
// a Program, schema_validate.cpp and coerce.cpp walk it, nobody else includes this. Immutable once
// built; every view and pointer leads into the documents the Program owns.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/json.h>

#include "json/regex.h"
#include "json/schema.h"
#include "json/schema_formats.h"
#include "json/schema_number.h"

namespace patchbay::schema {

struct Node;
struct Resource;

// Where a subschema is in its document.
struct Place {
  const Json* json = nullptr;
  Resource* resource = nullptr;
  const Place* parent = nullptr;  // within the same resource; null at its root
  std::string_view keyword;       // the member of the parent, "properties"
  std::string_view key;           // the member of that member, "size"
  std::size_t index = no_index;   // or its position: allOf/2
  bool raw = false;               // `keyword` is a JSON pointer, found by following a $ref
  Node* node = nullptr;           // once something refers to it

  static constexpr std::size_t no_index = static_cast<std::size_t>(-1);
};

// "https://example.com/tree#/properties/size"
std::string location_of(const Place& place);
void append_pointer_token(std::string& out, std::string_view token);

// What comparing with `json` may cost, in steps.
std::uint64_t weight_of(const Json& json);

struct Dialect {
  SchemaDialect draft = SchemaDialect::draft_2020_12;
  bool applicator = true;
  bool unevaluated = true;
  bool validation = true;
  bool format_assertion = false;
};

// A schema with an identifier of its own: a document, or a part of one with $id.
struct Resource {
  std::string uri;
  Dialect dialect;
  Place* root = nullptr;
  std::vector<std::pair<std::string_view, Place*>> anchors;
  std::vector<std::pair<std::string_view, Place*>> dynamic_anchors;
  // The dynamic anchors some $dynamicRef asks for, by the number of the name.
  std::vector<std::pair<std::uint32_t, const Node*>> dynamic_targets;
};

// Bits of `type`. An integer is a number as well.
enum TypeBit : std::uint8_t {
  type_null = 1,
  type_boolean = 2,
  type_integer = 4,
  type_number = 8,
  type_string = 16,
  type_array = 32,
  type_object = 64,
};

struct ValueRules {
  const Json* constant = nullptr;
  std::uint64_t constant_weight = 0;  // what a comparison may cost, in steps
  std::uint64_t choices_weight = 0;
  const Json* choices_json = nullptr;  // the enum array
  std::vector<const Json*> choices;    // those that are not strings
  std::vector<std::string_view> strings;
  std::unique_ptr<Json::Object> index;  // of the strings, when they are many
};

struct NumberRules {
  const Json* minimum = nullptr;
  const Json* maximum = nullptr;
  const Json* exclusive_minimum = nullptr;
  const Json* exclusive_maximum = nullptr;
  const Json* multiple_of_json = nullptr;
  std::optional<Divisor> multiple_of;
};

struct StringRules {
  std::uint64_t min_length = 0;
  std::uint64_t max_length = UINT64_MAX;
  std::string_view pattern_text;
  const Regex* pattern = nullptr;
  std::string_view format_name;
  FormatCheck format = nullptr;
};

struct ArrayRules {
  std::uint64_t min_items = 0;
  std::uint64_t max_items = UINT64_MAX;
  bool unique = false;
  std::vector<const Node*> prefix;
  const Node* rest = nullptr;          // items behind the prefix
  std::string_view rest_keyword = "";  // "items" or "additionalItems"
  const Node* contains = nullptr;
  std::uint64_t min_contains = 1;
  std::uint64_t max_contains = UINT64_MAX;
  bool contains_evaluates = true;  // it leaves marks for unevaluatedItems
};

struct Property {
  std::string_view name;
  const Node* node = nullptr;  // null when the name is only required
  bool required = false;
};

struct Dependency {
  std::string_view name;
  std::vector<std::string_view> required;
  const Node* node = nullptr;
  std::string_view keyword;  // dependentRequired, dependentSchemas or dependencies
};

struct ObjectRules {
  std::uint64_t min_properties = 0;
  std::uint64_t max_properties = UINT64_MAX;
  std::vector<Property> properties;     // named in `properties` or `required`
  std::unique_ptr<Json::Object> index;  // name → position, when they are many
  std::uint32_t required_count = 0;
  struct Pattern {
    std::string_view text;
    const Regex* regex;
    const Node* node;
  };
  std::vector<Pattern> patterns;
  const Node* additional = nullptr;
  const Node* names = nullptr;
  std::vector<Dependency> dependencies;
};

// Applied to the same value.
struct InPlaceRules {
  const Node* dynamic_ref = nullptr;          // where $dynamicRef leads without any context
  std::optional<std::uint32_t> dynamic_name;  // else: not dynamic after all
  std::vector<const Node*> all_of;
  std::vector<const Node*> any_of;
  std::vector<const Node*> one_of;
  const Node* negated = nullptr;
  const Node* condition = nullptr;
  const Node* then = nullptr;
  const Node* otherwise = nullptr;
};

struct Node {
  enum class Fixed : std::uint8_t { no, accepts, rejects };  // true and {}, false

  Fixed fixed = Fixed::accepts;
  bool only_ref = false;   // nothing here but `ref`
  std::uint8_t types = 0;  // 0 when anything goes
  const Resource* resource = nullptr;
  const Place* place = nullptr;
  const Node* ref = nullptr;
  std::unique_ptr<ValueRules> values;
  std::unique_ptr<NumberRules> number;
  std::unique_ptr<StringRules> string;
  std::unique_ptr<ArrayRules> array;
  std::unique_ptr<ObjectRules> object;
  std::unique_ptr<InPlaceRules> in_place;
  const Node* unevaluated_items = nullptr;
  const Node* unevaluated_properties = nullptr;
};

struct Program {
  std::deque<Json> documents;
  std::deque<std::string> texts;  // what a view needs that stands in no document
  std::deque<Resource> resources;
  std::deque<Place> places;
  std::deque<Node> nodes;
  std::deque<Regex> regexes;
  const Node* root = nullptr;
};

Result<std::shared_ptr<const Program>> compile(const Json& schema, const SchemaOptions& options);

// The text of a built-in meta-schema, empty when the URI names none.
std::string_view builtin_document(std::string_view uri) noexcept;

Result<bool> accepts(const Program& program, const Json& value, const ValidateOptions& options);
// Of a value that is known not to be accepted.
std::vector<Violation> violations(const Program& program, const Json& value, const ValidateOptions& options);

}  // namespace patchbay::schema
