// Prompts, resources and templates as a host keeps them: fetched when somebody wants them, followed, and kept while
// their server is away. L8, L9, N2
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "host/make_host.h"
#include "protocol/methods.h"
#include "support/beside.h"
#include "support/fails_with.h"
#include "support/host_parts.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "support/script_server.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

std::string m(std::string_view method) { return std::string(method); }

constexpr auto everything =
    R"({"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true}})";

std::string prompts_of(std::vector<std::string> names) {
  Json list = Json::array();
  for (auto& name : names) list.push_back(Json{{"name", std::move(name)}});
  return to_text(Json{{"prompts", std::move(list)}});
}

std::vector<std::string> names_in(const ServerList<Prompt>& list) {
  std::vector<std::string> names;
  for (const auto& one : *list.items) names.push_back(one.name);
  return names;
}

// A host with one server "s", and what it told.
struct House {
  explicit House(std::string capabilities = everything)
      : s(ScriptServer::legacy(std::move(capabilities))), host(make_host(options(), Runtime(), "", reach())) {
    s->on(m(method::list_tools), R"({"tools":[{"name":"a"}]})");
    s->on(m(method::list_prompts), prompts_of({"p"}));
    s->on(m(method::list_resources), R"({"resources":[{"uri":"file:///r","name":"r"}]})");
    s->on(m(method::list_resource_templates), R"({"resourceTemplates":[{"uriTemplate":"file:///{x}","name":"t"}]})");
  }
  static ServerConfig entry() {
    auto config = named("s");
    config.protocol = "legacy";
    config.kind = ServerKind::stdio;
    config.command = "s";
    return config;
  }
  HostOptions options() {
    auto options = empty_options();
    options.client.protocol = "legacy";
    options.config->servers = {entry()};
    options.on_event = [this](const HostEvent& event) {
      if (const auto* change = std::get_if<ListChange>(&event)) {
        told.push_back(fmt::format("{} {}", change->server, static_cast<int>(change->kind)));
      }
    };
    return options;
  }
  Reach reach() {
    return [this](const ServerConfig&) { return s->transport(); };
  }

  std::unique_ptr<ScriptServer> s;
  std::vector<std::string> told;
  Host host;
};

TEST(HostLists, ListsThatNobodyWantsAreNotAskedFor) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    co_await house.host.start();
    house.s->notify(method::prompts_changed, {});
    house.s->notify(method::resources_changed, {});
    co_await clock.advance(1min);
    EXPECT_EQ(house.s->count(method::list_tools), 1u);
    for (const auto method : {method::list_prompts, method::list_resources, method::list_resource_templates}) {
      EXPECT_EQ(house.s->count(method), 0u) << method;
    }
    co_await house.host.stop();
  });
}

TEST(HostLists, AListIsFetchedOnceHoweverManyAskAndThenKept) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Scope scope(co_await asio::this_coro::executor);
    auto first = beside(scope, house.host.prompts("s"));
    auto second = beside(scope, house.host.prompts("s"));
    co_await scope.join();
    EXPECT_EQ(house.s->count(method::list_prompts), 1u) << "asking starts the server";
    EXPECT_TRUE(first->result && *first->result && second->result && *second->result);
    if (!*first->result || !*second->result) co_return;
    EXPECT_THAT(names_in(**first->result), ElementsAre("p"));
    EXPECT_EQ((*first->result)->items, (*second->result)->items) << "the very same";
    const auto again = co_await house.host.prompts("s");
    EXPECT_EQ(again.generation, 1u);
    EXPECT_FALSE(again.error);
    EXPECT_FALSE(again.from_before);
    EXPECT_EQ(house.s->count(method::list_prompts), 1u);
    EXPECT_EQ((co_await house.host.resources("s")).items->front().uri, "file:///r");
    EXPECT_EQ((co_await house.host.resource_templates("s")).items->front().uri_template, "file:///{x}");
    EXPECT_THAT(house.told, IsEmpty()) << "whoever asked first has them";
    EXPECT_THAT(co_await as_result(house.host.prompts("nobody")), FailsWith(Errc::invalid_argument));
    co_await house.host.stop();
    EXPECT_THAT(co_await as_result(house.host.prompts("s")), FailsWith(Errc::closed));
  });
}

TEST(HostLists, ABurstOfChangesIsOneFetch) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    (void)co_await house.host.prompts("s");
    (void)co_await house.host.resources("s");
    co_await clock.advance(1min);
    house.s->asked.clear();
    house.s->on(m(method::list_prompts), prompts_of({"p", "q"}));
    for (int i = 0; i < 50; ++i) {
      house.s->notify(method::prompts_changed, {});
      house.s->notify(method::resources_changed, {});
    }
    co_await clock.advance(1min);
    EXPECT_EQ(house.s->count(method::list_prompts), 1u);
    EXPECT_EQ(house.s->count(method::list_resources), 1u);
    EXPECT_EQ(house.s->count(method::list_resource_templates), 0u) << "nobody has asked for these";
    EXPECT_THAT(house.told, ElementsAre("s 0")) << "the resources are the same";
    const auto prompts = co_await house.host.prompts("s");
    EXPECT_THAT(names_in(prompts), ElementsAre("p", "q"));
    EXPECT_EQ(prompts.generation, 2u);
    EXPECT_EQ((co_await house.host.resources("s")).generation, 1u);
    EXPECT_EQ(house.s->count(method::list_prompts), 1u) << "it was fetched before anybody asked";
    co_await house.host.stop();
  });
}

// Whoever hears of a change and asks gets the new list, without waiting for the end of the burst.
TEST(HostLists, WhoAsksAfterAChangeGetsTheNewList) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    (void)co_await house.host.prompts("s");
    co_await clock.advance(1min);
    house.s->on(m(method::list_prompts), prompts_of({"q"}));
    house.s->notify(method::prompts_changed, {});
    co_await settle();
    EXPECT_THAT(names_in(co_await house.host.prompts("s")), ElementsAre("q"));
    co_await house.host.stop();
  });
}

TEST(HostLists, AFetchThatFailsKeepsTheOldItems) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    (void)co_await house.host.prompts("s");
    co_await clock.advance(1min);
    house.s->on(m(method::list_prompts), [](Request) -> Task<Payload> { throw Error::rpc(-32603, "not now"); });
    house.s->notify(method::prompts_changed, {});
    co_await clock.advance(1min);
    EXPECT_EQ(house.s->count(method::list_prompts), 1u + 3u) << "three tries";
    Scope scope(co_await asio::this_coro::executor);
    auto asked = beside(scope, house.host.prompts("s"));
    co_await clock.advance(10s);
    co_await scope.join();
    EXPECT_EQ(house.s->count(method::list_prompts), 1u + 3u + 3u) << "whoever asks has it tried again";
    EXPECT_TRUE(asked->result && *asked->result);
    if (!*asked->result) co_return;
    const auto& kept = **asked->result;
    EXPECT_THAT(names_in(kept), ElementsAre("p"));
    EXPECT_EQ(kept.generation, 1u);
    EXPECT_EQ(kept.error ? kept.error->rpc_code() : std::nullopt, -32603);
    EXPECT_FALSE(kept.from_before);
    house.s->on(m(method::list_prompts), prompts_of({"q"}));
    const auto prompts = co_await house.host.prompts("s");
    EXPECT_THAT(names_in(prompts), ElementsAre("q"));
    EXPECT_FALSE(prompts.error);
    co_await house.host.stop();
  });
}

TEST(HostLists, WithoutAnyItemsTheFailureIsThrown) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    house.s->on(m(method::list_prompts), [](Request) -> Task<Payload> { throw Error::rpc(-32603, "not now"); });
    Scope scope(co_await asio::this_coro::executor);
    auto asked = beside(scope, house.host.prompts("s"));
    co_await clock.advance(10s);
    EXPECT_EQ(failure_of(*asked), Errc::rpc);
    EXPECT_EQ(house.s->count(method::list_prompts), 3u);
    co_await scope.join();
    co_await house.host.stop();
  });
}

TEST(HostLists, ServersAreAskedOnlyForWhatTheyDeclared) {
  House house(R"({"tools":{},"resources":{}})");
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    EXPECT_THAT(*(co_await house.host.prompts("s")).items, IsEmpty());
    EXPECT_EQ(house.s->count(method::list_prompts), 0u);
    EXPECT_EQ((co_await house.host.resources("s")).items->size(), 1u);
    EXPECT_EQ((co_await house.host.resources("s")).items->size(), 1u);
    EXPECT_EQ(house.s->count(method::list_resources), 2u) << "one that does not tell of changes is asked each time";
    house.s->on(m(method::list_resource_templates),
                [](Request) -> Task<Payload> { throw Error::rpc(-32601, "unknown method"); });
    EXPECT_THAT(*(co_await house.host.resource_templates("s")).items, IsEmpty()) << "it need not know templates";
    co_await house.host.stop();
  });
}

TEST(HostLists, ListsOfALostServerStayAndAreFetchedAgainWhenItIsBack) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    (void)co_await house.host.prompts("s");
    co_await clock.advance(1min);
    house.s->asked.clear();
    house.s->on(m(method::list_prompts), prompts_of({"q"}));
    co_await house.s->die();
    co_await settle();
    auto prompts = co_await house.host.prompts("s");
    EXPECT_THAT(names_in(prompts), ElementsAre("p")) << "it does not wait";
    EXPECT_TRUE(prompts.from_before);
    EXPECT_TRUE(prompts.error);
    EXPECT_EQ(house.s->opens, 1);
    co_await clock.advance(2s);
    EXPECT_EQ(house.s->opens, 2);
    EXPECT_EQ(house.s->count(method::list_prompts), 1u) << "somebody wanted these";
    EXPECT_EQ(house.s->count(method::list_resources), 0u);
    EXPECT_THAT(house.told, ElementsAre("s 0"));
    prompts = co_await house.host.prompts("s");
    EXPECT_THAT(names_in(prompts), ElementsAre("q"));
    EXPECT_FALSE(prompts.from_before);
    EXPECT_FALSE(prompts.error);
    co_await house.host.stop();
  });
}

// A server that cannot be reached any more has the lists it had, and says why they are old.
TEST(HostLists, ListsOfAServerThatFailedStay) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    (void)co_await house.host.prompts("s");
    house.s->before_open = []() -> Task<void> { throw Error(Errc::connect, "nobody is there"); };
    co_await house.s->die();
    co_await clock.advance(10min);
    EXPECT_EQ(house.host.status().front().state, ServerState::failed);
    const auto opens = house.s->opens;
    const auto prompts = co_await house.host.prompts("s");
    EXPECT_GT(house.s->opens, opens) << "use tries again";
    EXPECT_THAT(names_in(prompts), ElementsAre("p"));
    EXPECT_TRUE(prompts.from_before);
    EXPECT_EQ(prompts.error ? prompts.error->code() : Errc::internal, Errc::connect);
    EXPECT_THAT(co_await as_result(house.host.resources("s")), FailsWith(Errc::connect));
    co_await house.host.stop();
  });
}

TEST(HostLists, AllListsFallWhenTheServerIsDisabled) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    (void)co_await house.host.prompts("s");
    LoadedConfig off;
    off.servers = {House::entry()};
    off.servers.front().disabled = true;
    (void)co_await house.host.reload(off);
    EXPECT_THAT(co_await as_result(house.host.prompts("s")), FailsWith(Errc::config));
    co_await clock.advance(1s);
    LoadedConfig on;
    on.servers = {House::entry()};
    (void)co_await house.host.reload(on);
    house.s->on(m(method::list_prompts), prompts_of({"q"}));
    const auto prompts = co_await house.host.prompts("s");
    EXPECT_THAT(names_in(prompts), ElementsAre("q"));
    EXPECT_FALSE(prompts.from_before);
    co_await house.host.stop();
  });
}

// A server that announces a change with every list is not asked without end.
TEST(HostLists, AServerThatChangesItsListAtEveryFetchIsAskedLessAndLess) {
  House house;
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    int made = 0;
    house.s->on(m(method::list_prompts), [&](Request) -> Task<Payload> {
      house.s->notify(method::prompts_changed, {});
      co_return *Payload::parse(prompts_of({fmt::format("p{}", ++made)}));
    });
    (void)co_await house.host.prompts("s");
    co_await clock.advance(10min);
    EXPECT_LT(house.s->count(method::list_prompts), 80u);
    EXPECT_GT(house.s->count(method::list_prompts), 10u);
    co_await house.host.stop();
  });
}

}  // namespace
}  // namespace patchbay::test
