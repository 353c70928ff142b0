// T2: when a broken stream is asked for again, and from where.
#include "transport/resuming.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using std::chrono::milliseconds;

TEST(Resuming, PausesAreTheServersWithinBounds) {
  struct Case {
    std::optional<int> wish;
    int attempt;
    int pause;
  };
  for (const auto& c : {
           Case{std::nullopt, 0, 1'000},
           Case{std::nullopt, 1, 1'000},
           Case{std::nullopt, 2, 2'000},
           Case{std::nullopt, 3, 4'000},
           Case{std::nullopt, 4, 5'000},
           Case{std::nullopt, 1'000'000, 5'000},
           // Never without one.
           Case{0, 0, 100},
           Case{0, 1, 100},
           Case{0, 2, 200},
           Case{0, 100, 5'000},
           Case{20, 1, 100},
           Case{500, 1, 500},
           Case{500, 2, 1'000},
           // What the server wants is not cut short, and not made longer.
           Case{90'000, 1, 90'000},
           Case{90'000, 9, 90'000},
           Case{3'600'000, 1, 3'600'000},
           Case{2'000'000'000, 1, 3'600'000},
       }) {
    const auto wish = c.wish ? std::optional(milliseconds(*c.wish)) : std::nullopt;
    EXPECT_EQ(pause_before_resuming(wish, c.attempt), milliseconds(c.pause))
        << (c.wish ? std::to_string(*c.wish) : "none") << " " << c.attempt;
  }
}

TEST(Resuming, AnIdMustFitIntoAHeader) {
  EXPECT_TRUE(usable_event_id(""));
  EXPECT_TRUE(usable_event_id("a-1\tb \xC3\xA4"));
  EXPECT_TRUE(usable_event_id(std::string(4096, 'x')));
  EXPECT_FALSE(usable_event_id(std::string(4097, 'x')));
  EXPECT_FALSE(usable_event_id("a\x01"));
  EXPECT_FALSE(usable_event_id("a\x7F"));
  EXPECT_FALSE(usable_event_id("a\r\nX: y"));
}

TEST(Resuming, AReplyToTheGet_IsAStreamOrNotYetOrNone) {
  struct Case {
    int status;
    const char* type;
    StreamReply reply;
  };
  for (const auto& c : {
           Case{200, "text/event-stream", StreamReply::stream},
           Case{200, "application/json", StreamReply::none},
           Case{204, "text/event-stream", StreamReply::none},
           Case{404, "", StreamReply::none},
           Case{405, "", StreamReply::none},
           Case{409, "text/event-stream", StreamReply::later},
           Case{429, "", StreamReply::later},
           Case{500, "text/event-stream", StreamReply::later},
           Case{503, "", StreamReply::later},
       }) {
    EXPECT_EQ(stream_reply(c.status, c.type), c.reply) << c.status << " " << c.type;
  }
}

TEST(Resuming, AnAnswer_IsAskedForAgainWhileThereIsAnIdToAskWith) {
  using Do = AnswerResume::Do;
  struct Over {
    const char* last_id;
    bool broken;
    Do what;
    int attempt;
  };
  struct Case {
    const char* name;
    bool stateless;
    std::vector<Over> over;
  };
  for (const auto& c : {
           Case{"without an id", false, {{"", true, Do::lost, 0}}},
           Case{"whole and empty", false, {{"", false, Do::empty, 0}}},
           Case{"stateless", true, {{"7", true, Do::lost, 0}}},
           Case{"stateless, whole", true, {{"7", false, Do::empty, 0}}},
           Case{"the id was taken back", false, {{"7", true, Do::ask, 1}, {"", true, Do::lost, 1}}},
           Case{"breaks without news",
                false,
                {{"7", true, Do::ask, 1},
                 {"7", true, Do::ask, 2},
                 {"7", true, Do::ask, 3},
                 {"7", true, Do::ask, 4},
                 {"7", true, Do::ask, 5},
                 {"7", true, Do::worn_out, 5}}},
           Case{"an event begins anew",
                false,
                {{"7", true, Do::ask, 1}, {"7", true, Do::ask, 2}, {"8", true, Do::ask, 1}, {"8", true, Do::ask, 2}}},
           Case{"in good order it is never too often",
                false,
                {{"7", false, Do::ask, 1},
                 {"7", false, Do::ask, 2},
                 {"7", false, Do::ask, 3},
                 {"7", false, Do::ask, 4},
                 {"7", false, Do::ask, 5},
                 {"7", false, Do::ask, 6},
                 {"7", false, Do::ask, 7}}},
       }) {
    AnswerResume resume(c.stateless);
    for (const auto& over : c.over) {
      EXPECT_EQ(resume.over(over.last_id, over.broken), over.what) << c.name;
      EXPECT_EQ(resume.attempt(), over.attempt) << c.name;
    }
  }
}

TEST(Resuming, TheStreamOfNoRequest_IsKeptWhereThereIsOne) {
  using Do = ListenResume::Do;
  // A status is answered without a stream; 200 with one, which then ends.
  struct Step {
    int status;
    bool events = false;  // came before the end
    Do what = Do::read;
    int attempt = 0;  // of the next one
  };
  struct Case {
    const char* name;
    std::vector<Step> steps;
  };
  for (const auto& c : {
           Case{"servers without one", {{405, false, Do::stop, 0}}},
           Case{"servers that know only POST", {{404, false, Do::stop, 0}}},
           Case{"somebody else has it", {{409, false, Do::stop, 0}}},
           Case{"busy", {{503, false, Do::again, 1}, {503, false, Do::again, 2}, {200, false, Do::read, 3}}},
           Case{"it ends and comes again",
                {{200, true, Do::read, 1}, {200, true, Do::read, 1}, {200, false, Do::read, 2}}},
           Case{"the old one is not yet known to be dead", {{200, true, Do::read, 1}, {409, false, Do::again, 2}}},
           Case{"the session may be gone",
                {{200, true, Do::read, 1},
                 {404, false, Do::doubt_again, 2},
                 {404, false, Do::doubt_again, 3},
                 {404, false, Do::doubt_again, 4},
                 {404, false, Do::doubt_stop, 4}}},
           Case{"and was not",
                {{200, true, Do::read, 1},
                 {404, false, Do::doubt_again, 2},
                 {404, false, Do::doubt_again, 3},
                 {200, false, Do::read, 4},
                 {404, false, Do::doubt_again, 5},
                 {404, false, Do::doubt_again, 6},
                 {404, false, Do::doubt_again, 7},
                 {404, false, Do::doubt_stop, 7}}},
       }) {
    ListenResume resume;
    for (const auto& step : c.steps) {
      const auto reply = stream_reply(step.status, "text/event-stream");
      EXPECT_EQ(resume.answered(reply, step.status), step.what) << c.name;
      if (step.what == Do::read) resume.ended(step.events);
      EXPECT_EQ(resume.attempt(), step.attempt) << c.name;
    }
  }
}

TEST(Resuming, AStreamWithTooLargeMessages_IsSkippedSoOften) {
  ListenResume resume;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(resume.skips(false)) << i;
  EXPECT_TRUE(resume.skips(true));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(resume.skips(false)) << i;
  EXPECT_FALSE(resume.skips(false));
}

}  // namespace
}  // namespace patchbay
