// The loop around every request that may need something first: call, answer what the
// server asks, call again with the answers and its state, a bounded number of times. The
// time a person takes does not count against the call.
#include <algorithm>

#include "base/as_result.h"
#include "client/session_core.h"
#include "protocol/codec.h"
#include "protocol/methods.h"

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

std::function<void(const Json&)> progress_handler(std::function<void(const Progress&)> wanted) {
  if (!wanted) return {};
  return [wanted = std::move(wanted)](const Json& params) {
    if (auto decoded = decode<ProgressNotification>(params)) wanted(decoded->progress);
  };
}

}  // namespace

Task<Payload> SessionCore::send_request(const Wire& with, std::string_view method, const Members& members,
                                        const RequestSettings& settings, CancelBy cancel_by, std::int64_t id) {
  PeerCall call;
  call.id = id;
  call.method = method;
  RequestMeta meta;
  // Progress keeps a call with an idle limit alive, so it is asked for then too.
  if (settings.on_progress || settings.idle != Duration::max()) meta.progress_token = call.id;
  meta.log_level = log_level;
  // Whoever follows a task must be able to ask for it, whatever its own answers may be.
  meta.tasks = settings.tasks || method != method::call_tool;
  call.params = with.params(members, identity, meta);
  call.headers = headers_for(with, method, members);
  call.total = settings.total;
  call.clock = settings.clock;
  call.idle = settings.idle;
  call.cancel_by = cancel_by;
  call.on_progress = progress_handler(settings.on_progress);
  return peer->call(std::move(call));
}

Task<Json> SessionCore::bare_request(const Wire& with, std::string_view method, Members members,
                                     RequestSettings settings, CancelBy cancel_by) {
  auto result = co_await send_request(with, method, members, settings, cancel_by, peer->reserve_id());
  co_return std::move(result).take();
}

Task<Json> SessionCore::request(std::string_view method, Members members, RequestSettings settings, bool* asked) {
  settings.tasks = false;
  auto exchanged = co_await exchange(method, std::move(members), std::move(settings), asked);
  co_return std::move(std::get<Json>(exchanged.answer));
}

// What one attempt knew is what its error says. Of what fails around it (a renewal, a question, an answer that cannot
// be read) the last attempt says it.
Error SessionCore::error_of_exchange(std::string_view method, CarriedOut so_far, Error error) {
  if (method != method::call_tool) return std::move(error).without_carried_out();
  return error.carried_out() ? error : std::move(error).with_carried_out(so_far);
}

Task<Exchanged> SessionCore::exchange(std::string_view method, Members members, RequestSettings settings, bool* asked,
                                      CallToolResult* plain) {
  auto so_far = CarriedOut::no;
  try {
    if (!settings.clock) settings.clock = clock_for(settings);
    const auto& clock = settings.clock;
    if (renewing || (must_renew && !closing)) co_await in_time(method, settings, renew(renewals));
    if (!wire->has_request(method)) {
      throw Error(Errc::unsupported, fmt::format("revision {} of the protocol has no {}", wire->version(), method));
    }
    const auto cancel_by = wire->closing_cancels() && transport->kind() == Transport::Kind::http
                               ? CancelBy::abandon
                               : CancelBy::notification;
    std::optional<Members> again;  // what later rounds send
    bool recovered = false;
    std::size_t visits = 0;
    for (std::size_t round = 0;; ++round) {
      const auto here = peer;
      const auto seen = renewals;
      const auto id = here->reserve_id();
      Exchanged exchanged;
      if (settings.tasks && (settings.on_progress || settings.idle != Duration::max())) {
        exchanged.peer = here;
        exchanged.progress =
            std::make_unique<Peer::ProgressHold>(*here, id, clock, progress_handler(settings.on_progress));
      }
      Result<Payload> answered = Payload();
      try {
        answered = co_await send_request(*wire, method, again ? *again : members, settings, cancel_by, id);
      } catch (...) {
        answered = std::unexpected(error_from(std::current_exception()));
      }

      InputRequired input;
      so_far = answered ? CarriedOut::unknown : answered.error().carried_out().value_or(CarriedOut::unknown);
      if (answered) {
        exchanged.bytes = answered->text().size();
        // The values of a large answer were made before it came here, aside; its text is not read again.
        if (plain && exchanged.bytes <= runtime.limits.parse_here && wire->read_plain(answered->text(), *plain)) {
          exchanged.progress = nullptr;
          co_return exchanged;
        }
        auto outcome = wire->outcome(method, std::move(*answered).take());
        if (!outcome) throw std::move(outcome).error();
        if (auto* done = std::get_if<Json>(&*outcome)) {
          exchanged.progress = nullptr;
          exchanged.answer = std::move(*done);
          co_return exchanged;
        }
        if (auto* task = std::get_if<RemoteTask>(&*outcome)) {
          if (!settings.tasks) {
            throw Error(Errc::protocol, fmt::format("{} was answered with a task nobody asked for", method));
          }
          exchanged.answer = std::move(*task);
          co_return exchanged;
        }
        input = std::move(std::get<InputRequired>(*outcome));
      } else if (auto needed = wire->input_needed(answered.error())) {
        input = std::move(*needed);
      } else if (!recovered && can_recover(method, answered.error())) {
        recovered = true;
        co_await in_time(method, settings, recover(answered.error(), seen));
        if (clock->left() == Duration::zero()) throw timed_out(method, settings.total);
        continue;
      } else {
        throw std::move(answered).error();
      }

      if (asked) *asked = true;
      if (round >= runtime.limits.input_rounds) {
        throw Error(Errc::limit, fmt::format("the server asked for input {} times during one {}", round + 1, method));
      }
      if (asks_for_a_visit(input) && ++visits > most_visits) {
        throw Error(Errc::limit, fmt::format("the server asked {} times during one {} for a page to be visited; finish "
                                             "what the page asks for, then call again",
                                             visits, method));
      }
      InputAnswers answers;
      for (auto& [key, wish] : input.requests) {
        const CallClock::Stop stop(clock);
        auto response = co_await answer(std::move(wish), context_of(clock.get()));
        auto* elicited = std::get_if<ElicitResult>(&response);
        // Where answers cannot be carried back, a refusal ends the call here.
        if (!answered && elicited && elicited->action != ElicitResult::Action::accept) {
          throw Error(Errc::denied, fmt::format("the person did not agree to open the address the server named ({})",
                                                to_string(elicited->action)));
        }
        answers.emplace_back(key, std::move(response));
      }
      if (input.requests.empty()) {
        co_await sleep_for(std::min(pause_before(round), clock->left()));
      }
      if (clock->left() == Duration::zero()) throw timed_out(method, settings.total);
      again = members;
      wire->add_input(*again, answers, input.state);
    }
  } catch (...) {
    throw error_of_exchange(method, so_far, error_from(std::current_exception()));
  }
}

Task<Fetched> SessionCore::cached_request(std::string_view method, Members members, std::string key,
                                          RequestSettings settings) {
  Fetched fetched;
  if (const auto* cached = cache.find(method, key)) {
    fetched.kept = cached->result;
    fetched.bytes = cached->bytes;
    co_return fetched;
  }
  const auto generation = cache.generation(method);
  bool asked = false;
  settings.tasks = false;
  auto exchanged = co_await exchange(method, std::move(members), std::move(settings), &asked);
  fetched.own = std::move(std::get<Json>(exchanged.answer));
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
