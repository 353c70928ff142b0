// How one provider spells a request and its answer. Each provider is one file that implements this; http_model.h sends,
// retries and reads, and knows no provider. Pure: values in, values out. Unknown members, events and blocks pass
// through or are skipped; what a provider means, it says in these values and in no text that is looked at again.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/model.h>

#include "agent/models/api_extras.h"
#include "base/secret.h"
#include "http/message.h"

namespace patchbay {

enum class AnswerFraming : std::uint8_t {
  events,  // server-sent events
  lines,   // one JSON value a line
  whole,   // one JSON value
};

struct ProviderRequest {
  std::string path = {};     // behind the base address: "/v1/messages"
  HttpHeaders headers = {};  // without the key
  Json body = {};
  AnswerFraming framing = AnswerFraming::events;
  ApiExtras extras = {};  // that it has in it, and that may be refused
};

// What was learned of an API, and of a conversation with it, from the answers before.
struct ProviderNow {
  ApiExtras without = {};     // what it refuses
  std::string previous = {};  // AnswerReader::id of the answer before, in the same conversation
};

// What came instead of an answer, as an HTTP error or inside of a stream.
struct ProviderFailure {
  int status = 0;            // of HTTP; for one inside a stream the status that means the same
  std::string type = {};     // the provider's word: "overloaded_error"
  std::string message = {};  // for people; not cleaned
  bool too_long = false;     // the conversation is longer than the model can read
  // The tool (ModelTool::name) because of which the whole request was refused: the request is repeated without it.
  std::string tool = {};
  // Likewise, and the request is repeated without it.
  std::optional<ApiExtra> extra = {};
  // An answer without a failure looks as if this had spoilt it: it is asked for once more without, and what comes then
  // shows whether it is so.
  std::optional<ApiExtra> suspected = {};
  bool operator==(const ProviderFailure&) const = default;
};

using ModelEventSink = std::function<void(const ModelEvent&)>;

// Reads one answer as it arrives.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  // One event with its name ("" where it has none), one line, or the whole body.
  virtual std::expected<void, ProviderFailure> take(std::string_view event, std::string_view data,
                                                    const ModelEventSink& tell) = 0;
  // The answer is complete, whatever may still come.
  virtual bool complete() const noexcept = 0;
  // Once, when the answer is complete or its stream has ended. A stream that was cut off is a failure with status 0.
  virtual std::expected<ModelAnswer, ProviderFailure> finish() = 0;
  // What the provider calls this answer, where a later request can refer to it.
  virtual std::string id() const { return {}; }
};

class Provider {
 public:
  virtual ~Provider() = default;
  virtual const ModelInfo& info() const noexcept = 0;
  virtual ProviderRequest request(const ModelRequest& request, const ProviderNow& now = {}) const = 0;
  // Adds the key to a request as this provider wants it; not called without a key.
  virtual void authorize(HttpHeaders& headers, const Secret& key) const = 0;
  // For the answer to what request() made of the same. What it finds out may be a suspicion.
  virtual std::unique_ptr<AnswerReader> reader(const ModelRequest& request, const ProviderNow& now = {}) const = 0;
  // An answer whose status is not 2xx, to what request() made of the same.
  virtual ProviderFailure failure(int status, std::string_view body, const ModelRequest& request,
                                  const ProviderNow& now = {}) const = 0;
};

}  // namespace patchbay
