// WebSocket frames: however a stream is cut, the same events and the same fault come out, no message is
// over the limit, and what was read, written again and read again is the same.
//
// Input: role and limit (one byte: the lowest bit, and the rest times four), how the stream is
// cut (one byte, a seed), then the stream.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "ws/frames.h"

namespace {

using namespace patchbay;
using fuzz::require;
using Kind = WebSocketEvent::Kind;

struct Seen {
  std::vector<WebSocketEvent> events;
  std::string fault;
  std::uint16_t code = 0;
  bool operator==(const Seen&) const = default;
};

Seen read(std::string_view stream, WebSocketRole role, std::size_t limit, std::size_t most, std::uint32_t seed) {
  Seen seen;
  WebSocketReader reader(role, limit);
  while (!stream.empty() && seen.fault.empty()) {
    seed = seed * 1664525u + 1013904223u;
    const auto chunk = stream.substr(0, std::size_t{1} + (seed >> 8) % most);
    stream.remove_prefix(chunk.size());
    if (auto fed = reader.feed(chunk); !fed) {
      seen.fault = fed.error().message();
      seen.code = reader.fault_code();
      require(fed.error().code() == (seen.code == close_code::too_big ? Errc::limit : Errc::protocol),
              "a fault and its code belong together");
    }
    while (auto event = reader.next()) {
      const bool message = event->kind == Kind::text || event->kind == Kind::binary;
      require(event->data.size() <= (message ? limit : 125), "an event over its limit");
      seen.events.push_back(std::move(*event));
    }
    require(reader.unfinished() <= limit + 14 + 125, "more is kept than may be");
  }
  return seen;
}

std::string written(const std::vector<WebSocketEvent>& events, std::optional<WebSocketMask> mask) {
  std::string out;
  for (const auto& event : events) {
    switch (event.kind) {
      case Kind::text:
        append_frame(out, WebSocketOpcode::text, event.data, mask);
        break;
      case Kind::binary:
        // In two pieces, which is the same message.
        append_frame(out, WebSocketOpcode::binary, std::string_view(event.data).substr(0, event.data.size() / 2), mask,
                     false);
        append_frame(out, WebSocketOpcode::continuation, std::string_view(event.data).substr(event.data.size() / 2),
                     mask);
        break;
      case Kind::ping:
        append_frame(out, WebSocketOpcode::ping, event.data, mask);
        break;
      case Kind::pong:
        append_frame(out, WebSocketOpcode::pong, event.data, mask);
        break;
      case Kind::close:
        append_frame(out, WebSocketOpcode::close,
                     event.code == close_code::none ? std::string() : close_payload(event.code, event.data), mask);
        break;
    }
  }
  return out;
}

}  // namespace

FUZZ_TARGET(websocket) {
  if (input.size() < 2) return;
  const auto first = static_cast<unsigned char>(input[0]);
  const auto role = (first & 1) != 0 ? WebSocketRole::server : WebSocketRole::client;
  const std::size_t limit = std::size_t{first} / 2 * 4;
  const auto seed = static_cast<unsigned char>(input[1]);
  const auto stream = input.substr(2);
  const auto whole = read(stream, role, limit, stream.size() + 1, 0);
  for (const std::size_t most : {std::size_t{1}, std::size_t{5}}) {
    require(read(stream, role, limit, most, seed) == whole, "another reading of the same stream");
  }
  const auto mask = role == WebSocketRole::server ? std::optional(WebSocketMask{1, 2, 3, seed}) : std::nullopt;
  const auto again = read(written(whole.events, mask), role, limit, 7, seed);
  require(again.events == whole.events && again.fault.empty(), "what was written is read as something else");
}
