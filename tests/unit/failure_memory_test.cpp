// N6: the last failure of a server outlives the run it happened in, bounded and without secrets.
#include "host/failure_memory.h"

#include <sys/stat.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "host/make_host.h"
#include "settings/folders.h"
#include "support/command.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::run_task;
using test::TemporaryDirectory;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

const std::chrono::sys_seconds noon{std::chrono::seconds(1'800'000'000)};

VariableLookup nothing() {
  return [](std::string_view) { return std::nullopt; };
}

std::string key_of(int number) { return fmt::format("{:064x}", number); }

KnownFailure failure(std::chrono::sys_seconds time, std::string message = "it broke") {
  return {time, std::move(message), "line", "call"};
}

TEST(FailureMemory, RecordsSurviveWritingAndReading) {
  FailureRecords records;
  update_failure_records(records, key_of(1), failure(noon, "with \"quotes\"\u00e4"), noon);
  update_failure_records(records, key_of(2), failure(noon - 1h), noon);
  EXPECT_EQ(read_failure_records(write_failure_records(records)), records);
  update_failure_records(records, key_of(1), std::nullopt, noon);
  EXPECT_EQ(records.size(), 1u);
}

TEST(FailureMemory, KeepsTheNewestUpToItsBoundAndNothingOld) {
  FailureRecords records;
  for (int i = 0; i < 300; ++i) {
    update_failure_records(records, key_of(i), failure(noon + std::chrono::seconds(i)), noon + 400s);
  }
  EXPECT_EQ(records.size(), failure_entries);
  EXPECT_FALSE(records.contains(key_of(0)));
  EXPECT_TRUE(records.contains(key_of(299)));
  update_failure_records(records, key_of(1), failure(noon + failures_last + 1h), noon + failures_last + 1h);
  EXPECT_EQ(records.size(), 1u);
}

TEST(FailureMemory, WhatIsNotUnderstoodIsNotThere) {
  const auto good = write_failure_records({{key_of(1), failure(noon)}});
  EXPECT_EQ(read_failure_records(good).size(), 1u);
  for (const std::string& text :
       {std::string(), std::string("x"), std::string("[]"), std::string(R"({"version":2,"servers":{}})"),
        R"({"version":1,"servers":{"short":{"time":1,"message":"m","detail":"","during":""}}})" + std::string(),
        R"({"version":1,"servers":{")" + key_of(1) + R"(":{"time":-1,"message":"m","detail":"","during":""}}})",
        R"({"version":1,"servers":{")" + key_of(1) + R"(":{"time":1,"message":7,"detail":"","during":""}}})",
        R"({"version":1,"servers":{")" + key_of(1) + R"(":{"time":1,"message":")" + std::string(5000, 'm') +
            R"(","detail":"","during":""}}})"}) {
    EXPECT_TRUE(read_failure_records(text).empty()) << text;
  }
}

TEST(FailureMemory, AnEntryIsKnownByNameContentAndFile) {
  ServerConfig server;
  server.name = "a";
  server.command = "x";
  server.origin.file = "/p/.mcp.json";
  const auto key = failure_key(server);
  auto moved = server;
  moved.origin.line = 7;
  EXPECT_EQ(failure_key(moved), key);
  for (auto change : std::vector<std::function<void(ServerConfig&)>>{
           [](ServerConfig& s) { s.name = "b"; }, [](ServerConfig& s) { s.command = "y"; },
           [](ServerConfig& s) { s.origin.file = "/q/.mcp.json"; }}) {
    auto other = server;
    change(other);
    EXPECT_NE(failure_key(other), key);
  }
}

// A server that repeats what it was given must not make us write it down.
TEST(FailureMemory, SecretsOfTheEntryAreNotKept) {
  ServerConfig server;
  server.name = "a";
  server.command = "x";
  server.args = {"--api-key", "arg-secret", "--token=other-secret", "postgres://u:url-secret@h/db", "plain"};
  server.env = {{"API_TOKEN", "${T}"}, {"MODE", "visible-mode"}};
  server.headers = {{"X-Key", "Bearer header-secret"}};
  const VariableLookup lookup = [](std::string_view name) -> std::optional<std::string> {
    return name == "T" ? std::optional<std::string>("variable-secret") : std::nullopt;
  };
  const std::string all =
      "arg-secret other-secret postgres://u:url-secret@h/db variable-secret header-secret Bearer unknown-secret "
      "visible-mode plain";
  const auto known = failure_of(server, lookup, Environment(),
                                Error(Errc::closed, all)
                                    .with_detail("first\n" + all +
                                                 "\nDB_PASSWORD=printed-secret password= "
                                                 "spaced-secret\n\033[31mlast\033[0m"),
                                "call", noon);
  for (const auto& text : {known.message, known.detail}) {
    EXPECT_THAT(text, AllOf(Not(HasSubstr("secret")), HasSubstr("visible-mode"), HasSubstr("plain"))) << text;
  }
  EXPECT_THAT(known.detail, AllOf(HasSubstr("first"), HasSubstr("\nlast"), Not(HasSubstr("\033"))));
}

// What was fetched for it is not known where the failure is kept, so nothing that the server wrote is.
TEST(FailureMemory, WhatAServerWithFetchedSecretsWroteIsNotKept) {
  const auto error = Error(Errc::closed, "it exited").with_detail("s3cret");
  ServerConfig plain;
  plain.env = {{"TOKEN", "${env:TOKEN}"}};
  EXPECT_EQ(failure_of(plain, nothing(), Environment(), error, "", noon).detail, "s3cret");
  auto stored = plain;
  stored.env = {{"TOKEN", "${secret:t}"}};
  auto file = plain;
  file.env_file = ".env";
  auto helper = plain;
  helper.headers_helper = "print";
  for (const auto& server : {stored, file, helper}) {
    const auto known = failure_of(server, nothing(), Environment(), error, "", noon);
    EXPECT_EQ(known.detail, "");
    EXPECT_EQ(known.message, "it exited");
  }
}

// Their texts may be in what an HTTP server or a line on stdout says, and messages quote those.
TEST(FailureMemory, OfAServerWithFetchedSecretsOnlyOurWordsAreKept) {
  ServerConfig server;
  server.headers = {{"X", "${file:~/x}"}};
  const auto answered = failure_of(server, nothing(), Environment(),
                                   Error(Errc::http, "answered 500: s3cret").with_http_status(500), "", noon);
  EXPECT_THAT(answered.message, AllOf(HasSubstr("HTTP 500"), Not(HasSubstr("s3cret"))));
  const auto silent =
      failure_of(server, nothing(), Environment(),
                 Error(Errc::timeout, "no answer, but \"s3cret\" on stdout; raise MCP_TIMEOUT"), "", noon);
  EXPECT_EQ(silent.message, "no answer, but \"…\" on stdout; raise MCP_TIMEOUT");
}

TEST(FailureMemory, SecretsAreKnownByTheirVariablesAndTheirForm) {
  ServerConfig server;
  server.name = "a";
  server.command = "x";
  server.args = {"${GITHUB_TOKEN}", "${HOME}"};
  server.env = {{"X", "${env:DB_PASSWORD}"},
                {"PRIVATE_KEY", "-----BEGIN KEY-----\nfirstsecretline\nsecondsecretline\n"}};
  const VariableLookup lookup = [](std::string_view name) -> std::optional<std::string> {
    if (name == "GITHUB_TOKEN") return "positional-secret";
    if (name == "DB_PASSWORD") return "neutral-secret";
    if (name == "HOME") return "/home/ann";
    return std::nullopt;
  };
  const Environment environment{{"MY_TOKEN", "inherited-secret"}, {"LANG", "visible-lang"}, {"A_TOKEN", "on"}};
  const auto known = failure_of(
      server, lookup, environment,
      Error(Errc::closed, "positional-secret inherited-secret /home/ann on")
          .with_detail("neutral-secret visible-lang\nkey: firstsecretline\nsecondsecretline\ntok=inherited-secret "
                       "(ghp_0123456789abcdef0123456789abcdef0123) k=sk-ant-REDACTED"),
      "call", noon);
  EXPECT_EQ(known.message, "[redacted] [redacted] /home/ann on");
  EXPECT_EQ(known.detail,
            "[redacted] visible-lang\nkey: [redacted]\n[redacted]\ntok=[redacted] [redacted] k=[redacted]");
}

TEST(FailureMemory, TextsAreCut) {
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += fmt::format("line {} {}\n", i, std::string(5000, 'x'));
  const auto known = failure_of({}, nothing(), Environment(),
                                Error(Errc::closed, std::string(100'000, 'm')).with_detail(lines), "call", noon);
  EXPECT_LE(known.message.size(), 1010u);
  EXPECT_LE(known.detail.size(), 5100u);
  EXPECT_THAT(known.detail, HasSubstr("line 99 "));
  const FailureRecords records{{key_of(1), known}};
  EXPECT_EQ(read_failure_records(write_failure_records(records)), records);
}

TEST(FailureMemory, OnlyTheUserCanReadTheFileAndNothingElseBreaksIt) {
  TemporaryDirectory directory;
  const auto path = directory.path() + "/state/patchbay/last.json";
  EXPECT_EQ(recall_failure(path, key_of(1)), std::nullopt);
  ASSERT_TRUE(remember_failure(path, key_of(1), failure(noon), noon));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(recall_failure(path, key_of(1)), failure(noon));
  ASSERT_TRUE(remember_failure(path, key_of(1), std::nullopt, noon));
  EXPECT_EQ(recall_failure(path, key_of(1)), std::nullopt);
  // A pipe planted under the name keeps nobody waiting.
  ASSERT_EQ(fs::remove(path), true);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(recall_failure(path, key_of(1)), std::nullopt);
  EXPECT_FALSE(remember_failure("/proc/nothing/last.json", key_of(1), failure(noon), noon));
}

// ---- a host

HostOptions with_broken_server(std::string memory) {
  HostOptions options;
  options.config.emplace();
  ServerConfig server;
  server.name = "gone";
  server.command = "/nonexistent/patchbay-test-command";
  server.origin.file = "/f";
  options.config->servers.push_back(server);
  options.failure_memory = std::move(memory);
  return options;
}

std::optional<KnownFailure> kept_after_start(const HostOptions& options, const std::string& path) {
  run_task([&]() -> Task<void> {
    auto host = make_host(options, Runtime{}, "tools");
    co_await host.start();
    // It is on the disk when the attempt is over: a program may end right here.
    co_await host.stop();
  });
  return recall_failure(path, failure_key(options.config->servers.front()));
}

TEST(FailureMemory, AHostKeepsWhatItIsAskedToKeep) {
  TemporaryDirectory directory;
  const auto path = directory.path() + "/last.json";
  const auto known = kept_after_start(with_broken_server(path), path);
  ASSERT_TRUE(known);
  EXPECT_THAT(known->message, HasSubstr("/nonexistent/patchbay-test-command"));
  EXPECT_EQ(known->during, "tools");
}

TEST(FailureMemory, AHostThatIsNotAskedKeepsNothing) {
  TemporaryDirectory directory;
  EXPECT_EQ(kept_after_start(with_broken_server(""), directory.path() + "/last.json"), std::nullopt);
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

// Nothing depends on it: a host whose memory cannot be written says what it would have said.
TEST(FailureMemory, AMemoryThatCannotBeWrittenChangesNothing) {
  run_task([&]() -> Task<void> {
    Host host(with_broken_server("/proc/nothing/last.json"));
    const auto session = co_await as_result(host.session("gone"));
    EXPECT_FALSE(session);
    EXPECT_THAT(session.error().message(), HasSubstr("/nonexistent/patchbay-test-command"));
    co_await host.stop();
  });
}

TEST(StateFolder, FollowsXdg) {
  auto folder = [](std::map<std::string, std::string, std::less<>> variables) {
    return state_folder([variables](std::string_view name) -> std::optional<std::string> {
      auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  EXPECT_EQ(folder({{"XDG_STATE_HOME", "/s"}, {"HOME", "/h"}}), "/s/patchbay");
  EXPECT_EQ(folder({{"XDG_STATE_HOME", "relative"}, {"HOME", "/h"}}), "/h/.local/state/patchbay");
  EXPECT_EQ(folder({}), "");
}

}  // namespace
}  // namespace patchbay
