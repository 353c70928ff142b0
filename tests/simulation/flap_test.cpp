// N3: a tool list that stays byte for byte the same while a server dies every second, so that a model's prompt cache
// survives; meanwhile others are called as if nothing were wrong. L5.
#include <deque>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "host/make_host.h"
#include "simulation/sim_server.h"
#include "simulation/world.h"
#include "support/host_parts.h"
#include "support/tool_list_text.h"

namespace patchbay::test {
namespace {

using namespace std::chrono_literals;

TEST(Flap, AServerThatDiesEverySecondLeavesTheToolListAsItIs) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    World world(seed);
    Tally tally;
    std::deque<SimServer> servers;
    servers.emplace_back(world, "steady", Habits{.name = "well-behaved"}, tally);
    servers.emplace_back(world, "flaps", Habits{.name = "flapper", .lives = 1s}, tally);
    servers.emplace_back(world, "remote", Habits{.name = "remote", .remote = true}, tally);
    auto options = empty_options();
    options.keep_connected = true;
    auto host = make_host(std::move(options), Runtime{});
    for (auto& server : servers) host.add_server(named(server.name()), server.transport());
    int answered = 0;
    std::size_t looked = 0;
    const auto end = world.run([](Host& one, World& around, int& answers, std::size_t& looks) -> Task<void> {
      co_await one.start();
      const auto before = tool_list_text(*one.catalog());
      EXPECT_THAT(before, testing::HasSubstr("mcp__flaps__t0"));
      std::int64_t number = 0;
      for (const auto begun = around.elapsed(); around.elapsed() - begun < 1min;) {
        for (const auto* name : {"steady/t0", "remote/t0"}) {
          auto result = co_await as_result(one.call(name, Json{{"n", ++number}}, {.total = 1s}));
          EXPECT_TRUE(result.has_value()) << name << ": " << (result ? "" : result.error().message());
          if (result) ++answers;
          ++looks;
          EXPECT_EQ(tool_list_text(*one.catalog()), before) << "after " << around.elapsed() / 1ms << " ms";
        }
        co_await sleep_for(50ms);
      }
      co_await one.stop();
    }(host, world, answered, looked));
    EXPECT_EQ(end, World::End::dry);
    EXPECT_FALSE(world.thrown());
    EXPECT_GT(answered, 600);
    EXPECT_GE(servers[1].opens, 3) << "it came back, and died again";
    EXPECT_LE(servers[1].opens, 10) << "bounded work";
  }
}

}  // namespace
}  // namespace patchbay::test
