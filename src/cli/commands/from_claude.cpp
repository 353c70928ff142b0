// `patchbay approve --from-claude`, and the same as a question before servers start: approvals that Claude Code keeps
// in .claude/settings.local.json are taken over, once what they approve has been shown.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/declared.h"
#include "cli/texts/present.h"
#include "entries/consent_text.h"
#include "entries/signature.h"
#include "servers/claude_approvals.h"
#include "servers/load.h"
#include "settings/files.h"
#include "settings/git_index.h"
#include "settings/own_file.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

struct Offer {
  ClaudeApprovals approvals;
  bool tracked = false;  // the file may have come with the repository
};

// Under our own file's name of the project; hashes of entries that the user did not want to take over.
constexpr const char* declined_key = "notTakenOver";

// What the user was offered before and did not want: name and hash of each entry.
NamedTexts declined_before(const Declared& declared) {
  NamedTexts out;
  const auto file = config_paths(declared.request).own_file();
  const auto text = read_config_text(file);
  if (!text) return out;
  const auto own = read_own_file(*text, file);
  for (const auto& key : declared.project_keys) {
    const auto* project = own.project(key);
    if (project != nullptr) out.insert(out.end(), project->not_taken_over.begin(), project->not_taken_over.end());
  }
  return out;
}

Offer offer_of(const Declared& declared) {
  Offer offer{claude_approvals(declared.config)};
  for (const auto& file : offer.approvals.files) {
    offer.tracked = offer.tracked || git_may_track(declared.config.project_dir, file);
  }
  return offer;
}

std::string names_of(const std::vector<const ServerConfig*>& servers) {
  std::vector<std::string> names;
  for (const auto* server : servers) names.push_back(visible_text(server->name));
  return join(names, ", ");
}

std::string blocks_of(const std::vector<const ServerConfig*>& servers, std::size_t columns) {
  std::string out;
  for (const auto* server : servers) {
    out += fmt::format("\"{}\" ({}:{}):\n{}", visible_text(server->name), visible_text(server->origin.file),
                       server->origin.line, consent_block(*server, "  ", columns));
  }
  return out;
}

std::string files_of(const Offer& offer) {
  std::vector<std::string> files;
  for (const auto& file : offer.approvals.files) files.push_back(visible_text(file));
  return join(files, " and ");
}

// Why what it says may not be the user's word.
std::string doubt_about(const Offer& offer) {
  return fmt::format(
      "{} may have come with the project: git tracks it or what leads to it, or its index cannot be read",
      files_of(offer));
}

enum class Reply { yes, no, nothing };

// What they would start is shown before the question, whatever is answered.
Reply ask_together(Io& io, const Offer& offer) {
  constexpr int most_questions = 10;
  const auto& servers = offer.approvals.servers;
  const auto shown = blocks_of(servers, talk_columns(io));
  io.talk(fmt::format("{} approves for Claude Code:\n{}", files_of(offer), shown));
  for (int asked = 0; asked < most_questions; ++asked) {
    io.talk(fmt::format("Approved in Claude Code: {}. Approve {} here as well? [y/N/?] ", names_of(servers),
                        servers.size() == 1 ? "it" : "them"));
    const auto line = io.read_line();
    if (!line) {
      io.talk("\n");
      return Reply::nothing;
    }
    const auto word = to_lower_ascii(trim(*line));
    if (word == "y" || word == "yes") return Reply::yes;
    if (word.empty() || word == "n" || word == "no") return Reply::no;
    io.talk(shown +
            "  y      approve all of them, now and later, as long as their entries do not change\n"
            "  Enter  do not; each is asked about when it starts. `patchbay approve --from-claude` asks again\n");
  }
  return Reply::nothing;
}

// The file may be the repository's own word, so each of its servers is a question of its own.
std::vector<const ServerConfig*> ask_each(Io& io, const Offer& offer) {
  io.talk(fmt::format("{}.\n", doubt_about(offer)));
  std::vector<const ServerConfig*> out;
  for (const auto* server : offer.approvals.servers) {
    const auto question =
        blocks_of({server}, talk_columns(io)) + fmt::format("Approve \"{}\"? [y/N] ", visible_text(server->name));
    if (yes_to(io, question)) out.push_back(server);
  }
  return out;
}

void decline(const Declared& declared, const std::vector<const ServerConfig*>& servers) {
  auto change = declared.store.change_own_file([&](const Json&) -> Result<std::vector<ConfigEdit>> {
    std::vector<ConfigEdit> edits;
    for (const auto* server : servers) {
      edits.push_back(set_member({"projects", declared.project(), declined_key, server->name}, entry_hash(*server)));
    }
    return edits;
  });
  if (!change) throw std::move(change).error();
}

}  // namespace

std::vector<const ServerConfig*> taken_from_claude(const Declared& declared, const Settings& settings, Io& io) {
  const auto offer = offer_of(declared);
  const auto& servers = offer.approvals.servers;
  if (!settings.words.empty() || settings.all) {
    throw Error(Errc::invalid_argument, "--from-claude finds the servers itself; leave out their names and --all");
  }
  if (servers.empty()) {
    throw Error(Errc::invalid_argument,
                "Claude Code has approved no server of this project that still awaits approval here; to list all "
                "servers: patchbay list");
  }
  const bool may_ask = io.in_is_terminal && io.talk_is_terminal && !settings.json;
  if (offer.tracked && (settings.yes || !may_ask)) {
    std::vector<std::string> names;
    for (const auto* server : servers) names.push_back(server->name);
    throw Error(Errc::denied, fmt::format("{}; look at the servers (patchbay list) and approve them by name: patchbay "
                                          "approve{}",
                                          doubt_about(offer), shell_operands(names)));
  }
  if (settings.yes) return servers;
  if (!may_ask) {
    throw Error(Errc::invalid_argument,
                fmt::format("you can be asked only on a terminal; to approve {} without a question: patchbay approve "
                            "--from-claude --yes",
                            names_of(servers)));
  }
  if (offer.tracked) return ask_each(io, offer);
  const auto reply = ask_together(io, offer);
  if (reply == Reply::yes) return servers;
  if (reply == Reply::no) decline(declared, servers);
  return {};
}

bool offer_approvals_of_claude(const Settings& settings, const LoadedConfig& config, const std::string& only, Io& io) {
  // Most projects have none.
  if (claude_approvals(config).servers.empty()) return false;
  const auto declared = load_declared(settings);
  auto offer = offer_of(declared);
  auto& servers = offer.approvals.servers;
  const auto before = declined_before(declared);
  std::erase_if(servers, [&](const auto* server) {
    return std::ranges::find(before, std::pair(server->name, entry_hash(*server))) != before.end();
  });
  const bool concerned =
      only.empty() || std::ranges::any_of(servers, [&](const auto* server) { return server->name == only; });
  // One at a time is how they are asked about anyway.
  if (servers.empty() || offer.tracked || !concerned) return false;
  const auto reply = ask_together(io, offer);
  std::vector<std::string> names;
  for (const auto* server : servers) names.push_back(server->name);
  try {
    if (reply == Reply::no) {
      decline(declared, servers);
      io.talk("Not approved; each of them is asked about when it starts.\n");
    } else if (reply == Reply::yes) {
      const auto change = remember_answers(declared, servers, true);
      io.talk(fmt::format("Approved {}. File modified: {}. Undo: patchbay reject{}\n", names_of(servers), change.file,
                          shell_operands(names)));
      return true;
    }
  } catch (const Error& error) {
    io.talk(fmt::format("patchbay: your answer could not be saved, so you will be asked again: {}\n",
                        message_line(error.message(), 500)));
  }
  return false;
}

}  // namespace patchbay::cli
