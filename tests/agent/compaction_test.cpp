// A conversation that becomes shorter is still one that a model can be given. G1.
#include "agent/compaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::HasSubstr;
using testing::Not;

void add(ModelMessages& messages, Role role, std::vector<ModelPart> parts) {
  messages.push_back(std::make_shared<const ModelMessage>(ModelMessage{.role = role, .parts = std::move(parts)}));
}

// `turns` times: the person asks, the model calls one tool `rounds` times, and answers.
ModelMessages conversation(std::size_t turns, std::size_t rounds, std::size_t bytes) {
  ModelMessages all;
  std::size_t id = 0;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    add(all, Role::user, {ModelText{"question " + std::to_string(turn)}});
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto name = std::to_string(++id);
      add(all, Role::assistant, {ModelToolUse{.id = name, .name = "t"}});
      add(all, Role::user, {ModelToolOutcome{.id = name, .name = "t", .blocks = {ModelText{std::string(bytes, 'x')}}}});
    }
    add(all, Role::assistant, {ModelText{"answer " + std::to_string(turn)}});
  }
  return all;
}

std::string words_at(const ModelMessages& messages, std::size_t at) {
  const auto& outcome = std::get<ModelToolOutcome>(messages.at(at)->parts.front());
  return std::get<ModelText>(outcome.blocks.front()).text;
}

TEST(Compaction, OldResultsBecomeOneLineWithTheirHandle) {
  const auto all = conversation(3, 1, 5000);
  const auto shorter =
      without_old_results(all, 4, [](const std::string& id) { return id == "1" ? "@result:abc" : std::string(); });
  ASSERT_EQ(shorter.size(), all.size());
  EXPECT_EQ(broken_rule(shorter), "");
  EXPECT_THAT(words_at(shorter, 2), HasSubstr("kept as @result:abc"));
  EXPECT_THAT(words_at(shorter, 6), HasSubstr("the call was made"));
  EXPECT_EQ(shorter.at(10), all.at(10)) << "the last ones stay the same objects";
  EXPECT_EQ(shorter.at(0), all.at(0));
  EXPECT_LT(tokens_of(shorter), tokens_of(all) / 2);
}

TEST(Compaction, WhereverItIsCutWhatIsLeftIsValid) {
  for (const auto& all : {conversation(5, 2, 400), conversation(1, 12, 400), conversation(6, 0, 10)}) {
    ASSERT_EQ(broken_rule(all), "");
    for (std::size_t keep = 0; keep < tokens_of(all) + 100; keep += 7) {
      const auto from = cut_at(all, keep);
      const auto shorter = with_summary(all, from, "we did things");
      EXPECT_EQ(broken_rule(shorter), "") << keep;
      EXPECT_EQ(shorter.back(), all.back());
      if (from > 0) EXPECT_THAT(text_of(*shorter.front()), HasSubstr("we did things"));
    }
  }
}

TEST(Compaction, ThereIsNothingToCutInAShortOne) {
  EXPECT_EQ(cut_at({}, 10), 0u);
  EXPECT_EQ(cut_at(conversation(1, 0, 0), 0), 1u) << "the newest message alone stays";
  ModelMessages one;
  add(one, Role::user, {ModelText{"hi"}});
  EXPECT_EQ(cut_at(one, 0), 0u);
}

TEST(Compaction, WithoutASummaryWhatThePersonSaidStays) {
  const auto all = conversation(5, 1, 400);
  const auto shorter = with_summary(all, cut_at(all, 50), "");
  EXPECT_THAT(text_of(*shorter.front()), HasSubstr("- question 0"));
  EXPECT_EQ(broken_rule(shorter), "");
}

}  // namespace
}  // namespace patchbay
