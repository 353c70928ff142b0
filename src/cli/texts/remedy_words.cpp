#include "cli/texts/remedy_words.h"

#include <fmt/format.h>

#include "cli/texts/present.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

std::string chat_words(const Remedy& remedy) {
  const auto server = shell_operands({remedy.server});
  // A command of the shell is one with ! in front.
  const auto look_and_agree = [&](std::string_view look, std::string_view agree) {
    return fmt::format(
        "to look at the changes: !patchbay {0}{1}; if you agree: !patchbay {2}{1}; then: "
        "/mcp reconnect{1}",
        look, server, agree);
  };
  switch (remedy.kind) {
    case Remedy::Kind::approve_server:
      return fmt::format("you are asked about it with: /mcp{}", server);
    case Remedy::Kind::undo_rejection:
      return fmt::format("to approve it now: /mcp approve{}", server);
    case Remedy::Kind::enable_server:
      return fmt::format("to enable it: /mcp enable{}", server);
    case Remedy::Kind::list_tools:
      if (remedy.server.empty()) return "/tools lists all tools";
      return fmt::format("to list the tools of the server: /tools{}", server);
    case Remedy::Kind::sign_in:
      return fmt::format("to sign in: /mcp login{}", server);
    case Remedy::Kind::import_file:
      return fmt::format("to copy its servers: !patchbay import{}", shell_operands({remedy.file}));
    case Remedy::Kind::give_more_time:
      if (remedy.server.empty()) return "to wait longer: \"timeout\" in the entry of the server";
      return fmt::format("to wait longer: \"timeout\" in the entry of the server, and then: /mcp reconnect{}", server);
    case Remedy::Kind::approve_changes:
      return look_and_agree("pins show", "pins approve");
    case Remedy::Kind::renew_lock:
      return look_and_agree("verify", "lock");
    // Of these two it has what it began with.
    case Remedy::Kind::trust_project:
      return "if you trust this project: /quit, then `patchbay trust` and `patchbay chat --continue`";
    case Remedy::Kind::choose_permission_mode:
      return "to choose another mode: /quit, then `patchbay chat --continue --permission-mode MODE`";
  }
  return {};
}

}  // namespace

std::string remedy_words(const Remedy& remedy, TypedWhere where) {
  if (where == TypedWhere::chat) return chat_words(remedy);
  switch (remedy.kind) {
    case Remedy::Kind::approve_server:
      return fmt::format("if you trust it: patchbay approve{} (in a script: --trust-project)",
                         shell_operands({remedy.server}));
    case Remedy::Kind::undo_rejection:
      return fmt::format("to approve it now: patchbay approve{}", shell_operands({remedy.server}));
    case Remedy::Kind::enable_server:
      return fmt::format("to enable it: patchbay enable{}", shell_operands({remedy.server}));
    case Remedy::Kind::trust_project:
      return "if you trust this project: patchbay trust (for one run: --trust-project)";
    case Remedy::Kind::import_file:
      return fmt::format("to copy its servers: patchbay import{}", shell_operands({remedy.file}));
    case Remedy::Kind::give_more_time:
      return "to wait longer: --timeout SECONDS, \"timeout\" in the entry of the server, or MCP_TOOL_TIMEOUT";
    case Remedy::Kind::list_tools:
      if (remedy.server.empty()) return "`patchbay tools` lists all tools";
      return fmt::format("to list the tools of the server: patchbay tools{}", shell_operands({remedy.server}));
    case Remedy::Kind::choose_permission_mode:
      return "choose another mode with --permission-mode";
    case Remedy::Kind::sign_in:
      return fmt::format("to sign in: patchbay login{}", shell_operands({remedy.server}));
    case Remedy::Kind::approve_changes:
      return fmt::format("to look at the changes: patchbay pins show{0}; if you agree: patchbay pins approve{0}",
                         shell_operands({remedy.server}));
    case Remedy::Kind::renew_lock:
      return fmt::format("to see the differences: patchbay verify{0}; if you agree: patchbay lock{0}",
                         shell_operands({remedy.server}));
  }
  return {};
}

std::string fix_words(const Fix& fix) {
  const auto server = shell_operands({fix.server});
  switch (fix.kind) {
    case Fix::Kind::nothing:
      break;
    case Fix::Kind::change:
      return fix.text;
    case Fix::Kind::approve:
      return "patchbay approve" + server;
    case Fix::Kind::look_and_approve:
      return fmt::format("look at it with `patchbay get{0}`; if you trust it: patchbay approve{0}", server);
    case Fix::Kind::approve_instead:
      return fmt::format("look at it with `patchbay get{0}`; to use it instead of the other: patchbay approve{0}",
                         server);
    case Fix::Kind::enable:
      return "patchbay enable" + server;
    case Fix::Kind::remove_other:
      return fmt::format("rename one of them, or: patchbay remove --scope {}{}", to_string(fix.scope), server);
    case Fix::Kind::explain:
      return "to find out more: patchbay why" + server;
    case Fix::Kind::read_log:
      return "to find out more: patchbay tools --log-level debug" + server;
    case Fix::Kind::trust:
      return remedy_words({Remedy::Kind::trust_project});
    case Fix::Kind::withdraw_trust:
      return "to stop trusting it: patchbay trust --remove";
    case Fix::Kind::choose_mode:
      return remedy_words({Remedy::Kind::choose_permission_mode});
    case Fix::Kind::repair_files:
      return "patchbay doctor --fix";
    case Fix::Kind::sign_in:
      return "patchbay login" + server;
    case Fix::Kind::look_at_changes:
      return remedy_words({Remedy::Kind::approve_changes, fix.server});
  }
  return {};
}

Error with_remedy_in_words(const Error& error, TypedWhere where) {
  if (!error.remedy()) return error;
  return error.with_message(continued(error.message(), remedy_words(*error.remedy(), where))).without_remedy();
}

ConfigProblem with_remedy_in_words(ConfigProblem problem, TypedWhere where) {
  if (problem.remedy) problem.message = continued(std::move(problem.message), remedy_words(*problem.remedy, where));
  problem.remedy.reset();
  return problem;
}

std::vector<ConfigProblem> with_remedies_in_words(std::vector<ConfigProblem> problems) {
  for (auto& problem : problems) problem = with_remedy_in_words(std::move(problem));
  return problems;
}

std::string reason_words(const ServerConfig& server) {
  return server.remedy ? continued(server.reason, remedy_words(*server.remedy)) : server.reason;
}

}  // namespace patchbay::cli
