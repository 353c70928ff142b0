// Routing: what modern requests repeat in headers, on transports that have some: which arguments of which tool, known
// from the tools listed last. Part of a connection (SessionCore), which knows whether headers are used
// at all. Pure but for the log.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/types.h>

#include "base/log.h"
#include "protocol/codec.h"
#include "protocol/mirrored_headers.h"
#include "protocol/wire.h"

namespace patchbay {

class Routing {
 public:
  Routing(Log log, std::size_t most_tools) : log_(std::move(log)), most_tools_(most_tools) {}

  // Throws when an argument does not fit.
  std::vector<std::pair<std::string, std::string>> headers_for(const Wire& with, std::string_view method,
                                                               const Members& members) const;
  // Takes out the tools that cannot be called this way. `all`: there are no others.
  void note(std::vector<Tool>& tools, std::vector<DecodeProblem>& problems, bool all);

 private:
  Log log_;
  std::size_t most_tools_;
  std::map<std::string, MirroredArguments, std::less<>> mirrored_;  // by tool
};

}  // namespace patchbay
