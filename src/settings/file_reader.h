// What the readers of our own file and of Claude's share: both hold servers and lists of names beside each other, and
// say in the same words what is of the wrong kind. Pure; a helper of own_file.cpp and claude_file.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

#include "entries/parse.h"
#include "text/document.h"
#include "text/report.h"

namespace patchbay {

class ServerFileReader {
 protected:
  using Member = ConfigDocument::Member;
  enum class Items : std::uint8_t {
    all,       // each must be a text
    readable,  // what is not one is left out: the file is not ours to be strict about
  };

  // All of these outlive it.
  ServerFileReader(std::string_view text, const std::string& file, std::vector<ConfigProblem>& problems)
      : text_(text), file_(file), problems_(problems), report_(text, file, problems) {}

  void wrong_kind(const Member& at, std::string_view what, std::string_view expected);
  // Its problems are in `problems` as well.
  ParsedServers servers_of(const Member& at, ConfigScope scope);
  // Of an array that may be absent.
  std::vector<std::string> texts(const Member& at, std::string_view key, Items items);

  std::string_view text_;
  const std::string& file_;
  std::vector<ConfigProblem>& problems_;
  ConfigReport report_;
};

// The project of that path; null when the file has none.
template <class Project>
const Project* project_at(const std::vector<Project>& projects, std::string_view path) noexcept {
  for (const auto& project : projects) {
    if (project.path == path) return &project;
  }
  return nullptr;
}

// Reads the outline of a text into `out`, whose `problems` and `readable` say what became of it.
template <class File>
std::optional<ConfigDocument> outline_of(std::string_view text, const std::string& file, std::size_t depth, File& out) {
  auto document = read_document(text, file, "an object", depth);
  if (document) return std::move(*document);
  out.problems.push_back(std::move(document).error());
  out.readable = false;
  return std::nullopt;
}

}  // namespace patchbay
