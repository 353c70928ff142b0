// `patchbay import [CLIENT|FILE]` and `patchbay mcp add-from-claude-desktop`: servers of other clients come
// into our own files. Shows everything first; writes when the user said so. An entry of a file inside a repository
// becomes the user's own only if they answered for that one, or named it: --yes alone is not about it. In the
// project's file it waits for an approval like any other.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/declared.h"
#include "cli/texts/import_report.h"
#include "cli/texts/present.h"
#include "entries/consent_text.h"
#include "entries/parse.h"
#include "import/places.h"
#include "permission/policy.h"
#include "settings/files.h"
#include "settings/settings_layers.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

namespace fs = std::filesystem;

// What the words ask for.
struct Wanted {
  std::vector<ImportPlace> places;
  bool named = false;      // a client or a file, not whatever there is
  bool is_file = false;    // a file, which must be there
  bool recognise = false;  // whose it is has to be found out
};

bool from_desktop(const Settings& settings) { return settings.command == Command::add_from_desktop; }

ImportSurroundings surroundings_of(const Declared& declared) {
  const auto variables = process_environment();
  const auto& home = declared.config.home;
  auto config_home = variables("XDG_CONFIG_HOME").value_or("");
  if (!config_home.starts_with('/')) config_home = home + "/.config";
  return {home, config_home, project_directories(declared.request.cwd), variables};
}

std::vector<std::string> client_ids() {
  std::vector<std::string> ids;
  for (const auto& known : import_clients()) ids.emplace_back(known.id);
  return ids;
}

ImportClient client_called(const std::string& id) {
  if (auto client = import_client(id)) return *client;
  const auto ids = client_ids();
  const auto meant = nearest(id, ids);
  throw Error(Errc::invalid_argument, fmt::format("there is no client called \"{}\"; {}", safe_name(id, 80),
                                                  meant.empty() ? "the clients are " + join(ids, ", ")
                                                                : fmt::format("did you mean \"{}\"?", meant)));
}

// Where a file that was named goes: a known place knows it.
ImportPlace place_of_file(const std::string& path, const ImportSurroundings& around) {
  auto places = import_places(around);
  for (auto& place : import_places(ImportClient::registry, around)) places.push_back(std::move(place));
  const auto known = std::ranges::find(places, path, &ImportPlace::path);
  if (known != places.end()) return *known;
  return {ImportClient::mcp_json, path, ConfigScope::local};
}

Wanted wanted_places(const Settings& settings, const Declared& declared) {
  const auto around = surroundings_of(declared);
  const auto word = settings.words.empty() ? std::string() : settings.words.front();
  Wanted wanted;
  if (from_desktop(settings)) {
    wanted.named = true;
    wanted.places = import_places(ImportClient::claude_desktop, around);
    for (auto& place : wanted.places) place.scope = ConfigScope::local;
  } else if (word.empty() && settings.from.empty()) {
    wanted.places = import_places(around);
  } else if (word.empty() || (settings.from.empty() && import_client(word))) {
    wanted.named = true;
    const auto client = client_called(word.empty() ? settings.from : word);
    wanted.places = import_places(client, around);
  } else {
    const auto path = (fs::path(declared.request.cwd) / word).lexically_normal().string();
    const bool looks_like_path = word.find_first_of("./") != std::string::npos;
    if (!looks_like_path && !config_file_exists(path)) (void)client_called(word);
    wanted.named = wanted.is_file = true;
    auto place = place_of_file(path, around);
    wanted.recognise = settings.from.empty() && place.client == ImportClient::mcp_json;
    if (!settings.from.empty()) place.client = client_called(settings.from);
    wanted.places.push_back(std::move(place));
  }
  return wanted;
}

bool is_below(const fs::path& path, const fs::path& directory) {
  const auto relative = path.lexically_relative(directory);
  return !relative.empty() && *relative.begin() != "..";
}

// Written by whoever made a repository, or the project one is in. The home directory is the user's, also when
// they keep it in one.
bool brought_along(const Declared& declared, const ImportPlace& place) {
  if (place.scope == ConfigScope::user) return false;
  const fs::path home = declared.config.home;
  std::error_code error;
  const auto real = fs::weakly_canonical(place.path, error);
  for (const auto& path : {fs::path(place.path), real}) {
    if (path.empty()) continue;
    const fs::path project = declared.config.project_dir;
    if (project != home && project.has_relative_path() && is_below(path, project)) return true;
    for (auto directory = path.parent_path(); directory.has_relative_path(); directory = directory.parent_path()) {
      if (directory == home) break;
      if (config_file_seen((directory / ".git").string())) return true;
    }
  }
  return false;
}

// Paths below the current directory as a person in it would type them.
std::string shown_path(const Declared& declared, const std::string& path) {
  return place_text(declared, ConfigOrigin{.file = path});
}

ImportedFile read_place(const Wanted& wanted, ImportPlace& place, const Declared& declared, bool named_client) {
  auto text = read_config_file(place.path);
  const auto shown = shown_path(declared, place.path);
  if (!text) {
    if (wanted.is_file) throw std::move(text).error();
    return {place.client, shown, {}, {}, {{shown, 0, 0, text.error().message(), {}, Severity::error}}};
  }
  if (wanted.recognise) {
    auto client = recognise_import(place.path, *text);
    if (!client) {
      throw Error(Errc::config, fmt::format("{} is not a file of a known client; name the client with --from: {}",
                                            safe_name(shown, 300), join(client_ids(), ", ")));
    }
    place.client = *client;
  }
  auto file = import_text(place.client, *text, place.path);
  if (const auto other = recognise_import(place.path, *text);
      named_client && file.entries.empty() && !file.problems.empty() && other && *other != place.client) {
    file.problems.front().message += fmt::format(", or name the client: it looks like a file of {} (--from {})",
                                                 name_of(*other).title, name_of(*other).id);
  }
  file.file = shown;
  for (auto& problem : file.problems) problem.file = shown;
  return file;
}

class Planner {
 public:
  Planner(const Settings& settings, const Declared& declared) : settings_(settings), declared_(declared) {}

  void plan(ImportSource& source) {
    source.plan = plan_of(source.scope).add(source.file, settings_.names);
    for (auto& planned : source.plan) {
      if (planned.action == ImportAction::add) judge(planned);
      // A file of the project is for others, too, who may well have the variables.
      if (planned.action == ImportAction::add && source.scope != ConfigScope::project) check_variables(planned);
    }
  }

 private:
  ImportPlan& plan_of(ConfigScope scope) {
    const auto there = plans_.find(scope);
    if (there != plans_.end()) return there->second;
    std::vector<ExistingEntry> existing;
    for (const auto* server : all_entries(declared_.config)) {
      if (server->origin.scope == scope && is_ours(declared_, *server)) {
        existing.push_back({server->name, comparable_entry(*server)});
      }
    }
    const auto names = from_desktop(settings_) ? ImportNames::refuse : ImportNames::mend;
    return plans_.emplace(scope, ImportPlan(scope, std::move(existing), names)).first->second;
  }

  // A reference to what is not there would be sent as it is.
  void check_variables(PlannedEntry& planned) const {
    Json file;
    file["mcpServers"]["server"] = planned.entry;
    const auto read = parse_servers(to_text(file), {.file = {}}, ServerMap::wrapped);
    std::vector<std::string> names;
    for (const auto& use : read.uses) names.push_back(use.variable);
    const auto variables = variables_of(declared_.config);
    auto known = [&](const std::string& text) {
      return std::ranges::find(planned.missing, text) != planned.missing.end();
    };
    for (const auto& name : names) {
      // What has no counterpart was named as it is there.
      if (variables(name) || known(name) || known(fmt::format("${{{}}}", name))) continue;
      planned.missing.push_back(name);
      planned.entry["disabled"] = true;
    }
  }

  // An organisation has the last word.
  void judge(PlannedEntry& planned) const {
    const auto server = expand_server(read_planned(planned), variables_of(declared_.config));
    const auto verdict = judge_policy(server, layers_of(declared_.config.settings));
    if (verdict.allowed()) return;
    planned.action = ImportAction::skip;
    planned.reason = fmt::format("{} ({})", policy_refusal(planned.name, verdict), verdict.reason);
  }

  const Settings& settings_;
  const Declared& declared_;
  std::map<ConfigScope, ImportPlan> plans_;
};

void require_names(const Settings& settings, const std::vector<ImportSource>& sources) {
  std::vector<std::string> names;
  for (const auto& source : sources) {
    for (const auto& planned : source.plan) {
      names.push_back(planned.original);
      names.push_back(planned.name);
      names.push_back(mended_name(planned.original));
    }
  }
  for (const auto& name : settings.names) {
    if (std::ranges::find(names, name) != names.end()) continue;
    std::vector<std::string> all;
    for (const auto& source : sources) {
      for (const auto& entry : source.file.entries) all.push_back(entry.name);
    }
    const auto meant = nearest(name, all);
    throw Error(Errc::invalid_argument,
                fmt::format("there is no server called \"{}\" to import{}", safe_name(name, 80),
                            !meant.empty() ? fmt::format("; did you mean \"{}\"?", safe_name(meant, 80))
                            : all.empty()  ? std::string("; the files have no servers")
                                           : fmt::format("; the servers are {}", safe_line(join(all, ", "), 400))));
  }
}

// What is written to one scope, in one change.
FileChange write_scope(const Declared& declared, ConfigScope scope, const std::vector<ImportSource>& sources) {
  return change_scope(
      declared, scope, [&](const Json& root, const std::vector<KeyPath>& maps) -> Result<std::vector<ConfigEdit>> {
        std::vector<ConfigEdit> edits;
        for (const auto& source : sources) {
          if (source.scope != scope) continue;
          for (const auto& planned : source.plan) {
            if (planned.action != ImportAction::add) continue;
            if (!find_server(root, maps, planned.name).empty()) {
              return fail(
                  Errc::config,
                  fmt::format("MCP server {} was added to {} config while this command ran; run the command again",
                              planned.name, to_string(scope)));
            }
            edits.push_back(set_member(maps.front() / planned.name, planned.entry));
          }
        }
        return edits;
      });
}

std::string write_all(const Declared& declared, const std::vector<ImportSource>& sources,
                      std::vector<std::string>& notes) {
  if (declared.config.exclusive) throw Error(Errc::denied, std::string(enterprise_exclusive_refusal));
  std::string out;
  for (const auto scope : {ConfigScope::user, ConfigScope::local, ConfigScope::project}) {
    const bool any = std::ranges::any_of(sources, [&](const ImportSource& source) {
      return source.scope == scope &&
             std::ranges::find(source.plan, ImportAction::add, &PlannedEntry::action) != source.plan.end();
    });
    if (!any) continue;
    auto change = write_scope(declared, scope, sources);
    notes.insert(notes.end(), change.warnings.begin(), change.warnings.end());
    out += modified_text(declared, scope, change.file);
  }
  return out;
}

std::string summary(const ImportCounts& counts, bool written) {
  return fmt::format("{}: {}. Already present: {}. Not copied: {}. Fields left out or changed: {}.\n",
                     written ? "Imported" : "To import", plural(counts.add, "server"), counts.already_there,
                     counts.not_carried, counts.fields);
}

// No variable to set: the file has to be edited.
bool wants_edit(const PlannedEntry& planned) {
  return std::ranges::any_of(planned.missing, [](const std::string& what) { return what.contains("${"); });
}

// What is written and will not start, and what starts it.
std::string waiting_text(const std::vector<ImportSource>& sources) {
  std::vector<std::string> names;
  std::string edits;
  for (const auto& source : sources) {
    for (const auto& planned : source.plan) {
      if (planned.action != ImportAction::add || planned.missing.empty()) continue;
      if (wants_edit(planned)) {
        edits += fmt::format("{}{}", edits.empty() ? "" : ", ", safe_name(planned.name, 80));
      } else {
        names.push_back(planned.name);
      }
    }
  }
  std::string out;
  if (!names.empty()) {
    out = fmt::format("Servers with missing values are disabled. Set the values, then run: patchbay enable{}\n",
                      shell_operands(names));
  }
  // No line to paste: what such an entry reads or runs is seen first.
  if (!edits.empty()) {
    out += fmt::format(
        "Disabled until you check and edit the entry in the file above, then enable the server: {} (setting a variable "
        "is not enough)\n",
        edits);
  }
  return out;
}

bool waits_for_word(const ImportSource& source, const PlannedEntry& planned) {
  return planned.action == ImportAction::add && source.trust == ConfigTrust::needs_approval &&
         source.scope != ConfigScope::project;
}

// The line that imports all of it; what a repository declares has to be named.
std::string again(const Settings& settings, const std::vector<ImportSource>& sources) {
  if (from_desktop(settings)) return "patchbay mcp add-from-claude-desktop --yes";
  std::string names;
  bool name_all = !settings.names.empty();
  for (const auto& source : sources) {
    for (const auto& planned : source.plan) {
      name_all = name_all || waits_for_word(source, planned);
      if (planned.action == ImportAction::add) names += " --name " + pasted_word(planned.original);
    }
  }
  std::string flags;
  if (!settings.from.empty()) flags += " --from " + pasted_word(settings.from);
  if (!settings.scope.empty()) flags += " --scope " + settings.scope;
  if (name_all) flags += names;
  flags += " --yes";
  if (settings.words.empty()) return "patchbay import" + flags;
  const auto& word = settings.words.front();
  // Behind -- a flag would be a file.
  return word.starts_with('-') ? "patchbay import" + flags + shell_operands({word})
                               : "patchbay import" + shell_operands({word}) + flags;
}

// What the user did not want of their own files.
void leave_out_own(std::vector<ImportSource>& sources) {
  for (auto& source : sources) {
    for (auto& planned : source.plan) {
      if (planned.action != ImportAction::add || waits_for_word(source, planned)) continue;
      planned.action = ImportAction::skip;
      planned.reason = "not chosen";
    }
  }
}

// Which of them, when a person is asked: all, none, or these.
bool ask(const Settings& settings, Io& io, std::vector<ImportSource>& sources) {
  std::size_t count = 0;
  for (const auto& source : sources) {
    for (const auto& planned : source.plan) {
      count += planned.action == ImportAction::add && !waits_for_word(source, planned) ? 1 : 0;
    }
  }
  io.talk(from_desktop(settings)
              ? std::string("Which servers do you want to import? Write their names, all or none [all]: ")
              : fmt::format("Import {}? [y/N] ", plural(count, "server")));
  const auto line = io.read_line();
  if (!line) {
    io.talk("\n");
    return false;
  }
  const auto reply = std::string(trim(*line));
  const auto lower = to_lower_ascii(reply);
  if (!from_desktop(settings)) return lower == "y" || lower == "yes";
  if (lower.empty() || lower == "all") return true;
  if (lower == "none") return false;
  std::vector<std::string> chosen;
  std::string words = reply;
  std::ranges::replace(words, ',', ' ');
  for (const auto word : split(words, ' ')) {
    if (!word.empty()) chosen.emplace_back(word);
  }
  std::vector<std::string> names;
  for (auto& source : sources) {
    for (auto& planned : source.plan) {
      if (planned.action != ImportAction::add) continue;
      names.push_back(planned.name);
      if (std::ranges::find(chosen, planned.name) != chosen.end()) continue;
      planned.action = ImportAction::skip;
      planned.reason = "not chosen";
    }
  }
  for (const auto& name : chosen) {
    if (std::ranges::find(names, name) == names.end()) {
      io.talk(fmt::format("patchbay: there is no server \"{}\" in this list\n", safe_name(name, 80)));
    }
  }
  return count_import(sources).add > 0;
}

// One by one for what a repository declares; what nobody answered for is left where it is.
std::vector<std::string> ask_about_strangers(const Settings& settings, Io& io, std::vector<ImportSource>& sources,
                                             bool may_ask) {
  std::vector<std::string> notes;
  for (auto& source : sources) {
    for (auto& planned : source.plan) {
      if (!waits_for_word(source, planned)) continue;
      const auto is_named = [&](const std::string& name) {
        return name == planned.name || name == planned.original || name == mended_name(planned.original);
      };
      if (settings.yes && std::ranges::any_of(settings.names, is_named)) continue;
      if (may_ask &&
          yes_to(io, fmt::format("{} declares \"{}\":\n{}Import it? It then starts without another question. [y/N] ",
                                 visible_text(source.file.file), visible_text(planned.name),
                                 consent_block(read_planned(planned, source.trust), "  ", talk_columns(io))))) {
        continue;
      }
      planned.action = ImportAction::skip;
      planned.reason =
          may_ask
              ? std::string("not chosen")
              : fmt::format(
                    "it comes from a file inside a repository, and after the import it would start without a question. "
                    "To import it, name it (--name {} --yes), or use --scope project and approve it",
                    pasted_word(planned.original));
      if (!may_ask) notes.push_back(fmt::format("\"{}\" was not imported: {}", planned.name, planned.reason));
    }
  }
  return notes;
}

// Which of the others.
bool asks_about_rest(const std::vector<ImportSource>& sources) {
  return std::ranges::any_of(sources, [](const ImportSource& source) {
    return std::ranges::any_of(source.plan, [&](const PlannedEntry& planned) {
      return planned.action == ImportAction::add && !waits_for_word(source, planned);
    });
  });
}

std::vector<ImportSource> read_all(const Settings& settings, const Declared& declared, Wanted& wanted) {
  std::vector<ImportSource> sources;
  Planner planner(settings, declared);
  for (auto& place : wanted.places) {
    if (!wanted.is_file && !config_file_exists(place.path)) continue;
    ImportSource source;
    source.file = read_place(wanted, place, declared, !settings.from.empty());
    source.scope = settings.scope.empty() ? place.scope : scope_called(settings.scope);
    if (!from_desktop(settings) && brought_along(declared, place)) source.trust = ConfigTrust::needs_approval;
    planner.plan(source);
    sources.push_back(std::move(source));
  }
  return sources;
}

[[noreturn]] void nothing_found(const Wanted& wanted) {
  if (wanted.places.empty()) {
    throw Error(Errc::config, "mcp-json is the format of a file; name the file: patchbay import FILE --from mcp-json");
  }
  std::string looked;
  for (const auto& place : wanted.places) looked += fmt::format("\n  {}", safe_name(place.path, 300));
  throw Error(Errc::config, fmt::format("there is no file to import from; searched for{}", looked));
}

// A text that could not be read at all, which is an error when it was the one that was asked for.
bool unreadable(const std::vector<ImportSource>& sources) {
  return std::ranges::any_of(
      sources, [](const ImportSource& source) { return source.file.entries.empty() && !source.file.problems.empty(); });
}

}  // namespace

int import_servers(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  auto wanted = wanted_places(settings, declared);
  auto sources = read_all(settings, declared, wanted);
  if (wanted.named && sources.empty()) nothing_found(wanted);
  require_names(settings, sources);

  auto counts = count_import(sources);
  const bool may_ask = io.in_is_terminal && io.talk_is_terminal && !settings.json;
  const bool only_looking = settings.dry_run || counts.add == 0 || (!wanted.named && !settings.yes);
  std::vector<std::string> notes;
  std::string modified;
  bool written = false;
  const auto line = again(settings, sources);
  if (!settings.json) io.out(import_table(sources, out_columns(io)));
  if (!only_looking && (settings.yes || may_ask)) {
    const bool rest = asks_about_rest(sources);
    const bool agreed = settings.yes || !rest || ask(settings, io, sources);
    if (!agreed) leave_out_own(sources);
    notes = ask_about_strangers(settings, io, sources, may_ask);
    written = count_import(sources).add > 0;
    if (written) {
      modified = write_all(declared, sources, notes);
      counts = count_import(sources);
    }
  }
  say_notes(settings, io, notes);
  if (settings.json) {
    answer(settings, io, import_json(sources, written), {});
  } else {
    if (sources.empty())
      io.out("No file of another client was found. `patchbay import FILE` reads a file that you name.\n");
    if (!sources.empty()) io.out(summary(counts, written) + modified);
    if (written) io.talk(waiting_text(sources));
    if (!written && counts.add > 0)
      io.talk(fmt::format("Nothing was written{}. To import: {}\n",
                          only_looking || may_ask ? "" : ", because there is no terminal to ask on", line));
  }
  // Asked to write, and nobody was there to say yes.
  if (!only_looking && !written && !may_ask) return 2;
  return wanted.named && counts.add + counts.already_there == 0 && unreadable(sources) ? 2 : 0;
}

}  // namespace patchbay::cli
