// A model behind HTTP: sends what a Provider makes of a request, reads the answer as it arrives and repeats what may
// pass (retry_rule.h). What the provider said wrong, it says as an Error in words that are cleaned and never have the
// key in them. A tool because of which the provider refuses a whole request is left out of that request and of all
// later ones of this model; what an API need not have (api_extras.h) and refuses is left out likewise. Used on one
// loop, which outlives it.
//
// It does not look for keys and addresses, and knows no provider: make_model() brings them together.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <patchbay/model.h>

#include "agent/models/provider.h"
#include "agent/models/retry_rule.h"
#include "base/limits.h"
#include "base/secret.h"
#include "http/client/http_client.h"

namespace patchbay {

struct HttpModelOptions {
  std::shared_ptr<const Provider> provider;
  // "https://api.anthropic.com", with a path where the API has one in front. http as well: only an address that
  // somebody wrote down is such a one.
  std::string base_url;
  Secret key = {};            // empty: none is sent
  std::string key_name = {};  // where the key comes from or would be looked for, for messages: "ANTHROPIC_API_KEY"
  HttpClientOptions http = {};
  Limits limits = {};  // `message`: of one event, one line, and of a whole answer; `depth` of its JSON
  // Local models may read a long conversation for minutes before they answer.
  HttpRequestLimits waits = {.first_byte = std::chrono::minutes(10), .idle = std::chrono::minutes(10)};
  // An answer may have nothing but comments for so long: a server that reads a long conversation says so that it lives.
  Duration quiet = std::chrono::hours(1);
  RetryLimits retry = {};
  std::function<double()> jitter = {};  // from 0 to 1; unset: random
  // What APIs have refused so far; null: this model remembers it for itself.
  std::shared_ptr<RefusedExtras> refused = {};
};

// Errc::config for a base address that is none.
std::shared_ptr<Model> make_http_model(HttpModelOptions options);

// Where a request goes. A version that both the address and the path name ("/v1" and "/v1/messages") counts once.
std::string model_url(std::string_view base_url, std::string_view path);

}  // namespace patchbay
