// Rows of docs/requirements.md: C8.
#include "settings/plugins.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entries/expand.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Plugins : public testing::Test {
 protected:
  Plugins() {
    context.data_dir = "/data";
    context.project_dir = "/w";
    context.text_of = [this](const std::string& file) -> std::optional<std::string> {
      auto found = files.find(file);
      return found == files.end() ? std::nullopt : std::optional(found->second);
    };
  }
  // "name command" of each server and each problem, in order.
  std::vector<std::string> read(const PluginPlace& place = {"/p/tools/", {}}) {
    std::vector<std::string> out;
    for (const auto& parsed : read_plugin(place, context)) {
      for (const auto& server : parsed.servers) out.push_back(server.name + " " + server.command);
      for (const auto& problem : parsed.problems) out.push_back(problem.text());
    }
    return out;
  }

  std::map<std::string, std::string> files;
  PluginContext context;
};

// compat: B1.14, C8.b, B7.1
TEST_F(Plugins, ServersComeFromTheManifestAndFromTheUsualFile) {
  files["/p/tools/.mcp.json"] = R"({"mcpServers":{"a":{"command":"wrapped"}}})";
  EXPECT_THAT(read(), ElementsAre("plugin:tools:a wrapped"));
  files["/p/tools/.mcp.json"] = R"({"a":{"command":"bare"}})";
  EXPECT_THAT(read(), ElementsAre("plugin:tools:a bare"));
  files["/p/tools/plugin.json"] = R"({"name":"named","mcpServers":{"b":{"command":"inline"}}})";
  EXPECT_THAT(read(), ElementsAre("plugin:named:b inline", "plugin:named:a bare"));
  files["/p/tools/.claude-plugin/plugin.json"] = R"({"name":"hidden","mcpServers":"./more/servers.json"})";
  files["/p/tools/more/servers.json"] = R"({"mcpServers":{"c":{"command":"file"}}})";
  EXPECT_THAT(read(), ElementsAre("plugin:hidden:c file", "plugin:hidden:a bare"));
  files["/p/tools/.claude-plugin/plugin.json"] =
      R"({"mcpServers":["more/servers.json", {"d":{"command":"listed"}}, ".mcp.json"]})";
  EXPECT_THAT(read({"/p/tools", "good@market"}),
              ElementsAre("plugin:good:c file", "plugin:good:d listed", "plugin:good:a bare"));
}

TEST_F(Plugins, ABrokenPluginSaysSoAndNothingOutsideItIsRead) {
  files["/p/tools/plugin.json"] = "{\n \"mcpServers\" }";
  files["/p/tools/.mcp.json"] = R"({"a":{"command":"x"}})";
  EXPECT_THAT(read(), ElementsAre(testing::StartsWith("/p/tools/plugin.json:2:15: "), "plugin:tools:a x"));
  files["/p/other/x.json"] = R"({"a":{"command":"stolen"}})";
  for (auto* path : {"../other/x.json", "/p/other/x.json", "a/../../other/x.json"}) {
    files["/p/tools/plugin.json"] = std::string(R"({"mcpServers":")") + path + R"("})";
    EXPECT_THAT(read(),
                ElementsAre("/p/tools/plugin.json:1:15: plugin tools: \"" + std::string(path) +
                                "\" is outside the directory of the plugin and is not read; move the file into it",
                            "plugin:tools:a x"));
  }
  files["/p/tools/plugin.json"] = R"({"mcpServers":"gone.json"})";
  EXPECT_THAT(read(), ElementsAre("/p/tools/plugin.json:1:15: plugin tools: the file /p/tools/gone.json "
                                  "with its servers cannot be read; create it, or correct \"mcpServers\"",
                                  "plugin:tools:a x"));
  files["/p/tools/plugin.json"] = R"({"name":"a b:c","mcpServers":{"x":{"command":1}}})";
  auto parsed = read_plugin({"/p/tools", {}}, context);
  EXPECT_EQ(parsed.at(0).broken.at(0).name, "plugin:a-b-c:x");
}

// compat: B3.12
TEST_F(Plugins, VariablesOfThePluginAreKnownInItsEntries) {
  files["/p/tools/.mcp.json"] =
      R"({"a":{"command":"${CLAUDE_PLUGIN_ROOT}/bin","args":["${CLAUDE_PLUGIN_DATA}","${CLAUDE_PROJECT_DIR}",)"
      R"("${user_config.KEY}","${user_config.N}","${HOME}"]}})";
  add_plugin_settings(context.settings, R"({"pluginConfigs":{"tools@m":{"options":{"KEY":"v","N":3,"O":{}}}}})", false);
  auto server = read_plugin({"/p/tools", "tools@m"}, context).at(0).servers.at(0);
  auto expanded = expand_server(server, [](std::string_view) { return "env"; });
  EXPECT_EQ(expanded.command, "/p/tools/bin");
  EXPECT_THAT(expanded.args, ElementsAre("/data/tools-m", "/w", "v", "3", "env"));
}

TEST_F(Plugins, InstalledOnesCountWhenTheUserEnabledThem) {
  const std::string installed = R"({"version":2,"plugins":{
    "on@m":[{"scope":"user","installPath":"/c/on"}], "old@m":{"installPath":"/c/old"},
    "off@m":[{"installPath":"/c/off"}], "both@m":[{"installPath":"/c/both"}], "repo@m":[{"installPath":"/c/repo"}],
    "silent@m":[{"installPath":"/c/silent"}], "empty@m":[], "odd@m":[{"installPath":"relative"}]}})";
  PluginSettings settings;
  add_plugin_settings(settings, R"({"enabledPlugins":{"on@m":true,"old@m":true,"off@m":false,"both@m":true,
    "empty@m":true,"odd@m":true}})",
                      false);
  // A repository can take one away and not bring one in.
  add_plugin_settings(settings, R"({"enabledPlugins":{"both@m":false,"repo@m":true}})", true);
  std::vector<ConfigProblem> problems;
  EXPECT_THAT(installed_plugins(installed, "/f", settings, problems),
              testing::UnorderedElementsAre(PluginPlace{"/c/on", "on@m"}, PluginPlace{"/c/old", "old@m"}));
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_THAT(installed_plugins("{", "/f", settings, problems), IsEmpty());
  EXPECT_EQ(problems.size(), 1u);
  add_plugin_settings(settings, R"({"enabledPlugins":{"both@m":true}})", false);
  EXPECT_FALSE(settings.enabled.at("both@m"));
}

}  // namespace
}  // namespace patchbay
