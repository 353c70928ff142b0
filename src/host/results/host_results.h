// The results of a host's conversation: what a model is given of one, keeping what is too large for it, and putting
// kept ones in place of their handles. Owned by the Host; loop thread only. Whatever grows with a result is done on a
// helper thread. The decisions are in results/; result_store has the files.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <patchbay/config.h>
#include <patchbay/json.h>
#include <patchbay/results.h>
#include <patchbay/task.h>
#include <patchbay/types.h>

#include "base/runtime.h"
#include "host/results/result_store.h"
#include "results/fit.h"
#include "results/handle.h"

namespace patchbay {

class HostResults {
 public:
  HostResults(ResultOptions options, std::string state_directory)
      : options_(std::move(options)), store_(std::move(state_directory)) {}

  // MAX_MCP_OUTPUT_TOKENS, and ENABLE_MCP_LARGE_OUTPUT_FILES=false: nothing is kept.
  void use(const VariableLookup& variables);
  void set_conversation(std::string conversation) { options_.conversation = std::move(conversation); }

  // Whether a call may have handles in its arguments.
  bool may_be_named_in(const Payload& arguments) const {
    return !options_.conversation.empty() && may_name_results(arguments.text());
  }
  // Throws Errc::invalid_argument for a result that this conversation does not have.
  Task<Payload> inserted(Payload arguments, std::string principal, std::size_t most_bytes) const;

  Task<ModelResult> for_model(std::string tool, Json tool_meta, CallToolResult result, std::string principal,
                              Runtime runtime = {}) const;
  Task<ResultPart> read(ResultQuery query, std::string principal) const;

 private:
  static Task<ScaledImages> scaled(std::shared_ptr<const CallToolResult> result, Runtime runtime);
  std::string conversation_of(const std::string& principal) const;

  ResultOptions options_;
  ResultStore store_;
  TextBudget budget_;
  bool keep_ = true;
};

// The value a handle stands for, of a result as it was kept; Errc::invalid_argument when it has no such place.
Result<Json> value_at(std::string sent, const ResultRef& reference);

}  // namespace patchbay
