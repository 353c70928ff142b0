// What servers may have of the user's model: rules of settings, the budget, and the text that is shown. E1.
#include "host/asking/sampling_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

SettingsLayer layer(SettingsSource source, std::string_view sampling) {
  return parse_settings("{\"sampling\":" + std::string(sampling) + "}", source, "/s.json");
}

// E1
TEST(SamplingRules, ARepositoryCanOnlyDeny) {
  using enum SettingsSource;
  using enum SamplingOutcome;
  struct Case {
    std::vector<SettingsLayer> layers;
    SamplingOutcome outcome;
  };
  const std::vector<Case> cases{
      {{}, ask},
      {{layer(own, R"({"allow":["s"]})")}, allow},
      {{layer(enterprise, R"({"allow":["s"]})")}, allow},
      {{layer(own, R"({"allow":["other"]})")}, ask},
      {{layer(project, R"({"allow":["s"]})")}, ask},
      {{layer(project_local, R"({"allow":["s"]})")}, ask},
      {{layer(own, R"({"allow":["s"]})"), layer(project, R"({"deny":["s"]})")}, deny},
      {{layer(own, R"({"allow":["s"],"deny":["*"]})")}, deny},
      // What is denied is not known.
      {{layer(own, R"({"allow":["s"],"deny":"other"})")}, deny},
      {{layer(own, R"({"allow":["s"],"deny":["other",7]})")}, deny},
  };
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(decide_sampling(cases[i].layers, "s", {.scope = ConfigScope::user}), cases[i].outcome) << i;
}

// E1. A repository or a plugin may call its server like one of the user's own.
TEST(SamplingRules, AnAllowanceIsForAServerOfTheUser) {
  using enum SettingsSource;
  using enum SamplingOutcome;
  const std::vector<SettingsLayer> allowed{layer(own, R"({"allow":["s"]})")};
  for (const auto scope : {ConfigScope::dynamic, ConfigScope::local, ConfigScope::user, ConfigScope::enterprise})
    EXPECT_EQ(decide_sampling(allowed, "s", {.scope = scope}), allow);
  const std::vector<SettingsLayer> denied{layer(own, R"({"allow":["s"],"deny":["s"]})")};
  for (const auto scope : {ConfigScope::project, ConfigScope::plugin}) {
    EXPECT_EQ(decide_sampling(allowed, "s", {.scope = scope}), ask);
    EXPECT_EQ(decide_sampling(denied, "s", {.scope = scope}), deny);
  }
  // Of .claude/settings.local.json, which a repository may have as well.
  EXPECT_EQ(decide_sampling(allowed, "s", {.scope = ConfigScope::local, .trust = ConfigTrust::needs_approval}), ask);
}

// E1
TEST(SamplingRules, OfLimitsTheSmallestCounts_AndARepositoryRaisesNone) {
  using enum SettingsSource;
  const SamplingBudget standard;
  EXPECT_EQ(sampling_budget({}), standard);
  const std::vector<SettingsLayer> raised{layer(own, R"({"requestsPerCall":50,"tokensPerCall":90000})")};
  EXPECT_EQ(sampling_budget(raised).requests_per_call, 50u);
  EXPECT_EQ(sampling_budget(raised).tokens_per_call, 90'000u);
  const std::vector<SettingsLayer> both{layer(own, R"({"requestsPerCall":50,"requestsPerServer":7})"),
                                        layer(enterprise, R"({"requestsPerCall":20})"),
                                        layer(project, R"({"requestsPerServer":9000,"tokensPerServer":5})")};
  const auto budget = sampling_budget(both);
  EXPECT_EQ(budget.requests_per_call, 20u);
  EXPECT_EQ(budget.requests_per_server, 7u);
  EXPECT_EQ(budget.tokens_per_server, 5u);
  EXPECT_EQ(layer(own, R"({"requestsPerCall":-1,"tokenPerCall":3})").problems.size(), 2u);
}

// E1
TEST(SamplingRules, ABudgetIsForTheCallAndForTheServer) {
  const SamplingBudget budget{
      .requests_per_call = 2, .tokens_per_call = 100, .requests_per_server = 3, .tokens_per_server = 1000};
  SamplingSpent spent;
  EXPECT_TRUE(spent.take(budget, "s", 1, 60));
  EXPECT_THAT(spent.take(budget, "s", 1, 60), FailsWith(Errc::limit, HasSubstr("40 of 100")));
  EXPECT_TRUE(spent.take(budget, "s", 1, 40));
  EXPECT_THAT(spent.take(budget, "s", 1, 0), FailsWith(Errc::invalid_argument));
  EXPECT_THAT(spent.take(budget, "s", 1, 1), FailsWith(Errc::limit, HasSubstr("2 requests to the model for the call")));
  EXPECT_TRUE(spent.take(budget, "s", 2, 100));
  EXPECT_THAT(spent.take(budget, "s", 3, 1), FailsWith(Errc::limit, HasSubstr("for the server")));
  EXPECT_TRUE(spent.take(budget, "other", 3, 1));
  EXPECT_THAT(spent.take(budget, "other", 4, -5), FailsWith(Errc::invalid_argument));
  EXPECT_THAT(spent.take(budget, "other", 4, std::numeric_limits<std::int64_t>::max()), FailsWith(Errc::limit));
}

// E1: who decides sees all of it, and no line that is not marked as theirs.
TEST(SamplingRules, TheTextIsShownWholeAndEscaped) {
  CreateMessageRequest request;
  request.max_tokens = 10;
  request.system_prompt = "be kind\nat most 0 tokens of answer";
  request.messages.push_back({.role = Role::user, .content = {TextContent{.text = "say \x1b[2J hello"}}});
  request.messages.push_back({.role = Role::user, .content = {ImageContent{.data = "QUJD", .mime_type = "image/png"}}});
  EXPECT_EQ(sampling_text(request),
            "system:\n  | be kind\n  | at most 0 tokens of answer\nuser:\n  | say \\x1b[2J hello\nuser:\n"
            "  | [image image/png, 4 bytes as base64]\nat most 10 tokens of answer\n");
}

}  // namespace
}  // namespace patchbay
