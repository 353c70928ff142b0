// The HTTP part of a WebSocket (RFC 6455, section 4): the request that asks for one, and what
// the answer has to say. Texts in, values out; WebSocket sends and receives them. Pure.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include <patchbay/error.h>

#include "http/client/failure.h"
#include "http/message.h"
#include "http/url.h"

namespace patchbay {

inline constexpr std::string_view mcp_subprotocol = "mcp";

// The request in bytes. `headers` are sent along, but for those that belong to the handshake
// and to framing. A user name in the URL becomes an Authorization, unless there is one.
// Errc::invalid_argument for a header that would be another line.
Result<std::string> handshake_request(const Url& url, const HttpHeaders& headers, std::string_view key);

// What a server makes of the key.
std::string handshake_accept(std::string_view key);

// Whether this answer opens a WebSocket: 101, the right accept, no extension, and no subprotocol but
// ours. None at all is taken: older servers do not name it. Otherwise Errc::protocol says why.
Result<void> check_upgrade(const HttpHead& head, std::string_view key);

// The head of an HTTP/1 answer, out of bytes that come as they like. Interim answers (100, 103)
// are passed over.
class HttpHeadReader {
 public:
  explicit HttpHeadReader(std::size_t limit) : limit_(limit) {}
  // True when it is complete.
  std::expected<bool, HttpFault> feed(std::string_view bytes);
  HttpHead& head() noexcept { return head_; }
  // What came behind it.
  std::string& rest() noexcept { return bytes_; }

 private:
  bool read_head(std::string_view text);

  std::size_t limit_;
  std::string bytes_;
  HttpHead head_;
};

// Of an answer that is not an upgrade: whether `raw` is its whole body as far as its head tells, and
// that body without its chunks.
bool is_whole_body(const HttpHead& head, std::string_view raw);
std::string plain_body(const HttpHead& head, std::string_view raw);

}  // namespace patchbay
