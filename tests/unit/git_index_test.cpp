// Rows of docs/requirements.md: C6.
// Whether git tracks a file, from its index alone.
#include "settings/git_index.h"

#include <gtest/gtest.h>

#include "support/temp_tree.h"

namespace patchbay {
namespace {

constexpr std::string_view file = ".claude/settings.local.json";

std::string number(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

struct Entry {
  std::string path;
  std::uint32_t mode = 0100644;
  bool extended = false;
};

// As gitformat-index describes it.
std::string index_of(std::uint32_t version, const std::vector<Entry>& entries, const std::string& extension = "") {
  std::string out = "DIRC" + number(version) + number(static_cast<std::uint32_t>(entries.size()));
  for (const auto& entry : entries) {
    const auto begin = out.size();
    out += std::string(24, 'x') + number(entry.mode) + std::string(12, 'y') + std::string(20, 'h');
    out += entry.extended ? std::string("\x40\x01\x00\x00", 4) : std::string("\x00\x01", 2);
    out += entry.path;
    do out += '\0';
    while ((out.size() - begin) % 8 != 0);
  }
  if (!extension.empty()) out += extension + number(3) + "abc";
  return out + std::string(20, 'c');
}

TEST(GitIndex, OnlyAnIndexThatIsUnderstoodSaysNo) {
  struct Case {
    std::string_view about;
    std::string index;
    bool may;
  };
  const std::vector<Entry> others{{".claude/settings.json"}, {"src/link.c"}, {"src/sdir", 0100755}};
  auto with = [&](Entry one) {
    auto all = others;
    all.push_back(std::move(one));
    return all;
  };
  const auto whole = index_of(2, others);
  for (const auto& [about, index, may] : std::initializer_list<Case>{
           {"others", whole, false},
           {"none", index_of(2, {}), false},
           {"version 3", index_of(3, with({"x", 0100644, true})), false},
           {"an extension", index_of(2, others, "TREE"), false},
           {"the file", index_of(2, with({std::string(file)})), true},
           {"the file behind one with more flags", index_of(3, {{"a", 0100644, true}, {std::string(file)}}), true},
           {"its directory is a link", index_of(2, with({".claude", 0120000})), true},
           {"its directory is a repository", index_of(2, with({".claude", 0160000})), true},
           {"the same name elsewhere", index_of(2, with({"sub/" + std::string(file)})), false},
           {"version 4 shortens paths", index_of(4, others), true},
           {"a version to come", index_of(5, others), true},
           {"a split index", index_of(2, others, "link"), true},
           {"a sparse index", index_of(2, others, "sdir"), true},
           {"a mode that is none", index_of(2, with({"x", 7})), true},
           {"another file", "not an index at all, but long enough to be one", true},
           {"cut off", whole.substr(0, whole.size() - 30), true},
           {"more behind it", whole + "x", true},
           {"nothing", "", true},
       }) {
    EXPECT_EQ(may_be_in_index(index, file), may) << about;
  }
}

class GitTracks : public testing::Test {
 protected:
  bool may(const std::string& root) {
    return git_may_track((tree.path() / root).string(), (tree.path() / root / file).string());
  }
  test::TempTree tree;
};

TEST_F(GitTracks, WithoutARepositoryNobodyKnows) {
  tree.file("plain/" + std::string(file), "{}");
  EXPECT_TRUE(may("plain"));
  tree.directory("new/.git");
  EXPECT_TRUE(may("new")) << "there is no index";
  tree.file("new/.git/index", index_of(2, {{"src/main.cpp"}}));
  EXPECT_FALSE(may("new"));
  tree.file("tree/.git", "gitdir: " + (tree.path() / "new/.git/worktrees/x").string() + "\n");
  EXPECT_TRUE(may("tree")) << "there is no such work tree";
  tree.file("new/.git/worktrees/x/index", index_of(2, {{"src/main.cpp"}}));
  EXPECT_FALSE(may("tree"));
}

TEST_F(GitTracks, WhatALinkOrARepositoryInItLeadsToMayBeTracked) {
  tree.file("linked/.git/index", index_of(2, {{"src/main.cpp"}}));
  tree.file("linked/other/settings.local.json", "{}");
  tree.link("linked/.claude", "other");
  EXPECT_TRUE(may("linked"));
  tree.file("inner/.git/index", index_of(2, {{"src/main.cpp"}}));
  tree.directory("inner/.claude");
  EXPECT_FALSE(may("inner"));
  tree.file("inner/.claude/.git", "gitdir: elsewhere\n");
  EXPECT_TRUE(may("inner"));
}

}  // namespace
}  // namespace patchbay
