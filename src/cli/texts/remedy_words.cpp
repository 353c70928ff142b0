#include "cli/texts/remedy_words.h"

#include <fmt/format.h>

#include "text/shell_word.h"

namespace patchbay::cli {

std::string remedy_words(const Remedy& remedy) {
  switch (remedy.kind) {
    case Remedy::Kind::approve_server:
      return fmt::format("if you trust it: patchbay approve{} (in a script: --trust-project)",
                         shell_operands({remedy.server}));
    case Remedy::Kind::give_more_time:
      return "give it more time with --timeout, \"timeout\" of its entry or MCP_TOOL_TIMEOUT";
    case Remedy::Kind::list_tools:
      return "`patchbay tools` lists all tools";
    case Remedy::Kind::choose_permission_mode:
      return "use another --permission-mode";
  }
  return {};
}

Error with_remedy_in_words(const Error& error) {
  if (!error.remedy()) return error;
  return error.with_message(fmt::format("{}; {}", error.message(), remedy_words(*error.remedy()))).without_remedy();
}

}  // namespace patchbay::cli
