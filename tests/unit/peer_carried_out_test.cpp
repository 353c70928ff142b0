// X5: however a call fails, its error says whether it was carried out.
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "rpc/peer.h"
#include "support/fake_channel.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FakeChannel;
using test::FakeWire;
using test::run_task;

// What happens to the only pending call.
using Event = std::function<void(FakeWire&, std::int64_t id, Spawned& call)>;

std::optional<CarriedOut> outcome_of(const Event& happens, Duration total = Duration::max()) {
  std::optional<CarriedOut> carried_out;
  run_task([&]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto wire = std::make_shared<FakeWire>();
    Peer peer(executor, std::make_unique<FakeChannel>(wire), {}, {});
    peer.start();
    Scope scope(executor);
    PeerCall call{.id = peer.reserve_id(), .method = "tools/call", .total = total};
    const auto id = call.id;
    std::optional<Result<Payload>> outcome;
    auto running = scope.spawn([](Peer& p, PeerCall c, std::optional<Result<Payload>>& into) -> Task<void> {
      into = co_await as_result(p.call(std::move(c)));
    }(peer, std::move(call), outcome));
    co_await wire->wait_for_sent(1);
    happens(*wire, id, running);
    co_await scope.join();
    EXPECT_TRUE(outcome && !*outcome);
    if (outcome && !*outcome) carried_out = outcome->error().carried_out();
    co_await peer.close(CloseMode::quick);
  });
  return carried_out;
}

Event answered(std::int64_t code, std::optional<int> status = {}) {
  return [=](FakeWire& wire, std::int64_t id, Spawned&) {
    RpcError error{code, "no", {}};
    error.http_status = status;
    wire.feed(Message(ErrorResponse{id, std::move(error)}));
  };
}

TEST(PeerCarriedOut, TheAnswerOrTheTransportSaysIt) {
  struct Case {
    const char* what;
    Event happens;
    CarriedOut expected;
  };
  const Case cases[] = {
      {"refused by its code", answered(-32602), CarriedOut::refused},
      {"refused by its status", answered(-32000, 400), CarriedOut::refused},
      {"headers that do not fit", answered(-32020, 400), CarriedOut::no},
      {"failed inside", answered(-32603), CarriedOut::unknown},
      {"its stream was lost",
       [](FakeWire& wire, std::int64_t id, Spawned&) { wire.feed(Lost{id, Error(Errc::closed, "broke off")}); },
       CarriedOut::unknown},
      {"its session was gone",
       [](FakeWire& wire, std::int64_t id, Spawned&) {
         wire.feed(Lost{id, Error(Errc::closed, "gone").with_carried_out(CarriedOut::no)});
       },
       CarriedOut::no},
      {"answered by the wrong id",
       [](FakeWire& wire, std::int64_t id, Spawned&) {
         wire.feed(Message(Response{std::to_string(id), Json::object()}));
       },
       CarriedOut::unknown},
      {"the channel ended", [](FakeWire& wire, std::int64_t, Spawned&) { wire.finish(Error(Errc::closed, "gone")); },
       CarriedOut::unknown},
      {"the channel ended before anything was sent",
       [](FakeWire& wire, std::int64_t id, Spawned&) {
         wire.unsent = {id};
         wire.finish(Error(Errc::closed, "gone"));
       },
       CarriedOut::no},
      {"cancelled", [](FakeWire&, std::int64_t, Spawned& call) { call.cancel(); }, CarriedOut::unknown},
      {"cancelled before anything was sent",
       [](FakeWire& wire, std::int64_t id, Spawned& call) {
         wire.unsent = {id};
         call.cancel();
       },
       CarriedOut::no},
  };
  for (const auto& c : cases) EXPECT_EQ(outcome_of(c.happens), c.expected) << c.what;
}

TEST(PeerCarriedOut, AfterATimeLimitItIsUnknownUnlessNothingWasSent) {
  EXPECT_EQ(outcome_of([](FakeWire&, std::int64_t, Spawned&) {}, 1ms), CarriedOut::unknown);
  EXPECT_EQ(outcome_of([](FakeWire& wire, std::int64_t id, Spawned&) { wire.unsent = {id}; }, 1ms), CarriedOut::no);
}

TEST(PeerCarriedOut, WhatCannotBeSentWasNotCarriedOut) {
  run_task([]() -> Task<void> {
    auto wire = std::make_shared<FakeWire>();
    Peer peer(co_await asio::this_coro::executor, std::make_unique<FakeChannel>(wire), {}, {});
    peer.start();
    wire->on_send = [](const Message&) -> Result<void> { return fail(Errc::limit, "the queue is full"); };
    auto full = co_await as_result(peer.call({.id = peer.reserve_id(), .method = "m"}));
    EXPECT_TRUE(!full && full.error().carried_out() == CarriedOut::no);
    co_await peer.close(CloseMode::quick);
    auto late = co_await as_result(peer.call({.id = peer.reserve_id(), .method = "m"}));
    EXPECT_TRUE(!late && late.error().carried_out() == CarriedOut::no);
  });
}

}  // namespace
}  // namespace patchbay
