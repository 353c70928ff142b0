#include "client/negotiate.h"

#include <deque>

#include "base/as_result.h"
#include "base/offload.h"
#include "client/era_memory_file.h"
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

std::chrono::sys_seconds now_of(const SessionCore& core) {
  return std::chrono::floor<std::chrono::seconds>(core.runtime.clock.wall());
}

Memory recall(const SessionCore& core) {
  Memory memory;
  if (core.options.protocol_memory.empty()) return memory;
  memory.identity = core.transport->identity();
  if (memory.identity.key.empty()) return memory;
  memory.file = core.options.protocol_memory;
  memory.known = recall_era(memory.file, memory.identity.key);
  return memory;
}

// In the background: no call waits for a disk.
Task<void> remember(std::shared_ptr<SessionCore> core, Memory memory, bool legacy) {
  const auto now = now_of(*core);
  std::optional<KnownLegacy> known;
  if (legacy) known = KnownLegacy{now, memory.identity.stamp};
  auto written = co_await offload(Pool::quick, [file = memory.file, key = memory.identity.key, known, now] {
    return remember_era(file, key, known, now);
  });
  if (!written) core->runtime.log(LogLevel::info, "era_not_remembered", "reason", written.error().message());
}

// Outlives the probe while `memory` is kept, for as long as a server may take to start: one that
// answered `initialize` first and this as well is not asked that way again.
Task<void> ask_discover(std::shared_ptr<SessionCore> core, std::shared_ptr<Happenings> out, std::string version,
                        Memory memory) {
  const auto keep = core->peer;
  RequestSettings settings;
  if (!memory.file.empty()) settings.total = as_duration(core->runtime.limits.connect);
  auto answer = co_await as_result(
      core->bare_request(*find_wire(version), method::discover, {}, std::move(settings), CancelBy::nothing));
  if (!out->over) {
    out->push({Happening::Kind::discover, std::move(answer)});
  } else if (answer && Probe::is_modern(*answer)) {
    co_await remember(core, std::move(memory), false);
  }
}

Task<void> ask_initialize(SessionCore& core, Happenings& out, std::string version) {
  Members members;
  members.emplace_back("protocolVersion", Json(version));
  members.emplace_back("capabilities", encode(find_wire(version)->offered(core.identity.capabilities)));
  members.emplace_back("clientInfo", encode(core.identity.info));
  auto answer = co_await as_result(
      core.bare_request(*find_wire(version), method::initialize, std::move(members), {}, CancelBy::nothing));
  out.push({Happening::Kind::initialize, std::move(answer)});
}

Task<void> note_silence(Happenings& out, Duration after) {
  co_await sleep_for(after);
  out.push({Happening::Kind::silence, Json()});
}

// Older servers are told the wanted level once; newer ones by every request. A server that
// does not take it is used all the same, and not waited for.
Task<void> ask_log_level(SessionCore& core) {
  if (!core.log_level || !core.server->capabilities.logging || !core.wire->has_request(method::set_log_level))
    co_return;
  Members members;
  members.emplace_back("level", Json(to_string(*core.log_level)));
  RequestSettings settings;
  settings.total = core.runtime.limits.silent_probe;
  auto told = co_await as_result(core.bare_request(*core.wire, method::set_log_level, std::move(members),
                                                   std::move(settings), CancelBy::notification));
  if (!told) core.runtime.log(LogLevel::warning, "log_level_not_set", "reason", told.error().message());
}

void hear_of_the_end(SessionCore& core, Happenings& happenings) {
  core.on_channel_end = [&happenings](const Error& error) {
    happenings.push({Happening::Kind::closed, std::unexpected(error)});
  };
}

Task<void> open_again(SessionCore& core, Happenings& happenings) {
  core.on_channel_end = nullptr;
  co_await core.close_channel(CloseMode::quick);
  happenings.queue.clear();
  hear_of_the_end(core, happenings);
  co_await core.open_channel();
}

// The session keeps the transport that worked; when neither does, both reasons are told.
Task<void> open_older(SessionCore& core, std::unique_ptr<Transport> older, Error why, Happenings& happenings) {
  core.runtime.log(LogLevel::info, "older_transport", "reason", why.message());
  core.transport = std::move(older);
  auto opened = co_await as_result(open_again(core, happenings));
  if (opened) co_return;
  if (opened.error().code() == Errc::cancelled) throw std::move(opened).error();
  // A status is told in short, and what was answered to both once. Other reasons say more than a status they came with.
  const auto status = opened.error().code() == Errc::http ? opened.error().http_status() : std::nullopt;
  if (status && status == why.http_status()) throw std::move(why);
  auto both =
      Error(why.code(), status ? fmt::format("{} (and {} to the GET of an older client)", why.message(), *status)
                               : fmt::format("{}; and as an older server: {}", why.message(), opened.error().message()))
          .with_detail(why.detail());
  throw why.http_status() ? std::move(both).with_http_status(*why.http_status()) : both;
}

Task<void> follow_probe(SessionCore& core, std::shared_ptr<Happenings> shared, Scope& scope) {
  using Do = Probe::Step::Do;
  auto& happenings = *shared;
  auto older = core.transport->fallback();
  const auto memory = recall(core);
  const auto first = first_question(memory.known, now_of(core), memory.identity.stamp);
  Probe probe(core.options.protocol, older != nullptr, first);
  hear_of_the_end(core, happenings);
  auto step = probe.start();
  if (step.what != Do::fail) co_await core.open_channel();
  for (;;) {
    switch (step.what) {
      case Do::start_over:
        core.runtime.log(LogLevel::info, "start_over", "reason", "ended at what it answered before");
        co_await open_again(core, happenings);
        [[fallthrough]];
      case Do::send_discover:
        (memory.file.empty() ? scope : core.scope)
            .spawn(ask_discover(core.shared_from_this(), shared, step.version, memory));
        scope.spawn(note_silence(happenings, core.runtime.limits.silent_probe));
        break;
      case Do::reopen:
        core.runtime.log(LogLevel::info, "reopen", "reason", "ended at the first request");
        co_await open_again(core, happenings);
        [[fallthrough]];
      case Do::send_initialize:
      case Do::fall_back:
        if (step.what == Do::fall_back) co_await open_older(core, std::move(older), *step.error, happenings);
        scope.spawn(ask_initialize(core, happenings, step.version));
        if (first == FirstQuestion::initialize) {
          scope.spawn(note_silence(happenings, core.runtime.limits.silent_probe));
        }
        break;
      case Do::wait:
        break;
      case Do::settled:
        core.wire = find_wire(step.version);
        core.server = std::make_shared<const ServerDescription>(std::move(step.server));
        core.peer->channel().set_protocol_version(step.version);
        if (core.wire->has_request(method::initialize)) {
          if (auto sent = core.peer->notify(method::initialized, {}); !sent) throw std::move(sent).error();
        }
        if (!memory.file.empty() && step.legacy && (*step.legacy || memory.known)) {
          core.scope.spawn(remember(core.shared_from_this(), memory, *step.legacy));
        }
        co_await ask_log_level(core);
        co_return;
      case Do::fail:
        throw std::move(*step.error);
    }
    while (happenings.queue.empty()) co_await happenings.arrived.wait();
    auto happening = std::move(happenings.queue.front());
    happenings.queue.pop_front();
    switch (happening.kind) {
      case Happening::Kind::discover:
        // A call that failed because the channel ended is told by the channel's own end.
        step = core.peer->closed() ? Probe::Step{} : probe.on_discover(happening.answer);
        break;
      case Happening::Kind::initialize:
        step = core.peer->closed() ? Probe::Step{} : probe.on_initialize(happening.answer);
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

Task<void> negotiate(SessionCore& core) {
  auto happenings = std::make_shared<Happenings>();
  Scope scope(core.executor);
  const auto transport = core.transport;
  auto outcome = co_await as_result(follow_probe(core, happenings, scope));
  happenings->over = true;
  // An older form that did not work either is no reason to try nothing else next time.
  if (!outcome) core.transport = transport;
  core.on_channel_end = nullptr;
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
