#include "client/renewal_pace.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;

constexpr auto begin = RenewalPace::TimePoint() + 1h;

seconds shown(std::optional<Duration> pause) {
  return pause ? std::chrono::duration_cast<seconds>(*pause) : -1s;  // -1s: not at all
}

// L7: sessions that lasted for so long until there was a doubt, which proved right and was followed by another session:
// how long it waits each time.
std::vector<seconds> waits(RenewalPace& pace, const std::vector<seconds>& lives) {
  std::vector<seconds> result;
  auto now = begin;
  for (const auto life : lives) {
    now += life;
    pace.doubted(now);
    const auto wait = pace.next();
    result.push_back(shown(wait));
    if (!wait) continue;
    now += result.back();
    pace.renewed(now);
  }
  return result;
}

TEST(RenewalPace, AServerThatForgetsEverySession_IsAskedLessAndLessAndThenNoMore) {
  RenewalPace pace;
  EXPECT_THAT(waits(pace, {0s, 1s, 1s, 1s, 29s, 1s, 8s, 1s, 1s, 1s}),
              ElementsAre(0s, 1s, 2s, 4s, 8s, 16s, 30s, 30s, -1s, -1s));
  EXPECT_TRUE(pace.given_up());
}

// Proxies cut silent streams once a minute, and some sessions end with their stream.
TEST(RenewalPace, AServerWhoseSessionsLastAWhile_IsAskedForEver) {
  RenewalPace pace;
  EXPECT_THAT(waits(pace, std::vector<seconds>(100, 55s)), Each(0s));
  EXPECT_FALSE(pace.given_up());
}

TEST(RenewalPace, ASessionThatLastedAWhile_BeginsAnew) {
  RenewalPace pace;
  EXPECT_THAT(waits(pace, {0s, 1s, 30s, 1s, 1h, 24h, 1s}), ElementsAre(0s, 1s, 0s, 1s, 0s, 0s, 1s));
  RenewalPace given_up;
  (void)waits(given_up, std::vector<seconds>(9, 0s));
  EXPECT_TRUE(given_up.given_up());
  given_up.doubted(begin + 24h);
  EXPECT_FALSE(given_up.given_up());
  EXPECT_EQ(given_up.next(), Duration(0));
}

// However long that takes: no session was there that could have lasted.
TEST(RenewalPace, AServerThatGivesNoSession_IsNotAskedForEver) {
  RenewalPace pace;
  pace.doubted(begin);
  std::vector<seconds> asked;
  while (asked.empty() || asked.back() >= 0s) asked.push_back(shown(pace.next()));
  EXPECT_THAT(asked, ElementsAre(0s, 1s, 2s, 4s, 8s, 16s, 30s, 30s, -1s));
}

TEST(RenewalPace, ADoubtThatIsUnfounded_IsNotAReasonToGiveUp) {
  RenewalPace pace;
  (void)waits(pace, std::vector<seconds>(7, 0s));
  for (int i = 0; i < 20; ++i) {
    pace.doubted(begin + 64s);
    EXPECT_EQ(pace.next(), Duration(30s));
    pace.known();
  }
  EXPECT_FALSE(pace.given_up());
}

}  // namespace
}  // namespace patchbay
