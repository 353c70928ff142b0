// Recordings from a shell: what a session recorded, what a failing server leaves behind, and serving it again. N8.
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/flight/recording_files.h"
#include "process/session_house.h"
#include "support/running_program.h"
#include "text/shell_word.h"

namespace patchbay::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

unsigned mode_of(const std::string& path) {
  struct stat about{};
  return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 0777 : 0;
}

// Servers of no file but this one.
std::vector<std::string> of_recording(const std::string& file, std::vector<std::string> words) {
  words.insert(words.begin(), {"--strict-mcp-config", "--mcp-server",
                               "fix=" + shell_word(built("patchbay")) + " replay " + shell_word(file)});
  return words;
}

Json tools_of(const CommandResult& result) {
  const auto all = json_of(result);
  return std::as_const(all)["tools"];
}

// N8: what was exported from a session is the same server again, over stdio and over HTTP.
TEST(Recording, ReplayedItListsTheSameToolsAndGivesTheSameAnswers) {
  const SessionHouse house;
  house.add_fixture_server();
  house.start();
  const auto tools = house.run({"tools", "fix", "--json"});
  const std::vector<std::string> call{"call", "fix/echo", "text=hello", "--json"};
  const auto called = house.run(call);
  ASSERT_EQ(called.code, 0) << called.err;
  const auto refused = house.run({"call", "fix/refuses", "--json"});
  const auto file = house.project() + "/frames.jsonl";
  const auto exported = house.run({"record", "export", "fix", "-o", file});
  ASSERT_EQ(exported.code, 0) << exported.err;
  EXPECT_THAT(exported.err, HasSubstr("patchbay replay"));
  EXPECT_EQ(mode_of(file), 0600u);
  EXPECT_THAT(house.run({"record", "list"}).out, HasSubstr("in the session of this directory: \"fix\""));
  EXPECT_THAT(house.run({"record", "show"}).out, AllOf(HasSubstr("-> {"), HasSubstr("tools/call")));
  // On stdout it is the same, but for what has passed meanwhile.
  EXPECT_THAT(house.run({"record", "export"}).out, HasSubstr("\"patchbayRecording\":1"));

  const auto again = house.run(of_recording(file, {"tools", "fix", "--json"}));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(tools_of(again), tools_of(tools));
  EXPECT_THAT(tools_of(again).items(), Not(IsEmpty()));
  const auto replayed = house.run(of_recording(file, call));
  EXPECT_EQ(replayed.code, called.code) << replayed.err;
  EXPECT_EQ(replayed.out, called.out);
  const auto error = house.run(of_recording(file, {"call", "fix/refuses", "--json"}));
  EXPECT_EQ(error.code, refused.code);
  EXPECT_EQ(error.out, refused.out);
  const auto other = house.run(of_recording(file, {"call", "fix/echo", "text=other"}));
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, AllOf(HasSubstr("this is a recording of \"fix\", which has no tools/call with these params"),
                               HasSubstr("it has: tools/call"), HasSubstr("hello")));

  RunningProgram server({built("patchbay"), "replay", file, "--http", "127.0.0.1:0", "--json"},
                        {.cwd = house.project(), .env = house.options().env});
  const auto url = served_url(server);
  const auto over_http = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--strict-mcp-config", "--mcp-server", "fix=" + url});
    return house.run(std::move(words));
  };
  const auto listed = over_http({"tools", "fix", "--json"});
  ASSERT_EQ(listed.code, 0) << listed.err << server.output();
  EXPECT_EQ(tools_of(listed), tools_of(tools));
  // As often as somebody asks.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(over_http(call).out, called.out);
  EXPECT_EQ(server.end(SIGINT), 0) << server.output();
}

// N8: a server of the older era over HTTP, where it has a session, with its progress.
TEST(Recording, OneOfTheOlderEraIsServedOverHttpAsWell) {
  const SessionHouse house;
  house.add_mode_server("good");
  house.start();
  const std::vector<std::string> slow{"call", "fake/slow", "--json"};
  const auto called = house.run(slow);
  ASSERT_EQ(called.code, 0) << called.err;
  const auto file = house.project() + "/frames.jsonl";
  ASSERT_EQ(house.run({"record", "export", "-o", file}).code, 0);
  EXPECT_THAT(content(file), HasSubstr("notifications/progress"));
  RunningProgram server({built("patchbay"), "replay", file, "--http", "127.0.0.1:0", "--json"},
                        {.cwd = house.project(), .env = house.options().env});
  const auto url = served_url(server);
  for (int i = 0; i < 2; ++i) {
    auto words = slow;
    words.insert(words.begin(), {"--strict-mcp-config", "--mcp-server", "fake=" + url});
    const auto again = house.run(std::move(words));
    EXPECT_EQ(again.code, 0) << again.err << server.output();
    EXPECT_EQ(again.out, called.out);
  }
  EXPECT_EQ(server.end(SIGTERM), 0) << server.output();
}

class FailingServer : public testing::Test {
 protected:
  static constexpr std::string_view secret = "planted-in-the-entry-1";
  FailingServer() {
    const auto added = house.run(
        {"add", "fake", "--env", "FAKE_API_KEY=" + std::string(secret), "--", built("mode-server"), "exits-on-call"});
    EXPECT_EQ(added.code, 0) << added.err;
  }
  std::string folder() const { return house.home() + "/.local/state/patchbay/recordings"; }
  std::vector<StoredRecording> stored() const { return stored_recordings(folder()); }
  CommandResult fail(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"call", "fake/echo", "text=with " + std::string(secret)};
    words.insert(words.end(), more.begin(), more.end());
    return house.run(std::move(words));
  }

  Household house;
};

// N8: a server that fails leaves what led to that, without secrets, for its user alone.
TEST_F(FailingServer, LeavesARecordingWithoutSecrets) {
  const auto failed = fail();
  EXPECT_EQ(failed.code, 3) << failed.err;
  const auto files = stored();
  ASSERT_THAT(files, SizeIs(1)) << failed.err;
  EXPECT_EQ(mode_of(files[0].file), 0600u);
  EXPECT_EQ(mode_of(folder()), 0700u);
  const auto text = content(files[0].file);
  EXPECT_THAT(text, AllOf(HasSubstr("\"method\":\"tools/call\""), HasSubstr("with [redacted]"),
                          HasSubstr("\"mark\":\"ended\""), Not(HasSubstr(secret))));
  const auto list = json_of(house.run({"record", "list", "--json"}));
  ASSERT_THAT(list["recordings"].items(), SizeIs(1));
  EXPECT_EQ(list["recordings"].items()[0]["server"], Json("fake"));
  EXPECT_THAT(house.run({"record", "show", "fake"}).out, AllOf(HasSubstr("because: "), HasSubstr("the server ended")));
  // Again and again within a moment is one recording.
  EXPECT_EQ(fail().code, 3);
  EXPECT_THAT(stored(), SizeIs(1));
  // And played again it fails as it did.
  const auto again = house.run(of_recording(files[0].file, {"call", "fix/echo", "text=with something else"}));
  EXPECT_EQ(again.code, 3) << again.err;
  EXPECT_THAT(again.err, HasSubstr("the server ended the connection here when this was recorded"));
}

// N8: what the server answers with, and what the user may not do, is no failure of the server.
TEST_F(FailingServer, ErrorsThatItAnswersWithAreNone) {
  ASSERT_EQ(house.run({"add", "good", "--", built("mode-server"), "good"}).code, 0);
  EXPECT_EQ(house.run({"call", "good/boom"}).code, 1);
  EXPECT_EQ(house.run({"call", "good/fail"}).code, 1);
  EXPECT_EQ(house.run({"call", "good/add", "a=x"}).code, 2);
  EXPECT_THAT(stored(), IsEmpty());
}

TEST_F(FailingServer, ItsRecordingsCanBeSwitchedOff) {
  house.tree.file("home/.claude/settings.json", R"({"recorder": "off"})");
  EXPECT_EQ(fail().code, 3);
  EXPECT_THAT(stored(), IsEmpty());
}

// N8: 64 MiB and seven days for all servers.
TEST_F(FailingServer, OldRecordingsAndTooManyBytesGo) {
  fs::create_directories(folder());
  const auto now = fs::file_time_type::clock::now();
  const auto put = [&](const std::string& name, std::uintmax_t bytes, std::chrono::hours age) {
    const auto path = folder() + "/" + name;
    std::ofstream(path).put('x');
    fs::resize_file(path, bytes);
    fs::last_write_time(path, now - age);
    return path;
  };
  const auto old = put("a-1.1-1.jsonl", 10, std::chrono::hours(24 * 8));
  const auto large = put("b-1.1-1.jsonl", 40u << 20, std::chrono::hours(2));
  const auto larger = put("c-1.1-1.jsonl", 40u << 20, std::chrono::hours(3));
  const auto foreign = put("notes.txt", 10, std::chrono::hours(24 * 100));
  EXPECT_EQ(fail().code, 3);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(large));
  EXPECT_FALSE(fs::exists(larger));
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_THAT(stored(), SizeIs(2));
}

// N8: two processes at once.
TEST_F(FailingServer, TwoProcessesDoNotDisturbEachOther) {
  std::vector<CommandResult> results(4);
  {
    std::vector<std::jthread> all;
    for (auto& result : results) all.emplace_back([&] { result = fail({"--quiet"}); });
  }
  for (const auto& result : results) EXPECT_EQ(result.code, 3) << result.err;
  const auto files = stored();
  ASSERT_THAT(files, Not(IsEmpty()));
  for (const auto& one : files) {
    EXPECT_EQ(house.run({"record", "show", one.file, "--json"}).code, 0) << one.file;
    EXPECT_EQ(json_of(house.run({"record", "show", one.file, "--json"}))["warnings"], Json::array());
  }
  for (const auto& entry : fs::directory_iterator(folder())) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr(".new-")));
  }
}

// N8: without a place for recordings everything works, with one warning.
TEST_F(FailingServer, AStateDirectoryThatCannotBeWrittenIsOneWarning) {
  auto options = house.options();
  house.tree.file("home/no-folder", "a file");
  options.env["XDG_STATE_HOME"] = house.home() + "/no-folder";
  const auto failed = run_program({built("patchbay"), "call", "fake/echo", "text=x"}, options);
  EXPECT_EQ(failed.code, 3);
  const std::string warning = "cannot be kept for later runs";
  const auto first = failed.err.find(warning);
  EXPECT_NE(first, std::string::npos) << failed.err;
  EXPECT_EQ(failed.err.find(warning, first + 1), std::string::npos) << failed.err;
  ASSERT_EQ(run_program({built("patchbay"), "add", "good", "--", built("mode-server"), "good"}, options).code, 0);
  EXPECT_EQ(run_program({built("patchbay"), "call", "good/echo", "text=x"}, options).out, "x\n");
  // The same where only the folder of recordings is none.
  house.tree.directory("home/.local/state/patchbay");
  house.tree.file("home/.local/state/patchbay/recordings", "a file");
  const auto other = fail();
  EXPECT_EQ(other.code, 3);
  EXPECT_THAT(other.err, HasSubstr(warning));
}

// The example of docs/recording.md.
std::string documented_recording() {
  const auto page = content(in_sources("docs/recording.md"));
  const std::string begin = "<!-- example -->\n```jsonl\n";
  const auto from = page.find(begin) + begin.size();
  return page.substr(from, page.find("```", from) - from);
}

// N8: as the page says.
TEST(RecordingPage, ItsExampleWorks) {
  const Household house;
  house.tree.file("project/adder.jsonl", documented_recording());
  const auto run = [&](const std::string& a) {
    return house.run({"--mcp-server", "adder=" + shell_word(built("patchbay")) + " replay adder.jsonl", "call",
                      "adder/add", "a=" + a, "b=2"});
  };
  EXPECT_EQ(run("1").out, "3\n");
  const auto other = run("2");
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("this is a recording of \"adder\", which has no tools/call with these params; it"));
}

// N8: one that was cut in the middle, or has frames of somebody else, is used as far as it goes.
TEST(RecordingPage, ACutRecordingIsUsedAsFarAsItGoes) {
  const Household house;
  const auto whole = documented_recording();
  auto foreign = whole;
  foreign.insert(foreign.find('\n') + 1, "{\"dir\":\"sent\",\"frame\":{\"hello\":1}}\n");
  house.tree.file("project/cut.jsonl", foreign.substr(0, foreign.size() - 30));
  const auto words = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--mcp-server", "adder=" + shell_word(built("patchbay")) + " replay cut.jsonl"});
    return house.run(std::move(more));
  };
  EXPECT_THAT(words({"tools", "adder"}).out, HasSubstr("add"));
  const auto shown = house.run({"record", "show", "cut.jsonl"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.err, AllOf(HasSubstr("line 2 is left out: its frame is no JSON-RPC message"),
                               HasSubstr("the recording breaks off in the middle of it")));
  EXPECT_THAT(shown.out, HasSubstr("tools/call"));
}

TEST(ReplayCommand, SaysWhatIsWrongWithAFile) {
  const Household house;
  house.tree.file("project/other.json", "{\"mcpServers\":{}}");
  house.tree.file("project/newer.jsonl", "{\"patchbayRecording\":2}\n");
  EXPECT_EQ(house.run({"replay"}).code, 2);
  for (const auto& [file, why] : std::map<std::string, std::string>{{"other.json", "this is not a recording"},
                                                                    {"newer.jsonl", "use a newer patchbay"},
                                                                    {"nothing.jsonl", "there is no file"}}) {
    const auto result = house.run({"replay", file});
    EXPECT_EQ(result.code, 2) << file;
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_THAT(result.out, IsEmpty());
  }
  house.tree.file("project/good.jsonl", "{\"patchbayRecording\":1}\n");
  const auto open = house.run({"replay", "good.jsonl", "--http", "0.0.0.0:0"});
  EXPECT_EQ(open.code, 2);
  EXPECT_THAT(open.err, HasSubstr("replay serves only this machine"));
  const auto none = house.run({"record", "export", "nobody"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("there is no recording of \"nobody\""), HasSubstr("patchbay session start")));
  EXPECT_THAT(house.run({"record", "list"}).out, HasSubstr("There are no recordings."));
}

}  // namespace
}  // namespace patchbay::test
