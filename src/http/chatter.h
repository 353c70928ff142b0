// Chatter: what a peer sends that is not a message: comments, events of other kinds, pings, lines that are not
// JSON. A little of it is ordinary (signs of life, banners), so it is passed over; without end it would keep us
// busy for nothing. Counted from the last message on; what lies back in time is forgotten bit by bit, so
// that a stream that only shows signs of life may do so for ever. Channels and the WebSocket own one
// per stream. Pure: the time is handed in.
#pragma once

#include <chrono>
#include <cstddef>

#include <patchbay/error.h>

namespace patchbay {

struct ChatterRule {
  std::size_t bytes = 64u << 20;
  std::size_t pieces = 100'000;
  // Forgotten in each second.
  std::size_t bytes_a_second = 1u << 20;
  std::size_t pieces_a_second = 1'000;
};

class Chatter {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit Chatter(ChatterRule rule = {}) : rule_(rule) {}

  // Errc::limit when it is too much; says what came, in words that follow the name of the peer.
  Result<void> note(std::size_t bytes, std::size_t pieces, TimePoint now);
  // A message came.
  void heard() noexcept { bytes_ = pieces_ = 0; }

 private:
  ChatterRule rule_;
  // With fractions: what is forgotten between two pieces may be less than one.
  double bytes_ = 0;
  double pieces_ = 0;
  TimePoint last_{};
};

}  // namespace patchbay
