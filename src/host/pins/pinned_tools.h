// What is offered of the tools that a server listed. A value; made by HostPins, used by Connection.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/error.h>
#include <patchbay/types.h>

namespace patchbay {

struct PinnedTools {
  std::vector<std::shared_ptr<const Tool>> offered;
  std::optional<Error> changed;             // which wait for somebody to agree, with what would help
  std::optional<std::string> instructions;  // those that somebody agreed to, in place of those it has now
};

}  // namespace patchbay
