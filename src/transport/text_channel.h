// Messages over a TextChannel, the connection that a program makes itself: one text is one message. It reads
// ahead within bounds, queues what is to be written, and ends within bounds whatever the program's channel does.
// Made by text_transport() and Server::serve; loop thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <patchbay/transport.h>

#include "base/runtime.h"
#include "rpc/channel.h"

namespace patchbay {

class TextMessages final : public Channel {
 public:
  // `shown`: the other side, in messages.
  TextMessages(asio::any_io_executor executor, std::unique_ptr<TextChannel> texts, std::string shown, Runtime runtime);
  ~TextMessages() override;

  Result<void> send(Message message) override;
  Result<void> send_batch(std::vector<Message> messages) override;
  Task<Incoming> receive() override;
  std::optional<Incoming> received() override;
  void abandon(const RequestId&) override {}
  // Waits until what was sent is written, within bounds.
  Task<void> close(CloseMode mode) override;

 private:
  struct State;
  Result<void> enqueue(std::string text);
  std::shared_ptr<State> state_;
};

}  // namespace patchbay
