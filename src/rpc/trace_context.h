// W3C trace context for requests: the `traceparent` that a server finds in a request's `_meta`, so that its spans and
// ours belong to one trace. A request of ours is a span of its own: every one gets a new span id. Nothing that a server
// or a client sent is taken over, so no server learns of another one's trace by us. Pure but for randomness.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/json.h>

#include "base/clock.h"

namespace patchbay {

struct TraceParent {
  std::string trace;   // 32 hexadecimal digits
  std::string parent;  // 16
  std::string flags;   // 2
  bool operator==(const TraceParent&) const = default;
};
// "00-<trace>-<parent>-<flags>", lower case, neither id all zeros. Of a later version than 00 the part we know is used.
std::optional<TraceParent> parse_traceparent(std::string_view text);

class TraceContext {
 public:
  // What variables ask for: TRACEPARENT continues that trace, with TRACESTATE beside it; MCP_TRACE_CONTEXT=1 begins a
  // trace for each request. Null: neither is set. A TRACEPARENT that is none is as if it were not set.
  static std::shared_ptr<const TraceContext> from(
      const std::function<std::optional<std::string>(std::string_view name)>& variables, Random random);

  TraceContext(std::optional<TraceParent> parent, std::string state, Random random)
      : parent_(std::move(parent)), state_(std::move(state)), random_(std::move(random)) {}

  std::string next() const;  // the traceparent of one request
  // The params with it in their `_meta`. Unchanged when they have one already, or are no object.
  Payload added(Payload params) const;

 private:
  std::string digits(std::size_t bytes) const;
  std::optional<TraceParent> parent_;
  std::string state_;
  Random random_;
};

}  // namespace patchbay
