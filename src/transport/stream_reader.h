// StreamReader: reads one stream of events of the HTTP channel into its inbox, within the bounds of what a server may
// send: bytes in memory, things that are no messages, silence where it had shown a pace. Owned by the state of the
// channel, which outlives every read; loop thread only.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include <patchbay/task.h>

#include "base/byte_budget.h"
#include "base/loop_clock.h"
#include "base/runtime.h"
#include "transport/http.h"
#include "transport/http_requester.h"
#include "transport/inbox.h"

namespace patchbay {

// What a stream leaves for its continuation.
struct StreamMemory {
  std::string last_id;
  std::optional<std::chrono::milliseconds> retry;
  std::optional<Error> broken;  // how it ended, if not in good order
  std::size_t events = 0;
  std::size_t messages = 0;  // among them
};

class StreamReader {
 public:
  // `room` returns when the channel is not busy with what earlier messages asked of it.
  StreamReader(asio::any_io_executor executor, const Runtime& runtime, const HttpWaits& waits, HttpRequester& requester,
               MessageInbox& inbox, std::function<std::optional<Task<void>>()> room)
      : executor_(std::move(executor)),
        clock_(loop_clock(executor_)),
        runtime_(runtime),
        waits_(waits),
        requester_(requester),
        inbox_(inbox),
        room_(std::move(room)) {}

  // To the end of the stream. True when the answer to `wanted` was in it. `listens`: nobody waits for a
  // certain message, so the stream must show that it is still there if it has done so before.
  Task<bool> read(HttpExchange& exchange, std::optional<RequestId> wanted, bool listens, StreamMemory& memory);

  // What arrives on this exchange. It may have to go while the server keeps us waiting.
  ByteBudget::Unfinished incoming(HttpExchange& exchange) const;

 private:
  Task<std::string> read_within(HttpExchange& exchange, Duration patience);
  Error too_much(const Error& error) const { return error.within(requester_.shown()); }
  Task<void> wait_for_room(ByteBudget::Unfinished& incoming);

  asio::any_io_executor executor_;
  const Clock& clock_;
  const Runtime& runtime_;
  const HttpWaits& waits_;
  HttpRequester& requester_;
  MessageInbox& inbox_;
  std::function<std::optional<Task<void>>()> room_;
};

}  // namespace patchbay
