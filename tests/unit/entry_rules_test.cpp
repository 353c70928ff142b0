// Rows of docs/requirements.md: P1, P2.
// What an entry says about its own tools.
#include "permission/entry_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/parse.h"
#include "entries/signature.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ParsedServers parse(std::string_view keys, ConfigScope scope = ConfigScope::user, std::string_view type = "http") {
  const auto text = R"({"mcpServers": {"db": {"type": ")" + std::string(type) + R"(", "url": ")" +
                    (type == "ws" ? "wss" : "https") + R"(://x/mcp", )" + std::string(keys) + "}}}";
  return parse_servers(text, {"/f.json", 0, scope, trust_of(scope), 0});
}

// "list pattern" of each rule.
std::vector<std::string> rules(const ParsedServers& parsed) {
  std::vector<std::string> out;
  for (const auto& rule : entry_rules(parsed.servers.at(0))) {
    EXPECT_EQ(rule.file, "/f.json");
    EXPECT_EQ(rule.line, 1u);
    out.push_back(std::string(to_string(rule.list)) + " " + rule.pattern);
  }
  return out;
}

constexpr std::string_view all_tools = R"("tools": [{"name": "get", "permission_policy": "always_allow"},
  {"name": "put", "permission_policy": "always_ask"}, {"name": "drop", "permission_policy": "always_deny"}, {"name": "x"}])";
constexpr std::string_view all_permissions = R"("toolPermissions": {"get": "allow", "put": "ask", "drop": "blocked"})";

// compat: B3.28
TEST(EntryRules, BothKeysBecomeRulesOfTheUsersOwnEntries) {
  for (const auto scope : {ConfigScope::user, ConfigScope::local, ConfigScope::enterprise, ConfigScope::dynamic}) {
    for (const auto keys : {all_tools, all_permissions}) {
      const auto parsed = parse(keys, scope);
      EXPECT_THAT(parsed.problems, IsEmpty());
      EXPECT_THAT(rules(parsed), ElementsAre("allow db/get", "ask db/put", "deny db/drop"));
    }
  }
}

TEST(EntryRules, WhatComesFromOthersCannotAllow) {
  for (const auto scope : {ConfigScope::project, ConfigScope::plugin, ConfigScope::connector}) {
    for (const auto keys : {all_tools, all_permissions}) {
      EXPECT_THAT(rules(parse(keys, scope)), ElementsAre("ask db/put", "deny db/drop"));
    }
  }
  auto approved = parse(all_permissions, ConfigScope::project);
  approved.servers[0].approved = true;
  EXPECT_THAT(rules(approved), ElementsAre("ask db/put", "deny db/drop"));
}

TEST(EntryRules, AWordThatIsNotKnownDeniesAndIsReported) {
  const auto parsed = parse(R"("toolPermissions": {"get": "always_allow", "put": 5}, "tools": [{"name": "x",
    "permission_policy": "allow"}])");
  EXPECT_THAT(rules(parsed), testing::UnorderedElementsAre("deny db/get", "deny db/put", "deny db/x"));
  ASSERT_EQ(parsed.problems.size(), 3u);
  EXPECT_THAT(parsed.problems[0].text(),
              HasSubstr("the permission of \"get\" in \"toolPermissions\" must be allow, ask or blocked, found "
                        "\"always_allow\"; its calls are denied"));
}

TEST(EntryRules, AStarInANameDoesNotWidenWhatIsAllowed) {
  EXPECT_THAT(rules(parse(R"("toolPermissions": {"*": "allow", "d*": "blocked"})")), ElementsAre("deny db/d*"));
}

TEST(EntryRules, OnlyHttpAndSseHaveThem) {
  EXPECT_THAT(rules(parse(all_permissions, ConfigScope::user, "sse")).size(), 3u);
  const auto ws = parse(all_permissions, ConfigScope::user, "ws");
  EXPECT_THAT(rules(ws), IsEmpty());
  EXPECT_THAT(ws.problems.at(0).text(), HasSubstr("unknown key"));
}

// An entry that was approved before these keys were understood is not asked about again.
TEST(EntryRules, TheHashOfAnEntryIsWhatItWas) {
  EXPECT_EQ(entry_hash(parse(all_permissions).servers[0]),
            "sha256:2e38c4989b04d37c34ecbfcff6a8efd275ec0567ac3b3f83f43f49dff0952a37");
}

}  // namespace
}  // namespace patchbay
