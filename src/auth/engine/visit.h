// A visit of the user's browser to an authorization server: the address it comes back to, and what it brings. A
// listener on this machine (auth/loopback_visit), a text that the user pastes, or whatever a program or a test hands
// in. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <patchbay/task.h>

#include "auth/authorization.h"

namespace patchbay {

class AuthorizationVisit {
 public:
  virtual ~AuthorizationVisit() = default;

  virtual const std::string& redirect_uri() const noexcept = 0;
  // Sends the user to `url` and returns what `judge` makes of the answer that came back. An answer that belongs to
  // another attempt (`judge` says Errc::protocol) is refused where it came in, and the wait goes on; every other end is
  // thrown. Bounded in time.
  using Judge = std::function<Result<Secret>(const CallbackAnswer&)>;
  virtual Task<Secret> go(std::string url, Judge judge) = 0;
  // How it ended, for the page that the user looks at.
  virtual void finish(const Result<void>& outcome) = 0;
};

struct VisitWish {
  std::string server;                 // the name of the entry, for the page
  std::string host = "127.0.0.1";     // of the redirect address
  std::optional<std::uint16_t> port;  // a fixed one: no other will do
  std::uint16_t preferred_port = 0;   // of an earlier registration, if it is free
};
// What carries our state and is wrong all the same ends the attempt; a stranger's answer does not.
AuthorizationVisit::Judge judge_of(AuthorizationAttempt attempt);

using OpenVisit = std::function<Task<std::unique_ptr<AuthorizationVisit>>(VisitWish)>;

}  // namespace patchbay
