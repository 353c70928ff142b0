#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <patchbay/tools.h>

namespace patchbay {

CallToolResult text(std::string text) {
  CallToolResult result;
  result.content.push_back(TextContent{.text = std::move(text), .annotations = {}, .meta = {}, .extra = {}});
  return result;
}

CallToolResult error_text(std::string text) {
  auto result = patchbay::text(std::move(text));
  result.is_error = true;
  return result;
}

CallToolResult structured(Json value) {
  CallToolResult result;
  result.structured_content = std::move(value);
  return result;
}

namespace detail {

Json integer_schema(std::optional<std::int64_t> least, std::optional<std::int64_t> most) {
  Json schema{{"type", "integer"}};
  if (least) schema["minimum"] = *least;
  if (most) schema["maximum"] = *most;
  return schema;
}

std::int64_t read_integer(const Json& value, std::int64_t least, std::int64_t most) {
  const auto number = value.as_int();
  if (number >= least && number <= most) return number;
  throw Error(Errc::invalid_argument, fmt::format("{} is not between {} and {}", number, least, most));
}

std::uint64_t read_unsigned(const Json& value, std::uint64_t most) {
  const auto number = value.to_uint();
  if (number && *number <= most) return *number;
  if (!value.is_number()) (void)value.as_int();  // says what was found
  throw Error(Errc::invalid_argument, fmt::format("{} is not an integer between 0 and {}", to_text(value), most));
}

Json enum_schema(std::vector<std::string> names) {
  Json all = Json::array();
  for (auto& name : names) all.push_back(std::move(name));
  return Json{{"type", "string"}, {"enum", std::move(all)}};
}

Error wrong_kind(std::string_view expected, const Json& found) {
  return Error(Errc::invalid_argument, fmt::format("expected {}, found {}", expected, to_string(found.kind())));
}

Error unknown_name(const Json& value, const std::vector<std::string>& names) {
  return Error(Errc::invalid_argument, fmt::format("{} is not one of {}", to_text(value), fmt::join(names, ", ")));
}

// Said in the keywords that models see most often, where the schema has them.
Json or_null(Json schema) {
  if (schema.size() == 0) return schema;  // anything fits
  const auto type = std::as_const(schema)["type"].text();
  if (!type) return Json{{"anyOf", Json::array({std::move(schema), Json{{"type", "null"}}})}};
  schema["type"] = Json::array({std::string(*type), "null"});
  if (Json* names = schema.find("enum")) names->push_back(nullptr);
  return schema;
}

Tool named_tool(std::string name, std::string description) {
  Tool tool;
  tool.name = std::move(name);
  tool.description = std::move(description);
  return tool;
}

CallToolResult json_result(Json answer) {
  if (answer.is_object()) return structured(std::move(answer));
  const auto plain = answer.text();
  return text(plain ? std::string(*plain) : to_text(answer));
}

Json no_arguments() {
  return Json{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
}

void add_argument(Json& schema, const std::string& name, const std::string& description, Json type,
                  std::optional<Json> preset, bool required) {
  auto& properties = schema["properties"];
  if (name.empty()) throw Error(Errc::invalid_argument, "an argument has no name");
  if (properties.find(name)) throw Error(Errc::invalid_argument, fmt::format("two arguments are called \"{}\"", name));
  if (!description.empty()) type["description"] = description;
  if (preset) type["default"] = std::move(*preset);
  properties[name] = std::move(type);
  if (required) schema["required"].push_back(name);
}

const Json* given(const Json& arguments, const std::string& name) {
  const Json* value = arguments.find(name);
  return value && !value->is_null() ? value : nullptr;
}

Error missing_argument(const std::string& name) {
  return Error(Errc::invalid_argument, fmt::format("the argument \"{}\" is missing", name));
}

}  // namespace detail
}  // namespace patchbay
