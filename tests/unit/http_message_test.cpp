#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/message.h"

namespace patchbay {
namespace {

using testing::ElementsAre;

TEST(HttpHeaders, Names_AreComparedWithoutCaseAndOrderIsKept) {
  HttpHeaders headers{{"Accept", "a"}, {"X-One", "1"}, {"accept", "b"}};
  EXPECT_EQ(*headers.find("ACCEPT"), "a");
  EXPECT_THAT(headers.all("Accept"), ElementsAre("a", "b"));
  EXPECT_EQ(headers.get("missing"), "");
  EXPECT_EQ(headers.find("missing"), nullptr);
  headers.set("Accept", "c");
  EXPECT_EQ(headers, (HttpHeaders{{"Accept", "c"}, {"X-One", "1"}}));
  headers.set("New", "");
  EXPECT_TRUE(headers.contains("new"));
  EXPECT_EQ(headers.remove("x-one"), 1u);
  EXPECT_EQ(headers, (HttpHeaders{{"Accept", "c"}, {"New", ""}}));
}

TEST(HttpHeaders, ACopy_IsOneUntilEitherChanges) {
  const HttpHeaders before{{"Accept", "a"}, {"X-One", "1"}};
  EXPECT_TRUE(HttpHeaders(before).is_copy_of(before));
  EXPECT_FALSE(HttpHeaders().is_copy_of(HttpHeaders()));
  EXPECT_FALSE((HttpHeaders{{"Accept", "a"}, {"X-One", "1"}}).is_copy_of(before));
  using Change = void (*)(HttpHeaders&);
  for (const Change change : std::initializer_list<Change>{
           [](HttpHeaders& h) { h.add("New", "n"); },
           [](HttpHeaders& h) { h.set("Accept", "b"); },
           [](HttpHeaders& h) { h.remove("x-one"); },
           [](HttpHeaders& h) { h.clear(); },
           [](HttpHeaders& h) { h.overwrite(0, "Host", "h"); },
           [](HttpHeaders& h) { h.keep_first(1); },
           [](HttpHeaders& h) { h.begin()->value = "c"; },
       }) {
    auto original = before;
    auto copy = original;
    change(copy);
    EXPECT_FALSE(copy.is_copy_of(original));
    EXPECT_NE(copy, original);
    EXPECT_EQ(original, (HttpHeaders{{"Accept", "a"}, {"X-One", "1"}}));
  }
}

TEST(HttpHeaders, Overwritten_HaveTheNewFieldsAndNoOthers) {
  HttpHeaders headers{{"A", "1"}, {"B", "2"}, {"C", "3"}};
  headers.overwrite(0, "X", "9");
  headers.keep_first(1);
  EXPECT_EQ(headers, (HttpHeaders{{"X", "9"}}));
  headers.overwrite(0, "Y", "8");
  headers.overwrite(1, "Z", "7");
  headers.keep_first(2);
  EXPECT_EQ(headers, (HttpHeaders{{"Y", "8"}, {"Z", "7"}}));
}

TEST(MediaType, IsLowerCaseWithoutParameters) {
  EXPECT_EQ(media_type("Text/Event-Stream; charset=utf-8"), "text/event-stream");
  EXPECT_EQ(media_type("  application/json  "), "application/json");
  EXPECT_EQ(media_type(" ;x"), "");
  EXPECT_EQ(media_type(""), "");
}

}  // namespace
}  // namespace patchbay
