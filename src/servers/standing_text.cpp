#include "servers/standing_text.h"

#include <fmt/format.h>

#include "entries/entry.h"
#include "entries/expand.h"
#include "servers/answer_place.h"
#include "text/file_and_line.h"

namespace patchbay {
namespace {

using About = EntryAnswers::About;
using Kind = StandingBy::Kind;

std::string waiting_text(const ServerConfig& server, const EntryAnswers& answers) {
  if (answers.approved != About::nothing || answers.rejected != About::nothing) {
    return fmt::format("its entry changed after you {} it",
                       answers.approved != About::nothing ? "approved" : "rejected");
  }
  if (answers.elsewhere) {
    return fmt::format("not approved for this directory, where its relative paths name other files than in {}",
                       project_directory_of(server.origin.file));
  }
  return "not approved yet";
}

std::string switched_text(const EntryAnswers::Switch& by) {
  return fmt::format("disabled {}in {}{}", by.for_project ? "for this project " : "", by.file,
                     by.key.empty() ? "" : fmt::format(" ({})", by.key));
}

// Enabling a name means the entry that is used for it, and what an organisation set up it does not change.
bool can_be_enabled(const ServerConfig& server, const Standing& standing) {
  return standing.by.kind == Kind::switched || (server.origin.scope != ConfigScope::enterprise && standing.shown);
}

// Why an entry that switches itself off is off, and what it lacks to be switched on.
std::string disabled_text(const ServerConfig& server, const Standing& standing, const VariableLookup& variables) {
  auto text = fmt::format("\"disabled\" is true in {}", file_and_line(server.origin.file, server.origin.line));
  if (!can_be_enabled(server, standing)) return text;
  const auto missing = missing_values(server, variables);
  return missing.empty() ? text : fmt::format("{}, and {}; set what is missing first", text, missing_text(missing));
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
      return standing.by.kind == Kind::answer ? "you rejected it" : decided_text("rejected", standing.by);
    case ServerStanding::disabled:
      if (standing.by.kind == Kind::switched) return switched_text(*answers.switched);
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

std::optional<Remedy> standing_remedy(const ServerConfig& server, const Standing& standing) {
  switch (standing.why) {
    case ServerStanding::awaiting_approval:
      return Remedy{Remedy::Kind::approve_server, server.name};
    case ServerStanding::rejected:
      if (standing.by.kind != Kind::answer) return std::nullopt;
      return Remedy{Remedy::Kind::undo_rejection, server.name};
    case ServerStanding::disabled:
      if (!can_be_enabled(server, standing)) return std::nullopt;
      return Remedy{Remedy::Kind::enable_server, server.name};
    case ServerStanding::broken:
      return server.remedy;
    case ServerStanding::active:
    case ServerStanding::policy:
    case ServerStanding::duplicate:
    case ServerStanding::not_configured:
    case ServerStanding::shadowed:
      break;
  }
  return std::nullopt;
}

}  // namespace patchbay
