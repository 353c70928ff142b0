#include "transport/stream_pulse.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using namespace std::chrono_literals;

struct Came {
  std::chrono::milliseconds after;
  StreamPulse::Sign sign;
};
constexpr Came beat(std::chrono::milliseconds after) { return {after, StreamPulse::Sign::beat}; }
constexpr Came event(std::chrono::milliseconds after) { return {after, StreamPulse::Sign::other}; }

// T2: silence is a fault only where a server has shown that it would not be silent.
TEST(StreamPulse, APaceThatWasShownLimitsTheSilence) {
  struct Case {
    const char* what;
    std::vector<Came> came;
    std::optional<std::chrono::milliseconds> patience;
  };
  const Case cases[] = {
      {"nothing", {}, {}},
      {"a comment at the beginning", {beat(0ms)}, {}},
      {"many at the beginning", {beat(0ms), beat(1ms), beat(2ms), beat(999ms), beat(5ms)}, {}},
      {"events alone, however regular", {event(15s), event(15s), event(15s), event(15s)}, {}},
      {"two beats", {beat(15s), beat(15s)}, {}},
      {"three", {beat(15s), beat(15s), beat(15s)}, 60s},
      {"quick ones", {beat(1s), beat(1s), beat(1s)}, 60s},
      {"slow ones", {beat(30s), beat(30s), beat(31s)}, 124s},
      {"very slow ones", {beat(10min), beat(10min), beat(10min)}, 40min},
      {"events between them, which postpone the next", {beat(15s), event(10s), beat(15s), event(1s), beat(15s)}, 60s},
      {"events between them, which do not", {beat(15s), event(10s), beat(5s), beat(15s), event(7s), beat(8s)}, {}},
      {"and three that are whole", {beat(15s), event(10s), beat(5s), beat(15s), event(7s), beat(8s), beat(15s)}, 60s},
      {"no pace at all", {beat(1s), beat(100s), beat(7s), beat(40s), beat(300s)}, {}},
      {"an event after a silence longer than the beats", {beat(15s), beat(15s), beat(15s), event(100s)}, {}},
      {"the same, long ago",
       {beat(15s), event(100s), beat(15s), beat(15s), beat(15s), beat(15s), beat(15s), beat(15s), beat(15s), beat(15s),
        beat(15s)},
       60s},
      {"a pace that became slower", {beat(15s), beat(15s), beat(15s), beat(30s), beat(30s), beat(30s)}, 120s},
      {"a pace that is about to", {beat(15s), beat(15s), beat(15s), beat(30s), beat(30s)}, {}},
      {"a first one that was late", {beat(60s), beat(15s), beat(15s), beat(15s)}, {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    StreamPulse pulse({});
    for (const auto& [after, sign] : c.came) pulse.note(after, sign);
    const auto patience = pulse.patience();
    EXPECT_EQ(patience.has_value(), c.patience.has_value());
    if (patience && c.patience) EXPECT_EQ(*patience, Duration(*c.patience));
  }
}

TEST(StreamPulse, TheRuleIsTheCallers) {
  StreamPulse pulse({.least_beat = 0ms, .beats = 1, .least_patience = 50ms, .times = 2});
  EXPECT_FALSE(pulse.patience());
  pulse.note(0ms, StreamPulse::Sign::beat);
  EXPECT_EQ(pulse.patience(), Duration(50ms));
  pulse.note(40ms, StreamPulse::Sign::beat);
  EXPECT_EQ(pulse.patience(), Duration(80ms));
}

}  // namespace
}  // namespace patchbay
