// The stdio transport: a child process that speaks JSON-RPC, one message per line.
//
// Reading happens inside receive(): a caller that does not ask leaves the bytes in the
// pipe, so a flooding server is slowed down, not buffered. Lines that are no messages are
// skipped and counted; a line that is none but carries an id fails that call (Lost).
// Writing never waits: what the pipe does not take is gathered and written together later.
// The end of stdout, or of the command, ends the channel with exit status and stderr tail.
//
// Loop thread only. Knows nothing of methods, eras or configuration.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "rpc/transport.h"
#include "transport/targets.h"

namespace patchbay {

class Process;

class StdioChannel final : public Channel {
 public:
  StdioChannel(std::unique_ptr<Process> process, std::string label, Runtime runtime, asio::any_io_executor executor);
  ~StdioChannel() override;

  Result<void> send(Message message) override;
  Result<void> send_batch(std::vector<Message> messages) override;
  Task<Incoming> receive() override;
  std::optional<Incoming> received() override;
  void abandon(const RequestId& id) override;
  bool withdraw(const RequestId& id) override;
  std::vector<RequestId> withdraw_all() override;
  Task<void> close(CloseMode mode) override;
  std::string diagnostics() const override;
  std::string skipped() const override;

  // See StdioTarget.
  void explain_refusal(std::function<std::string(std::string_view stderr_text, std::string_view refused)> explain);

  // Lines skipped so far because they were no messages.
  std::uint64_t junk_lines() const noexcept;

 private:
  struct State;
  template <class Write>
  Result<void> enqueue(Write write);
  std::shared_ptr<State> state_;
};

// `name` is what messages call the server; empty: the command's file name.
std::unique_ptr<Transport> stdio_transport_with(StdioTarget options, std::string name);

}  // namespace patchbay
