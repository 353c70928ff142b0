// X3, L9: calls and answers are matched under every kind of misbehaviour, and every call ends.
#include "rpc/peer.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "support/fails_with.h"
#include "support/fake_channel.h"
#include "support/loop.h"
#include "support/manual_clock.h"
#include "transport/memory.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::FailsWith;
using test::FakeChannel;
using test::FakeWire;
using test::ManualClock;
using test::run_task;
using test::settle;
using testing::ElementsAre;
using testing::HasSubstr;

std::string text_of(const Message& message) {
  std::string text;
  append_message(text, message);
  return text;
}

Message request_of(RequestId id, std::string method, Json params = {}) {
  return Request{std::move(id), std::move(method), params.is_null() ? Payload() : Payload(std::move(params))};
}

// A call that runs beside the test.
struct Call {
  std::int64_t id = 0;
  std::optional<Result<Payload>> outcome;
  Event ended;
  Spawned running;

  Task<void> wait() {
    while (!outcome) co_await ended.wait();
  }
  const Error& error() const { return outcome->error(); }
};

// A peer on a channel the test plays.
struct Bench {
  explicit Bench(asio::any_io_executor executor, Peer::Handlers handlers = {}, Runtime runtime = {})
      : wire(std::make_shared<FakeWire>()),
        peer(executor, std::make_unique<FakeChannel>(wire), runtime, std::move(handlers)),
        scope(executor) {
    peer.start();
  }

  std::shared_ptr<Call> call(PeerCall what = {}) {
    auto state = std::make_shared<Call>();
    if (what.method.empty()) what.method = "m";
    what.id = state->id = peer.reserve_id();
    state->running = scope.spawn([](Peer& p, PeerCall c, std::shared_ptr<Call> s) -> Task<void> {
      s->outcome = co_await as_result(p.call(std::move(c)));
      s->ended.notify_all();
    }(peer, std::move(what), state));
    return state;
  }

  Task<void> end() {
    co_await peer.close(CloseMode::graceful);
    co_await scope.join();
  }

  std::shared_ptr<FakeWire> wire;
  Peer peer;
  Scope scope;
};

// What would fill the queue of its channel alone is not sent at all.
TEST(Peer, ARequestOverTheOutgoingLimit_FailsItsCallAtOnce) {
  run_task([]() -> Task<void> {
    Runtime runtime;
    runtime.limits.outgoing = 1000;
    Bench bench(co_await asio::this_coro::executor, {}, runtime);
    PeerCall large;
    large.params = Json{{"text", std::string(1000, 'x')}};
    auto call = bench.call(std::move(large));
    co_await call->wait();
    EXPECT_EQ(call->error().code(), Errc::limit);
    EXPECT_EQ(call->error().message(), "the request m has 1058 bytes; the limit is 1000");
    EXPECT_EQ(call->error().carried_out(), CarriedOut::no);
    EXPECT_TRUE(bench.wire->sent.empty());
    EXPECT_EQ(bench.peer.pending_calls(), 0u);
    co_await bench.end();
  });
}

TEST(Peer, AnAnswerThatFindsNoRoom_IsReplacedByAnErrorOrEndsTheConnection) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor,
                {.request = [](Request) -> Task<Payload> { co_return Json(std::string(100, 'x')); },
                 .notification = {},
                 .closed = {},
                 .accepts_batches = {}});
    std::size_t room = 160;
    bench.wire->on_send = [&](const Message& message) -> Result<void> {
      const auto size = size_of(message);
      if (size > room) return fail(Errc::limit, "does not read");
      room -= size;
      return {};
    };
    bench.wire->feed(request_of(1, "a"));
    co_await bench.wire->wait_for_sent(1);
    bench.wire->feed(request_of(2, "a"));
    co_await bench.peer.wait_closed();
    // The first whole; there is no room for the second, and none to say so.
    EXPECT_THAT(text_of(bench.wire->sent.at(0)), HasSubstr("xxx"));
    EXPECT_EQ(bench.peer.close_error().code(), Errc::limit);
    co_await bench.end();

    Bench patient(co_await asio::this_coro::executor,
                  {.request = [](Request) -> Task<Payload> { co_return Json(std::string(100, 'x')); },
                   .notification = {},
                   .closed = {},
                   .accepts_batches = {}});
    patient.wire->on_send = [](const Message& message) -> Result<void> {
      return size_of(message) > 100 ? fail(Errc::limit, "does not read") : Result<void>();
    };
    patient.wire->feed(request_of(3, "a"));
    co_await patient.wire->wait_for_sent(1);
    EXPECT_EQ(text_of(patient.wire->sent.at(0)),
              R"({"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"does not read"}})");
    EXPECT_FALSE(patient.peer.closed());
    co_await patient.end();
  });
}

TEST(Peer, AnIdIsRegisteredBeforeItsRequestIsSent) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    std::vector<std::size_t> pending_at_send;
    bench.wire->on_send = [&](const Message& message) -> Result<void> {
      pending_at_send.push_back(bench.peer.pending_calls());
      // The fastest answer there can be.
      bench.wire->feed(Message(Response{std::get<Request>(message).id, Json{{"ok", true}}}));
      return {};
    };
    auto call = bench.call();
    co_await call->wait();
    EXPECT_THAT(pending_at_send, ElementsAre(1u));
    EXPECT_TRUE(*call->outcome);
    EXPECT_EQ(bench.peer.pending_calls(), 0u);
    co_await bench.end();
  });
}

TEST(Peer, AThousandCallsAtOnceEachGetTheirOwnAnswerInWhateverOrder) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    std::vector<std::shared_ptr<Call>> calls;
    for (int i = 0; i < 1000; ++i) calls.push_back(bench.call());
    co_await bench.wire->wait_for_sent(1000);
    // Every second one from the back, then the others.
    for (int start : {999, 998}) {
      for (int i = start; i >= 0; i -= 2) {
        const auto& id = std::get<Request>(bench.wire->sent[static_cast<std::size_t>(i)]).id;
        bench.wire->feed(Message(Response{id, Json{{"for", to_json(id)}}}));
      }
    }
    for (auto& call : calls) {
      co_await call->wait();
      EXPECT_TRUE(*call->outcome);
      if (*call->outcome) EXPECT_EQ((**call->outcome).value()["for"], Json(call->id));
    }
    EXPECT_EQ(bench.peer.counters().unknown_replies, 0u);
    co_await bench.end();
  });
}

TEST(Peer, AnAnswerWithTheIdAsTextFailsThatCallAtOnce) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto wrong = bench.call();
    auto other = bench.call();
    co_await bench.wire->wait_for_sent(2);
    bench.wire->feed(Message(Response{std::to_string(wrong->id), Json::object()}));
    co_await wrong->wait();
    EXPECT_EQ(wrong->error().code(), Errc::protocol);
    EXPECT_THAT(wrong->error().message(), HasSubstr("\"1\""));
    EXPECT_FALSE(other->outcome);
    co_await bench.end();
  });
}

TEST(Peer, AnswersNobodyWaitsForAreCountedAndDropped) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto call = bench.call();
    co_await bench.wire->wait_for_sent(1);
    bench.wire->feed(Message(Response{std::int64_t{77}, Json::object()}));
    bench.wire->feed(Message(Response{std::string("abc"), Json::object()}));
    bench.wire->feed(Message(ErrorResponse{std::int64_t{78}, {-1, "x", {}}}));
    bench.wire->feed(Message(Response{call->id, Json{{"n", 1}}}));
    bench.wire->feed(Message(Response{call->id, Json{{"n", 2}}}));  // the same again
    co_await call->wait();
    EXPECT_EQ((**call->outcome).text(), R"({"n":1})");
    co_await settle();
    EXPECT_EQ(bench.peer.counters().unknown_replies, 4u);
    co_await bench.end();
  });
}

TEST(Peer, AnErrorAnswerKeepsItsCodeAndData) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto call = bench.call();
    co_await bench.wire->wait_for_sent(1);
    bench.wire->feed(Message(ErrorResponse{call->id, {-32002, "not found", Json{{"uri", "u"}}}}));
    co_await call->wait();
    EXPECT_EQ(call->error(), Error::rpc(-32002, "not found", R"({"uri":"u"})"));
    co_await bench.end();
  });
}

TEST(Peer, AnErrorWithoutAnIdBelongsToTheOnlyPendingCall) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto only = bench.call();
    co_await bench.wire->wait_for_sent(1);
    bench.wire->feed(Message(ErrorResponse{std::nullopt, {-32700, "what?", {}}}));
    co_await only->wait();
    EXPECT_EQ(only->error(), Error::rpc(-32700, "what?"));

    auto first = bench.call();
    auto second = bench.call();
    co_await bench.wire->wait_for_sent(3);
    bench.wire->feed(Message(ErrorResponse{std::nullopt, {-32700, "what?", {}}}));
    bench.wire->feed(Message(Response{first->id, Json::object()}));
    co_await first->wait();
    EXPECT_TRUE(*first->outcome);
    EXPECT_FALSE(second->outcome);
    EXPECT_EQ(bench.peer.counters().unknown_replies, 1u);
    co_await bench.end();
  });
}

TEST(Peer, AStreamThatIsLostFailsItsCallOnly) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto lost = bench.call();
    auto other = bench.call();
    co_await bench.wire->wait_for_sent(2);
    bench.wire->feed(Lost{lost->id, Error(Errc::closed, "its stream ended")});
    co_await lost->wait();
    EXPECT_EQ(lost->error(), Error(Errc::closed, "its stream ended"));
    EXPECT_FALSE(other->outcome);
    co_await bench.end();
  });
}

TEST(Peer, EveryPendingCallEndsWithTheCauseWhenTheChannelEnds) {
  for (const auto& cause : {Error(Errc::closed, "exited with status 3").with_detail("stderr says why"),
                            Error(Errc::limit, "a line over 64 MiB"), Error(Errc::protocol, "not JSON")}) {
    run_task([&]() -> Task<void> {
      std::vector<Error> closed;
      Peer::Handlers handlers;
      handlers.closed = [&](const Error& error) { closed.push_back(error); };
      Bench bench(co_await asio::this_coro::executor, std::move(handlers));
      std::vector<std::shared_ptr<Call>> calls;
      for (int i = 0; i < 20; ++i) calls.push_back(bench.call());
      co_await bench.wire->wait_for_sent(20);
      bench.wire->finish(cause);
      for (auto& call : calls) {
        co_await call->wait();
        EXPECT_EQ(call->error(), cause);
        EXPECT_EQ(call->error().detail(), cause.detail());
      }
      co_await bench.peer.wait_closed();
      EXPECT_TRUE(bench.peer.closed());
      EXPECT_EQ(bench.peer.close_error(), cause);
      // Whoever comes later is told the same.
      auto late = bench.call();
      co_await late->wait();
      EXPECT_EQ(late->error(), cause);
      EXPECT_THAT(bench.peer.notify("n", {}), FailsWith(cause));
      co_await bench.end();
      EXPECT_THAT(closed, ElementsAre(cause));
    });
  }
}

TEST(Peer, ARequestThatCannotBeSentFailsItsCall) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    bench.wire->on_send = [](const Message&) -> Result<void> { return fail(Errc::limit, "the queue is full"); };
    auto call = bench.call();
    co_await call->wait();
    EXPECT_EQ(call->error(), Error(Errc::limit, "the queue is full"));
    EXPECT_EQ(bench.peer.pending_calls(), 0u);
    co_await bench.end();
  });
}

// Cancelling ---------------------------------------------------------------------------

TEST(Peer, CancelledCall_ReturnsBeforePeerAcknowledges) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto call = bench.call();
    co_await bench.wire->wait_for_sent(1);
    call->running.cancel();
    co_await call->wait();  // the peer never answers
    EXPECT_EQ(call->error().code(), Errc::cancelled);
    EXPECT_EQ(bench.peer.pending_calls(), 0u);
    EXPECT_EQ(bench.wire->sent.size(), 2u);
    EXPECT_EQ(
        text_of(bench.wire->sent.back()),
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"cancelled by the caller"}})");
    // The answer that was under way is nobody's.
    bench.wire->feed(Message(Response{call->id, Json::object()}));
    co_await settle();
    EXPECT_EQ(bench.peer.counters().unknown_replies, 1u);
    co_await bench.end();
  });
}

TEST(Peer, ThePeerIsNotifiedOfACancelTheWayTheCallSays) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto abandoned = bench.call({.cancel_by = CancelBy::abandon});
    auto silent = bench.call({.cancel_by = CancelBy::nothing});
    co_await bench.wire->wait_for_sent(2);
    abandoned->running.cancel();
    silent->running.cancel();
    co_await abandoned->wait();
    co_await silent->wait();
    EXPECT_EQ(bench.wire->sent.size(), 2u);
    EXPECT_THAT(bench.wire->abandoned, ElementsAre(RequestId(abandoned->id)));
    co_await bench.end();
  });
}

TEST(Peer, ACallCancelledFromInsideItsProgressHandlerIsCancelled) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    bool cancelled = false;
    std::shared_ptr<Call> call;
    PeerCall what;
    what.on_progress = [&](const Json&) {
      cancelled = true;
      call->running.cancel();  // from inside the reading
    };
    call = bench.call(std::move(what));
    co_await bench.wire->wait_for_sent(1);
    bench.wire->feed(
        Message(Notification{"notifications/progress", Json{{"progressToken", call->id}, {"progress", 1}}}));
    bench.wire->feed(Message(Response{call->id, Json::object()}));
    co_await call->wait();
    EXPECT_TRUE(cancelled);
    EXPECT_EQ(call->error().code(), Errc::cancelled);
    co_await bench.end();
  });
}

TEST(Peer, AMessageBelongsToTheCallOnWhoseStreamItCameOrToTheOnlyOne) {
  run_task([]() -> Task<void> {
    const auto executor = co_await asio::this_coro::executor;
    Bench bench(executor);
    const auto with_clock = [&](bool listens) {
      PeerCall call;
      call.clock = std::make_shared<CallClock>(loop_clock(executor), Duration::max());
      call.listens = listens;
      const auto clock = call.clock;
      return std::pair(bench.call(std::move(call)), clock);
    };
    EXPECT_EQ(bench.peer.call_behind(std::nullopt), nullptr);
    const auto [first, first_clock] = with_clock(false);
    const auto [listening, listening_clock] = with_clock(true);
    co_await bench.wire->wait_for_sent(2);
    EXPECT_EQ(bench.peer.call_behind(std::nullopt), first_clock) << "nothing is asked on behalf of a subscription";
    const auto [second, second_clock] = with_clock(false);
    co_await bench.wire->wait_for_sent(3);
    EXPECT_EQ(bench.peer.call_behind(std::nullopt), nullptr);
    EXPECT_EQ(bench.peer.call_behind(RequestId(second->id)), second_clock);
    bench.wire->feed(Message(Response{second->id, Json::object()}));
    co_await second->wait();
    EXPECT_EQ(bench.peer.call_behind(RequestId(second->id)), nullptr)
        << "its call is over, and the others are not meant";
    EXPECT_EQ(bench.peer.call_behind(std::nullopt), first_clock);
    co_await bench.end();
  });
}

// Time -----------------------------------------------------------------------------------

TEST(Peer, ACallThatTakesTooLongFailsAndThePeerIsNotified) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto slow = bench.call({.method = "tools/call", .total = 2ms});
    auto patient = bench.call({.total = 1h});
    co_await bench.wire->wait_for_sent(2);
    co_await clock.advance(2ms);
    co_await slow->wait();
    EXPECT_EQ(slow->error(), Error(Errc::timeout, "no answer to tools/call within 2 ms"));
    EXPECT_THAT(text_of(bench.wire->sent.back()), HasSubstr(R"("requestId":1,"reason":"timed out")"));
    EXPECT_FALSE(patient->outcome);
    co_await bench.end();
  });
}

TEST(Peer, LaterDeadlinesFireAfterEarlierOnesWereMet) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto later = bench.call({.total = 4ms});
    auto sooner = bench.call({.total = 2ms});
    auto never = bench.call();
    co_await bench.wire->wait_for_sent(3);
    bench.wire->feed(Message(Response{sooner->id, Json::object()}));
    co_await sooner->wait();
    EXPECT_TRUE(*sooner->outcome);
    co_await clock.advance(4ms);
    co_await later->wait();
    EXPECT_EQ(later->error().code(), Errc::timeout);
    EXPECT_FALSE(never->outcome);
    co_await bench.end();
  });
}

TEST(Peer, ProgressStartsTheIdleTimeAgainButNotTheTotal) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    int heard = 0;
    Event progressed;
    PeerCall what{.method = "m", .total = 20ms, .idle = 5ms};
    what.on_progress = [&](const Json&) {
      ++heard;
      progressed.notify_all();
    };
    auto call = bench.call(std::move(what));
    co_await bench.wire->wait_for_sent(1);
    for (int i = 1; i <= 4; ++i) {
      co_await clock.advance(4ms);
      bench.wire->feed(
          Message(Notification{"notifications/progress", Json{{"progressToken", call->id}, {"progress", i}}}));
      while (heard < i) co_await progressed.wait();
      EXPECT_FALSE(call->outcome);
    }
    co_await clock.advance(5ms);  // 21 ms in all, 5 ms since the last progress: both limits are over
    co_await call->wait();
    EXPECT_EQ(call->error(), Error(Errc::timeout, "no answer to m within 20 ms"));

    auto idle = bench.call({.method = "m", .total = 1h, .idle = 5ms});
    co_await bench.wire->wait_for_sent(3);
    co_await clock.advance(5ms);
    co_await idle->wait();
    EXPECT_EQ(idle->error(), Error(Errc::timeout, "no answer and no progress on m for 5 ms"));
    co_await bench.end();
  });
}

TEST(Peer, ProgressGoesToItsCallWithWhateverElseIsInIt) {
  run_task([]() -> Task<void> {
    std::vector<std::string> elsewhere;
    Peer::Handlers handlers;
    handlers.notification = [&](Notification notification) { elsewhere.push_back(notification.method); };
    Bench bench(co_await asio::this_coro::executor, std::move(handlers));
    std::vector<std::string> heard;
    PeerCall what;
    what.on_progress = [&](const Json& params) { heard.push_back(to_text(params)); };
    auto call = bench.call(std::move(what));
    co_await bench.wire->wait_for_sent(1);
    auto feed = [&](std::string_view params) {
      bench.wire->feed(Message(Notification{"notifications/progress", *Payload::parse(std::string(params))}));
    };
    feed(R"({"progressToken":1,"progress":0.5,"message":"half"})");
    feed(R"({"progressToken":2,"progress":1})");    // somebody else's
    feed(R"({"progressToken":"1","progress":1})");  // not the token we gave
    feed(R"({"progress":1})");
    feed("[]");
    feed("{}");
    bench.wire->feed(Message(Notification{"notifications/progress", {}}));
    bench.wire->feed(Message(Response{call->id, Json::object()}));
    feed(R"({"progressToken":1,"progress":1})");  // after the answer
    co_await call->wait();
    co_await settle();
    EXPECT_THAT(heard, ElementsAre(R"({"progressToken":1,"progress":0.5,"message":"half"})"));
    EXPECT_THAT(elsewhere, ElementsAre());
    co_await bench.end();
  });
}

// A question on the stream of a call that has just ended is not about the one that is left.
TEST(Peer, AQuestionOnTheStreamOfACallThatIsOver_StopsNoOther) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto call = bench.call({.total = 4ms});
    co_await bench.wire->wait_for_sent(1);
    const Peer::ClockStop stop(bench.peer, RequestId(std::int64_t{99}));
    co_await clock.advance(5ms);
    co_await call->wait();
    EXPECT_EQ(call->error().code(), Errc::timeout);
    co_await bench.end();
  });
}

TEST(Peer, TheClockStopsWhileTheUserIsAsked) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto call = bench.call({.total = 4ms});
    co_await bench.wire->wait_for_sent(1);
    co_await clock.advance(2ms);
    std::optional<Peer::ClockStop> outer(std::in_place, bench.peer, std::nullopt);
    std::optional<Peer::ClockStop> inner(std::in_place, bench.peer, std::nullopt);  // two questions at once
    co_await clock.advance(1h);
    EXPECT_FALSE(call->outcome);
    inner.reset();
    co_await clock.advance(1h);
    EXPECT_FALSE(call->outcome);
    outer.reset();
    co_await clock.advance(1ms);
    EXPECT_FALSE(call->outcome);
    co_await clock.advance(1ms);
    co_await call->wait();
    EXPECT_EQ(call->error().code(), Errc::timeout);
    co_await bench.end();
  });
}

// X3: a question that belongs to one call does not keep the others waiting.
TEST(Peer, AQuestionOnTheStreamOfACall_StopsTheClockOfThatCallAlone) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto asks = bench.call({.total = 4ms});
    auto other = bench.call({.total = 4ms});
    co_await bench.wire->wait_for_sent(2);
    std::optional<Peer::ClockStop> stop(std::in_place, bench.peer, RequestId(asks->id));
    co_await clock.advance(1h);
    co_await other->wait();
    EXPECT_EQ(other->error().code(), Errc::timeout);
    EXPECT_FALSE(asks->outcome);
    stop.reset();
    co_await clock.advance(4ms);
    co_await asks->wait();
    EXPECT_EQ(asks->error().code(), Errc::timeout);
    co_await bench.end();
  });
}

TEST(Peer, AQuestionOfUnknownOrigin_GivesEveryPendingCallItsLimitOnceMoreAndNoLaterOneAnything) {
  ManualClock clock;
  run_task(clock, [&]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto one = bench.call({.total = 4ms});
    auto two = bench.call({.total = 8ms});
    co_await bench.wire->wait_for_sent(2);
    const Peer::ClockStop stop(bench.peer, std::nullopt);
    auto late = bench.call({.total = 2ms});
    co_await bench.wire->wait_for_sent(3);
    co_await clock.advance(2ms);
    co_await late->wait();
    EXPECT_EQ(late->error().code(), Errc::timeout);
    co_await clock.advance(5999us);
    co_await settle();
    EXPECT_FALSE(one->outcome);
    co_await clock.advance(1us);
    co_await one->wait();
    EXPECT_EQ(one->error().code(), Errc::timeout);
    EXPECT_FALSE(two->outcome);
    co_await clock.advance(8ms);
    co_await two->wait();
    EXPECT_EQ(two->error().code(), Errc::timeout);
    co_await bench.end();
  });
}

// The other side's requests ----------------------------------------------------------------

// Handlers that wait until the test lets them go.
struct Gate {
  std::map<std::string, int> begun;
  std::map<std::string, int> cancelled;
  Event changed;
  Event open;

  Peer::Handlers handlers() {
    Peer::Handlers made;
    made.request = [this](Request request) { return handle(std::move(request)); };
    return made;
  }
  Task<Payload> handle(Request request) {
    auto id = to_text(request.id);
    ++begun[id];
    changed.notify_all();
    auto opened = co_await as_result(open.wait());
    if (!opened) {
      ++cancelled[id];
      changed.notify_all();
      throw std::move(opened).error();
    }
    co_return Json{{"for", to_json(request.id)}};
  }
  Task<void> wait_begun(std::size_t count) {
    while (begun.size() < count) co_await changed.wait();
  }
  Task<void> wait_cancelled(std::size_t count) {
    while (cancelled.size() < count) co_await changed.wait();
  }
};

TEST(Peer, RequestsRunAtOnceAndAreAnsweredByTheirOwnId) {
  run_task([]() -> Task<void> {
    Gate gate;
    Bench bench(co_await asio::this_coro::executor, gate.handlers());
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    bench.wire->feed(request_of(std::string("1"), "a"));  // another id
    co_await gate.wait_begun(2);
    gate.open.notify_all();
    co_await bench.wire->wait_for_sent(2);
    std::vector<std::string> answers{text_of(bench.wire->sent[0]), text_of(bench.wire->sent[1])};
    EXPECT_THAT(answers, testing::UnorderedElementsAre(R"({"jsonrpc":"2.0","id":1,"result":{"for":1}})",
                                                       R"({"jsonrpc":"2.0","id":"1","result":{"for":"1"}})"));
    co_await bench.end();
  });
}

TEST(Peer, AnIdInUseIsRefused) {
  run_task([]() -> Task<void> {
    Gate gate;
    Bench bench(co_await asio::this_coro::executor, gate.handlers());
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    co_await bench.wire->wait_for_sent(1);
    EXPECT_EQ(
        text_of(bench.wire->sent[0]),
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the id of this request is already used by a request that is still running"}})");
    EXPECT_EQ(bench.peer.counters().refused_requests, 1u);
    co_await gate.wait_begun(1);
    gate.open.notify_all();
    co_await bench.wire->wait_for_sent(2);
    // Answered, so it may be used again.
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    while (gate.begun["1"] < 2) co_await gate.changed.wait();
    co_await bench.end();
  });
}

TEST(Peer, OnlySoManyRequestsRunAtOnceAndCancelledOnesCountUntilTheyEnd) {
  run_task([]() -> Task<void> {
    Runtime runtime;
    runtime.limits.server_requests = 2;
    int running = 0;
    Event go;
    Event changed;
    Peer::Handlers handlers;
    // A handler that does not heed cancelling.
    handlers.request = [&](Request) -> Task<Payload> {
      ++running;
      changed.notify_all();
      co_await asio::this_coro::throw_if_cancelled(false);
      while (!co_await as_result(go.wait())) {
      }
      --running;
      changed.notify_all();
      co_return Json::object();
    };
    Bench bench(co_await asio::this_coro::executor, std::move(handlers), runtime);
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    bench.wire->feed(request_of(std::int64_t{2}, "a"));
    while (running < 2) co_await changed.wait();
    bench.wire->feed(Message(Notification{"notifications/cancelled", Json{{"requestId", 1}}}));
    bench.wire->feed(request_of(std::int64_t{3}, "a"));
    co_await bench.wire->wait_for_sent(1);
    EXPECT_EQ(
        text_of(bench.wire->sent[0]),
        R"({"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"too many requests at once; wait for answers"}})");
    EXPECT_EQ(running, 2);
    go.notify_all();
    while (running > 0) co_await changed.wait();
    co_await bench.wire->wait_for_sent(2);
    EXPECT_EQ(text_of(bench.wire->sent[1]), R"({"jsonrpc":"2.0","id":2,"result":{}})");
    bench.wire->feed(request_of(std::int64_t{4}, "a"));
    while (running < 1) co_await changed.wait();
    go.notify_all();
    co_await bench.wire->wait_for_sent(3);
    co_await bench.end();
  });
}

TEST(Peer, ARequestCancelledByThePeerStopsItsHandlerAndIsNotAnswered) {
  run_task([]() -> Task<void> {
    Gate gate;
    Bench bench(co_await asio::this_coro::executor, gate.handlers());
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    bench.wire->feed(request_of(std::string("x"), "a"));
    co_await gate.wait_begun(2);
    bench.wire->feed(Message(Notification{"notifications/cancelled", Json{{"requestId", "x"}}}));
    co_await gate.wait_cancelled(1);
    EXPECT_EQ(gate.cancelled[R"("x")"], 1);
    gate.open.notify_all();
    co_await bench.wire->wait_for_sent(1);
    co_await settle();
    EXPECT_EQ(bench.wire->sent.size(), 1u);
    EXPECT_EQ(text_of(bench.wire->sent[0]), R"({"jsonrpc":"2.0","id":1,"result":{"for":1}})");
    co_await bench.end();
  });
}

TEST(Peer, ARequestCancelledBeforeItsHandlerBeganIsNotAnsweredEither) {
  run_task([]() -> Task<void> {
    Gate gate;
    Bench bench(co_await asio::this_coro::executor, gate.handlers());
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    bench.wire->feed(Message(Notification{"notifications/cancelled", Json{{"requestId", 1}}}));
    co_await settle();
    gate.open.notify_all();
    co_await settle();
    EXPECT_EQ(bench.wire->sent.size(), 0u);
    co_await bench.end();
  });
}

TEST(Peer, AnIdUsedAgainAfterACancelIsAnsweredByItsOwnHandler) {
  run_task([]() -> Task<void> {
    Event first_may_end;
    Event second_may_end;
    int begun = 0;
    Event changed;
    Peer::Handlers handlers;
    handlers.request = [&](Request request) -> Task<Payload> {
      ++begun;
      changed.notify_all();
      if (request.method == "first") {
        co_await asio::this_coro::throw_if_cancelled(false);
        while (!co_await as_result(first_may_end.wait())) {
        }
      } else {
        co_await second_may_end.wait();
      }
      co_return Json{{"from", request.method}};
    };
    Bench bench(co_await asio::this_coro::executor, std::move(handlers));
    bench.wire->feed(request_of(std::int64_t{1}, "first"));
    while (begun < 1) co_await changed.wait();
    bench.wire->feed(Message(Notification{"notifications/cancelled", Json{{"requestId", 1}}}));
    bench.wire->feed(request_of(std::int64_t{1}, "second"));
    while (begun < 2) co_await changed.wait();
    first_may_end.notify_all();
    co_await settle();
    EXPECT_EQ(bench.wire->sent.size(), 0u);
    second_may_end.notify_all();
    co_await bench.wire->wait_for_sent(1);
    EXPECT_EQ(text_of(bench.wire->sent[0]), R"({"jsonrpc":"2.0","id":1,"result":{"from":"second"}})");
    co_await bench.end();
  });
}

TEST(Peer, ACancelForNothingOfOursIsPassedOn) {
  run_task([]() -> Task<void> {
    std::vector<std::string> passed;
    Peer::Handlers handlers;
    handlers.notification = [&](Notification n) { passed.push_back(std::string(n.params ? n.params.text() : "-")); };
    Bench bench(co_await asio::this_coro::executor, std::move(handlers));
    bench.wire->feed(Message(Notification{"notifications/cancelled", Json{{"requestId", 9}}}));
    bench.wire->feed(Message(Notification{"notifications/cancelled", Json::object()}));
    bench.wire->feed(Message(Notification{"notifications/cancelled", Json::array({1})}));
    bench.wire->feed(Message(Notification{"notifications/cancelled", {}}));
    co_await settle();
    EXPECT_THAT(passed, ElementsAre(R"({"requestId":9})", "{}", "[1]", "-"));
    co_await bench.end();
  });
}

TEST(Peer, ACallTheOtherSideTookBackEnds) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    auto call = bench.call();
    co_await bench.wire->wait_for_sent(1);
    bench.peer.fail_call(99, Error(Errc::closed, "not yours"));
    bench.peer.fail_call(call->id, Error(Errc::closed, "taken back"));
    co_await call->wait();
    EXPECT_EQ(call->error(), Error(Errc::closed, "taken back"));
    EXPECT_EQ(bench.wire->sent.size(), 1u);
    EXPECT_EQ(bench.peer.counters().unknown_replies, 0u);
    co_await bench.end();
  });
}

TEST(Peer, WhatAHandlerThrowsBecomesTheErrorAnswer) {
  struct Row {
    std::string name;
    std::function<void()> thrower;
    std::string error;  // empty: no answer
  };
  const std::vector<Row> rows{
      {"an rpc error as it is", [] { throw Error::rpc(-32042, "url", R"({"k":1})"); },
       R"({"code":-32042,"message":"url","data":{"k":1}})"},
      {"data that is no JSON is left out", [] { throw Error::rpc(-1, "m", "not json"); },
       R"({"code":-1,"message":"m"})"},
      {"invalid_argument", [] { throw Error(Errc::invalid_argument, "m"); }, R"({"code":-32602,"message":"m"})"},
      {"protocol", [] { throw Error(Errc::protocol, "m"); }, R"({"code":-32602,"message":"m"})"},
      {"unsupported", [] { throw Error(Errc::unsupported, "m"); }, R"({"code":-32601,"message":"m"})"},
      {"timeout", [] { throw Error(Errc::timeout, "m"); }, R"({"code":-32603,"message":"m"})"},
      {"denied", [] { throw Error(Errc::denied, "m"); }, R"({"code":-32603,"message":"m"})"},
      {"any exception", [] { throw std::runtime_error("m"); }, R"({"code":-32603,"message":"m"})"},
      {"cancelled", [] { throw Error(Errc::cancelled, "m"); }, ""},
  };
  for (bool at_once : {false, true}) {
    for (const auto& row : rows) {
      SCOPED_TRACE(row.name + (at_once ? ", at once" : ""));
      run_task([&]() -> Task<void> {
        Peer::Handlers handlers;
        handlers.request = [&](Request request) -> Task<Payload> {
          if (request.method == "after") {
            return []() -> Task<Payload> { co_return Json::object(); }();
          }
          if (at_once) row.thrower();  // before there is a coroutine
          return [](std::function<void()> thrower) -> Task<Payload> {
            co_await asio::post(asio::use_awaitable);
            thrower();
            co_return Payload();
          }(row.thrower);
        };
        Bench bench(co_await asio::this_coro::executor, std::move(handlers));
        bench.wire->feed(request_of(std::int64_t{1}, "a"));
        co_await settle();
        bench.wire->feed(request_of(std::int64_t{2}, "after"));
        co_await bench.wire->wait_for_sent(row.error.empty() ? 1 : 2);
        if (!row.error.empty()) {
          EXPECT_EQ(text_of(bench.wire->sent[0]), R"({"jsonrpc":"2.0","id":1,"error":)" + row.error + "}");
        }
        EXPECT_EQ(text_of(bench.wire->sent.back()), R"({"jsonrpc":"2.0","id":2,"result":{}})");
        co_await bench.end();
      });
    }
  }
}

TEST(Peer, WithoutAHandlerRequestsAreRefused) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    co_await bench.wire->wait_for_sent(1);
    EXPECT_THAT(text_of(bench.wire->sent[0]), HasSubstr("-32601"));
    co_await bench.end();
  });
}

// One thrown exception must not end the reading: every other call waits for it.
TEST(Peer, CallbacksThatThrowDoNotEndTheConnection) {
  run_task([]() -> Task<void> {
    std::vector<std::string> failed;
    Runtime runtime;
    runtime.log = Log(LogLevel::error, [&](const LogEvent& event) { failed.push_back(event.event); });
    Peer::Handlers handlers;
    handlers.notification = [](Notification) { throw std::runtime_error("a bug above"); };
    handlers.closed = [](const Error&) { throw std::runtime_error("another"); };
    Bench bench(co_await asio::this_coro::executor, std::move(handlers), runtime);
    PeerCall what;
    what.on_progress = [](const Json&) { throw Error(Errc::internal, "a third"); };
    auto call = bench.call(std::move(what));
    co_await bench.wire->wait_for_sent(1);
    bench.wire->feed(Message(Notification{"x", {}}));
    bench.wire->feed(
        Message(Notification{"notifications/progress", Json{{"progressToken", call->id}, {"progress", 1}}}));
    bench.wire->feed(Message(Response{call->id, Json::object()}));
    co_await call->wait();
    EXPECT_TRUE(*call->outcome);
    co_await bench.end();
    EXPECT_THAT(failed, testing::UnorderedElementsAre("notification_handler_failed", "progress_handler_failed",
                                                      "closed_handler_failed"));
  });
}

// Batches ------------------------------------------------------------------------------------

TEST(Peer, ABatchIsAnsweredByOneBatchWhenItsLastAnswerIsKnown) {
  run_task([]() -> Task<void> {
    Gate gate;
    auto handlers = gate.handlers();
    std::vector<std::string> notified;
    handlers.notification = [&](Notification n) { notified.push_back(n.method); };
    std::vector<std::string> traced;
    Runtime runtime;
    runtime.trace = [&](std::string_view direction, std::string_view) { traced.emplace_back(direction); };
    Bench bench(co_await asio::this_coro::executor, std::move(handlers), runtime);
    auto call = bench.call();
    co_await bench.wire->wait_for_sent(1);
    Batch batch;
    batch.messages.push_back(request_of(std::int64_t{1}, "a"));
    batch.messages.push_back(Notification{"n", {}});
    batch.messages.push_back(request_of(std::int64_t{1}, "a"));  // refused: in use
    batch.messages.push_back(request_of(std::string("b"), "a"));
    batch.messages.push_back(Response{call->id, Json::object()});
    bench.wire->feed(std::move(batch));
    co_await call->wait();
    EXPECT_TRUE(*call->outcome);
    co_await gate.wait_begun(2);
    EXPECT_EQ(bench.wire->sent_batches.size(), 0u);
    gate.open.notify_all();
    co_await bench.wire->wait_for_sent(2);
    EXPECT_EQ(bench.wire->sent.size(), 1u);
    std::vector<std::string> answers;
    for (const auto& message : bench.wire->sent_batches.at(0)) answers.push_back(text_of(message));
    EXPECT_THAT(
        answers,
        ElementsAre(
            R"({"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the id of this request is already used by a request that is still running"}})",
            R"({"jsonrpc":"2.0","id":1,"result":{"for":1}})", R"({"jsonrpc":"2.0","id":"b","result":{"for":"b"}})"));
    EXPECT_THAT(notified, ElementsAre("n"));
    EXPECT_THAT(traced, ElementsAre("->", "<-", "<-", "<-", "<-", "<-", "->", "->", "->"));
    co_await bench.end();
  });
}

// What arrived together with the reason to end is not begun: nobody would get the answer.
TEST(Peer, ARequestThatIsReadAfterTheEndIsNotBegun) {
  run_task([]() -> Task<void> {
    std::vector<std::string> begun;
    Bench* here = nullptr;
    Peer::Handlers handlers;
    handlers.request = [&](Request request) -> Task<Payload> {
      begun.push_back(request.method);
      co_return Json::object();
    };
    handlers.notification = [&](Notification) { here->scope.start(here->peer.close(CloseMode::graceful)); };
    Bench bench(co_await asio::this_coro::executor, std::move(handlers));
    here = &bench;
    bench.wire->feed(request_of(std::int64_t{1}, "in time"));
    co_await bench.wire->wait_for_sent(1);
    bench.wire->hold_close = true;  // until then nothing that runs is cancelled
    bench.wire->feed(Message(Notification{"the end", {}}));
    bench.wire->feed(request_of(std::int64_t{2}, "late"));
    co_await bench.peer.wait_closed();
    co_await settle();
    EXPECT_TRUE(bench.wire->incoming.empty()) << "it was read";
    EXPECT_THAT(begun, ElementsAre("in time"));
    bench.wire->hold_close = false;
    bench.wire->released.notify_all();
    co_await bench.scope.join();
    EXPECT_EQ(bench.wire->sent.size(), 1u);
  });
}

// The refusal would carry the id of the first, and pass for its answer.
TEST(Peer, ADoubledRequestIsPassedOverWhereThatIsWanted) {
  run_task([]() -> Task<void> {
    Gate gate;
    auto handlers = gate.handlers();
    handlers.ignores_doubled = true;
    Bench bench(co_await asio::this_coro::executor, std::move(handlers));
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    co_await gate.wait_begun(1);
    gate.open.notify_all();
    co_await bench.wire->wait_for_sent(1);
    co_await settle();
    EXPECT_EQ(bench.wire->sent.size(), 1u);
    EXPECT_EQ(text_of(bench.wire->sent[0]), R"({"jsonrpc":"2.0","id":1,"result":{"for":1}})");
    EXPECT_EQ(bench.peer.counters().refused_requests, 1u);
    co_await bench.end();
  });
}

TEST(Peer, ABatchWithoutRequestsIsNotAnswered) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    Batch batch;
    batch.messages.push_back(Notification{"n", {}});
    bench.wire->feed(std::move(batch));
    co_await settle();
    EXPECT_EQ(bench.wire->sent.size() + bench.wire->sent_batches.size(), 0u);
    co_await bench.end();
  });
}

TEST(Peer, ABatchIsRefusedWhereTheRevisionHasNone) {
  run_task([]() -> Task<void> {
    Gate gate;
    auto handlers = gate.handlers();
    handlers.accepts_batches = [] { return false; };
    Bench bench(co_await asio::this_coro::executor, std::move(handlers));
    Batch batch;
    batch.messages.push_back(request_of(std::int64_t{1}, "a"));
    bench.wire->feed(std::move(batch));
    co_await bench.wire->wait_for_sent(1);
    EXPECT_THAT(text_of(bench.wire->sent[0]), HasSubstr(R"("code":-32600)"));
    EXPECT_TRUE(gate.begun.empty());
    EXPECT_EQ(bench.peer.counters().refused_requests, 1u);
    co_await bench.end();
  });
}

TEST(Peer, ABatchHalfAnsweredWhenTheConnectionEndsLeavesNothing) {
  run_task([]() -> Task<void> {
    Gate gate;
    Bench bench(co_await asio::this_coro::executor, gate.handlers());
    Batch batch;
    batch.messages.push_back(request_of(std::int64_t{1}, "a"));
    batch.messages.push_back(request_of(std::int64_t{1}, "a"));
    bench.wire->feed(std::move(batch));
    co_await gate.wait_begun(1);
    co_await bench.end();
    EXPECT_EQ(bench.wire->sent_batches.size(), 0u);
  });
}

// The end ----------------------------------------------------------------------------------------

TEST(Peer, CloseFailsPendingCallsAndCancelsHandlers) {
  run_task([]() -> Task<void> {
    Gate gate;
    std::vector<Error> closed;
    auto handlers = gate.handlers();
    handlers.closed = [&](const Error& error) { closed.push_back(error); };
    Bench bench(co_await asio::this_coro::executor, std::move(handlers));
    auto call = bench.call();
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    co_await gate.wait_begun(1);
    co_await bench.peer.close(CloseMode::graceful);
    co_await call->wait();
    EXPECT_EQ(call->error(), Error(Errc::closed, "the connection was closed"));
    EXPECT_EQ(gate.cancelled["1"], 1);
    EXPECT_EQ(bench.wire->sent.size(), 1u);  // no answer, and no cancel for a peer that is gone
    EXPECT_EQ(bench.wire->closes, 1);
    EXPECT_THAT(closed, ElementsAre(Error(Errc::closed, "the connection was closed")));
    auto after = bench.call();
    co_await after->wait();
    EXPECT_EQ(after->error().code(), Errc::closed);
    co_await bench.scope.join();
  });
}

TEST(Peer, CloseTwiceAndAtOnceIsHarmless) {
  run_task([]() -> Task<void> {
    Bench bench(co_await asio::this_coro::executor);
    bench.wire->hold_close = true;
    int returned = 0;
    for (int i = 0; i < 2; ++i) {
      bench.scope.spawn([](Peer& peer, int& n) -> Task<void> {
        co_await peer.close(CloseMode::graceful);
        ++n;
      }(bench.peer, returned));
    }
    while (bench.wire->closes < 2) co_await bench.wire->close_called.wait();
    EXPECT_EQ(returned, 0);
    bench.wire->hold_close = false;
    bench.wire->released.notify_all();
    co_await bench.scope.join();
    EXPECT_EQ(returned, 2);
    co_await bench.peer.close(CloseMode::quick);
  });
}

// Whoever owns a peer destroys it when close() returns, so nothing of it may still run then.
TEST(Peer, ACloseThatIsCancelledStillEndsEverythingFirst) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    Gate gate;
    auto wire = std::make_shared<FakeWire>();
    wire->hold_close = true;
    Scope scope(executor);
    bool returned = false;
    auto closing =
        scope.spawn([](asio::any_io_executor ex, std::shared_ptr<FakeWire> w, Gate& g, bool& flag) -> Task<void> {
          Peer peer(ex, std::make_unique<FakeChannel>(w), {}, g.handlers());
          peer.start();
          w->feed(request_of(std::int64_t{1}, "a"));
          co_await g.wait_begun(1);
          co_await peer.close(CloseMode::graceful);
          flag = true;
        }(executor, wire, gate, returned));
    while (wire->closes == 0) co_await wire->close_called.wait();
    closing.cancel();
    co_await settle();
    EXPECT_FALSE(returned);
    wire->hold_close = false;
    wire->released.notify_all();
    co_await scope.join();
    EXPECT_TRUE(returned);
    EXPECT_EQ(gate.cancelled["1"], 1);
    EXPECT_EQ(wire->sent.size(), 0u);
  });
}

TEST(Peer, CloseWaitsForAHandlerThatTakesItsTimeToEnd) {
  run_task([]() -> Task<void> {
    Event begun;
    Event may_end;
    bool started = false;
    bool ended = false;
    Peer::Handlers handlers;
    handlers.request = [&](Request) -> Task<Payload> {
      started = true;
      begun.notify_all();
      co_await asio::this_coro::throw_if_cancelled(false);
      while (!co_await as_result(may_end.wait())) {
      }
      ended = true;
      co_return Json::object();
    };
    Bench bench(co_await asio::this_coro::executor, std::move(handlers));
    bench.wire->feed(request_of(std::int64_t{1}, "a"));
    while (!started) co_await begun.wait();
    bool closed = false;
    bench.scope.spawn([](Peer& peer, bool& flag) -> Task<void> {
      co_await peer.close(CloseMode::graceful);
      flag = true;
    }(bench.peer, closed));
    co_await settle();
    EXPECT_FALSE(closed);
    may_end.notify_all();
    co_await bench.scope.join();
    EXPECT_TRUE(closed);
    EXPECT_TRUE(ended);
    EXPECT_EQ(bench.wire->sent.size(), 0u);
  });
}

// A peer that is shared, with one handler that runs.
struct SharedBench {
  SharedBench(asio::any_io_executor executor, Peer::Handlers handlers, Runtime runtime = {})
      : wire(std::make_shared<FakeWire>()),
        peer(std::make_shared<Peer>(executor, std::make_unique<FakeChannel>(wire), runtime, std::move(handlers))) {
    peer->start();
    wire->feed(request_of(std::int64_t{1}, "a"));
  }
  std::shared_ptr<FakeWire> wire;
  std::shared_ptr<Peer> peer;
};

TEST(Peer, AHandlerMayCloseItsOwnConnection) {
  run_task([]() -> Task<void> {
    Event ended;
    bool closed = false;
    std::shared_ptr<Peer> peer;
    Peer::Handlers handlers;
    handlers.request = [&](Request) -> Task<Payload> {
      co_await peer->close(CloseMode::graceful);
      closed = true;
      ended.notify_all();
      co_return Json::object();
    };
    Runtime runtime;
    runtime.limits.exit_after_eof = 1h;  // it does not wait for itself, however long others would
    SharedBench bench(co_await asio::this_coro::executor, std::move(handlers), runtime);
    peer = bench.peer;
    while (!closed) co_await ended.wait();
    EXPECT_TRUE(peer->closed());
    EXPECT_EQ(bench.wire->closes, 1);
    co_await peer->close(CloseMode::graceful);  // and so does everybody after it
  });
}

TEST(Peer, AHandlerThatDoesNotEndIsLeftBehindAndKeepsWhatItUses) {
  run_task([]() -> Task<void> {
    Event changed;
    bool started = false;
    bool may_end = false;
    bool ended = false;
    Peer::Handlers handlers;
    handlers.request = [&](Request) -> Task<Payload> {
      started = true;
      changed.notify_all();
      co_await asio::this_coro::throw_if_cancelled(false);
      while (!may_end) (void)co_await as_result(changed.wait());
      ended = true;
      changed.notify_all();
      co_return Json::object();
    };
    Runtime runtime;
    runtime.limits.exit_after_eof = 5ms;
    SharedBench bench(co_await asio::this_coro::executor, std::move(handlers), runtime);
    while (!started) co_await changed.wait();
    co_await bench.peer->close(CloseMode::graceful);
    EXPECT_FALSE(ended);
    std::weak_ptr<Peer> left = bench.peer;
    bench.peer.reset();
    EXPECT_FALSE(left.expired());
    may_end = true;
    changed.notify_all();
    while (!ended) co_await changed.wait();
    co_await settle();
    EXPECT_TRUE(left.expired());
    EXPECT_EQ(bench.wire->sent.size(), 0u);
  });
}

// L9: what the program does with its own log is not a reason for a call to go without an outcome.
TEST(Peer, SinksThatThrowDoNotEndTheReading) {
  run_task([]() -> Task<void> {
    int traced = 0;
    int logged = 0;
    Runtime runtime;
    runtime.trace = [&](std::string_view, std::string_view) {
      ++traced;
      throw std::runtime_error("the disk is full");
    };
    runtime.log = Log(LogLevel::trace, [&](const LogEvent&) {
      ++logged;
      throw std::runtime_error("this one too");
    });
    Bench bench(co_await asio::this_coro::executor, {}, runtime);
    auto answered = bench.call();
    auto pending = bench.call();
    co_await bench.wire->wait_for_sent(2);
    bench.wire->feed(Message(Response{std::int64_t{77}, Json::object()}));  // unknown, which is logged
    bench.wire->feed(Message(Response{answered->id, Json::object()}));
    co_await answered->wait();
    EXPECT_TRUE(*answered->outcome);
    EXPECT_FALSE(pending->outcome);
    bench.wire->finish(Error(Errc::closed, "gone"));
    co_await pending->wait();
    EXPECT_EQ(pending->error(), Error(Errc::closed, "gone"));
    EXPECT_EQ(traced, 4);
    EXPECT_EQ(logged, 2);  // the trace that failed, once, and the reply
    co_await bench.end();
  });
}

TEST(Peer, APeerThatWasClosedLeavesNothingBehind) {
  run_task([]() -> Task<void> {
    auto executor = co_await asio::this_coro::executor;
    auto [near, far] = make_memory_pair();
    auto peer = std::make_unique<Peer>(executor, std::move(near), Runtime{}, Peer::Handlers{});
    peer->start();
    Scope scope(executor);
    std::vector<Error> errors;
    for (int i = 0; i < 3; ++i) {
      scope.spawn([](Peer& p, std::vector<Error>& out) -> Task<void> {
        PeerCall call;
        call.id = p.reserve_id();
        call.method = "m";
        call.total = 1h;
        auto outcome = co_await as_result(p.call(std::move(call)));
        out.push_back(test::failure_of(outcome));
      }(*peer, errors));
    }
    for (int i = 0; i < 3; ++i) (void)co_await far->receive();
    co_await peer->close(CloseMode::graceful);
    peer.reset();  // the calls end on their own
    co_await scope.join();
    EXPECT_EQ(errors.size(), 3u);
    auto end = co_await as_result(far->receive());
    EXPECT_THAT(end, FailsWith(Error(Errc::closed, "the other side closed the connection")));
  });
}

TEST(Peer, TwoPeersTalkInBothDirectionsAtOnce) {
  for (auto mode : {MemoryPayloads::share, MemoryPayloads::copy}) {
    run_task([mode]() -> Task<void> {
      auto executor = co_await asio::this_coro::executor;
      auto [near, far] = make_memory_pair({}, mode);
      auto echo = [] {
        Peer::Handlers handlers;
        handlers.request = [](Request request) -> Task<Payload> { co_return request.params; };
        return handlers;
      };
      Runtime runtime;
      runtime.limits.server_requests = 1000;
      Peer left(executor, std::move(near), runtime, echo());
      Peer right(executor, std::move(far), runtime, echo());
      left.start();
      right.start();
      Scope scope(executor);
      int answered = 0;
      for (int i = 0; i < 200; ++i) {
        scope.spawn([](Peer& peer, int n, int& count) -> Task<void> {
          PeerCall call;
          call.id = peer.reserve_id();
          call.method = "echo";
          call.params = Json{{"n", n}};
          auto result = co_await peer.call(std::move(call));
          EXPECT_EQ(result.value()["n"], Json(n));
          ++count;
        }(i % 2 == 0 ? left : right, i, answered));
      }
      co_await scope.join();
      EXPECT_EQ(answered, 200);
      co_await left.close(CloseMode::graceful);
      co_await right.close(CloseMode::graceful);
    });
  }
}

}  // namespace
}  // namespace patchbay
