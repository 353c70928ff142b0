// What an answer leads to, and which calls run at the same time. G1.
#include "agent/turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using enum AfterAnswer;

TEST(Turn, AnAnswerLeadsToWhatItsEndSays) {
  struct Case {
    ModelStop stop;
    bool has_uses;
    TurnCounts counts;
    AfterAnswer next;
  };
  const std::vector<Case> cases{
      {ModelStop::end_turn, false, {}, end},
      {ModelStop::end_turn, true, {}, run_tools},  // some local servers say so with calls
      {ModelStop::tool_use, true, {}, run_tools},
      {ModelStop::tool_use, false, {}, end},
      {ModelStop::max_tokens, true, {}, run_tools},
      {ModelStop::max_tokens, false, {}, say_cut_off},
      {ModelStop::max_tokens, false, {.continued = 1}, end},
      {ModelStop::refusal, false, {}, refused},
      {ModelStop::refusal, true, {}, refused},
      {ModelStop::pause, false, {}, ask_again},
      {ModelStop::pause, false, {.pauses = 7}, ask_again},
      {ModelStop::pause, false, {.pauses = 8}, end},
      {ModelStop::pause, true, {}, run_tools},
      {ModelStop::malformed, false, {.malformed = 1}, say_malformed},
      {ModelStop::malformed, false, {.malformed = 2}, end},
      {ModelStop::malformed, true, {}, run_tools},
      {ModelStop::context_full, false, {}, shorten},
      {ModelStop::context_full, true, {}, run_tools},
      {ModelStop::other, false, {}, end},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(after_answer(one.stop, one.has_uses, one.counts), one.next) << to_string(one.stop) << one.has_uses;
  }
}

TEST(Turn, OnlyWhatAsksAgainHasANote) {
  EXPECT_NE(note_for(say_cut_off), "");
  EXPECT_NE(note_for(say_malformed), "");
  EXPECT_EQ(note_for(ask_again), "");
  EXPECT_EQ(note_for(run_tools), "");
}

TEST(Turn, NeighboursThatOnlyReadRunTogether) {
  EXPECT_THAT(batches_of({}), IsEmpty());
  EXPECT_THAT(batches_of({false}), ElementsAre(ElementsAre(0u)));
  EXPECT_THAT(batches_of({true, true, false, true}),
              ElementsAre(ElementsAre(0u, 1u), ElementsAre(2u), ElementsAre(3u)));
  EXPECT_THAT(batches_of({false, false}), ElementsAre(ElementsAre(0u), ElementsAre(1u)));
}

}  // namespace
}  // namespace patchbay
