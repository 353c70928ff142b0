// T2: when a broken stream is asked for again, and from where.
#include "transport/resuming.h"

#include <string>

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using std::chrono::milliseconds;

TEST(Resuming, PausesAreTheServersWithinBounds) {
  struct Case {
    std::optional<int> wish;
    int attempt;
    int pause;
  };
  for (const auto& c : {
           Case{std::nullopt, 0, 1'000},
           Case{std::nullopt, 1, 1'000},
           Case{std::nullopt, 2, 2'000},
           Case{std::nullopt, 3, 4'000},
           Case{std::nullopt, 4, 5'000},
           Case{std::nullopt, 1'000'000, 5'000},
           // Never without one.
           Case{0, 0, 100},
           Case{0, 1, 100},
           Case{0, 2, 200},
           Case{0, 100, 5'000},
           Case{20, 1, 100},
           Case{500, 1, 500},
           Case{500, 2, 1'000},
           // What the server wants is not cut short, and not made longer.
           Case{90'000, 1, 90'000},
           Case{90'000, 9, 90'000},
           Case{3'600'000, 1, 3'600'000},
           Case{2'000'000'000, 1, 3'600'000},
       }) {
    const auto wish = c.wish ? std::optional(milliseconds(*c.wish)) : std::nullopt;
    EXPECT_EQ(pause_before_resuming(wish, c.attempt), milliseconds(c.pause))
        << (c.wish ? std::to_string(*c.wish) : "none") << " " << c.attempt;
  }
}

TEST(Resuming, AnIdMustFitIntoAHeader) {
  EXPECT_TRUE(usable_event_id(""));
  EXPECT_TRUE(usable_event_id("a-1\tb \xC3\xA4"));
  EXPECT_TRUE(usable_event_id(std::string(4096, 'x')));
  EXPECT_FALSE(usable_event_id(std::string(4097, 'x')));
  EXPECT_FALSE(usable_event_id("a\x01"));
  EXPECT_FALSE(usable_event_id("a\x7F"));
  EXPECT_FALSE(usable_event_id("a\r\nX: y"));
}

}  // namespace
}  // namespace patchbay
