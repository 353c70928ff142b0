#include "transport/known_session.h"

#include <algorithm>

namespace patchbay {

void KnownSession::initialized(std::string_view id) { id_ = valid_session_id(id) ? std::string(id) : std::string(); }

void KnownSession::opened() {
  if (phase_ == Phase::opening) phase_ = Phase::open;
}

KnownSession::Before KnownSession::before_request(bool stateless) const noexcept {
  if (phase_ == Phase::opening) return Before::wait;
  return phase_ == Phase::expired && covers(stateless) ? Before::refuse : Before::send;
}

bool KnownSession::request_not_found(NotFound body) {
  if (body == NotFound::unknown_method) return false;
  phase_ = Phase::expired;
  return true;
}

bool KnownSession::raises_doubt(int status, bool in_session, Outbox::Kind kind) noexcept {
  return status == 404 && in_session && kind != Outbox::Kind::opening;
}

bool valid_session_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= 1024 && std::ranges::all_of(id, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace patchbay
