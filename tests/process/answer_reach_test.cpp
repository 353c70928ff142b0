// How far an answer of the user reaches: an answer, or trust, given in one directory, against files that somebody
// else laid out. What must not be started leaves a file behind. C1 C6.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/places.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::CommandResult;
using test::Household;
using test::json_of;
using test::server_file;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AnswerReach : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (house.tree.path() / name).string(); }
  // The binary in a directory of the tree, or in one anywhere.
  CommandResult in(const std::string& directory, std::vector<std::string> words) const {
    words.insert(words.begin(), test::built("patchbay"));
    auto options = house.options();
    options.cwd = directory.starts_with('/') ? directory : path(directory);
    return test::run_program(words, options);
  }
  void servers(const std::string& directory, const Json& entry) const {
    house.tree.file(directory + "/.mcp.json", server_file({{"s", entry}}));
  }
  void script(const std::string& name, const std::string& text) const {
    house.tree.file(name, "#!/bin/sh\n" + text + "\n");
    fs::permissions(path(name), fs::perms::owner_all);
  }
  std::string touch() const { return "touch '" + path("canary") + "'"; }
  bool ran() const { return house.tree.has("canary"); }
  std::string standing(const std::string& directory) const {
    return std::string(json_of(in(directory, {"get", "s", "--json"}))["standing"].as_text());
  }
  void own_settings(const std::string& text) const { house.tree.file("home/.claude/settings.json", text); }

  Household house;
};

// ---- archives

// Both ends of a work tree come along, so that each says what the other needs to hear.
TEST_F(AnswerReach, AnArchiveCannotMakeAnApprovalInOneOfItsDirectoriesCountInAnother) {
  struct Case {
    std::string label;
    std::string tree;        // where it would count
    std::string repository;  // where it is given
    std::string pointer;     // from the tree to what the repository knows of it
    std::string back;
  };
  for (const auto& one : std::vector<Case>{
           {"a repository below", "one", "one/sub", "sub/.git/worktrees/x", "../../../../.git"},
           {"a repository beside it", "two/a", "two/b", "../b/.git/worktrees/x", "../../../../a/.git"},
           {"a path that is whole, and leads to wherever one is", "three", "three/sub", "sub/.git/worktrees/x",
            "/proc/self/cwd/.git"},
       }) {
    house.tree.file(one.tree + "/.git", "gitdir: " + one.pointer + "\n");
    house.tree.file(one.repository + "/.git/worktrees/x/commondir", "../..\n");
    house.tree.file(one.repository + "/.git/worktrees/x/gitdir", one.back + "\n");
    for (const auto& directory : {one.tree, one.repository}) servers(directory, Json{{"command", "./server.sh"}});
    script(one.repository + "/server.sh", "exit 1");
    script(one.tree + "/server.sh", touch());
    ASSERT_EQ(in(one.repository, {"approve", "s"}).code, 0) << one.label;
    ASSERT_EQ(in(one.repository, {"trust"}).code, 0) << one.label;
    EXPECT_EQ(standing(one.repository), "active") << one.label;
    EXPECT_EQ(standing(one.tree), "awaiting approval") << one.label;
    EXPECT_EQ(json_of(in(one.tree, {"doctor", "--offline", "--json"}))["trusted"], Json(false)) << one.label;
    (void)in(one.tree, {"tools", "s"});
    EXPECT_FALSE(ran()) << one.label;
  }
}

// ---- reset-project-choices

TEST_F(AnswerReach, ResetTakesNothingFromOtherProjectsBelow) {
  own_settings(R"({"enableAllProjectMcpServers": true})");
  house.tree.directory("home/repo/.git");
  house.tree.directory("home/repo/nested/.git");
  const std::vector<std::string> places{"home/a", "home/repo/sub", "home/repo/nested/deep"};
  for (const auto& place : places) {
    servers(place, Json{{"command", "x"}});
    ASSERT_EQ(in(place, {"reject", "s"}).code, 0) << place;
  }
  ASSERT_EQ(in("home", {"reset-project-choices"}).code, 0);
  for (const auto& place : places) EXPECT_EQ(standing(place), "rejected") << place;
  ASSERT_EQ(in("home/repo", {"reset-project-choices"}).code, 0);
  EXPECT_EQ(standing("home/repo/sub"), "active") << "it belongs to that project";
  EXPECT_EQ(standing("home/repo/nested/deep"), "rejected") << "a repository in it does not";
}

TEST_F(AnswerReach, ResetLeavesNoEmptyProjectBehind) {
  servers("project", Json{{"command", "x"}});
  ASSERT_EQ(house.run({"approve", "s"}).code, 0);
  ASSERT_EQ(house.run({"reset-project-choices"}).code, 0);
  EXPECT_EQ(house.own()["projects"], Json::object());
  // What else is known of it stays.
  ASSERT_EQ(house.run({"reject", "s"}).code, 0);
  ASSERT_EQ(house.run({"trust"}).code, 0);
  ASSERT_EQ(house.run({"reset-project-choices"}).code, 0);
  EXPECT_EQ(house.own()["projects"][house.project()], Json({{"trusted", true}}));
}

// ---- yes and no in places of one repository

TEST_F(AnswerReach, ANoIsNotSkippedForAnOldYesToAnotherEntry) {
  house.tree.directory("project/.git");
  servers("project", Json{{"command", "sh"}, {"args", Json::array({"x.sh"})}});
  script("project/x.sh", "exit 1");
  script("project/d/x.sh", touch());
  ASSERT_EQ(house.run({"approve", "s"}, "d").code, 0);
  servers("project", Json{{"command", "sh"}, {"args", Json::array({"x.sh", "--evil"})}});
  ASSERT_EQ(house.run({"reject", "s"}).code, 0);
  EXPECT_EQ(standing("project/d"), "rejected");
  (void)house.run({"--trust-project", "tools", "s"}, "d");
  EXPECT_FALSE(ran());
}

TEST_F(AnswerReach, AnApprovalDoesNotReachFilesThatTheEnvironmentNamesBelow) {
  house.tree.directory("project/.git");
  servers("project",
          Json{{"command", "bash"}, {"args", Json::array({"-c", "exit 1"})}, {"env", {{"BASH_ENV", "./s.sh"}}}});
  script("project/s.sh", "true");
  script("project/d/s.sh", touch());
  ASSERT_EQ(house.run({"approve", "s"}).code, 0);
  EXPECT_EQ(standing("project"), "active");
  EXPECT_EQ(standing("project/d"), "awaiting approval");
  (void)house.run({"tools", "s"}, "d");
  EXPECT_FALSE(ran());
}

TEST_F(AnswerReach, ApproveAndRejectNameThePlaceTheyAreFor) {
  house.tree.directory("project/.git");
  servers("project", Json{{"command", "./x.sh"}});
  script("project/x.sh", "exit 1");
  script("project/d/x.sh", "exit 1");
  EXPECT_THAT(house.run({"approve", "s"}).out, HasSubstr("[project: " + house.project() + "]\n"));
  for (const auto* word : {"approve", "reject"}) {
    EXPECT_THAT(house.run({word, "s"}, "d").out, HasSubstr("[project: " + house.project() + "/d]\n"));
  }
  EXPECT_FALSE(house.own()["projects"][house.project() + "/d"]["rejected"]["s"].is_null());
}

TEST_F(AnswerReach, WhyPromisesNoQuestionThatASettingAnswers) {
  servers("project", Json{{"command", "x"}});
  ASSERT_EQ(house.run({"approve", "s"}).code, 0);
  EXPECT_THAT(house.run({"why", "s"}).out, HasSubstr("If the entry changes, it needs approval again"));
  own_settings(R"({"enableAllProjectMcpServers": true})");
  EXPECT_THAT(house.run({"why", "s"}).out,
              AllOf(HasSubstr("approved by enableAllProjectMcpServers in "), HasSubstr("even if its entry changes"),
                    Not(HasSubstr("needs approval again"))));
  own_settings("{}");
  house.tree.file("home/.claude.json",
                  to_text(Json{{"projects", {{house.project(), {{"enabledMcpjsonServers", Json::array({"s"})}}}}}}));
  EXPECT_THAT(house.run({"why", "s"}).out,
              AllOf(HasSubstr("approved by enabledMcpjsonServers in "), Not(HasSubstr("needs approval again"))));
  servers("project", Json{{"command", "changed"}});
  EXPECT_EQ(standing("project"), "active");
}

// ---- trust

TEST_F(AnswerReach, WhatIsNoProjectIsNotTrustedByStandingInIt) {
  for (const auto& wide : {std::string("/"), house.home()}) {
    const auto result = in(wide, {"trust"});
    EXPECT_EQ(result.code, 2) << wide;
    EXPECT_THAT(result.err, HasSubstr(wide + " is not a project"));
    EXPECT_EQ(in(wide, {"trust", "--remove"}).code, 0) << wide;
  }
  EXPECT_TRUE(house.own()["projects"][house.home()].is_null());
  EXPECT_EQ(in("project", {"trust"}).code, 0);
}

TEST_F(AnswerReach, TrustNamesTheHelperOfAnEntryThatWaitsBehindAnother) {
  const Json mine{{"type", "http"}, {"url", "https://mine.example/mcp"}};
  ASSERT_EQ(house.run({"add-json", "--scope", "user", "s", to_text(mine)}).code, 0);
  servers("project", Json{{"type", "http"}, {"url", "https://x.example/mcp"}, {"headersHelper", "print-headers"}});
  EXPECT_THAT(
      house.run({"trust"}).out,
      AllOf(HasSubstr("  runs a command for the headers of s: print-headers (.mcp.json:1, awaiting approval)\n"),
            Not(HasSubstr("so nothing changes now"))));
}

}  // namespace
}  // namespace patchbay
