// glob and grep on a real tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "builtin/tools.h"
#include "support/temp_tree.h"

namespace patchbay::builtin {
namespace {

using namespace std::string_view_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class BuiltinSearch : public testing::Test {
 protected:
  CallToolResult call(FileTool* tool, const Json& arguments) const {
    return tool({*ConfinedRoot::open(tree.path().string()), limits}, arguments, stop);
  }
  std::string text(FileTool* tool, const Json& arguments) const { return said(call(tool, arguments), false); }
  std::string error(FileTool* tool, const Json& arguments) const { return said(call(tool, arguments), true); }
  static std::string said(const CallToolResult& result, bool is_error) {
    EXPECT_EQ(result.is_error, is_error);
    EXPECT_EQ(result.content.size(), 1u);
    return std::get<TextContent>(result.content.at(0)).text;
  }

  test::TempTree tree;
  BuiltinLimits limits;
  Stop stop{false};
};

class BuiltinGlob : public BuiltinSearch {
 protected:
  BuiltinGlob() {
    for (const auto* name : {"a.h", "a-b/x.h", "a/x.h", "a/y.cpp", "a/b/z.h", ".hid/h.h", ".git/g.h",
                             "node_modules/m/n.h", "src/node_modules/o.h"}) {
      tree.file(name, "");
    }
    tree.fifo("pipe.h");
    tree.link("link.h", "/etc/passwd");
    tree.link("loop", ".");
    tree.link("out", "/etc");
  }
};

TEST_F(BuiltinGlob, FindsFilesSortedByPath) {
  struct Case {
    Json arguments;
    const char* found;
  };
  const Case cases[] = {
      {{{"pattern", "*.h"}}, "a.h\nlink.h\n"},
      {{{"pattern", "**/*.h"}}, "a-b/x.h\na.h\na/b/z.h\na/x.h\nlink.h\n"},
      {{{"pattern", "a/**"}}, "a/b/z.h\na/x.h\na/y.cpp\n"},
      {{{"pattern", "{a,src}/*.{h,cpp}"}}, "a/x.h\na/y.cpp\n"},
      {{{"pattern", "*.h"}, {"path", "a"}}, "a/x.h\n"},
      {{{"pattern", "*.h"}, {"path", "./a/"}}, "a/x.h\n"},
      {{{"pattern", "*.h"}, {"path", "a/b/.."}}, "a/x.h\n"},
      {{{"pattern", "**/*.h"}, {"path", ".hid"}}, ".hid/h.h\n"},
      {{{"pattern", ".hid/*"}}, ".hid/h.h\n"},
      {{{"pattern", "**/node_modules/*.h"}}, "src/node_modules/o.h\n"},
      {{{"pattern", "node_modules/**"}}, "node_modules/m/n.h\n"},
      {{{"pattern", "*/"}}, "a-b/\na/\nsrc/\n"},
      {{{"pattern", "**/"}}, "a-b/\na/\na/b/\nsrc/\n"},
      {{{"pattern", "loop/*.h"}}, "[Nothing matches loop/*.h.]\n"},
      {{{"pattern", "*.zig"}},
       "[Nothing matches *.zig. It looks in one directory only; for the whole tree use **/*.zig.]\n"},
  };
  for (const auto& item : cases) EXPECT_EQ(text(glob, item.arguments), item.found) << to_text(item.arguments);
}

TEST_F(BuiltinGlob, Refusals) {
  const auto root = tree.path().string();
  EXPECT_THAT(error(glob, Json::object()), HasSubstr("\"pattern\" is missing"));
  EXPECT_THAT(error(glob, {{"pattern", "/etc/*"}}), HasSubstr("must be relative"));
  EXPECT_THAT(error(glob, {{"pattern", "[a"}}), HasSubstr("'[' is not closed"));
  EXPECT_THAT(error(glob, {{"pattern", "*"}, {"path", "out"}}), HasSubstr("outside " + root));
  EXPECT_THAT(error(glob, {{"pattern", "*"}, {"path", "/etc"}}), HasSubstr("outside " + root));
  EXPECT_THAT(error(glob, {{"pattern", "*"}, {"path", "a.h"}}), HasSubstr("a.h is not a directory"));
  EXPECT_THAT(error(glob, {{"pattern", "*"}, {"path", "absent"}}), HasSubstr("absent"));
}

TEST_F(BuiltinGlob, IsBounded) {
  for (int i = 0; i < 30; ++i) tree.file("many/f" + std::to_string(100 + i), "");
  limits.entries = 10;
  EXPECT_THAT(text(glob, {{"pattern", "many/*"}}),
              EndsWith("many/f109\n[Only the first 10 paths are shown. Use a narrower pattern.]\n"));
  limits.entries = 30;
  EXPECT_THAT(text(glob, {{"pattern", "many/*"}}), EndsWith("many/f129\n"));
  limits.visited = 20;
  EXPECT_THAT(text(glob, {{"pattern", "**/f*"}}), HasSubstr("[The tree is too large: some directories were left out"));
  limits = {};
  limits.depth = 1;
  tree.file("deep/er/x.h", "");
  EXPECT_THAT(text(glob, {{"pattern", "deep/**/*.h"}}),
              HasSubstr("[The tree is too large: some directories were left out"));
}

TEST_F(BuiltinGlob, StoppedCallEndsAtTheNextEntry) {
  stop = true;
  EXPECT_THAT(text(glob, {{"pattern", "**"}}), StartsWith("[Nothing matches"));
}

class BuiltinGrep : public BuiltinSearch {};

TEST_F(BuiltinGrep, FindsLines) {
  tree.file("a.txt", "one\ntwo\r\nThree one");
  tree.file("sub/b.md", "none\none\n");
  tree.file(".hidden/c.txt", "one\n");
  tree.file("node_modules/d.txt", "one\n");
  tree.file("caf\u00e9.txt", "d\u00e9j\u00e0 vu\n");
  tree.file("latin", "d\xE9j\xE0 vu\n");
  tree.link("link.txt", "a.txt");
  struct Case {
    Json arguments;
    const char* found;
  };
  const Case cases[] = {
      {{{"pattern", "one"}}, "a.txt:1: one\na.txt:3: Three one\nsub/b.md:1: none\nsub/b.md:2: one\n"},
      {{{"pattern", "^one$"}}, "a.txt:1: one\nsub/b.md:2: one\n"},
      {{{"pattern", "two$"}}, "a.txt:2: two\n"},
      {{{"pattern", "three"}}, "[No line matches.]\n"},
      {{{"pattern", "three"}, {"ignore_case", true}}, "a.txt:3: Three one\n"},
      {{{"pattern", "^one$"}, {"path", "sub"}}, "sub/b.md:2: one\n"},
      {{{"pattern", "one"}, {"path", "a.txt"}}, "a.txt:1: one\na.txt:3: Three one\n"},
      {{{"pattern", "one"}, {"path", "link.txt"}, {"max_results", 5}}, "link.txt:1: one\nlink.txt:3: Three one\n"},
      {{{"pattern", "one"}, {"path", ".hidden"}}, ".hidden/c.txt:1: one\n"},
      {{{"pattern", "one"}, {"glob", ".hidden/*"}}, ".hidden/c.txt:1: one\n"},
      {{{"pattern", "one"}, {"glob", "*.md"}}, "sub/b.md:1: none\nsub/b.md:2: one\n"},
      {{{"pattern", "one"}, {"glob", "sub/*"}}, "sub/b.md:1: none\nsub/b.md:2: one\n"},
      {{{"pattern", "one"}, {"glob", "./*.md"}}, "[No line matches.]\n"},
      {{{"pattern", "d\u00e9j."}, {"glob", "*.txt"}}, "caf\u00e9.txt:1: d\u00e9j\u00e0 vu\n"},
      {{{"pattern", "D\u00c9J\u00c0"}, {"ignore_case", true}}, "caf\u00e9.txt:1: d\u00e9j\u00e0 vu\n"},
      {{{"pattern", "vu"}, {"path", "latin"}}, "latin:1: d\uFFFDj\uFFFD vu\n"},
      {{{"pattern", "(a|aa)+$"}}, "[No line matches.]\n"},
  };
  for (const auto& item : cases) EXPECT_EQ(text(grep, item.arguments), item.found) << to_text(item.arguments);
}

// Whole files are ruled out before lines are looked at; these are the ends of lines and texts
// where the two could disagree.
TEST_F(BuiltinGrep, EndsOfLinesAreSeenAlikeInWholeFiles) {
  tree.file("lf", "one\ntwo\nthree");
  tree.file("crlf", "one\r\ntwo\r\nthree");
  struct Case {
    const char* pattern;
    const char* lines;  // of each file
  };
  const Case cases[] = {
      {"two$", "2"},   {"^two", "2"},      {"^two$", "2"},     {"\\Atwo", "2"}, {"two\\z", "2"},    {"(?s)o$", "2"},
      {"three$", "3"}, {"\\btwo\\b", "2"}, {"one.two", ""},    {"(?s)e.t", ""}, {"one\\stwo", ""},  {"^$", ""},
      {"e\\n", ""},    {"[^x]o$", "2"},    {"(?i:TWO)$", "2"}, {"\\AT", ""},    {"(?-m)^two", "2"},
  };
  for (const auto& [pattern, lines] : cases) {
    for (const std::string file : {"lf", "crlf"}) {
      const std::string expected = *lines == '\0' ? "[No line matches.]\n" : file + ":" + lines + ": ";
      EXPECT_THAT(text(grep, {{"pattern", pattern}, {"path", file}}), StartsWith(expected))
          << pattern << " in " << file;
    }
  }
}

TEST_F(BuiltinGrep, ContextIsShownOnceAndGroupsAreSetApart) {
  tree.file("f", "1\n2\nX\n4\nX\n6\n7\n8\n9\nX\n");
  tree.file("g", "X\n");
  EXPECT_EQ(text(grep, {{"pattern", "X"}, {"context", 1}}),
            "f-2- 2\nf:3: X\nf-4- 4\nf:5: X\nf-6- 6\n--\nf-9- 9\nf:10: X\n--\ng:1: X\n");
  EXPECT_EQ(text(grep, {{"pattern", "X"}, {"context", 2}, {"path", "f"}}),
            "f-1- 1\nf-2- 2\nf:3: X\nf-4- 4\nf:5: X\nf-6- 6\nf-7- 7\nf-8- 8\nf-9- 9\nf:10: X\n");
}

TEST_F(BuiltinGrep, LeavesOutWhatIsNotText) {
  tree.file("binary", "needle\0needle"sv);
  tree.file("text", "needle");
  tree.file("big", std::string(200, 'x') + "\nneedle\n");
  tree.fifo("pipe");
  limits.search_file = 100;
  EXPECT_EQ(text(grep, {{"pattern", "needle"}}), "text:1: needle\n[Not searched: 1 file larger than 100 bytes.]\n");
  EXPECT_THAT(error(grep, {{"pattern", "needle"}, {"path", "binary"}}), HasSubstr("not a text file"));
  EXPECT_THAT(error(grep, {{"pattern", "needle"}, {"path", "pipe"}}), HasSubstr("pipe, socket or device"));
}

TEST_F(BuiltinGrep, LongLinesAreCutAroundTheMatch) {
  tree.file("min.js", std::string(100'000, 'a') + "needle" + std::string(100'000, 'b'));
  limits.line_bytes = 40;
  EXPECT_EQ(text(grep, {{"pattern", "needle"}}), "min.js:1: …aaaaaaaaaaneedlebbbbbbbbbbbbbbbbbbbbbbbb…\n");
}

TEST_F(BuiltinGrep, IsBounded) {
  for (int i = 0; i < 20; ++i) tree.file("f" + std::to_string(100 + i), "hit\nhit\n");
  EXPECT_THAT(
      text(grep, {{"pattern", "hit"}, {"max_results", 5}}),
      EndsWith("f102:1: hit\n[Stopped after 5 lines in 3 files: there are more. Narrow the search with path, glob or "
               "a longer pattern.]\n"));
  EXPECT_THAT(text(grep, {{"pattern", "hit"}, {"max_results", 40}}), EndsWith("f119:2: hit\n"));
  limits.search_output = 50;
  EXPECT_THAT(text(grep, {{"pattern", "hit"}}), HasSubstr("[Stopped after"));
  limits = {};
  limits.search_total = 20;
  EXPECT_THAT(text(grep, {{"pattern", "hit"}}), HasSubstr("The tree is too large"));
  limits = {};
  limits.visited = 5;
  EXPECT_THAT(text(grep, {{"pattern", "hit"}}), HasSubstr("The tree is too large"));
}

TEST_F(BuiltinGrep, Refusals) {
  const auto root = tree.path().string();
  tree.link("out", "/etc");
  struct Case {
    Json arguments;
    std::string message;
  };
  const Case cases[] = {
      {Json::object(), "\"pattern\" is missing"},
      {{{"pattern", "("}}, "missing )"},
      {{{"pattern", "(?=a)"}}, "Look-around and back-references do not exist"},
      {{{"pattern", "(a)\\1"}}, "Look-around and back-references do not exist"},
      {{{"pattern", "((((a{100}){100}){100}){100})"}}, "not a regular expression of RE2"},
      {{{"pattern", "a"}, {"context", 100}}, "\"context\" must be from 0 to 20"},
      {{{"pattern", "a"}, {"max_results", 0}}, "\"max_results\" must be from 1"},
      {{{"pattern", "a"}, {"glob", "!*.h"}}, "glob"},
      {{{"pattern", "a"}, {"glob", "/etc/*"}}, "must be relative"},
      {{{"pattern", "a"}, {"path", "out"}}, "outside " + root},
      {{{"pattern", "a"}, {"path", "/etc/passwd"}}, "outside " + root},
      {{{"pattern", "a"}, {"path", "absent"}}, "absent"},
      {{{"pattern", "a"}, {"case", true}}, "unknown argument \"case\""},
  };
  for (const auto& item : cases) {
    EXPECT_THAT(error(grep, item.arguments), HasSubstr(item.message)) << to_text(item.arguments);
  }
}

TEST_F(BuiltinGrep, HostilePatternTakesLinearTime) {
  tree.file("f", std::string(200'000, 'a') + "\n");
  EXPECT_EQ(text(grep, {{"pattern", "(a*)*(a*)*(a*)*b"}}), "[No line matches.]\n");
}

TEST_F(BuiltinGrep, StoppedCallEndsAtTheNextFile) {
  tree.file("f", "hit\n");
  stop = true;
  EXPECT_THAT(text(grep, {{"pattern", "hit"}}), Not(HasSubstr("f:1")));
}

TEST_F(BuiltinGrep, StoppedCallEndsAtTheNextLine) {
  tree.file("f", "hit\n");
  stop = true;
  EXPECT_THAT(text(grep, {{"pattern", "hit"}, {"path", "f"}}), Not(HasSubstr("f:1")));
}

}  // namespace
}  // namespace patchbay::builtin
