// Lists of allowed and denied servers, and the patterns of URLs in them. C7.
#include "permission/policy.h"

#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/url_pattern.h"

namespace patchbay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Outcome = PolicyVerdict::Outcome;

const std::string managed = "/etc/claude-code/managed-settings.json";

SettingsLayer enterprise(std::string_view text) { return parse_settings(text, SettingsSource::enterprise, managed); }
SettingsLayer user(std::string_view text) {
  return parse_settings(text, SettingsSource::user, "/home/me/.claude/settings.json");
}
SettingsLayer project(std::string_view text) {
  return parse_settings(text, SettingsSource::project, "/repo/.claude/settings.json");
}

ServerConfig local(std::string name, std::vector<std::string> argv) {
  ServerConfig server;
  server.name = std::move(name);
  server.command = argv.front();
  server.args.assign(argv.begin() + 1, argv.end());
  return server;
}
ServerConfig remote(std::string name, std::string url) {
  ServerConfig server;
  server.name = std::move(name);
  server.kind = ServerKind::http;
  server.url = std::move(url);
  return server;
}
ServerConfig in_process(std::string name) {
  ServerConfig server;
  server.name = std::move(name);
  server.origin.scope = ConfigScope::embedded;
  return server;
}

VariableLookup variables(std::map<std::string, std::string, std::less<>> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}
const VariableLookup unset = variables({});

Outcome outcome(const ServerConfig& server, std::vector<SettingsLayer> layers, const VariableLookup& lookup = unset) {
  return judge_policy(server, layers, lookup).outcome;
}

// compat: B4.13
TEST(UrlPattern, ComparesPartByPart) {
  struct Case {
    std::string pattern;
    std::string url;
    bool matches;
  };
  for (const auto& [pattern, url, matches] : std::vector<Case>{
           // The host: neither its case nor a dot behind it counts.
           {"https://Example.COM/x", "https://example.com/x", true},
           {"https://example.com/x", "https://EXAMPLE.com./x", true},
           {"https://example.com./x", "https://example.com/x", true},
           {"https://example.com/x", "https://example.org/x", false},
           {"https://*.example.com/x", "https://a.b.example.com/x", true},
           {"https://*.example.com/x", "https://example.com/x", false},
           {"https://*.example.com/*", "https://evil.example/a.example.com/", false},
           {"https://*.example.com/*", "https://evil.example/?.example.com/", false},
           {"https://example.com/*", "https://example.com.evil.example/", false},
           {"https://example.com/*", "https://example.com@evil.example/", false},
           {"https://example.com/*", "https://user:pw@example.com/", true},
           // The path: its case counts, and one spelling of it.
           {"https://example.com/Mcp", "https://example.com/mcp", false},
           {"https://example.com/mcp", "https://example.com/%6Dcp", true},
           {"https://example.com/a%2fb", "https://example.com/a%2Fb", true},
           {"https://example.com/mcp", "https://example.com/x/../mcp", true},
           {"https://example.com/mcp", "https://example.com/mcp/", false},
           {"https://example.com/mcp", "https://example.com/mcp?key=1", true},
           {"https://example.com/mcp?key=1", "https://example.com/mcp?key=1", true},
           {"https://example.com/mcp?key=*", "https://example.com/mcp", false},
           {"https://example.com/api/*", "https://example.com/api/v1/mcp", true},
           {"https://example.com/api/*", "https://example.com/api/../admin", false},
           {"https://example.com/ä", "https://example.com/%C3%A4", true},
           // Without a path: any.
           {"https://example.com", "https://example.com/any/thing?x", true},
           {"https://example.com/", "https://example.com", true},
           {"https://example.com/", "https://example.com/x", false},
           // Scheme and port.
           {"https://example.com", "http://example.com", false},
           {"*://example.com", "http://example.com", true},
           {"http*://example.com", "https://example.com", true},
           {"example.com/*", "wss://example.com/x", true},
           {"*", "https://anything.example:1/x", true},
           {"https://*", "https://anything.example:1/x", true},
           {"https://*", "http://anything.example/", false},
           {"https://example.com", "https://example.com:443/", true},
           {"https://example.com:443", "https://example.com/", true},
           {"https://example.com", "https://example.com:8443/", false},
           {"https://example.com:*", "https://example.com:8443/", true},
           {"https://example.com:*", "https://example.com/", true},
           {"http://localhost:80*", "http://localhost:8080/mcp", true},
           {"http://localhost:80*", "http://localhost:9090/mcp", false},
           {"http://[::1]:*/mcp", "http://[::1]:3000/mcp", true},
           {"http://[::1]/mcp", "http://[::2]/mcp", false},
       }) {
    auto parsed = UrlPattern::parse(pattern);
    ASSERT_TRUE(parsed) << pattern << ": " << parsed.error().message();
    auto target = parse_url(url);
    ASSERT_TRUE(target) << url;
    EXPECT_EQ(parsed->match(*target), matches ? UrlPattern::Match::yes : UrlPattern::Match::no)
        << pattern << " and " << url;
  }
}

// A host is the place it leads to, however it is written.
TEST(UrlPattern, ComparesHostsInOneSpelling) {
  using enum UrlPattern::Match;
  struct Case {
    std::string pattern;
    std::string url;
    UrlPattern::Match expected;
  };
  for (const auto& [pattern, url, expected] : std::vector<Case>{
           {"http://127.0.0.1", "http://0x7f.1/", yes},
           {"http://127.0.0.1", "http://2130706433/", yes},
           {"http://127.0.0.1", "http://017700000001/", yes},
           {"http://127.0.0.1", "http://[::ffff:127.0.0.1]/", yes},
           {"http://127.0.0.1", "http://[::ffff:7f00:1]/", yes},
           {"http://127.*", "http://0x7f.1/", yes},
           {"http://0x7f.1", "http://127.0.0.1/", yes},
           {"http://[0:0::1]", "http://[::1]/", yes},
           {"http://[::ffff:10.0.0.1]", "http://10.0.0.1/", yes},
           {"http://[2001:db8:*]", "http://[2001:0DB8::1]/", yes},
           {"http://10.0.0.1", "http://0x7f.1/", no},
           // No address, which systems take for this machine.
           {"http://127.0.0.1", "http://0.0.0.0/", unclear},
           {"http://127.0.0.1", "http://[::]/", unclear},
           {"http://0.0.0.0", "http://0.0.0.0/", yes},
           // What readers take differently.
           {"https://*.example.com/*", "https://evil.com／.example.com/x", unclear},
           {"https://*.example.com/*", "https://evil.com\u2044.example.com/x", unclear},
           {"https://evil.com", "https://ｅｖｉｌ.com/", unclear},
           {"https://evil.com", "https://ev\u00ADil.com/", unclear},
           {"https://evil.com", "https://evil。com/", unclear},
           {"http://127.0.0.1", "http://１２７.0.0.1/", unclear},
           {"http://127.0.0.1", "http://127.0.0.1.:80/", unclear},
           {"http://127.0.0.1", "http://1.2.3.4.5/", unclear},
           {"http://[::1]", "http://[::1%25lo]/", unclear},
           {"https://*", "https://ä.example/", unclear},
           {"*", "https://ä.example:1/", unclear},
           {"https://evil.com/only", "https://ä.example:1/other", unclear},
           {"https://evil.com", "http://ä.example/", no},
       }) {
    auto parsed = UrlPattern::parse(pattern);
    ASSERT_TRUE(parsed) << pattern << ": " << parsed.error().message();
    auto target = parse_url(url);
    ASSERT_TRUE(target) << url;
    EXPECT_EQ(parsed->match(*target), expected) << pattern << " and " << url;
  }
}

TEST(UrlPattern, APatternWhoseHostCannotBeComparedIsRefused) {
  for (std::string_view pattern :
       {"https://münchen.example", "https://*.münchen.example", "https://ev\u00ADil.com", "https://1.2.3.4.5",
        "https://[example]", "https://[fe80::1%25x]", "https://a..b", "https://a(b.example", "https://*.a(b"}) {
    const auto parsed = UrlPattern::parse(pattern);
    ASSERT_FALSE(parsed) << pattern;
    EXPECT_THAT(parsed.error().message(), HasSubstr("xn--")) << pattern;
  }
}

TEST(UrlPattern, RefusesWhatCannotBeMeant) {
  for (std::string_view pattern : {"", "https://", "https:///x", "a b", "https://h\\x", "https://h:80a", "https://h:",
                                   "https://[::1", "https://[::1]x", "https://h/../x", "https://h/./x", "!://h"}) {
    EXPECT_FALSE(UrlPattern::parse(pattern)) << pattern;
  }
}

// A server that writes its host in another way is on the same lists.
TEST(Policy, HostsInAnotherNotationAreTheSameHost) {
  const auto denies = [](std::string_view pattern) {
    return enterprise(fmt::format(R"({{"deniedMcpServers":[{{"serverUrl":"{}"}}]}})", pattern));
  };
  const auto allows = [](std::string_view pattern) {
    return enterprise(fmt::format(R"({{"allowedMcpServers":[{{"serverUrl":"{}"}}]}})", pattern));
  };
  for (const auto* url : {"http://0x7f.1/mcp", "http://2130706433/mcp", "http://017700000001/mcp",
                          "http://[::ffff:127.0.0.1]/mcp", "http://127.1/mcp"}) {
    EXPECT_EQ(outcome(remote("s", url), {denies("http://127.0.0.1/*")}), Outcome::denied) << url;
    EXPECT_EQ(outcome(remote("s", url), {allows("http://127.0.0.1/*")}), Outcome::allowed) << url;
    EXPECT_EQ(outcome(remote("s", url), {allows("http://10.*/*")}), Outcome::not_allowed) << url;
  }
  // What cannot be judged is on the list that denies and on none that allows.
  for (const auto* url : {"https://evil.com／.example.com/x", "https://ｅｖｉｌ.com/", "https://ev\u00ADil.com/"}) {
    EXPECT_EQ(outcome(remote("s", url), {allows("https://*.example.com/*")}), Outcome::not_allowed) << url;
    EXPECT_EQ(outcome(remote("s", url), {allows("https://*")}), Outcome::not_allowed) << url;
    const auto verdict = judge_policy(remote("s", url), std::vector{denies("https://evil.com")}, unset);
    EXPECT_EQ(verdict.outcome, Outcome::denied) << url;
    EXPECT_THAT(verdict.reason, HasSubstr("because its URL cannot be checked")) << url;
  }
  // Variables may hold any notation, and change nothing else.
  const auto home = variables({{"HOST", "0x7f.1"}, {"ADDRESS", "::1"}});
  EXPECT_EQ(outcome(remote("s", "http://127.0.0.1/x"), {allows("http://${HOST}/*")}, home), Outcome::allowed);
  EXPECT_EQ(outcome(remote("s", "http://[0::1]/x"), {allows("http://[${ADDRESS}]/*")}, home), Outcome::allowed);
}

// compat: B4.4
TEST(Policy, WithoutListsEverythingMayBeUsed) {
  EXPECT_EQ(judge_policy(local("a", {"x"}), {}, unset), PolicyVerdict());
  EXPECT_EQ(outcome(local("a", {"x"}), {user("{}"), enterprise("{}")}), Outcome::allowed);
  // An empty list is none at all.
  for (const auto& server : {local("a", {"x"}), remote("a", "https://h/"), in_process("a")}) {
    EXPECT_EQ(outcome(server, {user(R"({"allowedMcpServers": []})")}), Outcome::not_allowed);
  }
}

// compat: B4.4, B4.6, C7.c
TEST(Policy, ServersAreKnownByNameCommandOrUrl) {
  const auto names = enterprise(R"({"allowedMcpServers": [{"serverName": "a"}]})");
  EXPECT_EQ(outcome(local("a", {"x"}), {names}), Outcome::allowed);
  EXPECT_EQ(outcome(local("b", {"x"}), {names}), Outcome::not_allowed);
  EXPECT_EQ(outcome(remote("a", "https://h/"), {names}), Outcome::allowed);
  EXPECT_EQ(outcome(in_process("a"), {names}), Outcome::allowed);
  EXPECT_EQ(outcome(in_process("b"), {names}), Outcome::not_allowed);

  const auto commands = enterprise(R"({"allowedMcpServers": [{"serverCommand": ["npx", "-y", "good"]}]})");
  EXPECT_EQ(outcome(local("a", {"npx", "-y", "good"}), {commands}), Outcome::allowed);
  EXPECT_EQ(outcome(local("a", {"npx", "-y", "good", "--more"}), {commands}), Outcome::not_allowed);
  EXPECT_EQ(outcome(local("a", {"npx", "good", "-y"}), {commands}), Outcome::not_allowed);
  EXPECT_EQ(outcome(local("a", {"npx"}), {commands}), Outcome::not_allowed);

  const auto urls = enterprise(R"({"allowedMcpServers": [{"serverUrl": "https://*.corp.example/*"}]})");
  EXPECT_EQ(outcome(remote("a", "https://mcp.corp.example/x"), {urls}), Outcome::allowed);
  EXPECT_EQ(outcome(remote("a", "https://corp.example.evil/x"), {urls}), Outcome::not_allowed);
  EXPECT_EQ(outcome(remote("a", "not a url"), {urls}), Outcome::not_allowed);

  const auto denied = enterprise(
      R"({"deniedMcpServers": [{"serverName": "any name at all"}, {"serverCommand": ["rm"]}, {"serverUrl": "*://evil"}]})");
  EXPECT_EQ(outcome(local("any name at all", {"x"}), {denied}), Outcome::denied);
  EXPECT_EQ(outcome(in_process("any name at all"), {denied}), Outcome::denied);
  EXPECT_EQ(outcome(local("a", {"rm"}), {denied}), Outcome::denied);
  EXPECT_EQ(outcome(local("a", {"rm", "-rf"}), {denied}), Outcome::allowed);
  EXPECT_EQ(outcome(remote("a", "http://EVIL./x"), {denied}), Outcome::denied);
  // What cannot be compared is not let through.
  EXPECT_EQ(outcome(remote("a", "http://evil\\x"), {denied}), Outcome::denied);
  EXPECT_EQ(outcome(remote("a", ""), {denied}), Outcome::allowed);
}

// compat: B4.5
TEST(Policy, OnceACommandOrUrlIsListedNamesDoNotSuffice) {
  const auto list = enterprise(
      R"({"allowedMcpServers": [{"serverName": "a"}, {"serverCommand": ["good"]}, {"serverUrl": "https://good/*"}]})");
  EXPECT_EQ(outcome(local("a", {"other"}), {list}), Outcome::not_allowed);
  EXPECT_EQ(outcome(local("z", {"good"}), {list}), Outcome::allowed);
  EXPECT_EQ(outcome(remote("a", "https://other/"), {list}), Outcome::not_allowed);
  EXPECT_EQ(outcome(remote("z", "https://good/"), {list}), Outcome::allowed);
  // A server of this process has nothing but its name.
  EXPECT_EQ(outcome(in_process("a"), {list}), Outcome::allowed);
  EXPECT_EQ(outcome(in_process("z"), {list}), Outcome::not_allowed);
}

// compat: B4.6, B4.15
TEST(Policy, DenyingIsAbsoluteAndComesFirst) {
  const auto allow = enterprise(R"({"allowedMcpServers": [{"serverName": "a"}]})");
  EXPECT_EQ(outcome(local("a", {"x"}), {allow, user(R"({"deniedMcpServers": [{"serverName": "a"}]})")}),
            Outcome::denied);
  EXPECT_EQ(outcome(local("a", {"x"}), {allow, project(R"({"deniedMcpServers": [{"serverName": "a"}]})")}),
            Outcome::denied);
}

// compat: B4.4, B4.7
TEST(Policy, ListsOfSeveralFilesAreJoinedUnlessTheOrganisationSaysOtherwise) {
  const auto mine = user(R"({"allowedMcpServers": [{"serverName": "mine"}]})");
  const auto theirs = enterprise(R"({"allowedMcpServers": [{"serverName": "theirs"}]})");
  for (const auto* name : {"mine", "theirs"}) {
    EXPECT_EQ(outcome(local(name, {"x"}), {mine, theirs}), Outcome::allowed);
  }
  const auto only =
      enterprise(R"({"allowManagedMcpServersOnly": true, "allowedMcpServers": [{"serverName": "theirs"}]})");
  EXPECT_EQ(outcome(local("mine", {"x"}), {mine, only}), Outcome::not_allowed);
  EXPECT_EQ(outcome(local("theirs", {"x"}), {mine, only}), Outcome::allowed);
  // Without a list of its own, nothing is restricted.
  EXPECT_EQ(outcome(local("z", {"x"}), {mine, enterprise(R"({"allowManagedMcpServersOnly": true})")}),
            Outcome::allowed);
}

TEST(Policy, ARepositoryCanTakeAwayAndNotBringBack) {
  const auto theirs = enterprise(R"({"allowedMcpServers": [{"serverName": "a"}]})");
  const auto repository = project(R"({"allowedMcpServers": [{"serverName": "evil"}]})");
  EXPECT_EQ(outcome(local("evil", {"x"}), {theirs, repository}), Outcome::not_allowed);
  EXPECT_EQ(outcome(local("a", {"x"}), {theirs, repository}), Outcome::allowed);
  EXPECT_EQ(outcome(local("a", {"x"}), {repository}), Outcome::not_allowed);
}

// compat: B4.10
TEST(Policy, OnlyPluginsMayBringServersWhenTheOrganisationSaysSo) {
  const auto strict = enterprise(R"({"strictPluginOnlyCustomization": ["mcp"]})");
  for (auto [scope, expected] :
       std::vector<std::pair<ConfigScope, Outcome>>{{ConfigScope::plugin, Outcome::allowed},
                                                    {ConfigScope::enterprise, Outcome::allowed},
                                                    {ConfigScope::embedded, Outcome::allowed},
                                                    {ConfigScope::dynamic, Outcome::not_allowed},
                                                    {ConfigScope::user, Outcome::not_allowed},
                                                    {ConfigScope::project, Outcome::not_allowed}}) {
    auto server = local("a", {"x"});
    server.origin.scope = scope;
    EXPECT_EQ(outcome(server, {strict}), expected) << to_string(scope);
  }
}

// compat: B4.14
TEST(Policy, VariablesCannotChangeWhatAnAllowEntryIsAbout) {
  struct Case {
    std::string pattern;
    std::map<std::string, std::string, std::less<>> values;
    std::string url;
    Outcome expected;
  };
  const auto yes = Outcome::allowed, no = Outcome::not_allowed;
  for (const auto& [pattern, values, url, expected] : std::vector<Case>{
           {"https://${HOST}/*", {{"HOST", "Corp.example"}}, "https://corp.example/x", yes},
           {"https://${SUB}.corp.example/*", {{"SUB", "eu"}}, "https://eu.corp.example/x", yes},
           {"https://corp.example/${TEAM}/*", {{"TEAM", "a"}}, "https://corp.example/a/x", yes},
           {"https://corp.example:${PORT}/*", {{"PORT", "8443"}}, "https://corp.example:8443/x", yes},
           {"https://${HOST:-corp.example}/*", {}, "https://corp.example/x", yes},
           {"https://${A}.${B}/*", {{"A", "x"}, {"B", "y"}}, "https://x.y/z", yes},
           // Each of these would be about another scheme, host or path.
           {"https://${SUB}.corp.example/*", {{"SUB", "evil.example/"}}, "https://evil.example/.corp.example/x", no},
           {"https://${SUB}.corp.example/*", {{"SUB", "evil.example#"}}, "https://evil.example/", no},
           {"https://${SUB}.corp.example/*", {{"SUB", "evil.example?"}}, "https://evil.example/?.corp.example/", no},
           {"https://${HOST}/*", {{"HOST", "x@evil.example"}}, "https://evil.example/", no},
           {"https://${HOST}/*", {{"HOST", "evil.example:99"}}, "https://evil.example:99/", no},
           {"https://${HOST}/*", {{"HOST", "*"}}, "https://evil.example/", no},
           {"https://corp.example/${TEAM}/x", {{"TEAM", "*"}}, "https://corp.example/admin/x", no},
           {"https://corp.example/${TEAM}/x", {{"TEAM", "a/../admin"}}, "https://corp.example/admin/x", no},
           {"https://corp.example/${TEAM}/x", {{"TEAM", "a?"}}, "https://corp.example/a?/x", no},
           {"${BASE}/x", {{"BASE", "https://evil.example"}}, "https://evil.example/x", no},
           {"${SCHEME}://corp.example/*", {{"SCHEME", "http://evil.example/?"}}, "http://evil.example/?", no},
           {"https://${HOST}/*", {}, "https://${HOST}/", no},
       }) {
    const auto layer = enterprise(to_text(Json{{"allowedMcpServers", Json::array({Json{{"serverUrl", pattern}}})}}));
    EXPECT_EQ(outcome(remote("a", url), {layer}, variables(values)), expected) << pattern << " " << url;
    const auto problems = policy_problems(std::vector{layer}, variables(values));
    if (expected == yes) {
      EXPECT_THAT(problems, IsEmpty()) << pattern;
    } else {
      EXPECT_THAT(problems, testing::SizeIs(1)) << pattern;
    }
  }
}

// compat: B4.14
TEST(Policy, DenyEntriesApplyWhateverTheVariablesAre) {
  const auto layer =
      enterprise(R"({"deniedMcpServers": [{"serverUrl": "https://${HOST}/*"}, {"serverCommand": ["${TOOL}", "x"]}]})");
  EXPECT_EQ(outcome(remote("a", "https://evil/x"), {layer}, variables({{"HOST", "evil"}, {"TOOL", "t"}})),
            Outcome::denied);
  EXPECT_EQ(outcome(remote("a", "https://evil/p/x"), {layer}, variables({{"HOST", "evil/p"}, {"TOOL", "t"}})),
            Outcome::denied);
  EXPECT_EQ(outcome(remote("a", "https://good/x"), {layer}, variables({{"HOST", "evil"}, {"TOOL", "t"}})),
            Outcome::allowed);
  // Unsetting the variable, or setting it to nonsense, opens no door.
  EXPECT_EQ(outcome(remote("a", "https://evil/x"), {layer}, variables({{"TOOL", "t"}})), Outcome::denied);
  EXPECT_EQ(outcome(remote("a", "https://evil/x"), {layer}, variables({{"HOST", ""}, {"TOOL", "t"}})), Outcome::denied);
  EXPECT_EQ(outcome(local("a", {"t", "x"}), {layer}, variables({{"TOOL", "t"}})), Outcome::denied);
  EXPECT_EQ(outcome(local("a", {"t", "x"}), {layer}), Outcome::denied);
  EXPECT_EQ(outcome(local("a", {"t", "y"}), {layer}), Outcome::allowed);
}

// compat: B4.14
TEST(Policy, VariablesOfTheOrganisationOverrideTheEnvironment) {
  const auto layer =
      enterprise(R"({"env": {"HOST": "corp.example"}, "allowedMcpServers": [{"serverUrl": "https://${HOST}/*"}]})");
  EXPECT_EQ(outcome(remote("a", "https://corp.example/"), {layer}, variables({{"HOST", "evil"}})), Outcome::allowed);
  EXPECT_EQ(outcome(remote("a", "https://evil/"), {layer}, variables({{"HOST", "evil"}})), Outcome::not_allowed);
}

// compat: B4.17, B4.18, B4.19
TEST(Policy, TheVerdictNamesTheRuleAndItsPlace) {
  const std::vector layers{
      enterprise("{\n  \"deniedMcpServers\": [\n    {\"serverName\": \"bad\"}],\n  "
                 "\"allowedMcpServers\": [{\"serverName\": \"ok\"}]}")};
  EXPECT_EQ(judge_policy(local("bad", {"x"}), layers, unset),
            (PolicyVerdict{Outcome::denied, R"({"serverName":"bad"})", managed, 3, 5,
                           "denied by {\"serverName\":\"bad\"} of deniedMcpServers in " + managed + ":3"}));
  const auto other = judge_policy(local("other", {"x"}), layers, unset);
  EXPECT_EQ(other.outcome, Outcome::not_allowed);
  EXPECT_EQ(other.line, 4u);
  EXPECT_THAT(other.reason, AllOf(HasSubstr("allowedMcpServers in " + managed + ":4"), HasSubstr("serverName")));
  EXPECT_EQ(policy_refusal("bad", judge_policy(local("bad", {"x"}), layers, unset)),
            "Cannot add MCP server \"bad\": server is explicitly blocked by enterprise policy");
  EXPECT_EQ(policy_refusal("other", other), "Cannot add MCP server \"other\": not allowed by enterprise policy");
  EXPECT_EQ(policy_refusal("ok", judge_policy(local("ok", {"x"}), layers, unset)), "");
}

TEST(Policy, AnOrganisationsFileThatCannotBeReadDeniesEverything) {
  const std::vector broken{enterprise("{")};
  EXPECT_EQ(outcome(local("a", {"x"}), broken), Outcome::denied);
  EXPECT_THAT(judge_policy(in_process("a"), broken, unset).reason, HasSubstr("cannot be read"));
  EXPECT_EQ(outcome(local("a", {"x"}), {enterprise(R"({"deniedMcpServers": "a"})")}), Outcome::denied);
  EXPECT_EQ(outcome(local("a", {"x"}), {user("{")}), Outcome::allowed);
}

// compat: B4.16, B2.3
TEST(Policy, TextsOfTheExclusiveFile) {
  EXPECT_EQ(enterprise_exclusive_refusal,
            "Cannot add MCP server: enterprise MCP configuration is active and has exclusive control over MCP servers");
  EXPECT_EQ(enterprise_dynamic_refusal,
            "You cannot dynamically configure MCP servers when an enterprise MCP config is present");
}

}  // namespace
}  // namespace patchbay
