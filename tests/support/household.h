// A person's home and a project of theirs, for tests of the binary: every variable that says where
// configuration is points into a directory of the test.
#pragma once

#include <string>
#include <vector>

#include <patchbay/json.h>

#include "support/command.h"
#include "support/temp_tree.h"

namespace patchbay::test {

class Household {
 public:
  Household();
  ~Household();
  Household(const Household&) = delete;
  Household& operator=(const Household&) = delete;

  // The binary in the project, or in a directory below it.
  CommandResult run(std::vector<std::string> words, const std::string& below = {}, const std::string& input = {}) const;
  CommandOptions options(const std::string& below = {}, const std::string& input = {}) const;

  std::string project() const { return (tree.path() / "project").string(); }
  std::string home() const { return (tree.path() / "home").string(); }
  std::string own_file() const { return home() + "/.config/patchbay/config.json"; }

  // What our own file says; null when it is not there.
  Json own() const;
  // What a file of the project says.
  Json project_json(const std::string& name = ".mcp.json") const;
  // Files below the home directory, relative to it.
  std::vector<std::string> files_at_home() const;

  TempTree tree;
};

}  // namespace patchbay::test
