// Rows of docs/requirements.md: C6.
// Approvals that Claude Code keeps inside the repository: offered, shown, and never taken without a word.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/places.h"
#include "support/terminal.h"

namespace patchbay {
namespace {

using test::Household;
using test::Terminal;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string program = test::built("patchbay");
const std::string fake = test::built("mode-server");

class FromClaude : public testing::Test {
 protected:
  FromClaude() {
    declare("good");
    git({"init", "-q", "."});
    git({"add", ".mcp.json"});
    house.tree.file("project/.claude/settings.local.json", R"({"enabledMcpjsonServers": ["a", "b"]})");
  }
  void declare(const std::string& mode) {
    Json servers;
    for (const auto* name : {"a", "b", "c"}) servers[name] = {{"command", fake}, {"args", Json::array({mode})}};
    house.tree.file("project/.mcp.json", to_text(Json{{"mcpServers", servers}}));
  }
  Json approved() const { return house.own()["projects"][house.project()]["approved"]; }
  void git(std::vector<std::string> words) {
    words.insert(words.begin(), {"/usr/bin/git", "-c", "user.name=x", "-c", "user.email=x@example.com"});
    auto options = house.options();
    options.env["PATH"] = "/usr/bin:/bin";
    const auto ran = test::run_program(words, options);
    ASSERT_EQ(ran.code, 0) << ran.err;
  }

  Household house;
};

constexpr const char* question = "Approved in Claude Code: a, b. Approve them here as well? [y/N/?] ";

// compat: B4.26
TEST_F(FromClaude, AreOfferedTogetherAfterTheyWereShown) {
  Terminal terminal({program, "tools", "a"}, house.project(), house.options().env);
  ASSERT_TRUE(terminal.wait_for(question)) << terminal.seen();
  EXPECT_THAT(terminal.seen(), AllOf(HasSubstr("\"a\" ("), HasSubstr("\"b\" ("), HasSubstr(fake)));
  terminal.type("y\n");
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_THAT(terminal.seen(), AllOf(HasSubstr("Approved a, b."), HasSubstr("Undo: patchbay reject a b"),
                                     HasSubstr("mcp__a__"), Not(HasSubstr("Start it?"))));
  EXPECT_EQ(approved().size(), 2u);
}

TEST_F(FromClaude, ANoIsRememberedForTheseEntries) {
  for (int run = 0; run < 2; ++run) {
    Terminal terminal({program, "tools", "a"}, house.project(), house.options().env);
    if (run == 0) {
      ASSERT_TRUE(terminal.wait_for(question)) << terminal.seen();
      terminal.type("\n");
    }
    ASSERT_TRUE(terminal.wait_for("Start it?")) << terminal.seen();
    if (run == 1) EXPECT_THAT(terminal.seen(), Not(HasSubstr("Claude Code")));
    terminal.type("\n");
    (void)terminal.wait_for_end();
  }
  EXPECT_TRUE(approved().is_null());
  declare("two-tools");
  Terminal changed({program, "tools", "a"}, house.project(), house.options().env);
  EXPECT_TRUE(changed.wait_for(question)) << "other entries, other question: " << changed.seen();
}

TEST_F(FromClaude, AreNotOfferedToWhoAsksForAnotherServer) {
  ASSERT_EQ(house.run({"add", "mine", "--", fake, "good"}).code, 0);
  Terminal terminal({program, "tools", "mine"}, house.project(), house.options().env);
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_THAT(terminal.seen(), Not(HasSubstr("Claude Code")));
}

TEST_F(FromClaude, AScriptSaysYesItself) {
  const auto unasked = house.run({"approve", "--from-claude"});
  EXPECT_EQ(unasked.code, 2);
  EXPECT_THAT(unasked.err, HasSubstr("patchbay approve --from-claude --yes"));
  EXPECT_TRUE(approved().is_null());
  const auto done = house.run({"approve", "--from-claude", "--yes"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("Approved \"a\""), HasSubstr("Approved \"b\""), HasSubstr(fake)));
  EXPECT_EQ(approved().size(), 2u) << "the third was not approved there";
  EXPECT_THAT(house.run({"approve", "--from-claude", "--yes"}).err, HasSubstr("has approved no server"));
}

TEST_F(FromClaude, AllOfThemIfAllAreEnabledButNoRejectedOne) {
  house.tree.file("project/.claude/settings.local.json",
                  R"({"enableAllProjectMcpServers": true, "disabledMcpjsonServers": ["b"]})");
  ASSERT_EQ(house.run({"approve", "--from-claude", "--yes"}).code, 0);
  EXPECT_NE(approved().find("a"), nullptr);
  EXPECT_EQ(approved().find("b"), nullptr);
  EXPECT_NE(approved().find("c"), nullptr);
}

// The index of such a repository does not name the file.
TEST_F(FromClaude, ALinkToATrackedDirectoryIsNotTheUsersWord) {
  std::filesystem::rename(house.project() + "/.claude", house.project() + "/kept");
  std::filesystem::create_directory_symlink("kept", house.project() + "/.claude");
  git({"add", "-A"});
  EXPECT_NE(house.run({"approve", "--from-claude", "--yes"}).code, 0);
  EXPECT_THAT(house.run({"approve", "--from-claude"}).err, HasSubstr("approve them by name: patchbay approve a b"));
  EXPECT_TRUE(approved().is_null());
}

// A file that came with the repository is its author's word, not the user's.
TEST_F(FromClaude, WhereGitTracksTheFileEachServerIsAQuestion) {
  git({"add", "-f", ".claude/settings.local.json"});
  const auto refused = house.run({"approve", "--from-claude", "--yes"});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, HasSubstr("approve them by name: patchbay approve a b"));
  Terminal terminal({program, "approve", "--from-claude"}, house.project(), house.options().env);
  ASSERT_TRUE(terminal.wait_for("Approve \"a\"? [y/N] ")) << terminal.seen();
  terminal.type("n\n");
  ASSERT_TRUE(terminal.wait_for("Approve \"b\"? [y/N] ")) << terminal.seen();
  terminal.type("y\n");
  EXPECT_EQ(terminal.wait_for_end(), 0) << terminal.seen();
  EXPECT_EQ(approved().size(), 1u);
  Terminal started({program, "tools", "a"}, house.project(), house.options().env);
  ASSERT_TRUE(started.wait_for("Start it?")) << started.seen();
  EXPECT_THAT(started.seen(), Not(HasSubstr("Approved in Claude Code")));
}

}  // namespace
}  // namespace patchbay
