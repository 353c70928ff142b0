#include "protocol/schema_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t shown_problems = 5;
constexpr std::size_t shown_path_bytes = 200;

Result<Schema> compiled(const Json& schema, const SchemaOptions& options = {}) {
  static const Json any_object{{"type", "object"}};
  return Schema::compile(schema.is_null() ? any_object : schema, options);
}

Result<Schema> compiled_form(const Json& schema) { return compiled(schema, {.assert_formats = true}); }

// Names in it may hold anything.
std::string shown_path(std::string_view path) {
  std::string shown(cut_utf8(path, shown_path_bytes));
  const bool plain = std::ranges::none_of(shown, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  return plain ? shown : to_text(Json(std::move(shown)));
}

// "/size: expected integer, found string (type)", the problems behind each other.
std::string one_line(const std::vector<Violation>& violations, std::string_view root) {
  std::string out;
  for (std::size_t i = 0; i < violations.size() && i < shown_problems; ++i) {
    const auto& [path, keyword, location, message] = violations[i];
    out += fmt::format("{}{}: {}", i == 0 ? "" : "; ", path.empty() ? std::string(root) : shown_path(path), message);
    if (!keyword.empty()) out += fmt::format(" ({})", keyword);
  }
  if (violations.size() > shown_problems) out += "; and more";
  return out;
}

// The problems of a value, empty when it fits.
Result<std::string> problems_of(const Schema& schema, const Json& value, std::string_view root, std::uint64_t steps) {
  auto violations = schema.validate(value, {.max_steps = steps, .max_violations = shown_problems + 1});
  if (!violations) return std::unexpected(std::move(violations).error());
  return one_line(*violations, root);
}

}  // namespace

ToolSchemas::ToolSchemas(const Json& input, const Json* output) : input_(compiled(input)) {
  if (output) output_ = compiled(*output);
}

Result<void> ToolSchemas::check_arguments(std::string_view tool, const Json& arguments, std::uint64_t steps) const {
  if (!input_) return {};
  auto problems = problems_of(*input_, arguments, "arguments", steps);
  if (!problems) return std::unexpected(std::move(problems).error());
  if (problems->empty()) return {};
  return fail(Errc::invalid_argument, fmt::format("the arguments do not match the tool \"{}\": {}", tool, *problems));
}

Result<void> ToolSchemas::check_result(std::string_view tool, const CallToolResult& result, std::uint64_t steps) const {
  if (!output_ || !*output_ || result.is_error) return {};
  if (!result.structured_content) {
    return fail(Errc::protocol,
                fmt::format("the tool \"{}\" declares an output schema but returned no structured content", tool));
  }
  auto problems = problems_of(**output_, *result.structured_content, "structuredContent", steps);
  if (!problems) return std::unexpected(std::move(problems).error());
  if (problems->empty()) return {};
  return fail(Errc::protocol, fmt::format("the tool \"{}\" returned a result that does not match its output schema: {}",
                                          tool, *problems));
}

Result<void> check_form(const Json& requested_schema, const Json& content, std::uint64_t steps) {
  auto schema = compiled_form(requested_schema);
  if (!schema) return fail(Errc::unsupported, std::move(schema).error().message());
  auto problems = problems_of(*schema, content, "content", steps);
  if (!problems) return std::unexpected(std::move(problems).error());
  if (problems->empty()) return {};
  return fail(Errc::invalid_argument, std::move(*problems));
}

Result<void> check_form_schema(const Json& requested_schema) {
  auto schema = compiled_form(requested_schema);
  if (schema) return {};
  return fail(Errc::invalid_argument, fmt::format("requestedSchema: {}", schema.error().message()));
}

}  // namespace patchbay
