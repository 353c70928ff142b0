// What a host tells its recorder ends up in files, bounded and without secrets, and nothing waits for a disk.
// W5 L3 L5.
#include "host/kept/recorder.h"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/kept/server_files.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::run_task;
using test::TempTree;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class Recorder : public testing::Test {
 protected:
  Recorder() {
    server.name = "files";
    server.command = "/bin/true";
    server.env = {{"DB_PASSWORD", "s3cr3t-password"}};
    server.origin.file = "/p/.mcp.json";
    config.cwd = tree.path().string();
  }

  std::shared_ptr<ServerRecorder> make(const std::string& directory) {
    auto recorder = std::make_shared<ServerRecorder>(
        directory, Log(LogLevel::warning, [this](const LogEvent& event) { warnings.push_back(event.event); }));
    recorder->use(config, [](std::string_view) { return std::nullopt; });
    return recorder;
  }
  TextSecrets secrets() const {
    return TextSecrets({}, server, [](std::string_view) { return std::nullopt; });
  }
  std::string state() const { return (tree.path() / "state").string(); }
  ServerKey key() const {
    return server_key(server, key_context(config, [](auto) { return std::nullopt; }));
  }
  ServerStatus is(ServerState state, ServerReason reason, std::optional<Error> error = {}) const {
    ServerStatus status;
    status.name = server.name;
    status.state = state;
    status.reason = reason;
    status.error = std::move(error);
    if (state == ServerState::connected) status.server.emplace().protocol_version = "x";
    status.tool_count = 1;
    return status;
  }
  static ServerRecorder::Tools tools(std::string name) {
    Tool tool;
    tool.name = std::move(name);
    return {std::make_shared<const Tool>(std::move(tool))};
  }
  std::string log() const {
    const auto path = server_log_path(state(), server, {});
    return tree.read(std::filesystem::path(path).lexically_relative(tree.path()).string());
  }

  TempTree tree;
  ServerConfig server;
  LoadedConfig config;
  std::vector<std::string> warnings;
};

TEST_F(Recorder, StatesListsAndLinesAreWrittenAtTheEnd) {
  run_task([&]() -> Task<void> {
    auto recorder = make(state());
    recorder->begin(co_await asio::this_coro::executor);
    auto wrote = recorder->starting(server, secrets()).wrote;
    wrote("listen");
    wrote("ing as s3cr3t-password\nhalf a li");
    recorder->note(server, is(ServerState::connected, ServerReason::none), tools("read"));
    co_await recorder->finish();
    // After its end it takes nothing.
    recorder->note(server, is(ServerState::failed, ServerReason::connection_lost), {});
    wrote("late\n");
  });
  const auto kept = load_kept_server(state(), key()).server;
  ASSERT_TRUE(kept && kept->state && kept->tools && kept->description);
  EXPECT_EQ(kept->state->state, ServerState::connected);
  EXPECT_EQ(kept->tools->items.at(0)->name, "read");
  EXPECT_EQ(kept->stamp, stamp_of(key().files));
  EXPECT_THAT(
      log(), AllOf(HasSubstr(" event starting\n"), HasSubstr(" stderr listening as "), HasSubstr(" stderr half a li\n"),
                   HasSubstr(" event connected: 1 tool"), Not(HasSubstr("s3cr3t")), Not(HasSubstr("late"))));
  EXPECT_THAT(warnings, IsEmpty());
}

// The last list stays when the server fails later; what it says of itself as well.
TEST_F(Recorder, AFailureKeepsTheListsOfBefore) {
  run_task([&]() -> Task<void> {
    for (const bool good : {true, false}) {
      auto recorder = make(state());
      recorder->begin(co_await asio::this_coro::executor);
      if (good) {
        recorder->note(server, is(ServerState::connected, ServerReason::none), tools("read"));
      } else {
        recorder->note(
            server,
            is(ServerState::failed, ServerReason::connect_failed, Error(Errc::connect, "it said s3cr3t-password")), {});
      }
      co_await recorder->finish();
    }
  });
  const auto kept = load_kept_server(state(), key()).server;
  ASSERT_TRUE(kept && kept->state && kept->tools);
  EXPECT_EQ(kept->state->state, ServerState::failed);
  EXPECT_EQ(kept->state->reason, "connect failed");
  EXPECT_THAT(kept->state->error, AllOf(HasSubstr("it said"), Not(HasSubstr("s3cr3t"))));
}

TEST_F(Recorder, WhatMayNotBeStartedIsNotKept) {
  run_task([&]() -> Task<void> {
    auto recorder = make(state());
    recorder->begin(co_await asio::this_coro::executor);
    auto pending = server;
    pending.standing = ServerStanding::awaiting_approval;
    recorder->note(pending, is(ServerState::connected, ServerReason::none), tools("read"));
    auto embedded = server;
    embedded.origin.scope = ConfigScope::embedded;
    recorder->note(embedded, is(ServerState::connected, ServerReason::none), tools("read"));
    recorder->note(server, is(ServerState::pending, ServerReason::closed), {});
    co_await recorder->finish();
  });
  EXPECT_FALSE(tree.has("state"));
}

TEST_F(Recorder, WithoutAPlaceToWriteThereIsOneWarning) {
  tree.file("state", "a file");
  run_task([&]() -> Task<void> {
    auto recorder = make(state());
    recorder->begin(co_await asio::this_coro::executor);
    auto wrote = recorder->starting(server, secrets()).wrote;
    for (int i = 0; i < 3; ++i) {
      wrote("line\n");
      recorder->note(server, is(ServerState::connected, ServerReason::none), tools("read"));
    }
    co_await recorder->finish();
  });
  EXPECT_THAT(warnings, ElementsAre("state_not_kept"));
  EXPECT_EQ(tree.read("state"), "a file");
}

// A server may write faster than a disk takes it.
TEST_F(Recorder, WhatIsNotWrittenYetIsBounded) {
  run_task([&]() -> Task<void> {
    auto recorder = make(state());
    recorder->begin(co_await asio::this_coro::executor);
    auto wrote = recorder->starting(server, secrets()).wrote;
    const auto line = std::string(1000, 'x') + "\n";
    for (int i = 0; i < 5000; ++i) wrote(line);
    co_await recorder->finish();
  });
  const auto text = log();
  EXPECT_LT(text.size(), 300u << 10);
  EXPECT_THAT(text, HasSubstr("lines are missing here"));
}

// A secret that was renewed while the program runs is the secret of the next start.
TEST_F(Recorder, EveryStartHasItsOwnSecrets) {
  run_task([&]() -> Task<void> {
    auto recorder = make(state());
    recorder->begin(co_await asio::this_coro::executor);
    auto first = recorder->starting(server, secrets()).wrote;
    first("as s3cr3t-password\n");
    server.env = {{"DB_PASSWORD", "renewed-value"}};
    auto second = recorder->starting(server, secrets()).wrote;
    second("now renewed-value\n");
    first("still s3cr3t-password\n");
    co_await recorder->finish();
  });
  EXPECT_THAT(log(), AllOf(HasSubstr("stderr as [redacted]"), HasSubstr("stderr now [redacted]"),
                           HasSubstr("stderr still [redacted]"), Not(HasSubstr("s3cr3t")), Not(HasSubstr("renewed"))));
}

TEST_F(Recorder, NoPieceOfASecretIsWritten) {
  for (const std::size_t before : {4000u, 4085u, 4090u, 4095u, 8180u, 8185u, 8191u}) {
    const auto name = fmt::format("after{}", before);
    server.name = name;
    run_task([&]() -> Task<void> {
      auto recorder = make(state());
      recorder->begin(co_await asio::this_coro::executor);
      auto wrote = recorder->starting(server, secrets()).wrote;
      // In two pieces with a change of the state between them, over the end of what a line may have, and at the end.
      wrote("as s3cr3t-");
      recorder->note(server, is(ServerState::connected, ServerReason::none), tools("read"));
      wrote("password\n" + std::string(before, 'x') + "s3cr3t-password and more " + std::string(9000, 'y') + "\n");
      wrote("next\nlast s3cr3t-pass");
      co_await recorder->finish();
    });
    EXPECT_THAT(log(), AllOf(HasSubstr("stderr as [redacted]\n"), HasSubstr("stderr next\n"),
                             HasSubstr("stderr last [redacted]\n"), Not(HasSubstr("s3cr"))));
  }
}

TEST_F(Recorder, LinesKeepTheirIndentation) {
  run_task([&]() -> Task<void> {
    auto recorder = make(state());
    recorder->begin(co_await asio::this_coro::executor);
    recorder->starting(server, secrets()).wrote("Error: no\n    at main (a.js:1)\n\tat x\n");
    co_await recorder->finish();
  });
  EXPECT_THAT(log(), AllOf(HasSubstr(" stderr Error: no\n"), HasSubstr(" stderr     at main (a.js:1)\n"),
                           HasSubstr(" stderr     at x\n")));
}

TEST_F(Recorder, TheEndOfAServerIsTheLastLine) {
  struct Case {
    ProcessEnd end;
    std::string words;
  };
  for (const auto& [end, words] :
       {Case{{ExitStatus{1, 0}, ShutdownStep::none}, "ended by itself: exited with status 1"},
        Case{{ExitStatus{0, 0}, ShutdownStep::input_closed}, "ended by Patchbay (stdin closed): exited with status 0"},
        Case{{ExitStatus{0, 15}, ShutdownStep::terminated},
             "ended by Patchbay (SIGTERM): was killed by signal 15 (SIGTERM)"},
        Case{{std::nullopt, ShutdownStep::none}, "ended by itself: its guard process (patchbay-warden) was killed"}}) {
    run_task([&]() -> Task<void> {
      auto recorder = make(state());
      recorder->begin(co_await asio::this_coro::executor);
      auto watch = recorder->starting(server, secrets());
      watch.wrote("last words");
      watch.ended(end);
      co_await recorder->finish();
    });
    const auto text = log();
    EXPECT_TRUE(text.ends_with(" event " + words + "\n")) << text;
    EXPECT_LT(text.rfind("stderr last words\n"), text.rfind(words)) << text;
  }
}

// What is kept belongs to the entry as it is now.
TEST_F(Recorder, AnEditedEntryIsKeptUnderItsOwnKey) {
  server.kind = ServerKind::http;
  server.url = "http://127.0.0.1/one";
  run_task([&]() -> Task<void> {
    auto recorder = make(state());
    recorder->begin(co_await asio::this_coro::executor);
    recorder->note(server, is(ServerState::connected, ServerReason::none), tools("one"));
    server.url = "http://127.0.0.1/two";
    recorder->use(config, [](std::string_view) { return std::nullopt; });
    recorder->note(server, is(ServerState::connected, ServerReason::none), tools("two"));
    co_await recorder->finish();
  });
  const auto kept = load_kept_server(state(), key()).server;
  ASSERT_TRUE(kept && kept->tools);
  EXPECT_EQ(kept->tools->items.at(0)->name, "two");
}

// A remote server gets its credential anew with every connection: what was refused is what was sent last.
TEST_F(Recorder, ARemoteServerIsKeptWithTheFilesOfItsLastStart) {
  tree.file("token", "one");
  server.kind = ServerKind::http;
  server.url = "http://127.0.0.1/";
  server.headers = {{"Authorization", "Bearer ${file:" + (tree.path() / "token").string() + "}"}};
  run_task([&]() -> Task<void> {
    auto recorder = make(state());
    recorder->begin(co_await asio::this_coro::executor);
    EXPECT_FALSE(recorder->starting(server, secrets()).wrote);
    recorder->note(server, is(ServerState::connected, ServerReason::none), tools("one"));
    tree.file("token", "another");
    (void)recorder->starting(server, secrets());
    recorder->note(server, is(ServerState::connected, ServerReason::none), tools("one"));
    co_await recorder->finish();
  });
  const auto kept = load_kept_server(state(), key()).server;
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->stamp, stamp_of(key().files));
}

// A long-running program writes while it runs, not only at its end.
TEST_F(Recorder, ChangesAreWrittenTogetherAMomentLater) {
  test::ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto recorder = make(state());
    recorder->begin(co_await asio::this_coro::executor);
    recorder->note(server, is(ServerState::failed, ServerReason::connect_failed), {});
    recorder->note(server, is(ServerState::connected, ServerReason::none), tools("read"));
    co_await test::settle();
    EXPECT_FALSE(tree.has("state"));
    co_await clock.advance(std::chrono::seconds(1));
    while (!tree.has("state/servers") || load_kept_server(state(), key()).use != KeptUse::usable) {
      co_await test::settle();
    }
    EXPECT_EQ(load_kept_server(state(), key()).server->state->state, ServerState::connected);
    co_await recorder->finish();
  });
}

}  // namespace
}  // namespace patchbay
