#include "client/renewal_pace.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

// L7: asked `after` the wait before was over, how long it waits; -1s for not at all.
std::vector<std::chrono::seconds> waits(RenewalPace& pace, std::vector<std::chrono::seconds> after) {
  std::vector<std::chrono::seconds> result;
  auto now = RenewalPace::TimePoint() + 1h;
  for (const auto gap : after) {
    now += gap;
    const auto wait = pace.next(now);
    result.push_back(wait ? std::chrono::duration_cast<std::chrono::seconds>(*wait) : -1s);
    if (wait) now += std::chrono::duration_cast<std::chrono::seconds>(*wait);
  }
  return result;
}

TEST(RenewalPace, AServerThatForgetsEverySession_IsAskedLessAndLessAndThenNoMore) {
  RenewalPace pace;
  EXPECT_THAT(waits(pace, {0s, 1s, 1s, 1s, 60s, 1s, 180s, 1s, 1s, 179s}),
              ElementsAre(0s, 1s, 2s, 4s, 8s, 16s, 30s, 30s, -1s, -1s));
}

TEST(RenewalPace, ASessionThatLastedAWhile_BeginsAnew) {
  RenewalPace pace;
  EXPECT_THAT(waits(pace, {0s, 1s, 181s, 1s, 1h, 24h, 181s}), ElementsAre(0s, 1s, 0s, 1s, 0s, 0s, 0s));
  RenewalPace given_up;
  (void)waits(given_up, {0s, 0s, 0s, 0s, 0s, 0s, 0s, 0s, 0s});
  EXPECT_EQ(given_up.next(RenewalPace::TimePoint() + 24h), Duration(0));
}

}  // namespace
}  // namespace patchbay
