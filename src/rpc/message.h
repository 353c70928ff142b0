// Message: one JSON-RPC 2.0 message, as a value. The envelope is decoded, the payload
// (params, result) is kept as bytes until someone looks inside.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <patchbay/json.h>

namespace patchbay {

// An id keeps its JSON type: 1 and "1" are different requests.
using RequestId = std::variant<std::int64_t, std::string>;
std::string to_text(const RequestId& id);  // as JSON
Json to_json(const RequestId& id);

struct RpcError {
  std::int64_t code = 0;
  std::string message;
  Payload data;
};

struct Request {
  RequestId id;
  std::string method;
  Payload params;
};
struct Notification {
  std::string method;
  Payload params;
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

// One line (without its newline) or body. A batch yields several messages. The block is
// kept alive by the payloads that point into it. Duplicate envelope keys, both result
// and error, ids that are neither string nor integer: Errc::protocol.
struct Decoded {
  std::vector<Message> messages;
  bool batch = false;
};
Result<Decoded> decode_messages(std::shared_ptr<const std::string> block, std::string_view text, JsonOptions options = {});

// Compact JSON without newline.
void append_message(std::string& out, const Message& message);

}  // namespace patchbay
