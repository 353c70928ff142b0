// ConnectionState: how one server's connection is, and step(), which decides from what happened what it is now and
// what has to be done. Pure: no loop, no clock of its own, no I/O. Connection carries the actions out and reports what
// came of them as the next event; the tests and the simulation drive the same function. docs/host.md draws it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include <patchbay/status.h>

#include "base/clock.h"

namespace patchbay {

// How often and how soon, for one server.
struct ConnectionRule {
  bool remote = false;     // reached over a network: what fails now may succeed in a moment
  bool by_itself = false;  // comes back without being asked; for programs that run for long
  Duration connect_limit = std::chrono::seconds(30);

  std::size_t first_tries = 3;  // of a first connection to a remote server
  Duration first_pause = std::chrono::milliseconds(200);
  std::size_t attempts = 5;  // after a loss
  Duration pause = std::chrono::seconds(1);
  Duration longest_pause = std::chrono::seconds(30);
  std::size_t terminal_errors = 3;                 // of calls in a row
  Duration good_while = std::chrono::seconds(30);  // a connection that lasted so long was worth having
  std::size_t short_lives = 5;                     // connections in a row that did not: a crash loop
  Duration slow_pause = std::chrono::minutes(5);   // between looks at a remote server that has failed
};

struct ConnectionState {
  enum class Doing : std::uint8_t {
    nothing,
    opening,  // an attempt is under way
    pausing,  // until `due`, then the next attempt
    open,     // there is a session
    closed,   // for good
  };

  ServerState state = ServerState::pending;
  ServerReason reason = ServerReason::not_started;
  std::optional<Error> error;
  Doing doing = Doing::nothing;
  std::size_t attempt = 0;                      // which of its row is under way or next
  bool coming_back = false;                     // the row follows a loss
  bool unnoticed = false;                       // nobody waits for this attempt: the state stays what it is meanwhile
  bool unlisted = false;                        // this session's tools could not be listed
  std::optional<Error> changed = {};            // which of its tools wait for somebody to agree to them
  std::size_t short_lives = 0;                  // in a row
  std::size_t errors = 0;                       // terminal ones of calls, in a row
  std::optional<Clock::TimePoint> due;          // when Due happens
  std::optional<Clock::TimePoint> since;        // there is this session
  std::optional<Clock::TimePoint> first_tried;  // when the first attempt of this row had its turn
  std::optional<Clock::TimePoint> tried;        // and this one
};

namespace connection_event {
struct Wanted {};        // somebody needs it
struct Reconnect {};     // somebody wants a new connection, whatever there is
struct ProgramFresh {};  // the file of its program is another one
struct Due {};           // it is state.due
struct Begun {};         // the attempt has its turn
struct Connected {       // with its tools, or why there are none
  std::optional<Error> tools_error;
  std::optional<Error> changed = {};  // some of them wait for somebody to agree
};
struct Failed {  // the attempt
  Error error;
  bool approved = true;  // by whoever has to approve the server
};
struct Lost {  // the session ended by itself
  Error error;
};
struct Listed {                       // its tools are known, or known anew
  std::optional<Error> changed = {};  // as above
};
struct CallEnded {
  std::optional<Error> error;
};
struct Closed {};  // by this program
}  // namespace connection_event

using ConnectionEvent = std::variant<connection_event::Wanted, connection_event::Reconnect,
                                     connection_event::ProgramFresh, connection_event::Due, connection_event::Begun,
                                     connection_event::Connected, connection_event::Failed, connection_event::Lost,
                                     connection_event::Listed, connection_event::CallEnded, connection_event::Closed>;

enum class ConnectionAction : std::uint8_t {
  open,             // make an attempt
  end_session,      // it is of no use any more
  replace_session,  // let go of it: calls that run on it may finish
  drop_tools,       // they are not offered any more
  tell,             // the program
  wake,             // whoever waits: it is decided
};

struct ConnectionStep {
  ConnectionState state;
  std::vector<ConnectionAction> actions;
};

// `chance`: from 0 to less than 1, spreads pauses.
ConnectionStep step(ConnectionState state, const ConnectionEvent& event, const ConnectionRule& rule,
                    Clock::TimePoint now, double chance);

// The pause before an attempt, from 1 on.
Duration pause_before(std::size_t attempt, const ConnectionRule& rule, double chance);

// Whether another try may succeed where this one failed.
bool may_pass(const Error& error);
// Whether the way to the server is broken, and not just one call.
bool is_terminal(const Error& error);

std::string_view to_string(ConnectionState::Doing doing) noexcept;
std::string_view to_string(ConnectionAction action) noexcept;
// "wanted", "lost", …
std::string_view name_of(const ConnectionEvent& event) noexcept;

}  // namespace patchbay
