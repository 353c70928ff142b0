// What is kept of servers from run to run, as people see it: --cached, status, logs, reconnect, completion.
// W5 L3 L5 G4 C11 N6.
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/household.h"
#include "support/ordinary_user.h"
#include "support/places.h"
#include "support/running_program.h"

namespace patchbay {
namespace {

namespace fs = std::filesystem;
using test::Household;
using test::json_of;
using test::server_file;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string fake = test::built("mode-server");

class Kept : public testing::Test {
 protected:
  Kept() { declare({{"files", server("good")}}); }

  // Every request that it gets is a line in a file.
  Json server(const std::string& mode) const {
    return Json{{"command", fake}, {"args", Json::array({mode})}, {"env", Json{{"MODE_SERVER_LOG", starts()}}}};
  }
  void declare(const Json& servers) const {
    house.tree.file("home/.config/patchbay/config.json", test::server_file(servers));
  }
  std::string starts() const { return (house.tree.path() / "starts").string(); }
  std::size_t started() const {
    std::ifstream file(starts());
    std::size_t count = 0;
    for (std::string line; std::getline(file, line);) count += line == "initialize" ? 1 : 0;
    return count;
  }
  std::string state() const { return house.home() + "/.local/state/patchbay"; }
  std::vector<fs::path> files(const std::string& folder) const {
    std::vector<fs::path> out;
    std::error_code none;
    for (const auto& one : fs::directory_iterator(state() + "/" + folder, none)) out.push_back(one.path());
    return out;
  }
  test::CommandResult run_with(const std::vector<std::string>& words,
                               const std::map<std::string, std::string>& env) const {
    auto options = house.options();
    for (const auto& [name, value] : env) options.env[name] = value;
    auto argv = words;
    argv.insert(argv.begin(), test::built("patchbay"));
    return test::run_program(argv, options);
  }

  Household house;
};

// ---- --cached

TEST_F(Kept, ToolsAreListedFromTheCacheAndNothingIsStarted) {
  const auto live = house.run({"tools", "--json"});
  ASSERT_EQ(live.code, 0) << live.err;
  const auto before = started();
  const auto cached = house.run({"tools", "--cached", "--json"});
  EXPECT_EQ(cached.code, 0) << cached.err;
  EXPECT_EQ(json_of(cached)["tools"], json_of(live)["tools"]);
  const auto age = json_of(cached)["cached"]["age"].to_int();
  ASSERT_TRUE(age) << cached.out;
  EXPECT_GE(*age, 0);
  EXPECT_EQ(json_of(cached)["servers"].as_array()[0]["state"], Json("pending"));
  EXPECT_EQ(started(), before);

  const auto text = house.run({"tools", "--cached"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("files  cached  6 tools"), HasSubstr("mcp__files__echo")));
  const auto page = house.run({"tools", "--cached", "files/add"});
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr("mcp__files__add"));
  EXPECT_EQ(house.run({"tools", "--cached", "files", "add"}).out, page.out);
  EXPECT_EQ(started(), before);
}

TEST_F(Kept, PromptsAndResourcesAreKeptWhenACommandListedThem) {
  ASSERT_EQ(house.run({"tools"}).code, 0);
  // Known, and these were never asked for.
  const auto unknown = house.run({"prompts", "--cached"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("\"files\" is not listed"), HasSubstr("patchbay prompts files")));
  for (const std::string command : {"prompts", "resources"}) {
    const auto live = house.run({command, "--json"});
    ASSERT_EQ(live.code, 0) << live.err;
    const auto before = started();
    const auto cached = house.run({command, "--cached", "--json"});
    EXPECT_EQ(cached.code, 0) << cached.err;
    EXPECT_EQ(json_of(cached)[command], json_of(live)[command]);
    EXPECT_EQ(json_of(cached)["resourceTemplates"], json_of(live)["resourceTemplates"]);
    EXPECT_EQ(house.run({command, "--cached"}).out, house.run({command}).out);
    EXPECT_EQ(started(), before + 1);
  }
}

TEST_F(Kept, WithoutAUsableFileTheReasonAndTheCommandAreNamed) {
  const auto missing = house.run({"tools", "--cached"});
  EXPECT_EQ(missing.code, 3);
  EXPECT_EQ(missing.out, "");
  EXPECT_THAT(missing.err, AllOf(HasSubstr("\"files\" is not listed"), HasSubstr("was not used yet"),
                                 HasSubstr("patchbay tools files")));
  const auto json = json_of(house.run({"tools", "--cached", "--json"}));
  EXPECT_EQ(json["tools"], Json::array());
  EXPECT_TRUE(json["cached"].is_null());
  EXPECT_THAT(std::string(*json["servers"].as_array()[0]["error"].text()), HasSubstr("patchbay tools files"));
  EXPECT_EQ(started(), 0u);
}

// compat: B6.9
TEST_F(Kept, AnotherEntryValueProgramOrAgeIsNotUsed) {
  house.tree.file("project/serve.sh", "#!/bin/sh\nexec " + fake + " good\n");
  declare({{"files", Json{{"command", "/bin/sh"}, {"args", Json::array({"serve.sh", "${LEVEL:-1}"})}}}});
  ASSERT_EQ(house.run({"tools"}).code, 0);
  ASSERT_EQ(house.run({"tools", "--cached"}).code, 0);
  EXPECT_EQ(run_with({"tools", "--cached"}, {{"LEVEL", "2"}}).code, 3);
  const auto old = run_with({"tools", "--cached"}, {{"MCP_DISCOVERY_CACHE_TTL_S", "0"}});
  EXPECT_EQ(old.code, 3);
  EXPECT_THAT(old.err, HasSubstr("too old"));
  const auto off = run_with({"tools", "--cached"}, {{"MCP_DISCOVERY_CACHE", "0"}});
  EXPECT_EQ(off.code, 3);
  EXPECT_THAT(off.err, HasSubstr("MCP_DISCOVERY_CACHE=0"));
  house.tree.file("project/serve.sh", "#!/bin/sh\n# another program\nexec " + fake + " good\n");
  const auto changed = house.run({"tools", "--cached"});
  EXPECT_EQ(changed.code, 3);
  EXPECT_THAT(changed.err, HasSubstr("program of the server has changed"));
  ASSERT_EQ(house.run({"tools"}).code, 0);
  EXPECT_EQ(house.run({"tools", "--cached"}).code, 0);
}

TEST_F(Kept, SwitchedOffItKeepsNothing) {
  ASSERT_EQ(run_with({"tools"}, {{"MCP_DISCOVERY_CACHE", "0"}}).code, 0);
  EXPECT_THAT(files("servers"), IsEmpty());
}

TEST_F(Kept, AnEmptyCachedListIsSaidToBeEmpty) {
  declare({{"one", Json{{"command", test::built("patchbay")}, {"args", Json::array({"serve"})}}}});
  ASSERT_EQ(house.run({"tools"}).code, 0);
  for (const std::string command : {"prompts", "resources"}) {
    const auto all = house.run({command, "--cached"});
    EXPECT_EQ(all.code, 0);
    EXPECT_EQ(all.err, "No server with a cached list has " + command + ".\n");
    EXPECT_EQ(house.run({command, "--cached", "one"}).err, "\"one\" has no " + command + ".\n");
  }
}

TEST_F(Kept, ServersWithoutACachedListShareOneLineAndAFailureIsShown) {
  const Json gone{{"command", fake}, {"args", Json::array({"exits-at-once"})}};
  declare({{"files", server("good")}, {"gone", gone}, {"more", server("good")}});
  const auto none = house.run({"tools", "--cached"});
  EXPECT_EQ(none.code, 3);
  EXPECT_EQ(std::ranges::count(none.err, '\n'), 1) << none.err;
  EXPECT_THAT(none.err, AllOf(HasSubstr("\"files\", \"gone\", \"more\" are not listed"),
                              HasSubstr("; to ask the servers: patchbay tools\n")));
  (void)house.run({"tools"});
  const auto failed = house.run({"tools", "--cached"});
  EXPECT_EQ(failed.code, 0);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("\"gone\" is not listed: it failed "), HasSubstr("exited with status"),
                                HasSubstr("patchbay logs gone"), Not(HasSubstr("files"))));
  // One that was listed and failed since then.
  const auto marker = (house.tree.path() / "marker").string();
  const auto line = "test -e " + marker + " && exit 5; exec " + fake + " good";
  declare({{"files", Json{{"command", "/bin/sh"}, {"args", Json::array({"-c", line})}}}});
  ASSERT_EQ(house.run({"tools"}).code, 0);
  house.tree.file("marker", "");
  ASSERT_EQ(house.run({"tools"}).code, 3);
  const auto later = house.run({"tools", "--cached"});
  EXPECT_EQ(later.code, 0);
  EXPECT_THAT(later.out, HasSubstr("mcp__files__echo"));
  EXPECT_THAT(later.err, AllOf(HasSubstr("\"files\" failed "), HasSubstr("exited with status 5")));
}

// What may not be started is not listed either, whatever was kept of it.
TEST_F(Kept, APendingRejectedDisabledOrDeniedServerIsNeverListed) {
  declare(Json::object());
  house.tree.directory("project/.git");
  house.tree.file("project/.mcp.json", server_file({{"files", server("good")}}));
  ASSERT_EQ(house.run({"approve", "files"}).code, 0);
  ASSERT_EQ(house.run({"tools"}).code, 0);
  ASSERT_THAT(house.run({"tools", "--cached"}).out, HasSubstr("mcp__files__echo"));
  ASSERT_THAT(house.run({"completion", "tools"}).out, HasSubstr("files/echo"));

  const auto denied = house.run({"tools", "--cached", "--disallowedTools", "mcp__files"});
  EXPECT_EQ(denied.out, "");
  const auto one = house.run({"tools", "--cached", "--disallowedTools", "mcp__files__echo"});
  EXPECT_THAT(one.out, AllOf(Not(HasSubstr("mcp__files__echo")), HasSubstr("mcp__files__add"), HasSubstr("5 of 6")));

  ASSERT_EQ(house.run({"disable", "files"}).code, 0);
  EXPECT_EQ(house.run({"tools", "--cached"}).out, "");
  EXPECT_THAT(house.run({"tools", "--cached", "files"}).err, HasSubstr("patchbay enable files"));
  ASSERT_EQ(house.run({"enable", "files"}).code, 0);
  ASSERT_EQ(house.run({"reject", "files"}).code, 0);
  EXPECT_EQ(house.run({"tools", "--cached"}).out, "");
  ASSERT_EQ(house.run({"reset-project-choices"}).code, 0);
  const auto pending = house.run({"tools", "--cached"});
  EXPECT_EQ(pending.out, "");
  EXPECT_THAT(pending.err, HasSubstr("patchbay approve files"));
  EXPECT_EQ(house.run({"completion", "tools"}).out, "");
  EXPECT_EQ(json_of(house.run({"status", "--json"}))["tools"], Json::array());
}

// ---- what is on the disk

TEST_F(Kept, FilesAreForTheUserAloneAndHoldNoSecret) {
  auto entry = server("good");
  entry["env"] = Json{{"API_TOKEN", "s3cr3t-value-of-env"}};
  declare({{"files", entry}});
  ASSERT_EQ(house.run({"tools"}).code, 0);
  ASSERT_EQ(files("servers").size(), 1u);
  ASSERT_EQ(files("logs").size(), 1u);
  for (const std::string folder : {"servers", "logs"}) {
    struct stat status{};
    ASSERT_EQ(::stat((state() + "/" + folder).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    for (const auto& file : files(folder)) {
      ASSERT_EQ(::stat(file.c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 0777, 0600u);
      std::ifstream stream(file);
      const std::string text(std::istreambuf_iterator<char>(stream), {});
      EXPECT_THAT(text, Not(HasSubstr("s3cr3t-value-of-env")));
    }
  }
}

TEST_F(Kept, WithoutAPlaceToWriteEverythingWorksWithOneWarning) {
  declare({{"files", server("good")}, {"more", server("one-tool")}});
  house.tree.file("blocked", "a file where the folder should be");
  const auto blocked = (house.tree.path() / "blocked").string();
  const auto result = run_with({"resources"}, {{"XDG_STATE_HOME", blocked}});
  EXPECT_EQ(result.code, 0) << result.err;
  const auto first = result.err.find("cannot be kept for later runs");
  EXPECT_NE(first, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("cannot be kept for later runs", first + 1), std::string::npos) << result.err;
  EXPECT_EQ(run_with({"call", "files/echo", "text=x"}, {{"XDG_STATE_HOME", blocked}}).out, "x\n");
  EXPECT_EQ(run_with({"tools", "--json"}, {{"XDG_STATE_HOME", blocked}}).err, "");
  EXPECT_EQ(run_with({"status"}, {{"XDG_STATE_HOME", blocked}}).code, 0);
}

TEST_F(Kept, ADirectoryOfSomebodyElseIsLeftAlone) {
  house.tree.directory("theirs");
  fs::permissions(house.tree.path() / "theirs", fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                                                    fs::perms::others_read | fs::perms::others_exec);
  const auto theirs = (house.tree.path() / "theirs").string();
  const auto said = test::as_ordinary_user(house.tree.path(), [&] {
    const auto result =
        run_with({"--mcp-config", server_file({{"one", Json{{"command", fake}, {"args", Json::array({"one-tool"})}}}}),
                  "--strict-mcp-config", "tools"},
                 {{"XDG_STATE_HOME", theirs}, {"HOME", "/nonexistent"}});
    return std::to_string(result.code) + result.out + result.err;
  });
  EXPECT_THAT(said, AllOf(testing::StartsWith("0"), HasSubstr("mcp__one__echo")));
  if (::getuid() == 0) EXPECT_THAT(said, HasSubstr("cannot be kept for later runs"));
}

TEST_F(Kept, WhatANewerProgramWroteIsNotUsedAndStays) {
  ASSERT_EQ(house.run({"tools"}).code, 0);
  const auto file = files("servers").at(0);
  std::ofstream(file) << R"({"version":99})";
  const auto live = house.run({"tools"});
  EXPECT_EQ(live.code, 0);
  EXPECT_THAT(live.err, HasSubstr("newer version"));
  EXPECT_THAT(house.run({"tools", "--cached"}).err, HasSubstr("newer version"));
  EXPECT_THAT(house.run({"status"}).out, HasSubstr("not started: its last state was written by a newer version"));
  std::ifstream stream(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), R"({"version":99})");
}

// ---- status

TEST_F(Kept, StatusShowsTheLastKnownStateWithItsAge) {
  declare({{"files", server("good")}, {"gone", Json{{"command", fake}, {"args", Json::array({"exits-at-once"})}}}});
  auto clients = json_of(house.run({"status", "--json"}))["clients"];
  ASSERT_EQ(clients.size(), 2u);
  EXPECT_EQ(clients.as_array()[0]["state"], Json("pending"));
  EXPECT_EQ(clients.as_array()[0]["reason"], Json("not started"));
  EXPECT_TRUE(clients.as_array()[0]["age"].is_null());
  EXPECT_EQ(started(), 0u);

  (void)house.run({"tools"});
  const auto before = started();
  const auto json = json_of(house.run({"status", "--json"}));
  clients = json["clients"];
  const auto& files = clients.as_array()[0];
  EXPECT_EQ(files["name"], Json("files"));
  EXPECT_EQ(files["state"], Json("connected"));
  EXPECT_TRUE(files["age"].to_int());
  EXPECT_EQ(files["scope"], Json("user"));
  EXPECT_EQ(files["config"]["command"], Json(fake));
  EXPECT_FALSE(files["capabilities"]["tools"].is_null());
  const auto& gone = clients.as_array()[1];
  EXPECT_EQ(gone["state"], Json("failed"));
  EXPECT_EQ(gone["reason"], Json("connect failed"));
  EXPECT_THAT(std::string(gone["error"].text().value_or("")), HasSubstr("exit"));
  EXPECT_EQ(json["tools"].size(), 6u);
  EXPECT_EQ(json["normalizedNames"], (Json{{"files", "files"}, {"gone", "gone"}}));
  EXPECT_TRUE(json["prompts"].is_array() && json["resources"].is_array());
  const auto text = house.run({"status"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr("files"), HasSubstr("connected "), HasSubstr("6 tools"), HasSubstr("failed ")));
  EXPECT_EQ(started(), before);
}

TEST_F(Kept, StatusWithCheckConnects) {
  const auto json = json_of(house.run({"status", "--check", "--json"}));
  EXPECT_EQ(json["clients"].as_array()[0]["state"], Json("connected"));
  EXPECT_TRUE(json["clients"].as_array()[0]["age"].is_null());
  EXPECT_EQ(json["tools"].size(), 6u);
  EXPECT_EQ(json["prompts"].size(), 1u);
  EXPECT_EQ(json["resources"].size(), 1u);
  EXPECT_EQ(started(), 1u);
  // And it is remembered.
  const auto later = json_of(house.run({"status", "--json"}));
  EXPECT_EQ(later["prompts"], json["prompts"]);
  EXPECT_EQ(later["resources"], json["resources"]);
  EXPECT_EQ(house.run({"status", "nobody"}).code, 2);
}

TEST_F(Kept, StatusWithCheckOfAServerThatAwaitsApprovalNamesTheCommand) {
  declare(Json::object());
  house.tree.directory("project/.git");
  house.tree.file("project/.mcp.json", server_file({{"files", server("good")}}));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"status", "--check"}, {"status", "--check", "files"}}) {
    const auto result = house.run(words);
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.out, HasSubstr("files  project     awaiting approval\n"));
    EXPECT_THAT(result.err, HasSubstr("patchbay approve files"));
  }
  EXPECT_EQ(house.run({"status"}).code, 0);
  EXPECT_THAT(house.run({"list"}).out, HasSubstr("files  project     awaiting approval"));
  EXPECT_EQ(started(), 0u);
}

TEST_F(Kept, StatusWithoutAServerNamesTheBuiltInOne) {
  declare(Json::object());
  const auto all = house.run({"status"});
  EXPECT_EQ(all.code, 0);
  EXPECT_THAT(all.err, AllOf(HasSubstr("built-in server \"patchbay\""), HasSubstr("patchbay tools")));
  const auto one = house.run({"status", "patchbay"});
  EXPECT_EQ(one.code, 2);
  EXPECT_THAT(one.err, AllOf(HasSubstr("part of this program"), Not(HasSubstr("there is no server"))));
}

TEST_F(Kept, EveryCommandSaysTheSameOfANameThatIsNotThere) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"status", "flies"},
                                                {"status", "--check", "flies"},
                                                {"logs", "flies"},
                                                {"reconnect", "flies"},
                                                {"prompts", "--cached", "flies"},
                                                {"prompts", "flies"},
                                                {"get", "flies"},
                                                {"list", "flies"},
                                                {"remove", "flies"},
                                                {"disable", "flies"}}) {
    const auto result = house.run(words);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err,
              "patchbay: there is no server called \"flies\"; did you mean \"files\"? To list all servers: patchbay "
              "list\n")
        << words.front();
  }
  EXPECT_THAT(
      house.run({"logs", "other"}).err,
      HasSubstr("there is no server called \"other\"; the servers are files; to list all servers: patchbay list"));
}

// ---- logs

TEST_F(Kept, AServerThatFailsNamesItsLog) {
  declare({{"gone", Json{{"command", fake}, {"args", Json::array({"exits-at-once"})}}}});
  const auto failed = house.run({"tools"});
  EXPECT_EQ(failed.code, 3);
  EXPECT_THAT(failed.err, HasSubstr("to see its log: patchbay logs gone\n"));
  EXPECT_THAT(house.run({"status"}).out, HasSubstr("to see its log: patchbay logs gone\n"));
  EXPECT_THAT(house.run({"logs", "gone"}).out, HasSubstr(" event ended by itself: exited with status "));
  // What only flags declare is not there for another command.
  const auto flags =
      house.run({"--strict-mcp-config", "--mcp-config",
                 server_file({{"once", Json{{"command", fake}, {"args", Json::array({"exits-at-once"})}}}}), "tools"});
  EXPECT_EQ(flags.code, 3);
  EXPECT_THAT(flags.err, Not(HasSubstr("patchbay logs")));
}

// compat: B1.12
TEST_F(Kept, LogsHaveWhatTheServerWroteAndWhatHappened) {
  const auto line = "echo 'listening as s3cr3t-password' >&2; exec " + fake + " good";
  declare({{"files", Json{{"command", "/bin/sh"},
                          {"args", Json::array({"-c", line})},
                          {"env", Json{{"DB_PASSWORD", "s3cr3t-password"}}}}}});
  const auto empty = house.run({"logs", "files"});
  EXPECT_EQ(empty.code, 0);
  EXPECT_THAT(empty.err, HasSubstr("There is no log of \"files\" yet"));
  ASSERT_EQ(house.run({"tools"}).code, 0);
  const auto text = house.run({"logs", "files"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, AllOf(HasSubstr(" stderr listening as "), HasSubstr(" event connected: 6 tools"),
                              Not(HasSubstr("s3cr3t-password"))));
  const auto json = json_of(house.run({"logs", "files", "--json"}));
  EXPECT_EQ(json["server"], Json("files"));
  EXPECT_GE(json["lines"].size(), 2u);
  EXPECT_EQ(house.run({"logs", "nobody"}).code, 2);
}

TEST_F(Kept, LogsFollowThroughTheChangeToANewFile) {
  ASSERT_EQ(house.run({"tools"}).code, 0);
  const auto log = files("logs").at(0);
  const auto options = house.options();
  test::RunningProgram follower({test::built("patchbay"), "logs", "files", "-f"},
                                {.cwd = options.cwd, .env = options.env});
  follower.wait_for("connected: 6 tools");
  std::ofstream(log, std::ios::app) << "2027-01-15T08:00:00.123Z stderr second\n";
  follower.wait_for("stderr second");
  fs::rename(log, log.string() + ".1");
  std::ofstream(log) << "2027-01-15T08:00:00.123Z stderr third\n";
  follower.wait_for("stderr third");
  std::ofstream(log, std::ios::app) << "2027-01-15T08:00:00.123Z stderr fourth\n";
  follower.wait_for("stderr fourth");
  const auto all = follower.output();
  EXPECT_EQ(all.find("second"), all.rfind("second"));
  EXPECT_EQ(all.find("third"), all.rfind("third"));
  EXPECT_EQ(follower.end(SIGTERM), 128 + SIGTERM);
}

// ---- reconnect

// compat: B5.21
TEST_F(Kept, ReconnectTriesOnceAndSaysHowItWent) {
  const auto good = house.run({"reconnect", "files"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("connected"));
  const auto attempts = (house.tree.path() / "attempts").string();
  declare({{"gone", Json{{"command", fake}, {"args", Json::array({"exits-at-once", attempts})}}}});
  const auto bad = house.run({"reconnect", "gone"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.err, HasSubstr("API_KEY"));
  EXPECT_EQ(std::ranges::count(house.tree.read("attempts"), '\n'), 1);
  EXPECT_EQ(json_of(house.run({"reconnect", "gone", "--json"}))["state"], Json("failed"));
  EXPECT_EQ(house.run({"reconnect", "nobody"}).code, 2);
}

// Refused credentials are not sent again by a start that nobody asked for by name. L3
TEST_F(Kept, ARefusedCredentialIsRememberedUntilItIsAnotherOneOrTheServerIsNamed) {
  house.tree.file("token", "right");
  test::RunningProgram door({test::built("patchbay"), "serve", "--http", "127.0.0.1:0", "--json", "--bearer-file",
                             (house.tree.path() / "token").string()});
  const auto url = std::string(*parse_json(door.wait_for("\"url\""))->find("url")->text());
  declare({{"web", Json{{"type", "http"}, {"url", url}, {"headers", Json{{"Authorization", "Bearer ${T:-wrong}"}}}}}});
  const auto remembered = HasSubstr("it said so");
  const auto first = house.run({"tools", "--json"});
  EXPECT_EQ(first.code, 3);
  EXPECT_THAT(first.out, AllOf(HasSubstr("needs-auth"), Not(remembered)));
  const auto second = house.run({"tools", "--json"});
  EXPECT_EQ(second.code, 3);
  EXPECT_THAT(second.out, AllOf(HasSubstr("needs-auth"), HasSubstr("wants credentials"), remembered));
  // A tool that any server may have is not that server's name.
  EXPECT_THAT(house.run({"call", "nobody-has-this"}).err, remembered);
  for (const std::vector<std::string>& asks :
       {std::vector<std::string>{"tools", "web", "--json"}, {"reconnect", "web", "--json"}, {"status", "--check"}}) {
    const auto result = house.run(asks);
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.out, AllOf(HasSubstr("needs-auth"), Not(remembered)));
  }
  const auto other = run_with({"tools", "--json"}, {{"T", "right"}});
  EXPECT_EQ(other.code, 0) << other.err << other.out;
  EXPECT_THAT(house.run({"tools", "--json"}).out, remembered);
  std::ifstream stream(state() + "/sign-in.json");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  EXPECT_THAT(text, AllOf(Not(HasSubstr("wrong")), Not(HasSubstr("right"))));
}

// ---- completion

TEST_F(Kept, CompletionKnowsToolsAndTheirArgumentsAndStartsNothing) {
  EXPECT_EQ(house.run({"completion", "tools"}).out, "");
  ASSERT_EQ(house.run({"tools"}).code, 0);
  const auto before = started();
  EXPECT_THAT(house.run({"completion", "tools"}).out,
              AllOf(HasSubstr("files/add\ta b\n"), HasSubstr("files/echo\ttext\n")));
  auto offered = [&](const std::vector<std::string>& words) {
    std::vector<std::string> argv{"/bin/bash",
                                  "--norc",
                                  "-c",
                                  "compopt() { :; }\nsource <(\"$1\" completion bash) || exit 1\n"
                                  "COMP_WORDS=(\"${@:1}\") COMP_CWORD=$(($# - 1))\n_patchbay\n"
                                  "echo \"${COMPREPLY[*]}\"",
                                  "bash",
                                  test::built("patchbay")};
    argv.insert(argv.end(), words.begin(), words.end());
    return test::run_program(argv, house.options()).out;
  };
  EXPECT_EQ(offered({"call", "files/a"}), "files/add\n");
  EXPECT_EQ(offered({"call", "fi"}), "files/add files/boom files/echo files/fail files/raw files/slow\n");
  EXPECT_EQ(offered({"call", "files/add", ""}), "a= b=\n");
  EXPECT_EQ(offered({"call", "files/echo", "te"}), "text=\n");
  EXPECT_EQ(offered({"call", "files/echo", "text", "=", "x"}), "\n");
  EXPECT_EQ(offered({"call", "files", "a"}), "add\n");
  EXPECT_EQ(offered({"call", "files", ""}), "add boom echo fail raw slow\n");
  EXPECT_EQ(offered({"call", "files", "echo", ""}), "text=\n");
  EXPECT_EQ(offered({"read", ""}), "files\n");
  EXPECT_EQ(started(), before);
}

}  // namespace
}  // namespace patchbay
