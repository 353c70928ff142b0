// Whether a project's server may be used: what was said before, settings, the flag. C6.
#include "servers/approval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using State = ApprovalDecision::State;

constexpr std::string_view hash = "sha256:1";

SettingsLayer layer(SettingsSource source, std::string_view text) {
  return parse_settings(text, source, "/" + std::string(to_string(source)) + "/settings.json");
}

State state(const ApprovalMemory& memory, std::vector<SettingsLayer> layers, bool trust_project = false) {
  return decide_approval("s", hash, memory, layers, trust_project).state;
}

const std::vector all_sources{SettingsSource::enterprise, SettingsSource::flag,    SettingsSource::own,
                              SettingsSource::user,       SettingsSource::project, SettingsSource::project_local};

// compat: B4.21, C6.d
TEST(Approval, NobodySaidAnythingIsPending) {
  const auto decision = decide_approval("s", hash, {}, {}, false);
  EXPECT_EQ(decision.state, State::pending);
  EXPECT_FALSE(decision.changed);
  EXPECT_THAT(decision.reason, HasSubstr("`patchbay approve s`"));
}

// compat: C6.a
TEST(Approval, AYesHoldsForTheEntryThatWasSeen) {
  EXPECT_EQ(state({{{"s", "sha256:1"}}, {}}, {}), State::approved);
  EXPECT_EQ(state({{{"t", "sha256:1"}}, {}}, {}), State::pending);
  const auto changed = decide_approval("s", hash, {{{"s", "sha256:0"}}, {}}, {}, false);
  EXPECT_EQ(changed.state, State::pending);
  EXPECT_TRUE(changed.changed);
  EXPECT_THAT(changed.reason, HasSubstr("changed after you approved it"));
}

TEST(Approval, ANoHoldsForTheEntryThatWasSeenAndBeatsTheFlag) {
  EXPECT_EQ(state({{}, {{"s", "sha256:1"}}}, {}), State::rejected);
  EXPECT_EQ(state({{}, {{"s", "sha256:1"}}}, {}, true), State::rejected);
  EXPECT_EQ(state({{{"s", "sha256:1"}}, {{"s", "sha256:1"}}}, {}), State::rejected);
  EXPECT_EQ(state({{}, {{"s", "sha256:0"}}}, {}), State::pending);
}

// compat: B4.1, B4.2, C6.c, C6.d
TEST(Approval, OnlySettingsOutsideTheRepositoryApprove) {
  for (auto source : all_sources) {
    const auto expected = is_inside_repository(source) ? State::pending : State::approved;
    EXPECT_EQ(state({}, {layer(source, R"({"enabledMcpjsonServers": ["s"]})")}), expected) << to_string(source);
    EXPECT_EQ(state({}, {layer(source, R"({"enabledMcpjsonServers": ["other"]})")}), State::pending);
    EXPECT_EQ(state({}, {layer(source, R"({"enableAllProjectMcpServers": true})")}), expected) << to_string(source);
    EXPECT_EQ(state({}, {layer(source, R"({"enableAllProjectMcpServers": false})")}), State::pending);
  }
}

// compat: B4.3, C6.c
TEST(Approval, RejectingCountsWhereverItIsWritten) {
  const ApprovalMemory approved{{{"s", "sha256:1"}}, {}};
  for (auto source : all_sources) {
    const std::vector layers{layer(SettingsSource::user, R"({"enableAllProjectMcpServers": true})"),
                             layer(SettingsSource::enterprise, R"({"enabledMcpjsonServers": ["s"]})"),
                             layer(source, "{\n \"disabledMcpjsonServers\": [\"s\"]}")};
    const auto decision = decide_approval("s", hash, approved, layers, true);
    EXPECT_EQ(decision.state, State::rejected) << to_string(source);
    EXPECT_EQ(decision.file, layers.back().file);
    EXPECT_EQ(decision.line, 2u);
    EXPECT_THAT(decision.reason, HasSubstr("rejected by disabledMcpjsonServers in " + layers.back().file + ":2"));
  }
}

TEST(Approval, TheHigherFileDecidesAboutAllServers) {
  const auto yes = R"({"enableAllProjectMcpServers": true})", no = R"({"enableAllProjectMcpServers": false})";
  EXPECT_EQ(state({}, {layer(SettingsSource::user, yes), layer(SettingsSource::enterprise, no)}), State::pending);
  EXPECT_EQ(state({}, {layer(SettingsSource::user, no), layer(SettingsSource::enterprise, yes)}), State::approved);
  EXPECT_EQ(state({}, {layer(SettingsSource::own, no), layer(SettingsSource::user, yes)}), State::pending);
  EXPECT_EQ(state({}, {layer(SettingsSource::flag, yes), layer(SettingsSource::user, no)}), State::approved);
  // What the repository says about it is not looked at, in either direction.
  EXPECT_EQ(state({}, {layer(SettingsSource::user, yes), layer(SettingsSource::project, no)}), State::approved);
}

// compat: C6.d
TEST(Approval, TheFlagApproves) {
  EXPECT_EQ(state({}, {}, true), State::approved);
  EXPECT_EQ(state({{{"s", "sha256:0"}}, {}}, {}, true), State::approved);
}

TEST(Approval, WhatARepositoryTriesIsSaid) {
  const std::vector layers{layer(SettingsSource::project, "{\n\"enableAllProjectMcpServers\": true}"),
                           layer(SettingsSource::project_local,
                                 "{\n\n\"enabledMcpjsonServers\": [\"s\"], \"enableAllProjectMcpServers\": false}"),
                           layer(SettingsSource::user, R"({"enableAllProjectMcpServers": true})")};
  const auto problems = ignored_approvals(layers);
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_THAT(problems[0].text(), AllOf(HasSubstr("/project/settings.json:2:"), HasSubstr("cannot approve")));
  EXPECT_THAT(problems[1].text(), AllOf(HasSubstr("/project_local/settings.json:3:"), HasSubstr("cannot approve")));
  EXPECT_THAT(ignored_approvals(std::vector{layers.back()}), IsEmpty());
}

}  // namespace
}  // namespace patchbay
