// `patchbay trust`: the user's trust in a directory, kept in our own file. It approves no server.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/strings.h"
#include "cli/declared.h"
#include "cli/texts/present.h"
#include "hooks/hook_set.h"
#include "servers/load.h"
#include "settings/files.h"
#include "settings/settings_layers.h"
#include "text/shell_word.h"
#include "text/visible_text.h"

namespace patchbay::cli {
namespace {

namespace fs = std::filesystem;

// Trust is looked up for the root of a project: said of anything else it would change nothing, and look as if it did.
void require_project(const Declared& declared, const fs::path& path) {
  const auto root = project_directories(path.string()).back();
  std::error_code error;
  if (!fs::equivalent(root, path, error)) {
    throw Error(Errc::invalid_argument,
                fmt::format("{} is inside the project {}; to trust the project: patchbay trust{}",
                            safe_name(path.string(), 300), safe_name(root, 300), shell_operands({root})));
  }
  const bool all_of_it = path == path.root_path() || fs::equivalent(path, declared.config.home, error);
  if (all_of_it && !fs::exists(path / ".git", error) && !fs::exists(path / ".mcp.json", error)) {
    throw Error(
        Errc::invalid_argument,
        fmt::format(
            "{} is not a project: it contains all your files; trust a directory below it instead: patchbay trust DIR",
            safe_name(path.string(), 300)));
  }
}

// How our file may name the directory; what is written goes under the first.
std::vector<std::string> names_of_directory(const Declared& declared, const Settings& settings) {
  if (settings.words.empty()) {
    if (!settings.take_back) require_project(declared, declared.project());
    return declared.project_keys;
  }
  auto path = fs::absolute(settings.words.front()).lexically_normal();
  if (!path.has_filename() && path.has_relative_path()) path = path.parent_path();
  std::error_code error;
  // One that is gone can be forgotten, and not trusted.
  if (!settings.take_back && !fs::is_directory(path, error)) {
    throw Error(Errc::invalid_argument, fmt::format("{} is not a directory", safe_name(path.string(), 300)));
  }
  if (!settings.take_back) require_project(declared, path);
  std::vector<std::string> names{path.string()};
  if (const auto real = fs::canonical(path, error); !error && real != path) names.push_back(real.string());
  return names;
}

std::vector<ConfigEdit> edits_to_trust(const Json& root, const std::vector<std::string>& names, bool take_back) {
  if (!take_back) return {set_member({"projects", names.front(), "trusted"}, true)};
  std::vector<ConfigEdit> edits;
  for (const auto& name : names) {
    const KeyPath project{"projects", name};
    if (value_at(root, project / "trusted").is_null()) continue;
    // Nothing is kept of a project of which nothing else is known.
    edits.push_back(remove_member(value_at(root, project).size() == 1 ? project : project / "trusted"));
  }
  return edits;
}

// What begins to count when the user trusts it.
struct Released {
  std::vector<std::string> helpers;
  std::vector<std::string> hooks;
  std::vector<std::string> rules;
  std::vector<std::string> lines;  // all of them, for people

  bool empty() const noexcept { return helpers.empty() && hooks.empty() && rules.empty(); }
};
Released released_in(const Declared& declared, const std::string& directory) {
  auto request = declared.request;
  request.cwd = directory;
  const auto config = load_servers(request);
  Released out;
  std::vector<std::string> last;
  for (const auto* server : all_entries(config)) {
    const auto scope = server->origin.scope;
    if (!server->headers_helper || (scope != ConfigScope::project && scope != ConfigScope::local)) continue;
    auto text = fmt::format("{}: {}", server->name, *server->headers_helper);
    auto shown = fmt::format("runs a command for the headers of {}: {}", visible_word(server->name),
                             visible_word(*server->headers_helper));
    // Behind another entry of its name it runs as soon as that one is gone, or this one is approved.
    if (std::ranges::none_of(config.servers, [&](const auto& one) { return &one == server; })) {
      const auto place = fmt::format(" ({}, {})", place_text(declared, server->origin), to_string(server->standing));
      text += place;
      shown += place;
    }
    out.helpers.push_back(std::move(text));
    last.push_back(std::move(shown));
  }
  for (const auto& layer : layers_of(config.settings)) {
    if (!is_inside_repository(layer.source)) continue;
    for (const auto& rule : layer.allow_rules) {
      const auto file = path_seen_from(declared.request.cwd, layer.file);
      out.rules.push_back(fmt::format("{} ({}:{})", rule.value, file, rule.place.line));
      out.lines.push_back(fmt::format("allows without a question: {} ({}:{})", visible_word(rule.value),
                                      visible_text(file), rule.place.line));
    }
  }
  const HookSet now(layers_of(config.settings), true);
  for (const auto& hook : now.all()) {
    if (!is_inside_repository(hook->source)) continue;
    const auto file = path_seen_from(declared.request.cwd, hook->file);
    const auto target = exact_target(hook->setting);
    const auto event = to_string(hook->setting.event);
    out.hooks.push_back(fmt::format("{} {} ({}:{})", event, target, file, hook->setting.place.line));
    // What would not show itself is written out in it already.
    last.push_back(
        fmt::format("runs a hook ({}): {} ({}:{})", event, target, visible_text(file), hook->setting.place.line));
  }
  // What runs stands next to the question.
  std::ranges::move(last, std::back_inserter(out.lines));
  return out;
}

std::string released_text(const Released& released, std::size_t columns) {
  if (released.empty()) {
    return "This directory has no headersHelper, and no hook and no allow rule in its settings, so nothing changes "
           "now.\n";
  }
  std::string out;
  for (const auto& shown : released.lines) {
    for (const auto& line : wrapped("  " + shown, columns, "    | ")) out += line + "\n";
  }
  return out;
}

// What would begin to run is seen before it does, by who is there to see it.
bool agreed(const Settings& settings, Io& io, const std::string& directory, const Released& released) {
  if (released.empty() || settings.yes || settings.json || !io.in_is_terminal || !io.talk_is_terminal) return true;
  return yes_to(io, fmt::format("If you trust {}, it\n{}Trust it? [y/N] ", safe_name(directory, 1000),
                                released_text(released, talk_columns(io))));
}

Json texts_json(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const auto& text : texts) out.push_back(text);
  return out;
}

// What still says that this directory is trusted, after we no longer do.
bool still_trusted(const Declared& declared, const std::string& directory) {
  auto request = declared.request;
  request.cwd = directory;
  request.trust_project = false;
  std::error_code error;
  return fs::is_directory(directory, error) && load_servers(request).project_trusted;
}

}  // namespace

int trust(const Settings& settings, Io& io) {
  const auto declared = load_declared(settings);
  const auto names = names_of_directory(declared, settings);
  const auto& directory = names.front();
  const auto released = settings.take_back ? Released() : released_in(declared, directory);
  if (!settings.take_back && !agreed(settings, io, directory, released)) {
    io.talk("Not trusted. Nothing was written.\n");
    return 2;
  }
  auto change = declared.store.change_own_file([&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    return edits_to_trust(root, names, settings.take_back);
  });
  if (!change) throw std::move(change).error();
  say_notes(settings, io, change->warnings);
  if (settings.take_back && still_trusted(declared, directory)) {
    throw Error(Errc::config,
                fmt::format("{} is still trusted: {} says so (remove \"hasTrustDialogAccepted\" there), or a "
                            "directory above it is trusted (patchbay trust --remove DIR)",
                            safe_name(directory, 300), config_paths(declared.request).claude_json));
  }
  const auto shown = safe_name(directory, 1000);
  auto text =
      settings.take_back
          ? fmt::format("{}: {}\n", change->changed ? "No longer trusted" : "Was not trusted", shown)
          : fmt::format(
                "{}: {}\n"
                "Its headersHelper commands and the hooks in its settings may run, and the allow rules there apply. "
                "Its "
                "servers still "
                "need approval: patchbay approve NAME\n"
                "{}",
                change->changed ? "Trusted" : "Already trusted", shown, released_text(released, out_columns(io)));
  if (change->changed) text += modified_text(declared, ConfigScope::user, change->file);
  answer(settings, io,
         {{"path", directory},
          {"trusted", !settings.take_back},
          {"file", change->file},
          {"changed", change->changed},
          {"helpers", texts_json(released.helpers)},
          {"hooks", texts_json(released.hooks)},
          {"allowRules", texts_json(released.rules)}},
         text);
  return 0;
}

}  // namespace patchbay::cli
