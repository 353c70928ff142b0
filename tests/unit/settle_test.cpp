// Which declared servers are used, and what decided: approval, names, lists, switches, copies. C1, C3, C6.
#include "servers/settle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using About = EntryAnswers::About;
using Kind = StandingBy::Kind;
using enum ServerStanding;

std::optional<std::string> nothing_set(std::string_view) { return std::nullopt; }

SettingsLayer layer(SettingsSource source, std::string_view text) {
  return parse_settings(text, source, "/" + std::string(to_string(source)) + "/settings.json");
}

DeclaredEntry entry(ConfigScope scope, std::string name = "s", std::string command = "run") {
  DeclaredEntry out;
  out.server.name = std::move(name);
  out.server.command = std::move(command);
  out.server.origin = {"/" + std::string(to_string(scope)), 1, scope, trust_of(scope), 1};
  return out;
}

DeclaredEntry broken_entry(ConfigScope scope) {
  auto out = entry(scope);
  out.broken = true;
  return out;
}

EntryAnswers said(About approved, About rejected = About::nothing) {
  EntryAnswers out;
  out.approved = approved;
  out.rejected = rejected;
  return out;
}

EntryAnswers switched(bool on) {
  EntryAnswers out;
  out.switched = EntryAnswers::Switch{on, false, "/own", {}};
  return out;
}

Standing settled(const DeclaredEntry& one, const EntryAnswers& answers, std::vector<SettingsLayer> layers = {},
                 bool trust_project = false) {
  return settle(std::vector{one}, std::vector{answers},
                {layers, trust_project, nothing_set, nothing_set, "--trust-project"})
      .front();
}

const std::vector all_sources{SettingsSource::enterprise, SettingsSource::flag,    SettingsSource::own,
                              SettingsSource::user,       SettingsSource::project, SettingsSource::project_local};

// ---- one entry of a project: who approves and who rejects

// compat: B4.1, B4.2, B4.3, B4.21, C6.a, C6.c, C6.d
TEST(Settle, OneEntryOfAProject) {
  const auto yes_all = R"({"enableAllProjectMcpServers": true})", no_all = R"({"enableAllProjectMcpServers": false})";
  const auto yes = R"({"enabledMcpjsonServers": ["s"]})", other = R"({"enabledMcpjsonServers": ["other"]})";
  const auto no = R"({"disabledMcpjsonServers": ["s"]})";
  EntryAnswers by_name, by_name_elsewhere, not_by_name, both_names;
  by_name.approved_in = by_name_elsewhere.approved_in = both_names.approved_in = "/claude";
  by_name_elsewhere.elsewhere = true;
  not_by_name.rejected_in = both_names.rejected_in = "/claude";
  using enum SettingsSource;
  struct Case {
    std::string_view about;
    EntryAnswers answers;
    std::vector<SettingsLayer> layers;
    bool flag;
    ServerStanding why;
    Kind by;
    std::string_view what;
  };
  const std::vector<Case> cases{
      {"nobody said anything", {}, {}, false, awaiting_approval, Kind::nothing, ""},
      {"approved as it is", said(About::this_entry), {}, false, active, Kind::answer, ""},
      {"another one was approved", said(About::another_entry), {}, false, awaiting_approval, Kind::nothing, ""},
      {"rejected as it is", said(About::nothing, About::this_entry), {}, false, rejected, Kind::answer, ""},
      {"another one was rejected",
       said(About::nothing, About::another_entry),
       {},
       false,
       awaiting_approval,
       Kind::nothing,
       ""},
      {"a rejection overrides an approval",
       said(About::this_entry, About::this_entry),
       {},
       false,
       rejected,
       Kind::answer,
       ""},
      {"a rejection overrides the flag", said(About::nothing, About::this_entry), {}, true, rejected, Kind::answer, ""},
      {"the flag approves", {}, {}, true, active, Kind::flag, "--trust-project"},
      {"the flag approves what changed", said(About::another_entry), {}, true, active, Kind::flag, "--trust-project"},
      {"what lasts is named before an answer",
       said(About::this_entry),
       {layer(user, yes_all)},
       false,
       active,
       Kind::setting,
       "enableAllProjectMcpServers"},
      {"by name before for all",
       {},
       {layer(user, yes_all), layer(own, yes)},
       false,
       active,
       Kind::setting,
       "enabledMcpjsonServers"},
      {"another name", {}, {layer(user, other)}, false, awaiting_approval, Kind::nothing, ""},
      {"enterprise overrides user: no",
       {},
       {layer(user, yes_all), layer(enterprise, no_all)},
       false,
       awaiting_approval,
       Kind::nothing,
       ""},
      {"enterprise overrides user: yes",
       {},
       {layer(user, no_all), layer(enterprise, yes_all)},
       false,
       active,
       Kind::setting,
       "enableAllProjectMcpServers"},
      {"own overrides user",
       {},
       {layer(own, no_all), layer(user, yes_all)},
       false,
       awaiting_approval,
       Kind::nothing,
       ""},
      {"a flag overrides user",
       {},
       {layer(flag, yes_all), layer(user, no_all)},
       false,
       active,
       Kind::setting,
       "enableAllProjectMcpServers"},
      {"the repository does not count",
       {},
       {layer(user, yes_all), layer(project, no_all)},
       false,
       active,
       Kind::setting,
       "enableAllProjectMcpServers"},
      {"Claude's file approves the name", by_name, {}, false, active, Kind::setting, "enabledMcpjsonServers"},
      {"and not where the paths are others", by_name_elsewhere, {}, false, awaiting_approval, Kind::nothing, ""},
      {"Claude's file rejects the name", not_by_name, {}, true, rejected, Kind::setting, "disabledMcpjsonServers"},
      {"rejecting by name overrides approving",
       both_names,
       {layer(user, yes)},
       true,
       rejected,
       Kind::setting,
       "disabledMcpjsonServers"},
  };
  for (const auto& one : cases) {
    const auto standing = settled(entry(ConfigScope::project), one.answers, one.layers, one.flag);
    EXPECT_EQ(to_string(standing.why), to_string(one.why)) << one.about;
    EXPECT_EQ(standing.by.kind, one.by) << one.about;
    EXPECT_EQ(standing.by.what, one.what) << one.about;
    EXPECT_EQ(standing.approved, one.why == active) << one.about;
  }
  for (auto source : all_sources) {
    const auto inside = is_inside_repository(source);
    for (const auto* text : {yes, yes_all}) {
      const auto standing = settled(entry(ConfigScope::project), {}, {layer(source, text)});
      EXPECT_EQ(standing.why, inside ? awaiting_approval : active) << to_string(source) << text;
      EXPECT_EQ(standing.by.file, inside ? "" : layer(source, "").file) << to_string(source) << text;
    }
    // Rejecting counts wherever it is written, and says where.
    const auto standing =
        settled(entry(ConfigScope::project), said(About::this_entry),
                {layer(user, yes_all), layer(enterprise, yes), layer(source, "{\n" + std::string(no).substr(1))}, true);
    EXPECT_EQ(standing.why, rejected) << to_string(source);
    EXPECT_EQ(standing.by.file, layer(source, "").file);
    EXPECT_EQ(standing.by.line, 2u);
  }
  // Nobody has to approve what no project declares.
  EXPECT_EQ(settled(entry(ConfigScope::user), said(About::nothing, About::this_entry), {layer(user, no)}), Standing());
}

// ---- lists, switches, and what the entry says of itself

TEST(Settle, WhatKeepsOneEntryFromBeingUsed) {
  auto off = entry(ConfigScope::user), off_in_project = entry(ConfigScope::project), no_url = entry(ConfigScope::user);
  off.server.disabled = off_in_project.server.disabled = true;
  no_url.server.kind = ServerKind::http;
  no_url.server.command.clear();
  const auto denied = layer(SettingsSource::enterprise, "{\n\"deniedMcpServers\": [{\"serverName\": \"s\"}]}");
  struct Case {
    std::string_view about;
    DeclaredEntry entry;
    EntryAnswers answers;
    std::vector<SettingsLayer> layers;
    ServerStanding why;
    Kind by;
    bool switched_on = false;
  };
  const std::vector<Case> cases{
      {"nothing", entry(ConfigScope::user), {}, {}, active, Kind::nothing},
      {"a list", entry(ConfigScope::user), {}, {denied}, policy, Kind::policy},
      {"a list, before the switch", entry(ConfigScope::user), switched(false), {denied}, policy, Kind::policy},
      {"a list, so nobody is asked", entry(ConfigScope::project), {}, {denied}, policy, Kind::policy},
      {"the switch", entry(ConfigScope::user), switched(false), {}, disabled, Kind::switched},
      {"the switch, so nobody is asked", entry(ConfigScope::project), switched(false), {}, disabled, Kind::switched},
      {"the entry", off, {}, {}, disabled, Kind::entry},
      {"the entry, so nobody is asked", off_in_project, {}, {}, disabled, Kind::entry},
      {"not the entry when it is switched on", off, switched(true), {}, active, Kind::nothing, true},
      {"but approval all the same", off_in_project, switched(true), {}, awaiting_approval, Kind::nothing, true},
      {"an empty url", no_url, {}, {}, not_configured, Kind::entry},
      {"an error in it", broken_entry(ConfigScope::user), switched(false), {denied}, broken, Kind::entry},
  };
  for (const auto& one : cases) {
    const auto standing = settled(one.entry, one.answers, one.layers);
    EXPECT_EQ(to_string(standing.why), to_string(one.why)) << one.about;
    EXPECT_EQ(standing.by.kind, one.by) << one.about;
    EXPECT_EQ(standing.switched_on, one.switched_on) << one.about;
  }
  const auto by_list = settled(entry(ConfigScope::user), {}, {denied});
  EXPECT_EQ(by_list.by.what, R"({"serverName":"s"})");
  EXPECT_EQ(by_list.by.line, 2u);
  EXPECT_THAT(by_list.policy_text, HasSubstr("denied by"));

  EXPECT_EQ(settle_alone(entry(ConfigScope::embedded).server, {}, nothing_set), Standing());
  EXPECT_EQ(settle_alone(entry(ConfigScope::embedded).server, std::vector{denied}, nothing_set).why, policy);
  EXPECT_EQ(settle_alone(off.server, std::vector{denied}, nothing_set).why, policy);
  EXPECT_EQ(settle_alone(off.server, {}, nothing_set).why, disabled);
}

// ---- several entries of one name

// compat: C1.e
TEST(Settle, TheFirstEntryThatTakesPartHasTheName) {
  const auto waits = entry(ConfigScope::project), mine = entry(ConfigScope::user);
  const EntryAnswers none;
  const auto no = said(About::nothing, About::this_entry), yes = said(About::this_entry);
  struct Case {
    std::string_view about;
    std::vector<DeclaredEntry> entries;
    std::vector<EntryAnswers> answers;
    bool flag;
    std::size_t shown;
    std::vector<ServerStanding> why;
  };
  const std::vector<Case> cases{
      {"the higher one", {mine, mine}, {none, none}, false, 0, {active, shadowed}},
      {"not one that waits", {waits, mine}, {none, none}, false, 1, {awaiting_approval, active}},
      {"not one that was rejected", {waits, mine}, {no, none}, false, 1, {rejected, active}},
      {"one that was approved", {waits, mine}, {yes, none}, false, 0, {active, shadowed}},
      {"none takes part: the first is shown", {waits, waits}, {none, no}, false, 0, {awaiting_approval, rejected}},
      {"behind one that is used nothing waits", {mine, waits}, {none, none}, false, 0, {active, shadowed}},
      {"all at once",
       {waits, waits, mine, mine},
       {no, none, none, none},
       false,
       2,
       {rejected, awaiting_approval, active, shadowed}},
      {"a broken one has the name",
       {broken_entry(ConfigScope::local), mine},
       {none, none},
       false,
       0,
       {broken, shadowed}},
      {"a broken one of a project has not",
       {broken_entry(ConfigScope::project), mine},
       {none, none},
       false,
       1,
       {broken, active}},
      {"unless the project is trusted",
       {broken_entry(ConfigScope::project), mine},
       {none, none},
       true,
       0,
       {broken, shadowed}},
      {"behind another, broken stays broken",
       {mine, broken_entry(ConfigScope::user)},
       {none, none},
       false,
       0,
       {active, broken}},
      {"switched off keeps the name", {mine, mine}, {switched(false), switched(false)}, false, 0, {disabled, shadowed}},
  };
  for (const auto& one : cases) {
    const auto standings = settle(one.entries, one.answers, {{}, one.flag, nothing_set, nothing_set});
    std::vector<ServerStanding> why;
    for (std::size_t i = 0; i < standings.size(); ++i) {
      why.push_back(standings[i].why);
      EXPECT_EQ(standings[i].shown, i == one.shown) << one.about << " " << i;
    }
    EXPECT_EQ(why, one.why) << one.about;
  }
}

// compat: B2.2, C3.b, C3.c
TEST(Settle, OneServerUnderTwoNames) {
  const std::vector entries{entry(ConfigScope::plugin, "plugin:p:a", "x"), entry(ConfigScope::user, "a", "x"),
                            entry(ConfigScope::user, "b", "x"), entry(ConfigScope::user, "c", "y")};
  const auto standings = settle(entries, std::vector<EntryAnswers>(4), {{}, false, nothing_set, nothing_set});
  EXPECT_EQ(standings[0].why, duplicate);
  EXPECT_EQ(standings[0].other, 1u) << "the one written by hand, though it comes later";
  EXPECT_EQ(standings[1].why, active);
  EXPECT_EQ(standings[2].why, active);
  EXPECT_EQ(standings[2].other, 1u) << "two written by hand are both used, and it is known";
  EXPECT_EQ(standings[3], Standing());
}

TEST(Settle, ARepositoryThatTriesToApproveIsReported) {
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
