// When a request to a model API is sent again, and after which pause. G1.
#include "agent/models/retry_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using Kind = FailedAttempt::Kind;
using std::chrono::milliseconds;

// Sun, 06 Nov 1994 08:49:37 GMT
constexpr Clock::WallTime now{std::chrono::seconds(784111777)};

RetryDecision decide(const FailedAttempt& failed, double jitter = 0) { return retry_decision(failed, {}, now, jitter); }

TEST(RetryRule, RepeatsWhatMayPass) {
  const auto repeated = [](int status) { return decide({.status = status}).pause.has_value(); };
  for (const int status : {408, 409, 429, 500, 502, 503, 504, 529, 599}) EXPECT_TRUE(repeated(status)) << status;
  for (const int status : {400, 401, 402, 403, 404, 413, 422, 301}) EXPECT_FALSE(repeated(status)) << status;
  EXPECT_TRUE(decide({.kind = Kind::unreachable}).pause);
  EXPECT_TRUE(decide({.kind = Kind::cut_off}).pause);
}

TEST(RetryRule, TheApiHasTheLastWord) {
  EXPECT_TRUE(decide({.status = 400, .headers = {{"X-Should-Retry", "true"}}}).pause);
  EXPECT_FALSE(decide({.status = 529, .headers = {{"x-should-retry", "false"}}}).pause);
  EXPECT_TRUE(decide({.status = 529, .headers = {{"x-should-retry", "perhaps"}}}).pause);
}

TEST(RetryRule, PauseDoublesUpToItsLimit) {
  std::vector<milliseconds> pauses;
  for (int attempt = 1; attempt < 8; ++attempt) {
    pauses.push_back(decide({.status = 529, .attempt = attempt}).pause.value_or(-1ms));
  }
  EXPECT_THAT(pauses, testing::ElementsAre(500ms, 1s, 2s, 4s, 8s, 8s, 8s));
  EXPECT_EQ(decide({.status = 529, .attempt = 8}), (RetryDecision{.of = 8}));
  EXPECT_EQ(decide({.status = 529}, 1).pause, 375ms);
  EXPECT_EQ(decide({.status = 529, .attempt = 5}, 0.5).pause, 7s);
  EXPECT_EQ(decide({.status = 529}, 17).pause, 375ms);
}

TEST(RetryRule, NobodyThereIsTriedLessOften) {
  const auto unreached = [](int attempt, int in_a_row) {
    return decide({.kind = Kind::unreachable, .attempt = attempt, .unreached = in_a_row});
  };
  EXPECT_EQ(unreached(1, 1), (RetryDecision{.pause = 500ms, .of = 3}));
  EXPECT_EQ(unreached(2, 2), (RetryDecision{.pause = 1s, .of = 3}));
  EXPECT_EQ(unreached(3, 3), (RetryDecision{.of = 3}));
  // It was there before.
  EXPECT_EQ(unreached(4, 1), (RetryDecision{.pause = 4s, .of = 6}));
  EXPECT_EQ(unreached(7, 1), (RetryDecision{.pause = 8s, .of = 8}));
  EXPECT_EQ(unreached(8, 1), (RetryDecision{.of = 8}));
  EXPECT_TRUE(decide({.kind = Kind::cut_off, .attempt = 3}).pause);
}

TEST(RetryRule, WaitsAsLongAsTheApiAsks) {
  struct Case {
    HttpHeaders headers;
    std::optional<milliseconds> asked;
  };
  const std::vector<Case> cases{
      {{}, {}},
      {{{"retry-after", "3"}}, 3s},
      {{{"Retry-After", " 1.5 "}}, 1500ms},
      {{{"retry-after-ms", "20"}, {"retry-after", "3"}}, 20ms},
      {{{"retry-after-ms", "soon"}, {"retry-after", "3"}}, 3s},
      {{{"retry-after", "0"}}, {}},
      {{{"retry-after", "-3"}}, {}},
      {{{"retry-after", "nan"}}, {}},
      {{{"retry-after", "3 s"}}, {}},
      {{{"retry-after", "1e3"}}, {}},
      {{{"retry-after", std::string(400, '9')}}, 24h * 365},
      {{{"retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"}}, 30s},
      {{{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"}}, {}},  // that is now
      {{{"retry-after", "Sun, 06 Nov 1993 08:50:07 GMT"}}, {}},
      {{{"retry-after", "Sun, 31 Feb 1994 08:50:07 GMT"}}, {}},
      {{{"retry-after", "Sun, 06 Nov 1994 25:50:07 GMT"}}, {}},
      {{{"retry-after", "Sun, 06 Nov 1994 08:50:07 CET"}}, {}},
      {{{"retry-after", "Sun, -6 Nov 1994 08:50:07 GMT"}}, {}},
      {{{"retry-after", "Sunday, 06-Nov-94 08:50:07 GMT"}}, {}},
  };
  for (const auto& each : cases) {
    const auto field = each.headers.empty() ? "" : each.headers.begin()->value;
    EXPECT_EQ(asked_pause(each.headers, now), each.asked) << field;
  }
}

TEST(RetryRule, PauseThatIsTooLongIsReported) {
  EXPECT_EQ(decide({.status = 429, .headers = {{"retry-after", "60"}}}), (RetryDecision{.pause = 60s, .of = 8}));
  EXPECT_EQ(decide({.status = 429, .headers = {{"retry-after", "61"}}}), (RetryDecision{.of = 8, .asked_for = 61s}));
  EXPECT_EQ(decide({.status = 429, .headers = {{"retry-after", "Mon, 07 Nov 1994 08:49:37 GMT"}}}).asked_for, 24h);
}

}  // namespace
}  // namespace patchbay
