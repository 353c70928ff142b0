#include "client/negotiate.h"

#include <deque>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/timer.h"
#include "client/era_memory.h"
#include "client/probe.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

namespace patchbay {
namespace {

// What happened on the channel, in the order it happened.
struct Happening {
  enum class Kind { discover, initialize, silence, closed };
  Kind kind;
  Result<Json> answer;
};

struct Happenings {
  std::deque<Happening> queue;
  Event arrived;
  bool over = false;  // the probe has settled or failed
  void push(Happening happening) {
    queue.push_back(std::move(happening));
    arrived.notify_all();
  }
};

// What is kept on disk about the server of one session.
struct Memory {
  std::string file;  // empty: nothing is kept
  Transport::Identity identity;
  std::optional<KnownLegacy> known;
};

std::chrono::sys_seconds now_of(const SessionOwner& owner) {
  return std::chrono::floor<std::chrono::seconds>(owner.clock().wall());
}

Memory recall(const SessionOwner& owner) {
  Memory memory;
  if (owner.options().protocol_memory.empty()) return memory;
  memory.identity = owner.transport()->identity();
  if (memory.identity.key.empty()) return memory;
  memory.file = owner.options().protocol_memory;
  memory.known = recall_era(memory.file, memory.identity.key);
  return memory;
}

// In the background: no call waits for a disk.
Task<void> remember(std::shared_ptr<SessionOwner> owner, Memory memory, bool legacy) {
  const auto now = now_of(*owner);
  std::optional<KnownLegacy> known;
  if (legacy) known = KnownLegacy{now, memory.identity.stamp};
  auto written = co_await offload(Pool::quick, [file = memory.file, key = memory.identity.key, known, now] {
    return remember_era(file, key, known, now);
  });
  if (!written) owner->runtime().log(LogLevel::info, "era_not_remembered", "reason", written.error().message());
}

// Outlives the probe while `memory` is kept, for as long as a server may take to start: one that
// answered `initialize` first and this as well is not asked that way again.
Task<void> ask_discover(std::shared_ptr<SessionOwner> owner, std::shared_ptr<SessionCore> core,
                        std::shared_ptr<Happenings> out, std::string version, Memory memory) {
  RequestSettings settings;
  if (!memory.file.empty()) settings.total = as_duration(owner->runtime().limits.connect);
  auto answer =
      co_await core->bare_request(*find_wire(version), method::discover, {}, std::move(settings), CancelBy::nothing);
  if (!out->over) {
    out->push({Happening::Kind::discover, std::move(answer)});
  } else if (answer && Probe::is_modern(*answer)) {
    co_await remember(owner, std::move(memory), false);
  }
}

Task<void> ask_initialize(std::shared_ptr<SessionCore> core, Happenings& out, std::string version) {
  Members members;
  members.emplace_back("protocolVersion", Json(version));
  members.emplace_back("capabilities", encode(find_wire(version)->offered(core->identity().capabilities)));
  members.emplace_back("clientInfo", encode(core->identity().info));
  auto answer =
      co_await core->bare_request(*find_wire(version), method::initialize, std::move(members), {}, CancelBy::nothing);
  out.push({Happening::Kind::initialize, std::move(answer)});
}

// Timers, not coroutines: they are nearly always cancelled, which costs a coroutine an exception.
class Silences {
 public:
  Silences(asio::any_io_executor executor, std::shared_ptr<Happenings> out, Duration after)
      : executor_(std::move(executor)), out_(std::move(out)), after_(after) {}

  void note_next() {
    auto& timer = timers_.emplace_back(executor_);
    timer.set_after(after_);
    timer.call([out = out_](boost::system::error_code failed) {
      if (!failed) out->push({Happening::Kind::silence, Json()});
    });
  }

 private:
  asio::any_io_executor executor_;
  std::shared_ptr<Happenings> out_;
  Duration after_;
  std::deque<Timer> timers_;
};

// Older servers get the wanted level once; newer ones by every request. A server that
// does not take it is used all the same, and not waited for.
Task<void> ask_log_level(const SessionOwner& owner, SessionCore& core) {
  const auto& level = owner.log_level();
  if (!level || !core.server()->capabilities.logging || !core.wire()->has_request(method::set_log_level)) co_return;
  Members members;
  members.emplace_back("level", Json(to_string(*level)));
  RequestSettings settings;
  settings.total = owner.runtime().limits.silent_probe;
  auto told = co_await core.bare_request(*core.wire(), method::set_log_level, std::move(members), std::move(settings),
                                         CancelBy::notification);
  if (!told) owner.runtime().log(LogLevel::warning, "log_level_not_set", "reason", told.error().message());
}

// The connections of one negotiation, of which the last is used.
class Attempt {
 public:
  Attempt(SessionOwner& owner, std::shared_ptr<Happenings> happenings)
      : owner_(owner), transport_(owner.transport()), happenings_(std::move(happenings)) {}

  const std::shared_ptr<SessionCore>& core() const noexcept { return core_; }

  Task<void> open() {
    core_ = co_await owner_.open_core(transport_, [happenings = happenings_](const Error& error) {
      happenings->push({Happening::Kind::closed, std::unexpected(error)});
    });
  }
  Task<void> open_again() {
    if (core_) core_->give_up();
    co_await owner_.close_opening(CloseMode::quick);
    happenings_->queue.clear();
    co_await open();
  }
  // The session keeps the transport that worked; when neither does, both reasons are reported.
  Task<void> open_older(std::unique_ptr<Transport> older, Error why) {
    owner_.runtime().log(LogLevel::info, "older_transport", "reason", why.message());
    transport_ = std::move(older);
    auto opened = co_await as_result(open_again());
    if (opened) co_return;
    if (opened.error().code() == Errc::cancelled) throw std::move(opened).error();
    // A status is reported in short, and what was answered to both once. Other reasons say more than a status they came
    // with.
    const auto status = opened.error().code() == Errc::http ? opened.error().http_status() : std::nullopt;
    if (status && status == why.http_status()) throw std::move(why);
    auto both = Error(why.code(), status ? fmt::format("{} (with the older transport \"sse\" it answered {})",
                                                       why.message(), *status)
                                         : fmt::format("{}; the older transport \"sse\" failed as well: {}",
                                                       why.message(), opened.error().message()))
                    .with_detail(why.detail());
    throw why.http_status() ? std::move(both).with_http_status(*why.http_status()) : both;
  }

 private:
  SessionOwner& owner_;
  std::shared_ptr<Transport> transport_;
  std::shared_ptr<Happenings> happenings_;
  std::shared_ptr<SessionCore> core_;
};

Task<void> follow_probe(SessionOwner& owner, Attempt& attempt, std::shared_ptr<Happenings> shared, Scope& scope) {
  using Do = Probe::Step::Do;
  auto& happenings = *shared;
  const auto& runtime = owner.runtime();
  auto older = owner.transport()->fallback();
  const auto memory = recall(owner);
  const auto first = first_question(memory.known, now_of(owner), memory.identity.stamp);
  Probe probe(owner.options().protocol, older != nullptr, first);
  Silences silences(owner.executor(), shared, runtime.limits.silent_probe);
  auto step = probe.start();
  if (step.what != Do::fail) co_await attempt.open();
  for (;;) {
    switch (step.what) {
      case Do::start_over:
        runtime.log(LogLevel::info, "start_over", "reason",
                    "the server ended the connection at a request that it answered before");
        co_await attempt.open_again();
        [[fallthrough]];
      case Do::send_discover:
        (memory.file.empty() ? scope : owner.scope())
            .spawn(ask_discover(owner.shared_from_this(), attempt.core(), shared, step.version, memory));
        silences.note_next();
        break;
      case Do::reopen:
        runtime.log(LogLevel::info, "reopen", "reason", "the server ended the connection at the first request");
        co_await attempt.open_again();
        [[fallthrough]];
      case Do::send_initialize:
      case Do::fall_back:
        if (step.what == Do::fall_back) co_await attempt.open_older(std::move(older), *step.error);
        scope.spawn(ask_initialize(attempt.core(), happenings, step.version));
        if (first == FirstQuestion::initialize) silences.note_next();
        break;
      case Do::wait:
        break;
      case Do::settled: {
        auto& core = *attempt.core();
        core.negotiated(*find_wire(step.version), std::move(step.server));
        owner.adopt(attempt.core());
        if (core.wire()->has_request(method::initialize)) {
          if (auto sent = core.peer()->notify(method::initialized, {}); !sent) throw std::move(sent).error();
        }
        if (!memory.file.empty() && step.legacy && (*step.legacy || memory.known)) {
          owner.scope().spawn(remember(owner.shared_from_this(), memory, *step.legacy));
        }
        co_await ask_log_level(owner, core);
        co_return;
      }
      case Do::fail:
        throw std::move(*step.error);
    }
    while (happenings.queue.empty()) co_await happenings.arrived.wait();
    auto happening = std::move(happenings.queue.front());
    happenings.queue.pop_front();
    const bool over = attempt.core()->peer()->closed();
    switch (happening.kind) {
      case Happening::Kind::discover:
        // A call that failed because the channel ended is reported by the channel's own end.
        step = over ? Probe::Step{} : probe.on_discover(happening.answer);
        break;
      case Happening::Kind::initialize:
        step = over ? Probe::Step{} : probe.on_initialize(happening.answer);
        break;
      case Happening::Kind::silence:
        step = probe.on_silence();
        break;
      case Happening::Kind::closed:
        step = probe.on_closed(happening.answer.error());
        break;
    }
  }
}

}  // namespace

Task<void> negotiate(SessionOwner& owner) {
  auto happenings = std::make_shared<Happenings>();
  Scope scope(owner.executor());
  Attempt attempt(owner, happenings);
  auto outcome = co_await as_result(follow_probe(owner, attempt, happenings, scope));
  happenings->over = true;
  if (attempt.core()) attempt.core()->settle();
  // The question that lost is dropped, and its answer will be unknown; but a late discover is
  // still heard for the sake of the memory.
  scope.cancel();
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await scope.join();
  co_await asio::this_coro::throw_if_cancelled(throws);
  value_or_throw(std::move(outcome));
}

}  // namespace patchbay
