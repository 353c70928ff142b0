// What settings allow servers to have of the user's model, and how much of it they have had: pure decisions, with the
// text that a person sees who decides. Used by host/asking/questions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <patchbay/config.h>
#include <patchbay/error.h>
#include <patchbay/questions.h>

#include "settings/settings_file.h"

namespace patchbay {

enum class SamplingOutcome : std::uint8_t { allow, ask, deny };
// Denied by any file; else allowed by one outside the repository; else somebody is asked. Who allows a name means the
// server that they have set up: one of that name that a repository or a plugin declares is asked about.
SamplingOutcome decide_sampling(std::span<const SettingsLayer> layers, std::string_view server,
                                const ConfigOrigin& declared);

// Of all files that say one of these numbers, the smallest counts.
struct SamplingBudget {
  std::uint64_t requests_per_call = 10;
  std::uint64_t tokens_per_call = 20'000;  // of answers, as the server asks for them
  std::uint64_t requests_per_server = 100;
  std::uint64_t tokens_per_server = 200'000;
  bool operator==(const SamplingBudget&) const = default;
};
SamplingBudget sampling_budget(std::span<const SettingsLayer> layers);

// What was spent since the host began.
class SamplingSpent {
 public:
  // Takes a request out of the budget, or says in Errc::limit which part of it is used up. A server that asks for more
  // tokens than a call may have is refused; one that names none is an error as well.
  Result<void> take(const SamplingBudget& budget, const std::string& server, std::uint64_t call, std::int64_t tokens);

 private:
  struct Spent {
    std::uint64_t requests = 0;
    std::uint64_t tokens = 0;
  };
  static Result<void> fits(const Spent& spent, std::uint64_t tokens, std::uint64_t most_requests,
                           std::uint64_t most_tokens, std::string_view of);

  std::map<std::string, Spent> servers_;
  std::map<std::uint64_t, Spent> calls_;  // of the latest calls
};

// All that would be sent to the model: who speaks, and what, in lines. What is not text is named with its size.
std::string sampling_text(const CreateMessageRequest& request);

}  // namespace patchbay
