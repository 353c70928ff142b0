// The binary as people and scripts use it, against a server that misbehaves in one way at a
// time. L1 L5 W7 X1 X3.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/json.h>

#include "support/command.h"
#include "support/household.h"
#include "support/places.h"

namespace patchbay {
namespace {

using test::CommandOptions;
using test::CommandResult;
using test::json_of;
using test::mode_server_file;
using test::run_program;
using test::TemporaryDirectory;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string program = test::built("patchbay");
const std::string fake = test::built("mode-server");

CommandResult patchbay(std::vector<std::string> words, CommandOptions options = {}) {
  words.insert(words.begin(), program);
  return run_program(words, options);
}

CommandResult with_server(const std::string& mode, std::vector<std::string> words, CommandOptions options = {}) {
  words.insert(words.begin(), {"--mcp-config", mode_server_file(mode), "--strict-mcp-config"});
  return patchbay(std::move(words), std::move(options));
}

TEST(Cli, VersionAndHelpNeedNothing) {
  EXPECT_THAT(patchbay({"--version"}).out, StartsWith("patchbay 0."));
  auto version = patchbay({"--version", "--json"});
  EXPECT_TRUE(json_of(version)["version"].is_string());
  auto help = patchbay({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("Examples:"), HasSubstr("--mcp-config"), HasSubstr("call")));
  EXPECT_THAT(patchbay({"call", "--help"}).out, HasSubstr("key=value"));
}

TEST(Cli, UsageErrorsNameTheMistakeAndTheWayOut) {
  auto unknown = patchbay({"tolls"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("did you mean \"tools\""), HasSubstr("patchbay --help")));
  EXPECT_EQ(patchbay({"call"}).code, 2);
  EXPECT_EQ(patchbay({"tools", "--no-such-flag"}).code, 2);
}

TEST(Cli, WithoutConfigurationTheBuiltInServerIsOffered) {
  TemporaryDirectory empty;
  auto overview = patchbay({}, {.cwd = empty.path()});
  EXPECT_EQ(overview.code, 0) << overview.err;
  EXPECT_THAT(overview.out,
              AllOf(HasSubstr("mcp__patchbay__read_file"), HasSubstr("Next:"), HasSubstr("patchbay call")));
  EXPECT_EQ(overview.err, "");
  EXPECT_THAT(overview.out, Not(HasSubstr("run_command")));
  EXPECT_THAT(patchbay({"--allow-run", "tools"}, {.cwd = empty.path()}).out, HasSubstr("mcp__patchbay__run_command"));
  empty.write("note.txt", "hello\n");
  auto read = patchbay({"call", "read_file", "path=note.txt"}, {.cwd = empty.path()});
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr("hello"));
}

TEST(Cli, ToolsAsJsonHaveThePromisedShape) {
  auto result = with_server("good", {"tools", "--json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  auto json = json_of(result);
  auto server = json["servers"].as_array().at(0);
  EXPECT_EQ(
      server,
      Json({{"name", "fake"},
            {"state", "connected"},
            {"reason", ""},
            {"era", "legacy"},
            {"protocolVersion", "2025-11-25"},
            {"serverInfo", {{"name", "mode-server"}, {"version", "1.0"}}},
            {"capabilities", {{"prompts", Json::object()}, {"resources", Json::object()}, {"tools", Json::object()}}},
            {"toolCount", 6},
            {"error", nullptr},
            {"errorDetail", nullptr}}));
  auto tool = json["tools"].as_array().at(0);
  EXPECT_EQ(tool["name"], Json("mcp__fake__add"));
  EXPECT_EQ(tool["server"], Json("fake"));
  EXPECT_EQ(tool["tool"], Json("add"));
  EXPECT_EQ(tool["description"], Json("The add tool"));
  EXPECT_EQ(tool["inputSchema"]["required"], Json::array({"a", "b"}));
  EXPECT_TRUE(tool.find("annotations"));
}

TEST(Cli, CallTakesEverySpellingOfAToolAndOfItsArguments) {
  EXPECT_EQ(with_server("good", {"call", "mcp__fake__add", "a=2", "b=40"}).out, "42\n");
  EXPECT_EQ(with_server("good", {"call", "fake/add", "a:=2", "b=40"}).out, "42\n");
  EXPECT_EQ(with_server("good", {"call", "add", "{\"a\":2,\"b\":40}"}).out, "42\n");
  EXPECT_EQ(with_server("good", {"call", "add", "-"}, {.input = "{\"a\":2,\"b\":40}"}).out, "42\n");
  TemporaryDirectory directory;
  auto file = directory.write("text", "from a file");
  EXPECT_EQ(with_server("good", {"call", "echo", "text=@" + file}).out, "from a file\n");
  auto json = json_of(with_server("good", {"call", "--json", "echo", "text=hi"}));
  EXPECT_EQ(json["content"].as_array().at(0)["text"], Json("hi"));
}

TEST(Cli, WrongCallsSayWhatWasExpected) {
  auto unknown = with_server("good", {"call", "ad"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("add"));
  auto type = with_server("good", {"call", "add", "a=two", "b=1"});
  EXPECT_EQ(type.code, 2);
  EXPECT_THAT(type.err, AllOf(HasSubstr("a"), HasSubstr("integer")));
  auto array = with_server("good", {"call", "add", "-"}, {.input = "[1,2]"});
  EXPECT_EQ(array.code, 2);
  EXPECT_THAT(array.err, HasSubstr("object"));
}

// W3: what does not fit is not sent, and the message ends in how to find out what does.
TEST(Cli, ArgumentsThatDoNotFitAreListedWithTheirRemedy) {
  auto missing = with_server("good", {"call", "add"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err,
              AllOf(HasSubstr(R"("add" needs a, b. For example:)"), HasSubstr("  patchbay call fake/add a=1 b=2\n"),
                    HasSubstr("patchbay tools fake/add\n")));
  auto type = with_server("good", {"call", "add", R"({"a":"x","b":1})", "--json"});
  EXPECT_EQ(type.code, 2);
  EXPECT_EQ(json_of(type)["error"]["code"], Json("invalid_argument"));
  EXPECT_THAT(json_of(type)["error"]["message"].as_text(), HasSubstr("/a: expected integer, found string (type)"));
  EXPECT_THAT(with_server("good", {"call", "add", "a=two"}).err, HasSubstr("`patchbay tools fake/add`"));
  EXPECT_EQ(with_server("good", {"--no-check", "call", "echo", R"({"text":"x","more":1})"}).out, "x\n");
}

TEST(Cli, FailedToolsAndServersHaveTheirOwnExitCodes) {
  auto failed = with_server("good", {"call", "fail"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.out, "the tool failed\n");
  auto boom = with_server("good", {"call", "boom", "--json"});
  EXPECT_EQ(boom.code, 1);
  auto error = json_of(boom)["error"];
  EXPECT_EQ(error["code"], Json("rpc"));
  EXPECT_EQ(error["rpcCode"], Json(-32050));
  EXPECT_EQ(error["rpcData"], Json({{"why", "asked to"}}));
  EXPECT_EQ(with_server("exits-at-once", {"tools"}).code, 3);
}

TEST(Cli, NothingIsPrintedAboutProgressOnAPipe) {
  auto slow = with_server("good", {"--quiet", "call", "slow"});
  EXPECT_EQ(slow.out, "done\n");
  EXPECT_EQ(slow.err, "");
}

// On a pipe the bytes are the server's; a terminal gets them cleaned (terminal_test).
TEST(Cli, PipedOutputIsByteExact) {
  EXPECT_EQ(with_server("good", {"call", "raw"}).out,
            "plain \033[31mred\033[0m \xE2\x80\xAE"
            "desrever\n");
}

TEST(Cli, ResourcesAndPromptsAreListedAndShown) {
  auto resources = json_of(with_server("good", {"resources", "--json"}));
  EXPECT_EQ(resources["resources"].as_array().at(0),
            Json({{"server", "fake"}, {"uri", "mode://one"}, {"name", "one"}}));
  EXPECT_EQ(with_server("good", {"read", "mode://one"}).out, "first line\n");
  EXPECT_EQ(with_server("good", {"read", "fake", "mode://one"}).out, "first line\n");
  EXPECT_THAT(with_server("good", {"prompts"}).out, HasSubstr("mcp__fake__greet"));
  EXPECT_EQ(with_server("good", {"prompt", "greet", "who=Ada"}).out, "user: Hello Ada\n");
  EXPECT_THAT(with_server("good", {"prompt", "gret"}).err, HasSubstr("did you mean"));
}

struct BadServer {
  const char* mode;
  std::vector<std::string> words;
  int code;
  std::vector<const char*> says;  // all of these, on stderr
};

class BadServers : public testing::TestWithParam<BadServer> {};

TEST_P(BadServers, EndInAClearErrorAndTheRightExitCode) {
  const auto& bad = GetParam();
  const bool silent = bad.mode == std::string_view("never-answers") || bad.mode == std::string_view("garbage");
  auto result = with_server(bad.mode, bad.words, {.env = {{"MCP_TIMEOUT", silent ? "1500" : "30000"}}});
  EXPECT_EQ(result.code, bad.code) << result.out << result.err;
  for (const char* text : bad.says) EXPECT_THAT(result.err, HasSubstr(text));
}

INSTANTIATE_TEST_SUITE_P(
    Cli, BadServers,
    testing::Values(
        BadServer{"exits-at-once",
                  {"call", "fake/echo", "text=x"},
                  3,
                  {"exited with status 3", "configuration missing: set API_KEY"}},
        BadServer{"never-answers", {"call", "fake/echo", "text=x"}, 3, {"no answer", "MCP_TIMEOUT"}},
        BadServer{
            "garbage",
            {"call", "fake/echo", "text=x"},
            3,
            {"no answer from",
             "on stdout that is not JSON-RPC, such as \"<html>not this</html>\"; stdout is only for the protocol"}},
        BadServer{"string-ids", {"call", "fake/echo", "text=x"}, 3, {"string id"}},
        BadServer{"answers-twice", {"call", "fake/echo", "text=x"}, 0, {}},
        BadServer{"junk", {"call", "fake/echo", "text=x"}, 0, {}},
        BadServer{"exits-on-call",
                  {"call", "fake/echo", "text=x"},
                  3,
                  {"patchbay: fake/echo: the server exited with status 7 (the request may have been carried out; check "
                   "before "
                   "repeating it)\n",
                   "last words"}},
        BadServer{"closes-on-call", {"call", "fake/echo", "text=x"}, 3, {"closed its output"}},
        BadServer{
            "silent-on-call",
            {"--timeout", "0.3", "call", "fake/echo", "text=x"},
            3,
            {"patchbay: fake/echo: no answer to tools/call within 300 ms (the request may have been carried out; check "
             "before repeating it); to wait longer: --timeout SECONDS"}},
        BadServer{"garbage-on-call",
                  {"call", "fake/echo", "text=x"},
                  3,
                  {"patchbay: fake/echo: the server broke the protocol: the answer is not valid JSON-RPC"}},
        BadServer{"error-on-call",
                  {"call", "fake/echo", "text=x"},
                  1,
                  {"patchbay: fake/echo: the server answered with error -32001: quota (the request may have been "
                   "carried out; check "
                   "before repeating it)\n"}},
        BadServer{"bad-utf8-on-call", {"call", "fake/echo", "text=x"}, 3, {"UTF-8"}},
        BadServer{"null-schema", {"call", "fake/odd"}, 0, {}},
        BadServer{"pages", {"tools", "--log-level", "warning"}, 0, {"more than 1000 pages"}},
        BadServer{"repeated-cursor", {"tools", "--log-level", "warning"}, 0, {"repeated a cursor"}},
        BadServer{"huge-cursor", {"tools", "--log-level", "warning"}, 0, {"cursor of 70000 bytes"}}),
    [](const auto& instance) {
      std::string name = instance.param.mode;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(Cli, MissingCommandIsNamedWithItsRemedy) {
  auto result = patchbay({"--mcp-config", R"({"gone":{"command":"no-such-program-here"}})", "call", "gone/x"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("[mcp] Failed to connect to \"gone\": command not found: no-such-program-here"),
                    HasSubstr("directories of PATH); install it"), Not(HasSubstr("/usr/bin"))));
  auto line = patchbay({"--mcp-config", R"({"gone":{"command":"sh -c x"}})", "call", "gone/x"});
  EXPECT_THAT(line.err, HasSubstr(R"(write "command": "sh", "args": ["-c", "x"])"));
}

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// L5: once, on stderr, whatever was asked for.
TEST(Cli, AFailureIsReportedOnce) {
  for (const auto& words : {std::vector<std::string>{"call", "fake/echo", "text=x"},
                            {"call", "no_such_tool"},
                            {"tools"},
                            {"tools", "fake"},
                            {"tools", "fake/echo"},
                            {"resources"},
                            {"prompt", "greet"},
                            {"read", "fake", "demo://x"},
                            {}}) {
    auto result = with_server("exits-at-once", words);
    SCOPED_TRACE(testing::PrintToString(words));
    EXPECT_EQ(times(result.out + result.err, "exited with status 3"), 1u) << result.out << result.err;
    EXPECT_EQ(times(result.out + result.err, "set API_KEY"), 1u) << result.out << result.err;
    EXPECT_THAT(result.err, HasSubstr("[mcp] Failed to connect to \"fake\": it exited with status 3\n"));
  }
  auto quiet = with_server("exits-at-once", {"--quiet", "tools"});
  EXPECT_EQ(times(quiet.out + quiet.err, "exited with status 3"), 1u) << quiet.out << quiet.err;
  // Programs read it where they read everything else, with the name of the server.
  const auto json = json_of(with_server("exits-at-once", {"--json", "call", "fake/echo", "text=x"}));
  EXPECT_EQ(json["error"]["message"], Json("server \"fake\" exited with status 3"));
  const auto silent = json_of(
      with_server("never-answers", {"--json", "call", "fake/echo", "text=x"}, {.env = {{"MCP_TIMEOUT", "300"}}}));
  EXPECT_THAT(silent["error"]["message"].as_text(), testing::StartsWith("server \"fake\": no answer from "));
}

TEST(Cli, OneBadServerNeverHurtsAnother) {
  auto config = to_text(Json{{"good", {{"command", fake}, {"args", Json::array({"good"})}}},
                             {"bad", {{"command", fake}, {"args", Json::array({"exits-at-once"})}}},
                             {"gone", {{"command", "/no/such/file"}}}});
  auto result = patchbay({"--mcp-config", config, "--strict-mcp-config", "tools", "--json"});
  EXPECT_EQ(result.code, 0);
  auto servers = json_of(result)["servers"];
  std::map<std::string, std::string> states;
  for (const auto& server : servers.as_array())
    states[std::string(server["name"].as_text())] = std::string(server["state"].as_text());
  EXPECT_EQ(states, (std::map<std::string, std::string>{{"good", "connected"}, {"bad", "failed"}, {"gone", "failed"}}));
  EXPECT_EQ(json_of(result)["tools"].size(), 6u);
  EXPECT_EQ(patchbay({"--mcp-config", config, "--strict-mcp-config", "tools", "bad"}).code, 3);
  // One that is required makes the whole run fail.
  auto required = config;
  const std::string_view command = R"("command":"/no/such/file")";
  ASSERT_NE(required.find(command), std::string::npos) << config;
  required.insert(required.find(command), R"("required":true,)");
  EXPECT_EQ(patchbay({"--mcp-config", required, "--strict-mcp-config", "tools", "--json"}).code, 3);
}

// compat: C10.a, B5.13
TEST(Cli, OneServerCanBeGivenOnTheCommandLine) {
  auto command =
      patchbay({"--mcp-server", "one=" + std::string(fake) + " good", "--strict-mcp-config", "tools", "--json"});
  EXPECT_EQ(command.code, 0) << command.err;
  EXPECT_EQ(json_of(command)["servers"].as_array().at(0)["name"].as_text(), "one");
  const auto entry = to_text(Json{{"command", fake}, {"args", Json::array({"good"})}});
  EXPECT_EQ(patchbay({"--mcp-server", "two=" + entry, "--strict-mcp-config", "call", "two/echo", "text=x"}).out, "x\n");
  auto wrong = patchbay({"--mcp-server", "nothing", "--strict-mcp-config", "tools"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("write NAME=URL"));
  TemporaryDirectory directory;
  directory.write("plugin/.mcp.json", to_text(Json{{"s", {{"command", fake}, {"args", Json::array({"good"})}}}}));
  auto plugin =
      patchbay({"--plugin-dir", "plugin", "call", "mcp__plugin_plugin_s__echo", "text=y"}, {.cwd = directory.path()});
  EXPECT_EQ(plugin.out, "y\n") << plugin.err;
  auto denied = patchbay({"--plugin-dir", "plugin", "--settings",
                          R"({"deniedMcpServers":[{"serverName":"plugin:plugin:s"}]})", "tools", "--json"},
                         {.cwd = directory.path()});
  EXPECT_EQ(json_of(denied)["servers"].as_array().at(0)["reason"].as_text(), "policy") << denied.out;
}

// Only the server that is needed is started. L1.
TEST(Cli, CallStartsOnlyTheServerItNeeds) {
  TemporaryDirectory directory;
  auto entry = [&](const std::string& name) {
    return Json{{"command", fake}, {"args", Json::array({"good", directory.path() + "/" + name})}};
  };
  auto config = to_text(Json{{"one", entry("one")}, {"two", entry("two")}});
  EXPECT_EQ(patchbay({"--mcp-config", config, "call", "one/echo", "text=x"}).out, "x\n");
  EXPECT_TRUE(std::ifstream(directory.path() + "/one").good());
  EXPECT_FALSE(std::ifstream(directory.path() + "/two").good());
  auto ambiguous = patchbay({"--mcp-config", config, "call", "echo", "text=x"});
  EXPECT_EQ(ambiguous.code, 2);
  EXPECT_THAT(ambiguous.err, AllOf(HasSubstr("one/echo"), HasSubstr("two/echo")));
}

TEST(Cli, BrokenFileIsReportedWithLineAndColumnAndNothingIsStarted) {
  TemporaryDirectory project;
  project.write(".mcp.json", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\" \"args\": []}\n  }\n}\n");
  auto result = patchbay({"tools"}, {.cwd = project.path()});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr(".mcp.json:3:"));
  auto json = patchbay({"tools", "--json"}, {.cwd = project.path()});
  EXPECT_EQ(json_of(json)["error"]["code"], Json("config"));
}

TEST(Cli, ProjectServersAwaitApproval) {
  TemporaryDirectory project;
  project.write(".mcp.json", mode_server_file("good", project.path() + "/started"));
  auto result = patchbay({"tools", "--json"}, {.cwd = project.path()});
  auto server = json_of(result)["servers"].as_array().at(0);
  EXPECT_EQ(server["state"], Json("pending"));
  EXPECT_EQ(server["reason"], Json("awaiting approval"));
  EXPECT_FALSE(std::ifstream(project.path() + "/started").good());
  auto call = patchbay({"call", "fake/echo", "text=x"}, {.cwd = project.path()});
  EXPECT_EQ(call.code, 2);
  EXPECT_THAT(call.err, AllOf(HasSubstr("patchbay approve fake"), HasSubstr("--trust-project")));
  EXPECT_FALSE(std::ifstream(project.path() + "/started").good());
  EXPECT_EQ(patchbay({"--trust-project", "call", "fake/echo", "text=x"}, {.cwd = project.path()}).out, "x\n");
}

TEST(Cli, TraceShowsTrafficWithoutSecrets) {
  auto result = with_server("good", {"--trace", "call", "echo", R"({"text":"x","api_key":"sk-12345"})"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, AllOf(HasSubstr("fake -> "), HasSubstr("fake <- "), HasSubstr("tools/call"),
                                HasSubstr("[redacted]"), Not(HasSubstr("sk-12345"))));
}

// The reader is gone before the first byte is written.
TEST(Cli, ReaderThatLeavesIsNotAnError) {
  auto result = run_program({"/bin/bash", "-c",
                             "set -o pipefail; " + program + " --quiet --mcp-config '" + mode_server_file("good") +
                                 "' --strict-mcp-config tools | true"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
}

TEST(Cli, OneToolIsShownWhole) {
  auto page = with_server("good", {"tools", "fake/add"});
  EXPECT_EQ(page.code, 0);
  EXPECT_THAT(page.out,
              AllOf(HasSubstr("mcp__fake__add"), HasSubstr("The add tool"), HasSubstr("a  integer  (required)")));
  EXPECT_EQ(json_of(with_server("good", {"tools", "mcp__fake__add", "--json"}))["tool"], Json("add"));
}

TEST(Cli, ErrorsAreJsonWhereverTheyComeFrom) {
  EXPECT_EQ(json_of(patchbay({"tolls", "--json"}))["error"]["code"], Json("invalid_argument"));
  EXPECT_EQ(json_of(patchbay({"tools", "--json", "--root", "/no/such/place"}))["error"]["code"],
            Json("invalid_argument"));
}

TEST(Cli, FailuresAreReportedEvenWhenQuietAndNextToWhatWasAskedFor) {
  auto quiet = with_server("exits-at-once", {"--quiet", "resources"});
  EXPECT_EQ(quiet.code, 3);
  EXPECT_THAT(quiet.err, HasSubstr("exited with status 3"));
  auto prompt = with_server("exits-at-once", {"--quiet", "prompt", "greet"});
  EXPECT_THAT(prompt.err, AllOf(HasSubstr("there is no prompt called \"greet\""), HasSubstr("exited with status 3")));
  auto json = json_of(with_server("exits-at-once", {"resources", "--json"}));
  EXPECT_EQ(json["servers"].as_array().at(0)["state"], Json("failed"));
  EXPECT_THAT(with_server("exits-at-once", {"tools"}).out, HasSubstr("fake  failed  connect failed\n"));
}

TEST(Cli, SecretsOfAnEntryAppearInNoMessage) {
  auto config =
      to_text(Json{{"s",
                    {{"command", fake},
                     {"args", Json::array({"never-answers", "", "--header", "Authorization: Bearer ${TEST_TOKEN}"})},
                     {"env", {{"API_TOKEN", "env-secret-77"}}}}}});
  auto result = patchbay({"--mcp-config", config, "--strict-mcp-config", "--trace", "call", "s/echo"},
                         {.env = {{"MCP_TIMEOUT", "300"}, {"TEST_TOKEN", "arg-secret-55"}}});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("no answer from"), Not(HasSubstr("arg-secret-55")), Not(HasSubstr("env-secret-77"))));
}

TEST(Cli, UnsetVariablesAreNamed) {
  auto config = to_text(Json{{"s", {{"command", fake}, {"args", Json::array({"good", "${NOT_SET_ANYWHERE}"})}}}});
  TemporaryDirectory directory;
  auto result = patchbay({"--mcp-config", config, "--strict-mcp-config", "tools"}, {.cwd = directory.path()});
  EXPECT_THAT(result.err, HasSubstr("NOT_SET_ANYWHERE"));
}

TEST(Cli, OddTimeoutsAreKeptWithinBounds) {
  EXPECT_EQ(with_server("good", {"--timeout", "1e300", "call", "fake/echo", "text=x"}).out, "x\n");
  EXPECT_EQ(with_server("good", {"--timeout", "-1", "tools"}).code, 2);
}

// N1: the binary remembers between runs that a server is an older one; nothing of the server
// can be read in that file.
TEST(Cli, AnOlderServerIsAskedOnceWhetherItIsOne) {
  TemporaryDirectory directory;
  std::filesystem::copy_file(fake, directory.path() + "/server");
  const auto log = directory.path() + "/log";
  const auto config = to_text(Json{{"mcpServers",
                                    {{"fake",
                                      {{"command", directory.path() + "/server"},
                                       {"args", Json::array({"good"})},
                                       {"env", {{"MODE_SERVER_LOG", log}, {"API_TOKEN", "hunter2"}}}}}}}});
  auto asked = [&] {
    std::filesystem::remove(log);
    auto result = patchbay({"--mcp-config", config, "--strict-mcp-config", "call", "add", "a=2", "b=40"},
                           {.cwd = "", .input = "", .env = {{"XDG_CACHE_HOME", directory.path() + "/cache"}}});
    EXPECT_EQ(result.out, "42\n") << result.err;
    std::ifstream file(log);
    std::string first, second;
    std::getline(file, first);
    std::getline(file, second);
    return first + " " + second;
  };
  EXPECT_EQ(asked(), "server/discover initialize");
  EXPECT_EQ(asked(), "initialize notifications/initialized");
  EXPECT_EQ(asked(), "initialize notifications/initialized");
  const auto memory = directory.path() + "/cache/patchbay/older-servers.json";
  std::ifstream file(memory);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_THAT(text.str(), AllOf(Not(HasSubstr("hunter2")), Not(HasSubstr("server\"")), HasSubstr("learned")));
  EXPECT_EQ(std::filesystem::status(memory).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  // Another program under the same name.
  std::filesystem::remove(directory.path() + "/server");
  std::filesystem::copy_file(fake, directory.path() + "/server");
  EXPECT_EQ(asked(), "server/discover initialize");
  std::ofstream(memory, std::ios::trunc) << "rubbish";
  EXPECT_EQ(asked(), "server/discover initialize");
  EXPECT_EQ(asked(), "initialize notifications/initialized");
}

TEST(Cli, LogFileIsForItsOwnerAndItsDirectoryMustExist) {
  TemporaryDirectory directory;
  const auto file = directory.path() + "/log";
  EXPECT_EQ(with_server("good", {"--log-file", file, "--trace", "tools"}).code, 0);
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(with_server("good", {"--log-file", directory.path() + "/none/log", "tools"}).code, 2);
}

struct Slip {
  const char* name;
  std::vector<std::string> words;
  std::string said;
};
void PrintTo(const Slip& slip, std::ostream* out) { *out << slip.name; }

class SlipOfTheKeyboard : public testing::TestWithParam<Slip> {};

TEST_P(SlipOfTheKeyboard, IsReportedWithWhatWasMeant) {
  const auto result = patchbay(GetParam().words);
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_THAT(result.err, HasSubstr(GetParam().said));
  EXPECT_EQ(result.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Table, SlipOfTheKeyboard,
    testing::Values(
        Slip{"Command", {"calll"}, "unknown command \"calll\"; did you mean \"call\"?"},
        Slip{"BehindAFlag", {"-q", "calll"}, "unknown command \"calll\"; did you mean \"call\"?"},
        Slip{"BehindAFlagWithValue",
             {"--timeout", "3", "calll", "x"},
             "unknown command \"calll\"; did you mean \"call\"?"},
        Slip{"InMcp", {"-q", "mcp", "lst"}, "unknown command \"mcp lst\"; did you mean \"mcp list\"?"},
        Slip{"Flag", {"list", "--chekc"}, "there is no flag \"--chekc\"; did you mean \"--check\"?"},
        Slip{"FlagWithValue", {"list", "--scop=user"}, "there is no flag \"--scop\"; did you mean \"--scope\"?"},
        Slip{"GlobalFlag", {"tools", "--jsno"}, "there is no flag \"--jsno\"; did you mean \"--json\"?"},
        Slip{"FlagAlone", {"--jsno"}, "there is no flag \"--jsno\"; did you mean \"--json\"?"},
        Slip{"FlagOfAnother", {"tools", "--scope", "user"}, "\"tools\" takes no flag \"--scope\""},
        Slip{"Choice", {"list", "--scope", "projct"}, "did you mean \"project\"?"},
        Slip{"HelpOfTheCommand", {"list", "--chekc"}, "Run `patchbay list --help`"},
        Slip{"HelpOfNoCommand", {"calll", "--help"}, "unknown command \"calll\"; did you mean \"call\"?"},
        Slip{"NoValue", {"serve", "--http"}, "--http needs an address: patchbay serve --http 127.0.0.1:8080\n"},
        Slip{"NoWord", {"call"}, "\"call\" needs a tool: patchbay call TOOL key=value\n"},
        Slip{"Argument", {"call", "ev/sum", "--a", "1"}, "arguments are written key=value: a=VALUE"},
        Slip{"FlagBeforeTheCommand",
             {"--setings", "x", "list"},
             "there is no flag \"--setings\"; did you mean \"--settings\"?"},
        Slip{"FlagOfACommandBeforeIt",
             {"--scpe", "user", "list"},
             "there is no flag \"--scpe\"; did you mean \"--scope\"?"},
        Slip{"FlagOfTheCommandBeforeIt",
             {"--scope", "local", "list"},
             "\"--scope\" is a flag of \"list\"; write it after the command: patchbay list --scope local\n"},
        Slip{"FlagOfTheCommandBeforeItInMcp",
             {"-q", "mcp", "--scope=local", "list"},
             "\"--scope\" is a flag of \"mcp list\"; write it after the command: patchbay mcp list --scope=local\n"},
        Slip{"CommandBehindARule",
             {"--allowedTools", "mcp__a__b", "tool"},
             "unknown command \"tool\"; did you mean \"tools\"?\n"},
        Slip{"FlagOfAdd",
             {"add", "--trnsport", "http", "a", "b"},
             "there is no flag \"--trnsport\"; did you mean \"--transport\"?\n"},
        Slip{"FlagBehindTheNameOfAdd",
             {"add", "a", "b", "--trnsport", "http"},
             "did you mean \"--transport\"? If it is a flag of the server, write -- before the command of the server"},
        Slip{"SwappedLetters", {"--chekc", "list"}, "there is no flag \"--chekc\"; did you mean \"--check\"?"},
        Slip{"SeveralRules",
             {"--allowedTools", "Bash", "Read", "tools"},
             "write several rules as one word: --allowedTools 'Bash Read'"},
        Slip{"ModeOfAnother",
             {"--permission-mode", "plan", "tools"},
             "patchbay has no mode plan; --permission-mode dontAsk refuses"},
        Slip{"ModeMisspelt", {"--permission-mode", "dontask", "tools"}, "did you mean \"dontAsk\"?"},
        Slip{"SignIn", {"mcp", "login"}, "\"login\" needs the name of a server: patchbay mcp login SERVER"}),
    [](const auto& info) { return info.param.name; });

// As the other client takes them: no full name of a tool is a command.
TEST(Cli, SeveralRulesMayComeBeforeTheCommand) {
  const auto result =
      with_server("good", {"--disallowedTools", "mcp__fake__add", "mcp__fake__fail", "tools", "--json"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("mcp__fake__echo"), Not(HasSubstr("mcp__fake__add")), Not(HasSubstr("mcp__fake__fail"))));
  EXPECT_THAT(patchbay({"--help"}).out, Not(HasSubstr("plan")));
  EXPECT_THAT(patchbay({"--permission-mode", "plna", "tools"}).err, Not(HasSubstr("did you mean")));
}

TEST(Cli, OneToolIsOneTool) {
  EXPECT_THAT(with_server("one-tool", {"tools", "-v"}).err, HasSubstr("[mcp] Connected to \"fake\" — 1 tool\n"));
  EXPECT_THAT(with_server("one-tool", {"tools"}).err, Not(HasSubstr("[mcp] Connected")));
}

TEST(Cli, HelpAndVersionAreWords) {
  EXPECT_EQ(patchbay({"help"}).out, patchbay({"--help"}).out);
  EXPECT_EQ(patchbay({"help", "mcp", "add"}).out, patchbay({"mcp", "add", "--help"}).out);
  EXPECT_EQ(patchbay({"version"}).out, patchbay({"--version"}).out);
  EXPECT_EQ(patchbay({"-V"}).out, patchbay({"--version"}).out);
  EXPECT_THAT(patchbay({"help", "calll"}).err, HasSubstr("did you mean \"call\"?"));
}

class UnusableFlag : public testing::TestWithParam<Slip> {};

// Whoever names a source asks for it, and must not get everything else instead.
TEST_P(UnusableFlag, EndsEveryCommand) {
  TemporaryDirectory project;
  for (const std::string command : {"tools", "list", ""}) {
    auto words = GetParam().words;
    if (!command.empty()) words.push_back(command);
    const auto result = patchbay(words, {.cwd = project.path()});
    EXPECT_EQ(result.code, 2) << command << result.out;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(HasSubstr(GetParam().said), Not(HasSubstr("fix the file"))));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, UnusableFlag,
    testing::Values(
        Slip{"NoFile", {"--mcp-config", "no.json"}, "--mcp-config: no.json cannot be read"},
        Slip{"BadJson", {"--mcp-config", "{\"a\":"}, "--mcp-config: 1:6: "},
        Slip{"BadEntry",
             {"--mcp-config", R"({"a":{"comand":"x"}})"},
             "--mcp-config: 1:6: MCP server \"a\": expected a \"command\""},
        Slip{"BadServer", {"--mcp-server", "foo"}, "--mcp-server: \"foo\" has no \"=\""},
        Slip{"NoSettings", {"--settings", "no.json"}, "--settings: no.json cannot be read: there is no such file"},
        Slip{"NoDirectory", {"--plugin-dir", "/nope"}, "--plugin-dir: /nope is not a directory"}),
    [](const auto& info) { return info.param.name; });

TEST(Cli, AMisspeltArgumentIsNotSent) {
  auto slip = with_server("good", {"call", "echo", "text=x", "txet=y"});
  EXPECT_EQ(slip.code, 0) << "nothing else can have been meant: " << slip.err;
  EXPECT_THAT(slip.err, HasSubstr("warning: the tool has no argument \"txet\""));
  auto meant = with_server("good", {"call", "echo", "txt=x"});
  EXPECT_EQ(meant.code, 2);
  EXPECT_THAT(meant.err, HasSubstr("the tool has no argument \"txt\"; did you mean \"text\"?"));
}

TEST(Cli, AServerInPlaceOfAToolIsReported) {
  for (const auto& words :
       {std::vector<std::string>{"call", "fake", "echo", "text=x"}, {"call", "fake.echo", "text=x"}}) {
    const auto called = with_server("good", words);
    EXPECT_EQ(called.code, 0) << called.err;
    EXPECT_THAT(called.out, HasSubstr("x"));
  }
  for (const auto& words : {std::vector<std::string>{"tools", "fake", "echo"}, {"tools", "fake.echo"}}) {
    EXPECT_THAT(with_server("good", words).out, StartsWith("mcp__fake__echo\n"));
  }
  EXPECT_THAT(with_server("good", {"call", "fake", "text=x"}).err, HasSubstr("patchbay call fake/TOOL"));
  EXPECT_THAT(with_server("good", {"read", "fake"}).err, HasSubstr("patchbay read fake URI"));
  EXPECT_EQ(with_server("good", {"call", "fake/echo", "--", "text=x"}).out, "x\n");
  EXPECT_THAT(
      with_server("good", {"tools", "fake/nosuch"}).err,
      HasSubstr("there is no tool called \"fake/nosuch\"; to list the tools of the server: patchbay tools fake"));
  EXPECT_THAT(patchbay({"tools", "--help"}).out, HasSubstr("server/tool"));
  auto nobody = with_server("good", {"tools", "fak"});
  EXPECT_EQ(nobody.code, 2);
  EXPECT_THAT(nobody.err, HasSubstr("there is no server called \"fak\"; did you mean \"fake\"? If it is a tool: "));
  EXPECT_THAT(
      with_server("good", {"tools", "nothing"}).err,
      HasSubstr("there is no server called \"nothing\"; the servers are fake; if it is a tool: patchbay tools fake "
                "nothing"));
}

TEST(Cli, PromptsAreCheckedBeforeTheyAreAskedFor) {
  auto unknown = with_server("good", {"prompt", "greet", "wo=Ada"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean \"who\"?"));
  EXPECT_THAT(with_server("good", {"prompt", "fake/gret"}).err, HasSubstr("did you mean \"fake/greet\"?"));
}

TEST(Cli, AnAtSignIsAFileAndTheTextIsExplained) {
  auto result = with_server("good", {"call", "echo", "text=@bob"});
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("if you mean the text itself, write 'text:=\"@bob\"'"));
  EXPECT_EQ(with_server("good", {"call", "echo", "text=@-"}, {.input = "piped"}).out, "piped\n");
}

// X1: what was read until then is not what was meant.
TEST(Cli, WhoInterruptsWhileAnArgumentIsReadMakesNoCall) {
  TemporaryDirectory directory;
  const auto servers = to_text(
      Json{{"mcpServers",
            {{"fake", {{"command", "sh"}, {"args", Json::array({"-c", "tee requests | exec " + fake + " good"})}}}}}});
  const auto done = run_program({"/bin/sh", "-c",
                                 R"(mkfifo in requests; exec 3<>in
          "$0" --strict-mcp-config --mcp-config "$1" call fake/echo text=@- < in & pid=$!
          exec 4< requests
          while read -r line <&4; do case $line in *tools/list*) break ;; esac; done
          echo half >&3
          kill -TERM $pid; wait $pid; echo "code $?"
          grep -c tools/call <&4)",
                                 program, servers},
                                {.cwd = directory.path()});
  EXPECT_EQ(done.out, "code 143\n0\n") << done.err;
}

// What nobody gave us is not one of our own.
TEST(Cli, ClosedDescriptorsStayClosedToEverybody) {
  TemporaryDirectory directory;
  const auto without = [&](const std::string& closed, std::vector<std::string> words) {
    std::vector<std::string> all{"/bin/sh", "-c", "exec \"$0\" \"$@\" " + closed, program};
    all.insert(all.end(), words.begin(), words.end());
    return run_program(all, {.cwd = directory.path()});
  };
  const std::vector<std::string> call{"--strict-mcp-config",
                                      "--mcp-config",
                                      mode_server_file("good"),
                                      "--log-file",
                                      "log",
                                      "--log-level",
                                      "debug",
                                      "call",
                                      "fake/echo",
                                      "text=ANSWER"};
  const auto unheard = without(">&-", call);
  EXPECT_EQ(unheard.code, 3) << unheard.err;
  EXPECT_THAT(unheard.err, HasSubstr("cannot write to standard output"));
  std::ifstream log(directory.path() + "/log");
  std::stringstream logged;
  logged << log.rdbuf();
  EXPECT_THAT(logged.str(), AllOf(HasSubstr("server="), Not(HasSubstr("ANSWER"))));
  EXPECT_EQ(without("2>&-", call).out, "ANSWER\n");
  EXPECT_EQ(without("<&-", {"acp"}).code, 0);
  EXPECT_EQ(without("<&-", {"serve"}).code, 0);
}

TEST(Cli, WhatNoScriptMeansIsSaidBeforeAnythingIsCalled) {
  const auto unset = with_server("good", {"call", "", "text=a"});
  EXPECT_EQ(unset.code, 2);
  EXPECT_THAT(unset.err, HasSubstr("the name of the tool is empty"));
  const auto bytes = with_server("good", {"call", "echo", "text=caf\xe9"});
  EXPECT_EQ(bytes.code, 2);
  EXPECT_THAT(bytes.err, HasSubstr("it is not UTF-8 text"));
}

TEST(Cli, WhatCannotBeKeptOrFoundIsNotBlamedOnAFile) {
  const test::Household house;
  const auto format = house.run({"import", "mcp-json"});
  EXPECT_EQ(format.code, 2);
  EXPECT_THAT(format.err, HasSubstr("patchbay import FILE --from mcp-json"));
  auto odd = house.options();
  odd.cwd += "/d\xffx";
  std::filesystem::create_directory(odd.cwd);
  const auto local = patchbay({"add", "a", "--", "x"}, odd);
  EXPECT_EQ(local.code, 2);
  EXPECT_THAT(local.err, AllOf(HasSubstr("the name of this directory is not valid UTF-8"), HasSubstr("--scope user")));
  EXPECT_EQ(patchbay({"add", "--scope", "user", "a", "--", "x"}, odd).code, 0);
}

// In words, once, and only when the server is used.
TEST(Cli, AnUnsetVariableIsReportedOnceByTheEntryThatUsesIt) {
  TemporaryDirectory project;
  const auto config = to_text(
      Json{{"mcpServers",
            {{"fake", {{"command", fake}, {"args", Json::array({"good"})}}},
             {"tokens", {{"command", fake}, {"args", Json::array({"good"})}, {"env", {{"T", "${NOPE_TOKEN}"}}}}}}}});
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--mcp-config", config, "--strict-mcp-config"});
    return patchbay(words, {.cwd = project.path()});
  };
  EXPECT_THAT(run({"call", "fake/echo", "text=x"}).err, Not(HasSubstr("NOPE_TOKEN")));
  EXPECT_EQ(run({"tools", "--json"}).err, "");
  const auto used = run({"tools", "tokens"}).err;
  EXPECT_THAT(used, HasSubstr("patchbay: warning: "));
  EXPECT_EQ(used.find("the variable NOPE_TOKEN"), used.rfind("the variable NOPE_TOKEN")) << used;
  EXPECT_THAT(used, Not(HasSubstr("event=")));
}

}  // namespace
}  // namespace patchbay
