// What the system says of a process by its number. L9.
#include "process/process_stat.h"

#include <unistd.h>

#include <optional>

#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(ProcessStat, IsReadWhateverAProgramIsCalled) {
  struct Case {
    const char* text;
    std::optional<ProcessStat> stat;
  };
  const Case cases[] = {
      {"12 (cat) S 1 12 11 0 -1 4194304 93 0 0\n", ProcessStat{'S', 11, 4194304}},
      {"12 (a) b) S 9 (c) R 1 12 11 34816 12 4194308 93\n", ProcessStat{'R', 11, 4194308}},
      {"12 (\n) Z 1 12 11 0 -1 4\n", ProcessStat{'Z', 11, 4}},
      {"12 (cat) S 1 12 11 0 -1", std::nullopt},
      {"12 (cat) S 1 12 eleven 0 -1 4", std::nullopt},
      {"12 (cat)", std::nullopt},
      {"12 cat S 1 12 11 0 -1 4", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& one : cases) EXPECT_EQ(read_process_stat(one.text), one.stat) << one.text;
  EXPECT_TRUE((ProcessStat{'Z', 1, 0}.ended()));
  EXPECT_FALSE((ProcessStat{'S', 1, 0}.ended()));
  EXPECT_TRUE((ProcessStat{'S', 1, 4194308}.exiting()));
  EXPECT_FALSE((ProcessStat{'S', 1, 4194304}.exiting()));
}

TEST(ProcessStat, OfAProcessThatIsThereAndOfOneThatIsNot) {
  const auto own = process_stat(::getpid());
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->session, ::getsid(0));
  EXPECT_FALSE(own->exiting());
  EXPECT_EQ(process_stat(0), std::nullopt);
}

}  // namespace
}  // namespace patchbay
