#include "cli/texts/tool_text.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/texts/present.h"
#include "text/clean_text.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t longest_line = 4000;
constexpr std::size_t most_options = 12;
constexpr int deepest = 2;

std::string hints_of(const Tool& tool) {
  std::string hints;
  if (const auto& annotations = tool.annotations) {
    if (annotations->read_only_hint == true) hints += " (readOnly)";
    if (annotations->destructive_hint == true) hints += " (destructive)";
  }
  return hints;
}

// What the server says of the effects of a tool; nobody has checked it.
std::string claims_of(const Tool& tool) {
  if (!tool.annotations) return {};
  const auto& hints = *tool.annotations;
  std::vector<std::string> claims;
  auto claim = [&](const std::optional<bool>& hint, const char* yes, const char* no) {
    if (hint) claims.emplace_back(*hint ? yes : no);
  };
  claim(hints.read_only_hint, "it only reads", "it changes things");
  claim(hints.destructive_hint, "it may delete or overwrite things", "it deletes and overwrites nothing");
  claim(hints.idempotent_hint, "a second call with the same arguments changes nothing more",
        "a second call with the same arguments has a further effect");
  claim(hints.open_world_hint, "it reaches things outside the server, such as the web",
        "it reaches nothing outside the server");
  return claims.empty() ? std::string()
                        : fmt::format("\nThe server says of it (not checked): {}\n", join(claims, "; "));
}

std::string description_of(const CatalogEntry& entry) {
  return entry.tool->description.value_or(fmt::format("MCP tool {} from {}", entry.tool->name, entry.server));
}

// What a "$ref" into the same schema stands for; the property itself when it has none.
const Json& resolved(const Json& property, const Json& schema) {
  const auto reference = property["$ref"].text();
  if (!reference || !reference->starts_with("#/")) return property;
  const Json* found = &schema;
  for (const auto step : split(reference->substr(2), '/')) {
    if (!found->is_object()) return property;
    found = found->find(std::string(step));
    if (!found) return property;
  }
  return *found;
}

std::string joined_options(std::vector<std::string> options) {
  std::vector<std::string> once;
  for (auto& option : options) {
    if (!option.empty() && std::ranges::find(once, option) == once.end()) once.push_back(std::move(option));
  }
  if (once.size() > most_options) {
    once.resize(most_options);
    once.emplace_back("…");
  }
  return join(once, " | ");
}

std::string value_text(const Json& value) { return value.is_string() ? std::string(value.as_text()) : to_text(value); }

// "number", "string | null", "array of string", or the values it may have; empty when the schema does not say.
std::string kind_of(const Json& given, const Json& schema, int depth = 0) {
  const auto& property = resolved(given, schema);
  if (depth > deepest || !property.is_object()) return {};
  std::vector<std::string> options;
  if (const auto* values = property["enum"].if_array()) {
    for (const auto& value : *values) options.push_back(value_text(value));
    return joined_options(std::move(options));
  }
  if (const auto* value = property.find("const")) return value_text(*value);
  auto named = [&](std::string_view type) {
    if (type != "array") return std::string(type);
    const auto items = kind_of(property["items"], schema, depth + 1);
    if (items.empty()) return std::string(type);
    return items.contains(" | ") ? fmt::format("array of ({})", items) : fmt::format("array of {}", items);
  };
  if (const auto type = property["type"].text()) return named(*type);
  if (const auto* types = property["type"].if_array()) {
    for (const auto& type : *types) {
      if (const auto text = type.text()) options.push_back(named(*text));
    }
    return joined_options(std::move(options));
  }
  for (const auto* keyword : {"anyOf", "oneOf"}) {
    const auto* choices = property[keyword].if_array();
    if (!choices) continue;
    // Not more than are shown: choices of choices would multiply.
    for (const auto& choice : *choices) {
      if (options.size() > most_options) break;
      options.push_back(kind_of(choice, schema, depth + 1));
    }
    return joined_options(std::move(options));
  }
  return {};
}

std::vector<std::string> required_of(const Tool& tool) {
  std::vector<std::string> names;
  if (const auto* required = tool.input_schema["required"].if_array()) {
    for (const auto& name : *required) {
      if (const auto text = name.text()) names.emplace_back(*text);
    }
  }
  return names;
}

std::size_t room_behind(std::size_t used, std::size_t columns) {
  if (columns == 0) return longest_line;
  // One more for the sign of what was cut, which may take two columns.
  return columns > used + 9 ? columns - used - 1 : 8;
}

// Something of the right type, to be replaced.
Json example_value(const Json& given, const Json& schema, int number, int depth = 0) {
  const auto& property = resolved(given, schema);
  if (depth > deepest || !property.is_object()) return "TEXT";
  if (const auto* values = property["enum"].if_array(); values && !values->empty()) return values->front();
  if (const auto* value = property.find("const")) return *value;
  for (const auto* keyword : {"anyOf", "oneOf"}) {
    const auto* choices = property[keyword].if_array();
    if (choices && !choices->empty()) return example_value(choices->front(), schema, number, depth + 1);
  }
  const auto* types = property["type"].if_array();
  const Json first = types && !types->empty() ? types->front() : property["type"];
  const auto type = first.text();
  if (!type) return "TEXT";
  if (*type == "number" || *type == "integer") return number;
  if (*type == "boolean") return true;
  if (*type == "array") return Json::array();
  if (*type == "object") return Json::object();
  return "TEXT";
}

std::string argument_word(const std::string& name, const Json& value) {
  if (const auto text = value.text()) return fmt::format("{}={}", name, *text);
  return name + (value.is_object() || value.is_array() || value.is_null() ? ":=" : "=") + to_text(value);
}

std::string command_line(const CatalogEntry& entry, const std::vector<std::string>& arguments, TypedWhere where) {
  std::string line = where == TypedWhere::chat ? "/call" : "patchbay call";
  line += shell_operands({entry.server + "/" + entry.tool->name});
  for (const auto& argument : arguments) line += " " + pasted_word(argument);
  return line;
}

}  // namespace

std::string tool_line(const CatalogEntry& entry, std::size_t name_width, std::size_t columns) {
  const auto hints = hints_of(*entry.tool);
  const auto room = room_behind(name_width + 4 + hints.size(), columns);
  return fmt::format("  {:<{}}  {}{}", visible_text(entry.name), name_width, safe_line(description_of(entry), room),
                     hints);
}

std::string tool_with_arguments(const CatalogEntry& entry, std::size_t columns) {
  const auto& schema = entry.tool->input_schema;
  const auto names = required_of(*entry.tool);
  std::string arguments;
  for (const bool required : {true, false}) {
    const auto* properties = schema["properties"].if_object();
    if (!properties) break;
    for (const auto& [name, property] : *properties) {
      if ((std::ranges::find(names, name) != names.end()) != required) continue;
      const auto kind = kind_of(property, schema);
      arguments += fmt::format("{}{}{}{}{}", arguments.empty() ? "" : ", ", safe_name(name, 60), required ? "" : "?",
                               kind.empty() ? "" : ": ", safe_name(kind, 400));
    }
  }
  return fmt::format("  {}({}){}\n      {}", visible_text(entry.name), arguments, hints_of(*entry.tool),
                     safe_line(description_of(entry), room_behind(6, columns)));
}

std::string nothing_found_text(std::string_view query) {
  return fmt::format("No tool was found for \"{}\"; to list all tools: patchbay tools\n", safe_name(query, 200));
}

std::string tool_page(const CatalogEntry& entry, TypedWhere where) {
  const auto& tool = *entry.tool;
  const auto names = required_of(tool);
  std::string page = fmt::format("{}\n", visible_text(entry.name));
  if (tool.title) page += fmt::format("{}\n", safe_line(*tool.title, 200));
  if (tool.description) page += fmt::format("\n{}\n", trim(clean_for_display(*tool.description)));
  page += claims_of(tool);
  const auto* properties = tool.input_schema["properties"].if_object();
  page += properties && !properties->empty() ? "\nArguments:\n" : "\nTakes no named arguments.\n";
  for (const auto& [name, property] : properties ? *properties : Json::Object()) {
    const auto kind = kind_of(property, tool.input_schema);
    page += fmt::format("  {}{}{}{}", safe_name(name, 60), kind.empty() ? "" : "  ", safe_name(kind, 400),
                        std::ranges::find(names, name) != names.end() ? "  (required)" : "");
    if (const Json* fallback = property.find("default"))
      page += fmt::format("  (default {})", safe_name(to_text(*fallback), 80));
    page += "\n";
    if (const auto text = property["description"].text()) page += fmt::format("      {}\n", safe_line(*text, 600));
  }
  return page + fmt::format("\nTo call it:\n  {}\n", call_line(entry, {}, Json::object(), where));
}

std::string call_line(const CatalogEntry& entry, const std::vector<std::string>& given, const Json& arguments,
                      TypedWhere where) {
  const auto& schema = entry.tool->input_schema;
  // An object or standard input takes no further words.
  const bool object = given.size() == 1 && given.front().starts_with('{');
  const bool words = !object && std::ranges::find(given, "-") == given.end();
  auto whole = arguments.is_object() ? arguments : Json::object();
  std::vector<std::string> line = words ? given : std::vector<std::string>();
  int number = 0;
  for (const auto& name : required_of(*entry.tool)) {
    ++number;
    if (words && whole.find(name) != nullptr) continue;
    const auto value = whole.find(name) ? whole[name] : example_value(schema["properties"][name], schema, number);
    line.push_back(argument_word(name, value));
    whole[name] = value;
  }
  return command_line(entry, object ? std::vector{to_text(whole)} : line, where);
}

std::string missing_text(const CatalogEntry& entry, const std::vector<std::string>& given, const Json& arguments,
                         TypedWhere where) {
  std::vector<std::string> needed, missing;
  for (const auto& name : required_of(*entry.tool)) {
    needed.push_back(safe_name(name, 80));
    if (arguments.find(name) == nullptr) missing.push_back(needed.back());
  }
  if (missing.empty()) return {};
  return fmt::format(
      "\"{}\" needs {}{}. For example:\n  {}\nTo see what {}: {}{}", safe_name(entry.tool->name, 80),
      join(needed, ", "), missing.size() == needed.size() ? "" : fmt::format("; missing: {}", join(missing, ", ")),
      call_line(entry, given, arguments, where), needed.size() == 1 ? "it means" : "they mean",
      where == TypedWhere::chat ? "/tools" : "patchbay tools", shell_operands({entry.server + "/" + entry.tool->name}));
}

ToolCount tools_of(const Catalog& catalog, const ServerStatus& status) {
  ToolCount out;
  out.listed = static_cast<std::size_t>(std::ranges::count(catalog.tools(), status.name, &CatalogEntry::server));
  const auto twice = static_cast<std::size_t>(std::ranges::count(catalog.repeated(), status.name, &ToolId::server));
  out.denied = status.tool_count - std::min(status.tool_count, out.listed + twice);
  return out;
}

}  // namespace patchbay::cli
