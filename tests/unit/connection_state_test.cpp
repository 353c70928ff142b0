// The state machine of a connection: every transition, and the pauses between attempts. docs/host.md draws the table
// of transitions, which is checked against the one here. L3, L6, N2
#include "host/connection_state.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/places.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using namespace connection_event;
using Doing = ConnectionState::Doing;
using testing::AllOf;
using testing::Ge;
using testing::Le;

const Clock::TimePoint start = Clock::TimePoint(1h);

Error refused() { return Error(Errc::connect, "no connection: refused"); }
Error gone() { return Error(Errc::closed, "server \"s\" ended with exit code 1").with_detail("first\nlast"); }
Error status(int code) { return Error(Errc::http, "HTTP status").with_http_status(code); }
Error wants_token() { return Error(Errc::unauthorized, "401"); }
Error forbidden() { return Error(Errc::forbidden, "403"); }
Error denied() { return Error(Errc::denied, "not allowed"); }
Error rejected() { return Error(Errc::denied, "no").with_remedy({Remedy::Kind::undo_rejection, "s"}); }
Error waits() { return Error(Errc::denied, "changed, awaiting approval: t"); }
Error late() { return Error(Errc::timeout, "no answer"); }
Error call_refused() { return Error(Errc::connect, "refused").with_carried_out(CarriedOut::no); }
Error call_broken() { return Error(Errc::closed, "the answer was cut off").with_carried_out(CarriedOut::unknown); }
Error call_late() { return Error(Errc::timeout, "too long").with_carried_out(CarriedOut::unknown); }

// A connection that is driven by hand.
struct Machine {
  explicit Machine(ConnectionRule r = {}) : rule(r) {}

  Machine& operator<<(const ConnectionEvent& event) {
    auto next = step(state, event, rule, now, chance);
    state = std::move(next.state);
    actions = std::move(next.actions);
    return *this;
  }
  // Until the alarm.
  Machine& wait() {
    EXPECT_TRUE(state.due);
    if (state.due) now = std::max(now, *state.due);
    return *this << Due{};
  }
  bool did(ConnectionAction action) const { return std::ranges::find(actions, action) != actions.end(); }
  std::string shown() const {
    std::string text = fmt::format("{} {} {}", to_string(state.state), to_string(state.reason), to_string(state.doing));
    if (state.reason == ServerReason::reconnecting) text += fmt::format(" {}", state.attempt);
    return text;
  }

  ConnectionRule rule;
  ConnectionState state;
  Clock::TimePoint now = start;
  double chance = 0.5;
  std::vector<ConnectionAction> actions;
};

ConnectionRule remote_rule(bool by_itself = true) { return {.remote = true, .by_itself = by_itself}; }
ConnectionRule local_rule(bool by_itself = true) { return {.remote = false, .by_itself = by_itself}; }

Machine connected(ConnectionRule rule) {
  Machine machine(rule);
  machine << Wanted{} << Begun{} << Connected{};
  return machine;
}

// ---- every transition -----------------------------------------------------------------------

struct Situation {
  const char* name;
  Machine (*make)(ConnectionRule);
};

const Situation situations[] = {
    {"pending: not started", [](ConnectionRule rule) { return Machine(rule); }},
    {"pending: connecting",
     [](ConnectionRule rule) {
       Machine machine(rule);
       machine << Wanted{} << Begun{};
       return machine;
     }},
    {"connected", [](ConnectionRule rule) { return connected(rule); }},
    {"connected, no list",
     [](ConnectionRule rule) {
       Machine machine(rule);
       machine << Wanted{} << Begun{} << Connected{late()};
       return machine;
     }},
    {"connected, changed tools",
     [](ConnectionRule rule) {
       Machine machine(rule);
       machine << Wanted{} << Begun{} << Connected{{}, waits()};
       return machine;
     }},
    {"pending: reconnecting, waiting",
     [](ConnectionRule rule) {
       auto machine = connected(rule);
       machine << Lost{gone()};
       return machine;
     }},
    {"pending: reconnecting, attempt",
     [](ConnectionRule rule) {
       auto machine = connected(rule);
       machine << Lost{gone()};
       machine.wait() << Begun{};
       return machine;
     }},
    {"pending: reconnecting, last attempt",
     [](ConnectionRule rule) {
       auto machine = connected(rule);
       machine << Lost{gone()};
       for (int i = 1; i < 5; ++i) machine.wait() << Begun{} << Failed{gone()};
       machine.wait() << Begun{};
       return machine;
     }},
    {"failed",
     [](ConnectionRule rule) {
       Machine machine(rule);
       machine << Wanted{} << Begun{} << Failed{status(404)};
       return machine;
     }},
    {"failed, tried on use",
     [](ConnectionRule rule) {
       Machine machine(rule);
       machine << Wanted{} << Begun{} << Failed{status(404)} << Wanted{};
       return machine;
     }},
    {"failed, looked at by itself",
     [](ConnectionRule rule) {
       Machine machine(rule);
       machine << Wanted{} << Begun{} << Failed{status(404)};
       machine.wait() << Begun{};
       return machine;
     }},
    {"needs-auth",
     [](ConnectionRule rule) {
       Machine machine(rule);
       machine << Wanted{} << Begun{} << Failed{wants_token()};
       return machine;
     }},
    {"needs-auth, with a session",
     [](ConnectionRule rule) {
       auto machine = connected(rule);
       machine << CallEnded{wants_token()};
       return machine;
     }},
    {"needs-auth, for its list",
     [](ConnectionRule rule) {
       Machine machine(rule);
       machine << Wanted{} << Begun{} << Connected{wants_token()};
       return machine;
     }},
    {"pending: awaiting approval",
     [](ConnectionRule rule) {
       Machine machine(rule);
       machine << Wanted{} << Failed{denied(), false};
       return machine;
     }},
    {"disabled",
     [](ConnectionRule rule) {
       Machine machine(rule);
       machine << Wanted{} << Begun{} << Failed{denied(), true};
       return machine;
     }},
};

struct Named {
  const char* name;
  ConnectionEvent event;
};

std::vector<Named> events() {
  return {{"wanted", Wanted{}},
          {"reconnect", Reconnect{}},
          {"its program is fresh", ProgramFresh{}},
          {"the pause is over", Due{}},
          {"the attempt begins", Begun{}},
          {"connected", Connected{}},
          {"connected, no list", Connected{late()}},
          {"connected, changed tools", Connected{{}, waits()}},
          {"connected, its list: 401", Connected{wants_token()}},
          {"failed", Failed{gone()}},
          {"failed: 404", Failed{status(404)}},
          {"failed: 401", Failed{wants_token()}},
          {"failed: policy", Failed{denied(), true}},
          {"failed: not approved", Failed{denied(), false}},
          {"failed: rejected", Failed{rejected(), false}},
          {"lost", Lost{gone()}},
          {"its tools are listed", Listed{}},
          {"its tools are listed, changed", Listed{waits()}},
          {"a call succeeds", CallEnded{std::nullopt}},
          {"a call: 401", CallEnded{wants_token()}},
          {"a call: refused", CallEnded{call_refused()}},
          {"a call: took too long", CallEnded{call_late()}},
          {"closed", Closed{}}};
}

// One line for every transition that changes something: what it was, what happened, what it is and what is done.
std::string table_of(ConnectionRule rule) {
  std::string table;
  for (const auto& situation : situations) {
    for (const auto& [name, event] : events()) {
      auto machine = situation.make(rule);
      const auto before = machine.shown();
      machine << event;
      if (machine.shown() == before && machine.actions.empty()) continue;
      std::vector<std::string_view> actions;
      for (const auto action : machine.actions) actions.push_back(to_string(action));
      const auto& now = machine.state;
      std::string after(to_string(now.state));
      if (now.reason != ServerReason::none) after += fmt::format(": {}", to_string(now.reason));
      if (now.reason == ServerReason::reconnecting) after += fmt::format(" {}", now.attempt);
      table += fmt::format("| {} | {} | {} | {} |\n", situation.name, name, after, fmt::join(actions, ", "));
    }
  }
  return table;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What stands between two marks of the page.
std::string part_of(const std::string& page, const std::string& name) {
  const auto begin = page.find("<!-- " + name + " -->\n");
  const auto end = page.find("<!-- end of " + name + " -->");
  if (begin == std::string::npos || end == std::string::npos) return "(the page has no part " + name + ")";
  const auto from = begin + name.size() + 10;
  return page.substr(from, end - from);
}

// The states and the events that lead from one to another, as a diagram.
std::string diagram() {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> arrows;
  for (const auto& situation : situations) {
    for (const auto& [name, event] : events()) {
      auto machine = situation.make(remote_rule());
      const auto before = std::string(to_string(machine.state.state));
      machine << event;
      const auto after = std::string(to_string(machine.state.state));
      if (before != after) arrows[{before, after}].insert(name);
    }
  }
  auto id = [](std::string state) {
    std::ranges::replace(state, '-', '_');
    return state;
  };
  std::string text = "```mermaid\nstateDiagram-v2\n    [*] --> pending\n";
  for (const auto& [between, why] : arrows) {
    std::vector<std::string> names;
    for (auto one : why) {
      std::ranges::replace(one, ':', ',');  // mermaid's own sign
      names.push_back(std::move(one));
    }
    text += fmt::format("    {} --> {}: {}\n", id(between.first), id(between.second), fmt::join(names, " / "));
  }
  return text + "```\n";
}

std::string with_part(const std::string& page, const std::string& name, const std::string& text) {
  const auto begin = page.find("<!-- " + name + " -->\n") + name.size() + 10;
  return page.substr(0, begin) + text + page.substr(page.find("<!-- end of " + name + " -->"));
}

// PATCHBAY_UPDATE_GOLDEN=1 writes them into the page.
TEST(ConnectionState, ThePageShowsEveryTransition) {
  const auto path = test::in_sources("docs/host.md");
  auto page = file_text(path);
  const auto table =
      "| it is | what happens | it becomes | what is done |\n|---|---|---|---|\n" + table_of(remote_rule());
  if (std::getenv("PATCHBAY_UPDATE_GOLDEN") != nullptr) {
    page = with_part(with_part(page, "transitions", table), "diagram", diagram());
    std::ofstream(path) << page;
  }
  EXPECT_EQ(part_of(page, "transitions"), table) << "correct docs/host.md";
  EXPECT_EQ(part_of(page, "diagram"), diagram()) << "correct docs/host.md";
}

// Whatever happens in whatever order: five states, an alarm that fits, an attempt only when one is begun.
TEST(ConnectionState, NoOrderOfEventsLeadsToSomethingThatCannotBe) {
  const auto all = events();
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < all.size(); ++b) {
      for (std::size_t c = 0; c < all.size(); ++c) {
        for (const auto& rule : {remote_rule(), local_rule(), remote_rule(false), local_rule(false)}) {
          Machine machine(rule);
          for (const auto i : {a, b, c, a, b, c}) {
            const auto before = machine.state;
            machine.now += 1s;
            machine << all[i].event;
            const auto& now = machine.state;
            const auto trace = fmt::format("{}, {}, {}: {}", all[a].name, all[b].name, all[c].name, machine.shown());
            EXPECT_EQ(machine.did(ConnectionAction::open),
                      now.doing == Doing::opening && before.doing != Doing::opening)
                << trace;
            EXPECT_EQ(now.doing == Doing::pausing, now.doing != Doing::nothing && now.due.has_value()) << trace;
            if (now.due && now.due != before.due) EXPECT_GE(*now.due, machine.now) << trace;
            if (now.state == ServerState::connected) EXPECT_EQ(now.doing, Doing::open) << trace;
            if (now.state == ServerState::disabled) {
              EXPECT_TRUE(now.doing == Doing::nothing || now.doing == Doing::closed) << trace;
            }
            if (before.doing == Doing::closed) EXPECT_EQ(now.doing, Doing::closed) << trace;
            if (now.state == ServerState::failed) EXPECT_TRUE(now.error) << trace;
          }
        }
      }
    }
  }
}

// ---- first connections ------------------------------------------------------------------------

TEST(ConnectionState, AFirstConnectionIsTriedThreeTimesWhereThatMayHelp) {
  struct Case {
    const char* name;
    Error error;
    std::size_t tries;
  };
  const Case cases[] = {
      {"refused", refused(), 3},
      {"503", status(503), 3},
      {"no answer", late(), 3},
      {"the stream broke", gone(), 3},
      {"404", status(404), 1},
      {"401", wants_token(), 1},
      {"403", forbidden(), 1},
      {"policy", denied(), 1},
      {"TLS", Error(Errc::tls, "untrusted"), 1},
      {"wrong", Error(Errc::protocol, "not MCP"), 1},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.name);
    Machine machine(remote_rule());
    machine << Wanted{};
    std::size_t tries = 0;
    while (machine.state.doing == Doing::opening) {
      ++tries;
      machine << Begun{};
      EXPECT_EQ(to_string(machine.state.reason), "connecting");
      machine << Failed{one.error};
      if (machine.state.doing == Doing::pausing) {
        EXPECT_FALSE(machine.did(ConnectionAction::wake)) << "whoever waits goes on waiting";
        machine.wait();
      }
    }
    EXPECT_EQ(tries, one.tries);
    EXPECT_TRUE(machine.did(ConnectionAction::wake));
  }
}

TEST(ConnectionState, AllTriesHaveOneLimit) {
  Machine machine(remote_rule());
  machine << Wanted{} << Begun{};
  machine.now += 12s;
  machine << Failed{late()};
  EXPECT_EQ(machine.state.doing, Doing::pausing);
  machine.wait() << Begun{};
  machine.now += 12s;
  machine << Failed{late()};
  EXPECT_EQ(machine.shown(), "failed connect failed nothing") << "a third one would have less time";
}

// Waiting for approval, or for a turn among many that start, is not the server's time.
TEST(ConnectionState, WhatComesBeforeAnAttemptDoesNotCountAgainstIt) {
  Machine machine(remote_rule());
  machine << Wanted{};
  machine.now += 10min;
  machine << Begun{} << Failed{refused()};
  EXPECT_EQ(machine.state.doing, Doing::pausing);
  machine.wait();
  machine.now += 20s;
  machine << Begun{} << Failed{refused()};
  EXPECT_EQ(machine.state.doing, Doing::pausing);
  EXPECT_EQ(machine.state.first_tried, start + 10min) << "all tries have one limit";
}

TEST(ConnectionState, ALocalServerIsStartedOnce) {
  Machine machine(local_rule());
  machine << Wanted{} << Begun{} << Failed{gone()};
  EXPECT_EQ(machine.shown(), "failed connect failed nothing");
  EXPECT_FALSE(machine.state.due) << "it is started again when it is used";
}

TEST(ConnectionState, ARemoteServerThatFailedIsLookedAtFromTimeToTime) {
  Machine machine(remote_rule());
  machine << Wanted{} << Begun{} << Failed{status(404)};
  EXPECT_EQ(machine.shown(), "failed connect failed nothing");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(machine.state.due);
    EXPECT_THAT(*machine.state.due - machine.now, AllOf(Ge(4min), Le(6min)));
    machine.wait() << Begun{};
    EXPECT_EQ(machine.shown(), "failed connect failed opening") << "it stays failed meanwhile";
    machine << Failed{refused()};
    EXPECT_FALSE(machine.did(ConnectionAction::tell)) << "nothing new";
    EXPECT_EQ(machine.state.doing, Doing::nothing) << "one try";
  }
  machine.wait() << Begun{} << Connected{};
  EXPECT_EQ(machine.shown(), "connected  open");
  EXPECT_TRUE(machine.did(ConnectionAction::tell));
  // A program that asks once does not look again.
  Machine once(remote_rule(false));
  once << Wanted{} << Begun{} << Failed{status(404)};
  EXPECT_FALSE(once.state.due);
}

// ---- coming back --------------------------------------------------------------------------------

TEST(ConnectionState, ALostConnectionComesBackWithGrowingPausesFiveTimes) {
  for (const auto& rule : {remote_rule(), local_rule()}) {
    auto machine = connected(rule);
    machine.now += 1h;
    machine << Lost{gone()};
    EXPECT_TRUE(machine.did(ConnectionAction::end_session));
    std::vector<Duration> pauses;
    for (int attempt = 1; attempt <= 5; ++attempt) {
      EXPECT_EQ(machine.shown(), fmt::format("pending reconnecting pausing {}", attempt));
      EXPECT_FALSE(machine.did(ConnectionAction::wake)) << "whoever waits goes on waiting";
      pauses.push_back(*machine.state.due - machine.now);
      machine.wait() << Begun{};
      EXPECT_EQ(machine.shown(), fmt::format("pending reconnecting opening {}", attempt));
      machine << Failed{attempt == 2 ? status(404) : gone()};
    }
    EXPECT_THAT(pauses, testing::ElementsAre(1s, 2s, 4s, 8s, 16s));
    EXPECT_EQ(machine.shown(), "failed gave up nothing");
    EXPECT_TRUE(machine.did(ConnectionAction::wake));
    EXPECT_EQ(machine.state.due.has_value(), rule.remote);
    // Use wakes it.
    machine << Wanted{};
    EXPECT_TRUE(machine.did(ConnectionAction::open));
    machine << Begun{} << Connected{};
    EXPECT_EQ(machine.shown(), "connected  open");
  }
}

TEST(ConnectionState, PausesAreSpreadAndNeverLongerThanTheLongest) {
  const ConnectionRule rule;
  EXPECT_EQ(pause_before(1, rule, 0.5), 1s);
  EXPECT_EQ(pause_before(1, rule, 0), 800ms);
  EXPECT_LT(pause_before(1, rule, 0.999), 1200ms);
  EXPECT_EQ(pause_before(6, rule, 0.5), 30s);
  EXPECT_EQ(pause_before(1'000'000, rule, 0.5), 30s);
}

TEST(ConnectionState, WhoNeedsItWhileItComesBackWaits) {
  auto machine = connected(local_rule());
  machine << Lost{gone()} << Wanted{};
  EXPECT_TRUE(machine.actions.empty());
  EXPECT_EQ(machine.shown(), "pending reconnecting pausing 1");
  // Whoever asks for a new connection does not.
  machine << Reconnect{};
  EXPECT_TRUE(machine.did(ConnectionAction::open));
}

TEST(ConnectionState, WithoutComingBackALossIsAFailureUntilItIsUsed) {
  auto machine = connected(local_rule(false));
  machine << Lost{gone()};
  EXPECT_EQ(machine.shown(), "failed connection lost nothing");
  EXPECT_TRUE(machine.did(ConnectionAction::wake));
  machine << Wanted{};
  EXPECT_TRUE(machine.did(ConnectionAction::open));
}

TEST(ConnectionState, AServerThatKeepsEndingIsLeftAloneUntilItIsUsed) {
  auto machine = connected(local_rule());
  int starts = 1;
  while (machine.state.state != ServerState::failed && starts < 100) {
    machine.now += 1s;
    machine << Lost{gone()};
    if (machine.state.doing != Doing::pausing) break;
    machine.wait() << Begun{} << Connected{};
    ++starts;
  }
  EXPECT_EQ(machine.shown(), "failed keeps ending nothing");
  EXPECT_EQ(starts, 6);
  ASSERT_TRUE(machine.state.error);
  EXPECT_EQ(machine.state.error->detail(), "first\nlast") << "what it wrote is shown";
  EXPECT_FALSE(machine.state.due);
  // Each use starts it once, and it is not restarted.
  machine << Wanted{} << Begun{} << Connected{};
  EXPECT_EQ(machine.shown(), "connected  open");
  machine.now += 1s;
  machine << Lost{gone()};
  EXPECT_EQ(machine.shown(), "failed keeps ending nothing");
  // One that then lasts is an ordinary one again.
  machine << Wanted{} << Begun{} << Connected{};
  machine.now += 31s;
  machine << Lost{gone()};
  EXPECT_EQ(machine.shown(), "pending reconnecting pausing 1");
  EXPECT_EQ(*machine.state.due - machine.now, 1s);
}

TEST(ConnectionState, AFreshProgramIsStartedAgain) {
  Machine machine(local_rule());
  machine << Wanted{} << Begun{} << Failed{gone()} << ProgramFresh{};
  EXPECT_TRUE(machine.did(ConnectionAction::open));
  EXPECT_EQ(machine.shown(), "failed connect failed opening");
  machine << Begun{} << Connected{};
  EXPECT_EQ(machine.shown(), "connected  open");
  machine << ProgramFresh{};
  EXPECT_TRUE(machine.actions.empty()) << "one that runs is left alone";
}

// ---- what calls tell ---------------------------------------------------------------------------

TEST(ConnectionState, ThreeBrokenCallsInARowAreALossAndASuccessBetweenThemIsNot) {
  auto machine = connected(remote_rule());
  machine << CallEnded{call_broken()} << CallEnded{call_broken()} << CallEnded{std::nullopt};
  machine << CallEnded{call_broken()} << CallEnded{call_broken()};
  EXPECT_EQ(machine.shown(), "connected  open");
  machine << CallEnded{call_broken()};
  EXPECT_EQ(machine.shown(), "pending reconnecting pausing 1");
  EXPECT_TRUE(machine.did(ConnectionAction::replace_session)) << "calls that still run are not to blame";
}

TEST(ConnectionState, ACallThatTookTooLongSaysNothingAboutTheConnection) {
  auto machine = connected(remote_rule());
  for (int i = 0; i < 10; ++i) machine << CallEnded{call_late()};
  EXPECT_EQ(machine.shown(), "connected  open");
}

TEST(ConnectionState, ARefusedCallIsALossAtOnce) {
  auto machine = connected(remote_rule());
  machine << CallEnded{call_refused()};
  EXPECT_EQ(machine.shown(), "pending reconnecting pausing 1");
}

TEST(ConnectionState, CredentialsThatAreRefusedDoNotTakeTheSessionAway) {
  auto machine = connected(remote_rule());
  machine << CallEnded{wants_token()};
  EXPECT_EQ(machine.shown(), "needs-auth wants credentials open");
  machine << CallEnded{std::nullopt};
  EXPECT_EQ(machine.shown(), "connected  open");
  machine << CallEnded{wants_token()} << Wanted{};
  EXPECT_TRUE(machine.did(ConnectionAction::replace_session));
  EXPECT_TRUE(machine.did(ConnectionAction::open));
}

// However often it lists something else, one reason is told once. N5
TEST(ConnectionState, ChangedToolsAreToldOnceUntilWhatWaitsIsDifferent) {
  auto machine = connected(local_rule());
  machine << Listed{waits()};
  EXPECT_EQ(machine.state.reason, ServerReason::changed_tools);
  EXPECT_TRUE(machine.did(ConnectionAction::tell));
  for (int i = 0; i < 3; ++i) {
    machine << Listed{waits()};
    EXPECT_EQ(machine.actions, std::vector<ConnectionAction>());
  }
  machine << CallEnded{wants_token()} << CallEnded{std::nullopt};
  EXPECT_EQ(machine.state.reason, ServerReason::changed_tools) << "they still wait";
  machine << Listed{};
  EXPECT_EQ(machine.state.reason, ServerReason::none);
  EXPECT_TRUE(machine.did(ConnectionAction::tell));
}

TEST(ConnectionState, WhoIsDeniedIsOffAndItsToolsAreNotOffered) {
  auto machine = connected(remote_rule());
  machine << Lost{gone()};
  machine.wait() << Begun{} << Failed{denied(), true};
  EXPECT_EQ(machine.shown(), "disabled policy nothing");
  EXPECT_TRUE(machine.did(ConnectionAction::drop_tools));
  machine << Wanted{} << Reconnect{};
  EXPECT_TRUE(machine.actions.empty());
}

}  // namespace
}  // namespace patchbay
