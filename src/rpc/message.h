// Message: one JSON-RPC 2.0 message, as a value. The envelope is decoded, the payload
// (params, result) is kept as bytes until someone looks inside. Channels decode and
// append, peers match and dispatch. Pure; knows neither methods nor framing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <patchbay/json.h>

#include "base/limits.h"

namespace patchbay {

// An id keeps its JSON type: 1 and "1" are different requests.
using RequestId = std::variant<std::int64_t, std::string>;
std::string to_text(const RequestId& id);  // as JSON
Json to_json(const RequestId& id);
std::optional<RequestId> request_id_of(const Json& id);  // nothing when it is none

struct RpcError {
  std::int64_t code = 0;
  std::string message;
  Payload data;
  std::optional<int> http_status = std::nullopt;  // what a transport said beside it
};

struct Request {
  RequestId id;
  std::string method;
  Payload params;
  // What a transport with headers says about this request beside it; not part of the text.
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Received on the stream of this request of ours, where a transport has a stream for each.
  std::optional<RequestId> on_stream = {};
};
struct Notification {
  std::string method;
  Payload params;
  std::optional<RequestId> on_stream = {};  // as of a request
};
struct Response {
  RequestId id;
  Payload result;
};
struct ErrorResponse {
  std::optional<RequestId> id;  // absent when the peer could not read the request's
  RpcError error;
};

using Message = std::variant<Request, Notification, Response, ErrorResponse>;

// The JSON-RPC codes of the base protocol.
namespace rpc_code {
inline constexpr std::int64_t parse_error = -32700;
inline constexpr std::int64_t invalid_request = -32600;
inline constexpr std::int64_t method_not_found = -32601;
inline constexpr std::int64_t invalid_params = -32602;
inline constexpr std::int64_t internal_error = -32603;
}  // namespace rpc_code

struct Decoded {
  std::vector<Message> messages;
  bool batch = false;
};

// One line (without its newline) or body: `text` is `*block` or a part of it, and payloads
// keep the block alive. A batch (a filled array) yields several messages. Every byte is
// validated; whatever is not JSON-RPC 2.0 is Errc::protocol with its byte offset in `text`:
// duplicate envelope keys, a result beside an error, an id that is not a string or integer, and
// so on. Tolerated, because peers do it: unknown members, null for absent params, null for
// whichever of result and error does not apply, an error without a message. A batch of more
// than `batch` messages is Errc::limit; the rest of it is not read.
Result<Decoded> decode_messages(std::shared_ptr<const std::string> block, std::string_view text,
                                JsonOptions options = {}, std::size_t batch = Limits{}.items);

// The id of a text that failed to decode, if it looks like a reply (an object with a
// top-level id and one of jsonrpc, result, error, without a method): its call can then fail
// at once instead of waiting for its time-out. Reads as far as the text makes sense.
std::optional<RequestId> peek_id(std::string_view text);

// Compact JSON without newline. Payload texts are spliced in byte for byte, except that a
// line break between tokens (a body received pretty-printed) becomes a blank, so that the
// result fits on one line. A response without a result is written with an empty object.
void append_message(std::string& out, const Message& message);
// The array of them, as the one revision with batches writes it.
void append_batch(std::string& out, const std::vector<Message>& messages);
// How many bytes append_message() would add.
std::size_t size_of(const Message& message);
// Whether that is at most `limit`.
bool fits(const Message& message, std::size_t limit);

// The id an answer belongs to; none for other messages, and for an error about no request.
std::optional<RequestId> answered_id(const Message& message);
// The answer itself if it has at most `limit` bytes less those `used` by others of its batch;
// else the error -32603 in its place, which says both numbers: whoever asked must not wait for
// what is never sent.
Message within_limit(Message answer, std::size_t limit, std::size_t used = 0);

}  // namespace patchbay
