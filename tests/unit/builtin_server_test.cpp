// The built-in server as a client sees it, and the thread its file work runs on.
#include "builtin/builtin_server.h"

#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "builtin/background.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/raw_client.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using test::FailsWith;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(BuiltinBackground, WorkRunsOnAnotherThreadAndItsResultComesBack) {
  test::run_task([]() -> Task<void> {
    const auto here = std::this_thread::get_id();
    const bool elsewhere = co_await builtin::in_background(
        [here](const std::atomic<bool>&) { return std::this_thread::get_id() != here; });
    EXPECT_TRUE(elsewhere);
    EXPECT_EQ(std::this_thread::get_id(), here);
  });
}

TEST(BuiltinBackground, WhatWorkThrowsIsThrown) {
  test::run_task([]() -> Task<void> {
    auto result = co_await as_result(
        builtin::in_background([](const std::atomic<bool>&) -> int { throw Error(Errc::limit, "too much"); }));
    EXPECT_THAT(result, FailsWith(Error(Errc::limit, "too much")));
  });
}

// The work tells the loop that it runs, and then runs until it is told to stop.
TEST(BuiltinBackground, CancelledWorkSeesItsFlagAndIsWaitedFor) {
  test::run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Scope scope(executor);
    Completion<bool> running;
    std::atomic<bool> finished{false};
    std::optional<Errc> ended;
    auto call = scope.spawn([](asio::any_io_executor loop, Completion<bool>& begun, std::atomic<bool>& done,
                               std::optional<Errc>& outcome) -> Task<void> {
      auto result = co_await as_result(builtin::in_background([loop, &begun, &done](const std::atomic<bool>& stop) {
        asio::post(loop, [&begun] { begun.set(true); });
        while (!stop) std::this_thread::yield();
        done = true;
        return 1;
      }));
      outcome = result ? Errc::internal : result.error().code();
      EXPECT_TRUE(done);
    }(executor, running, finished, ended));
    (void)co_await running.wait();
    call.cancel();
    co_await scope.join();
    EXPECT_EQ(ended, Errc::cancelled);
    EXPECT_TRUE(finished);
  });
}

// Whatever else the program does beside its loop goes on while searches hold all their threads.
TEST(BuiltinBackground, FileWork_HoldsUpNoOtherWork) {
  test::run_task([]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    std::atomic<bool> released{false};
    std::vector<Spawned> calls;
    for (int i = 0; i < 8; ++i) {
      calls.push_back(scope.spawn([](std::atomic<bool>& go) -> Task<void> {
        (void)co_await as_result(builtin::in_background([&go](const std::atomic<bool>& stop) {
          while (!go && !stop) std::this_thread::yield();
          return 1;
        }));
      }(released)));
    }
    co_await test::settle();
    EXPECT_EQ(co_await offload(Pool::quick, [] { return 7; }), 7);
    released = true;
    co_await scope.join();
  });
}

class BuiltinServer : public testing::Test {
 protected:
  // One exchange after the legacy handshake.
  Json ask(bool allow_run, std::string method, Json params) {
    Json answer;
    test::run_task([&]() -> Task<void> {
      auto server = make_builtin_server({.root = tree.path(), .allow_run = allow_run, .limits = limits});
      test::RawClient client(co_await asio::this_coro::executor, *server);
      const auto hello = co_await client.ask(
          R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},)"
          R"("clientInfo":{"name":"t","version":"1"}}})");
      handshake = *parse_json(hello);
      client.send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
      const auto reply =
          co_await client.ask(to_text(Json{{"jsonrpc", "2.0"}, {"id", 2}, {"method", method}, {"params", params}}));
      answer = *parse_json(reply);
      co_await client.close();
    });
    return answer;
  }
  std::vector<std::string> tools(bool allow_run) {
    std::vector<std::string> names;
    const auto answer = ask(allow_run, "tools/list", Json::object());
    for (const auto& tool : answer["result"]["tools"].as_array()) names.emplace_back(tool["name"].as_text());
    return names;
  }

  test::TempTree tree;
  BuiltinLimits limits;
  Json handshake;
};

TEST_F(BuiltinServer, CommandsAreOfferedOnlyWhereAllowed) {
  EXPECT_THAT(tools(false), ElementsAre("read_file", "write_file", "edit_file", "list_dir", "glob", "grep"));
  EXPECT_THAT(tools(true),
              ElementsAre("read_file", "write_file", "edit_file", "list_dir", "glob", "grep", "run_command"));
  const auto refused = ask(false, "tools/call", {{"name", "run_command"}, {"arguments", {{"command", "true"}}}});
  EXPECT_TRUE(refused.find("error")) << to_text(refused);
}

TEST_F(BuiltinServer, SaysWhereItWorks) {
  tools(false);
  EXPECT_EQ(handshake["result"]["serverInfo"]["name"], Json("patchbay"));
  EXPECT_THAT(handshake["result"]["instructions"].as_text(), HasSubstr(tree.path().string()));
}

TEST_F(BuiltinServer, ToolsAnswerOverTheProtocol) {
  tree.file("f.txt", "one\ntwo\n");
  EXPECT_EQ(ask(false, "tools/call", {{"name", "grep"}, {"arguments", {{"pattern", "two"}}}})["result"]["content"],
            Json::array({{{"type", "text"}, {"text", "f.txt:2: two\n"}}}));
  const auto missing = ask(false, "tools/call", {{"name", "read_file"}, {"arguments", {{"path", "absent"}}}});
  EXPECT_EQ(missing["result"]["isError"], Json(true)) << to_text(missing);
  const auto ran =
      ask(true, "tools/call",
          {{"name", "run_command"}, {"arguments", {{"command", "cat"}, {"args", Json::array({"f.txt"})}}}});
  EXPECT_EQ(ran["result"]["structuredContent"]["stdout"], Json("one\ntwo\n")) << to_text(ran);
}

TEST_F(BuiltinServer, AFileToolThatTakesTooLong_IsEndedAndSaysSo) {
  std::string lines;
  while (lines.size() < 10'000) lines += "line\n";
  tree.file("sparse", lines);
  std::filesystem::resize_file(tree.path() / "sparse", std::uintmax_t(1) << 40);
  limits.file_time = std::chrono::milliseconds(1);
  limits.read_through = SIZE_MAX;
  const auto answer =
      ask(false, "tools/call", Json{{"name", "read_file"}, {"arguments", {{"path", "sparse"}, {"offset", 1'000'000}}}});
  EXPECT_EQ(answer["result"]["isError"], Json(true)) << to_text(answer);
  EXPECT_THAT(to_text(answer), HasSubstr("read_file took longer than 0.001 s and was ended; ask for less at once"));
}

TEST_F(BuiltinServer, RootThatIsNotADirectoryIsRefused) {
  tree.file("f", "");
  EXPECT_THROW(make_builtin_server({.root = tree.path() / "f"}), Error);
  EXPECT_THROW(make_builtin_server({.root = tree.path() / "absent"}), Error);
}

}  // namespace
}  // namespace patchbay
