// BackgroundCall: a call of a Host that goes on without whoever started it. A handle; copies are the same call. It may
// outlive the host, whose stop() ends the call. Loop thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <patchbay/host_types.h>
#include <patchbay/task.h>

namespace patchbay {

class BackgroundCall {
 public:
  // Its CallOptions::call_id, or the number it got.
  std::uint64_t id() const noexcept;
  const BackgroundCallStatus& status() const noexcept;
  // Waits until the call has ended: its result, or its Error thrown. Whoever stops waiting does not stop the call. The
  // host keeps what it came to until this has returned it once; a handle can return it again.
  Task<CallToolResult> result();
  // Ends it with Errc::cancelled, and the server is informed. Of one that has ended, the host forgets the result.
  void cancel();

 private:
  friend class BackgroundCalls;
  struct State;
  explicit BackgroundCall(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace patchbay
