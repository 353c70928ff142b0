// What a person allowed for a conversation, and what is offered. P1.
#include "agent/grants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

using enum GrantScope;
using testing::ElementsAre;
using testing::IsEmpty;

PermissionQuestion question(std::string server, std::string tool, Json arguments = Json::object()) {
  PermissionQuestion out;
  auto declared = std::make_shared<Tool>();
  declared->name = tool;
  out.tool = {.name = "mcp__" + server + "__" + tool, .server = std::move(server), .tool = std::move(declared)};
  out.arguments = Payload(std::move(arguments));
  return out;
}

PermissionQuestion with(PermissionQuestion out, const std::function<void(Tool&)>& change) {
  auto tool = std::make_shared<Tool>(*out.tool.tool);
  change(*tool);
  out.tool.tool = std::move(tool);
  return out;
}

PermissionQuestion destructive(PermissionQuestion out) {
  return with(std::move(out), [](Tool& tool) {
    tool.annotations.emplace();
    tool.annotations->destructive_hint = true;
  });
}

PermissionQuestion interactive(PermissionQuestion out) {
  return with(std::move(out), [](Tool& tool) { tool.meta = Json{{"anthropic/requiresUserInteraction", true}}; });
}

PermissionQuestion by_rule(PermissionQuestion out) {
  out.decision.rule = "mcp__files__write";
  return out;
}

TEST(Grants, OnlyWhatIsKeptIsOffered) {
  EXPECT_THAT(possible_grants(question("files", "write")), ElementsAre(arguments, tool, server));
  EXPECT_THAT(possible_grants(destructive(question("files", "write"))), ElementsAre(arguments, tool));
  EXPECT_THAT(possible_grants(interactive(question("files", "write"))), IsEmpty());
  EXPECT_THAT(possible_grants(by_rule(question("files", "write"))), IsEmpty());
}

TEST(Grants, CoverWhatTheyWereGivenForAndNothingElse) {
  const Json call{{"path", "a"}, {"more", Json{{"x", 1}, {"y", 2}}}};
  const Json same{{"more", Json{{"y", 2}, {"x", 1}}}, {"path", "a"}};
  Grants grants;
  grants.add(question("files", "write", call), arguments);
  EXPECT_TRUE(grants.cover(question("files", "write", same)));
  EXPECT_FALSE(grants.cover(question("files", "write", Json{{"path", "b"}})));
  EXPECT_FALSE(grants.cover(question("other", "write", call)));
  EXPECT_FALSE(grants.cover(question("files", "append", call)));

  grants.add(question("files", "write"), tool);
  EXPECT_TRUE(grants.cover(question("files", "write", Json{{"path", "b"}})));
  EXPECT_FALSE(grants.cover(question("files", "append")));
  EXPECT_FALSE(grants.cover(by_rule(question("files", "write"))));
  EXPECT_FALSE(grants.cover(interactive(question("files", "write"))));

  grants.add(question("web", "get"), server);
  EXPECT_TRUE(grants.cover(question("web", "post")));
  EXPECT_FALSE(grants.cover(destructive(question("web", "delete"))));
  EXPECT_FALSE(grants.cover(question("files", "append")));
  EXPECT_THAT(grants.tools(), ElementsAre("files/write"));
  EXPECT_THAT(grants.servers(), ElementsAre("web"));

  grants.clear();
  EXPECT_FALSE(grants.cover(question("web", "get")));
}

TEST(Grants, WhatIsNotPossibleIsNotAdded) {
  Grants grants;
  grants.add(destructive(question("files", "write")), server);
  grants.add(interactive(question("files", "write")), tool);
  grants.add(by_rule(question("files", "write", Json{{"a", 1}})), arguments);
  EXPECT_FALSE(grants.cover(question("files", "write", Json{{"a", 1}})));
}

}  // namespace
}  // namespace patchbay
