// A conversation is always one that a model can be given, whatever was lost of it. C10.
#include "agent/conversation/repair.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

ModelPart text(std::string words) { return ModelText{std::move(words)}; }
ModelPart use(std::string id) { return ModelToolUse{.id = std::move(id), .name = "t"}; }
ModelPart outcome(std::string id, std::string words = "ok") {
  return ModelToolOutcome{.id = std::move(id), .name = "t", .blocks = {ModelText{std::move(words)}}};
}
ModelPart interrupted(std::string id) { return interrupted_outcome({.id = std::move(id), .name = "t"}); }

struct Said {
  Role role;
  std::vector<ModelPart> parts;
};
ModelMessages messages(std::vector<Said> all) {
  ModelMessages out;
  for (auto& one : all) {
    out.push_back(std::make_shared<ModelMessage>(ModelMessage{.role = one.role, .parts = std::move(one.parts)}));
  }
  return out;
}
bool same(const ModelMessages& a, const ModelMessages& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return *x == *y; });
}

constexpr auto user = Role::user;
constexpr auto model = Role::assistant;

TEST(Repair, MendsWhatAModelWouldRefuse) {
  struct Case {
    const char* what;
    std::vector<Said> before;
    std::vector<Said> after;
  };
  const std::vector<Case> cases{
      {"nothing to do",
       {{user, {text("a")}}, {model, {use("1")}}, {user, {outcome("1")}}},
       {{user, {text("a")}}, {model, {use("1")}}, {user, {outcome("1")}}}},
      {"a use of the last message may wait",
       {{user, {text("a")}}, {model, {use("1")}}},
       {{user, {text("a")}}, {model, {use("1")}}}},
      {"no outcome, and the person goes on",
       {{user, {text("a")}}, {model, {use("1")}}, {user, {text("b")}}},
       {{user, {text("a")}}, {model, {use("1")}}, {user, {interrupted("1"), text("b")}}}},
      {"no outcome, and the model goes on",
       {{user, {text("a")}}, {model, {use("1")}}, {model, {text("b")}}},
       {{user, {text("a")}}, {model, {use("1")}}, {user, {interrupted("1")}}, {model, {text("b")}}}},
      {"one of two outcomes",
       {{user, {text("a")}}, {model, {use("1"), use("2")}}, {user, {outcome("2")}}},
       {{user, {text("a")}}, {model, {use("1"), use("2")}}, {user, {interrupted("1"), outcome("2")}}}},
      {"an outcome comes after all",
       {{user, {text("a")}}, {model, {use("1"), use("2")}}, {user, {outcome("2")}}, {user, {outcome("1")}}},
       {{user, {text("a")}}, {model, {use("1"), use("2")}}, {user, {outcome("1"), outcome("2")}}}},
      {"outcomes without use, of another use, and twice",
       {{user, {text("a"), outcome("0")}},
        {model, {use("1")}},
        {user, {outcome("2"), outcome("1"), outcome("1", "b")}}},
       {{user, {text("a")}}, {model, {use("1")}}, {user, {outcome("1")}}}},
      {"outcomes stand in front",
       {{user, {text("a")}}, {model, {use("1")}}, {user, {text("b"), outcome("1")}}},
       {{user, {text("a")}}, {model, {use("1")}}, {user, {outcome("1"), text("b")}}}},
      {"an outcome too late",
       {{user, {text("a")}}, {model, {use("1")}}, {user, {text("b")}}, {model, {text("c")}}, {user, {outcome("1")}}},
       {{user, {text("a")}}, {model, {use("1")}}, {user, {interrupted("1"), text("b")}}, {model, {text("c")}}}},
      {"neighbours of one role",
       {{user, {text("a")}}, {user, {text("b")}}, {model, {text("c")}}, {model, {text("d")}}},
       {{user, {text("a"), text("b")}}, {model, {text("c"), text("d")}}}},
      {"nothing said",
       {{user, {text("a")}}, {model, {}}, {model, {text(" \n")}}, {user, {text("")}}},
       {{user, {text("a")}}}},
      {"parts of the other role",
       {{user, {text("a"), use("1")}}, {model, {text("b"), outcome("1"), ModelNews{.text = "n"}}}},
       {{user, {text("a")}}, {model, {text("b")}}}},
      {"one id for two uses",
       {{user, {text("a")}}, {model, {use("1"), use("1")}}},
       {{user, {text("a")}}, {model, {use("1")}}}},
      {"the beginning is missing",
       {{model, {text("b")}}},
       {{user, {text("(The beginning of this conversation is missing.)")}}, {model, {text("b")}}}},
  };
  for (const auto& c : cases) {
    const auto mended = repaired(messages(c.before));
    EXPECT_TRUE(same(mended, messages(c.after))) << c.what;
    EXPECT_EQ(broken_rule(mended), "") << c.what;
  }
}

TEST(Repair, ClosesWhatIsOpen) {
  auto all = messages({{user, {text("a")}}, {model, {use("1"), use("2")}}});
  EXPECT_THAT(open_uses(all), SizeIs(2));
  all.push_back(closing_message(all));
  EXPECT_EQ(broken_rule(all), "");
  EXPECT_EQ(closing_message(all), nullptr);
  EXPECT_THAT(text_of({.parts = {std::get<ModelText>(std::get<ModelToolOutcome>(all.back()->parts[0]).blocks[0])}}),
              HasSubstr("interrupted"));
}

TEST(Repair, SaysWhichRuleIsBroken) {
  auto rule = [](std::vector<Said> all) { return broken_rule(messages(std::move(all))); };
  EXPECT_THAT(rule({{user, {}}}), HasSubstr("message 0: it is empty"));
  EXPECT_THAT(rule({{model, {text("a")}}}), HasSubstr("the person does not begin"));
  EXPECT_THAT(rule({{user, {text("a")}}, {user, {text("a")}}}), HasSubstr("message 1: it has the role"));
  EXPECT_THAT(rule({{user, {text("a")}}, {model, {use("1")}}, {user, {text("b")}}}), HasSubstr("no outcome"));
  EXPECT_THAT(rule({{user, {outcome("1")}}}), HasSubstr("no use has the id 1"));
}

// A long conversation with everything in it; then any of its messages and parts are lost or come twice.
TEST(Repair, IsValidWhateverIsLost) {
  std::mt19937 dice(7);
  auto roll = [&](std::size_t sides) { return std::uniform_int_distribution<std::size_t>(0, sides - 1)(dice); };
  for (int round = 0; round < 2000; ++round) {
    ModelMessages all;
    int next = 0;
    std::vector<std::string> open;
    for (std::size_t i = 0, count = 1 + roll(12); i < count; ++i) {
      ModelMessage message{.role = roll(2) == 0 ? user : model};
      for (std::size_t p = 0, parts = roll(4); p < parts; ++p) {
        switch (roll(6)) {
          case 0:
            message.parts.push_back(text(roll(4) == 0 ? " " : "words"));
            break;
          case 1:
          case 2:
            open.push_back(std::to_string(roll(5) == 0 ? next : ++next));
            message.parts.push_back(use(open.back()));
            break;
          case 3:
          case 4:
            message.parts.push_back(outcome(open.empty() ? "none" : open[roll(open.size())]));
            break;
          default:
            message.parts.push_back(ProviderBlock{"p", Json{{"a", 1}}});
        }
      }
      all.push_back(std::make_shared<ModelMessage>(std::move(message)));
    }
    const auto mended = repaired(all);
    ASSERT_EQ(broken_rule(mended), "") << "round " << round;
    ASSERT_TRUE(same(repaired(mended), mended)) << "round " << round;
    // Any beginning of it can be closed and goes on.
    auto begun = ModelMessages(mended.begin(), mended.begin() + static_cast<std::ptrdiff_t>(roll(mended.size() + 1)));
    if (auto closing = closing_message(begun)) add_message(begun, closing);
    add_message(begun, std::make_shared<ModelMessage>(ModelMessage{.parts = {text("go on")}}));
    ASSERT_EQ(broken_rule(begun), "") << "round " << round;
    ASSERT_EQ(begun.back()->role, user);
  }
}

}  // namespace
}  // namespace patchbay
