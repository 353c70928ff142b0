#include "host/connection_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace patchbay {
namespace {

using Doing = ConnectionState::Doing;
using enum ConnectionAction;

// Whoever was asked wants it never to be started, instead of not now.
bool is_rejection(const Error& error) { return error.remedy() && error.remedy()->kind == Remedy::Kind::undo_rejection; }

class Step {
 public:
  Step(ConnectionState state, const ConnectionRule& rule, Clock::TimePoint now, double chance)
      : next_{std::move(state), {}}, rule_(rule), now_(now), chance_(chance) {}

  ConnectionStep take(const ConnectionEvent& event) && {
    if (state().doing != Doing::closed) std::visit([this](const auto& one) { on(one); }, event);
    return std::move(next_);
  }

 private:
  ConnectionState& state() { return next_.state; }
  void act(ConnectionAction action) { next_.actions.push_back(action); }

  void settle(ServerState now, ServerReason reason, std::optional<Error> error = {}) {
    state().state = now;
    state().reason = reason;
    // Who waits for the server gets the same failure that its status has.
    state().error = error ? std::optional(error->marked()) : std::nullopt;
    act(tell);
  }

  void settle_connected() {
    const auto& changed = state().changed;
    settle(ServerState::connected, changed ? ServerReason::changed_tools : ServerReason::none, changed);
  }

  // The first attempt of a row that nobody waited for before.
  void open_first(bool unnoticed = false) {
    state().coming_back = false;
    state().unnoticed = unnoticed;
    state().attempt = 1;
    state().first_tried.reset();
    open_now();
  }
  void open_now() {
    state().doing = Doing::opening;
    state().tried.reset();
    state().due.reset();
    act(open);
  }
  void pause_for(Duration pause) {
    state().doing = Doing::pausing;
    state().due = time_after(now_, pause);
  }
  // It has come to nothing. What is elsewhere may be there again later, whoever asks.
  void rest() {
    state().doing = Doing::nothing;
    state().coming_back = false;
    state().attempt = 0;
    state().due.reset();
    if (state().state == ServerState::failed && rule_.remote && rule_.by_itself) {
      state().due = time_after(now_, spread(rule_.slow_pause));
    }
  }
  Duration spread(Duration pause) const { return std::chrono::duration_cast<Duration>(pause * (0.8 + 0.4 * chance_)); }

  // The next attempt after a loss, if there is one.
  void come_back(const Error& error) {
    if (state().attempt > rule_.attempts) {
      settle(ServerState::failed, ServerReason::gave_up,
             error.with_message(fmt::format("{} attempts to connect again failed; the last one: {}", rule_.attempts,
                                            error.message())));
      rest();
      act(wake);
      return;
    }
    state().coming_back = true;
    state().unnoticed = false;
    pause_for(pause_before(std::max(state().attempt, state().short_lives), rule_, chance_));
    settle(ServerState::pending, ServerReason::reconnecting, error);
  }

  void lose(const Error& error, ConnectionAction session) {
    const bool lasted = state().since && now_ - *state().since >= rule_.good_while;
    state().short_lives = lasted ? 0 : state().short_lives + 1;
    state().errors = 0;
    state().since.reset();
    state().doing = Doing::nothing;
    act(session);
    if (!rule_.by_itself) {
      settle(ServerState::failed, ServerReason::connection_lost, error);
      rest();
      act(wake);
    } else if (state().short_lives > rule_.short_lives) {
      settle(ServerState::failed, ServerReason::keeps_ending,
             error.with_message(fmt::format("it ended {} times in a row, each time soon after it was started; it is "
                                            "started again when it is used; the last time: {}",
                                            state().short_lives, error.message())));
      rest();
      act(wake);
    } else {
      state().attempt = 1;
      come_back(error);
    }
  }

  void on(const connection_event::Wanted&) {
    if (state().state == ServerState::disabled) return;
    if (state().doing == Doing::nothing) {
      open_first();
    } else if (state().doing == Doing::open && state().state != ServerState::connected) {
      // Credentials that were refused are fetched anew with a new connection.
      act(replace_session);
      state().since.reset();
      open_first();
    } else if (state().doing == Doing::opening) {
      state().unnoticed = false;
    }
  }

  void on(const connection_event::Reconnect&) {
    if (state().state == ServerState::disabled || state().doing == Doing::opening) return;
    state().short_lives = state().errors = 0;
    if (state().doing == Doing::open) {
      act(replace_session);
      settle(ServerState::pending, ServerReason::connecting);
    }
    state().since.reset();
    open_first();
  }

  void on(const connection_event::ProgramFresh&) {
    const bool failed = state().doing == Doing::nothing && state().state == ServerState::failed;
    if (!failed || !rule_.by_itself) return;
    state().short_lives = 0;
    open_first(true);
  }

  void on(const connection_event::Due&) {
    if (!state().due) return;
    if (state().doing == Doing::pausing) {
      open_now();
    } else if (state().doing == Doing::nothing) {
      open_first(true);
    }
  }

  void on(const connection_event::Begun&) {
    if (state().doing != Doing::opening) return;
    // What came before, a person's approval or the turn of others, is not the server's time.
    if (!state().first_tried) state().first_tried = now_;
    state().tried = now_;
    if (state().coming_back || state().unnoticed) return;
    state().state = ServerState::pending;
    state().reason = ServerReason::connecting;
    state().error.reset();
  }

  void on(const connection_event::Connected& connected) {
    if (state().doing != Doing::opening) return;
    state().doing = Doing::open;
    state().since = now_;
    state().attempt = state().errors = 0;
    state().coming_back = state().unnoticed = false;
    const auto& error = connected.tools_error;
    state().unlisted = error.has_value();
    state().changed = connected.changed;
    if (error && error->code() == Errc::unauthorized) {
      settle(ServerState::needs_auth, ServerReason::wants_credentials, error);
    } else if (error) {
      settle(ServerState::connected, ServerReason::tools_fetch_failed, error);
    } else {
      settle_connected();
    }
    act(wake);
  }

  void on(const connection_event::Failed& failed) {
    if (state().doing != Doing::opening) return;
    const auto& error = failed.error;
    state().doing = Doing::nothing;
    if (error.code() == Errc::denied) {
      const bool off = failed.approved || is_rejection(error);
      if (off) act(drop_tools);  // before it is told
      if (!off) {
        settle(ServerState::pending, ServerReason::awaiting_approval, error);
      } else {
        settle(ServerState::disabled, failed.approved ? ServerReason::policy : ServerReason::rejected, error);
      }
    } else if (error.code() == Errc::unauthorized || error.code() == Errc::forbidden) {
      settle(ServerState::needs_auth, ServerReason::wants_credentials, error);
    } else if (state().coming_back) {
      ++state().attempt;
      come_back(error);
      return;
    } else if (may_try_again(error)) {
      pause_for(spread(rule_.first_pause * (std::size_t{1} << (state().attempt - 1))));
      ++state().attempt;
      return;
    } else if (state().unnoticed && state().state == ServerState::failed) {
      state().error = error.marked();  // still failed, perhaps for another reason
    } else {
      settle(ServerState::failed, ServerReason::connect_failed, error);
    }
    rest();
    act(wake);
  }

  bool may_try_again(const Error& error) {
    if (!rule_.remote || state().unnoticed || state().attempt >= rule_.first_tries || !may_pass(error)) return false;
    const auto spent = now_ - state().first_tried.value_or(now_);
    const auto this_one = now_ - state().tried.value_or(now_);
    const auto longest_pause = 2 * rule_.first_pause * (std::size_t{1} << (state().attempt - 1));
    // One that would have less time than this one had would only end sooner.
    return spent + longest_pause + this_one < rule_.connect_limit;
  }

  void on(const connection_event::Lost& lost) {
    if (state().doing == Doing::open) lose(lost.error, end_session);
  }

  // A server may list something else each time: that it waits is told once, until what waits is different.
  void on(const connection_event::Listed& listed) {
    if (state().doing != Doing::open) return;
    const bool news = said(listed.changed) != said(state().changed);
    state().changed = listed.changed;
    const bool fresh = std::exchange(state().unlisted, false);
    if (fresh || (news && state().state == ServerState::connected)) settle_connected();
  }
  static std::string_view said(const std::optional<Error>& error) {
    return error ? std::string_view(error->message()) : std::string_view();
  }

  void on(const connection_event::CallEnded& call) {
    if (state().doing != Doing::open) return;
    if (!call.error) {
      state().errors = 0;
      // One whose tools want credentials still does, whatever else it answers.
      if (state().state != ServerState::connected && !state().unlisted) settle_connected();
      return;
    }
    const auto& error = *call.error;
    if (error.code() == Errc::unauthorized) {
      if (state().state != ServerState::needs_auth) {
        settle(ServerState::needs_auth, ServerReason::wants_credentials, error);
      }
    } else if (error.code() == Errc::connect || (is_terminal(error) && ++state().errors >= rule_.terminal_errors)) {
      // Calls that still run on it are not to blame.
      lose(error, replace_session);
    } else if (!is_terminal(error)) {
      state().errors = 0;
    }
  }

  void on(const connection_event::Closed&) {
    state().doing = Doing::closed;
    state().due.reset();
    if (state().state != ServerState::disabled) {
      state().state = ServerState::pending;
      state().reason = ServerReason::closed;
      state().error.reset();
    }
    act(wake);
  }

  ConnectionStep next_;
  const ConnectionRule& rule_;
  Clock::TimePoint now_;
  double chance_;
};

}  // namespace

ConnectionStep step(ConnectionState state, const ConnectionEvent& event, const ConnectionRule& rule,
                    Clock::TimePoint now, double chance) {
  return Step(std::move(state), rule, now, chance).take(event);
}

Duration pause_before(std::size_t attempt, const ConnectionRule& rule, double chance) {
  auto pause = rule.pause;
  for (std::size_t i = 1; i < attempt && pause < rule.longest_pause; ++i) pause *= 2;
  return std::chrono::duration_cast<Duration>(std::min(pause, rule.longest_pause) * (0.8 + 0.4 * chance));
}

bool may_pass(const Error& error) {
  if (error.code() == Errc::connect || error.code() == Errc::timeout || error.code() == Errc::closed) return true;
  return error.code() == Errc::http && error.http_status().value_or(0) >= 500;
}

bool is_terminal(const Error& error) {
  if (error.code() == Errc::connect || error.code() == Errc::closed) return true;
  // A limit that ended before anything was sent is one of the connection, not of the call.
  return error.code() == Errc::timeout && error.carried_out() == CarriedOut::no;
}

std::string_view to_string(ConnectionState::Doing doing) noexcept {
  static constexpr std::array names{"nothing", "opening", "pausing", "open", "closed"};
  return names.at(static_cast<std::size_t>(doing));
}

std::string_view to_string(ConnectionAction action) noexcept {
  static constexpr std::array names{"open", "end session", "replace session", "drop tools", "tell", "wake"};
  return names.at(static_cast<std::size_t>(action));
}

std::string_view name_of(const ConnectionEvent& event) noexcept {
  static constexpr std::array names{"wanted", "reconnect", "program is fresh", "due",        "begun", "connected",
                                    "failed", "lost",      "listed",           "call ended", "closed"};
  return names.at(event.index());
}

}  // namespace patchbay
