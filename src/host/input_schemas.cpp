#include "host/input_schemas.h"

#include <utility>

#include "base/offload.h"
#include "json/coerce.h"

namespace patchbay {
namespace {

constexpr std::size_t most_known = 1000;
// Above these, others on the loop would notice.
constexpr std::size_t large_schema = 16u << 10;
constexpr std::size_t large_arguments = 1u << 20;

InputSchemas::Compiled compiled(const Json& schema) {
  auto made = Schema::compile(schema);
  return made ? std::make_shared<const Schema>(std::move(*made)) : nullptr;
}

}  // namespace

std::optional<InputSchemas::Compiled> InputSchemas::find(const std::shared_ptr<const Tool>& tool) {
  if (const auto found = known_.find(tool.get()); found != known_.end() && !found->second.tool.expired()) {
    return found->second.schema;
  }
  if (to_text(tool->input_schema).size() > large_schema) return std::nullopt;
  return keep(tool, compiled(tool->input_schema));
}

Task<InputSchemas::Compiled> InputSchemas::prepare(std::shared_ptr<const Tool> tool) {
  if (auto found = find(tool)) co_return *found;
  auto made = co_await offload(Pool::quick, [tool] { return compiled(tool->input_schema); });
  co_return keep(tool, std::move(made));
}

InputSchemas::Compiled InputSchemas::keep(const std::shared_ptr<const Tool>& tool, Compiled schema) {
  if (known_.size() >= most_known) known_.clear();
  known_.insert_or_assign(tool.get(), Known{tool, schema});
  return schema;
}

void coerce_arguments(const Schema& schema, std::uint64_t steps, Payload& arguments,
                      std::vector<CoercedArgument>& coerced) {
  if (!arguments || arguments.text().size() > large_arguments) return;
  const Json* value = nullptr;
  try {
    value = &arguments.value();
  } catch (const Error&) {
    return;  // cannot be read: whoever checks it says so
  }
  auto coercion = coerce(schema, *value, {.max_steps = steps});
  if (!coercion) return;
  for (const auto& [path, from, to] : coercion->places) {
    coerced.push_back({path, std::string(from), std::string(to)});
  }
  arguments = Payload(std::move(coercion->value));
}

}  // namespace patchbay
