#include "catalog/flat_schema.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalog/schema_reference.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

constexpr unsigned most_levels = 16;           // of combinators within combinators
constexpr std::size_t most_branches = 256;     // that are looked at, in all
constexpr std::size_t most_groups_named = 12;  // in the sentence
constexpr std::size_t most_names_in_group = 12;
constexpr std::size_t longest_name_shown = 64;  // bytes

// Names in the order they were added, each once.
class Names {
 public:
  bool contains(std::string_view name) const { return known_.contains(name); }
  void add(std::string_view name) {
    if (known_.emplace(name).second) order_.emplace_back(name);
  }
  const std::vector<std::string>& all() const noexcept { return order_; }

 private:
  std::vector<std::string> order_;
  std::set<std::string, std::less<>> known_;
};

// What of a schema says which members an object has.
struct Shape {
  Json::Object properties;
  Names required;
  std::string sentence;
};

std::unexpected<Error> unfit(std::string reason) { return fail(Errc::unsupported, std::move(reason)); }

bool may_be_object(const Json& type) {
  if (type.is_null()) return true;
  if (const auto text = type.text()) return *text == "object";
  return std::ranges::any_of(type.items(), [](const Json& one) { return one.text() == "object"; });
}

Json both(Json left, const Json& right) {
  if (left == right) return left;
  return Json{{"allOf", Json::array({std::move(left), right})}};
}

// The schemas that branches have for one property: what fits any of them.
Json any_of(const std::vector<const Json*>& choices) {
  std::vector<const Json*> different;
  for (const auto* choice : choices) {
    const auto same = [&](const Json* other) { return *other == *choice; };
    if (std::ranges::none_of(different, same)) different.push_back(choice);
  }
  if (different.size() == 1) return *different.front();
  Json::Array all;
  for (const auto* choice : different) all.push_back(*choice);
  return Json{{"anyOf", Json(std::move(all))}};
}

std::string shown_name(std::string_view name) {
  auto clean = clean_line(name);
  const auto cut = cut_utf8(clean, longest_name_shown);
  return fmt::format("`{}{}`", cut, cut.size() < clean.size() ? "…" : "");
}

std::string sentence_of(std::string_view how_many, const std::vector<std::vector<std::string>>& groups) {
  std::string out = fmt::format("Pass {} of these groups of arguments: ", how_many);
  for (std::size_t i = 0; i < std::min(groups.size(), most_groups_named); ++i) {
    std::vector<std::string> names;
    for (const auto& name : groups[i]) {
      if (names.size() == most_names_in_group) break;
      names.push_back(shown_name(name));
    }
    if (i > 0) out += "; or ";
    out += names.empty() ? "no others" : join(names, " with ");
    if (names.size() < groups[i].size()) out += " …";
  }
  if (groups.size() > most_groups_named) out += fmt::format("; or one of {} more", groups.size() - most_groups_named);
  return out + ".";
}

class Flattening {
 public:
  explicit Flattening(const Json& document) : document_(document) {}

  Result<Shape> shape_of(const Json& schema, unsigned level) {
    if (level > most_levels || ++branches_ > most_branches)
      return fail(Errc::limit, "its schema has too many branches");
    if (schema.is_bool()) {
      if (*schema.to_bool()) return Shape{};
      return unfit("its schema accepts nothing");
    }
    if (!schema.is_object()) return unfit("its schema is not a JSON Schema");
    if (!may_be_object(schema["type"])) return unfit("its schema does not accept an object");
    Shape out;
    for (auto [name, value] : schema["properties"].members()) out.properties.set(name, value);
    for (const auto& name : schema["required"].items()) {
      if (const auto text = name.text()) out.required.add(*text);
    }
    if (const auto reference = schema["$ref"].text()) {
      if (const auto* target = follow_reference(document_, *reference); target && target != &schema) {
        auto shape = shape_of(*target, level + 1);
        if (!shape) return shape;
        add_all(out, *shape);
      }
    }
    for (const auto& branch : schema["allOf"].items()) {
      auto shape = shape_of(branch, level + 1);
      if (!shape) return shape;
      add_all(out, *shape);
    }
    for (const auto* word : {"anyOf", "oneOf"}) {
      const auto& branches = schema[word];
      if (!branches.is_array()) continue;
      std::vector<Shape> shapes;
      std::optional<Error> reason;
      for (const auto& branch : branches.items()) {
        auto shape = shape_of(branch, level + 1);
        if (shape) {
          shapes.push_back(std::move(*shape));
        } else {
          if (shape.error().code() == Errc::limit) return shape;
          reason = std::move(shape).error();
        }
      }
      // What no object can fit is not a choice.
      if (shapes.empty()) return reason ? std::unexpected(std::move(*reason)) : unfit("its schema accepts nothing");
      add_any(out, shapes, std::string_view(word) == "anyOf" ? "at least one" : "exactly one");
    }
    return out;
  }

 private:
  static void say(Shape& to, const std::string& sentence) {
    if (sentence.empty()) return;
    if (!to.sentence.empty()) to.sentence += ' ';
    to.sentence += sentence;
  }

  static void add_all(Shape& to, const Shape& from) {
    for (auto [name, schema] : from.properties) {
      auto& there = to.properties[name];
      there = there.is_null() ? schema : both(std::move(there), schema);
    }
    for (const auto& name : from.required.all()) to.required.add(name);
    say(to, from.sentence);
  }

  static void add_any(Shape& to, const std::vector<Shape>& branches, std::string_view how_many) {
    Names names;
    for (const auto& branch : branches) {
      for (auto [name, schema] : branch.properties) names.add(name);
    }
    for (const auto& name : names.all()) {
      std::vector<const Json*> choices;
      for (const auto& branch : branches) {
        if (const auto* choice = branch.properties.find(name)) choices.push_back(choice);
      }
      auto* there = to.properties.find(name);
      if (!there) {
        to.properties.append(name, any_of(choices));
      } else if (choices.size() == branches.size()) {
        *there = both(std::move(*there), any_of(choices));
      }  // else a branch says nothing more about it
    }
    for (const auto& name : branches.front().required.all()) {
      const auto has = [&](const Shape& branch) { return branch.required.contains(name); };
      if (std::ranges::all_of(branches, has)) to.required.add(name);
    }
    std::vector<std::vector<std::string>> groups;
    bool differ = false;
    for (const auto& branch : branches) {
      auto& group = groups.emplace_back();
      for (const auto& name : branch.required.all()) {
        if (!to.required.contains(name)) group.push_back(name);
      }
      differ = differ || !group.empty();
    }
    if (differ && branches.size() > 1) say(to, sentence_of(how_many, groups));
    for (const auto& branch : branches) say(to, branch.sentence);
  }

  const Json& document_;
  std::size_t branches_ = 0;
};

}  // namespace

Result<FlatSchema> flatten_root(const Json& root) {
  auto shape = Flattening(root).shape_of(root, 0);
  if (!shape) return std::unexpected(std::move(shape).error());
  Json::Array required;
  for (const auto& name : shape->required.all()) required.push_back(Json(name));
  Json::Object out;
  out.set("type", "object");
  for (auto [name, value] : root.members()) {
    if (name == "type" || name == "anyOf" || name == "oneOf" || name == "allOf" || name == "$ref") continue;
    if (name == "properties") {
      out.set(name, Json(std::move(shape->properties)));
    } else if (name == "required") {
      out.set(name, Json(std::move(required)));
    } else {
      out.set(name, value);
    }
  }
  if (!out.contains("properties")) out.set("properties", Json(std::move(shape->properties)));
  if (!out.contains("required") && !required.empty()) out.set("required", Json(std::move(required)));
  return FlatSchema{Json(std::move(out)), std::move(shape->sentence)};
}

}  // namespace patchbay
