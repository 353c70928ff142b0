// Whose question or log message it is: every call of a session is known to whoever is asked on its behalf, and
// nothing is said to belong to a call where it may belong to another.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/client.h>
#include <patchbay/server.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "protocol/methods.h"
#include "support/loop.h"
#include "support/script_server.h"

namespace patchbay {
namespace {

using test::run_task;
using test::ScriptServer;
using testing::Each;
using testing::ElementsAre;

std::string m(std::string_view method) { return std::string(method); }

// Logs and asks whatever it is called for. The tool "wait" waits until somebody else was served.
std::shared_ptr<Server> talkative_server() {
  struct Served {
    Event event;
    bool once = false;
  };
  static const auto talk = [](RequestContext& context) -> Task<void> {
    context.log(LoggingLevel::error, "working");
    (void)co_await context.list_roots();
  };
  auto served = std::make_shared<Served>();
  auto server = std::make_shared<Server>("talkative", "1");
  Resource resource;
  resource.uri = "note://one";
  server->add_resource(
      resource, [served](RequestContext& context, std::string uri) -> Task<std::vector<ResourceContents>> {
        return [](std::shared_ptr<Served> s, RequestContext& c, std::string at) -> Task<std::vector<ResourceContents>> {
          co_await talk(c);
          s->once = true;
          s->event.notify_all();
          co_return std::vector{ResourceContents{.uri = std::move(at), .text = "x"}};
        }(served, context, std::move(uri));
      });
  Prompt prompt;
  prompt.name = "greet";
  server->add_prompt(prompt, [](RequestContext& context, std::map<std::string, std::string>) -> Task<GetPromptResult> {
    co_await talk(context);
    co_return GetPromptResult{};
  });
  // With a newer client this is a request that cannot ask.
  server->set_completion([](RequestContext& context, CompleteRequest) -> Task<CompleteResult> {
    context.log(LoggingLevel::error, "completing");
    co_return CompleteResult{};
  });
  server->add_tool("wait", "", args(), [served]() -> Task<std::string> {
    return [](std::shared_ptr<Served> s) -> Task<std::string> {
      while (!s->once) co_await s->event.wait();
      co_return "served";
    }(served);
  });
  return server;
}

struct Heard {
  std::vector<CallContext> logged;
  std::vector<CallContext> asked;
};

ClientOptions listening_client(const std::string& protocol, Heard& heard) {
  ClientOptions client;
  client.server = "docs";
  client.protocol = protocol;
  client.log_level = LoggingLevel::debug;
  client.on_log = [&heard](const LogMessage&, const CallContext& context) { heard.logged.push_back(context); };
  client.roots = [&heard](CallContext context) -> Task<std::vector<Root>> {
    heard.asked.push_back(std::move(context));
    return []() -> Task<std::vector<Root>> { co_return std::vector<Root>{}; }();
  };
  return client;
}

CallOptions of(std::string principal, std::uint64_t number) {
  CallOptions options;
  options.principal = std::move(principal);
  options.call_id = number;
  return options;
}

TEST(CallContexts, ReadsPromptsAndCompletionAreKnownLikeToolCalls) {
  for (const std::string protocol : {"auto", "legacy"}) {
    SCOPED_TRACE(protocol);
    run_task([&]() -> Task<void> {
      Heard heard;
      auto session = co_await Client(listening_client(protocol, heard)).connect(memory_transport(talkative_server()));
      (void)co_await session.read_resource("note://one", of("ann", 7));
      (void)co_await session.get_prompt("greet", {}, of("ben", 8));
      CompleteRequest complete;
      complete.ref = {.kind = CompletionReference::Kind::prompt, .name = "greet"};
      complete.argument = {.name = "who", .value = ""};
      (void)co_await session.complete(complete, of("cat", 9));
      std::vector<CallContext> expected{{"docs", m(method::read_resource), "", "ann", 7},
                                        {"docs", m(method::get_prompt), "", "ben", 8}};
      EXPECT_EQ(heard.asked, expected);
      expected.push_back({"docs", m(method::complete), "", "cat", 9});
      // A newer client answers by repeating the call, so its handler logs once more.
      heard.logged.erase(std::unique(heard.logged.begin(), heard.logged.end()), heard.logged.end());
      EXPECT_EQ(heard.logged, expected);
      co_await session.close();
    });
  }
}

TEST(CallContexts, CallsWithoutANumberGetOne) {
  run_task([]() -> Task<void> {
    Heard heard;
    auto session = co_await Client(listening_client("legacy", heard)).connect(memory_transport(talkative_server()));
    (void)co_await session.read_resource("note://one");
    (void)co_await session.get_prompt("greet", {});
    EXPECT_NE(heard.asked.at(0).call_id, 0u);
    EXPECT_NE(heard.asked.at(1).call_id, 0u);
    EXPECT_NE(heard.asked.at(0).call_id, heard.asked.at(1).call_id);
    co_await session.close();
  });
}

TEST(CallContexts, ALogMessageWhileAListIsFetchedBelongsToThatList) {
  auto server = ScriptServer::legacy(R"({"tools":{},"logging":{}})");
  server->on(m(method::list_tools), [&](Request) -> Task<Payload> {
    server->notify(m(method::log_message), *Payload::parse(R"({"level":"info","data":"listing"})"));
    return []() -> Task<Payload> { co_return *Payload::parse(R"({"tools":[]})"); }();
  });
  run_task([&]() -> Task<void> {
    Heard heard;
    auto session = co_await Client(listening_client("legacy", heard)).connect(server->transport());
    (void)co_await session.list_tools(of("ann", 3));
    EXPECT_THAT(heard.logged, ElementsAre(CallContext{"docs", m(method::list_tools), "", "ann", 3}));
    co_await session.close();
  });
}

// One connection without streams: what the server says meanwhile may belong to either call.
TEST(CallContexts, WithTwoCallsPendingNothingIsSaidToBelongToOneOfThem) {
  run_task([]() -> Task<void> {
    Heard heard;
    auto session = co_await Client(listening_client("legacy", heard)).connect(memory_transport(talkative_server()));
    Scope scope(co_await asio::this_coro::executor);
    scope.start([](Session s) -> Task<void> { (void)co_await s.call_tool("wait", {}, of("ben", 1)); }(session));
    (void)co_await session.read_resource("note://one", of("ann", 2));
    co_await scope.join();
    EXPECT_THAT(heard.logged, ElementsAre(CallContext{.server = "docs"}));
    EXPECT_THAT(heard.asked, ElementsAre(CallContext{.server = "docs"}));
    co_await session.close();
  });
}

// A request that nobody gave a name to is pending all the same.
TEST(CallContexts, ARequestOfTheSessionItselfCountsAsAnotherOne) {
  auto server = ScriptServer::legacy(R"({"tools":{},"logging":{}})");
  Event pinged;
  server->on(m(method::ping), [&](Request) -> Task<Payload> {
    server->notify(m(method::log_message), *Payload::parse(R"({"level":"info","data":"x"})"));
    pinged.notify_all();
    return []() -> Task<Payload> { co_return *Payload::parse("{}"); }();
  });
  server->on(m(method::call_tool), [&](Request) -> Task<Payload> {
    return [](Event& event) -> Task<Payload> {
      co_await event.wait();
      co_return *Payload::parse(R"({"content":[]})");
    }(pinged);
  });
  run_task([&]() -> Task<void> {
    Heard heard;
    auto session = co_await Client(listening_client("legacy", heard)).connect(server->transport());
    Scope scope(co_await asio::this_coro::executor);
    scope.start([](Session s) -> Task<void> { (void)co_await s.call_tool("any", {}, of("ben", 1)); }(session));
    co_await session.ping();
    co_await scope.join();
    EXPECT_THAT(heard.logged, ElementsAre(CallContext{.server = "docs"}));
    co_await session.close();
  });
}

// Over HTTP each request has a stream of its own, so there is no doubt.
TEST(CallContexts, OnTheStreamOfACallItIsKnownWhoseItIs) {
  for (const std::string protocol : {"auto", "legacy"}) {
    SCOPED_TRACE(protocol);
    run_task([&]() -> Task<void> {
      auto server = talkative_server();
      std::string url;
      Event listening;
      ServerHttpOptions http;
      http.on_listening = [&](const std::string& where) {
        url = where;
        listening.notify_all();
      };
      Scope serving(co_await asio::this_coro::executor);
      serving.spawn([](std::shared_ptr<Server> s, ServerHttpOptions how) -> Task<void> {
        (void)co_await as_result(s->serve_http(std::move(how)));
      }(server, http));
      while (url.empty()) co_await listening.wait();
      Heard heard;
      auto session = co_await Client(listening_client(protocol, heard))
                         .connect(http_transport({.url = url, .headers = {}, .proxy = ""}));
      Scope scope(co_await asio::this_coro::executor);
      scope.start([](Session s) -> Task<void> { (void)co_await s.call_tool("wait", {}, of("ben", 1)); }(session));
      (void)co_await session.read_resource("note://one", of("ann", 2));
      co_await scope.join();
      const CallContext reading{"docs", m(method::read_resource), "", "ann", 2};
      EXPECT_THAT(heard.asked, ElementsAre(reading));
      EXPECT_FALSE(heard.logged.empty());
      EXPECT_THAT(heard.logged, Each(reading));
      co_await session.close();
      serving.cancel();
      co_await serving.join();
    });
  }
}

}  // namespace
}  // namespace patchbay
