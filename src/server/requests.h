// The methods every era has (lists, calls, reads, prompts, completion), from decoded
// params to the result before its envelope. Called by the fronts, which have checked that
// the method exists and put the envelope on.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "protocol/wire.h"
#include "server/context.h"
#include "server/core.h"

namespace patchbay {

Error invalid_params(std::string message);
Error method_not_found(std::string_view method);

// The value of a Result, or its error as -32602 "invalid params".
template <class T>
T params_or_throw(Result<T> result) {
  if (!result) throw invalid_params(result.error().message());
  return std::move(*result);
}

// `params` is an object. `context` and `wire` outlive the task.
Task<Json> serve_method(std::shared_ptr<Server::Core> core, const Wire& wire, Context& context, std::string method,
                        Json params);

}  // namespace patchbay
