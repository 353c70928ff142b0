// Events of the log as values, as lines of a log file and as sentences for people.
#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/texts/log_line.h"
#include "cli/texts/log_words.h"

namespace patchbay {
namespace {

using cli::log_line;
using cli::log_words;
using testing::ElementsAre;

struct Counted {
  int* formatted;
};

TEST(LogTest, NobodyIsToldTwice_AndOfAServerThatFloodsNotMoreThanCanBeRead) {
  cli::ToldLines told;
  EXPECT_EQ(told.next("docs", "a"), "a");
  EXPECT_EQ(told.next("docs", "a"), std::nullopt);
  for (int i = 1; i < 50; ++i) EXPECT_EQ(told.next("docs", std::to_string(i)), std::to_string(i));
  EXPECT_EQ(told.next("docs", "a"), std::nullopt);
  EXPECT_EQ(told.next("docs", "b"), "\"docs\": more is not shown; --log-file FILE keeps all of it");
  EXPECT_EQ(told.next("docs", "c"), std::nullopt);
  EXPECT_EQ(told.next("other", "a"), "a");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(told.next("", std::to_string(i)), std::to_string(i));
  EXPECT_EQ(told.next("", "1"), std::nullopt);
}

}  // namespace
}  // namespace patchbay

template <>
struct fmt::formatter<patchbay::Counted> : fmt::formatter<int> {
  auto format(const patchbay::Counted& value, fmt::format_context& context) const {
    return fmt::formatter<int>::format(++*value.formatted, context);
  }
};

namespace patchbay {
namespace {

TEST(LogTest, AnEventHasItsServerAndItsValues) {
  std::vector<LogEvent> events;
  const Log log(LogLevel::info, [&](const LogEvent& event) { events.push_back(event); });
  log(LogLevel::info, "listening", "port", 8080);
  log.for_server("docs")(LogLevel::warning, "not_sent", "status", 404, "reason", std::string("it said \"no\""));
  EXPECT_THAT(
      events,
      ElementsAre(LogEvent{LogLevel::info, "", "listening", {{"port", "8080"}}},
                  LogEvent{LogLevel::warning, "docs", "not_sent", {{"status", "404"}, {"reason", "it said \"no\""}}}));
}

TEST(LogTest, BelowTheThresholdNothingIsMade) {
  int formatted = 0;
  int events = 0;
  const Log log(LogLevel::warning, [&](const LogEvent&) { ++events; });
  log(LogLevel::info, "seen", "value", Counted{&formatted});
  Log()(LogLevel::error, "seen", "value", Counted{&formatted});
  EXPECT_EQ(formatted, 0);
  log(LogLevel::warning, "seen", "value", Counted{&formatted});
  EXPECT_EQ(formatted, 1);
  EXPECT_EQ(events, 1);
}

TEST(LogTest, NoValueOfALineCanBeTakenForAnotherField) {
  struct Case {
    std::string value;
    std::string written;
  };
  for (const auto& c : std::initializer_list<Case>{
           {"word", "word"},
           {"http://127.0.0.1:80/mcp", "http://127.0.0.1:80/mcp"},
           {"", R"("")"},
           {"two words", R"("two words")"},
           {"a=b", R"("a=b")"},
           {R"(say "x" event=y)", R"("say \"x\" event=y")"},
           {"back\\slash", R"("back\\slash")"},
           {"new\nline", R"("new\nline")"},
           {"grün", R"("grün")"},
       }) {
    EXPECT_EQ(log_line({LogLevel::info, "", "e", {{"k", c.value}, {"l", "1"}}}), "event=e k=" + c.written + " l=1");
    EXPECT_EQ(log_line({LogLevel::info, c.value, "e", {}}),
              (c.value.empty() ? "" : "server=" + c.written + " ") + "event=e");
  }
}

TEST(LogTest, AnEventIsASentenceForPeople) {
  EXPECT_EQ(log_words({LogLevel::warning, "docs", "not_accepted", {{"status", "404"}, {"reason", "gone"}}}),
            "\"docs\": the server refused a message (HTTP status 404): gone");
  EXPECT_EQ(log_words({LogLevel::warning, "", "sign_in_not_renewed", {{"server", "docs"}, {"reason", "gone"}}}),
            "the sign-in at \"docs\" was not renewed: gone");
  EXPECT_EQ(log_words({LogLevel::warning, "docs", "close_failed", {{"reason", "gone"}}}), std::nullopt);
  EXPECT_EQ(log_words({LogLevel::error, "docs", "close_failed", {{"reason", "gone"}}}), "\"docs\": close failed: gone");
  EXPECT_EQ(log_words({LogLevel::warning, "docs", "never_heard_of", {{"text", "a"}, {"other", "b"}}}),
            "\"docs\": never heard of: a");
}

TEST(LogTest, ATextOfAServerStaysOneValueOfTheSentence) {
  EXPECT_EQ(log_words({LogLevel::warning, "docs", "bad_line", {{"why", R"(x" text="{why} reason=y)"}, {"text", "t"}}}),
            R"("docs": a line that is not a message was skipped: x" text="{why} reason=y)");
}

}  // namespace
}  // namespace patchbay
