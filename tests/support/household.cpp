#include "support/household.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "support/places.h"
#include "support/planted.h"

namespace patchbay::test {
namespace {

namespace fs = std::filesystem;

Json parsed(const std::string& text) {
  auto value = parse_json(text);
  if (!value) throw std::runtime_error(value.error().message() + " in:\n" + text);
  return std::move(*value);
}

}  // namespace

Household::Household() {
  tree.directory("home");
  tree.directory("project");
}

Household::~Household() { keep_tree(tree.path()); }

CommandOptions Household::options(const std::string& below, const std::string& input) const {
  CommandOptions options;
  options.cwd = project() + (below.empty() ? "" : "/" + below);
  options.input = input;
  options.env = {{"HOME", home()},
                 {"XDG_CONFIG_HOME", home() + "/.config"},
                 {"XDG_STATE_HOME", home() + "/.local/state"},
                 {"XDG_CACHE_HOME", home() + "/.cache"},
                 {"XDG_DATA_HOME", home() + "/.local/share"},
                 {"CLAUDE_CONFIG_DIR", home() + "/.claude"}};
  return options;
}

CommandResult Household::run(std::vector<std::string> words, const std::string& below, const std::string& input) const {
  words.insert(words.begin(), test::built("patchbay"));
  return run_program(words, options(below, input));
}

Json Household::own() const {
  if (!fs::exists(own_file())) return {};
  return parsed(tree.read("home/.config/patchbay/config.json"));
}

Json Household::project_json(const std::string& name) const { return parsed(tree.read("project/" + name)); }

std::vector<std::string> Household::files_at_home() const {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(home())) {
    if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(home()).string());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace patchbay::test
