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

TEST(MediaType, IsLowerCaseWithoutParameters) {
  EXPECT_EQ(media_type("Text/Event-Stream; charset=utf-8"), "text/event-stream");
  EXPECT_EQ(media_type("  application/json  "), "application/json");
  EXPECT_EQ(media_type(" ;x"), "");
  EXPECT_EQ(media_type(""), "");
}

}  // namespace
}  // namespace patchbay
