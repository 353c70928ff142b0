// Values of the protocol against the schemas that came with them: a tool's arguments, its
// structured content, the answer to a form. Both sides use it: a client for what a server
// declared, a server for what its own program registered. Pure; a compiled ToolSchemas is
// immutable. It decides nothing about what happens then: a caller may send unchecked what
// cannot be checked, or refuse it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/types.h>

#include "json/schema.h"

namespace patchbay {

// The schemas of one tool, compiled once. What could not be compiled is kept as the reason.
class ToolSchemas {
 public:
  // A null `input` stands for an object of any kind; without `output`, results are not checked.
  ToolSchemas(const Json& input, const Json* output);

  // Why arguments or results go unchecked; null when they do not.
  const Error* input_problem() const noexcept { return input_ ? nullptr : &input_.error(); }
  const Error* output_problem() const noexcept { return !output_ || *output_ ? nullptr : &output_->error(); }

  // Errc::invalid_argument when they do not fit, naming every place, what was expected there
  // and by which keyword, up to a handful. Errc::limit when `steps` did not suffice to tell.
  Result<void> check_arguments(std::string_view tool, const Json& arguments, std::uint64_t steps) const;
  // The same with Errc::protocol. A result that says it is an error need not fit; another one
  // must have structured content when there is a schema for it.
  Result<void> check_result(std::string_view tool, const CallToolResult& result, std::uint64_t steps) const;

 private:
  Result<Schema> input_;
  std::optional<Result<Schema>> output_;
};

// The content of an accepted form against the schema it was asked by, formats included.
// Errc::invalid_argument when it does not fit; Errc::unsupported with the reason when the
// schema cannot be compiled, Errc::limit when `steps` did not suffice.
Result<void> check_form(const Json& requested_schema, const Json& content, std::uint64_t steps);
// Only whether it can be checked: Errc::invalid_argument with the reason when not.
Result<void> check_form_schema(const Json& requested_schema);

}  // namespace patchbay
