// The server's end of stdio: a channel over two descriptors that the client handed to this
// process, one message per line. Made by the stdio door of src/server; loop thread only.
//
// A line that is no message is answered with a JSON-RPC error, as a server must. Writing
// never waits: what the pipe does not take is gathered and written together later. Pipes,
// terminals, sockets, files and /dev/null all work; whatever mode a descriptor was in is
// restored at the end. The client's side of stdio, with its process, is transport/stdio.h.
#pragma once

#include <memory>
#include <vector>

#include "base/runtime.h"
#include "rpc/channel.h"

namespace patchbay {

class LineChannel final : public Channel {
 public:
  // The descriptors stay the caller's and must outlive the channel.
  LineChannel(asio::any_io_executor executor, int input, int output, Runtime runtime);
  ~LineChannel() override;

  Result<void> send(Message message) override;
  Result<void> send_batch(std::vector<Message> messages) override;
  Task<Incoming> receive() override;
  void abandon(const RequestId& id) override;
  // Waits for the client to read what was sent, within bounds.
  Task<void> close(CloseMode mode) override;

 private:
  struct State;
  template <class Write>
  Result<void> enqueue(std::size_t most, Write write);
  std::shared_ptr<State> state_;
};

}  // namespace patchbay
