// The server on descriptors of this process: framing, bad lines, and the end.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/fd.h"
#include "protocol/methods.h"
#include "server/connection.h"
#include "support/fails_with.h"
#include "support/loop.h"
#include "support/sample_server.h"
#include "transport/line_channel.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::run_task;
using test::text_result;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(Errc::internal, "no pipe");
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  Fd read;
  Fd write;
};

void put(const Fd& fd, std::string_view text) {
  EXPECT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::string read_all(const Fd& fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto length = ::read(fd.get(), buffer.data(), buffer.size());
    if (length <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(length));
  }
}

std::shared_ptr<ServerCore> core_with(std::string name, ToolHandler handler) {
  ServerOptions options;
  options.info = {.name = "sample", .version = "1.0"};
  auto core = std::make_shared<ServerCore>(std::move(options));
  core->tools.put(name, Tool{.name = name}, ToolRoute{ToolSchemas(Json(), nullptr), std::move(handler), {}});
  return core;
}

std::shared_ptr<ServerCore> plain_core() {
  return core_with("echo", [](RequestContext&, Json arguments) -> Task<CallToolResult> {
    co_return text_result(to_text(arguments));
  });
}

Task<void> serve(std::shared_ptr<ServerCore> core, int input, int output, Runtime runtime = {}, Duration drain = 1min) {
  auto executor = co_await asio::this_coro::executor;
  ClientConnection connection(std::move(core), executor,
                              std::make_unique<LineChannel>(executor, input, output, runtime), runtime, drain);
  co_await connection.run();
}

// Everything the server says to `input`, which ends there.
std::string converse(std::string_view input, Runtime runtime = {}) {
  Pipe to_server;
  Pipe from_server;
  put(to_server.write, input);
  to_server.write.reset();
  run_task(
      [&]() -> Task<void> { co_await serve(plain_core(), to_server.read.get(), from_server.write.get(), runtime); });
  from_server.write.reset();
  return read_all(from_server.read);
}

constexpr std::string_view ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
constexpr std::string_view pong = R"({"jsonrpc":"2.0","id":1,"result":{}})";
constexpr std::string_view second_ping = R"({"jsonrpc":"2.0","id":2,"method":"ping"})";
constexpr std::string_view second_pong = R"({"jsonrpc":"2.0","id":2,"result":{}})";

// S11-18, T1
TEST(ServerStdio, AnswersLinesAndEndsAtEof) {
  // The last line has no end.
  EXPECT_EQ(converse(fmt::format("{}\r\n\n{}", ping, second_ping)), fmt::format("{}\n{}\n", pong, second_pong));
}

TEST(ServerStdio, ALineThatIsNotAMessageIsAnsweredWithAnErrorAndHarmsNothing) {
  struct Case {
    std::string line;
    std::string answer;  // without its text; empty when there is none
  };
  const std::vector<Case> cases{
      {"hello", R"({"jsonrpc":"2.0","error":{"code":-32700,)"},
      {R"({"jsonrpc":"2.0","id":7,"method":)", R"({"jsonrpc":"2.0","error":{"code":-32700,)"},
      {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}", R"({"jsonrpc":"2.0","error":{"code":-32700,)"},
      {R"({"id":7,"method":"ping"})", R"({"jsonrpc":"2.0","id":7,"error":{"code":-32600,)"},
      {R"({"jsonrpc":"1.0","id":"x","method":"ping"})", R"({"jsonrpc":"2.0","id":"x","error":{"code":-32600,)"},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", R"({"jsonrpc":"2.0","error":{"code":-32600,)"},
      {R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})", R"({"jsonrpc":"2.0","error":{"code":-32600,)"},
      {R"({"jsonrpc":"2.0","id":7,"method":"ping","params":3})", R"({"jsonrpc":"2.0","id":7,"error":{"code":-32600,)"},
      {"[]", R"({"jsonrpc":"2.0","error":{"code":-32600,)"},
      {"[1]", R"({"jsonrpc":"2.0","error":{"code":-32600,)"},
      {"[[]]", R"({"jsonrpc":"2.0","error":{"code":-32600,)"},
      {R"([{"jsonrpc":"2.0","id":7,"method":"ping"},1])", R"({"jsonrpc":"2.0","error":{"code":-32600,)"},
      {R"([{"jsonrpc":"2.0","id":7,"method":"ping"})", R"({"jsonrpc":"2.0","error":{"code":-32700,)"},
      {R"({"jsonrpc":"2.0","id":true,"method":"ping"})", R"({"jsonrpc":"2.0","error":{"code":-32600,)"},
      {R"({"jsonrpc":"2.0","id":{"a":1},"method":"ping"})", R"({"jsonrpc":"2.0","error":{"code":-32600,)"},
      {R"({"jsonrpc":"2.0","id":9223372036854775808,"method":"ping"})", R"({"jsonrpc":"2.0","error":{"code":-32600,)"},
      {R"({"jsonrpc":"2.0","id":-7,"method":3})", R"({"jsonrpc":"2.0","id":-7,"error":{"code":-32600,)"},
      {R"({"jsonrpc":"2.0","id":""})", R"({"jsonrpc":"2.0","id":"","error":{"code":-32600,)"},
      {R"({"jsonrpc":"2.0","id":7,"id":8,"method":"ping"})", R"({"jsonrpc":"2.0","error":{"code":-32700,)"},
      // Answers, good or bad, are never answered.
      {R"({"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":"x"}})", ""},
      {R"({"jsonrpc":"2.0","id":7,"result":{}})", ""},
      {R"({"jsonrpc":"2.0","id":1.5,"result":{}})", ""},
      {R"({"jsonrpc":"2.0","id":7,"error":{"code":1.5}})", ""},
      {R"({"jsonrpc":"2.0","id":7,"error":"no"})", ""},
  };
  for (const auto& c : cases) {
    const auto said = converse(fmt::format("{}\n{}\n", c.line, ping));
    EXPECT_TRUE(said.starts_with(c.answer.empty() ? std::string(pong) : c.answer)) << c.line << "\n" << said;
    EXPECT_TRUE(said.ends_with(fmt::format("{}\n", pong))) << c.line << "\n" << said;
  }
}

TEST(ServerStdio, ALineOneByteOverTheLimitEndsTheConnection) {
  Runtime runtime;
  runtime.limits.message = ping.size();
  EXPECT_EQ(converse(fmt::format("{}\n", ping), runtime), fmt::format("{}\n", pong));
  EXPECT_EQ(converse(fmt::format("{} \n{}\n", ping, ping), runtime), "");
}

Task<std::string> read_line(asio::posix::stream_descriptor& from, std::string& buffer) {
  const auto length = co_await asio::async_read_until(from, asio::dynamic_buffer(buffer), '\n', asio::use_awaitable);
  auto line = buffer.substr(0, length - 1);
  buffer.erase(0, length);
  co_return line;
}

TEST(ServerStdio, RequestsRunningAtEofStillAnswerAndSubscriptionsEnd) {
  Pipe to_server;
  Pipe from_server;
  run_task([&]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Event go;
    auto core = core_with("slow", [&](RequestContext&, Json) -> Task<CallToolResult> {
      co_await go.wait();
      co_return text_result("done");
    });
    Scope scope(executor);
    scope.spawn(serve(core, to_server.read.get(), from_server.write.get()));
    const std::string meta =
        R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})";
    put(to_server.write, fmt::format("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/"
                                     "listen\",\"params\":{{\"notifications\":{{}},{}}}}}\n",
                                     meta));
    put(to_server.write,
        fmt::format("{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{{\"name\":\"slow\",{}}}}}\n",
                    meta));
    to_server.write.reset();

    asio::posix::stream_descriptor from(executor, ::dup(from_server.read.get()));
    std::string buffer;
    EXPECT_TRUE((co_await read_line(from, buffer)).contains("notifications/subscriptions/acknowledged"));
    EXPECT_TRUE((co_await read_line(from, buffer)).starts_with(R"({"jsonrpc":"2.0","id":1,"result":)"));
    EXPECT_TRUE((co_await read_line(from, buffer)).contains("notifications/cancelled"));
    EXPECT_FALSE(scope.empty());
    go.notify_all();
    EXPECT_TRUE((co_await read_line(from, buffer))
                    .starts_with(R"({"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}])"));
    co_await scope.join();
  });
}

TEST(ServerStdio, RequestsThatDoNotEndAreGivenUpAfterTheLimit) {
  Pipe to_server;
  Pipe from_server;
  put(to_server.write,
      fmt::format("{}\n",
                  R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})"));
  put(to_server.write,
      fmt::format("{}\n", R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang"}})"));
  to_server.write.reset();
  Event never;
  run_task([&]() -> Task<void> {
    auto core = core_with("hang", [&](RequestContext&, Json) -> Task<CallToolResult> {
      co_await never.wait();
      co_return text_result("woken");
    });
    co_await serve(core, to_server.read.get(), from_server.write.get(), {}, 1ms);
  });
  EXPECT_FALSE(never.has_waiters());
  from_server.write.reset();
  EXPECT_FALSE(read_all(from_server.read).contains("woken"));
}

TEST(ServerStdio, AClientThatStopsReadingEndsTheConnectionAndRaisesNoSignal) {
  Pipe to_server;
  Pipe from_server;
  from_server.read.reset();
  put(to_server.write, fmt::format("{}\n", ping));
  // The input stays open: the end comes from the failed write.
  run_task([&]() -> Task<void> { co_await serve(plain_core(), to_server.read.get(), from_server.write.get()); });
}

TEST(ServerStdio, AnswersBeyondTheQueueAreRefusedNotKept) {
  run_task([]() -> Task<void> {
    Pipe in;
    Pipe out;
    Runtime runtime;
    runtime.limits.outgoing = 100'000;
    runtime.limits.exit_after_eof = 1ms;
    LineChannel channel(co_await asio::this_coro::executor, in.read.get(), out.write.get(), runtime);
    const Notification note{"x", Json::array({std::string(10'000, 'x')})};
    Result<void> sent;
    int accepted = 0;
    while (accepted < 1000 && (sent = channel.send(note))) ++accepted;
    EXPECT_FALSE(sent);
    EXPECT_EQ(sent.error().code(), Errc::limit);
    EXPECT_GE(accepted, 4);
    // What somebody waits for has room still.
    EXPECT_TRUE(channel.send(Notification{std::string(method::cancelled), Json{{"requestId", 1}}}));
    EXPECT_TRUE(channel.send(Response{std::int64_t{1}, Json::array({std::string(10'000, 'x')})}));
    int answers = 0;
    while (answers < 1000 && (sent = channel.send(Response{std::int64_t{1}, Json::array({std::string(10'000, 'x')})})))
      ++answers;
    EXPECT_FALSE(sent);
    EXPECT_EQ(sent.error().code(), Errc::limit);
    co_await channel.close(CloseMode::graceful);
    EXPECT_THAT(channel.send(note), FailsWith(Errc::closed));
  });
}

TEST(ServerStdio, AnAnswerOverTheLimit_BecomesAnErrorWithBothNumbers) {
  Runtime runtime;
  runtime.limits.answer = 200;
  const auto said = converse(
      fmt::format(
          "{}\n{}\n{}\n", R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})",
          fmt::format(
              R"({{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"echo","arguments":{{"a":"{}"}}}}}})",
              std::string(200, 'x')),
          ping),
      runtime);
  EXPECT_TRUE(said.contains(
      R"({"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the answer has 285 bytes; the limit of one answer is 200"}})"))
      << said;
  EXPECT_TRUE(said.contains(pong)) << said;
}

// The queue is bounded for a client that does not read, not for one large answer.
TEST(ServerStdio, AnAnswerLargerThanTheQueue_IsSentWhereNothingWaits) {
  Runtime runtime;
  runtime.limits.outgoing = 100;
  const auto said = converse(
      fmt::format("{}\n",
                  R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})"),
      runtime);
  EXPECT_TRUE(said.contains(R"("protocolVersion":"2025-11-25")")) << said;
}

TEST(ServerStdio, ABatchOfTooManyMessages_IsRefusedAndHarmsNothing) {
  Runtime runtime;
  runtime.limits.items = 2;
  const auto said = converse(fmt::format("[{},{},{}]\n{}\n", ping, second_ping, second_ping, ping), runtime);
  EXPECT_EQ(
      said,
      fmt::format(
          "{}\n{}\n",
          R"({"jsonrpc":"2.0","error":{"code":-32600,"message":"the batch has more than 2 messages, which is the limit; send it in parts"}})",
          pong));
}

TEST(ServerStdio, ALargeAnswerLeavesInPieces) {
  Pipe to_server;
  Pipe from_server;
  run_task([&]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto core = core_with("big", [](RequestContext&, Json) -> Task<CallToolResult> {
      co_return text_result(std::string(3'000'000, 'x'));
    });
    Scope scope(executor);
    scope.spawn(serve(core, to_server.read.get(), from_server.write.get()));
    put(to_server.write,
        fmt::format("{}\n",
                    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})"));
    put(to_server.write,
        fmt::format("{}\n", R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"big"}})"));
    asio::posix::stream_descriptor from(executor, ::dup(from_server.read.get()));
    std::string buffer;
    co_await read_line(from, buffer);
    EXPECT_EQ(
        (co_await read_line(from, buffer)).size(),
        3'000'000u +
            std::string_view(R"({"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":""}]}})").size());
    to_server.write.reset();
    co_await scope.join();
  });
}

TEST(ServerStdio, FilesServeAsInputAndOutput) {
  std::FILE* input = std::tmpfile();
  std::FILE* output = std::tmpfile();
  Fd in(::dup(::fileno(input)));
  Fd out(::dup(::fileno(output)));
  put(in, fmt::format("{}\n{}\n", ping, second_ping));
  ::lseek(in.get(), 0, SEEK_SET);
  run_task([&]() -> Task<void> { co_await serve(plain_core(), in.get(), out.get()); });
  ::lseek(out.get(), 0, SEEK_SET);
  EXPECT_EQ(read_all(out), fmt::format("{}\n{}\n", pong, second_pong));
  std::fclose(input);
  std::fclose(output);
}

TEST(ServerStdio, SharedDescriptorsGetTheirModeBack) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  Fd ours(ends[0]);
  Fd theirs(ends[1]);
  put(ours, fmt::format("{}\n", ping));
  ::shutdown(ours.get(), SHUT_WR);
  run_task([&]() -> Task<void> { co_await serve(plain_core(), theirs.get(), theirs.get()); });
  EXPECT_EQ(::fcntl(theirs.get(), F_GETFL) & O_NONBLOCK, 0);
  theirs.reset();
  EXPECT_EQ(read_all(ours), fmt::format("{}\n", pong));
}

TEST(ServerStdio, ServesTheDescriptorsOfItsProcess) {
  Pipe to_server;
  Pipe from_server;
  put(to_server.write, fmt::format("{}\n", ping));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::dup2(to_server.read.get(), STDIN_FILENO);
    ::dup2(from_server.write.get(), STDOUT_FILENO);
    to_server.write.reset();
    auto server = test::sample_server();
    ::_exit(run([](Server& s) -> Task<int> {
      co_await s.serve_stdio();
      co_return 7;
    }(*server)));
  }
  to_server.write.reset();
  from_server.write.reset();
  EXPECT_EQ(read_all(from_server.read), fmt::format("{}\n", pong));
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace patchbay
