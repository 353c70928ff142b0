// Rows of docs/requirements.md: C2, C5.
// Servers that an organisation declares in its settings, and the flags it switches off.
#include "settings/managed_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "servers/load.h"
#include "support/load_home.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ManagedServers : public test::LoadHome {
 protected:
  void managed(const std::string& keys) { tree.file("etc/managed-settings.json", "{" + keys + "}"); }
  // "NAME STANDING" of each server, in the order of their names.
  std::vector<std::string> standings() {
    std::vector<std::string> out;
    for (const auto& declared : load_servers(request).servers) {
      out.push_back(declared.name + " " + std::string(to_string(declared.standing)));
    }
    std::ranges::sort(out);
    return out;
  }
};

// compat: B4.23
TEST_F(ManagedServers, StandBesideTheServersOfTheUser) {
  managed(R"("managedMcpServers": {"docs": {"type": "http", "url": "https://docs.example/mcp"}})");
  tree.file("home/.claude.json", R"({"mcpServers": {"mine": {"command": "x"}, "docs": {"command": "y"}}})");
  const auto config = load_servers(request);
  EXPECT_FALSE(config.exclusive);
  EXPECT_THAT(standings(), ElementsAre("docs active", "mine active"));
  ASSERT_EQ(config.shadowed.size(), 1u);
  EXPECT_EQ(config.shadowed[0].command, "y");
  for (const auto& declared : config.servers) {
    if (declared.name == "docs" && declared.standing == ServerStanding::active) {
      EXPECT_EQ(declared.url, "https://docs.example/mcp");
      EXPECT_EQ(declared.origin.file, path("etc/managed-settings.json"));
    }
  }
}

TEST_F(ManagedServers, ALaterFileOverridesThoseBeforeIt) {
  const auto url = [](const std::string& host) {
    return R"("managedMcpServers": {"docs": {"type": "http", "url": "https://)" + host + R"("}})";
  };
  managed(url("first.example"));
  tree.file("etc/managed-settings.d/10-a.json", "{" + url("second.example") + "}");
  tree.file("etc/managed-settings.d/20-b.json", "{" + url("third.example") + "}");
  const auto config = load_servers(request);
  ASSERT_EQ(config.servers.size(), 1u);
  EXPECT_EQ(config.servers[0].url, "https://third.example");
  EXPECT_EQ(config.shadowed.size(), 2u);
}

TEST_F(ManagedServers, WhatIsNotAWrittenOutHttpsUrlIsBroken) {
  struct Case {
    std::string_view entry;
    std::string_view problem;
  };
  for (const auto& [entry, problem] : std::initializer_list<Case>{
           {R"({"command": "x"})", "must be of type http or sse"},
           {R"({"type": "ws", "url": "wss://h"})", "must be of type http or sse"},
           {R"({"type": "http", "url": "http://h"})", "must begin with https://"},
           {R"({"type": "http", "url": "https://${HOST}/mcp"})", "cannot have ${…}"},
           {R"({"type": "http", "url": "https://h", "headers": {"A": "${B:-c}"}})", "cannot have ${…}"},
       }) {
    const auto parsed = managed_servers(R"({"managedMcpServers": {"s": )" + std::string(entry) + "}}", "/m.json");
    EXPECT_THAT(parsed.servers, IsEmpty()) << entry;
    EXPECT_EQ(parsed.broken.size(), 1u) << entry;
    ASSERT_EQ(parsed.problems.size(), 1u) << entry;
    EXPECT_THAT(parsed.problems[0].text(), HasSubstr(problem)) << entry;
  }
  EXPECT_THAT(managed_servers(R"({"managedMcpServers": []})", "/m.json").problems, testing::SizeIs(1));
}

TEST_F(ManagedServers, OnlyAFileOfTheOrganisationDeclaresThem) {
  const std::string text = R"({"managedMcpServers": {"s": {"type": "http", "url": "https://h"}}})";
  tree.file("home/.claude/settings.json", text);
  tree.file("repo/.claude/settings.json", text);
  request.settings = {text};
  EXPECT_THAT(standings(), IsEmpty());
  owned_by(::getuid() + 1);  // a file that somebody else put there
  tree.file("etc/managed-settings.json", text);
  EXPECT_THAT(standings(), IsEmpty());
}

// compat: B4.24
TEST_F(ManagedServers, NeedNoPlaceOnTheAllowListUnlessTheyUseAVariable) {
  managed(R"("allowedMcpServers": [], "managedMcpServers": {"docs": {"type": "http", "url": "https://docs.example"}})");
  tree.file("home/.claude.json", R"({"mcpServers": {"mine": {"command": "x"}}})");
  EXPECT_THAT(standings(), ElementsAre("docs active", "mine policy"));
  tree.file("etc/managed-mcp.json",
            R"({"mcpServers": {"plain": {"command": "x"}, "open": {"command": "x", "args": ["${HOME}"]}}})");
  variables["HOME"] = path("home");
  EXPECT_THAT(standings(), ElementsAre("docs active", "open policy", "plain active"));
}

TEST_F(ManagedServers, DenyListsHoldForThem) {
  managed(R"("deniedMcpServers": [{"serverName": "docs"}],
    "managedMcpServers": {"docs": {"type": "http", "url": "https://docs.example"}})");
  EXPECT_THAT(standings(), ElementsAre("docs policy"));
}

// compat: B4.25
TEST_F(ManagedServers, AnOrganisationSwitchesTheFlagsOff) {
  managed(R"("disableSideloadFlags": true)");
  tree.file("home/.claude.json", R"({"mcpServers": {"mine": {"command": "x"}}})");
  tree.directory("plugin");
  EXPECT_FALSE(load_servers(request).refused_flags);
  auto with = [this](auto change) {
    auto changed = request;
    change(changed);
    return load_servers(changed);
  };
  for (const auto& config :
       {with([](LoadRequest& r) { r.mcp_configs = {R"({"mcpServers": {"s": {"command": "x"}}})"}; }),
        with([](LoadRequest& r) { r.mcp_servers = {"s=x"}; }),
        with([this](LoadRequest& r) { r.plugin_dirs = {path("plugin")}; })}) {
    ASSERT_TRUE(config.refused_flags);
    EXPECT_THAT(*config.refused_flags, HasSubstr("\"disableSideloadFlags\" in " + path("etc/managed-settings.json")));
    ASSERT_EQ(config.servers.size(), 1u);  // and nothing of the flag is used
    EXPECT_EQ(config.servers[0].name, "mine");
  }
  managed(R"("disableSideloadFlags": false)");
  EXPECT_FALSE(with([](LoadRequest& r) { r.mcp_servers = {"s=x"}; }).refused_flags);
  tree.file("etc/managed-settings.json", "{}");
  tree.file("home/.claude/settings.json", R"({"disableSideloadFlags": true})");
  EXPECT_FALSE(with([](LoadRequest& r) { r.mcp_servers = {"s=x"}; }).refused_flags) << "only an organisation may";
}

}  // namespace
}  // namespace patchbay
