// Relisting: when one list of a server is fetched. One fetch at a time: of two that are on their way at once, the
// older might arrive last. A burst of change notices is one fetch, and a server that says at every listing that its
// list changed is asked less and less often; whoever waits for the list does not wait for that. What is fetched, and
// where it is kept, is its owner's business. Part of a Connection; loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <patchbay/task.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/waiting.h"

namespace patchbay {

class Relisting {
 public:
  // `possible`: there is somebody to ask. `fetch` keeps what it gets, or why there is nothing; it does not throw.
  // Both, and the scope, are its owner's and live as long.
  Relisting(Scope& scope, std::function<bool()> possible, std::function<Task<void>()> fetch)
      : scope_(scope), possible_(std::move(possible)), fetch_(std::move(fetch)) {}
  Relisting(const Relisting&) = delete;
  Relisting& operator=(const Relisting&) = delete;

  // The list is another one than the one that was fetched last.
  bool stale() const noexcept { return stale_; }
  // It is fetched within a moment, or by go_on() where that is not possible now.
  void set_stale();
  void set_fresh() { stale_ = false; }  // about to be fetched by its owner
  void go_on();
  // Fetches it now: returns when a fetch has ended that knows of all that has changed until now, or when there is
  // nobody to ask.
  Task<void> fetched();
  // Whoever waits looks again.
  void wake() { ended_.notify_all(); }

 private:
  Task<void> run();
  Task<void> pause(Duration pause);

  Scope& scope_;
  std::function<bool()> possible_;
  std::function<Task<void>()> fetch_;
  bool stale_ = false;
  bool running_ = false;
  bool fetching_ = false;
  std::uint64_t fetches_ = 0;  // that have come to something
  std::size_t waiting_ = 0;
  Event wanted_;
  Event ended_;
};

}  // namespace patchbay
