// Two channels joined back to back inside one process: what one sends, the other
// receives. Made for in-process servers and for tests, by the loop that uses both ends.
//
// It keeps the manners of a wire: messages arrive in order and never on the sender's
// stack; the bounds of a message (size, depth) and of the queue hold; what was sent
// before close() still arrives, then the other end hears the end once. Either end may be
// destroyed first; that closes it. It starts nothing and owns no coroutine.
#pragma once

#include <memory>
#include <utility>

#include "base/limits.h"
#include "rpc/channel.h"

namespace patchbay {

enum class MemoryPayloads {
  share,  // handed over as they are
  copy,   // written and read again, as a wire would
};

using ChannelPair = std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>>;
ChannelPair make_memory_pair(const Limits& limits = {}, MemoryPayloads payloads = MemoryPayloads::share);

}  // namespace patchbay
