// Renewal: a server that has forgotten the session is asked for a new one, and the call that met this is repeated once
// (client/exchange). Calls that meet it together share the new session, or why there is none. Calls that were under
// way and did not meet it themselves fail: they may have been carried out. Where no call is made, but the transport
// has reason to doubt, a ping takes the place of a call. Part of a SessionOwner; loop thread only.
#pragma once

#include <cstddef>
#include <optional>

#include <patchbay/task.h>

#include "base/waiting.h"
#include "client/renewal_pace.h"

namespace patchbay {

class SessionOwner;

class Renewal {
 public:
  Renewal(SessionOwner& session, RenewalRule rule) : session_(session), pace_(rule) {}

  // How many sessions there were after the first.
  std::size_t count() const noexcept { return count_; }
  // The session is gone, and another one is being opened or was not to be had yet.
  bool needed() const noexcept { return needed_; }
  bool running() const noexcept { return running_; }

  // Returns when there is another session than the `seen`th; throws why there is none. The renewal itself is
  // nobody's who calls: one that leaves, or is cancelled by the end of the old connection because it comes from a
  // handler there, does not take it away from the others.
  Task<void> renew(std::size_t seen);
  // The server may have forgotten the session though no call met that.
  void doubt();

 private:
  struct Running;
  static Task<void> run(Running running);
  Task<void> open_anew();
  Task<void> settle_doubt();

  SessionOwner& session_;
  std::size_t count_ = 0;
  bool running_ = false;  // by a coroutine of the session's, whoever waits for it
  bool needed_ = false;
  Event ended_;
  std::optional<Error> failure_;  // how the last one failed
  bool doubting_ = false;         // whether the session still exists is being found out
  RenewalPace pace_;              // of that, from one time to the next
};

}  // namespace patchbay
