#include "config/answer_place.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "config/files.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

// A regular file under a relative path; nothing for what is no such path.
std::optional<fs::path> file_at(const fs::path& base, std::string_view word) {
  if (word.empty() || word.starts_with('/') || word.find('\0') != std::string_view::npos) return std::nullopt;
  std::error_code error;
  auto path = base / word;
  if (!fs::is_regular_file(path, error) || error) return std::nullopt;
  return path;
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return fs::equivalent(one, other, error) && !error;
}

bool is_other_file(const fs::path& here, const fs::path& there, std::string_view word) {
  const auto found = file_at(here, word);
  return found && !is_same_file(*found, there / word);
}

// What may be a path in an argument: all of it, or what stands behind the sign of --file=PATH.
bool argument_differs(const fs::path& here, const fs::path& there, std::string_view argument) {
  const auto sign = argument.find('=');
  return is_other_file(here, there, argument) ||
         (sign != std::string_view::npos && is_other_file(here, there, argument.substr(sign + 1)));
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

}  // namespace

std::string project_directory_of(const std::string& file) {
  const auto parent = fs::path(file).parent_path();
  return (parent.filename() == ".claude" ? parent.parent_path() : parent).string();
}

bool names_other_files(const ServerConfig& expanded, const std::string& here, const std::string& directory) {
  if (here == directory) return false;
  if (expanded.env_file && is_other_file(here, directory, *expanded.env_file)) return true;
  const auto moved = fs::path(expanded.cwd.value_or(""));
  if (moved.is_absolute()) return false;
  const auto base = fs::path(here) / moved;
  const auto there = fs::path(directory) / moved;
  // A name without a slash is looked up along PATH.
  if (expanded.command.find('/') != std::string::npos && is_other_file(base, there, expanded.command)) return true;
  return std::ranges::any_of(expanded.args,
                             [&](const std::string& argument) { return argument_differs(base, there, argument); });
}

AnswerPlace answer_place(const ServerConfig& written, const ConfigPaths& paths, const VariableLookup& variables) {
  AnswerPlace out;
  const auto& here = paths.directories.front();
  const auto& root = paths.directories.back();
  auto place = project_directory_of(written.origin.file);
  out.elsewhere = names_other_files(expand_server(written, variables), here, place);
  if (out.elsewhere) place = here;
  add_once(out.keys, place);
  std::error_code error;
  add_once(out.keys, fs::canonical(place, error).string());
  // What belongs to a repository belongs to all of its work trees.
  if (const auto main = main_checkout(root)) {
    const auto below = fs::path(place).lexically_relative(root);
    if (!below.empty() && *below.begin() != "..") {
      add_once(out.keys, below == "." ? *main : (fs::path(*main) / below).string());
    }
  }
  return out;
}

}  // namespace patchbay
