// Times as people read them. N2.
#include "cli/texts/time_words.h"

#include <stdlib.h>

#include <gtest/gtest.h>
#include <time.h>

namespace patchbay::cli {
namespace {

class LocalTime : public testing::Test {
 protected:
  LocalTime() { zone("TST-5:30"); }
  ~LocalTime() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  static void zone(const char* name) {
    ::setenv("TZ", name, 1);
    ::tzset();
  }
};

TEST_F(LocalTime, HasItsZone) {
  using namespace std::chrono_literals;
  EXPECT_EQ(local_time(std::chrono::sys_seconds(1'000'000'000s)), "2001-09-09 07:16:40 +0530");
  EXPECT_EQ(local_time("2001-09-09T01:46:40Z"), "2001-09-09 07:16:40 +0530");
  zone("UTC");
  EXPECT_EQ(local_time("2001-09-09T01:46:40Z"), "2001-09-09 01:46:40 +0000");
}

TEST_F(LocalTime, WhatIsNotATimeIsShownAsItIs) {
  for (const auto* text : {"", "soon", "2001-09-09T01:46:40Z and more", "2001-09-09"}) {
    EXPECT_EQ(local_time(std::string_view(text)), text);
  }
}

}  // namespace
}  // namespace patchbay::cli
