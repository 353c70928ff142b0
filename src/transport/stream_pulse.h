// StreamPulse: whether a stream of events is still there, by what it has shown so far. Many servers
// send nothing for hours, so silence alone means nothing. But some send comments at a steady pace for the
// sake of whoever listens, and once one has shown such a pace, a silence of several times its length means
// that the path to it is dead. The HTTP channel asks, for streams that belong to no call; pure.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "base/timeout.h"

namespace patchbay {

struct PulseRule {
  Duration least_beat = std::chrono::seconds(1);       // what follows sooner is no pace, but the beginning of a stream
  std::size_t beats = 3;                               // that show a pace
  Duration least_patience = std::chrono::seconds(60);  // however quick it is
  int times = 4;                                       // of the longest silence that was none
};

class StreamPulse {
 public:
  // A beat says nothing but that somebody is there: a comment, or an event that is no message.
  enum class Sign { beat, other };

  explicit StreamPulse(PulseRule rule) : rule_(rule) {}

  // Something came after so long a silence.
  void note(Duration silence, Sign sign);
  // How long a silence may last now; nothing while there is no pace.
  std::optional<Duration> patience() const;

 private:
  struct Beat {
    Duration silence;  // before it
    Duration longest;  // before anything that came since the beat before, and itself
  };
  static constexpr std::size_t remembered = 8;

  PulseRule rule_;
  std::deque<Beat> beats_;  // the latest
  Duration since_{};        // the longest silence since the last of them
};

}  // namespace patchbay
