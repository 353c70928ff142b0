#include "catalog/schema_view.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/flat_schema.h"
#include "catalog/schema_reference.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

// What an API refuses.
struct Rules {
  bool combined_root = false;  // oneOf, anyOf, allOf at the root
  bool choice_root = false;    // enum, const, not at the root
  bool bare_object = false;    // no `properties` at the root
  bool bare_array = false;     // no `items`
  bool odd_keys = false;       // property keys beside [a-zA-Z0-9_.-]{1,64}
  bool dialect = false;        // $schema
  bool references = false;     // $ref
  bool hard_to_parse = false;  // what a grammar cannot hold: pattern, format, large bounds, references elsewhere
};

Rules rules_of(ModelApi api) {
  switch (api) {
    case ModelApi::anthropic:
      return {.combined_root = true, .odd_keys = true};
    case ModelApi::openai_chat:
    case ModelApi::openai_responses:
      return {.combined_root = true, .choice_root = true, .bare_object = true, .bare_array = true};
    case ModelApi::gemini:
      return {.dialect = true, .references = true};
    case ModelApi::local:
      return {.hard_to_parse = true};
  }
  return {};
}

constexpr std::string_view too_large =
    "the schema is too large for this API: any object is accepted, and the schema is in the description";

constexpr std::size_t longest_key = 64;
constexpr std::int64_t largest_bound = 100;        // of a repetition in a grammar
constexpr std::size_t most_subschemas = 5'000;     // of a view: references to references multiply
constexpr unsigned most_levels = 128;              // no deeper than JSON is read
constexpr std::size_t longest_inner_text = 1'024;  // bytes of a schema in a description inside the schema
constexpr std::array bounds{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"};

bool plain_key(std::string_view key) {
  return !key.empty() && key.size() <= longest_key && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  });
}

enum class Holds : std::uint8_t { value, schema, schemas, named_schemas };

// Where schemas are inside a schema. Everything else is data and stays as it is.
Holds holds(std::string_view word, const Json& value) {
  constexpr std::array one{
      "additionalProperties", "additionalItems",      "contains", "propertyNames", "not", "if", "then", "else",
      "unevaluatedItems",     "unevaluatedProperties"};
  constexpr std::array several{"anyOf", "oneOf", "allOf", "prefixItems"};
  constexpr std::array named{"properties",  "patternProperties", "$defs",
                             "definitions", "dependentSchemas",  "dependencies"};
  const auto in = [&](const auto& words) { return std::ranges::find(words, word) != words.end(); };
  if (word == "items") return value.is_array() ? Holds::schemas : Holds::schema;
  if (in(one)) return Holds::schema;
  if (in(several)) return Holds::schemas;
  if (in(named)) return Holds::named_schemas;
  return Holds::value;
}

bool is_type(const Json& schema, std::string_view type) {
  const auto& said = schema["type"];
  if (said.text() == type) return true;
  return std::ranges::any_of(said.items(), [&](const Json& one) { return one.text() == type; });
}

std::string cut_text(std::string text) {
  const auto cut = cut_utf8(text, longest_inner_text);
  if (cut.size() == text.size()) return text;
  return std::string(cut) + "…";
}

class View {
 public:
  View(const Json& document, const Rules& rules, bool flattened, SchemaView& out)
      : document_(document), rules_(rules), flattened_(flattened), out_(out) {}

  Json of_root() {
    if (rules_.odd_keys && has_odd_key(document_)) {
      out_.after = clean_for_display(to_text(document_));
      change(
          "a property has a name that this API refuses: any object is accepted, and the schema is in the description");
      return Json{{"type", "object"}};
    }
    auto root = of(document_, 0);
    if (spent_ > most_subschemas || too_deep_) {
      out_.after = clean_for_display(to_text(document_));
      change(std::string(too_large));
      return Json{{"type", "object"}};
    }
    return root;
  }

 private:
  // Each once: a schema may have a thousand patterns.
  void change(std::string text) {
    if (std::ranges::find(out_.changes, text) == out_.changes.end()) out_.changes.push_back(std::move(text));
  }

  static bool has_odd_key(const Json& schema) {
    return std::ranges::any_of(schema["properties"].members(),
                               [](const auto& member) { return !plain_key(member.name); });
  }

  Json of(const Json& schema, unsigned level) {
    too_deep_ = too_deep_ || level > most_levels;
    if (++spent_ > most_subschemas || too_deep_) return Json::object();  // of_root() gives up then
    if (!schema.is_object()) return schema;
    if (level > 0 && rules_.odd_keys && has_odd_key(schema)) return opened(schema);
    if (const auto reference = schema["$ref"].text()) {
      if (auto other = without_reference(schema, *reference, level)) return std::move(*other);
    }
    Json::Object out;
    std::string more;  // for the description: what was left out
    for (auto [name, value] : schema.members()) {
      if (left_out(name, value, level, more)) continue;
      out.append(name, member(name, value, level));
    }
    if (rules_.bare_array && is_type(schema, "array") && !out.contains("items")) {
      out.set("items", Json::object());
      change("a list says nothing about its items, which this API refuses");
    }
    if (!more.empty()) {
      const auto* said = out.find("description");
      out.set("description", said && said->is_string() ? std::string(*said->text()) + more : more.substr(1));
    }
    return Json(std::move(out));
  }

  bool left_out(std::string_view name, const Json& value, unsigned level, std::string& more) {
    if (rules_.dialect && name == "$schema") {
      change("$schema is left out: this API refuses it");
      return true;
    }
    if (level == 0 && rules_.choice_root && (name == "enum" || name == "const" || name == "not")) {
      change(fmt::format("{} at the root is left out: this API refuses it", name));
      return true;
    }
    if (rules_.references && (name == "$defs" || name == "definitions")) {
      change(fmt::format("{} is left out: nothing refers to it any more", name));
      return true;
    }
    if (!rules_.hard_to_parse) return false;
    const bool large = std::ranges::find(bounds, name) != bounds.end() && value.to_double().value_or(0) > largest_bound;
    if (!large && ((name != "pattern" && name != "format") || !value.is_string())) return false;
    const auto text = value.text() ? std::string(*value.text()) : to_text(value);
    more += fmt::format(" ({}: {})", name, cut_text(clean_line(text)));
    change(fmt::format("{} is in the description: a grammar cannot hold it", name));
    return true;
  }

  Json member(std::string_view name, const Json& value, unsigned level) {
    if (name == "description" || name == "title" || name == "$comment") return cleaned(value);
    switch (holds(name, value)) {
      case Holds::schema:
        return of(value, level + 1);
      case Holds::schemas: {
        Json::Array out;
        for (const auto& one : value.items()) out.push_back(of(one, level + 1));
        return value.is_array() ? Json(std::move(out)) : value;
      }
      case Holds::named_schemas: {
        if (!value.is_object()) return value;
        Json::Object out;
        for (auto [key, one] : value.members()) out.append(key, of(one, level + 1));
        return Json(std::move(out));
      }
      case Holds::value:
        break;
    }
    return value;
  }

  Json cleaned(const Json& value) {
    const auto text = value.text();
    if (!text) return value;
    auto clean = clean_for_display(*text);
    if (clean == *text) return value;
    change("invisible characters were taken out of a description");
    return Json(std::move(clean));
  }

  // Any object, with the schema for the model to read.
  Json opened(const Json& schema) {
    change(
        "a property has a name that this API refuses: any object is accepted there, and its schema is in a "
        "description");
    const auto text = cut_text(clean_for_display(to_text(schema)));
    return Json{{"type", "object"}, {"description", "JSON Schema: " + text}};
  }

  std::optional<Json> without_reference(const Json& schema, std::string_view reference, unsigned level) {
    const auto* target = follow_reference(document_, reference);
    const bool gone = flattened_ && (reference.starts_with("#/anyOf") || reference.starts_with("#/oneOf") ||
                                     reference.starts_with("#/allOf"));
    const bool elsewhere = !target && !reference.starts_with('#');
    if (!rules_.references && !gone && !(rules_.hard_to_parse && elsewhere)) return std::nullopt;
    Json::Object rest;
    for (auto [name, value] : schema.members()) {
      if (name != "$ref") rest.append(name, value);
    }
    const bool again = target && std::ranges::find(following_, target) != following_.end();
    if (!target || again || gone) {
      change(again ? "a $ref leads back to where it is: anything is accepted there"
                   : "a $ref that this API cannot follow is left out: anything is accepted there");
      return of(Json(std::move(rest)), level + 1);
    }
    change("$ref is replaced by what it leads to: this API refuses it");
    following_.push_back(target);
    auto out = of(*target, level + 1);
    following_.pop_back();
    const auto beside = of(Json(std::move(rest)), level + 1);
    if (!out.is_object()) return out;
    for (auto [name, value] : beside.members()) out[name] = value;
    return out;
  }

  const Json& document_;
  const Rules& rules_;
  bool flattened_;
  SchemaView& out_;
  std::size_t spent_ = 0;
  bool too_deep_ = false;
  std::vector<const Json*> following_;
};

// The root as one object schema that says so. Every API wants that.
Result<Json> object_root(const Json& schema, const Rules& rules, SchemaView& out, bool& flattened) {
  if (schema.is_null() || (schema.is_bool() && *schema.to_bool())) {
    out.changes.emplace_back("the schema says nothing: any object is accepted");
    return Json{{"type", "object"}};
  }
  if (!schema.is_object()) return fail(Errc::unsupported, "its schema accepts no object");
  const auto combined = [&](const char* word) { return schema.find(word) != nullptr; };
  if (combined("$ref") || (rules.combined_root && (combined("anyOf") || combined("oneOf") || combined("allOf")))) {
    auto flat = flatten_root(schema);
    if (!flat && flat.error().code() == Errc::limit) {
      out.after = clean_for_display(to_text(schema));
      out.changes.emplace_back(too_large);
      return Json{{"type", "object"}};
    }
    if (!flat) return std::unexpected(std::move(flat).error());
    flattened = true;
    out.before = std::move(flat->sentence);
    out.changes.emplace_back(combined("$ref")
                                 ? "$ref at the root is replaced by what it leads to"
                                 : "anyOf, oneOf and allOf at the root are made into one list of properties: "
                                   "this API refuses them");
    return std::move(flat->schema);
  }
  const auto& type = schema["type"];
  if (type.text() == "object") return schema;
  if (!type.is_null() && !is_type(schema, "object")) return fail(Errc::unsupported, "its schema accepts no object");
  out.changes.emplace_back("the root is said to be an object");
  Json::Object with;
  with.set("type", "object");
  for (auto [name, value] : schema.members()) {
    if (name != "type") with.set(name, value);
  }
  return Json(std::move(with));
}

}  // namespace

Result<SchemaView> view_schema(const Json& schema, ModelApi api) {
  const auto rules = rules_of(api);
  SchemaView out;
  bool flattened = false;
  const auto root = object_root(schema, rules, out, flattened);
  if (!root) return std::unexpected(root.error());
  out.schema = View(*root, rules, flattened, out).of_root();
  if (rules.bare_object && !out.schema["properties"].is_object()) {
    out.schema["properties"] = Json::object();
    out.changes.emplace_back("the empty list of properties is written out: this API wants one");
  }
  return out;
}

}  // namespace patchbay
