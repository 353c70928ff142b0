// A call through a Host: what its limit covers, how the user is asked when several calls want that, and what it
// costs. X5, P1, L6.
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>
#include <patchbay/server.h>

#include "base/runtime.h"
#include "host/make_host.h"
#include "protocol/methods.h"
#include "settings/settings_layers.h"
#include "support/beside.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/script_server.h"

// Of the sanitizers; not there in other trees, where nothing is counted then.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*)) __attribute__((weak));

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::beside;
using test::empty_options;
using test::failure_of;
using test::ManualClock;
using test::named;
using test::run_task;
using test::ScriptServer;
using test::settle;
using test::tool_server;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string m(std::string_view method) { return std::string(method); }

constexpr auto fine = R"({"content":[],"resultType":"complete"})";

CallOptions within(std::chrono::milliseconds limit) {
  CallOptions options;
  options.total = limit;
  return options;
}

// What a call has -------------------------------------------------------------------------

TEST(HostCall, StartingTheServerCountsAgainstTheLimitOfTheCall) {
  run_task([]() -> Task<void> {
    auto server = tool_server({"a"});
    server->on(m(method::call_tool), fine);
    Event go;
    bool may = false;
    server->before_open = [&]() -> Task<void> {
      while (!may) co_await go.wait();
    };
    Host host(empty_options());
    host.add_server(named("s"), server->transport());
    auto late = co_await as_result(host.call("s/a", {}, within(20ms)));
    EXPECT_FALSE(late);
    if (!late) {
      EXPECT_EQ(late.error().code(), Errc::timeout);
      EXPECT_THAT(late.error().message(), AllOf(HasSubstr("20 ms"), HasSubstr("server \"s\" was starting")));
    }
    // The attempt goes on for others.
    may = true;
    go.notify_all();
    co_await host.call("s/a");
    EXPECT_EQ(server->opens, 1);
    co_await host.stop();
  });
}

TEST(HostCall, TheLimitOfAnEntryCountsFromTheBeginning) {
  run_task([]() -> Task<void> {
    auto server = tool_server({"a"});
    server->before_open = []() -> Task<void> {
      Event never;
      co_await never.wait();
    };
    Host host(empty_options());
    auto config = named("s");
    config.timeout = 20ms;
    host.add_server(config, server->transport());
    auto late = co_await as_result(host.call("mcp__s__a"));
    EXPECT_FALSE(late);
    if (!late) EXPECT_EQ(late.error().code(), Errc::timeout);
    co_await host.stop();
  });
}

// Two limits, and the error says which of them it was.
TEST(HostCall, TheLimitForConnectingEndsACallThatHasMoreTime) {
  run_task([]() -> Task<void> {
    auto server = tool_server({"a"});
    server->before_open = []() -> Task<void> {
      Event never;
      co_await never.wait();
    };
    auto options = empty_options();
    options.connect_limit = 20ms;
    Host host(options);
    host.add_server(named("s"), server->transport());
    auto late = co_await as_result(host.call("s/a", {}, within(1h)));
    EXPECT_FALSE(late);
    if (!late) {
      EXPECT_EQ(late.error().code(), Errc::timeout);
      EXPECT_THAT(late.error().message(), AllOf(HasSubstr("while connecting"), Not(HasSubstr("was not called"))));
    }
    co_await host.stop();
  });
}

TEST(HostCall, WhatIsLeftOfTheLimitIsForTheCallItself) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto server = tool_server({"a"});
    server->on(m(method::call_tool), fine);
    server->before_open = [&]() -> Task<void> {
      clock.skip(2min);
      co_return;
    };
    auto options = empty_options();
    options.connect_limit = 1h;
    auto host = make_host(options, Runtime{});
    host.add_server(named("s"), server->transport());
    auto late = co_await as_result(host.call("s/a", {}, within(1min)));
    EXPECT_FALSE(late) << "nothing was left";
    if (!late) EXPECT_EQ(late.error().code(), Errc::timeout);
    co_await host.call("s/a", {}, within(1min));
    co_await host.stop();
  });
}

TEST(HostCall, TheTimeOfThePersonIsNotTheCalls) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto server = tool_server({"a"});
    server->on(m(method::call_tool), fine);
    auto options = empty_options();
    int asked = 0;
    options.permission.ask = [&](const PermissionQuestion&) -> Task<bool> {
      ++asked;
      clock.skip(1h);
      co_await asio::post(asio::use_awaitable);
      co_return true;
    };
    auto declared = named("project");
    declared.command = "/nonexistent/patchbay-test-command";
    declared.origin.trust = ConfigTrust::needs_approval;
    options.config->servers.push_back(declared);
    options.approve = [&](ApprovalQuestion) -> Task<bool> {
      ++asked;
      co_await asio::post(asio::use_awaitable);
      clock.skip(1h);
      co_return true;
    };
    auto host = make_host(options, Runtime{});
    host.add_server(named("s"), server->transport());
    co_await host.call("s/a", {}, within(1min));
    EXPECT_EQ(asked, 1);
    // Also where the question is whether the server may be started at all.
    auto failed = co_await as_result(host.call("project/a", {}, within(1min)));
    EXPECT_EQ(asked, 2);
    EXPECT_FALSE(failed);
    if (!failed) EXPECT_EQ(failed.error().code(), Errc::connect) << failed.error().message();
    co_await host.stop();
  });
}

// Questions -------------------------------------------------------------------------------

// A person who answers when the test says so.
struct Person {
  std::vector<std::string> shown;
  std::map<std::string, bool> answers;
  Event changed;

  std::function<Task<bool>(const PermissionQuestion&)> ask() {
    return [this](const PermissionQuestion& question) -> Task<bool> { return put(this, question.tool.tool->name); };
  }
  static Task<bool> put(Person* self, std::string name) {
    self->shown.push_back(name);
    self->changed.notify_all();
    while (!self->answers.contains(name)) co_await self->changed.wait();
    co_return self->answers.at(name);
  }
  void answer(const std::string& name, bool yes) {
    answers[name] = yes;
    changed.notify_all();
  }
  Task<void> wait_shown(std::size_t count) {
    while (shown.size() < count) co_await changed.wait();
  }
};

struct AskedCalls {
  AskedCalls() : server(tool_server({"one", "two", "three", "free"})) {
    server->on(m(method::call_tool), fine);
    options.config->settings =
        settings_layers({parse_settings(R"({"permissions":{"allow":["mcp__s__free"]}})", SettingsSource::user, "/s")});
    options.permission.ask = person.ask();
  }
  Person person;
  std::unique_ptr<ScriptServer> server;
  HostOptions options = empty_options();
};

TEST(HostCall, QuestionsWaitInAQueueThatCancelledCallsLeave) {
  run_task([]() -> Task<void> {
    AskedCalls calls;
    Host host(calls.options);
    host.add_server(named("s"), calls.server->transport());
    co_await host.start();
    Scope scope(co_await asio::this_coro::executor);
    auto one = beside(scope, host.call("s/one"));
    co_await calls.person.wait_shown(1);
    auto two = beside(scope, host.call("s/two"));
    auto three = beside(scope, host.call("s/three"));
    co_await settle();
    EXPECT_THAT(calls.person.shown, ElementsAre("one")) << "one at a time";
    // What needs no question waits for none.
    co_await host.call("s/free");
    two->running.cancel();
    co_await settle();
    EXPECT_EQ(failure_of(*two), Errc::cancelled);
    calls.person.answer("one", false);
    co_await calls.person.wait_shown(2);
    EXPECT_THAT(calls.person.shown, ElementsAre("one", "three"));
    EXPECT_EQ(failure_of(*one), Errc::denied);
    calls.person.answer("three", true);
    co_await scope.join();
    EXPECT_TRUE(three->result->has_value());
    co_await host.stop();
  });
}

// The one that is shown may be left as well.
TEST(HostCall, ACallThatIsCancelledTakesItsQuestionWithIt) {
  run_task([]() -> Task<void> {
    AskedCalls calls;
    Host host(calls.options);
    host.add_server(named("s"), calls.server->transport());
    co_await host.start();
    Scope scope(co_await asio::this_coro::executor);
    auto one = beside(scope, host.call("s/one"));
    auto two = beside(scope, host.call("s/two"));
    co_await calls.person.wait_shown(1);
    one->running.cancel();
    co_await calls.person.wait_shown(2);
    EXPECT_EQ(failure_of(*one), Errc::cancelled);
    calls.person.answer("two", true);
    co_await scope.join();
    EXPECT_TRUE(two->result->has_value());
    co_await host.stop();
  });
}

// X5: it was sent, so nobody knows.
TEST(HostCall, ACallThatIsCancelledAfterItWasSentMayHaveBeenCarriedOut) {
  run_task([]() -> Task<void> {
    auto server = std::make_shared<Server>(ServerOptions{});
    Event begun;
    Tool tool;
    tool.name = "t";
    server->add_tool(tool, [&begun](RequestContext&, Json) -> Task<CallToolResult> {
      begun.notify_all();
      Event never;
      co_await never.wait();
      co_return CallToolResult{};
    });
    Host host(empty_options());
    host.add_server("s", server);
    co_await host.start();
    Scope scope(co_await asio::this_coro::executor);
    auto call = beside(scope, host.call("s/t"));
    co_await begun.wait();
    call->running.cancel();
    co_await scope.join();
    EXPECT_EQ(failure_of(*call), Errc::cancelled);
    if (call->result && !*call->result) {
      EXPECT_EQ(call->result->error().carried_out(), CarriedOut::unknown);
      EXPECT_THAT(call->result->error().message(), HasSubstr("the request may have been carried out"));
    }
    auto unknown = co_await as_result(host.call("s/nothing"));
    EXPECT_TRUE(!unknown && unknown.error().carried_out() == CarriedOut::no);
    co_await host.stop();
  });
}

TEST(HostCall, StoppingEndsQuestionsThatNobodyAnswers) {
  run_task([]() -> Task<void> {
    AskedCalls calls;
    Host host(calls.options);
    host.add_server(named("s"), calls.server->transport());
    co_await host.start();
    Scope scope(co_await asio::this_coro::executor);
    auto one = beside(scope, host.call("s/one"));
    auto two = beside(scope, host.call("s/two"));
    co_await calls.person.wait_shown(1);
    co_await host.stop();
    co_await scope.join();
    EXPECT_EQ(failure_of(*one), Errc::closed);
    EXPECT_EQ(failure_of(*two), Errc::closed);
    EXPECT_THAT(calls.person.shown, ElementsAre("one"));
    EXPECT_EQ(calls.server->count(method::call_tool), 0u);
  });
}

// A name that any server may have starts them all; whoever is asked about them is asked on behalf of the call.
TEST(HostCall, ApprovalsForABareNameDoNotCountAgainstItsTime) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    auto options = empty_options();
    for (const auto* name : {"first", "second"}) {
      auto declared = named(name);
      declared.command = "/nonexistent/patchbay-test-command";
      declared.origin.trust = ConfigTrust::needs_approval;
      options.config->servers.push_back(declared);
    }
    std::vector<std::string> asked;
    options.approve = [&](ApprovalQuestion question) -> Task<bool> {
      asked.push_back(question.server.name);
      co_await asio::post(asio::use_awaitable);
      clock.skip(1h);
      co_return false;
    };
    auto host = make_host(options, Runtime{});
    auto unknown = co_await as_result(host.call("nonesuch", {}, within(1min)));
    EXPECT_THAT(asked, testing::UnorderedElementsAre("first", "second"));
    EXPECT_FALSE(unknown);
    if (!unknown) EXPECT_EQ(unknown.error().code(), Errc::invalid_argument) << unknown.error().message();
    co_await host.stop();
  });
}

TEST(HostCall, AQuestionNamesTheCallItIsAbout) {
  run_task([]() -> Task<void> {
    auto server = tool_server({"a"});
    server->on(m(method::call_tool), fine);
    auto options = empty_options();
    std::vector<CallContext> asked;
    options.permission.ask = [&](PermissionQuestion question) -> Task<bool> {
      asked.push_back(question.context);
      co_return true;
    };
    auto declared = named("project");
    declared.command = "/nonexistent/patchbay-test-command";
    declared.origin.trust = ConfigTrust::needs_approval;
    options.config->servers.push_back(declared);
    declared.name = "other";
    options.config->servers.push_back(declared);
    options.approve = [&](ApprovalQuestion question) -> Task<bool> {
      asked.push_back(question.context);
      co_return true;
    };
    Host host(options);
    host.add_server(named("s"), server->transport());
    CallOptions call;
    call.principal = "ann";
    call.call_id = 7;
    co_await host.call("s/a", {}, call);
    (void)co_await as_result(host.call("project/a", {}, call));
    EXPECT_THAT(asked, ElementsAre(CallContext{"s", m(method::call_tool), "a", "ann", 7},
                                   CallContext{"project", m(method::call_tool), "", "ann", 7}));
    asked.clear();
    // Whoever wants a session says for whom.
    (void)co_await as_result(host.session("other", {.method = m(method::read_resource), .principal = "ben"}));
    EXPECT_THAT(asked, ElementsAre(CallContext{"other", m(method::read_resource), "", "ben", 0}));
    asked.clear();
    co_await host.call("s/a");
    co_await host.call("s/a");
    EXPECT_NE(asked.at(0).call_id, 0u);
    EXPECT_NE(asked.at(0).call_id, asked.at(1).call_id) << "the host numbers calls that have no number";
    co_await host.stop();
  });
}

// Rules that came while the user thought about it count.
TEST(HostCall, ARuleThatDeniesMeanwhileOverridesTheAnswer) {
  run_task([]() -> Task<void> {
    AskedCalls calls;
    Host host(calls.options);
    host.add_server(named("s"), calls.server->transport());
    co_await host.start();
    Scope scope(co_await asio::this_coro::executor);
    auto one = beside(scope, host.call("s/one"));
    co_await calls.person.wait_shown(1);
    LoadedConfig next;
    next.settings =
        settings_layers({parse_settings(R"({"permissions":{"deny":["mcp__s__one"]}})", SettingsSource::user, "/s")});
    co_await host.reload(next);
    calls.person.answer("one", true);
    co_await scope.join();
    EXPECT_EQ(failure_of(*one), Errc::denied);
    EXPECT_EQ(calls.server->count(method::call_tool), 0u);
    co_await host.stop();
  });
}

// What it costs ---------------------------------------------------------------------------

thread_local std::size_t allocations = 0;  // of this thread
void count_one(const volatile void*, std::size_t) { ++allocations; }
void count_none(const volatile void*) {}

std::size_t allocations_of_a_call(int servers, const std::string& name) {
  std::size_t counted = 0;
  run_task([&]() -> Task<void> {
    auto server = tool_server({"a"});
    server->on(m(method::call_tool), fine);
    Host host(empty_options());
    for (int i = 0; i < servers; ++i) host.add_server(named(fmt::format("s{}", i)), server->transport());
    co_await host.start();
    for (int warm = 0; warm < 3; ++warm) co_await host.call(name);
    const auto before = allocations;
    for (int i = 0; i < 10; ++i) co_await host.call(name);
    counted = (allocations - before) / 10;
    co_await host.stop();
  });
  return counted;
}

// A call on one of two hundred servers does what a call on one of two does.
TEST(HostCall, TheTimeOfACallDoesNotDependOnTheNumberOfServers) {
  static const bool counting = __sanitizer_install_malloc_and_free_hooks != nullptr &&
                               __sanitizer_install_malloc_and_free_hooks(count_one, count_none) != 0;
  for (const std::string name : {"mcp__s1__a", "s1/a"}) {
    const auto few = allocations_of_a_call(2, name);
    const auto many = allocations_of_a_call(200, name);
    EXPECT_TRUE(!counting || few > 0);
    EXPECT_LE(many, few + 3) << name;
  }
}

}  // namespace
}  // namespace patchbay
