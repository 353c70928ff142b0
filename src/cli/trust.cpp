// `patchbay trust`: the person's word about a directory, kept in our own file. It approves no server.
#include <filesystem>

#include <fmt/format.h>

#include "cli/declared.h"
#include "cli/present.h"
#include "config/load.h"

namespace patchbay::cli {
namespace {

namespace fs = std::filesystem;

// How our file may name the directory; what is written goes under the first.
std::vector<std::string> names_of_directory(const Declared& declared, const Settings& settings) {
  if (settings.words.empty()) return declared.project_keys;
  auto path = fs::absolute(settings.words.front()).lexically_normal();
  if (!path.has_filename() && path.has_relative_path()) path = path.parent_path();
  std::error_code error;
  // One that is gone can be forgotten, and not trusted.
  if (!settings.take_back && !fs::is_directory(path, error)) {
    throw Error(Errc::invalid_argument, fmt::format("{} is no directory", safe_line(path.string(), 300)));
  }
  std::vector<std::string> names{path.string()};
  if (const auto real = fs::canonical(path, error); !error && real != path) names.push_back(real.string());
  return names;
}

std::vector<ConfigEdit> edits_to_trust(const Json& root, const std::vector<std::string>& names, bool take_back) {
  if (!take_back) return {set_member({"projects", names.front(), "trusted"}, true)};
  std::vector<ConfigEdit> edits;
  for (const auto& name : names) {
    KeyPath path{"projects", name, "trusted"};
    if (!value_at(root, path).is_null()) edits.push_back(remove_member(std::move(path)));
  }
  return edits;
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
  auto change = declared.store.change_own_file([&](const Json& root) -> Result<std::vector<ConfigEdit>> {
    return edits_to_trust(root, names, settings.take_back);
  });
  if (!change) throw std::move(change).error();
  say_notes(settings, io, change->warnings);
  if (settings.take_back && still_trusted(declared, directory)) {
    throw Error(Errc::config,
                fmt::format("{} is still trusted: {} says so (\"hasTrustDialogAccepted\"), or a directory above it is "
                            "trusted; change that there",
                            safe_line(directory, 300), config_paths(declared.request).claude_json));
  }
  const auto shown = safe_line(directory, 1000);
  auto text = settings.take_back
                  ? fmt::format("{}: {}\n", change->changed ? "Trusted no longer" : "Was not trusted", shown)
                  : fmt::format(
                        "{}: {}\nIts headersHelper may run and allow rules of its settings count; its servers "
                        "still need: patchbay approve NAME\n",
                        change->changed ? "Trusted" : "Trusted already", shown);
  if (change->changed) text += modified_text(declared, ConfigScope::user, change->file);
  answer(settings, io,
         {{"path", directory}, {"trusted", !settings.take_back}, {"file", change->file}, {"changed", change->changed}},
         text);
  return 0;
}

}  // namespace patchbay::cli
