// What a host tells its recorder ends up in files, bounded and without secrets, and nothing waits for a disk.
// W5 L3 L5.
#include "host/kept/recorder.h"

#include <boost/asio/this_coro.hpp>
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
    const auto path = server_log_path(state(), server);
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
    auto wrote = recorder->stderr_of(server);
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
    auto wrote = recorder->stderr_of(server);
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
    auto wrote = recorder->stderr_of(server);
    const auto line = std::string(1000, 'x') + "\n";
    for (int i = 0; i < 5000; ++i) wrote(line);
    co_await recorder->finish();
  });
  const auto text = log();
  EXPECT_LT(text.size(), 300u << 10);
  EXPECT_THAT(text, HasSubstr("lines are missing here"));
}

// What a command prints is not known here, so it could not be taken out.
TEST_F(Recorder, OfAServerWithASecretFromACommandNothingItWritesIsKept) {
  server.env = {{"TOKEN", "${cmd:print-token}"}};
  run_task([&]() -> Task<void> {
    auto recorder = make(state());
    recorder->begin(co_await asio::this_coro::executor);
    auto wrote = recorder->stderr_of(server);
    wrote("the token is abc\n");
    wrote("again abc\n");
    co_await recorder->finish();
  });
  EXPECT_THAT(log(), AllOf(Not(HasSubstr("abc")), HasSubstr("is not kept")));
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
