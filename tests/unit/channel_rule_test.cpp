// Which servers may push messages: what the run, settings and an organisation say. H1. compat: B4.11, B9.3
#include "host/channels/channel_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "settings/plugins.h"
#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using enum SettingsSource;

SettingsLayer layer(SettingsSource source, std::string_view text, const std::string& file = "/s.json") {
  return parse_settings(text, source, file);
}

ServerConfig server(std::string name, ConfigScope scope = ConfigScope::user, std::string plugin = "") {
  ServerConfig config;
  config.name = std::move(name);
  config.origin.scope = scope;
  if (!plugin.empty()) config.variables.emplace_back(plugin_id_variable, std::move(plugin));
  return config;
}

constexpr auto open = ChannelVerdict::Outcome::open;
constexpr auto closed = ChannelVerdict::Outcome::closed;
constexpr auto forbidden = ChannelVerdict::Outcome::forbidden;

TEST(ChannelNames, AreServersOrPluginsOfAMarketplace) {
  EXPECT_EQ(channel_name("server:chat"), (ChannelName{ChannelName::Kind::server, "chat"}));
  EXPECT_EQ(channel_name("server:plugin:p:chat"), (ChannelName{ChannelName::Kind::server, "plugin:p:chat"}));
  EXPECT_EQ(channel_name("plugin:p@m"), (ChannelName{ChannelName::Kind::plugin, "p@m"}));
  for (const auto* word : {"", "chat", "server:", "plugin:", "plugin:p", "plugin:@m", "plugin:p@", "Server:chat"}) {
    EXPECT_THAT(channel_name(word), FailsWith(Errc::invalid_argument, HasSubstr("server:NAME"))) << word;
  }
}

// H1
TEST(ChannelRules, AreOffUnlessSomebodyNamesTheServer_AndNoFileOfARepositoryDoes) {
  struct Case {
    ServerConfig config;
    std::vector<SettingsLayer> layers;
    std::vector<std::string> flag;
    ChannelVerdict::Outcome outcome;
  };
  const auto names_it = R"({"channels":["server:chat"]})";
  const auto chat = server("chat");
  const auto of_plugin = server("plugin:p:chat", ConfigScope::plugin, "p@m");
  auto brought = server("chat", ConfigScope::local);
  brought.origin.trust = ConfigTrust::needs_approval;
  const std::vector<Case> cases{
      {chat, {}, {}, closed},
      {chat, {}, {"server:chat"}, open},
      {chat, {}, {"server:Chat"}, closed},
      {chat, {}, {"chat"}, closed},
      {chat, {}, {"server:other", "server:chat"}, open},
      {chat, {layer(user, names_it)}, {}, open},
      {chat, {layer(own, names_it)}, {}, open},
      {chat, {layer(flag, names_it)}, {}, open},
      {chat, {layer(enterprise, names_it)}, {}, open},
      {chat, {layer(project, names_it)}, {}, closed},
      {chat, {layer(project_local, names_it)}, {}, closed},
      // A repository that declares a server of that name gets nothing by it; who types the name means it.
      {server("chat", ConfigScope::project), {layer(user, names_it)}, {}, closed},
      {server("chat", ConfigScope::project), {}, {"server:chat"}, open},
      {server("chat", ConfigScope::local), {layer(user, names_it)}, {}, open},
      // Nor by .claude/settings.local.json, which counts as local.
      {brought, {layer(user, names_it)}, {}, closed},
      {brought, {}, {"server:chat"}, open},
      // Plugins by their id, which a server of another kind cannot have.
      {of_plugin, {}, {"plugin:p@m"}, open},
      {of_plugin, {}, {"plugin:p@other"}, closed},
      {of_plugin, {}, {"server:plugin:p:chat"}, open},
      {server("plugin:p:chat", ConfigScope::project, "p@m"), {}, {"plugin:p@m"}, closed},
      {server("plugin:p:chat", ConfigScope::plugin), {}, {"plugin:p@m"}, closed},
      // What an organisation says binds whoever names it.
      {chat, {layer(enterprise, R"({"channelsEnabled":true})")}, {"server:chat"}, open},
      {chat, {layer(enterprise, R"({"channelsEnabled":false})")}, {"server:chat"}, forbidden},
      {chat, {layer(enterprise, R"({"channelsEnabled":"yes"})")}, {"server:chat"}, forbidden},
      {chat, {layer(user, R"({"channelsEnabled":false})")}, {"server:chat"}, open},
      {chat, {layer(enterprise, "{")}, {"server:chat"}, forbidden},
      {chat, {layer(enterprise, R"({"channelsEnabled":false})")}, {}, closed},
      {of_plugin,
       {layer(enterprise, R"({"allowedChannelPlugins":[{"marketplace":"m","plugin":"p"}]})")},
       {"plugin:p@m"},
       open},
      {of_plugin,
       {layer(enterprise, R"({"allowedChannelPlugins":[{"marketplace":"m","plugin":"q"}]})")},
       {"plugin:p@m"},
       forbidden},
      {of_plugin, {layer(enterprise, R"({"allowedChannelPlugins":[]})")}, {"plugin:p@m"}, forbidden},
      {of_plugin, {layer(enterprise, R"({"allowedChannelPlugins":"p@m"})")}, {"plugin:p@m"}, forbidden},
      {of_plugin, {layer(enterprise, R"({"allowedChannelPlugins":["p@m"]})")}, {"plugin:p@m"}, forbidden},
      {chat,
       {layer(enterprise, R"({"allowedChannelPlugins":[{"marketplace":"m","plugin":"p"}]})")},
       {"server:chat"},
       forbidden},
      {of_plugin, {layer(user, R"({"allowedChannelPlugins":[]})")}, {"plugin:p@m"}, open},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& one = cases[i];
    EXPECT_EQ(judge_channel(one.config, one.layers, {.open = one.flag}).outcome, one.outcome) << i;
  }
}

TEST(ChannelRules, SayWhatDecidedAndWhere) {
  const std::vector<SettingsLayer> mine{layer(user, "{\n \"channels\": [\"server:chat\"]}", "/home/me/settings.json")};
  const auto opened = judge_channel(server("chat"), mine, {});
  EXPECT_EQ(opened.file, "/home/me/settings.json");
  EXPECT_EQ(opened.line, 2u);
  EXPECT_THAT(opened.reason, HasSubstr("/home/me/settings.json:2 names server:chat"));
  const std::vector<SettingsLayer> managed{layer(enterprise, R"({"channelsEnabled":false})", "/etc/m.json")};
  const auto not_let = judge_channel(server("chat"), managed, {.open = {"server:chat"}, .name = "--that"});
  EXPECT_EQ(not_let.by, "channelsEnabled");
  EXPECT_THAT(not_let.reason, HasSubstr("channelsEnabled in /etc/m.json:1"));
  const auto by_flag = judge_channel(server("chat"), {}, {.open = {"server:chat"}, .name = "--that"});
  EXPECT_EQ(by_flag.reason, "--that names server:chat");
  const auto shadowed = judge_channel(server("chat", ConfigScope::project), mine, {});
  EXPECT_THAT(shadowed.reason, HasSubstr("a file of the project declares the server of that name"));
}

TEST(ChannelRules, ReportNamesThatNobodyHas) {
  const std::vector<ServerConfig> servers{server("chat")};
  auto texts = [&](std::vector<std::string> flag, std::vector<SettingsLayer> layers = {}) {
    std::vector<std::string> out;
    for (const auto& problem : channel_problems(servers, layers, {.open = std::move(flag)}))
      out.push_back(problem.text());
    return out;
  };
  EXPECT_THAT(texts({"server:chat"}), IsEmpty());
  EXPECT_THAT(texts({"server:chta", "chat"}),
              ElementsAre(HasSubstr("no server is called server:chta"), HasSubstr("chat is not a channel")));
  EXPECT_THAT(texts({}, {layer(user, R"({"channels":["plugin:p@m"]})")}), ElementsAre(HasSubstr("/s.json:1")));
}

TEST(ChannelSettings, AreReportedWhereTheyDoNotCount) {
  EXPECT_THAT(
      layer(project, R"({"channels":["server:chat"]})").problems,
      ElementsAre(testing::Field(&ConfigProblem::message, HasSubstr("ignored in a file inside the repository"))));
  EXPECT_THAT(layer(user, R"({"channels":"server:chat"})").problems, testing::SizeIs(1));
  EXPECT_THAT(
      layer(user, R"({"allowedChannelPlugins":[]})").problems,
      ElementsAre(testing::Field(&ConfigProblem::message, HasSubstr("only in the settings of an organisation"))));
}

}  // namespace
}  // namespace patchbay
