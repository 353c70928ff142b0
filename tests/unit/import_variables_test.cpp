// Variables of other clients, one table per way of writing them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/variables.h"

namespace patchbay {
namespace {

struct Case {
  VariableStyle style;
  std::string_view in, out;
  std::vector<std::string> remarked;
  std::vector<std::string> inputs;
};

TEST(ImportVariables, EveryForm_IsTranslatedOrRemarkedUpon) {
  using enum VariableStyle;
  const Case cases[] = {
      {ours, "${A} ${A:-b} ${env:A} $A", "${A} ${A:-b} ${env:A} $A", {}, {}},
      {none, "plain $A %A% {env:A}", "plain $A %A% {env:A}", {}, {}},
      {none, "${A} ${A:-b}", "${A} ${A:-b}", {"${A}", "${A:-b}"}, {}},
      {none, "${cmd:id}", "${cmd:id}", {}, {}},  // told about when the whole entry is known
      {none, "${A%x} ${", "${A%x} ${", {}, {}},
      {editor, "${env:A}/${userHome}/x", "${env:A}/${HOME}/x", {}, {}},
      {editor, "${workspaceFolder}", "${CLAUDE_PROJECT_DIR:-.}", {}, {}},
      {editor, "${workspaceFolder:api}/x", "${CLAUDE_PROJECT_DIR:-.}/x", {"${workspaceFolder:api}"}, {}},
      {editor, "a${/}b${pathSeparator}c", "a/b/c", {}, {}},
      {editor, "${env:not a name}", "${env:not a name}", {"${env:not a name}"}, {}},
      {editor, "${input:api-key}", "${INPUT_API_KEY}", {}, {"api-key"}},
      {editor, "${input:a} ${input:b} ${input:a}", "${INPUT_A} ${INPUT_B} ${INPUT_A}", {}, {"a", "b"}},
      {editor, "${input:}", "${input:}", {"${input:}"}, {}},
      {editor, "${command:x} ${config:y}", "${command:x} ${config:y}", {"${command:x}", "${config:y}"}, {}},
      {editor, "${cwd}", "${cwd}", {"${cwd}"}, {}},
      {editor, "${A}", "${A}", {"${A}"}, {}},
      {editor, "${file:/run/key}", "${file:/run/key}", {}, {}},
      // Told about when the whole entry is known, and only then.
      {editor, "${file:key} ${cmd:id} ${secret:k}", "${file:key} ${cmd:id} ${secret:k}", {}, {}},
      {shell, "$A/${A}/$", "${A}/${A}/$", {}, {}},
      {shell, "%A% $1 $$", "%A% $1 $$", {}, {}},
      {windows, "$A %B% 100% %2% %C", "${A} ${B} 100% %2% %C", {}, {}},
      {braces, "{env:A} {file:/k} {other}", "${A} ${file:/k} {other}", {}, {}},
      {braces, "{file:k} {file:./k}", "${file:/d/k} ${file:/d/k}", {}, {}},
      {braces, "{file:~/k} {env:a b}", "${file:~/k} {env:a b}", {"{env:a b}"}, {}},
      {braces, "${A} {env:A", "${A} {env:A", {"${A}"}, {}},
      {mcporter, "$env:A-b ${C:-d} $env: $A", "${A}-b ${C:-d} $env: $A", {}, {}},
  };
  for (const auto& c : cases) {
    const auto made = translate_variables(c.in, c.style, "/d");
    EXPECT_EQ(made.text, c.out) << c.in;
    EXPECT_EQ(made.inputs, c.inputs) << c.in;
    std::vector<std::string> remarked;
    for (const auto& remark : made.remarks) remarked.push_back(remark.variable);
    EXPECT_EQ(remarked, c.remarked) << c.in;
  }
}

TEST(ImportVariables, AMillionOpenings_AreReadOnce) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += "${";
  for (auto style : {VariableStyle::editor, VariableStyle::braces, VariableStyle::windows}) {
    EXPECT_EQ(translate_variables(text, style).text, text);
  }
}

TEST(ImportVariables, VariablesAreNamedAfterThings) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"api-key", "API_KEY"}, {"apiKey", "APIKEY"}, {"a  b", "A_B"}, {"", "_"}, {"9", "_9"}, {"ä", "_"}};
  for (const auto& [name, variable] : cases) {
    EXPECT_EQ(variable_named_after(name), variable);
    EXPECT_TRUE(is_variable_name(variable));
  }
  for (std::string_view no : {"", "9a", "a b", "a-b", "ä"}) EXPECT_FALSE(is_variable_name(no)) << no;
}

}  // namespace
}  // namespace patchbay
