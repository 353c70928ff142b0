// Whether a call may be made: which rules name a tool, which of them decides, what modes and hints change.
// P1 P2 W4.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "permission/decide.h"
#include "support/rule_lists.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Outcome = PermissionOutcome;
using Mode = PermissionMode;

const std::string cwd = "/home/me/project";

struct Hints {
  std::optional<bool> read_only = std::nullopt;
  std::optional<bool> destructive = std::nullopt;
  std::optional<bool> open_world = std::nullopt;
  Json meta = Json();
};

std::shared_ptr<const Tool> tool_of(std::string name, const Hints& hints = {}) {
  Tool tool;
  tool.name = std::move(name);
  if (hints.read_only || hints.destructive || hints.open_world) {
    tool.annotations.emplace();
    tool.annotations->read_only_hint = hints.read_only;
    tool.annotations->destructive_hint = hints.destructive;
    tool.annotations->open_world_hint = hints.open_world;
  }
  tool.meta = hints.meta;
  return std::make_shared<const Tool>(std::move(tool));
}

// The entry a catalog with nothing else has.
CatalogEntry entry(std::string server, std::string tool, const Hints& hints = {},
                   NamePrefix prefix = NamePrefix::server) {
  const std::vector<ServerTools> servers{{std::move(server), {tool_of(std::move(tool), hints)}, prefix}};
  return Catalog(servers).tools().front();
}

using Lists = test::RuleLists;

Permissions permissions(const Lists& lists) {
  const auto layers = test::settings_with(lists, "/home/me/.claude/settings.json");
  RuleRequest request;
  request.mode = lists.mode;
  request.places = {cwd, "/home/me"};
  return Permissions(collect_rules(layers, request));
}

Outcome decide(const Lists& lists, const CatalogEntry& tool, const Json& arguments = Json()) {
  return permissions(lists).decide(tool, arguments, cwd).outcome;
}

// compat: B7.4, P1.a
TEST(Permission, DenyThenAskThenAllow) {
  const auto tool = entry("s", "t");
  EXPECT_EQ(decide({}, tool), Outcome::ask);
  EXPECT_EQ(decide({.allow = {"mcp__s__t"}}, tool), Outcome::allow);
  EXPECT_EQ(decide({.allow = {"mcp__s__t"}, .ask = {"mcp__s"}}, tool), Outcome::ask);
  EXPECT_EQ(decide({.allow = {"mcp__s__t"}, .ask = {"mcp__s"}, .deny = {"mcp__*"}}, tool), Outcome::deny);
  EXPECT_EQ(decide({.allow = {"MCPTool(mcp__s__t)"}}, tool), Outcome::allow);
  EXPECT_EQ(decide({.deny = {"MCPTool(mcp__s__*)"}}, tool), Outcome::deny);
  EXPECT_EQ(decide({.deny = {"MCPTool"}}, tool), Outcome::deny);
}

// compat: B7.4, B7.5
TEST(Permission, NamesAndWildcards) {
  struct Case {
    std::string rule;
    std::string server;
    std::string tool;
    bool denies;
    bool allows;
  };
  for (const auto& [rule, server, tool, denies, allows] : std::vector<Case>{
           {"mcp__s", "s", "t", true, true},
           {"mcp__s__*", "s", "t", true, true},
           {"mcp__s__get_*", "s", "get_x", true, true},
           {"mcp__s__get_*", "s", "set_x", false, false},
           {"mcp__s__*_x", "s", "get_x", true, true},
           {"mcp__s__t", "s", "t", true, true},
           {"mcp__s__t", "s", "tt", false, false},
           {"mcp__s", "ss", "t", false, false},
           {"mcp__s__t", "S", "t", false, false},
           {"s/t", "s", "t", true, true},
           {"s/*", "s", "t", true, true},
           {"mcp__*", "s", "t", true, false},
           {"*", "s", "t", true, false},
           {"mcp__*__delete*", "s", "delete_all", true, false},
           {"*delete*", "s", "undelete", true, false},
           // Original, normalised and exposed spellings.
           {"mcp__my server__do it", "my server", "do it", true, true},
           {"mcp__my_server__do_it", "my server", "do it", true, true},
           {"mcp__my server", "my server", "do it", true, true},
           {"mcp__my_server", "my server", "do it", true, true},
           {"mcp__my server__*", "my server", "do it", true, true},
           {"mcp__my_server__do*", "my server", "do it", true, true},
           {"my server/do it", "my server", "do it", true, true},
           {"mcp__plugin_p_s__t", "plugin:p:s", "t", true, true},
           // Where one server's name begins like another's, an allow rule stays with the one it names.
           {"mcp__github__*", "github__evil", "x", true, false},
           {"mcp__github__evil", "github__evil", "x", true, false},
           {"mcp__github__evil__*", "github__evil", "x", true, true},
           {"mcp__github__evil__x", "github__evil", "x", true, true},
           {"github/*", "github/evil", "x", true, false},
       }) {
    const auto one = entry(server, tool);
    EXPECT_EQ(decide({.deny = {rule}}, one) == Outcome::deny, denies) << rule << " " << server << " " << tool;
    EXPECT_EQ(decide({.allow = {rule}}, one) == Outcome::allow, allows) << rule << " " << server << " " << tool;
    // Asking reaches as far as denying.
    EXPECT_EQ(decide({.ask = {rule}, .mode = Mode::bypass}, one) == Outcome::ask, denies) << rule;
  }
}

TEST(Permission, LongNamesAreKnownByWhatTheModelSees) {
  const auto one = entry("s", std::string(100, 't'));
  ASSERT_EQ(one.name.size(), 64u);
  EXPECT_EQ(decide({.allow = {one.name}}, one), Outcome::allow);
  EXPECT_EQ(decide({.allow = {"mcp__s__" + std::string(100, 't')}}, one), Outcome::allow);
  EXPECT_EQ(decide({.deny = {"mcp__s__ttt*"}}, one), Outcome::deny);
}

// Two tools that normalise to one name: who owns it is allowed by it, the other is not.
TEST(Permission, ASharedNameAllowsItsOwnerAlone) {
  const std::vector<ServerTools> servers{{"a.b", {tool_of("t")}, NamePrefix::server},
                                         {"a_b", {tool_of("t")}, NamePrefix::server}};
  const Catalog catalog(servers);
  for (const auto& one : catalog.tools()) {
    const bool owner = one.server == "a_b";
    EXPECT_EQ(decide({.allow = {"mcp__a_b__t"}}, one), owner ? Outcome::allow : Outcome::ask) << one.server;
    EXPECT_EQ(decide({.deny = {"mcp__a_b__t"}}, one), Outcome::deny) << one.server;
  }
}

// An allow rule that several servers could mean is about the one that has the name as configured, else about none.
// compat: B7.4
TEST(Permission, AnAllowRuleReachesNoOtherServer) {
  struct Case {
    std::vector<std::string> servers;  // configured, connected or not
    std::string rule;
    std::string server, tool;
    bool allows;
  };
  for (const auto& [servers, rule, server, tool, allows] : std::vector<Case>{
           {{"git.hub"}, "mcp__git_hub__*", "git.hub", "t", true},
           {{"git.hub", "git_hub"}, "mcp__git_hub__*", "git_hub", "t", true},
           {{"git.hub", "git_hub"}, "mcp__git_hub__*", "git.hub", "t", false},
           {{"git.hub", "git_hub"}, "mcp__git_hub", "git.hub", "t", false},
           {{"git.hub", "git_hub"}, "mcp__git_hub", "git_hub", "t", true},
           {{"git.hub", "git_hub"}, "mcp__git_hub__t", "git.hub", "t", false},
           {{"git.hub", "git_hub"}, "mcp__git_hub__t", "git_hub", "t", true},
           {{"git.hub", "git_hub"}, "mcp__git.hub__t", "git.hub", "t", true},
           {{"git.hub", "git_hub"}, "git.hub/t", "git.hub", "t", true},
           {{"git.hub", "git hub"}, "mcp__git_hub__*", "git.hub", "t", false},
           {{"git.hub", "git hub"}, "mcp__git_hub__*", "git hub", "t", false},
           {{"git.hub", "git hub"}, "mcp__git.hub__*", "git.hub", "t", true},
           {{"a", "a__b"}, "mcp__a__b__c", "a", "b__c", false},
           {{"a", "a__b"}, "mcp__a__b__c", "a__b", "c", false},
           {{"a", "a__b"}, "mcp__a__b__*", "a", "b__c", false},
           {{"a", "a__b"}, "mcp__a__*", "a", "b__c", true},
           {{"a", "a__b"}, "mcp__a__x", "a", "x", true},
           {{"a", "a__b"}, "mcp__a__b", "a", "b", true},
           {{"a", "a__b"}, "a/b__c", "a", "b__c", true},
           {{"a", "a__b"}, "a__b/c", "a__b", "c", true},
           {{"a"}, "mcp__a__b__c", "a", "b__c", true},
           {{"a__b"}, "mcp__a__b__c", "a__b", "c", true},
           {{"a", "a/b"}, "a/b/c", "a", "b/c", false},
           {{"a", "a/b"}, "a/b/c", "a/b", "c", false},
           {{"plugin:p:s", "other"}, "mcp__plugin_p_s__t", "plugin:p:s", "t", true},
       }) {
    const auto one = entry(server, tool);
    auto rules = permissions({.allow = {rule}});
    rules.know_servers(servers);
    EXPECT_EQ(rules.decide(one, Json(), cwd).outcome == Outcome::allow, allows) << rule << " " << server << "/" << tool;
    // Denying stays as wide as it can be meant.
    auto denying = permissions({.deny = {rule}});
    denying.know_servers(servers);
    EXPECT_EQ(denying.decide(one, Json(), cwd).outcome, Outcome::deny) << rule << " " << server << "/" << tool;
  }
}

TEST(Permission, BareNamesAreOnlyForToolsOfferedThatWay) {
  const auto bare = entry("s", "Bash", {}, NamePrefix::none);
  ASSERT_EQ(bare.name, "Bash");
  EXPECT_EQ(decide({.deny = {"Bash"}}, bare), Outcome::deny);
  EXPECT_EQ(decide({.deny = {"Ba*"}}, bare), Outcome::deny);
  EXPECT_EQ(decide({.deny = {"Bash(rm:*)"}}, bare), Outcome::deny);
  EXPECT_EQ(decide({.allow = {"Bash"}}, bare), Outcome::allow);
  EXPECT_EQ(decide({.allow = {"Bash(npm run test:*)"}}, bare), Outcome::ask);
  EXPECT_EQ(decide({.deny = {"mcp__s__Bash"}}, bare), Outcome::deny);
  EXPECT_EQ(decide({.deny = {"Bash"}}, entry("s", "Bash")), Outcome::ask);
}

// compat: P1.b
TEST(Permission, WithoutARuleTheModeDecides) {
  const auto plain = entry("s", "t");
  const auto reads = entry("s", "t", {.read_only = true});
  const auto writes = entry("s", "t", {.read_only = false});
  EXPECT_EQ(decide({}, reads), Outcome::ask);
  EXPECT_EQ(decide({.mode = Mode::accept_reads}, reads), Outcome::allow);
  EXPECT_EQ(decide({.mode = Mode::accept_reads}, plain), Outcome::ask);
  EXPECT_EQ(decide({.mode = Mode::accept_reads}, writes), Outcome::ask);
  EXPECT_EQ(decide(
                {
                    .mode = Mode::accept_reads,
                },
                entry("s", "t", {.read_only = true, .destructive = true})),
            Outcome::ask);
  EXPECT_EQ(decide({.mode = Mode::bypass}, plain), Outcome::allow);
  EXPECT_EQ(decide({.mode = Mode::dont_ask}, plain), Outcome::deny);
  EXPECT_EQ(decide({.mode = Mode::dont_ask}, reads), Outcome::deny);
  EXPECT_EQ(decide({.allow = {"mcp__s"}, .mode = Mode::dont_ask}, plain), Outcome::allow);
}

// compat: P2.a
TEST(Permission, RulesHoldInEveryMode) {
  const auto reads = entry("s", "t", {.read_only = true});
  for (auto mode : {Mode::standard, Mode::accept_reads, Mode::bypass, Mode::dont_ask}) {
    EXPECT_EQ(decide({.deny = {"mcp__s__t"}, .mode = mode}, reads), Outcome::deny) << to_string(mode);
    EXPECT_EQ(decide({.ask = {"mcp__s__t"}, .mode = mode}, reads),
              mode == Mode::dont_ask ? Outcome::deny : Outcome::ask)
        << to_string(mode);
  }
}

// compat: P1.c
TEST(Permission, DestructiveToolsNeedARuleThatNamesThem) {
  const auto drop = entry("s", "drop", {.destructive = true});
  EXPECT_EQ(decide({.allow = {"mcp__s__*"}}, drop), Outcome::ask);
  EXPECT_EQ(decide({.allow = {"mcp__s"}}, drop), Outcome::ask);
  EXPECT_EQ(decide({.allow = {"mcp__s__dro*"}}, drop), Outcome::ask);
  EXPECT_EQ(decide({.allow = {"mcp__s__drop"}}, drop), Outcome::allow);
  EXPECT_EQ(decide({.allow = {"mcp__s", "mcp__s__drop"}}, drop), Outcome::allow);
  EXPECT_EQ(decide({.allow = {"mcp__s__drop(table: tmp_*)"}}, drop, Json{{"table", "tmp_1"}}), Outcome::allow);
  EXPECT_EQ(decide({.allow = {"mcp__s__drop(table: tmp_*)"}}, drop, Json{{"table", "users"}}), Outcome::ask);
  EXPECT_EQ(decide({.mode = Mode::accept_reads}, drop), Outcome::ask);
  EXPECT_EQ(decide({.mode = Mode::bypass}, drop), Outcome::allow);
  EXPECT_THAT(permissions({.allow = {"mcp__s"}}).decide(drop, Json(), cwd).reason, HasSubstr("by its full name"));
}

// compat: B7.9, P1.d
TEST(Permission, ToolsThatWantTheUserAlwaysAsk) {
  for (const auto& [flag, asks] :
       std::vector<std::pair<Json, bool>>{{true, true}, {"yes", true}, {1, true}, {false, false}, {nullptr, false}}) {
    const auto one = entry("s", "t", {.meta = Json{{"anthropic/requiresUserInteraction", flag}}});
    EXPECT_EQ(decide({.mode = Mode::bypass}, one), asks ? Outcome::ask : Outcome::allow) << to_text(flag);
    EXPECT_EQ(decide({.allow = {"mcp__s__t"}}, one), asks ? Outcome::ask : Outcome::allow) << to_text(flag);
    EXPECT_EQ(decide({.allow = {"mcp__s__t"}, .mode = Mode::dont_ask}, one), asks ? Outcome::deny : Outcome::allow);
    EXPECT_EQ(decide({.deny = {"mcp__s__t"}}, one), Outcome::deny);
  }
}

// compat: B7.8
TEST(Permission, ArgumentsDecide) {
  const Lists lists{.allow = {R"(mcp__db__query(sql: /^select\b/i))", "mcp__fs__write_file(path: ./docs/**)"},
                    .deny = {"mcp__db__query(sql: /;/)", "mcp__fs__*(path: ~/.ssh/**)"}};
  const auto query = entry("db", "query");
  EXPECT_EQ(decide(lists, query, Json{{"sql", "SELECT 1"}}), Outcome::allow);
  EXPECT_EQ(decide(lists, query, Json{{"sql", "select 1; drop table x"}}), Outcome::deny);
  EXPECT_EQ(decide(lists, query, Json{{"sql", "update x"}}), Outcome::ask);
  EXPECT_EQ(decide(lists, query, Json{{"sql", 5}}), Outcome::deny);
  EXPECT_EQ(decide(lists, query, Json()), Outcome::deny);
  const auto write = entry("fs", "write_file");
  EXPECT_EQ(decide(lists, write, Json{{"path", "docs/a"}}), Outcome::allow);
  EXPECT_EQ(decide(lists, write, Json{{"path", "docs/../a"}}), Outcome::ask);
  EXPECT_EQ(decide(lists, write, Json{{"path", "docs/../../.ssh/id"}}), Outcome::deny);
  EXPECT_EQ(decide(lists, entry("fs", "list"), Json{}), Outcome::deny);
}

TEST(Permission, HintsInRulesAreClaims) {
  const Lists lists{.allow = {"mcp__s__*(@readOnly: true)"}, .deny = {"mcp__*(@openWorld: true)"}};
  EXPECT_EQ(decide(lists, entry("s", "t", {.read_only = true, .open_world = false})), Outcome::allow);
  EXPECT_EQ(decide(lists, entry("s", "t", {.read_only = true, .open_world = true})), Outcome::deny);
  // Who says nothing about it may well do it.
  EXPECT_EQ(decide(lists, entry("s", "t", {.read_only = true})), Outcome::deny);
}

TEST(Permission, ABrokenRuleDeniesAndNeverAllows) {
  const auto one = entry("s", "t");
  EXPECT_EQ(decide({.allow = {"mcp__s"}, .deny = {"mcp__s__t(x: /(/)"}}, one), Outcome::deny);
  EXPECT_EQ(decide({.allow = {"mcp__s"}, .ask = {"mcp__s__t(x"}}, one), Outcome::ask);
  EXPECT_EQ(decide({.allow = {"mcp__s__t(x"}}, one), Outcome::ask);
  EXPECT_EQ(decide({.allow = {"mcp__s"}, .deny = {"mcp__s__u(x"}}, one), Outcome::allow);
}

TEST(Permission, RulesThatCannotBeReadAtAllRefuseEveryCall) {
  const std::vector layers{parse_settings(R"({"permissions": {"allow": ["mcp__s"], "deny": [{}]}})",
                                          SettingsSource::user, "/home/me/.claude/settings.json")};
  for (auto mode : {Mode::standard, Mode::accept_reads, Mode::bypass, Mode::dont_ask}) {
    RuleRequest request;
    request.mode = mode;
    request.allowed_tools = {"mcp__s__t"};
    const Permissions rules(collect_rules(layers, request));
    const auto decision = rules.decide(entry("s", "t"), Json(), cwd);
    EXPECT_EQ(decision.outcome, Outcome::deny) << to_string(mode);
    EXPECT_EQ(decision.file, "/home/me/.claude/settings.json");
    EXPECT_EQ(decision.line, 1u);
    EXPECT_THAT(decision.reason, HasSubstr("cannot be read, so it is not known what they deny"));
  }
}

TEST(Permission, ADenialBecauseOfADoubtSaysWhichArgumentItIs) {
  const Lists lists{.ask = {"mcp__s__u(path: ./a/**)"}, .deny = {"mcp__s__t(pth: ./a/**)"}};
  EXPECT_THAT(permissions(lists).decide(entry("s", "t"), Json{{"path", "b"}}, cwd).reason,
              testing::EndsWith("settings.json:1, because the call has no argument \"pth\""));
  EXPECT_THAT(
      permissions(lists).decide(entry("s", "u"), Json{{"path", 1}}, cwd).reason,
      testing::EndsWith("requires a question, because the argument \"path\" cannot be compared with the condition"));
}

TEST(Permission, TheDecisionCarriesTheRuleAndItsPlace) {
  const std::vector layers{parse_settings("{\"permissions\": {\n  \"deny\": [\n    \"mcp__s__t\"]}}",
                                          SettingsSource::user, "/home/me/.claude/settings.json")};
  RuleRequest request;
  request.disallowed_tools = {"mcp__u"};
  const Permissions rules(collect_rules(layers, request));
  const auto denied = rules.decide(entry("s", "t"), Json(), cwd);
  EXPECT_EQ(denied,
            (PermissionDecision{Outcome::deny, "denied by the rule \"mcp__s__t\" in /home/me/.claude/settings.json:3",
                                "mcp__s__t", "/home/me/.claude/settings.json", 3, 5}));
  EXPECT_EQ(denial("mcp__s__t", denied).message(),
            "\"mcp__s__t\" may not be called: denied by the rule \"mcp__s__t\" in /home/me/.claude/settings.json:3; to "
            "call it, change /home/me/.claude/settings.json:3");
  const auto flag = rules.decide(entry("u", "t"), Json(), cwd);
  EXPECT_EQ(flag.reason, "denied by disallowed_tools \"mcp__u\"");
  EXPECT_THAT(denial("mcp__u__t", flag).message(), HasSubstr("leave disallowed_tools out"));
  EXPECT_EQ(rules.decide(entry("v", "t"), Json(), cwd).reason, "no rule allows it");
  const auto mode = permissions({.mode = Mode::dont_ask}).decide(entry("v", "t"), Json(), cwd);
  EXPECT_THAT(denial("mcp__v__t", mode).message(), HasSubstr("dontAsk"));
  EXPECT_EQ(denial("mcp__v__t", mode).remedy(), Remedy{Remedy::Kind::choose_permission_mode});
}

// compat: B7.6
TEST(Permission, ToolsDeniedByNameNeedNotBeShown) {
  const auto rules = permissions({.allow = {"mcp__s"}, .ask = {"mcp__s"}, .deny = {"mcp__s__a", "mcp__s__b(x: 1)"}});
  EXPECT_TRUE(rules.denied_by_name(entry("s", "a")));
  EXPECT_FALSE(rules.denied_by_name(entry("s", "b")));
  EXPECT_FALSE(rules.denied_by_name(entry("s", "c")));
}

// compat: B7.7
// A rule that leaves no tool of a server leaves nothing of it.
TEST(Permission, AServerIsDeniedByARuleAboutAllItsTools) {
  struct Case {
    std::string rule;
    std::string server;
    bool denied;
  };
  for (const auto& [rule, server, denied] : std::vector<Case>{
           {"mcp__fs", "fs", true},
           {"mcp__fs__*", "fs", true},
           {"mcp__f*", "fs", true},
           {"mcp__*", "fs", true},
           {"mcp__*__*", "fs", true},
           {"*", "fs", true},
           {"fs/*", "fs", true},
           {"MCPTool(mcp__fs__*)", "fs", true},
           {"MCPTool(mcp__fs)", "fs", true},
           {"MCPTool", "fs", true},
           {"mcp__my_server", "my server", true},
           {"mcp__my server__*", "my server", true},
           {"my server/*", "my server", true},
           // What could not be read denies whatever the arguments are.
           {"mcp__fs__*(path: /x", "fs", true},
           {"mcp__fs__*(*)", "fs", true},
           {"mcp__fs", "fs2", false},
           {"mcp__fs__read", "fs", false},
           {"mcp__fs__read_*", "fs", false},
           {"mcp__*__delete_*", "fs", false},
           {"mcp__fs__*_x", "fs", false},
           {"mcp__fs__*(path: /etc/**)", "fs", false},
           {"mcp__fs__*(@readOnly: false)", "fs", false},
           {"fs", "fs", false},
           {"fs*", "fs", false},
       }) {
    RuleSet rules;
    if (auto read = read_rule(rule, RuleList::deny, {"/", "/"}); read.rule) rules.rules.push_back(*read.rule);
    rules.rules.front().file = "/f.json";
    rules.rules.front().line = 3;
    const Permissions permissions(std::move(rules));
    const auto decision = permissions.denied_server(server);
    EXPECT_EQ(decision.has_value(), denied) << rule << " and " << server;
    if (decision) EXPECT_EQ(decision->reason, "denied by the rule " + to_text(Json(rule)) + " in /f.json:3");
  }
  for (const auto list : {RuleList::ask, RuleList::allow}) {
    RuleSet rules;
    rules.rules.push_back(read_rule("mcp__fs__*", list, {"/", "/"}).rule.value());
    EXPECT_FALSE(Permissions(std::move(rules)).denied_server("fs"));
  }
  // Nobody knows what rules would say that cannot be read.
  RuleSet unread;
  unread.refuse_all = PermissionDecision{PermissionOutcome::deny, "unreadable", "", "/f.json", 0, 0};
  EXPECT_TRUE(Permissions(std::move(unread)).denied_server("fs"));
}

TEST(Permission, DenyRulesForNamesNobodyHasAreReported) {
  const auto rules = permissions({.allow = {"mcp__nobody"},
                                  .deny = {"mcp__gihub__x", "mcp__github__y", "mcp__git*", "mcp__fs__write", "*",
                                           "Bash", "nobody/x", "github/x"}});
  const std::vector<ServerTools> servers{{"fs", {tool_of("write")}, NamePrefix::server}};
  const std::vector<std::string> names{"github", "fs"};
  const auto problems = rules.unknown_names(names, Catalog(servers));
  ASSERT_THAT(problems, SizeIs(2));
  EXPECT_THAT(problems[0].text(), AllOf(HasSubstr("settings.json:1:"), HasSubstr("mcp__gihub__x")));
  EXPECT_THAT(problems[1].text(), HasSubstr("nobody/x"));
  // Of a server that has told its tools it is known that it has no such one.
  const auto slip = permissions({.deny = {"mcp__fs__wirte", "fs/read", "mcp__fs__w*", "mcp__fs"}});
  const auto said = slip.unknown_names(names, Catalog(servers));
  ASSERT_THAT(said, SizeIs(2));
  EXPECT_THAT(said[0].text(),
              AllOf(HasSubstr("does not name a tool that exists"), HasSubstr("did you mean mcp__fs__write?")));
  EXPECT_THAT(said[1].text(), HasSubstr("\"fs/read\" does not name a tool that exists"));
  EXPECT_THAT(slip.unknown_names(names, Catalog()), IsEmpty());
}

// Spellings that look like a tool which is there, but are how other programs name theirs.
TEST(Permission, DenyRulesThatOnlyLookLikeAServersToolAreReported) {
  const std::vector<ServerTools> servers{{"docs", {tool_of("write_file")}, NamePrefix::server}};
  const std::vector<std::string> names{"docs"};
  for (const std::string rule :
       {"write_file", "docs", "docs__write_file", "docs:write_file", "docs.write_file", "write*"}) {
    const auto said = permissions({.deny = {rule}}).unknown_names(names, Catalog(servers));
    ASSERT_THAT(said, SizeIs(1)) << rule;
    EXPECT_THAT(said[0].text(), AllOf(HasSubstr("it denies nothing"), HasSubstr("did you mean mcp__docs"))) << rule;
  }
  for (const std::string rule : {"Bash", "Bash(rm *)", "read", "Write*"}) {
    EXPECT_THAT(permissions({.deny = {rule}}).unknown_names(names, Catalog(servers)), IsEmpty()) << rule;
  }
}

TEST(Permission, ManyRulesAreTheSameAsFew) {
  Lists lists;
  for (int i = 0; i < 500; ++i) {
    lists.allow.push_back("mcp__server" + std::to_string(i) + "__*");
    lists.deny.push_back("mcp__server" + std::to_string(i) + "__delete*");
    lists.ask.push_back("mcp__server" + std::to_string(i) + "__write");
  }
  const auto rules = permissions(lists);
  for (int i = 0; i < 500; i += 99) {
    const auto server = "server" + std::to_string(i);
    EXPECT_EQ(rules.decide(entry(server, "delete_x"), Json(), cwd).rule, "mcp__" + server + "__delete*");
    EXPECT_EQ(rules.decide(entry(server, "write"), Json(), cwd).outcome, Outcome::ask);
    EXPECT_EQ(rules.decide(entry(server, "read"), Json(), cwd).outcome, Outcome::allow);
  }
  EXPECT_EQ(rules.decide(entry("server500", "read"), Json(), cwd).outcome, Outcome::ask);
}

// P2: where a path may be below one of several directories, only what holds of all of them allows, and what holds of
// one of them denies.
TEST(Permission, APathThatMayBeRelativeToSeveralDirectories) {
  const auto tool = entry("fs", "read");
  const std::vector<std::string> also{"/home/ann"};
  const auto outcome = [&](Lists lists, std::string path) {
    return permissions(lists).decide(tool, Json{{"path", std::move(path)}}, "/work", also).outcome;
  };
  EXPECT_EQ(outcome({.deny = {"mcp__fs__read(path: /home/ann/.ssh/**)"}}, ".ssh/id"), Outcome::deny);
  EXPECT_EQ(outcome({.deny = {"mcp__fs__read(path: /home/ann/.ssh/**)"}}, "notes/a"), Outcome::ask);
  EXPECT_EQ(outcome({.deny = {"mcp__fs__read(path: /work/secret/**)"}}, "secret/a"), Outcome::deny);
  EXPECT_EQ(outcome({.allow = {"mcp__fs__read(path: /work/**)"}}, "a"), Outcome::ask);
  EXPECT_EQ(outcome({.allow = {"mcp__fs__read(path: /work/**)"}}, "/work/a"), Outcome::allow);
  EXPECT_EQ(outcome({.allow = {"mcp__fs__read(path: /**)"}}, "a"), Outcome::allow);
}

}  // namespace
}  // namespace patchbay
