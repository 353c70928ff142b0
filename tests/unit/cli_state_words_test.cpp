// How a server is, in the words of `status` and `session status`. G4 N9.
#include <gtest/gtest.h>

#include "cli/texts/state_words.h"

namespace patchbay::cli {
namespace {

using std::chrono::seconds;

TEST(StateWords, AreTheSameForTheSameState) {
  struct Case {
    StateWords words;
    std::string text;
  };
  const std::vector<Case> cases{
      {{.server = "s", .state = ServerState::connected, .tool_count = 1}, "connected  1 tool"},
      {{.server = "s", .state = ServerState::connected, .tool_count = 6, .age = seconds(200)},
       "connected 3 minutes ago  6 tools"},
      {{.server = "s", .reason = "not started"}, "not started"},
      {{.server = "s",
        .reason = "reconnecting",
        .error = "server \"s\" exited with status 3",
        .attempt = 2,
        .attempts = 5,
        .last_failure = LastFailure{"server \"s\" exited with status 3", seconds(12)}},
       "reconnecting, attempt 2 of 5: it exited with status 3 (12 seconds ago)"},
      {{.server = "s",
        .state = ServerState::connected,
        .tool_count = 6,
        .last_failure = LastFailure{"it exited with status 3", seconds(60)}},
       "connected  6 tools; last failure 60 seconds ago: it exited with status 3"},
      {{.server = "s", .state = ServerState::failed, .reason = "gave up", .error = "no disk"}, "failed: no disk"},
      {{.server = "s", .state = ServerState::disabled, .reason = "rejected"}, "disabled: rejected"},
      {{.server = "s", .state = ServerState::disabled, .reason = "disabled"}, "disabled"},
      {{.server = "s", .state = ServerState::disabled, .reason = "rejected", .by_entry = true}, "rejected"},
      {{.server = "s", .reason = "not\033started"}, "not\\x1bstarted"},
  };
  for (const auto& [words, text] : cases) EXPECT_EQ(state_text(words, false), text);
}

TEST(StateWords, SayAgesAsPeopleDo) {
  EXPECT_EQ(age_text(seconds(-1)), "0 seconds");
  EXPECT_EQ(age_text(seconds(1)), "1 second");
  EXPECT_EQ(age_text(seconds(119)), "119 seconds");
  EXPECT_EQ(age_text(seconds(120)), "2 minutes");
  EXPECT_EQ(age_text(seconds(7200)), "2 hours");
  EXPECT_EQ(age_text(seconds(172'800)), "2 days");
}

}  // namespace
}  // namespace patchbay::cli
