// What a session remembers of its servers. N9 L1 G4.
#include "gateway/server_history.h"

#include <gtest/gtest.h>

namespace patchbay {
namespace {

std::chrono::sys_seconds at(int seconds) { return std::chrono::sys_seconds(std::chrono::seconds(seconds)); }

ServerStatus up() {
  ServerStatus status;
  status.name = "one";
  status.state = ServerState::connected;
  status.reason = ServerReason::none;
  status.server = ServerDescription{};
  return status;
}

ServerStatus down(const std::string& why) {
  ServerStatus status;
  status.name = "one";
  status.state = ServerState::pending;
  status.reason = ServerReason::reconnecting;
  status.error = Error(Errc::closed, why).marked();
  return status;
}

TEST(ServerHistory, AFirstConnectionIsNotARestart) {
  ServerHistory history;
  history.note(down("not yet"), at(1));
  history.note(up(), at(2));
  history.note(up(), at(3));
  EXPECT_EQ(history.take_restart("one"), std::nullopt);
  EXPECT_EQ(history.take_restart("nobody"), std::nullopt);
}

TEST(ServerHistory, ARestartIsTakenOnce) {
  ServerHistory history;
  history.note(up(), at(1));
  history.note(down("it ended"), at(2));
  EXPECT_EQ(history.take_restart("one"), std::nullopt);
  history.note(up(), at(3));
  EXPECT_EQ(history.take_restart("one"), at(3));
  EXPECT_EQ(history.take_restart("one"), std::nullopt);
  history.note(down("it ended"), at(4));
  history.note(up(), at(5));
  EXPECT_EQ(history.take_restart("one"), at(5));
}

// A session that a server over HTTP has forgotten is opened anew without being lost in between.
TEST(ServerHistory, ARenewedSessionIsARestart) {
  ServerHistory history;
  history.note(up(), at(1));
  history.note(LogEvent{LogLevel::info, "one", "session_renewed", {}}, at(2));
  EXPECT_EQ(history.take_restart("one"), at(2));
  EXPECT_EQ(history.take_restart("one"), std::nullopt);
}

TEST(ServerHistory, AnotherEntryIsANewStart) {
  ServerHistory history;
  history.note(up(), at(1));
  history.replaced("one");
  history.note(up(), at(2));
  EXPECT_EQ(history.take_restart("one"), at(2));
}

TEST(ServerHistory, TheLastFailureOutlivesASuccess) {
  ServerHistory history;
  EXPECT_FALSE(history.last_failure("one"));
  const auto first = down("first");
  history.note(first, at(1));
  history.note(first, at(2));  // the same failure, reported again
  ASSERT_TRUE(history.last_failure("one"));
  EXPECT_EQ(history.last_failure("one")->time, at(1));
  history.note(down("second"), at(3));
  history.note(up(), at(4));
  EXPECT_EQ(history.last_failure("one")->error.message(), "second");
  EXPECT_EQ(history.last_failure("one")->time, at(3));
  history.forget("one");
  EXPECT_FALSE(history.last_failure("one"));
}

TEST(ServerHistory, WhatAwaitsApprovalHasNotFailed) {
  ServerHistory history;
  auto status = down("it awaits approval");
  status.reason = ServerReason::awaiting_approval;
  history.note(status, at(1));
  EXPECT_FALSE(history.last_failure("one"));
}

TEST(ServerHistory, TheFirstLineThatWasNotForUsIsKeptUntilItConnects) {
  ServerHistory history;
  EXPECT_EQ(history.printed("one"), "");
  history.note(LogEvent{LogLevel::info, "one", "stream_silent", {{"text", "other"}}}, at(1));
  EXPECT_EQ(history.printed("one"), "");
  history.note(LogEvent{LogLevel::info, "one", "junk", {{"why", "not JSON"}, {"text", "hello"}}}, at(1));
  history.note(LogEvent{LogLevel::info, "one", "junk", {{"why", "not JSON"}, {"text", "again"}}}, at(1));
  EXPECT_EQ(history.printed("one"), "hello");
  history.note(up(), at(1));
  EXPECT_EQ(history.printed("one"), "");
}

}  // namespace
}  // namespace patchbay
