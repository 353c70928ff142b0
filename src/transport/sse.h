// The HTTP+SSE transport of revision 2024-11-05: one GET stream brings everything the server
// says, beginning with the address that our messages are posted to: a few at a time, but for the opening of the
// session. When that stream ends, the connection does. Loop thread only; knows no method.
#pragma once

#include <memory>

#include "base/runtime.h"
#include "http/auth.h"
#include "rpc/transport.h"
#include "transport/targets.h"

namespace patchbay {

class SseChannel final : public Channel {
 public:
  // Connects and waits for the address.
  static Task<std::unique_ptr<Channel>> open(HttpTarget options, std::shared_ptr<HttpAuth> auth, Runtime runtime);

  struct State;
  explicit SseChannel(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~SseChannel() override;

  Result<void> send(Message message) override;
  Task<Incoming> receive() override;
  void abandon(const RequestId&) override {}
  bool withdraw(const RequestId& id) override;
  std::vector<RequestId> withdraw_all() override;
  Task<void> close(CloseMode mode) override;
  void set_protocol_version(std::string_view version) override;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace patchbay
