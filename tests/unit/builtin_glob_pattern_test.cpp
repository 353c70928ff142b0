#include <gtest/gtest.h>

#include "builtin/glob_pattern.h"

namespace patchbay::builtin {
namespace {

TEST(BuiltinGlobPattern, MatchesPaths) {
  struct Case {
    const char* pattern;
    const char* path;
    bool matches;
  };
  const Case cases[] = {
      {"a.txt", "a.txt", true},
      {"a.txt", "b.txt", false},
      {"a.txt", "d/a.txt", false},
      {"./a.txt", "a.txt", true},
      {"d//a.txt", "d/a.txt", true},
      // One segment.
      {"*", "a.txt", true},
      {"*", "d/a.txt", false},
      {"*.txt", ".txt", false},
      {"*.txt", "a.b.txt", true},
      {"a*b*c", "aXbYbZc", true},
      {"a*b*c", "aXbYbZ", false},
      {"a**c", "abbc", true},
      {"a**c", "a/c", false},
      {"*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
      {"?", "a", true},
      {"?", "", false},
      {"?", "ab", false},
      {"?", "é", true},
      {"??", "é", false},
      {"?.txt", "\xFF.txt", true},
      {"naïve*", "naïveté", true},
      // Sets.
      {"[abc].h", "b.h", true},
      {"[abc].h", "d.h", false},
      {"[a-c]x", "bx", true},
      {"[!a-c]x", "bx", false},
      {"[^a-c]x", "dx", true},
      {"[]x]", "]", true},
      {"[!]x]", "]", false},
      {"[a-]", "-", true},
      {"[a\\-c]", "b", false},
      {"[à-ü]", "é", true},
      // Deep.
      {"**", "a", true},
      {"**", "a/b/c", true},
      {"**/*.h", "x.h", true},
      {"**/*.h", "a/b/x.h", true},
      {"**/*.h", "a/b/x.cpp", false},
      {"src/**/x.h", "src/x.h", true},
      {"src/**/x.h", "src/a/b/x.h", true},
      {"src/**/x.h", "lib/a/x.h", false},
      {"src/**", "src/a/b", true},
      {"**/a/**/b", "x/a/b", true},
      {"**/a/**/b", "a/a/x/b", true},
      {"**/**/**/b", "b", true},
      {"**/a/*/b", "a/b", false},
      // Alternatives.
      {"*.{h,cpp}", "x.cpp", true},
      {"*.{h,cpp}", "x.c", false},
      {"{src,tests}/**/*.{h,cpp}", "tests/unit/x.h", true},
      {"{a,b{c,d}}x", "bdx", true},
      {"{a,b{c,d}}x", "bx", false},
      {"a{,b}", "a", true},
      {"a{,b}", "ab", true},
      {"{a/b,c}/d", "a/b/d", true},
      {"[{]", "{", true},
      // Taken literally.
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"\\{a,b\\}", "{a,b}", true},
      {"a,b", "a,b", true},
      {"a}", "a}", true},
      // Hidden names need their dot.
      {"*", ".env", false},
      {"?env", ".env", false},
      {"[.]env", ".env", false},
      {".*", ".env", true},
      {".env", ".env", true},
      {"**", ".config/a", false},
      {"**/a", ".config/a", false},
      {".config/**", ".config/a", true},
      {"**/.env", "a/.env", true},
      // What nobody means by a star.
      {"**", "node_modules/x", false},
      {"*/x", "node_modules/x", false},
      {"node_modules/x", "node_modules/x", true},
      {"node_modules/**", "node_modules/a/b", true},
      {"**/node_modules/*", "a/node_modules/x", true},
      {".*", ".git", false},
      {".git/config", ".git/config", true},
      {".gi*", ".gitignore", true},
  };
  for (const auto& [pattern, path, matches] : cases) {
    auto glob = GlobPattern::parse(pattern);
    ASSERT_TRUE(glob) << pattern << ": " << glob.error().message();
    EXPECT_EQ(glob->matches(path), matches) << pattern << " against " << path;
  }
}

TEST(BuiltinGlobPattern, RefusesWithAReason) {
  struct Case {
    std::string pattern;
    const char* reason;
  };
  std::string many;
  for (int i = 0; i < 12; ++i) many += "{a,b}";
  const Case cases[] = {
      {"", "empty"},
      {"/etc/*", "must be relative"},
      {"{/etc,a}/*", "must be relative"},
      {"../*", "'..'"},
      {"a/{b,..}/c", "'..'"},
      {"[abc", "'[' is not closed"},
      {"{a,b", "'{' is not closed"},
      {"[z-a]", "ends before it begins"},
      {"!*.h", "cannot exclude"},
      {many, "more than 256 patterns"},
      {std::string(5000, 'a'), "longer than 4096"},
      {"./", "does not name a file"},
  };
  for (const auto& [pattern, reason] : cases) {
    auto glob = GlobPattern::parse(pattern);
    ASSERT_FALSE(glob) << pattern;
    EXPECT_EQ(glob.error().code(), Errc::invalid_argument) << pattern;
    EXPECT_NE(glob.error().message().find(reason), std::string::npos) << pattern << ": " << glob.error().message();
  }
}

TEST(BuiltinGlobPattern, TrailingSlashAsksForDirectories) {
  EXPECT_TRUE(GlobPattern::parse("src/*/")->wants_directories());
  EXPECT_FALSE(GlobPattern::parse("src/*")->wants_directories());
}

TEST(BuiltinGlobPattern, WalkEntersOnlyDirectoriesThatCanLeadToAMatch) {
  const auto glob = *GlobPattern::parse("src/*/x.{h,cpp}");
  auto src = glob.step(glob.start(), "src");
  EXPECT_FALSE(src.matches);
  ASSERT_FALSE(src.inside.at.empty());
  EXPECT_TRUE(glob.step(glob.start(), "lib").inside.at.empty());
  auto folder = glob.step(src.inside, "base");
  ASSERT_FALSE(folder.inside.at.empty());
  auto file = glob.step(folder.inside, "x.h");
  EXPECT_TRUE(file.matches);
  EXPECT_TRUE(file.inside.at.empty());
}

}  // namespace
}  // namespace patchbay::builtin
