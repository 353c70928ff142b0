#include "client/listed_tools.h"

#include <utility>

#include "base/as_result.h"
#include "base/offload.h"

namespace patchbay {
namespace {

// Above these, others on the loop would notice.
constexpr std::size_t large_schemas = 16u << 10;
constexpr std::size_t large_arguments = 1u << 20;

std::shared_ptr<const ToolSchemas> compile(const std::string& input, const std::string& output) {
  const Json input_schema = parse_json(input).value_or(Json());
  if (output.empty()) return std::make_shared<const ToolSchemas>(input_schema, nullptr);
  const Json output_schema = parse_json(output).value_or(Json());
  return std::make_shared<const ToolSchemas>(input_schema, &output_schema);
}

// Text that a caller handed in and that cannot be read (a name that is there twice, say).
Error unreadable(const Error& error) { return Error(Errc::invalid_argument, "arguments: " + error.message()); }

const Json& value_of(const Payload& arguments) {
  static const Json none = Json::object();
  if (!arguments) return none;
  try {
    return arguments.value();
  } catch (const Error& error) {
    throw unreadable(error);
  }
}

}  // namespace

ListedTool::ListedTool(const Tool& tool)
    : name_(tool.name),
      input_(to_text(tool.input_schema)),
      output_(tool.output_schema ? to_text(*tool.output_schema) : std::string()) {}

Task<void> ListedTool::prepare(std::shared_ptr<ListedTool> self, const Runtime& runtime) {
  std::shared_ptr<const ToolSchemas> made;
  if (self->input_.size() + self->output_.size() <= large_schemas) {
    made = compile(self->input_, self->output_);
  } else {
    made = co_await offload(Pool::quick,
                            [input = self->input_, output = self->output_] { return compile(input, output); });
  }
  // Another call may have been quicker.
  if (self->ready()) co_return;
  self->schemas_ = std::move(made);
  self->input_ = {};
  self->output_ = {};
  if (const auto* why = self->schemas_->input_problem()) self->tell_unchecked("arguments", *why, runtime);
  if (const auto* why = self->schemas_->output_problem()) self->tell_unchecked("results", *why, runtime);
}

bool ListedTool::is_large(const Payload& arguments) { return arguments && arguments.text().size() > large_arguments; }

void ListedTool::check_arguments(const Payload& arguments, const Runtime& runtime) {
  if (!ready()) return;
  settle(schemas_->check_arguments(name_, value_of(arguments), runtime.limits.schema_steps), "arguments", runtime);
}

Task<void> ListedTool::check_large_arguments(std::shared_ptr<ListedTool> self, Payload arguments,
                                             const Runtime& runtime) {
  // The value inside a payload belongs to this thread, so the text is read once more there.
  auto checked = co_await offload(
      Pool::quick,
      [schemas = self->schemas_, name = self->name_, arguments, steps = runtime.limits.schema_steps]() -> Result<void> {
        auto value = parse_json(arguments.text());
        if (!value) return std::unexpected(unreadable(value.error()));
        return schemas->check_arguments(name, *value, steps);
      });
  self->settle(checked, "arguments", runtime);
}

void ListedTool::check_result(const CallToolResult& result, const Runtime& runtime) {
  if (ready()) settle(schemas_->check_result(name_, result, runtime.limits.schema_steps), "results", runtime);
}

void ListedTool::settle(const Result<void>& checked, std::string_view what, const Runtime& runtime) {
  if (checked) return;
  if (checked.error().code() != Errc::limit) throw checked.error();
  tell_unchecked(what, checked.error(), runtime);
}

void ListedTool::tell_unchecked(std::string_view what, const Error& why, const Runtime& runtime) {
  if (std::exchange(told_, true)) return;
  runtime.log(LogLevel::warning, "not_checked", "tool", name_, "what", what, "reason", why.message());
}

void ListedTools::add(std::span<const Tool> tools) {
  for (const auto& tool : tools) tools_.insert_or_assign(tool.name, std::make_shared<ListedTool>(tool));
}

std::shared_ptr<ListedTool> ListedTools::find(std::string_view tool) const {
  auto found = tools_.find(tool);
  return found == tools_.end() ? nullptr : found->second;
}

}  // namespace patchbay
