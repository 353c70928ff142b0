// Answers: asks the program what a server wants to know. The same handlers serve an older server's requests and
// the questions a newer one puts inside a result. Part of a session; loop thread only.
#pragma once

#include <memory>
#include <set>

#include <patchbay/client.h>
#include <patchbay/types.h>

#include "base/apart.h"
#include "base/runtime.h"
#include "base/waiting.h"
#include "protocol/wire_types.h"
#include "rpc/call_clock.h"

namespace patchbay {

class Answers {
 public:
  Answers(asio::any_io_executor executor, const Runtime& runtime, std::shared_ptr<const ClientOptions> options)
      : handlers_(std::move(executor)), runtime_(runtime), options_(std::move(options)) {}

  // Whoever calls it has stopped the clocks of those on whose behalf is asked.
  Task<InputResponse> ask(InputRequest request, CallContext context);
  // The same, for as long as somebody waits for the call that the clock belongs to: a question behind it is cancelled
  // then, whether or not the server takes it back. Null: the call is not known.
  Task<InputResponse> ask_for_call(InputRequest request, CallContext context, const CallClock* clock);
  // Nobody waits for this call any more.
  void call_left(const CallClock& clock) const;
  // Of the call that a clock belongs to; of no call without a clock.
  CallContext context_of(const CallClock* clock) const;
  // The program's handlers, which run apart from whoever waits for an answer: they may close the session they answer
  // for, or not listen to their cancellation (docs/adr/0007).
  const Apart& handlers() const noexcept { return handlers_; }

 private:
  // A question on behalf of a call, while it is open.
  struct Open {
    const CallClock* clock = nullptr;
    bool left = false;
    Event changed;
  };
  using AllOpen = std::set<Open*>;
  static Task<void> until_left(Open& open);
  static Task<InputResponse> until_answered_or_left(std::shared_ptr<AllOpen> all, Task<InputResponse> answer,
                                                    const CallClock* clock, bool elicits);

  std::shared_ptr<AllOpen> open_ = std::make_shared<AllOpen>();
  Apart handlers_;
  Runtime runtime_;
  std::shared_ptr<const ClientOptions> options_;
};

// A form's answer with the schema's default for every property the user left untouched.
Json with_defaults(const Json& requested_schema, Json content);

// What we tell servers we can do, from the handlers that are set.
ClientCapabilities capabilities_of(const ClientOptions& options);

}  // namespace patchbay
