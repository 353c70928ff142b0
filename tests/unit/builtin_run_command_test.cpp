// run_command with real programs. Rows of docs/requirements.md: L9 (nothing is left behind).
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/fd.h"
#include "base/scope.h"
#include "builtin/run_command.h"
#include "support/loop.h"
#include "support/temp_tree.h"

namespace patchbay::builtin {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(BuiltinHeadAndTail, KeepsBothEnds) {
  struct Case {
    std::vector<std::string> parts;
    const char* text;
    std::size_t dropped;
  };
  const Case cases[] = {
      {{}, "", 0},
      {{"abc"}, "abc", 0},
      {{"abcdefgh"}, "abcdefgh", 0},
      {{"abcd", "efgh"}, "abcdefgh", 0},
      {{"abcdefghi"}, "abcd\n[… 1 byte left out …]\nfghi", 1},
      {{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"}, "abcd\n[… 6 bytes left out …]\nklmn", 6},
      {{std::string(1000, 'x'), "tail"}, "xxxx\n[… 996 bytes left out …]\ntail", 996},
      {{"\xFF"}, "\uFFFD", 0},
  };
  for (const auto& item : cases) {
    HeadAndTail kept(8);
    for (const auto& part : item.parts) kept.append(part);
    EXPECT_EQ(kept.text(), item.text);
    EXPECT_EQ(kept.dropped(), item.dropped) << item.text;
  }
}

class BuiltinRunCommand : public testing::Test {
 protected:
  RunSettings settings() const { return {*ConfinedRoot::open(tree.path().string()), limits, {}}; }

  CallToolResult run(Json arguments, RunProgress progress = {}) {
    CallToolResult result;
    test::run_task([&]() -> Task<void> { result = co_await run_command(settings(), arguments, progress); });
    return result;
  }
  CallToolResult shell(std::string line, Json more = Json::object()) {
    more["command"] = "sh";
    more["args"] = Json::array({"-c", std::move(line)});
    return run(std::move(more));
  }
  static std::string text(const CallToolResult& result) {
    return result.content.empty() ? "(none)" : std::get<TextContent>(result.content[0]).text;
  }
  // Takes the lock that every descendant of a program below holds while it lives.
  bool lock_is_free() const {
    const Fd fd(::open((tree.path() / "lock").c_str(), O_RDWR | O_CLOEXEC));
    return fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
  }

  test::TempTree tree;
  BuiltinLimits limits;
};

TEST_F(BuiltinRunCommand, ReturnsStatusAndBothOutputs) {
  const auto result = shell("echo out; echo err >&2; exit 3");
  EXPECT_TRUE(result.is_error);
  EXPECT_EQ(text(result), "sh exited with status 3.\nstdout:\nout\nstderr:\nerr\n");
  EXPECT_EQ(
      result.structured_content,
      (Json{{"exitCode", 3}, {"signal", nullptr}, {"timedOut", false}, {"stdout", "out\n"}, {"stderr", "err\n"}}));
  const auto quiet = run({{"command", "true"}});
  EXPECT_FALSE(quiet.is_error);
  EXPECT_EQ(text(quiet), "true exited with status 0.\nIt printed nothing.\n");
}

TEST_F(BuiltinRunCommand, SignalIsNamed) {
  const auto result = shell("kill -9 $$");
  EXPECT_TRUE(result.is_error);
  EXPECT_THAT(text(result), StartsWith("sh was killed by signal 9 (SIGKILL)."));
  EXPECT_EQ((*result.structured_content)["exitCode"], Json());
  EXPECT_EQ((*result.structured_content)["signal"], Json("SIGKILL"));
}

TEST_F(BuiltinRunCommand, ArgumentsReachTheProgramAsTheyAre) {
  const auto result =
      run({{"command", "printf"}, {"args", Json::array({"[%s]\n", "a b", "", "$HOME", "*", "\"q\"", "é;|>"})}});
  EXPECT_EQ((*result.structured_content)["stdout"], Json("[a b]\n[]\n[$HOME]\n[*]\n[\"q\"]\n[é;|>]\n"));
}

TEST_F(BuiltinRunCommand, RunsInTheRootOrADirectoryOfIt) {
  tree.directory("sub/dir");
  const auto root = tree.path().string();
  EXPECT_EQ((*run({{"command", "pwd"}}).structured_content)["stdout"], Json(root + "\n"));
  EXPECT_EQ((*run({{"command", "pwd"}, {"cwd", "sub/dir"}}).structured_content)["stdout"], Json(root + "/sub/dir\n"));
}

TEST_F(BuiltinRunCommand, InputIsGivenWholeOrIsEmpty) {
  EXPECT_EQ((*run({{"command", "cat"}}).structured_content)["stdout"], Json(""));
  EXPECT_EQ((*run({{"command", "cat"}, {"stdin", "héllo"}}).structured_content)["stdout"], Json("héllo"));
  const std::string large(3'000'000, 'x');
  EXPECT_THAT(text(run({{"command", "wc"}, {"args", Json::array({"-c"})}, {"stdin", large}})), HasSubstr("3000000"));
  EXPECT_FALSE(run({{"command", "true"}, {"stdin", large}}).is_error) << "a program need not read its input";
}

TEST_F(BuiltinRunCommand, LongOutputKeepsItsEnds) {
  limits.run_output = 100;
  const auto result = shell(
      "echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo last;"
      "{ echo e-first; head -c 1000000 /dev/zero | tr '\\0' x; echo e-last; } >&2");
  EXPECT_FALSE(result.is_error);
  for (const auto& [key, mark] : {std::pair("stdout", ""), std::pair("stderr", "e-")}) {
    const std::string kept((*result.structured_content)[key].as_text());
    EXPECT_THAT(kept, StartsWith(std::string(mark) + "first\nxxx"));
    EXPECT_THAT(kept, HasSubstr("left out"));
    EXPECT_THAT(kept, EndsWith("xxx" + std::string(mark) + "last\n"));
    EXPECT_LT(kept.size(), 200u);
  }
}

TEST_F(BuiltinRunCommand, WhatStaysBehindIsEndedWithTheCall) {
  tree.file("lock", "");
  const auto result = shell("exec 9>lock; flock 9; setsid sleep 1000 & sleep 1000 & echo started");
  EXPECT_FALSE(result.is_error);
  EXPECT_EQ((*result.structured_content)["stdout"], Json("started\n"));
  EXPECT_TRUE(lock_is_free());
}

TEST_F(BuiltinRunCommand, TimeoutEndsTheWholeTree) {
  tree.file("lock", "");
  const auto result =
      shell("trap '' INT TERM; exec 9>lock; flock 9; setsid sleep 1000 & echo ready; sleep 1000; sleep 1000",
            {{"timeout_seconds", 5.5}});
  EXPECT_TRUE(result.is_error);
  EXPECT_THAT(text(result), StartsWith("sh was ended because it ran longer than 5.5 s.\nstdout:\nready\n"));
  EXPECT_EQ((*result.structured_content)["timedOut"], Json(true));
  EXPECT_EQ((*result.structured_content)["exitCode"], Json());
  EXPECT_TRUE(lock_is_free());
}

TEST_F(BuiltinRunCommand, CancelledCallEndsTheWholeTree) {
  tree.file("lock", "");
  tree.fifo("ready");
  test::run_task([this]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    asio::posix::stream_descriptor ready(executor,
                                         ::open((tree.path() / "ready").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    Scope scope(executor);
    std::optional<Errc> ended;
    auto call = scope.spawn([](RunSettings how, std::optional<Errc>& outcome) -> Task<void> {
      auto result = co_await as_result(run_command(
          how,
          {{"command", "sh"},
           {"args",
            Json::array(
                {"-c", "trap '' INT TERM; exec 9>lock; flock 9; setsid sleep 1000 & echo x >ready; sleep 1000"})}},
          {}));
      outcome = result ? Errc::internal : result.error().code();
    }(settings(), ended));
    std::array<char, 8> buffer{};
    (void)co_await ready.async_read_some(asio::buffer(buffer), asio::use_awaitable);
    EXPECT_FALSE(lock_is_free());
    call.cancel();
    co_await scope.join();
    EXPECT_EQ(ended, Errc::cancelled);
    EXPECT_TRUE(lock_is_free());
  });
}

TEST_F(BuiltinRunCommand, ProgressComesWhileItRuns) {
  tree.fifo("go");
  std::vector<std::string> messages;
  const auto result =
      run({{"command", "cat"}, {"args", Json::array({"go"})}}, [&](double seconds, std::string message) {
        EXPECT_EQ(seconds, static_cast<double>(messages.size() + 1));
        messages.push_back(std::move(message));
        // The program waits for this.
        const Fd go(::open((tree.path() / "go").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
        if (go) {
          EXPECT_EQ(::write(go.get(), "went", 4), 4);
        }
      });
  EXPECT_EQ((*result.structured_content)["stdout"], Json("went"));
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages[0], "cat has run for 1 second");
}

TEST_F(BuiltinRunCommand, Refusals) {
  tree.file("file", "");
  tree.link("out", "/etc");
  struct Case {
    Json arguments;
    const char* message;
  };
  const Case cases[] = {
      {Json::object(), "\"command\" is missing"},
      {{{"command", ""}}, "\"command\" must not be empty"},
      {{{"command", "ls -l"}}, "each argument in args"},
      {{{"command", "no-such-program-here"}}, "no-such-program-here"},
      {{{"command", "./file"}}, "file"},
      {{{"command", "ls"}, {"args", "-l"}}, "\"args\" must be an array of strings, not a string"},
      {{{"command", "ls"}, {"args", Json::array({1})}}, "\"args[0]\" must be a string"},
      {{{"command", "ls"}, {"cwd", "file"}}, "file is not a directory"},
      {{{"command", "ls"}, {"cwd", "out"}}, "outside"},
      {{{"command", "ls"}, {"cwd", "/"}}, "outside"},
      {{{"command", "ls"}, {"cwd", "absent"}}, "absent"},
      {{{"command", "ls"}, {"timeout_seconds", 601}}, "\"timeout_seconds\" must be from"},
      {{{"command", "ls"}, {"timeout_seconds", 0}}, "\"timeout_seconds\" must be from"},
      {{{"command", "ls"}, {"shell", true}}, "unknown argument \"shell\""},
  };
  for (const auto& item : cases) {
    const auto result = run(item.arguments);
    EXPECT_TRUE(result.is_error) << to_text(item.arguments);
    EXPECT_THAT(text(result), HasSubstr(item.message)) << to_text(item.arguments);
    EXPECT_FALSE(result.structured_content) << to_text(item.arguments);
  }
}

}  // namespace
}  // namespace patchbay::builtin
