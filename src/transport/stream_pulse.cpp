#include "transport/stream_pulse.h"

#include <algorithm>

namespace patchbay {

void StreamPulse::note(Duration silence, Sign sign) {
  since_ = std::max(since_, silence);
  if (sign != Sign::beat || silence < rule_.least_beat) return;
  beats_.push_back({silence, std::exchange(since_, Duration::zero())});
  if (beats_.size() > remembered) beats_.pop_front();
}

std::optional<Duration> StreamPulse::patience() const {
  auto longest = since_;
  for (const auto& beat : beats_) longest = std::max(longest, beat.longest);
  // An event in between makes the next beat come sooner after it, so shorter silences say nothing against a pace. It
  // takes several that are about as long as the longest.
  const auto paced = std::ranges::count_if(beats_, [&](const Beat& beat) { return beat.silence >= longest / 3 * 2; });
  if (static_cast<std::size_t>(paced) < rule_.beats) return std::nullopt;
  return std::max(rule_.least_patience, longest * rule_.times);
}

}  // namespace patchbay
