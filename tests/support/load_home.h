// A home, a repository and an organisation's directory in a scratch tree, and a request to load the servers of the
// repository. The base of tests of load_servers.
#pragma once

#include <unistd.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <patchbay/config.h>

#include "settings/sources.h"
#include "support/temp_tree.h"

namespace patchbay::test {

class LoadHome : public testing::Test {
 protected:
  LoadHome() {
    tree.directory("home/.claude");
    tree.directory("etc");
    tree.directory("repo/.git");
    tree.directory("repo/sub");
    request.cwd = path("repo");
    request.home = path("home");
    owned_by(::getuid());
    request.variables = [this](std::string_view name) -> std::optional<std::string> {
      auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
  }

  std::string path(std::string_view name) const { return (tree.path() / name).string(); }
  // Who must own the organisation's files.
  void owned_by(unsigned owner) { request.enterprise_dir = OrganisationAccess::make(path("etc"), owner); }

  TempTree tree;
  LoadRequest request;
  std::map<std::string, std::string, std::less<>> variables;
};

}  // namespace patchbay::test
