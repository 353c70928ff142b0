// KnownSession: what one HTTP channel knows of the session an older server gave it, and what follows from that for each
// request: whether it may go out, what a 404 means, whether the server has to be told of the end. Pure; the channel
// does the sending. A modern server has no sessions, and its requests say so (`stateless`).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transport/outbox.h"

namespace patchbay {

class KnownSession {
 public:
  enum class Phase : std::uint8_t {
    fresh,
    opening,  // the server has not taken `initialized` yet and may refuse requests: they wait
    open,
    expired,  // the server has forgotten it
  };
  Phase phase() const noexcept { return phase_; }
  // Empty when the server gave none.
  const std::string& id() const noexcept { return id_; }

  // `initialize` was answered with this id, or an empty one.
  void initialized(std::string_view id);
  // The notification that opens the session is on its way, and: it was taken, or refused.
  void opening() { phase_ = Phase::opening; }
  void opened();

  bool covers(bool stateless) const noexcept { return !stateless && !id_.empty(); }
  enum class Before : std::uint8_t {
    send,
    wait,    // until opened()
    refuse,  // it would not be carried out
  };
  Before before_request(bool stateless) const noexcept;

  // What is in the body of a 404 that answers a request of the session.
  enum class NotFound : std::uint8_t { nothing, error_without_id, other_error, unknown_method };
  // True when it means that the session is gone: then it is. Some servers answer so what they do not offer, and
  // say in the body that it is this.
  bool request_not_found(NotFound body);
  // Something that is not a request was answered so. True when that is a reason to ask about the session. After the
  // first of all the first request finds out: a ping would cost servers that know neither their session.
  static bool raises_doubt(int status, bool in_session, Outbox::Kind kind) noexcept;

  // Whether the server keeps something for us until it is told.
  bool wants_goodbye() const noexcept { return !id_.empty() && phase_ != Phase::expired; }

 private:
  Phase phase_ = Phase::fresh;
  std::string id_;
};

// Visible ASCII is all a session id may consist of; anything else would be a header of its own.
bool valid_session_id(std::string_view id) noexcept;

}  // namespace patchbay
