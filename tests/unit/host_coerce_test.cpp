// Arguments of a call through a Host are what the tool's schema wants before anybody looks at them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "host/make_host.h"
#include "protocol/methods.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/script_server.h"

namespace patchbay {
namespace {

using test::empty_options;
using test::named;
using test::run_task;
using test::ScriptServer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Keeps the arguments it was called with, as they were sent.
struct Listening {
  std::unique_ptr<ScriptServer> server = ScriptServer::modern(R"({"tools":{}})");
  std::vector<std::string> got;

  explicit Listening(std::string extra = {}) {
    server->on(std::string(method::list_tools),
               R"({"tools":[{"name":"find","inputSchema":{"type":"object","required":["limit"],"properties":{
                   "limit":{"type":"integer"},"all":{"type":"boolean"},"filter":{"type":"object"},"q":{"type":"string"})" +
                   extra + R"(}}}],"resultType":"complete"})");
    server->on(std::string(method::call_tool), [this](Request request) -> Task<Payload> {
      got.push_back(to_text(request.params.value()["arguments"]));
      co_return Payload::parse(R"({"content":[],"resultType":"complete"})").value();
    });
  }
};

Payload text(std::string json) { return Payload::parse(std::move(json)).value(); }

TEST(HostCoercion, ArgumentsAreSentAsTheSchemaWantsThem) {
  run_task([]() -> Task<void> {
    Listening one;
    Host host(empty_options());
    host.add_server(named("s"), one.server->transport());
    const auto result =
        co_await host.call("s/find", text(R"({"q":"10","limit":"10","all":"true","filter":"{\"a\":\"1\"}"})"));
    EXPECT_THAT(one.got, ElementsAre(R"({"q":"10","limit":10,"all":true,"filter":{"a":"1"}})"));
    EXPECT_THAT(result.coerced, ElementsAre(CoercedArgument{"/limit", "string", "integer"},
                                            CoercedArgument{"/all", "string", "boolean"},
                                            CoercedArgument{"/filter", "string", "object"}));
    // The same when the tool is known, and by its other name.
    for (const auto* name : {"s/find", "mcp__s__find"}) {
      EXPECT_EQ((co_await host.call(name, text(R"({"limit":"3"})"))).coerced.size(), 1u);
      EXPECT_EQ(one.got.back(), R"({"limit":3})");
    }
    // All arguments as one text.
    EXPECT_THAT((co_await host.call("s/find", Json(R"({"limit":4})"))).coerced,
                ElementsAre(CoercedArgument{"", "string", "object"}));
    EXPECT_EQ(one.got.back(), R"({"limit":4})");
    co_await host.stop();
  });
}

TEST(HostCoercion, ArgumentsThatFitAreSentByteForByte) {
  run_task([]() -> Task<void> {
    auto server = ScriptServer::modern(R"({"tools":{}})");
    server->on(std::string(method::list_tools),
               R"({"tools":[{"name":"t","inputSchema":{"type":"object"}}],"resultType":"complete"})");
    std::string got;
    server->on(std::string(method::call_tool), [&](Request request) -> Task<Payload> {
      got = request.params.text();
      co_return Payload::parse(R"({"content":[],"resultType":"complete"})").value();
    });
    Host host(empty_options());
    host.add_server(named("s"), server->transport());
    const auto result = co_await host.call("s/t", text(R"({ "a" : 1.0e0,"b":"10" })"));
    EXPECT_THAT(result.coerced, IsEmpty());
    EXPECT_THAT(got, HasSubstr(R"({ "a" : 1.0e0,"b":"10" })"));
    co_await host.stop();
  });
}

TEST(HostCoercion, ItCanBeSwitchedOff) {
  run_task([]() -> Task<void> {
    Listening one;
    Host host(empty_options());
    host.add_server(named("s"), one.server->transport());
    CallOptions as_given;
    as_given.coerce_arguments = false;
    for (int i = 0; i < 2; ++i) {
      auto refused = co_await as_result(host.call("s/find", text(R"({"limit":"10"})"), as_given));
      EXPECT_FALSE(refused);
      if (!refused) EXPECT_EQ(refused.error().code(), Errc::invalid_argument);
    }
    EXPECT_THAT(one.got, IsEmpty());
    co_await host.stop();
  });
}

TEST(HostCoercion, AnErrorSpeaksOfWhatWasGiven) {
  run_task([]() -> Task<void> {
    Listening one;
    Host host(empty_options());
    host.add_server(named("s"), one.server->transport());
    auto refused = co_await as_result(host.call("s/find", text(R"({"limit":"ten","all":"true"})")));
    EXPECT_FALSE(refused);
    if (!refused) {
      EXPECT_THAT(refused.error().message(), HasSubstr("/limit: expected integer, found string"));
      EXPECT_THAT(refused.error().message(), HasSubstr("/all: expected boolean, found string"));
    }
    co_await host.stop();
  });
}

// Rules and people judge what is sent, in whatever form it came.
TEST(HostCoercion, RulesAndPeopleSeeWhatIsSent) {
  run_task([]() -> Task<void> {
    Listening one;
    std::vector<std::string> asked;
    auto options = empty_options();
    options.permission.disallowed_tools = {"mcp__s__find(q: secret*)"};
    options.permission.ask = [&](PermissionQuestion question) -> Task<bool> {
      asked.emplace_back(question.arguments.text());
      co_return true;
    };
    Host host(options);
    host.add_server(named("s"), one.server->transport());
    co_await host.start();
    for (const auto* arguments : {R"({"limit":3,"q":"secrets"})", R"("{\"limit\":3,\"q\":\"secrets\"}")"}) {
      auto denied = co_await as_result(host.call("s/find", text(arguments)));
      EXPECT_FALSE(denied) << arguments;
      if (!denied) EXPECT_EQ(denied.error().code(), Errc::denied) << denied.error().message();
      EXPECT_EQ((co_await host.decide("s/find", text(arguments))).outcome, PermissionOutcome::deny);
    }
    co_await host.call("s/find", text(R"("{\"limit\":\"4\",\"q\":\"a\"}")"));
    EXPECT_THAT(asked, ElementsAre(R"({"limit":4,"q":"a"})"));
    EXPECT_THAT(one.got, ElementsAre(R"({"limit":4,"q":"a"})"));
    co_await host.stop();
  });
}

// A schema that takes a while to compile is compiled aside.
TEST(HostCoercion, ALargeSchemaIsUsedAsWell) {
  run_task([]() -> Task<void> {
    std::string properties;
    for (int i = 0; i < 2000; ++i) properties += ",\"p" + std::to_string(i) + R"(":{"type":"integer"})";
    Listening one(properties);
    Host host(empty_options());
    host.add_server(named("s"), one.server->transport());
    co_await host.start();
    EXPECT_EQ((co_await host.call("mcp__s__find", text(R"({"limit":1,"p1999":"7"})"))).coerced.size(), 1u);
    EXPECT_THAT(one.got, ElementsAre(R"({"limit":1,"p1999":7})"));
    co_await host.stop();
  });
}

TEST(HostCoercion, TheLogSaysWhere) {
  run_task([]() -> Task<void> {
    Listening one;
    std::vector<LogEvent> events;
    Runtime runtime;
    runtime.log = Log(LogLevel::info, [&](const LogEvent& event) { events.push_back(event); });
    Host host = make_host(empty_options(), runtime, "");
    host.add_server(named("s"), one.server->transport());
    co_await host.call("s/find", text(R"({"limit":"10"})"));
    const auto said = std::ranges::find(events, "arguments_coerced", &LogEvent::event);
    EXPECT_NE(said, events.end());
    if (said != events.end()) EXPECT_EQ(said->fields.back().value, "/limit string to integer");
    co_await host.stop();
  });
}

}  // namespace
}  // namespace patchbay
