// What a model API said wrong, as Errors and in one line. Provider texts are cleaned and cut, and the key is taken out:
// some APIs repeat it. Pure; http_model calls it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <patchbay/error.h>

#include "agent/models/provider.h"
#include "base/secret.h"

namespace patchbay {

// Whom we asked, for messages.
struct Asked {
  std::string provider = {};
  std::string model = {};
  std::string address = {};   // the base address, as it may be shown
  Secret key = {};            // empty: none was sent
  std::string key_name = {};  // where it comes from
};

// When it is given up, after so many attempts. `asked_for`: the pause it wants, which is too long to wait for.
Error failure_error(const Asked& asked, const ProviderFailure& failure, int attempts,
                    std::optional<std::chrono::milliseconds> asked_for = {});
// A connection that could not be made, or did not last.
Error connection_error(const Asked& asked, const Error& error, int attempts);
// A page for people instead of an answer.
Error not_a_model(const Asked& asked);

// For ModelRetry::reason.
std::string failure_reason(const Asked& asked, const ProviderFailure& failure);
std::string connection_reason(const Asked& asked, const Error& error);
// For ToolLeftOut::reason.
std::string refusal_text(const Asked& asked, const ProviderFailure& failure);

}  // namespace patchbay
