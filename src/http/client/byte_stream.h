// ByteStream: a connection as bytes, without saying what carries them. WebSocket speaks through
// one; connect_stream() makes one over TCP with whatever proxy and TLS the way to a URL takes,
// found and judged as for HTTP (http/client/route.h). Loop thread only.
//
// Reading and writing never wait; readable() and writable() do. One reader and one writer at
// a time. Destroying it closes the connection at once.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <patchbay/task.h>

#include "base/timeout.h"
#include "http/client/http_client.h"

namespace patchbay {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // How many bytes came; nothing when one has to wait; 0 at the end.
  virtual Result<std::optional<std::size_t>> read_now(std::span<char> into) = 0;
  // How many were taken; 0 when one has to wait. What was not taken is offered next, at the same
  // address and not shorter.
  virtual Result<std::size_t> write_now(std::string_view bytes) = 0;

  // Return when it is worth trying again, or after interrupt().
  virtual Task<void> readable() = 0;
  virtual Task<void> writable() = 0;
  // Wakes whoever waits.
  virtual void interrupt() = 0;
};

// Name, TCP to whichever address answers first, proxy, TLS: within `limit` together. Throws what
// an HTTP request would, told of "method shown"; without `shown` of the url. Of the settings, those
// about the way count.
Task<std::unique_ptr<ByteStream>> connect_stream(std::string method, std::string shown, Url url,
                                                 HttpClientOptions settings, Duration limit);

}  // namespace patchbay
