// T2: what follows from the session of an older server, for every request and every 404.
#include "transport/known_session.h"

#include <string>

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using Before = KnownSession::Before;
using Kind = Outbox::Kind;
using NotFound = KnownSession::NotFound;
using Phase = KnownSession::Phase;

KnownSession session_in(Phase phase, std::string_view id) {
  KnownSession session;
  session.initialized(id);
  if (phase == Phase::fresh) return session;
  session.opening();
  if (phase == Phase::opening) return session;
  session.opened();
  if (phase == Phase::expired) EXPECT_TRUE(session.request_not_found(NotFound::nothing));
  return session;
}

TEST(KnownSession, EveryPhase_SaysWhatARequestMayDo) {
  struct Case {
    Phase phase;
    const char* id;
    Before in_session;
    Before stateless;
    bool goodbye;
  };
  for (const auto& c : {
           Case{Phase::fresh, "", Before::send, Before::send, false},
           Case{Phase::fresh, "s1", Before::send, Before::send, true},
           // It may refuse what comes before it has taken `initialized`, whoever sends it.
           Case{Phase::opening, "", Before::wait, Before::wait, false},
           Case{Phase::opening, "s1", Before::wait, Before::wait, true},
           Case{Phase::open, "", Before::send, Before::send, false},
           Case{Phase::open, "s1", Before::send, Before::send, true},
           // Forgotten: what belongs to no session is not concerned, and nobody has to be told of the end.
           Case{Phase::expired, "s1", Before::refuse, Before::send, false},
       }) {
    const auto session = session_in(c.phase, c.id);
    const auto shown = ::testing::Message() << "phase " << static_cast<int>(c.phase) << " id " << c.id;
    EXPECT_EQ(session.phase(), c.phase) << shown;
    EXPECT_EQ(session.before_request(false), c.in_session) << shown;
    EXPECT_EQ(session.before_request(true), c.stateless) << shown;
    EXPECT_EQ(session.wants_goodbye(), c.goodbye) << shown;
  }
}

TEST(KnownSession, ANotFound_EndsTheSessionUnlessItIsAboutTheMethod) {
  struct Case {
    NotFound body;
    bool gone;
  };
  for (const auto& c : {Case{NotFound::nothing, true}, Case{NotFound::error_without_id, true},
                        Case{NotFound::other_error, true}, Case{NotFound::unknown_method, false}}) {
    auto session = session_in(Phase::open, "s1");
    EXPECT_EQ(session.request_not_found(c.body), c.gone) << static_cast<int>(c.body);
    EXPECT_EQ(session.phase(), c.gone ? Phase::expired : Phase::open) << static_cast<int>(c.body);
  }
}

TEST(KnownSession, ANotFoundForANotification_IsAReasonForDoubtInASession) {
  struct Case {
    int status;
    bool in_session;
    Kind kind;
    bool doubt;
  };
  for (const auto& c : {
           Case{404, true, Kind::notification, true},
           Case{404, true, Kind::cancellation, true},
           Case{404, true, Kind::answer, true},
           Case{404, true, Kind::opening, false},
           Case{404, false, Kind::notification, false},
           Case{400, true, Kind::notification, false},
           Case{202, true, Kind::notification, false},
       }) {
    EXPECT_EQ(KnownSession::raises_doubt(c.status, c.in_session, c.kind), c.doubt)
        << c.status << " " << c.in_session << " " << static_cast<int>(c.kind);
  }
}

TEST(KnownSession, AnIdThatIsNotAHeaderValue_IsNotUsed) {
  for (const auto& [id, kept] : std::initializer_list<std::pair<std::string, bool>>{
           {"", false},
           {"a", true},
           {"0-9~!", true},
           {"with space", false},
           {"line\r\nX: y", false},
           {"\x7f", false},
           {"\xc3\xa4", false},
           {std::string(1024, 'x'), true},
           {std::string(1025, 'x'), false},
       }) {
    KnownSession session;
    session.initialized(id);
    EXPECT_EQ(session.id(), kept ? id : "") << id;
    EXPECT_EQ(session.covers(false), kept) << id;
    EXPECT_FALSE(session.covers(true)) << id;
  }
}

TEST(KnownSession, ALaterInitialize_TakesTheIdAway) {
  auto session = session_in(Phase::fresh, "s1");
  session.initialized("");
  EXPECT_EQ(session.id(), "");
  EXPECT_FALSE(session.wants_goodbye());
}

}  // namespace
}  // namespace patchbay
