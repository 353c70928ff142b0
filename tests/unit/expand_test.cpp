// Rows of docs/requirements.md: C4.
#include "entries/expand.h"

#include <map>

#include <gtest/gtest.h>

namespace patchbay {
namespace {

VariableLookup variables(std::map<std::string, std::string, std::less<>> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    auto it = values.find(name);
    return it == values.end() ? std::nullopt : std::optional(it->second);
  };
}

// compat: B3.11
TEST(Expand, ReplacesTheTwoFormsAndLeavesTheRestAlone) {
  auto lookup = variables({{"A", "one"}, {"EMPTY", ""}, {"NESTED", "${A}"}, {"_x9", "u"}, {"DOLLAR", "$"}});
  struct Case {
    std::string_view in, out;
    std::vector<std::string> missing;
  };
  for (const auto& c : std::initializer_list<Case>{
           {"", "", {}},
           {"plain", "plain", {}},
           {"${A}", "one", {}},
           {"<${A}-${_x9}>", "<one-u>", {}},
           {"${A}${A}", "oneone", {}},
           {"${A:-two}", "one", {}},
           {"${B:-two}", "two", {}},
           {"${B:-}", "", {}},
           {"${B:-a:-b}", "a:-b", {}},
           {"${B:-http://h:1/p}", "http://h:1/p", {}},
           {"${EMPTY}", "", {}},
           {"${EMPTY:-two}", "", {}},
           {"${B}", "${B}", {"B"}},
           {"${B} ${C} ${B}", "${B} ${C} ${B}", {"B", "C"}},
           {"${NESTED}", "${A}", {}},  // a value is never looked at again
           {"${DOLLAR}{A}", "${A}", {}},
           {"$A", "$A", {}},
           {"$$", "$$", {}},
           {"${A", "${A", {}},
           {"${}", "${}", {}},
           {"${:-x}", "${:-x}", {}},
           {"${v%x}", "${v%x}", {}},
           {"${#A}", "${#A}", {}},
           {"${A:?no}", "${A:?no}", {}},
           {"${A:=x}", "${A:=x}", {}},
           {"${A-x}", "${A-x}", {}},
           {"${1}", "${1}", {}},
           {"${ A }", "${ A }", {}},
           {"${env:A}", "${env:A}", {}},
           {"${user_config.KEY}", "${user_config.KEY}", {"user_config.KEY"}},
           {"${user_config.}", "${user_config.}", {}},
           {"${other.KEY}", "${other.KEY}", {}},
           {"${v%${A}}", "${v%one}", {}},
           {"${${A}}", "${one}", {}},
           {"\\${A}", "\\one", {}},
       }) {
    EXPECT_EQ(expand(c.in, lookup), (Expanded{std::string(c.out), c.missing})) << c.in;
  }
}

// compat: B3.22
TEST(Expand, SecretReferencesAreFoundAndReplacedOnlyByWhatWasFetched) {
  struct Case {
    std::string_view in;
    std::vector<SecretReference> references;
    std::string_view out;
  };
  const SecretValues values{{{SecretKind::environment, "A"}, "<${A}>"},
                            {{SecretKind::file, "~/t"}, "<file>"},
                            {{SecretKind::stored, "n"}, "<secret>"},
                            {{SecretKind::command, "echo {1} ${X}"}, "<cmd>"}};
  auto lookup = variables({{"A", "one"}, {"P", "/p"}});
  for (const auto& c : std::initializer_list<Case>{
           {"${env:A}", {{SecretKind::environment, "A", "k"}}, "<${A}>"},
           {"Bearer ${file:~/t}!", {{SecretKind::file, "~/t", "k"}}, "Bearer <file>!"},
           {"${secret:n}${A}${secret:m}",
            {{SecretKind::stored, "n", "k"}, {SecretKind::stored, "m", "k"}},
            "<secret>one${secret:m}"},
           // Brackets inside a command belong to it, and so does what looks like a variable.
           {"${cmd:echo {1} ${X}}.", {{SecretKind::command, "echo {1} ${X}", "k"}}, "<cmd>."},
           {"${cmd:echo }", {{SecretKind::command, "echo ", "k"}}, "${cmd:echo }"},
           {"${cmd:never", {}, "${cmd:never"},
           {"${cmd:{}", {}, "${cmd:{}"},
           {"${env:}", {}, "${env:}"},
           {"${env:-x}", {}, "x"},  // a variable called env
           {"${envy:A}", {}, "${envy:A}"},
           {"${ENV:A}", {}, "${ENV:A}"},
           {"${input:A}", {}, "${input:A}"},
       }) {
    EXPECT_EQ(secret_references(c.in, "k"), c.references) << c.in;
    EXPECT_EQ(expand(c.in, lookup, values).text, c.out) << c.in;
  }
}

TEST(Expand, AnEntryNamesEachSecretOnce) {
  ServerConfig server;
  server.command = "${file:a}";
  server.args = {"${secret:b}", "${file:a}"};
  server.env = {{"T", "${cmd:c}"}};
  server.url = "${env:d}";
  server.headers = {{"H", "${secret:b}"}};
  EXPECT_EQ(secret_references(server), (std::vector<SecretReference>{{SecretKind::file, "a", "command"},
                                                                     {SecretKind::stored, "b", "args[0]"},
                                                                     {SecretKind::command, "c", "env.T"},
                                                                     {SecretKind::environment, "d", "url"}}));
}

// compat: B3.22
TEST(Expand, WhatOthersDeclareReadsNothingOfTheUser) {
  struct Case {
    ConfigScope scope;
    ConfigTrust trust;
    bool reads, runs;
  };
  using enum ConfigScope;
  constexpr auto yes = ConfigTrust::trusted, asks = ConfigTrust::needs_approval;
  for (auto [scope, trust, reads, runs] : std::initializer_list<Case>{{user, yes, true, true},
                                                                      {enterprise, yes, true, true},
                                                                      {local, yes, true, false},
                                                                      {dynamic, yes, true, false},
                                                                      {embedded, yes, true, false},
                                                                      {local, asks, false, false},
                                                                      {project, asks, false, false},
                                                                      {project, yes, false, false},
                                                                      {plugin, yes, false, false},
                                                                      {connector, yes, false, false}}) {
    ConfigOrigin origin{"/f", 1, scope, trust, 1};
    EXPECT_EQ(reference_fault({SecretKind::environment, "A", "k"}, origin), "");
    EXPECT_EQ(reference_fault({SecretKind::file, "A", "k"}, origin).empty(), reads) << to_string(scope);
    EXPECT_EQ(reference_fault({SecretKind::stored, "A", "k"}, origin).empty(), reads) << to_string(scope);
    EXPECT_EQ(reference_fault({SecretKind::command, "A", "k"}, origin).empty(), runs) << to_string(scope);
  }
  EXPECT_EQ(
      reference_fault({SecretKind::file, "A", "headers.H"}, {"/r/.mcp.json", 1, project, asks, 1}),
      "${file:…} in \"headers.H\" is not used in an entry of project scope from /r/.mcp.json; declare the server in "
      "user scope, or use ${VARIABLE}");
}

// compat: B3.12
TEST(Expand, AnEntrysOwnVariablesGoFirst) {
  ServerConfig server;
  server.command = "${CLAUDE_PLUGIN_ROOT}/run";
  server.args = {"${user_config.KEY}", "${HOME}"};
  server.variables = {{"CLAUDE_PLUGIN_ROOT", "/plugin"}, {"user_config.KEY", "v"}};
  auto out = expand_server(server, variables({{"CLAUDE_PLUGIN_ROOT", "/elsewhere"}, {"HOME", "/h"}}));
  EXPECT_EQ(out.command, "/plugin/run");
  EXPECT_EQ(out.args, (std::vector<std::string>{"v", "/h"}));
  EXPECT_TRUE(out.warnings.empty());
}

TEST(Expand, AnUnsetVariableIsAWarningThatNamesItAndItsPlace) {
  ServerConfig server;
  server.name = "db";
  server.command = "${BIN:-npx}";
  server.args = {"-y", "${PACKAGE}"};
  server.env = {{"TOKEN", "${TOKEN}"}, {"${TOKEN}", "x"}};
  server.cwd = "${HOME}/x";
  server.url = "https://${HOST}/";
  server.headers = {{"Authorization", "Bearer ${TOKEN}"}};

  auto out = expand_server(server, variables({{"HOME", "/h"}, {"HOST", "example.org"}}));

  auto expected = server;
  expected.command = "npx";
  expected.cwd = "/h/x";
  expected.url = "https://example.org/";
  expected.warnings = {
      "the variable PACKAGE used in \"args[1]\" is not set, so the text ${PACKAGE} is used unchanged; set it or "
      "write ${PACKAGE:-default}",
      "the variable TOKEN used in \"env.TOKEN\" is not set, so the text ${TOKEN} is used unchanged; set it or "
      "write ${TOKEN:-default}",
      "the variable TOKEN used in \"headers.Authorization\" is not set, so the text ${TOKEN} is used unchanged; set it "
      "or "
      "write ${TOKEN:-default}",
  };
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace patchbay
