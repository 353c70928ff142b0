// Variables as other clients write them, turned into ${NAME} and ${NAME:-default}. Pure: a text in, a
// text out, and a remark for everything that means something else here. It looks up no variable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "import/import.h"

namespace patchbay {

enum class VariableStyle : std::uint8_t {
  ours,      // ${NAME}, ${NAME:-default}
  none,      // texts mean what they say
  editor,    // ${env:NAME}, ${userHome}, ${workspaceFolder}, ${input:id}, ${file:/path}
  shell,     // $NAME, ${NAME}
  windows,   // the same, and %NAME%
  braces,    // {env:NAME}, {file:path}
  mcporter,  // $env:NAME, ${NAME}
};

struct VariableRemark {
  std::string variable;  // as written: "${workspaceFolderBasename}"
  ImportFate fate = ImportFate::changed;
  std::string message;
  bool operator==(const VariableRemark&) const = default;
};

struct TranslatedText {
  std::string text;
  std::vector<std::string> inputs;  // ids of values that a person is asked for
  std::vector<VariableRemark> remarks;
  bool operator==(const TranslatedText&) const = default;
};

// Relative paths in {file:path} are taken from `directory`, when there is one.
TranslatedText translate_variables(std::string_view text, VariableStyle style, std::string_view directory = {});

// Letters, digits and '_', not beginning with a digit: what can stand in ${...}.
bool is_variable_name(std::string_view name) noexcept;
// The variable that stands for something called `name`: "api-key" becomes API_KEY.
std::string variable_named_after(std::string_view name);
// The variable for ${input:id}: "path" must not become PATH.
std::string input_variable(std::string_view id);

}  // namespace patchbay
