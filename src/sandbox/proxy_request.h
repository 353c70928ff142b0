// What a program behind the proxy of a sandbox asks for: CONNECT, or plain HTTP with a whole URL. Judged strictly,
// because the proxy and the far side must agree on where a request ends and whom it is for: what two programs could
// read differently is refused. Pure; used by process/domain_proxy.h.
//
// A connection carries one request. So what follows it is never another request, whatever it looks like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "sandbox/domain_rule.h"

namespace patchbay {

struct ProxyRequest {
  DomainTarget target;
  bool tunnel = false;  // CONNECT: what follows is the client's own
  // Of plain HTTP: what is sent to the target, from the request line to the empty line. `Host` is the target's,
  // whatever the client wrote there, and the connection is said to close.
  std::string head;
  enum class Body : std::uint8_t { none, counted, chunked };
  Body body = Body::none;
  std::uint64_t length = 0;  // where it is counted
  bool operator==(const ProxyRequest&) const = default;
};

struct ProxyFault {
  int status = 400;
  std::string text;  // one line
  bool operator==(const ProxyFault&) const = default;
};

// `head`: everything up to and with the empty line.
std::expected<ProxyRequest, ProxyFault> read_proxy_request(std::string_view head);

// A whole answer of the proxy's own, which is the last on its connection.
std::string proxy_answer(int status, std::string_view line);
inline constexpr std::string_view tunnel_is_open = "HTTP/1.1 200 Connection established\r\n\r\n";

// Finds the end of a chunked body without keeping any of it.
class ChunkedBody {
 public:
  // How many of these bytes belong to the body; nothing when they are no chunks. Fewer than all: it has ended.
  std::optional<std::size_t> take(std::string_view bytes);
  bool ended() const noexcept { return state_ == State::over; }

 private:
  enum class State : std::uint8_t { size, extension, size_end, data, data_end, data_end_lf, trailer, trailer_lf, over };
  State state_ = State::size;
  std::uint64_t left_ = 0;  // of the chunk
  std::size_t line_ = 0;    // bytes of the size line, or of all trailers
  std::size_t digits_ = 0;
  bool empty_line_ = true;  // of the trailer
};

}  // namespace patchbay
