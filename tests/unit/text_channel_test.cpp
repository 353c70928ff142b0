// A connection that the program makes itself, at both ends: TextChannel, text_transport and Server::serve.
#include "transport/text_channel.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>
#include <patchbay/server.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "support/fails_with.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using test::FailsWith;
using test::run_task;
using testing::HasSubstr;

// Texts on their way in one direction.
struct Way {
  std::deque<std::string> texts;
  bool ended = false;
  Event changed;
};

// What a program would write: a channel over two ways.
class Pipe final : public TextChannel {
 public:
  Pipe(std::shared_ptr<Way> in, std::shared_ptr<Way> out) : in_(std::move(in)), out_(std::move(out)) {}

  Task<std::optional<std::string>> read() override {
    while (in_->texts.empty() && !in_->ended) co_await in_->changed.wait();
    if (in_->texts.empty()) co_return std::nullopt;
    auto text = std::move(in_->texts.front());
    in_->texts.pop_front();
    co_return text;
  }
  Task<void> write(std::string text) override {
    out_->texts.push_back(std::move(text));
    out_->changed.notify_all();
    co_return;
  }
  Task<void> close() override {
    for (const auto& way : {in_, out_}) {
      way->ended = true;
      way->changed.notify_all();
    }
    co_return;
  }

 private:
  std::shared_ptr<Way> in_;
  std::shared_ptr<Way> out_;
};

struct Ways {
  std::shared_ptr<Way> to_server = std::make_shared<Way>();
  std::shared_ptr<Way> to_client = std::make_shared<Way>();
  std::unique_ptr<TextChannel> client() const { return std::make_unique<Pipe>(to_client, to_server); }
  std::unique_ptr<TextChannel> server() const { return std::make_unique<Pipe>(to_server, to_client); }
};

std::shared_ptr<Server> greeter() {
  auto server = std::make_shared<Server>("greeter", "1");
  server->add_tool("greet", "", args(arg<std::string>("name")), [](std::string name) { return text("hello " + name); });
  return server;
}

Task<std::unique_ptr<TextChannel>> ready(std::unique_ptr<TextChannel> channel) { co_return channel; }

TEST(TextChannel, AProgramsOwnConnectionCarriesAWholeSession) {
  for (const auto* protocol : {"auto", "legacy"}) {
    run_task([&]() -> Task<void> {
      auto server = greeter();
      Scope serving(co_await asio::this_coro::executor);
      auto transport = text_transport("my pipe", [&]() -> Task<std::unique_ptr<TextChannel>> {
        Ways ways;
        serving.spawn(server->serve(ways.server()));
        return ready(ways.client());
      });
      ClientOptions options;
      options.protocol = protocol;
      auto session = co_await Client(options).connect(transport);
      EXPECT_EQ(session.server().info.name, "greeter");
      EXPECT_EQ(text_of(co_await session.call_tool("greet", Json{{"name", "you"}})), "hello you");
      const std::string long_name(3u << 20, 'x');
      EXPECT_EQ(text_of(co_await session.call_tool("greet", Json{{"name", long_name}})), "hello " + long_name);
      co_await session.close();
      co_await serving.join();
    });
  }
}

TEST(TextChannel, AnEndOfTheOtherSideEndsCallsWithTheNameOfTheConnection) {
  run_task([]() -> Task<void> {
    auto server = greeter();
    Event never;
    Event begun;
    server->add_tool("wait", "", args(), [&]() -> Task<std::string> {
      begun.notify_all();
      co_await never.wait();
      co_return "woken";
    });
    Scope scope(co_await asio::this_coro::executor);
    Ways ways;
    auto transport = text_transport("my pipe", [&]() -> Task<std::unique_ptr<TextChannel>> {
      scope.spawn(server->serve(ways.server()));
      return ready(ways.client());
    });
    auto session = co_await Client(ClientOptions{}).connect(transport);
    scope.spawn([](Event& when, Ways w) -> Task<void> {
      co_await when.wait();
      co_await w.server()->close();
    }(begun, ways));
    EXPECT_THAT(co_await as_result(session.call_tool("wait", {})), FailsWith(Errc::closed, HasSubstr("my pipe")));
    co_await session.close();
    co_await scope.join();
  });
}

// What the program's channel may do wrong.
class Unruly final : public TextChannel {
 public:
  enum class Fault { read_throws, write_throws, close_hangs };
  explicit Unruly(Fault fault) : fault_(fault) {}
  Task<std::optional<std::string>> read() override {
    if (fault_ == Fault::read_throws) throw std::runtime_error("the cable broke");
    co_await never_.wait();
    co_return std::nullopt;
  }
  Task<void> write(std::string) override {
    if (fault_ == Fault::write_throws) throw std::runtime_error("the cable broke");
    co_return;
  }
  Task<void> close() override {
    if (fault_ == Fault::close_hangs) co_await never_.wait();
  }

 private:
  Fault fault_;
  Event never_;
};

TEST(TextChannel, WhatItThrowsEndsTheConnectionAndSaysWhy) {
  for (auto fault : {Unruly::Fault::read_throws, Unruly::Fault::write_throws}) {
    run_task([&]() -> Task<void> {
      auto executor = co_await asio::this_coro::executor;
      TextMessages channel(executor, std::make_unique<Unruly>(fault), "my pipe", Runtime{});
      (void)channel.send(Notification{"notifications/initialized", {}});
      EXPECT_THAT(co_await as_result(channel.receive()), FailsWith(Errc::closed, "my pipe: the cable broke"));
      EXPECT_FALSE(channel.send(Notification{"notifications/initialized", {}}));
      co_await channel.close(CloseMode::graceful);
    });
  }
}

TEST(TextChannel, CloseEndsWhateverItsOwnCloseDoes) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    TextMessages channel(executor, std::make_unique<Unruly>(Unruly::Fault::close_hangs), "my pipe", Runtime{});
    co_await channel.close(CloseMode::quick);
    EXPECT_THAT(co_await as_result(channel.receive()), FailsWith(Errc::closed));
  });
}

TEST(TextChannel, AMessageOverTheLimitEndsTheConnection) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Ways ways;
    Runtime runtime;
    runtime.limits.message = 100;
    TextMessages channel(executor, ways.client(), "my pipe", runtime);
    co_await ways.server()->write(std::string(101, 'x'));
    EXPECT_THAT(co_await as_result(channel.receive()), FailsWith(Errc::limit, HasSubstr("101 bytes")));
    co_await channel.close(CloseMode::graceful);
  });
}

TEST(TextChannel, AnOpenThatFailsOrBringsNothingIsAConnectionThatCouldNotBeMade) {
  run_task([]() -> Task<void> {
    auto none = text_transport("my pipe", [] { return ready(nullptr); });
    EXPECT_THAT(co_await as_result(Client(ClientOptions{}).connect(none)),
                FailsWith(Errc::connect, HasSubstr("my pipe")));
    auto failing = text_transport("my pipe", []() -> Task<std::unique_ptr<TextChannel>> {
      throw std::runtime_error("no cable");
      co_return nullptr;
    });
    EXPECT_THAT(co_await as_result(Client(ClientOptions{}).connect(failing)),
                FailsWith(Errc::connect, HasSubstr("my pipe: no cable")));
  });
}

TEST(LogOptions, WhatTheLibraryReportsReachesTheProgram) {
  run_task([]() -> Task<void> {
    std::vector<LogEvent> events;
    ServerOptions options{.info = {.name = "s", .version = "1"}};
    options.log = {.sink = [&](const LogEvent& event) { events.push_back(event); }, .threshold = LogLevel::error};
    Server server(std::move(options));
    Tool broken;
    broken.name = "broken";
    broken.output_schema = Json{{"type", "object"}, {"required", Json::array({"x"})}};
    server.add_tool(broken, args(), [] { return structured(Json::object()); });
    Ways ways;
    Scope scope(co_await asio::this_coro::executor);
    scope.spawn(server.serve(ways.server()));
    auto transport = text_transport("my pipe", [&] { return ready(ways.client()); });
    auto session = co_await Client(ClientOptions{}).connect(transport);
    EXPECT_THAT(co_await as_result(session.call_tool("broken", {})), FailsWith(Errc::rpc));
    co_await session.close();
    co_await scope.join();
    EXPECT_EQ(events.size(), 1u);
    if (events.empty()) co_return;
    EXPECT_EQ(events[0].event, "bad_result");
    EXPECT_EQ(events[0].level, LogLevel::error);
    EXPECT_EQ(events[0].field("tool"), "broken");
  });
}

}  // namespace
}  // namespace patchbay
