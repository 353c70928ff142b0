// Rows of docs/requirements.md: C4.
#include "config/expand.h"

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
           {"${user_config.KEY}", "${user_config.KEY}", {}},
           {"${v%${A}}", "${v%one}", {}},
           {"${${A}}", "${one}", {}},
           {"\\${A}", "\\one", {}},
       }) {
    EXPECT_EQ(expand(c.in, lookup), (Expanded{std::string(c.out), c.missing})) << c.in;
  }
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
      "the variable PACKAGE used in \"args[1]\" is not set, so ${PACKAGE} is passed on as it is; set it or write "
      "${PACKAGE:-default}",
      "the variable TOKEN used in \"env.TOKEN\" is not set, so ${TOKEN} is passed on as it is; set it or write "
      "${TOKEN:-default}",
      "the variable TOKEN used in \"headers.Authorization\" is not set, so ${TOKEN} is passed on as it is; set it or "
      "write ${TOKEN:-default}",
  };
  EXPECT_EQ(out, expected);
}

}  // namespace
}  // namespace patchbay
