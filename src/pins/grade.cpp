#include "pins/grade.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "pins/definition.h"
#include "text/visible_text.h"

namespace patchbay {
namespace {

// Of one tool; the rest is in the difference that is shown.
constexpr std::size_t most_reasons = 8;

class Grading {
 public:
  void add(ChangeGrade grade, std::string reason) {
    change_.grade = std::max(change_.grade, grade);
    if (change_.reasons.size() < most_reasons) change_.reasons.push_back(std::move(reason));
  }
  ToolChange take() && { return std::move(change_); }

 private:
  ToolChange change_;
};

std::string shown(std::string_view name) { return fmt::format("\"{}\"", visible_text(name.substr(0, 80))); }

bool is_required(const Json& schema, std::string_view name) {
  const auto* list = schema["required"].if_array();
  return list != nullptr && std::ranges::any_of(*list, [&](const Json& one) { return one.text() == name; });
}

std::set<std::string> properties_of(const Json& schema) {
  std::set<std::string> out;
  if (const auto* object = schema["properties"].if_object()) {
    for (const auto& [key, value] : *object) out.insert(std::string(key));
  }
  return out;
}

// The schema without these properties.
Json without(Json schema, const std::vector<std::string>& names) {
  if (names.empty()) return schema;
  auto properties = schema["properties"];
  for (const auto& name : names) properties.as_object().erase(name);
  if (properties.as_object().empty()) {
    schema.as_object().erase("properties");
  } else {
    schema.as_object().set("properties", std::move(properties));
  }
  return schema;
}

struct SchemaWords {
  std::string_view schema;    // "input schema"
  std::string_view property;  // "argument"
};

// Both canonical.
void grade_schemas(const Json& before, const Json& now, const SchemaWords& words, Grading& grading) {
  if (before == now) return;
  const auto old_names = properties_of(before);
  const auto names = properties_of(now);
  std::vector<std::string> optional;
  bool explained = false;
  auto explain = [&](std::string reason) {
    grading.add(ChangeGrade::ask, std::move(reason));
    explained = true;
  };
  for (const auto& name : names) {
    if (old_names.contains(name)) continue;
    if (is_required(now, name)) {
      explain(fmt::format("it has a new required {} {}", words.property, shown(name)));
    } else {
      optional.push_back(name);
      grading.add(ChangeGrade::note, fmt::format("it has a new optional {} {}", words.property, shown(name)));
    }
  }
  if (without(now, optional) == before) return;
  for (const auto& name : old_names) {
    if (!names.contains(name)) {
      explain(fmt::format("its {} {} is gone", words.property, shown(name)));
    } else if (before["properties"][name] != now["properties"][name]) {
      explain(fmt::format("its {} {} is another one", words.property, shown(name)));
    }
    if (names.contains(name) && is_required(before, name) != is_required(now, name)) {
      explain(fmt::format("its {} {} is {} required", words.property, shown(name),
                          is_required(now, name) ? "now" : "no longer"));
    }
  }
  if (!explained) explain(fmt::format("its {} is another one", words.schema));
}

void grade_output(const std::optional<Json>& before, const std::optional<Json>& now, Grading& grading) {
  if (before && now) {
    grade_schemas(canonical_schema(*before), canonical_schema(*now), {"output schema", "result"}, grading);
  } else if (before || now) {
    grading.add(ChangeGrade::ask, now ? "it has an output schema" : "its output schema is gone");
  }
}

// What clients make of a hint that is not given.
bool only_reads_hint(const Tool& tool) { return tool.annotations && tool.annotations->read_only_hint.value_or(false); }
bool destroys_hint(const Tool& tool) {
  return !only_reads_hint(tool) && (!tool.annotations || tool.annotations->destructive_hint.value_or(true));
}

void grade_annotations(const Tool& before, const Tool& now, Grading& grading) {
  const auto title = [](const Tool& tool) { return tool.annotations ? tool.annotations->title : std::nullopt; };
  if (title(before) != title(now)) grading.add(ChangeGrade::ask, "its title is another one");
  if (!only_reads_hint(before) && only_reads_hint(now)) {
    grading.add(ChangeGrade::ask, "it now says that it only reads");
  } else if (destroys_hint(before) && !destroys_hint(now)) {
    grading.add(ChangeGrade::ask, "it now says that it destroys nothing");
  } else if (parts_of(before).annotations != parts_of(now).annotations) {
    grading.add(ChangeGrade::silent, "its annotations are others");
  }
}

}  // namespace

std::string_view to_string(ChangeGrade grade) noexcept {
  static constexpr std::array names{"none", "silent", "note", "ask", "block"};
  return names.at(static_cast<std::size_t>(grade));
}

ToolChange grade_change(const Tool& before, const Tool& now) {
  Grading grading;
  const auto old_hidden = hiding_texts(before);
  const auto hides_more = std::ranges::any_of(
      hiding_texts(now), [&](const auto& text) { return !std::ranges::binary_search(old_hidden, text); });
  if (hides_more) grading.add(ChangeGrade::block, "it has hidden characters");
  if (before.title.value_or("") != now.title.value_or("")) grading.add(ChangeGrade::ask, "its title is another one");
  if (before.description.value_or("") != now.description.value_or("")) {
    grading.add(ChangeGrade::ask, "its description is another one");
  }
  grade_schemas(canonical_schema(before.input_schema), canonical_schema(now.input_schema), {"input schema", "argument"},
                grading);
  grade_output(before.output_schema, now.output_schema, grading);
  grade_annotations(before, now, grading);
  return std::move(grading).take();
}

ToolChange grade_new_tool(const Tool& now) {
  Grading grading;
  if (!hiding_texts(now).empty()) grading.add(ChangeGrade::block, "it has hidden characters");
  grading.add(ChangeGrade::ask, "it is new");
  return std::move(grading).take();
}

}  // namespace patchbay
