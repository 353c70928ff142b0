#include "client/exchange.h"

#include <algorithm>

#include "base/as_result.h"
#include "client/session_owner.h"
#include "protocol/methods.h"
#include "rpc/carried_out.h"

namespace patchbay {
namespace {

// How often a call is repeated because the server wants a page to be visited first. Whoever answers a form says
// something new each time; a server that asks for a page again has not noticed the visit, or never will.
constexpr std::size_t most_visits = 3;

bool asks_for_a_visit(const InputRequired& input) {
  return std::ranges::any_of(input.requests, [](const auto& wish) {
    const auto* elicit = std::get_if<ElicitRequest>(&wish.second);
    return elicit && elicit->mode == ElicitRequest::Mode::url;
  });
}

// The server's own pause between rounds that ask nothing (it is shedding load).
Duration pause_before(std::size_t round) {
  return std::chrono::milliseconds(100) * (1 << std::min<std::size_t>(round, 6));
}

// Whether a request that failed so may be sent once more after recover().
bool can_recover(SessionOwner& session, const SessionCore& core, std::string_view method, const Error& error) {
  if (!may_be_repeated(error)) return false;
  if (session_forgotten(error)) return !session.closing();
  // The tool repeats other arguments in headers than when it was listed, or was never listed.
  return method == method::call_tool && error.rpc_code() == modern_code::header_mismatch && core.uses_headers();
}

Task<void> recover(SessionOwner& session, bool forgotten, std::size_t seen) {
  if (forgotten) {
    co_await session.renewal().renew(seen);
  } else {
    session.lists().cache().drop(method::list_tools);
    co_await session.relist_tools();
  }
}

}  // namespace

Task<Json> request(SessionOwner& session, std::string_view method, Members members, RequestSettings settings,
                   bool* asked) {
  settings.tasks = false;
  auto exchanged = co_await exchange(session, method, std::move(members), std::move(settings), asked);
  co_return std::move(exchanged.answer);
}

// What one attempt knew is what its error says. Of what fails around it (a renewal, a question, an answer that cannot
// be read) the last attempt says it.
Error error_of_exchange(std::string_view method, CarriedOut so_far, Error error) {
  if (method != method::call_tool) return std::move(error).without_carried_out();
  return error.carried_out() ? error : std::move(error).with_carried_out(so_far);
}

namespace {

// How a round ended that did not fail.
enum class Ended { with_answer, with_questions, forgotten };

[[gnu::noinline]] Ended judge(SessionOwner& session, const SessionCore& core, std::string_view method,
                              Result<Payload>& answered, Exchanged& exchanged, std::unique_ptr<InputRequired>& input,
                              bool tasks, bool recovered, CallToolResult* plain) {
  const auto& wire = *core.wire();
  if (!answered) {
    if (auto needed = wire.input_needed(answered.error())) {
      input = std::make_unique<InputRequired>(std::move(*needed));
      return Ended::with_questions;
    }
    if (!recovered && can_recover(session, core, method, answered.error())) return Ended::forgotten;
    throw std::move(answered).error();
  }
  exchanged.bytes = answered->text().size();
  // The values of a large answer were made before it came here, aside; its text is not read again.
  if (plain && exchanged.bytes <= session.runtime().limits.parse_here && wire.read_plain(answered->text(), *plain)) {
    exchanged.progress = nullptr;
    return Ended::with_answer;
  }
  auto outcome = wire.outcome(method, std::move(*answered).take());
  if (!outcome) throw std::move(outcome).error();
  if (auto* done = std::get_if<Json>(&*outcome)) {
    exchanged.progress = nullptr;
    exchanged.answer = std::move(*done);
    return Ended::with_answer;
  }
  if (auto* task = std::get_if<RemoteTask>(&*outcome)) {
    if (!tasks) {
      throw Error(Errc::protocol, fmt::format("the server answered {} with a task, which was not requested", method));
    }
    exchanged.task = std::make_unique<RemoteTask>(std::move(*task));
    return Ended::with_answer;
  }
  input = std::make_unique<InputRequired>(std::move(std::get<InputRequired>(*outcome)));
  return Ended::with_questions;
}

// Asks what the server wants to know. Where answers cannot be carried back, a refusal ends the call here.
Task<InputAnswers> ask(SessionOwner& session, std::shared_ptr<CallClock> clock, InputRequired& input, bool carried) {
  InputAnswers answers;
  for (auto& [key, wish] : input.requests) {
    const CallClock::Stop stop(clock);
    auto response = co_await session.answers().ask(std::move(wish), session.answers().context_of(clock.get()));
    auto* elicited = std::get_if<ElicitResult>(&response);
    if (!carried && elicited && elicited->action != ElicitResult::Action::accept) {
      throw Error(
          Errc::denied,
          fmt::format("the server needs you to open a web page, and you did not agree (\"{}\"); call again and agree",
                      to_string(elicited->action)));
    }
    answers.emplace_back(key, std::move(response));
  }
  co_return answers;
}

[[gnu::noinline]] void check_rounds(std::string_view method, std::size_t round, std::size_t visits,
                                    std::size_t most_rounds) {
  if (round >= most_rounds) {
    throw Error(Errc::limit, fmt::format("the server asked for input {} times during one {}; the limit is {}",
                                         round + 1, method, most_rounds));
  }
  if (visits > most_visits) {
    throw Error(
        Errc::limit,
        fmt::format(
            "the server asked {} times during one {} to visit a page; do what the page asks for, then call again",
            visits, method));
  }
}

[[gnu::noinline]] void check_has(const Wire& wire, std::string_view method) {
  if (wire.has_request(method)) return;
  throw Error(Errc::unsupported, fmt::format("the server uses protocol revision {}, which does not have the request {}",
                                             wire.version(), method));
}

}  // namespace

// What does not wait is in functions of its own: a coroutine keeps all its variables while it waits, also those of
// functions that became a part of it.
Task<Exchanged> exchange(SessionOwner& session, std::string_view method, Members members, RequestSettings settings,
                         bool* asked, CallToolResult* plain) {
  auto so_far = CarriedOut::no;
  auto& renewal = session.renewal();
  const SessionOwner::Use use(session);
  try {
    if (!settings.clock) settings.clock = clock_for(session.clock(), settings);
    const auto& clock = settings.clock;
    std::optional<Tagged> tagged;
    if (!clock->tag) tagged.emplace(session, clock, method);
    if (renewal.running() || (renewal.needed() && !session.closing())) {
      co_await in_time(method, settings, renewal.renew(renewal.count()));
    }
    check_has(session.wire(), method);
    std::optional<Members> again;  // what later rounds send
    bool recovered = false;
    std::size_t visits = 0;
    for (std::size_t round = 0;; ++round) {
      const auto core = session.core();
      const auto& here = core->peer();
      const auto seen = renewal.count();
      const auto id = here->reserve_id();
      Exchanged exchanged;
      if (settings.tasks && (settings.on_progress || settings.idle != Duration::max())) {
        exchanged.peer = here;
        exchanged.progress =
            std::make_unique<Peer::ProgressHold>(*here, id, clock, progress_handler(settings.on_progress));
      }
      Result<Payload> answered = Payload();
      try {
        answered =
            co_await core->send(*core->wire(), method, again ? *again : members, settings, core->cancel_by(), id);
      } catch (...) {
        answered = std::unexpected(error_from(std::current_exception()));
      }
      so_far = answered ? CarriedOut::unknown : answered.error().carried_out().value_or(CarriedOut::unknown);
      std::unique_ptr<InputRequired> input;
      const auto ended = judge(session, *core, method, answered, exchanged, input, settings.tasks, recovered, plain);
      if (ended != Ended::forgotten) session.tell_outcome(nullptr);
      if (ended == Ended::with_answer) co_return exchanged;
      if (ended == Ended::forgotten) {
        recovered = true;
        co_await in_time(method, settings, recover(session, session_forgotten(answered.error()), seen));
        if (clock->left() == Duration::zero()) throw timed_out(method, settings.total);
        continue;
      }
      if (asked) *asked = true;
      if (asks_for_a_visit(*input)) ++visits;
      check_rounds(method, round, visits, session.runtime().limits.input_rounds);
      const auto answers = co_await ask(session, clock, *input, answered.has_value());
      if (input->requests.empty()) {
        co_await sleep_for(std::min(pause_before(round), clock->left()));
      }
      if (clock->left() == Duration::zero()) throw timed_out(method, settings.total);
      again = members;
      core->wire()->add_input(*again, answers, input->state);
    }
  } catch (...) {
    auto error = error_from(std::current_exception());
    // What was cancelled says nothing of the server.
    if (error.code() != Errc::cancelled) session.tell_outcome(&error);
    throw error_of_exchange(method, so_far, std::move(error));
  }
}

Task<Fetched> cached_request(SessionOwner& session, std::string_view method, Members members, std::string key,
                             RequestSettings settings) {
  Fetched fetched;
  auto& cache = session.lists().cache();
  if (const auto* cached = cache.find(method, key)) {
    fetched.kept = cached->result;
    fetched.bytes = cached->bytes;
    co_return fetched;
  }
  const auto generation = cache.generation(method);
  bool asked = false;
  settings.tasks = false;
  auto exchanged = co_await exchange(session, method, std::move(members), std::move(settings), &asked);
  fetched.own = std::move(exchanged.answer);
  fetched.bytes = exchanged.bytes;
  const auto ttl = std::as_const(fetched.own)["ttlMs"].to_int();
  // An answer that needed answers of ours belongs to this call alone, and one that was overtaken by a change may be
  // old.
  if (ttl && *ttl > 0 && !asked && cache.generation(method) == generation) {
    fetched.kept = std::make_shared<const Json>(std::exchange(fetched.own, Json()));
    cache.store(method, key, *ttl, {fetched.kept, fetched.bytes});
  }
  co_return fetched;
}

}  // namespace patchbay
