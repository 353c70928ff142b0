// A Model of a choice: the provider, what sends for it, or a script. The one place that knows all providers. What is
// said of make_model() in patchbay/model.h is this with a choice made from variables alone.
#pragma once

#include <memory>

#include <patchbay/model.h>

#include "agent/models/api_extras.h"
#include "agent/models/model_choice.h"
#include "agent/models/retry_rule.h"
#include "base/limits.h"
#include "http/client/http_client.h"

namespace patchbay {

struct MakeModelOptions {
  HttpClientOptions http = {};
  Limits limits = {};
  RetryLimits retry = {};
  std::shared_ptr<RefusedExtras> refused = {};  // shared by the models of a process; null: each has its own
};

// Throws Errc::config for a script that cannot be read; reading it blocks. Nothing is sent.
std::shared_ptr<Model> make_model(const ModelChoice& choice, MakeModelOptions options);

}  // namespace patchbay
