// The library without coroutines, used as threads would: several at once, callbacks that
// block, cancelling from another thread, letting go in any order. Runs under the thread
// sanitizer as well. L9 L10 X3.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/blocking.h>

#include "support/places.h"

namespace patchbay {
namespace {

using testing::HasSubstr;

const std::string fake = test::built("mode-server");

StdioOptions server(std::string mode) { return {.command = fake, .args = {std::move(mode)}}; }

LoadedConfig config_of(std::vector<std::pair<std::string, std::string>> servers) {
  LoadedConfig config;
  for (auto& [name, mode] : servers) {
    ServerConfig entry;
    entry.name = name;
    entry.command = fake;
    entry.args = {mode};
    config.servers.push_back(std::move(entry));
  }
  return config;
}

// Nothing when the call succeeded.
std::optional<Errc> code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

TEST(Blocking, SessionListsAndCalls) {
  auto session = blocking::connect(server("good"));
  EXPECT_EQ(session.server().info.name, "mode-server");
  // The loop may replace what it knows at any time, so nothing of it is referred to here.
  static_assert(!std::is_reference_v<decltype(session.server())>);
  EXPECT_EQ(session.list_tools().items.size(), 6u);
  EXPECT_EQ(text_of(session.call_tool("add", {{"a", 2}, {"b", 40}})), "42");
  EXPECT_EQ(session.read_resource("mode://one").contents.at(0).text, "first line\n");
  EXPECT_EQ(session.list_prompts().items.size(), 1u);
  EXPECT_EQ(session.get_prompt("greet", {{"who", "Ada"}}).messages.size(), 1u);
  session.ping();
  session.close();
  EXPECT_EQ(code_of([&] { session.call_tool("add", {{"a", 1}, {"b", 1}}); }), Errc::closed);
}

// R4
TEST(Blocking, SkillsAreListedAndRead) {
  auto session = blocking::connect({.command = test::built("scenario-server")});
  const auto skills = session.list_skills();
  ASSERT_EQ(skills.items.size(), 3u);
  const auto pdf = session.get_skill(skills.items.at(0).uri);
  EXPECT_EQ(pdf, skills.items.at(0));
  EXPECT_THAT(session.read_skill(pdf).text.value_or(""), HasSubstr("Pick a template."));
  EXPECT_EQ(session.read_skill(pdf, "templates/1.md").text, "template 1\n");
  EXPECT_EQ(session.read_directory("skill://office/pdf/templates").items.size(), 6u);
  EXPECT_EQ(code_of([&] { session.read_skill(skills.items.at(1)); }), Errc::protocol);
}

TEST(Blocking, ConnectFailureCarriesWhatTheServerSaid) {
  try {
    blocking::connect(server("exits-at-once"));
    FAIL() << "it connected";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("exited with status 3"));
    EXPECT_THAT(error.detail(), HasSubstr("set API_KEY"));
  }
}

TEST(Blocking, ManyThreadsShareOneSession) {
  auto session = blocking::connect(server("good"));
  constexpr int threads = 8, calls = 25;
  std::atomic<int> right = 0;
  std::vector<std::jthread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < calls; ++i) {
        if (text_of(session.call_tool("add", {{"a", t}, {"b", i}})) == std::to_string(t + i)) ++right;
      }
    });
  }
  running.clear();
  EXPECT_EQ(right, threads * calls);
}

TEST(Blocking, HostStartsEachServerOnceHoweverManyAsk) {
  blocking::Options options;
  options.config = config_of({{"one", "good"}, {"two", "good"}, {"bad", "exits-at-once"}});
  blocking::Host host(std::move(options));
  std::latch together(4);
  std::vector<std::jthread> running;
  std::atomic<int> right = 0;
  for (int t = 0; t < 4; ++t) {
    running.emplace_back([&] {
      together.arrive_and_wait();
      if (text_of(host.call("one/echo", {{"text", "x"}})) == "x") ++right;
    });
  }
  running.clear();
  EXPECT_EQ(right, 4);
  host.start();
  EXPECT_EQ(host.catalog()->size(), 12u);
  EXPECT_EQ(host.status().size(), 3u);
  EXPECT_EQ(text_of(host.session("two").call_tool("echo", {{"text", "y"}})), "y");
  host.stop();
}

TEST(Blocking, ACallGoesOnInTheBackground) {
  blocking::Options options;
  options.config = config_of({{"one", "good"}, {"deaf", "silent-on-call"}});
  auto host = std::make_unique<blocking::Host>(options);
  std::latch heard(3);
  CallOptions with_progress;
  with_progress.on_progress = [&](const Progress&) { heard.count_down(); };
  auto call = host->start_call("one/slow", {}, with_progress);
  EXPECT_EQ(call.status().tool, "one/slow");
  EXPECT_EQ(host->background_calls().size(), 1u);
  EXPECT_EQ(text_of(call.result()), "done");
  heard.wait();
  EXPECT_EQ(call.status().state, BackgroundCallStatus::State::answered);
  EXPECT_TRUE(host->background_calls().empty());

  auto deaf = host->start_call("deaf/echo", {{"text", "x"}});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(code_of([&] { deaf.result(stop.get_token()); }), Errc::cancelled);
  EXPECT_EQ(deaf.status().state, BackgroundCallStatus::State::running);
  deaf.cancel();
  EXPECT_EQ(code_of([&] { deaf.result(); }), Errc::cancelled);
  auto left = host->start_call("deaf/echo", {{"text", "x"}});
  host.reset();
  EXPECT_EQ(code_of([&] { left.result(); }), Errc::closed);
}

TEST(Blocking, StopTokenCancelsACallFromAnotherThread) {
  auto session = blocking::connect(server("silent-on-call"));
  std::stop_source stop;
  std::jthread canceller([&] { stop.request_stop(); });
  EXPECT_EQ(code_of([&] { session.call_tool("echo", {{"text", "x"}}, {}, stop.get_token()); }), Errc::cancelled);
}

TEST(Blocking, AStopThatCameBeforeTheCallEndsIt) {
  auto session = blocking::connect(server("silent-on-call"));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(code_of([&] { session.call_tool("echo", {{"text", "x"}}, {}, stop.get_token()); }), Errc::cancelled);
}

TEST(Blocking, ACallbackThatThrowsEndsNothing) {
  auto session = blocking::connect(server("good"));
  CallOptions options;
  options.on_progress = [](const Progress&) { throw std::runtime_error("a bug of the program"); };
  EXPECT_EQ(text_of(session.call_tool("slow", {}, options)), "done");
  EXPECT_EQ(text_of(session.call_tool("add", {{"a", 2}, {"b", 40}})), "42");
}

TEST(Blocking, CallbacksRunOffTheLoopAndMayCallBack) {
  auto session = std::make_shared<blocking::Session>(blocking::connect(server("good")));
  std::vector<double> seen;
  std::string inner;
  std::latch called_back(1);
  CallOptions options;
  options.on_progress = [&](const Progress& progress) {
    seen.push_back(progress.progress);
    if (seen.size() == 3) {
      inner = text_of(session->call_tool("echo", {{"text", "from a callback"}}));
      called_back.count_down();
    }
  };
  EXPECT_EQ(text_of(session->call_tool("slow", {}, options)), "done");
  called_back.wait();
  EXPECT_EQ(seen, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(inner, "from a callback");
}

TEST(Blocking, LettingGoWhileACallIsPendingEndsIt) {
  auto host = std::make_unique<blocking::Host>([] {
    blocking::Options options;
    options.config = config_of({{"deaf", "silent-on-call"}});
    return options;
  }());
  host->start();
  std::optional<Errc> outcome;
  auto session = host->session("deaf");
  std::jthread waiting([&] { outcome = code_of([&] { session.call_tool("echo", {{"text", "x"}}); }); });
  host.reset();
  waiting.join();
  EXPECT_TRUE(outcome == Errc::closed || outcome == Errc::cancelled);
}

TEST(Blocking, UseAfterForkIsRefused) {
  auto session = blocking::connect(server("good"));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = code_of([&] { session.ping(); }) == Errc::internal;
    ::_exit(refused ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace patchbay
