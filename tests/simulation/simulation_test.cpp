// A host, a clock that jumps, and servers that do everything wrong, under a seed: whatever happens, every call has one
// outcome, nothing is carried out twice, no answer is another call's, states are legal and nothing is left. A seed
// that fails prints what happened and fails again in the same way. L1, L3, L5, L6, L7, L8, L9, L10, N2, N3, X5.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/seed_run.h"

namespace patchbay::test {
namespace {

std::optional<std::uint64_t> number_in(const char* name) {
  const char* text = std::getenv(name);
  return text && *text ? std::optional<std::uint64_t>(std::stoull(text)) : std::nullopt;
}

#if __has_feature(address_sanitizer) || !defined(NDEBUG)
constexpr std::uint64_t usual_seeds = 500;
#else
constexpr std::uint64_t usual_seeds = 10'000;
#endif

TEST(Simulation, WhateverHappensTheInvariantsHold) {
  std::uint64_t first = 1;
  std::uint64_t last = number_in("PATCHBAY_SIM_SEEDS").value_or(usual_seeds);
  const auto alone = number_in("PATCHBAY_SIM_SEED");
  if (alone) first = last = *alone;
  Totals totals;
  int failed = 0;
  for (auto seed = first; seed <= last && failed < 3; ++seed) {
    SeedRun run(seed);
    const auto problems = run.check(totals);
    if (alone) std::printf("%s\n", fmt::format("{}", fmt::join(run.log(), "\n")).c_str());
    if (problems.empty()) continue;
    ++failed;
    ADD_FAILURE() << "seed " << seed << ":\n  " << fmt::format("{}", fmt::join(problems, "\n  "))
                  << "\nagain: PATCHBAY_SIM_SEED=" << seed << " ./test --only=simulation\n"
                  << fmt::format("{}", fmt::join(run.log(), "\n"));
  }
  std::printf("%s", totals.text().c_str());
  if (alone || failed > 0 || last < 500) return;
  // Otherwise it would show less than it says.
  std::size_t calls = 0;
  for (const auto& [what, count] : totals.calls) calls += count;
  EXPECT_GT(totals.calls["answered"], calls / 3);
  for (const auto* what :
       {"answers 503 to", "answers nobody", "answers twice", "answers with an error", "asks before", "changed its era",
        "crashes at", "died", "drops", "hangs at", "has forgotten the session of", "is slow with", "lingered",
        "never opened", "not reached", "not started", "opened slowly", "stormed", "wants credentials for"}) {
    EXPECT_GT(totals.tried[what], 0u) << what;
  }
  for (const auto* what : {"connected", "connected: tools fetch failed", "disabled: disabled", "failed: connect failed",
                           "failed: connection lost", "failed: gave up", "failed: keeps ending",
                           "needs-auth: wants credentials", "pending: reconnecting"}) {
    EXPECT_GT(totals.states[what], 0u) << what;
  }
  for (const auto* what : {"changed", "disabled", "removed", "as at first", "killed", "reconnected", "stormed"}) {
    EXPECT_GT(totals.edits[what], 0u) << what;
  }
  for (const auto held : {totals.right_answer, totals.said_not_carried_out, totals.names_stay, totals.lists,
                          totals.unharmed, totals.came_back}) {
    EXPECT_GT(held, 0u);
  }
}

// Otherwise a seed that failed would be of no use.
TEST(Simulation, ASeedHappensTheSameWayEveryTime) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Totals ignored;
    SeedRun one(seed), same(seed);
    (void)one.check(ignored);
    (void)same.check(ignored);
    ASSERT_EQ(one.log(), same.log()) << "seed " << seed;
  }
}

// Each invariant finds what it is there for.
TEST(Simulation, WhatIsLookedForWouldBeFound) {
  using enum Habits::Sabotage;
  struct Case {
    Habits::Sabotage sabotage;
    const char* found;
  };
  for (const auto& c : {Case{carried_out_twice, "was carried out 2 times"}, Case{answer_of_another, "got the answer"},
                        Case{said_to_be_not_carried_out, "was carried out and says \"no\""},
                        Case{left_open, "open connections after stop()"}}) {
    std::vector<std::string> problems;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      Totals ignored;
      std::ranges::move(SeedRun(seed, c.sabotage).check(ignored), std::back_inserter(problems));
    }
    EXPECT_THAT(problems, testing::Contains(testing::HasSubstr(c.found)));
  }
}

}  // namespace
}  // namespace patchbay::test
