#include "text/call_arguments.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/kind_text.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay {
namespace {

constexpr std::size_t deepest_path = 64;
// References and combined schemas are followed this far; a schema that goes further, or
// in a circle, counts as saying nothing.
constexpr unsigned deepest_schema = 8;
// Schemas come from servers: branches that refer back to the root multiply with every
// level, so the number of schemas looked at is bounded too.
constexpr unsigned most_schemas = 100'000;

// A set of JSON types. None means that the schema does not say.
enum Type : unsigned {
  none = 0,
  null_type = 1,
  boolean_type = 2,
  integer_type = 4,
  number_type = 8,
  array_type = 16,
  object_type = 32,
  string_type = 64,
};
using Types = unsigned;

struct TypeWord {
  std::string_view word;
  Type type;
  std::string_view expected;
};
// In the order in which a text is tried.
constexpr auto type_words = std::to_array<TypeWord>({
    {"null", null_type, "null"},
    {"boolean", boolean_type, "true or false"},
    {"integer", integer_type, "an integer"},
    {"number", number_type, "a number"},
    {"object", object_type, "a JSON object"},
    {"array", array_type, "a JSON array"},
    {"string", string_type, "a string"},
});

std::unexpected<Error> wrong(std::string message) { return fail(Errc::invalid_argument, std::move(message)); }

std::string quoted(std::string_view text) {
  constexpr std::size_t shown = 80;
  auto cut = cut_utf8(text, shown);
  return to_text(Json(cut.size() < text.size() ? std::string(cut) + "…" : std::string(cut)));
}

Type type_of(const Json& value) noexcept {
  switch (value.kind()) {
    case Json::Kind::null:
      return null_type;
    case Json::Kind::boolean:
      return boolean_type;
    case Json::Kind::string:
      return string_type;
    case Json::Kind::array:
      return array_type;
    case Json::Kind::object:
      return object_type;
    case Json::Kind::integer:
    case Json::Kind::unsigned_integer:
      return integer_type;
    default:
      return number_type;
  }
}

// The tool's schema with its references resolved on the way.
class Schema {
 public:
  explicit Schema(const Json& root) noexcept : root_(root) {}

  const Json* root() const noexcept { return &root_; }

  // The schema of one property; null when nothing declares it.
  const Json* property(const Json* schema, std::string_view key, unsigned depth = 0) const {
    schema = resolve(schema);
    if (schema == nullptr || depth > deepest_schema) return nullptr;
    if (const auto* properties = schema->find("properties")) {
      if (const auto* found = properties->find(key)) return found;
    }
    for (auto word : {"allOf", "anyOf", "oneOf"}) {
      for (const auto& branch : branches(*schema, word)) {
        if (const auto* found = property(&branch, key, depth + 1)) return found;
      }
    }
    return nullptr;
  }

  std::vector<std::string> keys(const Json* schema) const {
    std::vector<std::string> out;
    schema = resolve(schema);
    const auto* properties = schema == nullptr ? nullptr : schema->find("properties");
    if (properties == nullptr || !properties->is_object()) return out;
    for (const auto& [key, value] : properties->as_object()) out.emplace_back(key);
    return out;
  }

  // Whether keys that no property declares are spoken of, one way or another.
  bool speaks_of_others(const Json* schema) const {
    schema = resolve(schema);
    if (schema == nullptr) return true;
    for (auto word : {"additionalProperties", "patternProperties", "unevaluatedProperties", "if", "dependentSchemas"}) {
      if (schema->find(word) != nullptr) return true;
    }
    return false;
  }

  // Whether a key that no property declares is refused.
  bool closed(const Json* schema) const {
    schema = resolve(schema);
    const auto* additional = schema == nullptr ? nullptr : schema->find("additionalProperties");
    return additional != nullptr && !additional->to_bool().value_or(true) &&
           schema->find("patternProperties") == nullptr;
  }

  Types types(const Json* schema, unsigned depth = 0) const {
    schema = resolve(schema);
    if (schema == nullptr || depth > deepest_schema) return none;
    if (const auto* type = schema->find("type")) return declared(*type);
    if (const auto* value = schema->find("const")) return type_of(*value);
    Types out = none;
    if (const auto* values = schema->find("enum"); values != nullptr && values->is_array()) {
      for (const auto& value : values->as_array()) out |= type_of(value);
      return out;
    }
    for (auto word : {"anyOf", "oneOf"}) {
      for (const auto& branch : branches(*schema, word)) {
        auto types_here = types(&branch, depth + 1);
        if (types_here == none) return none;  // one alternative allows anything
        out |= types_here;
      }
    }
    for (const auto& branch : branches(*schema, "allOf")) {
      if (out == none) out = types(&branch, depth + 1);
    }
    return out;
  }

  const Json* items(const Json* schema, unsigned depth = 0) const {
    schema = resolve(schema);
    if (schema == nullptr || depth > deepest_schema) return nullptr;
    if (const auto* found = schema->find("items")) return found;
    for (auto word : {"allOf", "anyOf", "oneOf"}) {
      for (const auto& branch : branches(*schema, word)) {
        if (const auto* found = items(&branch, depth + 1)) return found;
      }
    }
    return nullptr;
  }

 private:
  static Types declared(const Json& type) {
    auto one = [](const Json& name) -> Types {
      const auto text = name.text();
      const auto* found = !text ? type_words.end() : std::ranges::find(type_words, *text, &TypeWord::word);
      return found == type_words.end() ? none : static_cast<Types>(found->type);
    };
    const auto* list = type.if_array();
    if (list == nullptr) return one(type);
    Types out = none;
    for (const auto& name : *list) out |= one(name);
    return out;
  }

  static const Json::Array& branches(const Json& schema, std::string_view word) {
    static const Json::Array no_branches;
    const auto* found = schema.find(word);
    const auto* list = found == nullptr ? nullptr : found->if_array();
    return list == nullptr ? no_branches : *list;
  }

  // Follows "#/$defs/Name" and the like inside the tool's own schema.
  const Json* resolve(const Json* schema) const {
    if (++looked_at_ > most_schemas) return nullptr;
    for (unsigned hops = 0; schema != nullptr; ++hops) {
      const auto* reference = schema->find("$ref");
      const auto text = reference == nullptr ? std::nullopt : reference->text();
      if (!text) return schema;
      if (hops == deepest_schema || !text->starts_with("#")) return nullptr;
      schema = at_pointer(std::string_view(*text).substr(1));
    }
    return nullptr;
  }

  const Json* at_pointer(std::string_view pointer) const {
    const Json* at = &root_;
    while (!pointer.empty() && at != nullptr) {
      if (pointer.front() != '/') return nullptr;
      auto end = std::min(pointer.find('/', 1), pointer.size());
      std::string step;
      for (std::size_t i = 1; i < end; ++i) {  // RFC 6901: ~1 is '/', ~0 is '~'
        bool escape = pointer[i] == '~' && i + 1 < end && (pointer[i + 1] == '0' || pointer[i + 1] == '1');
        step += !escape ? pointer[i] : pointer[++i] == '1' ? '/' : '~';
      }
      at = at->find(step);
      pointer.remove_prefix(end);
    }
    return at;
  }

  const Json& root_;
  mutable unsigned looked_at_ = 0;
};

std::optional<Json> read_integer(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  if (auto whole = value.to_int()) return Json(*whole);
  if (auto whole = value.to_uint()) return Json(*whole);
  // Beyond 64 bits only a plain run of digits is taken for an integer.
  if (value.number_text().find_first_of(".eE") == std::string_view::npos && !value.number_text().empty()) return value;
  return std::nullopt;
}

// `text` as that type, if it reads as one.
std::optional<Json> read_as(Type type, std::string_view text) {
  if (type == string_type) return Json(text);
  auto value = parse_json(text);
  if (!value) return std::nullopt;
  if (type == integer_type) return read_integer(*value);
  bool fits = type == number_type ? value->is_number() : type_of(*value) == type;
  return fits ? std::optional(std::move(*value)) : std::nullopt;
}

std::string expectation(Types types) {
  std::vector<std::string> words;
  for (const auto& [word, type, expected] : type_words) {
    if ((types & type) != 0) words.emplace_back(expected);
  }
  return join(words, " or ");
}

// One value that is not an array of repeated keys.
Result<Json> typed(const std::string& key, std::string_view text, Types types) {
  if ((types & number_type) != 0) types &= ~static_cast<Types>(integer_type);
  if (types == none || types == string_type) return Json(text);
  if ((types & string_type) != 0) {
    auto other = types & ~static_cast<Types>(string_type);
    if ((other & (other - 1)) != 0) return Json(text);  // more than one: no telling which is meant
    auto value = read_as(static_cast<Type>(other), text);
    return value ? std::move(*value) : Json(text);
  }
  for (const auto& [word, type, expected] : type_words) {
    if ((types & type) == 0) continue;
    if (auto value = read_as(type, text)) return std::move(*value);
  }
  return wrong(fmt::format("{}: expected {}, found {}", key, expectation(types), quoted(text)));
}

struct Word {
  std::string key;
  std::string value;
  enum class Form : std::uint8_t { text, json } form = Form::text;
  bool from_file = false;
  bool handle = false;  // of a kept result
};

constexpr std::string_view handle_mark = "@result:";

// What a file says is what it says.
std::string without_handles(const std::string& text) {
  std::string out;
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(handle_mark, from)) != std::string::npos; from = at + handle_mark.size()) {
    out.append(text, from, at - from).append(1, '\\').append(handle_mark);
  }
  return from == 0 ? text : out.append(text, from);
}

// Collects key by key.
class Collector {
 public:
  Collector(const Json& schema, const ArgumentSources& sources) : schema_(schema), sources_(sources) {}

  Result<> add(const std::string& text) {
    if (!valid_utf8(text)) return wrong(fmt::format("{}: it is not UTF-8 text", visible_word(text)));
    auto word = split_word(text);
    if (!word) return std::unexpected(word.error());
    auto target = find_target(word->key);
    if (!target) return std::unexpected(target.error());
    if (word->from_file) {
      auto content = word->value == "-" ? read_stdin(word->key) : sources_.read_file(word->value);
      if (!content) {
        const auto literal = to_text(Json("@" + word->value));
        return wrong(fmt::format("{}: {}; if you mean the text itself, write {}", word->key, content.error().message(),
                                 shell_word(fmt::format("{}:={}", word->key, literal))));
      }
      if (!valid_utf8(*content)) return wrong(fmt::format("{}: the file {} is not UTF-8 text", word->key, word->value));
      word->value = word->form == Word::Form::text ? without_handles(*content) : std::move(*content);
    }
    // It becomes a value of whatever type, which is checked when it is known.
    if (word->handle) return set(*word, *target, Json(word->value));
    return word->form == Word::Form::json ? set_json(*word, *target) : set_text(*word, *target);
  }

  Json take() && { return std::move(arguments_); }

 private:
  Result<std::string> read_stdin(const std::string& key) {
    if (read_stdin_)
      return wrong(fmt::format("{}: another argument already reads stdin; give one of them as a file", key));
    read_stdin_ = true;
    return sources_.read_stdin();
  }

  struct Target {
    Json* parent = nullptr;  // an object of ours
    std::string_view key;    // the last step of the path
    const Json* schema = nullptr;
  };

  static Result<Word> split_word(const std::string& text) {
    auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || text.starts_with(":=")) {
      return wrong(fmt::format(
          "{}: expected key=value, key:=json, key=@file, one JSON object, or - to read the object from stdin",
          quoted(text)));
    }
    Word word;
    if (text[equals - 1] == ':') word.form = Word::Form::json;
    word.key = text.substr(0, word.form == Word::Form::json ? equals - 1 : equals);
    word.value = text.substr(equals + 1);
    word.handle = word.value.starts_with(handle_mark);
    if (word.value.starts_with('@') && !word.handle) {
      word.from_file = true;
      word.value.erase(0, 1);
    }
    return word;
  }

  // Where the key leads. A property that is literally called so comes before a path.
  Result<Target> find_target(std::string_view key) {
    Target target{&arguments_, key, schema_.root()};
    std::size_t steps = 0;
    for (;;) {
      const auto* property = schema_.property(target.schema, target.key);
      auto dot = property != nullptr ? std::string_view::npos : split_at(target.schema, target.key);
      if (dot == std::string_view::npos) {
        if (property == nullptr && schema_.closed(target.schema)) return unknown(key, target);
        target.schema = property;
        return target;
      }
      if (++steps > deepest_path)
        return wrong(fmt::format("{}: nested deeper than {} levels", quoted(key), deepest_path));
      auto head = target.key.substr(0, dot);
      const auto* inner = schema_.property(target.schema, head);
      if (inner == nullptr && schema_.closed(target.schema)) return unknown(key, target);
      if (auto types = schema_.types(inner); types != none && (types & object_type) == 0) {
        return wrong(fmt::format("{}: \"{}\" is {}, so nothing can be set inside it", key, head, expectation(types)));
      }
      Json* child = target.parent->find(head);
      if (child == nullptr) {
        target.parent->as_object().append(std::string(head), Json::object());
        child = target.parent->find(head);
      }
      if (!child->is_object()) {
        return wrong(fmt::format("{}: \"{}\" is already given as {}", key, head, kind_with_article(*child)));
      }
      target = {child, target.key.substr(dot + 1), inner};
    }
  }

  // The dot that ends the first step of a path: the last one behind a declared property,
  // else the first one. npos when the key is not a path.
  std::size_t split_at(const Json* schema, std::string_view key) const {
    if (key.starts_with('.') || key.ends_with('.') || key.find("..") != std::string_view::npos) {
      return std::string_view::npos;
    }
    for (auto dot = key.rfind('.'); dot != std::string_view::npos && dot > 0; dot = key.rfind('.', dot - 1)) {
      if (schema_.property(schema, key.substr(0, dot)) != nullptr) return dot;
    }
    return key.find('.');
  }

  std::unexpected<Error> unknown(std::string_view key, const Target& target) const {
    auto keys = schema_.keys(target.schema);
    if (keys.empty()) return wrong(fmt::format("{}: unknown argument; no arguments are accepted here", key));
    if (auto meant = nearest(target.key, keys); !meant.empty()) {
      return wrong(fmt::format("{}: unknown argument; did you mean \"{}\"?", key, meant));
    }
    return wrong(fmt::format("{}: unknown argument; expected one of {}", key, join(keys, ", ")));
  }

  Result<> set_json(const Word& word, const Target& target) {
    auto value = parse_json(word.value);
    if (!value)
      return wrong(
          fmt::format("{}: not JSON: {}; for a plain text write {}=…", word.key, value.error().message(), word.key));
    return set(word, target, std::move(*value));
  }

  Result<> set_text(Word& word, const Target& target) {
    auto types = schema_.types(target.schema);
    bool collects = (types & ~static_cast<Types>(null_type)) == array_type;
    // An editor's newline at the end of a file belongs to text, not to a number.
    if (word.from_file && types != none && (types & string_type) == 0 && !collects) {
      word.value = std::string(trim(word.value));
    }
    if (collects) return append(word, target, types);
    auto value = typed(word.key, word.value, types);
    if (!value) return std::unexpected(value.error());
    return set(word, target, std::move(*value));
  }

  Result<> append(const Word& word, const Target& target, Types types) {
    Json* existing = target.parent->find(target.key);
    if (existing == nullptr && (types & null_type) != 0 && word.value == "null") return set(word, target, Json());
    if (existing != nullptr && !existing->is_array()) return twice(word);
    Json::Array added;
    const auto* items = schema_.items(target.schema);
    auto whole = trim(word.value).starts_with('[') ? read_as(array_type, word.value) : std::nullopt;
    if (whole) {
      added = std::move(whole->as_array());
    } else {
      auto item = typed(word.key, word.value, schema_.types(items));
      if (!item) return std::unexpected(item.error());
      added.push_back(std::move(*item));
    }
    if (existing == nullptr) return set(word, target, Json(std::move(added)));
    for (auto& item : added) existing->push_back(std::move(item));
    return {};
  }

  Result<> set(const Word& word, const Target& target, Json value) {
    if (target.parent->find(target.key) != nullptr) return twice(word);
    target.parent->as_object().append(std::string(target.key), std::move(value));
    return {};
  }

  static std::unexpected<Error> twice(const Word& word) {
    return wrong(fmt::format("{}: given more than once; remove all but one", word.key));
  }

  Schema schema_;
  const ArgumentSources& sources_;
  Json arguments_ = Json::object();
  bool read_stdin_ = false;
};

Result<Json> whole_object(std::string_view text, std::string_view where) {
  if (trim(text).empty()) return wrong(fmt::format("{}: expected a JSON object, but it is empty", where));
  auto value = parse_json(text);
  if (!value) return wrong(fmt::format("{}: not JSON: {}", where, value.error().message()));
  if (!value->is_object()) {
    return wrong(fmt::format("{}: expected a JSON object, found {}", where, kind_with_article(*value)));
  }
  return value;
}

// Words that stand for all arguments at once.
bool is_whole(std::string_view word) noexcept {
  auto text = trim(word);
  return word == "-" || text.starts_with('{') || (text.starts_with('[') && text.find('=') == std::string_view::npos);
}

}  // namespace

Result<Json> call_arguments(std::span<const std::string> words, const Json& schema, const ArgumentSources& sources) {
  auto whole = std::ranges::find_if(words, is_whole);
  if (whole != words.end()) {
    if (words.size() > 1) {
      return wrong(fmt::format("{}: this gives all arguments, so it must be the only one", quoted(*whole)));
    }
    if (*whole != "-") return whole_object(*whole, "arguments");
    auto text = sources.read_stdin();
    if (!text) return std::unexpected(text.error().within("stdin"));
    return whole_object(*text, "stdin");
  }
  Collector collector(schema, sources);
  for (const auto& word : words) {
    if (auto added = collector.add(word); !added) return std::unexpected(added.error());
  }
  return std::move(collector).take();
}

std::vector<UndeclaredArgument> undeclared_arguments(const Json& arguments, const Json& schema) {
  std::vector<UndeclaredArgument> out;
  const auto* given = arguments.if_object();
  if (given == nullptr) return out;
  const Schema tool(schema);
  const auto keys = tool.keys(tool.root());
  const bool foreseen = keys.empty() || tool.speaks_of_others(tool.root());
  std::vector<std::string> open;  // what could have been meant
  for (const auto& key : keys) {
    if (given->find(key) == nullptr) open.push_back(key);
  }
  for (const auto& [name, value] : *given) {
    if (tool.property(tool.root(), name) != nullptr) continue;
    out.push_back({std::string(name), std::string(nearest(name, open)), foreseen});
  }
  return out;
}

}  // namespace patchbay
