// T1: the stdio transport against children that behave well and badly.
#include "transport/stdio.h"

#include <sys/wait.h>

#include <csignal>

#include <boost/asio/this_coro.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "process/children.h"
#include "support/fails_with.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::program;
using test::run_task;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Task<std::unique_ptr<StdioChannel>> open(std::vector<std::string> args, Runtime runtime = {}) {
  auto transport = stdio_transport({.command = program("odd-server"), .args = std::move(args)});
  auto channel = co_await transport->open(runtime);
  co_return std::unique_ptr<StdioChannel>(static_cast<StdioChannel*>(channel.release()));
}

Message note(std::string method, Json params = {}) {
  return Notification{std::move(method), params.is_null() ? Payload() : Payload(std::move(params))};
}

std::string text_of(const Incoming& incoming) {
  std::string out;
  if (const auto* message = std::get_if<Message>(&incoming)) append_message(out, *message);
  if (const auto* lost = std::get_if<Lost>(&incoming)) out = "lost " + to_text(lost->id);
  if (const auto* batch = std::get_if<Batch>(&incoming)) {
    for (const auto& message : batch->messages) {
      out += out.empty() ? "[" : ",";
      append_message(out, message);
    }
    out += "]";
  }
  return out;
}

// Everything the channel yields, then the error it ends with.
struct Heard {
  std::vector<std::string> messages;
  Error error{Errc::internal, ""};
};
Task<Heard> hear(StdioChannel& channel) {
  Heard heard;
  for (;;) {
    auto incoming = co_await as_result(channel.receive());
    if (!incoming) {
      heard.error = incoming.error();
      co_return heard;
    }
    heard.messages.push_back(text_of(*incoming));
  }
}

// What a server printed that was not a message: how much, and what it looked like.
TEST(Stdio, LinesThatAreNotMessagesAreDescribed) {
  struct Case {
    std::string printed;
    std::string said;
  };
  const std::string rest = "; stdout is only for the protocol: everything else must go to stderr";
  const std::vector<Case> cases{
      {"", ""},
      {R"({"jsonrpc":"2.0","method":"x"})"
       "\n",
       ""},
      {"Listening on port 3000\n",
       "printed 1 line on stdout that is not JSON-RPC, such as \"Listening on port 3000\"" + rest},
      {"first \x1b[31mred\x1b[0m\nsecond\n{\"a\":1}\n",
       "printed 3 lines on stdout that are not JSON-RPC, such as \"first red\"" + rest},
      {"{\"level\":\"info\"}\n{}\n",
       "printed 2 lines on stdout that are not JSON-RPC, such as \"{\"level\":\"info\"}\"" + rest},
      {std::string(100, 'x') + "\n",
       "printed 1 line on stdout that is not JSON-RPC, such as \"" + std::string(80, 'x') + "…\"" + rest},
  };
  for (const auto& c : cases) {
    run_task([&]() -> Task<void> {
      auto channel = co_await open({"print", c.printed, "exit"});
      auto heard = co_await hear(*channel);
      EXPECT_EQ(channel->skipped(), c.said);
      // One that said nothing else is told about it.
      EXPECT_EQ(heard.error.message(),
                "server \"odd-server\" exited with status 0" + (c.said.empty() ? "" : "; it " + c.said));
    });
  }
}

constexpr const char* ping = R"({"jsonrpc":"2.0","method":"ping"})";

TEST(Stdio, MessagesComeBackInOrder) {
  run_task([]() -> Task<void> {
    auto channel = co_await open({"echo"});
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(channel->send(note("count", {{"i", i}})));
    for (int i = 0; i < 1000; ++i) {
      EXPECT_EQ(text_of(co_await channel->receive()),
                R"({"jsonrpc":"2.0","method":"count","params":{"i":)" + std::to_string(i) + "}}");
    }
    co_await channel->close(CloseMode::graceful);
    auto after = co_await as_result(channel->receive());
    EXPECT_THAT(after, FailsWith(Errc::closed));
    EXPECT_THAT(channel->send(note("late")), FailsWith(Errc::closed));
  });
}

TEST(Stdio, MessagesLargerThanAnyPipeGoThrough) {
  run_task([]() -> Task<void> {
    auto channel = co_await open({"echo"});
    const std::string large(5u << 20, 'a');
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(channel->send(note("large", {{"text", large}})));
    for (int i = 0; i < 3; ++i) {
      auto incoming = co_await channel->receive();
      const auto& message = std::get<Notification>(std::get<Message>(incoming));
      EXPECT_EQ(message.params.value()["text"], Json(large));
    }
    co_await channel->close(CloseMode::graceful);
  });
}

TEST(Stdio, BatchIsSentAndReceivedAsOne) {
  run_task([]() -> Task<void> {
    auto channel = co_await open({"echo"});
    std::vector<Message> messages;
    messages.push_back(Response{std::int64_t{1}, Payload(Json::object())});
    messages.push_back(Response{std::string("b"), Payload(Json::object())});
    EXPECT_TRUE(channel->send_batch(std::move(messages)));
    EXPECT_EQ(text_of(co_await channel->receive()),
              R"([{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"b","result":{}}])");
    co_await channel->close(CloseMode::graceful);
  });
}

struct Output {
  const char* name;
  std::string printed;
  std::vector<std::string> heard;
  std::uint64_t junk;
  std::string end;  // part of the closed error
};
class StdioOutput : public testing::TestWithParam<Output> {};

// T1: what is not JSON-RPC is skipped and counted; nothing of the rest is lost.
TEST_P(StdioOutput, IsJudgedLineByLine) {
  run_task([]() -> Task<void> {
    auto channel = co_await open({"print", GetParam().printed, "exit"});
    auto heard = co_await hear(*channel);
    EXPECT_EQ(heard.messages, GetParam().heard);
    EXPECT_EQ(heard.error.code(), Errc::closed);
    EXPECT_THAT(heard.error.message(), HasSubstr("server \"odd-server\" exited with status 0" + GetParam().end));
    EXPECT_EQ(channel->junk_lines(), GetParam().junk);
    // The end stays the end.
    auto again = co_await as_result(channel->receive());
    EXPECT_THAT(again, FailsWith(heard.error));
    co_await channel->close(CloseMode::graceful);
  });
}

const std::string P = ping;
INSTANTIATE_TEST_SUITE_P(
    Table, StdioOutput,
    testing::Values(
        Output{"clean", P + "\\n" + P + "\\n", {P, P}, 0, ""},
        Output{"carriage_returns_and_blank_lines", "\\n\\r\\n  \\n" + P + "\\r\\n\\n", {P}, 0, ""},
        Output{"banner", "Server started on stdio\\n" + P + "\\nbye\\n", {P}, 2, ""},
        Output{"json_that_is_no_message", "{\"level\":\"info\"}\\n" + P + "\\n{}\\n[]\\n[1]\\n", {P}, 4, ""},
        Output{"broken_json", "{\"jsonrpc\":\"2.0\",\"method\"\\n" + P + "\\n", {P}, 1, ""},
        Output{
            "broken_answer", "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":}}\\n" + P + "\\n", {"lost 7", P}, 0, ""},
        Output{"invalid_utf8_without_id", "{\"jsonrpc\":\"2.0\",\"method\":\"a\\xff\"}\\n" + P + "\\n", {P}, 1, ""},
        Output{"invalid_utf8_in_an_answer",
               "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"t\":\"\\xff\"}}\\n" + P + "\\n",
               {"lost \"x\"", P},
               0,
               ""},
        Output{"last_line_without_end", P + "\\n" + P, {P, P}, 0, ""},
        Output{"half_a_line",
               P + "\\n" + P.substr(0, 20),
               {P},
               0,
               " in the middle of a message (only 20 bytes of it arrived)"},
        Output{"half_a_line_of_junk", P + "\\nSegmenta", {P}, 1, ""}, Output{"nothing", "", {}, 0, ""}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Stdio, LineAtTheLimitIsFineOneByteMoreIsNot) {
  run_task([]() -> Task<void> {
    Runtime runtime;
    runtime.limits.message = 200'000;
    const std::string before = R"({"jsonrpc":"2.0","method":")";
    const std::string after = R"("})";
    const auto fill = runtime.limits.message - before.size() - after.size();
    auto fits = co_await open({"lines", before, std::to_string(fill), after + "\\n", "exit"}, runtime);
    auto heard = co_await hear(*fits);
    EXPECT_EQ(heard.messages.size(), 1u);
    EXPECT_EQ(heard.error.code(), Errc::closed);
    co_await fits->close(CloseMode::graceful);

    auto over = co_await open({"lines", P + "\\n" + before, std::to_string(fill + 1), after + "\\n", "wait"}, runtime);
    heard = co_await hear(*over);
    EXPECT_EQ(heard.messages, std::vector{P});
    EXPECT_EQ(heard.error.code(), Errc::limit);
    EXPECT_THAT(heard.error.message(), HasSubstr("200000"));
    co_await over->close(CloseMode::graceful);

    // Without a line end it is noticed all the same.
    auto endless = co_await open({"lines", before, "50000000", "", "wait"}, runtime);
    heard = co_await hear(*endless);
    EXPECT_EQ(heard.error.code(), Errc::limit);
    co_await endless->close(CloseMode::graceful);
  });
}

TEST(Stdio, JunkLineOfAnyLengthIsDiscarded) {
  run_task([]() -> Task<void> {
    Runtime runtime;
    runtime.limits.message = 1000;
    auto channel = co_await open({"lines", "", "30000000", "\\n" + P + "\\n", "exit"}, runtime);
    auto heard = co_await hear(*channel);
    EXPECT_EQ(heard.messages, std::vector{P});
    EXPECT_EQ(heard.error.code(), Errc::closed);
    EXPECT_EQ(channel->junk_lines(), 1u);
    co_await channel->close(CloseMode::graceful);
  });
}

TEST(Stdio, FirstJunkLineIsAWarningTheOthersAreDebug) {
  run_task([]() -> Task<void> {
    Runtime runtime;
    std::vector<LogLevel> levels;
    runtime.log = Log(LogLevel::debug, [&](const LogEvent& event) {
      if (event.event == "junk") levels.push_back(event.level);
    });
    auto channel = co_await open({"print", "banner\\n{}\\n{}\\n", "exit"}, runtime);
    co_await hear(*channel);
    EXPECT_THAT(levels, testing::UnorderedElementsAre(LogLevel::info, LogLevel::debug, LogLevel::debug));
    co_await channel->close(CloseMode::graceful);
  });
}

// L7: what is not a message is borne for a while. Then the server is not listened to any longer.
TEST(Stdio, JunkWithoutEndIsALimit) {
  for (const std::string line : {"y", "{}", "[1]", "", R"({"jsonrpc":"2.0","id":5,"result":})"}) {
    SCOPED_TRACE(line);
    run_task([&]() -> Task<void> {
      auto transport = stdio_transport({.command = "sh", .args = {"-c", "exec yes '" + line + "'"}});
      auto channel = co_await transport->open(Runtime{});
      Errc code = Errc::internal;
      std::string message;
      for (bool more = true; more;) {
        auto got = co_await as_result(channel->receive());
        if (!got) {
          code = got.error().code();
          message = got.error().message();
          more = false;
        }
        while (more && channel->received()) {
        }
      }
      EXPECT_EQ(code, Errc::limit);
      EXPECT_THAT(message, AllOf(HasSubstr("server \"sh\""), HasSubstr("that contains no message")));
      co_await channel->close(CloseMode::quick);
    });
  }
}

// L7: a flood of messages leaves the loop to others, and can be ended.
TEST(Stdio, MessagesWithoutEndLeaveTheLoopToOthers) {
  run_task([&]() -> Task<void> {
    auto transport = stdio_transport({.command = "sh", .args = {"-c", "exec yes '" + P + "'"}});
    auto channel = co_await transport->open(Runtime{});
    std::size_t taken = 0;
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn([](Channel& from, std::size_t& count) -> Task<void> {
      for (;;) {
        auto got = co_await as_result(from.receive());
        if (!got) co_return;
        ++count;
        std::size_t row = 0;
        while (from.received()) ++row;
        // A bounded number, then others get their turn.
        EXPECT_LE(row, 1000u);
        count += row;
      }
    }(*channel, taken));
    while (taken < 10'000) co_await sleep_for(1ms);
    co_await channel->close(CloseMode::quick);
    co_await scope.join();
  });
}

// L5: the error of a server that ends carries its exit status and its last words.
TEST(Stdio, ErrorCarriesExitStatusAndTheTailOfStderr) {
  run_task([]() -> Task<void> {
    std::vector<std::string> args{"exit", "3"};
    for (int i = 1; i <= 30; ++i) args.push_back("line " + std::to_string(i));
    auto channel = co_await open(args);
    auto heard = co_await hear(*channel);
    EXPECT_EQ(heard.error.code(), Errc::closed);
    EXPECT_EQ(heard.error.message(), "server \"odd-server\" exited with status 3");
    EXPECT_THAT(heard.error.detail(), AllOf(StartsWith("line 1\nline 2\nline 3\n… (14 lines are not shown)\nline 18\n"),
                                            testing::EndsWith("\nline 30")));
    EXPECT_THAT(channel->diagnostics(), StartsWith("line 1\n"));
    EXPECT_THAT(channel->send(note("late")), FailsWith(heard.error));
    co_await channel->close(CloseMode::graceful);

    auto killed = co_await open({"die", "9"});
    heard = co_await hear(*killed);
    EXPECT_EQ(heard.error.message(), "server \"odd-server\" was killed by signal 9 (SIGKILL)");
    co_await killed->close(CloseMode::graceful);
  });
}

TEST(Stdio, ServerThatClosesItsOutputEndsTheChannelAndIsEndedByClose) {
  run_task([]() -> Task<void> {
    auto channel = co_await open({"mute"});
    auto heard = co_await hear(*channel);
    EXPECT_EQ(heard.error.code(), Errc::closed);
    EXPECT_EQ(heard.error.message(), "server \"odd-server\" closed its output but keeps running");
    co_await channel->close(CloseMode::graceful);
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Stdio, ServerThatClosesItsInputFailsTheChannel) {
  run_task([]() -> Task<void> {
    auto channel = co_await open({"no-input"});
    Scope scope(co_await asio::this_coro::executor);
    Heard heard;
    scope.spawn([](StdioChannel& c, Heard& h) -> Task<void> { h = co_await hear(c); }(*channel, heard));
    // Until the child has closed its end, writes go into the pipe.
    while (channel->send(note("anyone"))) co_await sleep_for(1ms);
    co_await scope.join();
    EXPECT_EQ(heard.error.code(), Errc::closed);
    EXPECT_THAT(heard.error.message(), StartsWith("server \"odd-server\" closed its input but keeps running"));
    co_await channel->close(CloseMode::quick);
  });
}

TEST(Stdio, ServerThatNeverReadsFillsTheQueueAndThenSendFails) {
  run_task([]() -> Task<void> {
    Runtime runtime;
    runtime.limits.outgoing = 300'000;
    auto channel = co_await open({"deaf"}, runtime);
    const auto message = note("fill", {{"text", std::string(10'000, 'x')}});
    Result<void> sent;
    int count = 0;
    while ((sent = channel->send(message)) && count < 10'000) ++count;
    EXPECT_FALSE(sent);
    EXPECT_EQ(sent.error().code(), Errc::limit);
    EXPECT_THAT(sent.error().message(), HasSubstr("stopped reading"));
    // The pipe itself and the queue, not more.
    EXPECT_LT(count, 60);
    EXPECT_GE(count, 29);
    co_await channel->close(CloseMode::quick);
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Stdio, CloseDeliversWhatWasSentBefore) {
  run_task([]() -> Task<void> {
    test::TemporaryDirectory directory;
    const auto file = directory.path() + "/seen";
    auto transport = stdio_transport({.command = "/bin/sh", .args = {"-c", "cat > " + file}});
    auto channel = co_await transport->open(Runtime{});
    const std::string large(3u << 20, 'a');
    EXPECT_TRUE(channel->send(note("large", {{"text", large}})));
    EXPECT_TRUE(channel->send(note("last")));
    co_await channel->close(CloseMode::graceful);
    EXPECT_THAT(test::slurp(file), testing::EndsWith(R"({"jsonrpc":"2.0","method":"last"})"
                                                     "\n"));
    EXPECT_GT(test::slurp(file).size(), large.size());
  });
}

TEST(Stdio, CloseEndsAPendingReceiveAtOnceAndCanBeCalledTwice) {
  run_task([]() -> Task<void> {
    auto channel = co_await open({"stubborn"});
    Scope scope(co_await asio::this_coro::executor);
    std::vector<std::string> order;
    scope.spawn([](StdioChannel& c, std::vector<std::string>& o) -> Task<void> {
      auto heard = co_await hear(c);
      o.push_back(std::string(to_string(heard.error.code())));
    }(*channel, order));
    for (int i = 0; i < 2; ++i) {
      scope.spawn([](StdioChannel& c, std::vector<std::string>& o) -> Task<void> {
        co_await c.close(CloseMode::quick);
        o.push_back("end");
      }(*channel, order));
    }
    co_await scope.join();
    EXPECT_THAT(order, testing::ElementsAre("closed", "end", "end"));
    co_await channel->close(CloseMode::graceful);
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Stdio, CancelledReceiveLosesNothing) {
  run_task([]() -> Task<void> {
    auto channel = co_await open({"echo"});
    for (int i = 0; i < 20; ++i) {
      auto waited = co_await as_result(with_timeout(channel->receive(), 1ms, "nothing yet"));
      EXPECT_FALSE(waited);
    }
    EXPECT_TRUE(channel->send(note("ping")));
    EXPECT_EQ(text_of(co_await channel->receive()), P);
    co_await channel->close(CloseMode::graceful);
  });
}

TEST(Stdio, DestroyedWithoutCloseEndsReceiversAndLeavesNothing) {
  run_task([]() -> Task<void> {
    auto channel = co_await open({"stubborn"});
    Scope scope(co_await asio::this_coro::executor);
    Error error(Errc::internal, "");
    scope.spawn([](StdioChannel& c, Error& e) -> Task<void> { e = (co_await hear(c)).error; }(*channel, error));
    co_await sleep_for(1ms);
    channel.reset();
    co_await scope.join();
    EXPECT_EQ(error.code(), Errc::closed);
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Stdio, MissingCommandIsAConnectErrorThatSaysWhatToDo) {
  run_task([]() -> Task<void> {
    auto transport = stdio_transport({.command = "patchbay-no-such-command"});
    auto opened = co_await as_result(transport->open(Runtime{}));
    EXPECT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), Errc::connect);
    EXPECT_THAT(opened.error().message(),
                AllOf(HasSubstr("command not found: patchbay-no-such-command"), HasSubstr("install it")));
  });
}

TEST(Stdio, DescriptionHidesSecrets) {
  auto transport = stdio_transport(
      {.command = "npx", .args = {"-y", "server", "--api-key", "abc", "--token=def", "--port", "80", "API_KEY=ghi"}});
  EXPECT_EQ(transport->describe(), "npx -y server --api-key *** --token=*** --port 80 API_KEY=***");
  EXPECT_EQ(transport->kind(), Transport::Kind::stdio);
}

// The embedder's SIGPIPE disposition may be the default, which ends the program. In a child
// of its own, because this is about surviving.
TEST(Stdio, ProgramWithDefaultSigpipeSurvivesADeadServer) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGPIPE, SIG_DFL);
    bool closed = false;
    run_task([&]() -> Task<void> {
      auto channel = co_await open({"exit", "1"});
      auto heard = co_await hear(*channel);
      // A channel that has not noticed yet writes into the broken pipe.
      auto other = co_await open({"no-input"});
      while (other->send(note("anyone"))) co_await sleep_for(1ms);
      co_await other->close(CloseMode::quick);
      co_await channel->close(CloseMode::quick);
      closed = heard.error.code() == Errc::closed;
    });
    ::_exit(closed ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Large pipes are rationed for ordinary users, which root does not notice.
TEST(Stdio, UnprivilegedUserRunsThirtyServers) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(2);
    int answered = 0;
    // Several rounds at once, so that the ration is passed.
    run_task([&]() -> Task<void> {
      std::vector<std::unique_ptr<Channel>> channels;
      for (int i = 0; i < 80; ++i) {
        auto transport = stdio_transport({.command = "/bin/cat"});
        channels.push_back(co_await transport->open(Runtime{}));
        EXPECT_TRUE(channels.back()->send(note("ping", {{"text", std::string(100'000, 'x')}})));
      }
      for (auto& channel : channels) {
        auto incoming = co_await channel->receive();
        answered += std::holds_alternative<Message>(incoming) ? 1 : 0;
      }
      for (auto& channel : channels) co_await channel->close(CloseMode::graceful);
    });
    ::_exit(answered == 80 && !testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace patchbay
