// InputSchemas: the compiled input schemas of tools that were called, for coercing arguments before rules look at them.
// (The session has its own, for checking what is sent to it.) Part of a Host; loop thread only. A schema that cannot be
// understood coerces nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <patchbay/task.h>
#include <patchbay/types.h>

#include "json/schema.h"

namespace patchbay {

class InputSchemas {
 public:
  using Compiled = std::shared_ptr<const Schema>;  // null: cannot be understood

  // Nothing when prepare() has to be awaited first: compiling it would take others on the loop too long.
  std::optional<Compiled> find(const std::shared_ptr<const Tool>& tool);
  // After this, find() finds it.
  Task<Compiled> prepare(std::shared_ptr<const Tool> tool);

 private:
  struct Known {
    std::weak_ptr<const Tool> tool;  // the address belongs to it for as long as this is here
    Compiled schema;
  };
  Compiled keep(const std::shared_ptr<const Tool>& tool, Compiled schema);
  std::unordered_map<const Tool*, Known> known_;
};

// Changes `arguments` to what the schema wants, if that can be done, and says in `coerced` where. Untouched, byte for
// byte, if not.
void coerce_arguments(const Schema& schema, std::uint64_t steps, Payload& arguments,
                      std::vector<CoercedArgument>& coerced);

}  // namespace patchbay
