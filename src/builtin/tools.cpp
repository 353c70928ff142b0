#include "builtin/tools.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "builtin/text.h"

namespace patchbay::builtin {

CallToolResult text_result(std::string text) {
  CallToolResult result;
  result.content.push_back(TextContent{.text = std::move(text)});
  return result;
}

CallToolResult error_result(std::string message) {
  auto result = text_result(std::move(message));
  result.is_error = true;
  return result;
}

CallToolResult error_result(const Error& error) { return error_result(error.message()); }

namespace {

constexpr std::size_t most_candidates = 1000;  // looked at for a better name

// The error, with the name in the same directory that was probably meant.
std::string not_there(const ConfinedRoot& root, const std::string& path, const Error& error) {
  const auto slash = path.rfind('/');
  const auto parent = slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
  const auto listing = root.list(parent.empty() ? "." : parent, most_candidates);
  if (!listing) return error.message();
  std::vector<std::string> names;
  for (const auto& entry : listing->entries) names.push_back(entry.name);
  const auto meant = nearest(path.substr(parent.size()), names);
  if (meant.empty() || meant == path.substr(parent.size())) return error.message();
  return fmt::format("{}; did you mean {}{}?", error.message(), parent, printable_name(meant));
}

}  // namespace

std::optional<std::string> unless_file(const ConfinedRoot& root, const std::string& path) {
  const auto status = root.status(path);
  if (!status) return not_there(root, path, status.error());
  if (status->kind == FileKind::directory) {
    return fmt::format("{} is a directory; use list_dir to see what is in it", path);
  }
  if (status->kind != FileKind::file) return fmt::format("{} is a pipe, socket or device, not a file", path);
  return {};
}

std::optional<std::string> unless_directory(const ConfinedRoot& root, const std::string& path) {
  const auto status = root.status(path);
  if (!status) return not_there(root, path, status.error());
  if (status->kind != FileKind::directory) return fmt::format("{} is not a directory", path);
  return {};
}

Result<std::string> tidy_path(const ConfinedRoot& root, const std::string& path) {
  auto tidy = root.relative(path);
  if (!tidy) return tidy;
  if (tidy->ends_with('/')) tidy->pop_back();
  for (const auto step : split(*tidy, '/')) {
    if (step == "..") return root.resolved(path);
  }
  return tidy;
}

std::string directories(std::size_t count) { return count == 1 ? "1 directory" : fmt::format("{} directories", count); }

Json object_schema(std::vector<Argument> arguments) {
  Json properties = Json::object();
  Json required = Json::array();
  for (auto& argument : arguments) {
    if (argument.required) required.push_back(argument.name);
    properties[argument.name] = std::move(argument.schema);
  }
  Json schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (required.size() > 0) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return schema;
}

ToolAnnotations file_annotations(Effect effect) {
  ToolAnnotations annotations;
  annotations.read_only_hint = effect == Effect::reads;
  if (effect != Effect::reads) {
    annotations.destructive_hint = true;
    annotations.idempotent_hint = effect == Effect::replaces;
  }
  annotations.open_world_hint = false;
  return annotations;
}

}  // namespace patchbay::builtin
