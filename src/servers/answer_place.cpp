#include "servers/answer_place.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "settings/files.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_looks = 10000;
// Where a word may end in a list of paths, in options and in a line for a shell.
constexpr std::string_view between_words = " \t\n\v\f\r:;,='\"`()|&<>";

// What the relative paths of an entry name in two directories.
class TwoPlaces {
 public:
  TwoPlaces(fs::path here, fs::path there) : here_(std::move(here)), there_(std::move(there)) {}

  // Whether there is something under this path here that is not the same file or directory there.
  bool differ_in(std::string_view path) {
    if (path.empty() || path.starts_with('/') || path.find('\0') != std::string_view::npos) return false;
    // An entry for which nobody can look at everything is one to ask about.
    if (++looks_ > most_looks) return true;
    std::error_code error;
    const auto found = here_ / path;
    if (!fs::exists(found, error) || error) return false;
    return !fs::equivalent(found, there_ / path, error) || error;
  }

  // What may be a path in an argument, a value or a command line: all of it, what comes after the sign of
  // --file=PATH, and each word.
  bool differ_in_text(std::string_view text) {
    if (differ_in(text)) return true;
    if (const auto sign = text.find('='); sign != std::string_view::npos && differ_in(text.substr(sign + 1))) {
      return true;
    }
    while (!text.empty()) {
      const auto end = std::min(text.find_first_of(between_words), text.size());
      if (differ_in_word(text.substr(0, end))) return true;
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return false;
  }

 private:
  bool differ_in_word(std::string_view word) {
    if (differ_in(word)) return true;
    if (word.starts_with('@')) return differ_in(word.substr(1));
    return word.starts_with('-') && word.size() > 2 && differ_in(word.substr(2));  // -rPATH
  }

  fs::path here_;
  fs::path there_;
  std::size_t looks_ = 0;
};

// In a list of directories an empty one is where the program runs.
bool runs_from_here(std::string_view name, std::string_view value) {
  return name.ends_with("PATH") && !value.empty() &&
         (value.starts_with(':') || value.ends_with(':') || value.find("::") != std::string_view::npos);
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
  TwoPlaces started(here, directory);
  for (const auto* path : {&expanded.tls.ca, &expanded.tls.cert, &expanded.tls.key}) {
    if (started.differ_in(*path)) return true;
  }
  if (expanded.env_file && started.differ_in(*expanded.env_file)) return true;
  if (expanded.headers_helper && started.differ_in_text(*expanded.headers_helper)) return true;
  const auto moved = fs::path(expanded.cwd.value_or(""));
  if (moved.is_absolute()) return false;
  if (started.differ_in(moved.native())) return true;
  TwoPlaces running(fs::path(here) / moved, fs::path(directory) / moved);
  // A name without a slash is looked up along PATH.
  if (expanded.command.find('/') != std::string::npos && running.differ_in(expanded.command)) return true;
  return std::ranges::any_of(expanded.args, [&](const auto& text) { return running.differ_in_text(text); }) ||
         std::ranges::any_of(expanded.env, [&](const auto& variable) {
           return runs_from_here(variable.first, variable.second) || running.differ_in_text(variable.second);
         });
}

AnswerPlace answer_place(const ServerConfig& written, const ConfigPaths& paths, const VariableLookup& variables) {
  AnswerPlace out;
  const auto& here = paths.directories.front();
  const auto& root = paths.directories.back();
  auto place = project_directory_of(written.origin.file);
  const auto expanded = expand_server(written, variables);
  // A path that begins with ${PWD} is whole, and goes with the user all the same.
  const auto as_there = expand_server(written, [&](std::string_view name) {
    auto value = variables(name);
    return value && name == "PWD" ? std::optional(place) : std::move(value);
  });
  out.elsewhere = here != place && (expanded != as_there || names_other_files(expanded, here, place));
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
