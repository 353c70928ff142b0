// Rows of docs/requirements.md: W1, W7.
// What people who are new type, and what they need to be told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/places.h"

namespace patchbay {
namespace {

using test::Household;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string fake = test::built("mode-server");

class Newcomer : public testing::Test {
 protected:
  void add(const std::string& name, const std::string& mode = "good") {
    ASSERT_EQ(house.run({"add", name, "--", fake, mode, starts()}).code, 0);
  }
  std::string starts() const { return (house.tree.path() / "starts").string(); }
  bool anything_started() const { return house.tree.has("starts"); }
  test::CommandResult elsewhere(std::vector<std::string> words) const {
    return house.run(std::move(words), "../elsewhere");
  }

  Household house;
};

TEST_F(Newcomer, IsToldForWhichDirectoryAServerIsDeclared) {
  add("ev");
  house.tree.directory("elsewhere/.git");
  const auto place = "\"ev\" is declared for " + house.project() + " only: run the command there";
  for (const auto& words : {std::vector<std::string>{"call", "ev/echo", "text=x"},
                            {"tools", "ev"},
                            {"get", "ev"},
                            {"list", "ev"},
                            {"why", "ev"},
                            {"call", "ev.echo"},
                            {"call", "ev", "echo"}}) {
    const auto ran = elsewhere(words);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_THAT(ran.err, HasSubstr(place)) << words.front();
  }
  const auto listed = elsewhere({"list"});
  EXPECT_EQ(listed.code, 0);
  EXPECT_THAT(listed.err, HasSubstr("Declared for other directories only: ev (for " + house.project() + ")"));
  EXPECT_FALSE(anything_started());
}

TEST_F(Newcomer, WhoTypesAUrlIsAnsweredAtOnce) {
  add("ev");
  const auto ran = house.run({"tools", "http://127.0.0.1:1/mcp"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("patchbay --mcp-server NAME=URL"), HasSubstr("patchbay add NAME URL")));
  EXPECT_FALSE(anything_started());
}

TEST_F(Newcomer, ListTakesNames) {
  add("ev");
  add("other");
  EXPECT_THAT(house.run({"list", "ev"}).out, AllOf(HasSubstr("ev "), Not(HasSubstr("other"))));
  EXPECT_FALSE(anything_started());
}

TEST_F(Newcomer, ToolsOfOneServerAreShownWithTheirArguments) {
  add("ev");
  const auto out = house.run({"tools", "ev"}).out;
  EXPECT_THAT(out, HasSubstr("  mcp__ev__add(a: integer, b: integer)\n      The add tool\n"));
  EXPECT_THAT(house.run({"tools"}).out, HasSubstr("  mcp__ev__add   The add tool\n"));
}

TEST_F(Newcomer, FilesOfAResultAreKept) {
  add("ev", "pictures");
  const auto file = (house.tree.path() / "out.png").string();
  const auto ran = house.run({"call", "ev/echo", "text=x", "--output", file});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "two files\n");
  EXPECT_THAT(ran.err, AllOf(HasSubstr("Wrote " + file + " (image/png, 5 bytes)\n"),
                             HasSubstr("out.2.png (audio/wav, 6 bytes)")));
  EXPECT_EQ(house.tree.read("out.png"), "first");
  EXPECT_EQ(house.tree.read("out.2.png"), "second");
}

TEST_F(Newcomer, AFailedCallReplacesNoFile) {
  add("ev");
  house.tree.file("kept.txt", "mine");
  const auto ran = house.run({"call", "ev/fail", "--output", (house.tree.path() / "kept.txt").string()});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "the tool failed\n");
  EXPECT_EQ(house.tree.read("kept.txt"), "mine");
}

TEST_F(Newcomer, OnlyTheFileThatWasNamedIsReplaced) {
  add("ev", "pictures");
  house.tree.file("out.2.png", "mine");
  const auto ran = house.run({"call", "ev/echo", "text=x", "--output", (house.tree.path() / "out.png").string()});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("out.2.png cannot be written: File exists"));
  EXPECT_EQ(house.tree.read("out.2.png"), "mine");
}

TEST_F(Newcomer, TextIsKeptWhereThereIsNoFile) {
  add("ev");
  const auto file = (house.tree.path() / "out.txt").string();
  const auto ran = house.run({"call", "ev/echo", "text=hello", "-o", file});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(house.tree.read("out.txt"), "hello");
}

TEST_F(Newcomer, AFileThatCannotBeWrittenIsReportedBeforeTheCall) {
  add("ev");
  for (const auto& file : {std::string("/no/such/directory/x"), house.tree.path().string()}) {
    const auto ran = house.run({"call", "ev/echo", "text=x", "--output", file});
    EXPECT_EQ(ran.code, 2) << file;
    EXPECT_THAT(ran.err, HasSubstr("--output: " + file + " cannot be written")) << file;
  }
  EXPECT_FALSE(anything_started());
}

TEST_F(Newcomer, ReadFillsTemplates) {
  add("ev", "pictures");
  EXPECT_EQ(house.run({"read", "ev", "mode://{path}/x{?q}", "path=a b"}).out, "mode://a%20b/x");
  EXPECT_EQ(house.run({"read", "mode://{path}", "path=c"}).out, "mode://c");
  EXPECT_THAT(house.run({"read", "ev", "mode://{path}"}).err,
              HasSubstr("is a template; give its variables a value: patchbay read ev 'mode://{path}' path=VALUE"));
  EXPECT_THAT(house.run({"read", "ev", "mode://{path}", "pth=c"}).err,
              HasSubstr("the template has no variable \"pth\""));
  EXPECT_THAT(house.run({"read", "ev", "mode://one", "path=c"}).err, HasSubstr("is not a template"));
}

TEST_F(Newcomer, TheLimitThatEndedTheWaitIsNamed) {
  add("quiet", "never-answers");
  EXPECT_THAT(house.run({"--timeout", "0.5", "tools", "quiet"}).err,
              HasSubstr("if it needs longer to start, give --timeout more seconds"));
}

TEST_F(Newcomer, TwoAccountsAtOneUrlAreNotReported) {
  ASSERT_EQ(house.run({"add", "-t", "http", "work", "https://h.example/mcp", "-H", "X-Account: work"}).code, 0);
  ASSERT_EQ(house.run({"add", "-t", "http", "home", "https://h.example/mcp", "-H", "X-Account: home"}).code, 0);
  EXPECT_EQ(house.run({"list"}).err, "");
  ASSERT_EQ(house.run({"add", "-t", "http", "again", "https://h.example/mcp", "-H", "X-Account: home"}).code, 0);
  EXPECT_THAT(house.run({"list"}).err, HasSubstr("\"again\": it has the same URL as \"home\""));
}

}  // namespace
}  // namespace patchbay
