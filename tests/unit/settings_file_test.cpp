// Settings files of other programs: which keys are read, where each stands, what is said about a wrong
// one. C5 C6 C7 P1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "permission/rules.h"
#include "settings/settings_layers.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string file = "/home/me/.claude/settings.json";

SettingsLayer user(std::string_view text) { return checked_settings(text, SettingsSource::user, file); }
SettingsLayer enterprise(std::string_view text) {
  return checked_settings(text, SettingsSource::enterprise, "/etc/claude-code/managed-settings.json");
}

std::vector<std::string> said(const SettingsLayer& layer) {
  std::vector<std::string> out;
  for (const auto& problem : layer.problems) out.push_back(problem.text());
  return out;
}

// compat: B4.1, B4.2, B4.3, B4.12
TEST(SettingsFile, EveryKeyIsReadWithItsPlace) {
  const auto layer = user(R"q({
  "theme": "dark", // theirs
  "enableAllProjectMcpServers": true,
  "enabledMcpjsonServers": ["a", "b"],
  "disabledMcpjsonServers": ["c"],
  "disableClaudeAiConnectors": true,
  "allowedMcpServers": [{"serverName": "x"}, {"serverCommand": ["npx", "-y"]}],
  "deniedMcpServers": [{"serverUrl": "https://*.evil.example/*"}],
  "permissions": {
    "allow": ["mcp__a__*"],
    "ask": ["mcp__b"],
    "deny": ["mcp__c__d", "Bash(rm:*)"],
    "defaultMode": "acceptReads",
    "disableBypassPermissionsMode": "disable",
  },
  "dangerouslySkipPermissions": false
})q");
  EXPECT_THAT(said(layer), IsEmpty());
  EXPECT_FALSE(layer.unreadable);
  EXPECT_EQ(layer.enable_all_project_servers, (BoolSetting{true, {3, 33}}));
  EXPECT_EQ(layer.enabled_project_servers, (std::vector<TextSetting>{{"a", {4, 29}}, {"b", {4, 34}}}));
  EXPECT_EQ(layer.disabled_project_servers, (std::vector<TextSetting>{{"c", {5, 30}}}));
  EXPECT_EQ(layer.disable_connectors, (BoolSetting{true, {6, 32}}));
  ASSERT_TRUE(layer.allowed_servers);
  EXPECT_EQ(*layer.allowed_servers, (std::vector<PolicyEntry>{{PolicyEntry::By::name, "x", {}, {7, 25}},
                                                              {PolicyEntry::By::command, "", {"npx", "-y"}, {7, 46}}}));
  EXPECT_EQ(layer.allowed_place, (SettingPlace{7, 24}));
  EXPECT_EQ(layer.denied_servers,
            (std::vector<PolicyEntry>{{PolicyEntry::By::url, "https://*.evil.example/*", {}, {8, 24}}}));
  EXPECT_EQ(layer.allow_rules, (std::vector<TextSetting>{{"mcp__a__*", {10, 15}}}));
  EXPECT_EQ(layer.ask_rules, (std::vector<TextSetting>{{"mcp__b", {11, 13}}}));
  EXPECT_EQ(layer.deny_rules, (std::vector<TextSetting>{{"mcp__c__d", {12, 14}}, {"Bash(rm:*)", {12, 27}}}));
  EXPECT_EQ(layer.default_mode, (TextSetting{"acceptReads", {13, 20}}));
  EXPECT_EQ(layer.bypass_switched_off, (BoolSetting{true, {14, 37}}));
  EXPECT_EQ(layer.skip_permissions, (BoolSetting{false, {16, 33}}));
}

// compat: B4.7, B4.8, B4.10
// N5: a file in a repository makes it stricter, and nothing else.
TEST(SettingsFile, PinsOfARepositoryCanOnlyBeStricter) {
  auto layer = [](SettingsSource source, const char* mode) {
    return parse_settings(std::string(R"({"pins":")") + mode + "\"}", source, "f");
  };
  using enum SettingsSource;
  EXPECT_EQ(pin_mode(std::vector<SettingsLayer>{}), PinMode::ask);
  EXPECT_EQ(pin_mode(std::vector{layer(own, "off")}), PinMode::off);
  EXPECT_EQ(pin_mode(std::vector{layer(project, "off")}), PinMode::ask);
  EXPECT_EQ(pin_mode(std::vector{layer(project, "record"), layer(own, "off")}), PinMode::record);
  EXPECT_EQ(pin_mode(std::vector{layer(project_local, "off"), layer(own, "record")}), PinMode::record);
  EXPECT_EQ(pin_mode(std::vector{layer(own, "off"), layer(enterprise, "ask")}), PinMode::ask);
  const auto wrong = layer(own, "maybe");
  EXPECT_EQ(wrong.pins, std::nullopt);
  EXPECT_EQ(wrong.problems.size(), 1u);
}

TEST(SettingsFile, KeysOfAnOrganisationCountInItsFileAlone) {
  constexpr std::string_view text = R"({"allowManagedMcpServersOnly": true, "allowAllClaudeAiMcps": true,
    "strictPluginOnlyCustomization": ["hooks", "mcp"], "env": {"REGION": "eu"}})";
  const auto theirs = enterprise(text);
  EXPECT_THAT(said(theirs), IsEmpty());
  EXPECT_TRUE(theirs.allow_managed_only->value);
  EXPECT_TRUE(theirs.allow_all_connectors->value);
  EXPECT_TRUE(theirs.only_plugins->value);
  const auto mine = user(text);
  EXPECT_FALSE(mine.allow_managed_only || mine.allow_all_connectors || mine.only_plugins);
  EXPECT_THAT(said(mine), SizeIs(3));
  EXPECT_THAT(said(mine)[0], AllOf(HasSubstr(":1:2: "), HasSubstr("only in the settings of an organisation")));
  EXPECT_FALSE(enterprise(R"({"strictPluginOnlyCustomization": ["hooks"]})").only_plugins->value);
  EXPECT_TRUE(enterprise(R"({"strictPluginOnlyCustomization": true})").only_plugins->value);
}

TEST(SettingsFile, WrongTypesAreNamedAndTheRestCounts) {
  struct Case {
    std::string text;
    std::string message;
  };
  for (const auto& [text, message] : std::vector<Case>{
           {R"({"enableAllProjectMcpServers": "yes"})",
            ":1:32: \"enableAllProjectMcpServers\" must be true or false, found a string"},
           {R"({"enabledMcpjsonServers": "a"})", ":1:27: \"enabledMcpjsonServers\" must be an array of strings"},
           {R"({"disabledMcpjsonServers": ["a", 1]})", ":1:34: \"disabledMcpjsonServers[1]\" must be a string"},
           {R"({"allowedMcpServers": {}})",
            ":1:23: \"allowedMcpServers\" must be an array of objects, found an object; until this is fixed no server "
            "is allowed"},
           {R"({"allowedMcpServers": [{"serverName": "a b"}]})", ":1:24: allowedMcpServers[0] is ignored"},
           {R"({"allowedMcpServers": [{"serverName": "a", "serverUrl": "b"}]})", "expected exactly one of"},
           {R"({"allowedMcpServers": [{"serverUrl": "https://"}]})", "has no host"},
           {R"({"allowedMcpServers": [{"serverCommand": "npx"}]})", "must be an array of strings"},
           {R"({"allowedMcpServers": [{"serverPackage": "npx"}]})",
            "unknown key \"serverPackage\"; use \"serverName\", \"serverCommand\" or \"serverUrl\""},
           {R"({"deniedMcpServers": true})",
            ":1:22: \"deniedMcpServers\" must be an array of objects, found a boolean"},
           {R"({"deniedMcpServers": ["x"]})", ":1:23: deniedMcpServers[0]: expected an object, found a string"},
           {R"({"permissions": []})",
            ":1:17: \"permissions\" must be an object, found an array; until this is fixed no tool can be called"},
           {R"({"permissions": {"deny": "mcp__a"}})",
            "\"permissions.deny\" must be an array of strings, found a string"},
           {R"({"permissions": {"deny": [1]}})", "\"permissions.deny[0]\" must be a string, found a number"},
           {R"({"permissions": {"allow": [1]}})",
            "\"permissions.allow[0]\" must be a string, found a number; it is "
            "ignored"},
           {R"({"permissions": {"defaultMode": "wild"}})", "unknown mode \"wild\""},
           {R"({"permissions": {"defaultMode": 1}})", "\"permissions.defaultMode\" must be a string"},
           {R"({"dangerouslySkipPermissions": 1})", "\"dangerouslySkipPermissions\" must be true or false"},
       }) {
    auto layer = user(text);
    EXPECT_THAT(said(layer), ElementsAre(AllOf(testing::StartsWith(file), HasSubstr(message)))) << text;
    // A good sibling still counts.
    auto beside = user(text.substr(0, text.size() - 1) + R"(, "disableClaudeAiConnectors": true})");
    EXPECT_TRUE(beside.disable_connectors) << text;
  }
}

TEST(SettingsFile, WhatMayDenyAndCannotBeReadIsRemembered) {
  EXPECT_EQ(user(R"({"permissions": {"deny": [1]}})").rules_unreadable, (SettingPlace{1, 27}));
  EXPECT_EQ(user(R"({"permissions": {"ask": {}}})").rules_unreadable, (SettingPlace{1, 25}));
  EXPECT_FALSE(user(R"({"permissions": {"allow": 5}})").rules_unreadable);
  EXPECT_TRUE(user(R"({"allowedMcpServers": 1})").allowed_servers->empty());
  // A personal list that is partly wrong is pointed out; an organisation's stops everything.
  constexpr std::string_view wrong = R"({"deniedMcpServers": [{"serverName": "x", "serverUrl": "https://y"}, 7]})";
  EXPECT_FALSE(user(wrong).denied_unreadable);
  EXPECT_EQ(enterprise(wrong).denied_unreadable, (SettingPlace{1, 23}));
  EXPECT_THAT(enterprise(wrong).denied_servers, SizeIs(2));
  EXPECT_THAT(said(enterprise(wrong))[1], HasSubstr("until this is fixed every server is denied"));
}

// A slip in a key that guards something is said; the keys of other programs are theirs.
TEST(SettingsFile, MisspeltKeysThatGuardSomethingAreNamed) {
  struct Case {
    std::string text;
    std::string message;
  };
  for (const auto& [text, message] : std::vector<Case>{
           {R"({"permissions": {"dent": ["mcp__a"]}})",
            ":1:18: unknown key \"dent\" is ignored; did you mean \"deny\"?"},
           {R"({"permissions": {"Deny": []}})", "unknown key \"Deny\" is ignored; did you mean \"deny\"?"},
           {R"({"permissions": {"alow": []}})", "did you mean \"allow\"?"},
           {R"({"permissions": {"defaultmode": "dontAsk"}})", "did you mean \"defaultMode\"?"},
           {R"({"permissions": {"forbidden": ["mcp__a__b"]}})", "rules belong in \"allow\", \"ask\" and \"deny\""},
           {R"({"permission": {"deny": []}})",
            ":1:2: unknown key \"permission\" is ignored; did you mean \"permissions\"?"},
           {R"({"Permissions": {}})", "did you mean \"permissions\"?"},
           {R"({"deny": ["mcp__a"]})", "unknown key \"deny\" is ignored; it belongs inside \"permissions\""},
           {R"({"denyedMcpServers": []})", "did you mean \"deniedMcpServers\"?"},
           {R"({"disabledMcpJsonServers": []})", "did you mean \"disabledMcpjsonServers\"?"},
       }) {
    const auto layer = user(text);
    EXPECT_THAT(said(layer), ElementsAre(HasSubstr(message))) << text;
    EXPECT_EQ(layer.problems.at(0).severity, Severity::warning);
  }
  // Keys of Claude Code as its documents have them, and those of nobody.
  const auto theirs = user(R"({"$schema": "x", "apiKeyHelper": "x", "cleanupPeriodDays": 1, "companyAnnouncements": [],
    "env": {}, "attribution": {}, "includeCoAuthoredBy": true, "hooks": {}, "disableAllHooks": true,
    "allowManagedPermissionRulesOnly": true, "model": "m", "availableModels": [],
    "statusLine": {}, "outputStyle": "x", "forceLoginMethod": "x", "sandbox": {}, "enabledPlugins": {},
    "extraKnownMarketplaces": {}, "strictKnownMarketplaces": [], "blockedMarketplaces": [], "language": "x",
    "skipDangerousModePermissionPrompt": true, "alwaysThinkingEnabled": true, "enabledMcpServers": [], "disabledMcpServers": [], "mcpServers": {}, "agent": "x",
    "allowedHttpHookUrls": [], "autoMode": {}, "tui": "x", "whatever": {"deny": []},
    "permissions": {"additionalDirectories": ["mcp__"], "disableAutoMode": "disable", "note": "x", "asks": 1.5}})");
  EXPECT_THAT(said(theirs), ElementsAre(HasSubstr("\"asks\"")));
}

// compat: B7.4
TEST(SettingsFile, ModesOfOtherProgramsAreReportedAsDifferentHere) {
  const auto plan = user(R"({"permissions": {"defaultMode": "plan"}})");
  EXPECT_THAT(said(plan), ElementsAre(AllOf(HasSubstr(":1:33: "), HasSubstr("default\" is used instead"))));
  EXPECT_EQ(plan.problems.at(0).severity, Severity::warning);
  for (std::string mode : {"acceptEdits", "auto"}) {
    const auto layer = user(R"({"permissions": {"defaultMode": ")" + mode + "\"}}");
    EXPECT_THAT(said(layer), ElementsAre(HasSubstr("default\" is used instead"))) << mode;
    EXPECT_EQ(layer.problems.at(0).severity, Severity::note);
  }
  for (std::string mode : {"default", "acceptReads", "bypass", "bypassPermissions", "dontAsk"}) {
    EXPECT_THAT(said(user(R"({"permissions": {"defaultMode": ")" + mode + "\"}}")), IsEmpty()) << mode;
  }
}

TEST(SettingsFile, BrokenRulesArePointedAtInsideTheirText) {
  const auto layer =
      user("{\"permissions\": {\n  \"deny\": [\"mcp__db__query(sql: /[/)\"],\n  \"allow\": [\"mcp__*\"]}}");
  ASSERT_THAT(layer.problems, SizeIs(2));
  EXPECT_THAT(said(layer)[0], AllOf(HasSubstr(":2:"), HasSubstr("cannot be read"),
                                    HasSubstr("until this is fixed it applies to all arguments")));
  EXPECT_EQ(layer.problems[0].severity, Severity::error);
  EXPECT_THAT(said(layer)[1], AllOf(HasSubstr(":3:14: "), HasSubstr("is skipped")));
  EXPECT_EQ(layer.problems[1].severity, Severity::warning);
}

// A text inside the repository that tries to switch permissions off is said to have failed.
TEST(SettingsFile, BypassInsideTheRepositoryIsReportedAsIgnored) {
  constexpr std::string_view text =
      R"({"dangerouslySkipPermissions": true, "permissions": {"defaultMode": "bypassPermissions"}})";
  for (auto source : {SettingsSource::project, SettingsSource::project_local}) {
    auto layer = checked_settings(text, source, "/repo/.claude/settings.json");
    EXPECT_THAT(said(layer), ElementsAre(HasSubstr("cannot turn permission checks off"),
                                         HasSubstr("cannot turn permission checks off")));
  }
  EXPECT_THAT(said(user(text)), IsEmpty());
}

TEST(SettingsFile, TextsThatAreNotSettings) {
  // Nothing at all may be what is left of a file that had rules.
  for (std::string_view text : {"", " \n", "[1]", "{", "\"x\"", "{\"a\":1,\"a\":2}", "\xFF{}", "{} trailing"}) {
    auto layer = user(text);
    EXPECT_TRUE(layer.unreadable) << text;
    ASSERT_THAT(layer.problems, SizeIs(1)) << text;
    EXPECT_EQ(layer.problems[0].severity, Severity::error);
    EXPECT_GE(layer.problems[0].line, 1u);
  }
  EXPECT_THAT(said(user("{\"statusLine\": 5, \"mcpServers\": [], \"model\": {}}")), IsEmpty());
}

// compat: B1.6
TEST(SettingsFile, FilesOverrideOneAnotherInThisOrder) {
  using Source = SettingsSource;
  const Source order[] = {Source::enterprise, Source::flag, Source::project_local,
                          Source::project,    Source::own,  Source::user};
  for (std::size_t i = 1; i < std::size(order); ++i) {
    EXPECT_LT(settings_rank(order[i - 1]), settings_rank(order[i])) << to_string(order[i]);
  }
}

TEST(SettingsFile, LayersAreComparedByContent) {
  EXPECT_EQ(SettingsLayers(), settings_layers(std::vector<SettingsLayer>()));
  EXPECT_EQ(settings_layers({user("{}")}), settings_layers({user(" {}")}));
  EXPECT_FALSE(settings_layers({user("{}")}) == settings_layers({user(R"({"disableClaudeAiConnectors": true})")}));
}

// compat: B4.8, B4.9
TEST(SettingsFile, ConnectorsAreOffWhenAnyFileSaysSo) {
  const std::vector<SettingsLayer> none{user("{}"), user(R"({"disableClaudeAiConnectors": false})")};
  EXPECT_FALSE(connectors_disabled(none));
  const std::vector<SettingsLayer> one{user(R"({"disableClaudeAiConnectors": false})"),
                                       checked_settings(R"({"disableClaudeAiConnectors": true})",
                                                        SettingsSource::project, "/repo/.claude/settings.json")};
  EXPECT_TRUE(connectors_disabled(one));
  EXPECT_FALSE(connectors_beside_enterprise(one));
  const std::vector<SettingsLayer> beside{enterprise(R"({"allowAllClaudeAiMcps": true})")};
  EXPECT_TRUE(connectors_beside_enterprise(beside));
}

// Whoever signs the user in is named by the user or the organisation, never by a repository. A5.
TEST(SettingsFile, TheIdentityProviderIsReadOutsideOfRepositoriesAlone) {
  const std::string text = R"({"xaaIdp": {"issuer": "https://login.example", "clientId": "us", "callbackPort": 8123}})";
  const auto layer = user(text);
  EXPECT_THAT(said(layer), IsEmpty());
  EXPECT_EQ(layer.identity_provider, (IdentityProviderSetting{"https://login.example", "us", 8123, {1, 12}}));
  const auto project = checked_settings(text, SettingsSource::project, "/repo/.claude/settings.json");
  EXPECT_FALSE(project.identity_provider);
  EXPECT_THAT(said(project), ElementsAre(HasSubstr("inside the repository")));
  for (const auto& [wrong, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"xaaIdp": "https://login.example"})", "must be an object"},
           {R"({"xaaIdp": {"clientId": "us"}})", "must be an https URL"},
           {R"({"xaaIdp": {"issuer": "http://login.example", "clientId": "us"}})", "must be an https URL"},
           {R"({"xaaIdp": {"issuer": "https://login.example"}})", "clientId"},
       }) {
    EXPECT_FALSE(user(wrong).identity_provider) << wrong;
    EXPECT_THAT(said(user(wrong)), ElementsAre(HasSubstr(why)));
  }
  const auto other = enterprise(R"({"xaaIdp": {"issuer": "https://organisation.example", "clientId": "us"}})");
  const std::vector<SettingsLayer> both{layer, project, other};
  EXPECT_EQ(identity_provider_layer(both)->identity_provider->issuer, "https://organisation.example");
  EXPECT_EQ(identity_provider_layer(std::vector{project}), nullptr);
}

// N8: what is recorded is the user's and the organisation's to say.
TEST(SettingsFile, TheRecorderIsSwitchedOffOutsideOfRepositoriesAlone) {
  const auto off = user(R"({"recorder": "off"})");
  EXPECT_THAT(said(off), IsEmpty());
  EXPECT_TRUE(recorder_is_off(std::vector{off}));
  EXPECT_FALSE(recorder_is_off(std::vector{user("{}")}));
  EXPECT_FALSE(recorder_is_off(std::vector{off, enterprise(R"({"recorder": "on"})")}));
  const auto project =
      checked_settings(R"({"recorder": "off"})", SettingsSource::project, "/repo/.claude/settings.json");
  EXPECT_FALSE(recorder_is_off(std::vector{project}));
  EXPECT_THAT(said(project), ElementsAre(HasSubstr("inside the repository")));
  for (const auto* wrong : {R"({"recorder": false})", R"({"recorder": "of"})"}) {
    EXPECT_FALSE(recorder_is_off(std::vector{user(wrong)}));
    EXPECT_THAT(said(user(wrong)), ElementsAre(HasSubstr("\"recorder\" must be \"on\" or \"off\"")));
  }
}

// G1: whom a conversation is held with.
TEST(SettingsFile, TheModelIsChosenOutsideOfRepositoriesAlone) {
  const auto mine = user(R"({"model": "ollama:qwen3"})");
  const auto theirs = enterprise(R"({"model": "anthropic"})");
  const auto project =
      checked_settings(R"({"model": "openai"})", SettingsSource::project, "/repo/.claude/settings.json");
  EXPECT_THAT(said(project), IsEmpty());
  EXPECT_EQ(model_layer(std::vector{project}), nullptr);
  const std::vector<SettingsLayer> both{mine, project};
  EXPECT_EQ(model_layer(both)->model->value, "ollama:qwen3");
  const std::vector<SettingsLayer> all{mine, theirs};
  EXPECT_EQ(model_layer(all)->model->value, "anthropic");
  const auto ours = checked_settings(R"({"model": 3})", SettingsSource::own, "/config.json");
  EXPECT_THAT(said(ours), ElementsAre(HasSubstr("must be a text")));
  EXPECT_THAT(said(user(R"({"model": 3})")), IsEmpty());  // of another program as well
}

}  // namespace
}  // namespace patchbay
