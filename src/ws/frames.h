// WebSocket framing (RFC 6455, section 5) as a state machine: bytes in, events out, however the
// bytes were cut. It checks everything a peer can get wrong: masks, reserved bits, lengths,
// the order of fragments, UTF-8, close codes, and a limit for one message, which is judged by
// the announced length before anything is stored. Used by WebSocket, from either end of a
// connection. Pure; no extension is known, so none may be in use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

// Which end we are: a client masks what it sends, a server does not.
enum class WebSocketRole : std::uint8_t { client, server };

enum class WebSocketOpcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

using WebSocketMask = std::array<std::uint8_t, 4>;

// Close codes that matter here (section 7.4.1).
namespace close_code {
inline constexpr std::uint16_t normal = 1000;
inline constexpr std::uint16_t protocol_error = 1002;
inline constexpr std::uint16_t unsupported_data = 1003;
inline constexpr std::uint16_t none = 1005;  // never sent: the frame named no code
inline constexpr std::uint16_t invalid_text = 1007;
inline constexpr std::uint16_t policy = 1008;
inline constexpr std::uint16_t too_big = 1009;
}  // namespace close_code

// "1001 (going away)"; just the number when it has no agreed meaning.
std::string describe_close_code(std::uint16_t code);

struct WebSocketEvent {
  enum class Kind : std::uint8_t { text, binary, ping, pong, close };
  Kind kind = Kind::text;
  std::string data;        // the message, the payload, or the reason of a close
  std::uint16_t code = 0;  // of a close; close_code::none when it named none
  bool operator==(const WebSocketEvent&) const = default;
};

class WebSocketReader {
 public:
  WebSocketReader(WebSocketRole role, std::size_t message_limit) : role_(role), limit_(message_limit) {}

  // Errc::protocol or Errc::limit when the peer broke a rule; what came before is still handed
  // out by next(), and every later feed fails the same. Bytes behind a close are dropped.
  Result<void> feed(std::string_view bytes);
  std::optional<WebSocketEvent> next();

  // After a failed feed: the code to tell the peer.
  std::uint16_t fault_code() const noexcept { return fault_code_; }
  // How much of an unfinished frame or message has come; 0 between messages.
  std::size_t unfinished() const noexcept;

 private:
  Result<void> read_header();
  Result<void> finish_frame();
  Result<void> finish_close();
  std::unexpected<Error> broken(std::uint16_t code, std::string what);
  std::size_t header_size() const noexcept;
  bool control() const noexcept { return (static_cast<unsigned>(opcode_) & 8) != 0; }
  std::string& target() noexcept { return control() ? control_ : message_; }

  WebSocketRole role_;
  std::size_t limit_;
  std::deque<WebSocketEvent> events_;

  // The frame under way. `header_` is filled first; `left_` counts down its payload.
  std::array<std::uint8_t, 14> header_{};
  std::size_t header_got_ = 0;
  bool in_payload_ = false;
  bool final_ = false;
  WebSocketOpcode opcode_ = WebSocketOpcode::continuation;
  std::uint64_t left_ = 0;
  WebSocketMask mask_{};
  std::size_t mask_at_ = 0;

  std::optional<WebSocketOpcode> fragmented_;  // what the message under way began as
  std::size_t empty_fragments_ = 0;            // of it: they cost nothing to send, and need not end
  std::string message_;
  std::size_t message_before_ = 0;  // its size before the frame under way
  std::string control_;
  bool closed_ = false;
  std::optional<Error> fault_;
  std::uint16_t fault_code_ = 0;
};

// One frame behind `out`; with a mask as a client has to send it.
void append_frame(std::string& out, WebSocketOpcode opcode, std::string_view payload,
                  const std::optional<WebSocketMask>& mask, bool final = true);
// What a close frame carries; the reason is cut to what fits.
std::string close_payload(std::uint16_t code, std::string_view reason);

}  // namespace patchbay
