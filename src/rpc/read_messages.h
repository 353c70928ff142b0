// What one text of a peer (a line, an event, a body) turned out to be. Channels call it for everything they
// receive. A short text is read at once. A long one is read on a helper thread, values and all, so
// that a large message of one connection does not make the others wait: see Limits::parse_here.
//
// Whoever takes a message that was read aside finds the values of its payloads made; their weight in
// byte_budget(), and that of the text, goes with the payloads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/task.h>

#include "base/byte_budget.h"
#include "base/limits.h"
#include "rpc/message.h"

namespace patchbay {

struct ReadMessages {
  // Errc::protocol, or Errc::limit when there are too many values in it or no room for them.
  Result<Decoded> decoded;
  // When it could not be decoded: the request it looks like the answer to.
  std::optional<RequestId> seems_to_answer;
};

inline bool is_read_aside(std::size_t size, const Limits& limits) noexcept { return size > limits.parse_here; }

// `text` is `*block` or a part of it.
ReadMessages read_messages(std::shared_ptr<const std::string> block, std::string_view text, const Limits& limits);

// The same aside; `weight` is what was charged for the text while it came in.
Task<ReadMessages> read_messages_aside(std::shared_ptr<const std::string> block, std::string_view text,
                                       ByteBudget::Charge weight, Limits limits);

// How many values and keys of objects a text has.
struct MessageCensus {
  std::size_t nodes = 0;
  std::size_t keys = 0;
};
// decode_messages() with a bound on values; tells how many there were.
Result<Decoded> decode_messages(std::shared_ptr<const std::string> block, std::string_view text, JsonOptions options,
                                std::size_t batch, std::size_t max_nodes, MessageCensus& census);

}  // namespace patchbay
