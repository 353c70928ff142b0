// What a hook's answer means, what several come to, and what rules and hooks come to together. P3.
#include "hooks/hook_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using enum HookDecision;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Reading {
  HookEvent event;
  std::string output;
  HookAnswer answer;
};

std::string own(std::string_view members) { return R"({"hookSpecificOutput":{)" + std::string(members) + "}}"; }

TEST(HookAnswer, EveryWordOfTheContract) {
  constexpr auto pre = HookEvent::pre_tool_use;
  constexpr auto post = HookEvent::post_tool_use;
  constexpr auto request = HookEvent::permission_request;
  constexpr auto elicit = HookEvent::elicitation;
  using Action = ElicitResult::Action;
  const std::vector<Reading> cases{
      {pre, "", {}},
      {pre, " \n", {}},
      {pre, "{}", {}},
      {pre,
       own(R"("hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"r")"),
       {.decision = allow, .reason = "r"}},
      {pre, own(R"("permissionDecision":"deny")"), {.decision = deny}},
      {pre, own(R"("permissionDecision":"ask")"), {.decision = ask}},
      {pre, own(R"("permissionDecision":"defer")"), {.decision = defer}},
      {pre,
       own(R"("updatedInput":{"a":1},"additionalContext":"c")"),
       {.updated_input = Json{{"a", 1}}, .context = "c"}},
      {pre, R"({"decision":"approve","reason":"r"})", {.decision = allow, .reason = "r"}},
      {pre, R"({"decision":"block","reason":"r"})", {.decision = deny, .reason = "r"}},
      {pre, R"({"continue":false,"stopReason":"s"})", {.decision = deny, .reason = "s"}},
      {pre, R"({"continue":true,"systemMessage":"m","suppressOutput":true})", {.message = "m"}},
      // The stricter of two words.
      {pre, R"({"decision":"block","hookSpecificOutput":{"permissionDecision":"allow"}})", {.decision = deny}},
      {pre, R"({"decision":"approve","hookSpecificOutput":{"permissionDecision":"deny"}})", {.decision = deny}},
      {request,
       own(R"("decision":{"behavior":"allow","updatedInput":{"a":1}})"),
       {.decision = allow, .updated_input = Json{{"a", 1}}}},
      {request, own(R"("decision":{"behavior":"deny","message":"m"})"), {.decision = deny, .reason = "m"}},
      {post, R"({"decision":"block","reason":"r"})", {.decision = deny, .reason = "r"}},
      {post, own(R"("updatedToolOutput":"x")"), {.updated_output = Json("x")}},
      {post, own(R"("updatedMCPToolOutput":"x")"), {.updated_output = Json("x")}},
      {post, own(R"("updatedToolOutput":"x","updatedMCPToolOutput":"y")"), {.updated_output = Json("x")}},
      {HookEvent::post_tool_use_failure, own(R"("additionalContext":"c")"), {.context = "c"}},
      {elicit, own(R"("action":"accept","content":{"a":1})"), {.action = Action::accept, .content = Json{{"a", 1}}}},
      {elicit, own(R"("action":"decline","content":{"a":1})"), {.action = Action::decline}},
      {HookEvent::elicitation_result, own(R"("action":"cancel")"), {.action = Action::cancel}},
  };
  for (const auto& [event, output, expected] : cases) {
    const auto answer = read_hook_answer(event, output);
    ASSERT_TRUE(answer) << output << answer.error().message();
    EXPECT_EQ(*answer, expected) << output;
  }
}

TEST(HookAnswer, AboutAnAgentItMayPrintAnyText) {
  using enum HookEvent;
  const std::vector<Reading> cases{
      {user_prompt_submit, " it is Friday \n", {.context = "it is Friday"}},
      {session_start, "[main]", {.context = "[main]"}},
      {session_start, own(R"("additionalContext":"c")"), {.context = "c"}},
      {stop, "done", {}},
      {pre_compact, "ok", {}},
      {notification, "ok", {}},
      {notification, R"({"decision":"block","reason":"r"})", {.decision = deny, .reason = "r"}},
      {user_prompt_submit, R"({"decision":"block","reason":"r"})", {.decision = deny, .reason = "r"}},
      {user_prompt_submit, R"({"continue":false,"stopReason":"s"})", {.decision = deny, .reason = "s"}},
      {stop, R"({"decision":"block","reason":"r"})", {.decision = deny, .reason = "r"}},
      {stop, R"({"decision":"approve"})", {}},
      {stop, R"({"continue":false,"stopReason":"s"})", {.message = "s", .ends = true}},
      {subagent_stop,
       R"({"continue":false,"decision":"block","reason":"r"})",
       {.decision = deny, .reason = "r", .ends = true}},
  };
  for (const auto& [event, output, expected] : cases) {
    const auto answer = read_hook_answer(event, output);
    ASSERT_TRUE(answer) << output << answer.error().message();
    EXPECT_EQ(*answer, expected) << output;
  }
  EXPECT_FALSE(read_hook_answer(user_prompt_submit, "{broken"));
}

TEST(HookAnswer, JunkIsNoAnswer) {
  for (const auto* output :
       {"ok", "{", "[]", "\"deny\"", "null", "{} {}", R"({"continue":"no"})", R"({"decision":"maybe"})",
        R"({"decision":5})", R"({"hookSpecificOutput":[]})", R"({"hookSpecificOutput":{"hookEventName":"Stop"}})",
        R"({"hookSpecificOutput":{"permissionDecision":"Allow"}})",
        R"({"hookSpecificOutput":{"permissionDecision":1}})", R"({"hookSpecificOutput":{"updatedInput":"x"}})",
        R"({"a":1,"a":2})"}) {
    const auto answer = read_hook_answer(HookEvent::pre_tool_use, output);
    EXPECT_FALSE(answer) << output;
  }
  EXPECT_FALSE(read_hook_answer(HookEvent::permission_request, own(R"("decision":{})")));
  EXPECT_FALSE(read_hook_answer(HookEvent::elicitation, own(R"("action":"yes")")));
  EXPECT_FALSE(read_hook_answer(HookEvent::post_tool_use, R"({"decision":"approve"})"));
  EXPECT_FALSE(read_hook_answer(HookEvent::pre_tool_use, std::string(100'000, '[')));
}

std::shared_ptr<const Hook> hook(std::string name, HookEvent event = HookEvent::pre_tool_use,
                                 std::optional<bool> refuses = {}) {
  return std::make_shared<const Hook>(
      Hook{.setting = {.event = event, .command = std::move(name), .refuses_on_error = refuses, .place = {5, 3}},
           .file = "/f/settings.json"});
}

HookVerdict of(HookEvent event, std::vector<HookOutcome> outcomes) { return merged(event, outcomes); }

TEST(HookVerdict, TheStrictestCounts) {
  const std::vector<HookDecision> all{none, allow, ask, defer, deny};
  for (const auto one : all) {
    for (const auto other : all) {
      const auto verdict = of(HookEvent::pre_tool_use, {{hook("one"), HookAnswer{.decision = one}},
                                                        {hook("other"), HookAnswer{.decision = other}}});
      EXPECT_EQ(verdict.decision, std::max(one, other));
      if (std::max(one, other) == none) continue;
      EXPECT_EQ(verdict.by->setting.command, other > one ? "other" : "one");
    }
  }
}

TEST(HookVerdict, AFailureRefusesWhereItGuards) {
  const auto broken = [](HookEvent event, std::optional<bool> refuses) {
    return of(event, {{hook("x", event, refuses), fail(Errc::config, "it exited with status 1")}});
  };
  EXPECT_EQ(broken(HookEvent::pre_tool_use, {}).decision, deny);
  EXPECT_TRUE(broken(HookEvent::pre_tool_use, {}).failed);
  EXPECT_EQ(broken(HookEvent::pre_tool_use, false).decision, none);
  EXPECT_EQ(broken(HookEvent::elicitation, {}).action, ElicitResult::Action::decline);
  EXPECT_EQ(broken(HookEvent::elicitation, false).action, std::nullopt);
  for (const auto event : {HookEvent::permission_request, HookEvent::post_tool_use, HookEvent::elicitation_result}) {
    EXPECT_EQ(broken(event, {}).decision, none);
    EXPECT_EQ(broken(event, true).decision, deny);
  }
}

TEST(HookVerdict, TheFirstChangeCountsAndNoneOfARefusedCall) {
  const HookAnswer one{.updated_input = Json{{"n", 1}}, .context = "a"};
  const HookAnswer two{.decision = allow, .updated_input = Json{{"n", 2}}, .context = "b"};
  const auto both = of(HookEvent::pre_tool_use, {{hook("one"), one}, {hook("two"), two}});
  EXPECT_EQ(both.updated_input, (Json{{"n", 1}}));
  EXPECT_EQ(both.input_by->setting.command, "one");
  EXPECT_THAT(both.context, ElementsAre("a", "b"));
  const auto refused = of(HookEvent::pre_tool_use, {{hook("one"), one}, {hook("no"), HookAnswer{.decision = deny}}});
  EXPECT_EQ(refused.updated_input, std::nullopt);
}

TEST(HookVerdict, OfAnswersForTheUserTheStrictestCounts) {
  using Action = ElicitResult::Action;
  const HookAnswer yes{.action = Action::accept, .content = Json{{"a", 1}}};
  const HookAnswer no{.action = Action::decline};
  const auto verdict = of(HookEvent::elicitation,
                          {{hook("yes", HookEvent::elicitation), yes}, {hook("no", HookEvent::elicitation), no}});
  EXPECT_EQ(verdict.action, Action::decline);
  EXPECT_EQ(verdict.content, std::nullopt);
}

struct Combination {
  std::string name;
  PermissionDecision decided;
  HookDecision said;
  PermissionOutcome outcome;
  PermissionMode mode = PermissionMode::standard;
  bool requires_question = false;
};

// Deny and ask rules count after a hook's allow.
TEST(HookVerdict, RulesAndHooksTogether) {
  using enum PermissionOutcome;
  const auto by_rule = [](PermissionOutcome outcome) { return PermissionDecision{outcome, "r", "mcp__s", "/f", 1, 1}; };
  const auto simply = [](PermissionOutcome outcome) { return PermissionDecision{outcome, "m", "", "", 0, 0}; };
  const PermissionDecision unreadable{PermissionOutcome::deny, "u", "", "/f", 1, 1};
  const auto dont_ask = PermissionMode::dont_ask;
  const std::vector<Combination> cases{
      {"nothing said", simply(PermissionOutcome::ask), none, PermissionOutcome::ask},
      {"allow over the mode's question", simply(PermissionOutcome::ask), HookDecision::allow, PermissionOutcome::allow},
      {"allow over dontAsk", simply(PermissionOutcome::deny), HookDecision::allow, PermissionOutcome::allow, dont_ask},
      {"allow and an ask rule", by_rule(PermissionOutcome::ask), HookDecision::allow, PermissionOutcome::ask},
      {"allow and a deny rule", by_rule(PermissionOutcome::deny), HookDecision::allow, PermissionOutcome::deny},
      {"allow and unreadable rules", unreadable, HookDecision::allow, PermissionOutcome::deny},
      {"allow and a tool that wants the user", simply(PermissionOutcome::ask), HookDecision::allow,
       PermissionOutcome::ask, PermissionMode::standard, true},
      {"ask of an allowed call", by_rule(PermissionOutcome::allow), HookDecision::ask, PermissionOutcome::ask},
      {"ask of a denied call", by_rule(PermissionOutcome::deny), HookDecision::ask, PermissionOutcome::deny},
      {"ask in dontAsk", by_rule(PermissionOutcome::allow), HookDecision::ask, PermissionOutcome::deny, dont_ask},
  };
  for (const auto& one : cases) {
    Tool tool;
    if (one.requires_question) tool.meta = Json{{"anthropic/requiresUserInteraction", true}};
    const HookVerdict verdict{.decision = one.said, .by = hook("./h")};
    EXPECT_EQ(with_hook(one.decided, verdict, tool, one.mode).outcome, one.outcome) << one.name;
  }
}

TEST(HookVerdict, ARefusalNamesHookFileAndLine) {
  const HookVerdict said{.decision = deny, .by = hook("./guard.sh"), .reason = "no\x1b[31m writes"};
  EXPECT_EQ(
      hook_denial("mcp__s__t", said).message(),
      "\"mcp__s__t\" was not called: the PreToolUse hook \"./guard.sh\" (/f/settings.json:5) denies it: no writes");
  const HookVerdict broken{
      .decision = deny, .by = hook("./guard.sh"), .reason = "it exited with status 1", .failed = true};
  EXPECT_THAT(hook_denial("mcp__s__t", broken).message(),
              AllOf(HasSubstr("(/f/settings.json:5) failed: it exited with status 1"), HasSubstr("\"onError\"")));
}

TEST(HookOutput, WhateverStandsForAResult) {
  CallToolResult before;
  before.content.emplace_back(TextContent{.text = "secret"});
  before.structured_content = Json{{"secret", 1}};
  auto text = [](const CallToolResult& result) { return std::get<TextContent>(result.content.at(0)).text; };
  EXPECT_EQ(text(*result_of_hook(Json("clean"), before)), "clean");
  EXPECT_EQ(result_of_hook(Json("clean"), before)->structured_content, std::nullopt);
  const auto blocks = result_of_hook(Json::array({Json{{"type", "text"}, {"text", "b"}}}), before);
  EXPECT_EQ(text(*blocks), "b");
  const auto whole = result_of_hook(*parse_json(R"({"content":[{"type":"text","text":"w"}],"isError":true})"), before);
  EXPECT_EQ(text(*whole), "w");
  EXPECT_TRUE(whole->is_error);
  const auto object = result_of_hook(Json{{"rows", 1}}, before);
  EXPECT_EQ(text(*object), R"({"rows":1})");
  EXPECT_EQ(object->structured_content, (Json{{"rows", 1}}));
}

}  // namespace
}  // namespace patchbay
