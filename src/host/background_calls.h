// BackgroundCalls: the calls of a Host that go on without their caller, and what became of them until somebody fetches
// it. Owned by the Host, which runs the calls; loop thread only. It bounds their number and knows nothing of servers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <patchbay/background_call.h>

#include "base/scope.h"
#include "base/waiting.h"

namespace patchbay {

struct BackgroundCall::State {
  BackgroundCallStatus status;
  std::optional<Result<CallToolResult>> outcome;  // set once
  bool kept = true;                               // by the host: neither fetched nor cancelled
  bool cancelled = false;                         // by whoever holds it
  Event ended;
  Spawned running;
};

class BackgroundCalls {
 public:
  // Held by what runs the call. It sets the outcome, also when it is destroyed without having run.
  class Ending {
   public:
    explicit Ending(std::shared_ptr<BackgroundCall::State> state) : state_(std::move(state)) {}
    Ending(Ending&&) = default;
    Ending& operator=(Ending&&) = delete;
    ~Ending();
    void set(Result<CallToolResult> outcome);

   private:
    std::shared_ptr<BackgroundCall::State> state_;
  };
  // One that is about to run.
  class Started {
   public:
    explicit Started(std::shared_ptr<BackgroundCall::State> state) : state_(std::move(state)) {}
    void set_running(Spawned running) { state_->running = std::move(running); }
    BackgroundCall call() const { return BackgroundCall(state_); }

   private:
    std::shared_ptr<BackgroundCall::State> state_;
  };

  // Errc::limit when there are `most` of them. The options are those to call with; progress is kept for its status.
  std::pair<Started, Ending> add(std::string tool, CallOptions& options, std::size_t most);
  // In the order in which they were started.
  std::vector<BackgroundCall> kept();

 private:
  void let_go();
  std::vector<std::shared_ptr<BackgroundCall::State>> all_;
};

}  // namespace patchbay
