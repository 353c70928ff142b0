// What the HTTP door decides about a request from its head and body: whether it may come in,
// what it accepts, which era it speaks, whether headers and body agree. Values in, values
// out; used by http_door.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/json.h>

#include "base/clock.h"
#include "http/message.h"
#include "protocol/wire.h"
#include "rpc/message.h"

namespace patchbay {

// Whom the door lets in by name.
struct HttpGate {
  bool loopback = true;  // the address we listen on
  std::vector<std::string> hosts;
  std::vector<std::string> origins;
};
// Why the request is refused, or nothing.
std::optional<std::string> refuse_by_name(const HttpGate& gate, const HttpHeaders& headers);

// A browser shows a page what a server of another origin answers only if the answer says that
// it may. Those headers, for the origins that were named as allowed; none for anybody else.
// A request of the browser's own (OPTIONS) that asks first is answered with what it needs.
bool asks_first(std::string_view method, const HttpHeaders& headers);
HttpHeaders page_headers(const HttpGate& gate, std::string_view method, const HttpHeaders& headers);

// What a client takes as an answer. Without an Accept header: everything.
struct AcceptedTypes {
  bool json = false;
  bool events = false;
  bool operator==(const AcceptedTypes&) const = default;
};
AcceptedTypes accepted_types(const HttpHeaders& headers);

// Whether a message is for the modern front: its own words decide, then the version header.
Era era_of(const HttpHeaders& headers, const Json* params);

// Checks 3 to 7 of a modern request: version header, `_meta`, both equal, a version we speak,
// then the headers that repeat parts of the body. `schema_of` gives a tool's input schema, or
// null. An Error with its JSON-RPC code, or nothing.
std::optional<Error> check_modern_request(const HttpHeaders& headers, std::string_view method, const Json& params,
                                          const std::function<const Json*(std::string_view tool)>& schema_of);

// Whether a message of ours that is no answer may be sent; Errc::limit with both numbers.
Result<void> check_size(const Message& message, std::size_t limit);

// The HTTP status that goes with a JSON-RPC error of a modern answer.
int http_status_of(std::int64_t rpc_code) noexcept;

std::string new_session_id(const Random& random);

// "3-17": event 17 of stream 3.
struct EventId {
  std::uint64_t stream = 0;
  std::uint64_t event = 0;
  bool operator==(const EventId&) const = default;
};
std::string to_text(const EventId& id);
std::optional<EventId> parse_event_id(std::string_view text);

}  // namespace patchbay
