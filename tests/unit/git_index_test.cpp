// Rows of docs/requirements.md: C6.
// Whether git tracks a file, from its index alone.
#include "settings/git_index.h"

#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace patchbay {
namespace {

constexpr std::string_view file = ".claude/settings.local.json";

std::string index_of(char version, std::string_view rest) {
  std::string out = "DIRC";
  out.append({'\0', '\0', '\0', version, '\0', '\0', '\0', '\1'});
  return out.append(rest);
}

TEST(GitIndex, OnlyAnIndexThatIsUnderstoodSaysNo) {
  struct Case {
    std::string_view about;
    std::string index;
    bool may;
  };
  const std::string other = "....src/main.cpp\0....";
  for (const auto& [about, index, may] : std::initializer_list<Case>{
           {"no entry of that name", index_of(2, other), false},
           {"version 3", index_of(3, other), false},
           {"the entry", index_of(2, "...." + std::string(file) + "...."), true},
           {"the entry in a directory", index_of(2, "....sub/" + std::string(file)), true},
           {"version 4 shortens paths", index_of(4, other), true},
           {"a version to come", index_of(5, other), true},
           {"a split index", index_of(2, other + "link...."), true},
           {"a sparse index", index_of(2, other + "sdir...."), true},
           {"another file", "not an index at all", true},
           {"cut off", "DIRC", true},
           {"nothing", "", true},
       }) {
    EXPECT_EQ(may_be_in_index(index, file), may) << about;
  }
}

TEST(GitIndex, WithoutARepositoryNobodyKnows) {
  test::TempTree tree;
  tree.directory("plain");
  EXPECT_TRUE(git_may_track((tree.path() / "plain").string(), file));
  tree.directory("new/.git");
  EXPECT_FALSE(git_may_track((tree.path() / "new").string(), file)) << "nothing was added yet";
  tree.file("tree/.git", "gitdir: " + (tree.path() / "new/.git/worktrees/x").string() + "\n");
  EXPECT_TRUE(git_may_track((tree.path() / "tree").string(), file)) << "there is no such work tree";
  tree.file("new/.git/worktrees/x/index", index_of(2, "src/main.cpp"));
  EXPECT_FALSE(git_may_track((tree.path() / "tree").string(), file));
}

}  // namespace
}  // namespace patchbay
