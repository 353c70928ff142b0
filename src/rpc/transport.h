// Transport: a recipe for reaching one server. open() makes a live connection and can be called again, so
// probing and reconnecting just open anew. Public headers name it and say no more about it. Loop thread only.
#pragma once

#include <memory>
#include <string>

#include <patchbay/transport.h>

#include "base/runtime.h"
#include "rpc/channel.h"

namespace patchbay {

class Transport {
 public:
  enum class Kind { stdio, http, sse, websocket, memory, text };
  virtual ~Transport() = default;
  virtual Kind kind() const noexcept = 0;
  // For messages: the command line or URL, secrets redacted.
  virtual std::string describe() const = 0;
  virtual Task<std::unique_ptr<Channel>> open(const Runtime& runtime) = 0;
  // What tells this server from others, from one run to the next: a hash, so that it says
  // nothing of what is in it; and a mark that changes when the files behind the server do.
  // Nothing is remembered of a server without a key.
  struct Identity {
    std::string key;
    std::string stamp;
  };
  virtual Identity identity() const { return {}; }
  // An older way to reach the same server, for when this one turns out to be unknown to it.
  virtual std::unique_ptr<Transport> fallback() const { return nullptr; }
};

}  // namespace patchbay
