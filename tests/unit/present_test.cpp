// How failures and long lines look on a terminal.
#include "cli/texts/present.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay::cli {
namespace {

TEST(Present, TheCauseIsTheFirstLineThatNamesAnErrorElseTheLast) {
  struct Case {
    std::string detail;
    std::string cause;
  };
  for (const auto& c : std::vector<Case>{
           {"", ""},
           {"starting\nlistening\n", "listening"},
           {"starting\n/p/f.js:3\nthrow new Error(\"no file\");\n  ^\n\nError: no file\n    at run (f.js:3:7)\nNode.js "
            "v20",
            "Error: no file"},
           {"node:internal/x:1\nError [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'\n    at y\n",
            "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'"},
           {"Traceback (most recent call last):\n  File \"a\", line 1\nModuleNotFoundError: No module named 'nope'\n",
            "ModuleNotFoundError: No module named 'nope'"},
           {"npm error code E404\nnpm error 404 Not Found\nnpm notice a log is in /x\n", "npm error code E404"},
           {"warning: old\nfatal: not a repository\nbye\n", "fatal: not a repository"},
           {"panic: out of range\n\ngoroutine 1 [running]:\nmain.main()\n", "panic: out of range"}}) {
    EXPECT_EQ(cause_line(c.detail), c.cause) << c.detail;
  }
}

TEST(Present, AFailureWithManyLinesIsOneLineAndWhereToSeeTheRest) {
  const Error error(Errc::connect, "server \"my db\": it exited with status 1");
  EXPECT_EQ(shown_failure("my db", ConfigScope::user, error).cause, "it exited with status 1");
  EXPECT_EQ(shown_failure("my db", ConfigScope::user, error).below, "");

  const auto few = shown_failure("my db", ConfigScope::user, Error(error).with_detail("a\nError: b\n"));
  EXPECT_EQ(few.cause, "it exited with status 1");
  EXPECT_EQ(few.below, "  | a\n  | Error: b\n    to see its log: patchbay logs 'my db'\n");

  const auto many = shown_failure("my db", ConfigScope::user, Error(error).with_detail("a\nError: b\nc\nd\ne\nf\n"));
  EXPECT_EQ(many.cause, "it exited with status 1: Error: b");
  EXPECT_EQ(many.below, "    to see its log: patchbay logs 'my db'\n");

  // `logs` would not know what only flags declare.
  const auto once = shown_failure("my db", ConfigScope::dynamic, Error(error).with_detail("a\nError: b\n"));
  EXPECT_EQ(once.below, "  | a\n  | Error: b\n");
}

TEST(Present, WhatAServerWroteKeepsItsIndentation) {
  EXPECT_EQ(indented("\n\n    at f\n  at g\n\nend  \n\n"), "  |     at f\n  |   at g\n  | \n  | end\n");
  EXPECT_EQ(indented("one"), "  | one\n");
}

TEST(Present, LongLinesAreWrappedForATerminalAndForNothingElse) {
  const std::string text = "  Because: one two three four five\nshort\n  | what a server wrote is long\n";
  EXPECT_EQ(wrapped_lines(text, 0), text);
  EXPECT_EQ(wrapped_lines(text, 80), text);
  EXPECT_EQ(wrapped_lines(text, 20),
            "  Because: one two \n"
            "      three four \n"
            "      five\n"
            "short\n"
            "  | what a server \n"
            "  |   wrote is long\n");
  EXPECT_EQ(wrapped_lines("  |    at f (a place in a file)\n", 20), "  |    at f (a place\n  |      in a file)\n");
  EXPECT_EQ(wrapped_lines("no end", 20), "no end");
}

TEST(Present, WhatFollowsAQuestionIsASentenceOfItsOwn) {
  EXPECT_EQ(continued("no answer", "try again"), "no answer; try again");
  EXPECT_EQ(continued("did you mean \"a\"?", "it may be elsewhere"), "did you mean \"a\"? It may be elsewhere");
  EXPECT_EQ(continued("no answer", ""), "no answer");
}

TEST(Present, ToolsThatRulesDenyAreCounted) {
  ServerStatus status;
  status.name = "fs";
  status.state = ServerState::connected;
  status.reason = ServerReason::none;
  status.tool_count = 6;
  EXPECT_EQ(status_line(status, false, {6, 0}), "fs  connected  6 tools");
  EXPECT_EQ(status_line(status, false, {4, 2}), "fs  connected  4 of 6 tools (2 denied by rules)");
}

}  // namespace
}  // namespace patchbay::cli
