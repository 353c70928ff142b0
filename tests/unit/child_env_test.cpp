// Rows of docs/requirements.md: T1, C2.
#include "entries/child_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::Fails;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;

const RunContext here{.cwd = "/w", .config_dir = "/home/me/.claude", .session_id = "id", .project_trusted = false};

ServerConfig at(ConfigScope scope, ConfigTrust trust = ConfigTrust::trusted) {
  ServerConfig server;
  server.name = "s";
  server.origin = {"/f", 1, scope, trust, 1};
  return server;
}

// compat: B3.13
TEST(ChildEnvironment, AServerLearnsAboutTheRunAndNotAboutTelemetry) {
  auto child = server_environment({{"PATH", "/bin"}, {"OTEL_EXPORTER", "x"}, {"OTEL_", "x"}, {"OTELX", "x"}},
                                  at(ConfigScope::user), here);
  EXPECT_THAT(child.added, UnorderedElementsAre(Pair("CLAUDECODE", "1"), Pair("CLAUDE_PROJECT_DIR", "/w"),
                                                Pair("CLAUDE_CODE_SESSION_ID", "id")));
  EXPECT_THAT(child.removed, UnorderedElementsAre("OTEL_EXPORTER", "OTEL_"));
  auto plugin = at(ConfigScope::plugin);
  plugin.variables = {{"CLAUDE_PLUGIN_ROOT", "/p"}, {"CLAUDE_PLUGIN_DATA", "/d"}, {"user_config.k", "v"}};
  auto of_plugin = server_environment({}, plugin, here);
  EXPECT_EQ(of_plugin.added.at("CLAUDE_PLUGIN_ROOT"), "/p");
  EXPECT_EQ(of_plugin.added.at("CLAUDE_PLUGIN_DATA"), "/d");
  EXPECT_EQ(of_plugin.added.size(), 5u);
}

// compat: B3.14, B6.13
TEST(ChildEnvironment, OnRequestOnlyASafePartIsInherited) {
  Environment ours{{"PATH", "/bin"},    {"HOME", "/h"}, {"LC_ALL", "C"}, {"GITHUB_TOKEN", "x"},
                   {"MY_SETTING", "x"}, {"TERM", "t"},  {"LANG", "C"},   {"CLAUDE_CODE_MCP_ALLOWLIST_ENV", "1"}};
  EXPECT_THAT(server_environment(ours, at(ConfigScope::user), here).removed,
              UnorderedElementsAre("GITHUB_TOKEN", "MY_SETTING", "CLAUDE_CODE_MCP_ALLOWLIST_ENV"));
  for (auto* off : {"0", "", "no"}) {
    ours["CLAUDE_CODE_MCP_ALLOWLIST_ENV"] = off;
    EXPECT_THAT(server_environment(ours, at(ConfigScope::user), here).removed, IsEmpty()) << off;
  }
}

// compat: B3.15
TEST(ChildEnvironment, OnRequestWhatSpeaksOfSecretsIsTakenOut) {
  Environment ours{{"ANTHROPIC_API_KEY", "x"},
                   {"AWS_SECRET_ACCESS_KEY", "x"},
                   {"GOOGLE_APPLICATION_CREDENTIALS", "x"},
                   {"MY_TOKEN", "x"},
                   {"SENTRY_DSN", "x"},
                   {"GITLAB_PAT", "x"},
                   {"KUBECONFIG", "x"},
                   {"SSH_AUTH_SOCK", "x"},
                   {"PGPASSWORD", "x"},
                   {"XDG_RUNTIME_DIR", "x"},
                   {"FOO_KEYS", "x"},
                   {"BOTO_CONFIG", "x"},
                   {"GITHUB_TOKEN", "kept"},
                   {"GH_TOKEN", "kept"},
                   {"PATHOLOGY", "kept"},
                   {"CLAUDE_CODE_SUBPROCESS_ENV_SCRUB", "1"}};
  EXPECT_THAT(server_environment(ours, at(ConfigScope::user), here).removed,
              UnorderedElementsAre("ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GOOGLE_APPLICATION_CREDENTIALS",
                                   "MY_TOKEN", "SENTRY_DSN", "GITLAB_PAT", "KUBECONFIG", "SSH_AUTH_SOCK", "PGPASSWORD",
                                   "XDG_RUNTIME_DIR", "FOO_KEYS", "BOTO_CONFIG"));
  ours.erase("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB");
  EXPECT_THAT(server_environment(ours, at(ConfigScope::user), here).removed, IsEmpty());
}

// compat: B3.27
TEST(ChildEnvironment, TokensOfOursAndOfASignInElsewhereAreNeverInherited) {
  const Environment ours{{"CLAUDE_CODE_OAUTH_TOKEN", "x"},   {"PATCHBAY_SERVE_TOKEN", "x"},
                         {"MCP_XAA_IDP_CLIENT_SECRET", "x"}, {"MCP_CLIENT_SECRET", "x"},
                         {"ANTHROPIC_API_KEY", "x"},         {"OPENAI_API_KEY", "x"}};
  EXPECT_THAT(server_environment(ours, at(ConfigScope::user), here).removed,
              UnorderedElementsAre("CLAUDE_CODE_OAUTH_TOKEN", "PATCHBAY_SERVE_TOKEN", "MCP_CLIENT_SECRET",
                                   "MCP_XAA_IDP_CLIENT_SECRET"));
}

// compat: B6.19
TEST(ChildEnvironment, VariablesOfSettingsAreHandedDownUnlessTheyAreWithheld) {
  auto run = here;
  run.settings_env = {{"REGION", "eu"}, {"OTEL_EXPORTER", "x"}, {"CLAUDE_CODE_OAUTH_TOKEN", "x"}, {"CLAUDECODE", "0"}};
  const auto child = server_environment(
      {{"REGION", "eu"}, {"OTEL_EXPORTER", "x"}, {"CLAUDE_CODE_OAUTH_TOKEN", "x"}, {"CLAUDECODE", "0"}},
      at(ConfigScope::user), run);
  EXPECT_EQ(child.added.at("REGION"), "eu");
  EXPECT_EQ(child.added.at("CLAUDECODE"), "1");
  EXPECT_FALSE(child.added.contains("OTEL_EXPORTER"));
  EXPECT_FALSE(child.added.contains("CLAUDE_CODE_OAUTH_TOKEN"));
}

// compat: B3.16
TEST(ChildEnvironment, APrefixGetsTheWholeCommandLineAsOneArgument) {
  auto server = at(ConfigScope::user);
  server.command = "npx";
  server.args = {"-y", "a b", "it's", ""};
  EXPECT_EQ(wrapped_command(server, {}), (CommandLine{"npx", {"-y", "a b", "it's", ""}}));
  EXPECT_EQ(wrapped_command(server, {{"CLAUDE_CODE_SHELL_PREFIX", " /opt/log.sh "}}),
            (CommandLine{"/opt/log.sh", {"npx -y 'a b' 'it'\\''s' ''"}}));
  EXPECT_EQ(wrapped_command(server, {{"CLAUDE_CODE_SHELL_PREFIX", " "}}).command, "npx");
}

// compat: B3.21
TEST(EnvFile, LinesAreNamesAndValues) {
  auto parsed = parse_env_file(
      "# comment\n\nA=1\nexport B = two words \r\nC=\"a\\n\\\"b\\\" # x\" # y\nD='$A \\n'\nE=\nF=x#y #z\nG=#c\nH=a=b",
      "/e");
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, (NamedTexts{{"A", "1"},
                                 {"B", "two words"},
                                 {"C", "a\n\"b\" # x"},
                                 {"D", "$A \\n"},
                                 {"E", ""},
                                 {"F", "x#y"},
                                 {"G", ""},
                                 {"H", "a=b"}}));
  struct Case {
    std::string_view text, error;
  };
  for (auto [text, error] : std::initializer_list<Case>{
           {"A=1\nB", "/e:2:1: there is no \"=\"; each line of an envFile must be NAME=value"},
           {"=1", "/e:1:1: \"\" is not a valid name of a variable; each line of an envFile must be NAME=value"},
           {"A B=1", "/e:1:1: \"A B\" is not a valid name of a variable; each line of an envFile must be NAME=value"},
           {"A=\"x", "/e:1:1: the quotes do not end on this line; each line of an envFile must be NAME=value"},
           {"A='x' y", "/e:1:1: there is text after the closing quote; each line of an envFile must be NAME=value"},
           {std::string_view("A=\0", 3),
            "/e:1:1: the value contains a NUL character; each line of an envFile must be NAME=value"},
       }) {
    auto wrong = parse_env_file(text, "/e");
    ASSERT_FALSE(wrong) << text;
    EXPECT_EQ(wrong.error(), Error(Errc::config, std::string(error)));
  }
}

// compat: B3.17, B3.18, B3.12
TEST(HelperEnvironment, WhatOthersBringAlongSeesNoSecrets) {
  const Environment ours{{"PATH", "/bin"}, {"MY_TOKEN", "t"}, {"REGION", "eu"}, {"OTEL_X", "x"}};
  auto server = at(ConfigScope::user);
  server.url = "https://${REGION}.example/${MY_TOKEN}/${UNSET:-x}";
  auto own = helper_environment(ours, server, here);
  EXPECT_EQ(own.added.at("CLAUDE_CODE_MCP_SERVER_NAME"), "s");
  EXPECT_EQ(own.added.at("CLAUDE_CODE_MCP_SERVER_URL"), "https://eu.example/t/x");
  EXPECT_THAT(own.removed, ElementsAre("OTEL_X"));
  struct Case {
    ConfigScope scope;
    ConfigTrust trust;
  };
  for (auto [scope, trust] : std::initializer_list<Case>{{ConfigScope::project, ConfigTrust::needs_approval},
                                                         {ConfigScope::local, ConfigTrust::needs_approval},
                                                         {ConfigScope::plugin, ConfigTrust::trusted}}) {
    server.origin.scope = scope;
    server.origin.trust = trust;
    auto foreign = helper_environment(ours, server, here);
    EXPECT_EQ(foreign.added.at("CLAUDE_CODE_MCP_SERVER_URL"), "https://eu.example/REDACTED/x");
    EXPECT_THAT(foreign.removed, ElementsAre("OTEL_X", "MY_TOKEN"));
  }
  server.variables = {{"CLAUDE_PLUGIN_ROOT", "/p"}, {"user_config.secret", "v"}};
  server.url = "https://h/${user_config.secret}";
  auto plugin = helper_environment(ours, server, here);
  EXPECT_EQ(plugin.added.at("CLAUDE_PLUGIN_ROOT"), "/p");
  EXPECT_EQ(plugin.added.at("CLAUDE_CODE_MCP_SERVER_URL"), "https://h/REDACTED");
}

// compat: B3.17
TEST(HelperEnvironment, TheDirectoryFollowsTheScope) {
  struct Case {
    ConfigScope scope;
    std::string_view directory;
  };
  for (auto [scope, directory] : std::initializer_list<Case>{{ConfigScope::project, "/w"},
                                                             {ConfigScope::local, "/w"},
                                                             {ConfigScope::dynamic, "/w"},
                                                             {ConfigScope::embedded, "/w"},
                                                             {ConfigScope::user, "/home/me/.claude"},
                                                             {ConfigScope::enterprise, "/home/me/.claude"},
                                                             {ConfigScope::connector, "/home/me/.claude"},
                                                             {ConfigScope::plugin, "/p"}}) {
    auto server = at(scope);
    server.variables = {{"CLAUDE_PLUGIN_ROOT", "/p"}};
    EXPECT_EQ(helper_directory(server, here), directory) << to_string(scope);
  }
}

// compat: B3.19
TEST(HelperEnvironment, InADirectoryThatIsNotTrustedProjectHelpersDoNotRun) {
  for (auto scope : {ConfigScope::project, ConfigScope::local}) {
    auto server = at(scope, trust_of(scope));
    EXPECT_EQ(
        helper_fault(server, here),
        "headersHelper not run: the directory /w is not trusted, so only the headers written in the entry are sent");
    auto trusted = here;
    trusted.project_trusted = true;
    EXPECT_EQ(helper_fault(server, trusted), "");
  }
  for (auto scope : {ConfigScope::user, ConfigScope::enterprise, ConfigScope::dynamic, ConfigScope::plugin}) {
    EXPECT_EQ(helper_fault(at(scope), here), "");
  }
}

// compat: B3.5
TEST(HelperOutput, IsAnObjectOfTexts) {
  EXPECT_EQ(parse_helper_output(R"( {"Authorization": "Bearer x", "X-A": ""} )").value(),
            (NamedTexts{{"Authorization", "Bearer x"}, {"X-A", ""}}));
  struct Case {
    std::string_view text, error;
  };
  for (auto [text, error] : std::initializer_list<Case>{
           {"[]", "the command must print a JSON object, but it printed an array"},
           {R"({"A": 1})", "the header \"A\" must be a string, but it is a number"},
           {R"({"A B": ""})", "\"A B\" in \"headers\" is not a valid name of a header; use letters, digits and \"-\""},
           {R"({"A": "x\r\nB: y"})", "the value of the header \"A\" contains a line break"},
       }) {
    EXPECT_THAT(parse_helper_output(text), Fails(error)) << text;
  }
  EXPECT_THAT(parse_helper_output(""),
              Fails(StartsWith("the command must print a JSON object, but it printed something else: ")));
  EXPECT_EQ(overlaid_headers({{"authorization", "old"}, {"X", "1"}}, {{"Authorization", "new"}, {"Y", "2"}}),
            (NamedTexts{{"X", "1"}, {"Authorization", "new"}, {"Y", "2"}}));
}

// compat: B3.18
TEST(ChildEnvironment, AHelperOfAProjectSeesNoSecretThatSettingsSet) {
  auto run = here;
  run.project_trusted = true;
  run.settings_env = {{"MY_API_TOKEN", "s"}, {"REGION", "eu"}};
  for (const auto scope : {ConfigScope::project, ConfigScope::plugin}) {
    const auto foreign = helper_environment({{"PATH", "/bin"}}, at(scope, ConfigTrust::needs_approval), run);
    EXPECT_FALSE(foreign.added.contains("MY_API_TOKEN")) << to_string(scope);
    EXPECT_EQ(foreign.added.at("REGION"), "eu") << to_string(scope);
  }
  EXPECT_EQ(helper_environment({{"PATH", "/bin"}}, at(ConfigScope::user), run).added.at("MY_API_TOKEN"), "s");
}

}  // namespace
}  // namespace patchbay
