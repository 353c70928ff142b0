#include "servers/standing_text.h"

#include <fmt/format.h>

#include "entries/entry.h"
#include "entries/expand.h"
#include "servers/answer_place.h"
#include "text/file_and_line.h"
#include "text/shell_word.h"

namespace patchbay {
namespace {

using About = EntryAnswers::About;
using Kind = StandingBy::Kind;

std::string command_line(std::string_view command, const ServerConfig& server) {
  return fmt::format("patchbay {}{}", command, shell_operands({server.name}));
}

std::string waiting_text(const ServerConfig& server, const EntryAnswers& answers) {
  const auto approve = command_line("approve", server);
  if (answers.approved != About::nothing || answers.rejected != About::nothing) {
    return fmt::format("its entry changed after you {} it; look at it and run `{}`",
                       answers.approved != About::nothing ? "approved" : "rejected", approve);
  }
  if (answers.elsewhere) {
    return fmt::format("its relative paths name other files here than in {}; if you trust them, run `{}`",
                       project_directory_of(server.origin.file), approve);
  }
  return fmt::format("not approved yet; if you trust it, run `{}`", approve);
}

std::string switched_text(const ServerConfig& server, const EntryAnswers::Switch& by) {
  return fmt::format("disabled {}in {}{}; to enable it: {}", by.for_project ? "for this project " : "", by.file,
                     by.key.empty() ? "" : fmt::format(" ({})", by.key), command_line("enable", server));
}

// Why an entry that switches itself off is off, and what it lacks to be switched on.
std::string disabled_text(const ServerConfig& server, const Standing& standing, const VariableLookup& variables) {
  auto text = fmt::format("\"disabled\" is true in {}", file_and_line(server.origin.file, server.origin.line));
  // `enable` would mean the entry that is used.
  if (server.origin.scope == ConfigScope::enterprise || !standing.shown) return text;
  const auto missing = missing_values(server, variables);
  const auto enable = command_line("enable", server);
  if (missing.empty()) return fmt::format("{}; to enable it: {}", text, enable);
  return fmt::format("{}, and {}; set what is missing, then enable it: {}", text, missing_text(missing), enable);
}

}  // namespace

std::string entry_at(const ConfigOrigin& origin) {
  return fmt::format("{} entry in {}", to_string(origin.scope), file_and_line(origin.file, origin.line));
}

std::string_view common_part(const ServerConfig& server) noexcept {
  return server.kind == ServerKind::stdio ? "command and environment" : "URL";
}

std::string decided_text(std::string_view done, const StandingBy& by) {
  if (by.what.empty()) return {};
  if (by.file.empty()) return fmt::format("{} by {}", done, by.what);
  return fmt::format("{} by {} in {}", done, by.what, file_and_line(by.file, by.line));
}

std::string standing_text(std::span<const DeclaredEntry> entries, std::size_t at, const EntryAnswers& answers,
                          const Standing& standing, const VariableLookup& variables) {
  const auto& server = entries[at].server;
  switch (standing.why) {
    case ServerStanding::active:
      return {};
    case ServerStanding::awaiting_approval:
      return waiting_text(server, answers);
    case ServerStanding::rejected:
      if (standing.by.kind == Kind::answer) {
        return fmt::format("you rejected it; to change that, run `{}`", command_line("approve", server));
      }
      return decided_text("rejected", standing.by);
    case ServerStanding::disabled:
      if (standing.by.kind == Kind::switched) return switched_text(server, *answers.switched);
      return disabled_text(server, standing, variables);
    case ServerStanding::policy:
      return standing.policy_text;
    case ServerStanding::duplicate: {
      const auto& first = entries[*standing.other].server;
      return fmt::format("it has the same {} as {}, the {}", common_part(server), quoted_name(first.name),
                         entry_at(first.origin));
    }
    case ServerStanding::not_configured:
      return fmt::format("its \"url\" in {} is empty", file_and_line(server.origin.file, server.origin.line));
    case ServerStanding::broken:
      return server.reason;
    case ServerStanding::shadowed:
      return "the " + entry_at(entries[*standing.other].server.origin) + " overrides it";
  }
  return {};
}

}  // namespace patchbay
