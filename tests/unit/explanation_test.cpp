// Why a server is used or not, and why a tool may be called or not. N6.
#include "inspect/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "permission/rules.h"
#include "settings/settings_layers.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string own_file = "/home/me/.config/patchbay/config.json";

ServerConfig server_at(ServerStanding standing, std::string reason = {}, std::string file = "/p/.mcp.json",
                       ConfigScope scope = ConfigScope::project) {
  ServerConfig server;
  server.name = "db";
  server.command = "db-server";
  server.origin = {std::move(file), 3, scope, trust_of(scope), 5};
  server.standing = standing;
  server.reason = std::move(reason);
  return server;
}

LoadedConfig config_with(const ServerConfig& server, std::vector<SettingsLayer> layers = {}) {
  LoadedConfig config;
  config.cwd = "/p";
  config.servers.push_back(server);
  config.settings = settings_layers(std::move(layers));
  return config;
}

ServerExplanation explained(const ServerConfig& server, std::vector<SettingsLayer> layers = {}) {
  return explain_server(config_with(server, std::move(layers)), server, own_file);
}

TEST(Explanation, EveryStandingEndsInWhatToDo) {
  auto off_by_entry = server_at(ServerStanding::disabled, "\"disabled\" is true in /p/.mcp.json:3");
  off_by_entry.disabled = true;
  auto off_elsewhere =
      server_at(ServerStanding::disabled, "\"disabled\" is true", "/home/me/.claude.json", ConfigScope::user);
  off_elsewhere.disabled = true;
  struct Case {
    ServerConfig server;
    Fix fix;
  };
  const Fix approve{Fix::Kind::approve, "db"};
  const Fix enable{Fix::Kind::enable, "db"};
  const std::vector<Case> cases{
      {server_at(ServerStanding::active), {}},
      {server_at(ServerStanding::awaiting_approval, "not approved yet"), approve},
      {server_at(ServerStanding::rejected, "you rejected it"), approve},
      {server_at(ServerStanding::disabled, "disabled in " + own_file), enable},
      {server_at(ServerStanding::disabled, "disabled for this project in /home/me/.claude.json"), enable},
      {off_by_entry, enable},
      {off_elsewhere, enable},
      {server_at(ServerStanding::disabled, "\"disabled\" is true", "/etc/claude-code/managed-mcp.json",
                 ConfigScope::enterprise),
       Fix::changing("ask the administrator who maintains /etc/claude-code/managed-mcp.json:3")},
      {server_at(ServerStanding::duplicate, "it has the URL of \"x\""),
       Fix::changing("nothing to do: the other entry is used instead")},
      {server_at(ServerStanding::not_configured, "its url is empty"),
       Fix::changing("set its \"url\" in /p/.mcp.json:3")},
      {server_at(ServerStanding::broken, "no command"), Fix::changing("correct /p/.mcp.json:3")},
  };
  for (const auto& one : cases) {
    const auto why = explained(one.server);
    EXPECT_EQ(why.fix, one.fix) << to_string(one.server.standing);
    EXPECT_EQ(why.counts, one.server.standing == ServerStanding::active);
    EXPECT_FALSE(why.cause.empty());
  }
}

TEST(Explanation, ASettingThatDecidedIsNamedWithItsPlace) {
  auto refused = server_at(ServerStanding::rejected, "rejected by a setting");
  refused.decided_by = {StandingBy::Kind::setting, "disabledMcpjsonServers", "/p/.claude/settings.json", 2, 1};
  const auto rejected = explained(refused);
  EXPECT_EQ(rejected.rule, "disabledMcpjsonServers");
  EXPECT_EQ(rejected.rule_file, "/p/.claude/settings.json");
  EXPECT_EQ(rejected.rule_line, 2u);
  EXPECT_THAT(rejected.fix.text, HasSubstr("/p/.claude/settings.json:2"));

  auto kept_away = server_at(ServerStanding::policy, "denied");
  kept_away.decided_by = {StandingBy::Kind::policy, R"({"serverName":"db"})", "/etc/claude-code/managed-settings.json",
                          3, 1};
  const auto managed = parse_settings("{}", SettingsSource::enterprise, kept_away.decided_by.file);
  const auto denied = explained(kept_away, {managed});
  EXPECT_EQ(denied.rule, R"({"serverName":"db"})");
  EXPECT_EQ(denied.rule_line, 3u);
  EXPECT_EQ(denied.fix, Fix::changing("ask the administrator who maintains /etc/claude-code/managed-settings.json:3"));

  kept_away.decided_by.file = "/home/me/.claude/settings.json";
  const auto mine = parse_settings("{}", SettingsSource::user, kept_away.decided_by.file);
  EXPECT_EQ(explained(kept_away, {managed, mine}).fix, Fix::changing("change /home/me/.claude/settings.json:3"));
}

TEST(Explanation, WhatApprovedAnEntryIsReported) {
  auto server = server_at(ServerStanding::active);
  server.approved = true;
  using Kind = StandingBy::Kind;
  struct Case {
    StandingBy by;
    std::string note;
    std::string rule;
  };
  for (const auto& [by, note, rule] : std::vector<Case>{
           {{Kind::answer, "", "", 0, 0}, "you approved this entry. If the entry changes, it needs approval again", ""},
           // Nothing else knows what was agreed to.
           {{Kind::setting, "enableAllProjectMcpServers", "/home/me/.claude/settings.json", 1, 2},
            "it is approved by enableAllProjectMcpServers in /home/me/.claude/settings.json:1, even if",
            "enableAllProjectMcpServers"},
           {{Kind::setting, "enabledMcpjsonServers", "/home/me/.claude.json", 0, 0},
            "it is approved by enabledMcpjsonServers in /home/me/.claude.json, even if",
            "enabledMcpjsonServers"},
           {{Kind::flag, "--trust-project", "", 0, 0}, "it is approved by --trust-project, even if", ""}}) {
    server.decided_by = by;
    const auto why = explained(server);
    EXPECT_THAT(why.notes, ElementsAre(Field(&EntryNote::text, HasSubstr(note))));
    EXPECT_EQ(why.rule, rule);
    EXPECT_EQ(why.rule_file, by.file);
    EXPECT_EQ(why.rule_line, by.line);
  }
}

TEST(Explanation, AHelperThatDoesNotRunIsReported) {
  auto server = server_at(ServerStanding::active, {}, own_file, ConfigScope::local);
  server.headers_helper = "print-headers";
  EXPECT_THAT(explained(server).notes, ElementsAre(AllOf(Field(&EntryNote::text, HasSubstr("headersHelper not run")),
                                                         Field(&EntryNote::fix, Fix{Fix::Kind::trust}))));
  auto config = config_with(server);
  config.project_trusted = true;
  EXPECT_THAT(explain_server(config, server, own_file).notes, IsEmpty());
}

TEST(Explanation, WhatShadowsAndIsShadowedIsThere) {
  auto winner = server_at(ServerStanding::active, {}, own_file, ConfigScope::local);
  auto loser =
      server_at(ServerStanding::shadowed, "the local entry overrides it", "/home/me/.claude.json", ConfigScope::user);
  winner.shadows.push_back(loser.origin);
  auto config = config_with(winner);
  config.shadowed.push_back(loser);
  config.problems = {{"/p/a", 1, 1, "about db", "db", Severity::note}, {"/p/a", 2, 1, "about x", "x", Severity::note}};

  const auto used = explain_server(config, winner, own_file);
  EXPECT_TRUE(used.counts);
  EXPECT_EQ(used.cause, "it overrides the other entries with this name");
  auto alone = config;
  alone.servers.front().shadows.clear();
  EXPECT_EQ(explain_server(alone, alone.servers.front(), own_file).cause,
            "the other entries with this name are not in use");
  EXPECT_THAT(used.others, ElementsAre(loser));
  EXPECT_THAT(used.problems, SizeIs(1));

  const auto hidden = explain_server(config, loser, own_file);
  EXPECT_FALSE(hidden.counts);
  EXPECT_THAT(hidden.others, ElementsAre(winner));
  EXPECT_EQ(hidden.fix, (Fix{Fix::Kind::remove_other, "db", ConfigScope::local}));
  config.servers.front().origin.file = "/home/me/.claude/mcp.json";
  EXPECT_THAT(explain_server(config, loser, own_file).fix.text, HasSubstr("/home/me/.claude/mcp.json:3"));
}

TEST(Explanation, ToolsAreFoundByEverySpellingThatNamesTheirServer) {
  const std::vector<std::string> servers{"fs", "my db", "a", "a__b"};
  struct Case {
    std::string text;
    std::vector<NamedTool> tools;
  };
  const std::vector<Case> cases{
      {"mcp__fs__read", {{"fs", "read"}}},
      {"fs/read", {{"fs", "read"}}},
      {"fs/a/b", {{"fs", "a/b"}}},
      {"mcp__my_db__query", {{"my db", "query"}}},
      {"mcp__my db__query", {{"my db", "query"}}},
      {"my db/query", {{"my db", "query"}}},
      {"mcp__a__b__c", {{"a", "b__c"}, {"a__b", "c"}}},
      {"mcp__fs__", {}},
      {"fs/", {}},
      {"fs", {}},
      {"read", {}},
      {"mcp__other__read", {}},
  };
  for (const auto& one : cases) EXPECT_EQ(tools_named(one.text, servers), one.tools) << one.text;
}

TEST(Explanation, TheRuleTheModeAndTheFilterOfAToolAreReported) {
  const std::vector layers{
      parse_settings("{\"permissions\": {\"allow\": [\"mcp__db__get\"],\n"
                     "\"ask\": [\"mcp__db\"],\n"
                     "\"deny\": [\"mcp__db__query(sql: /drop/i)\"],\n"
                     "\"defaultMode\": \"acceptReads\"}}",
                     SettingsSource::user, "/s.json")};
  const Permissions permissions(collect_rules(layers, {}));
  auto server = server_at(ServerStanding::active);
  server.disabled_tools = {"get*"};
  const auto query = assumed_entry({"db", "query"});
  EXPECT_EQ(query.name, "mcp__db__query");

  const auto denied =
      explain_tool(query, &server, permissions, layers, Json{{"sql", "DROP x"}}, "/p", process_environment());
  EXPECT_EQ(denied.decision.outcome, PermissionOutcome::deny);
  EXPECT_EQ(denied.decision.line, 3u);
  EXPECT_EQ(denied.mode, PermissionMode::accept_reads);
  EXPECT_EQ(denied.mode_from, "/s.json:4");
  EXPECT_TRUE(denied.by_arguments);
  EXPECT_EQ(denied.withheld, "");
  EXPECT_THAT(denied.rules, SizeIs(2));

  EXPECT_EQ(denied.fix, Fix::changing("change /s.json:3"));

  const auto asked =
      explain_tool(query, &server, permissions, layers, Json{{"sql", "select 1"}}, "/p", process_environment());
  EXPECT_EQ(asked.decision.outcome, PermissionOutcome::ask);
  EXPECT_EQ(asked.decision.line, 2u);
  EXPECT_EQ(asked.fix, Fix());

  const auto get =
      explain_tool(assumed_entry({"db", "get"}), &server, permissions, layers, Json(), "/p", process_environment());
  EXPECT_EQ(get.withheld, "\"disabledTools\" of its server in /p/.mcp.json:3 excludes this tool");
  EXPECT_FALSE(get.by_arguments);
  server.disabled_tools.clear();
  server.enabled_tools = std::vector<std::string>{"query"};
  EXPECT_THAT(
      explain_tool(assumed_entry({"db", "get"}), &server, permissions, layers, Json(), "/p", process_environment())
          .withheld,
      HasSubstr("enabledTools"));
  EXPECT_EQ(
      explain_tool(assumed_entry({"patchbay", "x"}), nullptr, permissions, layers, Json(), "/p", process_environment())
          .withheld,
      "");
}

TEST(Explanation, ADeniedToolEndsInWhatToDo) {
  auto fix_of = [](SettingsSource source, std::string_view settings, RuleRequest request) {
    const std::vector layers{parse_settings(settings, source, "/s.json")};
    const Permissions permissions(collect_rules(layers, request));
    return explain_tool(assumed_entry({"db", "query"}), nullptr, permissions, layers, Json(), "/p",
                        process_environment())
        .fix;
  };
  RuleRequest flag;
  flag.disallowed_tools = {"mcp__db"};
  flag.names.disallowed_tools = "--disallowedTools";
  RuleRequest mode;
  mode.mode = PermissionMode::dont_ask;
  constexpr std::string_view deny = R"({"permissions": {"deny": ["mcp__db"]}})";
  EXPECT_EQ(fix_of(SettingsSource::user, "{}", flag), Fix::changing("leave --disallowedTools out"));
  EXPECT_EQ(fix_of(SettingsSource::user, deny, {}), Fix::changing("change /s.json:1"));
  EXPECT_EQ(fix_of(SettingsSource::enterprise, deny, {}),
            Fix::changing("ask the administrator who maintains /s.json:1"));
  EXPECT_EQ(fix_of(SettingsSource::user, R"({"permissions": {"deny": 3}})", {}), Fix::changing("correct /s.json:1"));
  EXPECT_EQ(fix_of(SettingsSource::user, "{}", mode), Fix{Fix::Kind::choose_mode});
}

}  // namespace
}  // namespace patchbay
