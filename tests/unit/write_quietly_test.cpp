#include "process/write_quietly.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include <gtest/gtest.h>

namespace patchbay {
namespace {

using Write = ssize_t (*)(int, std::string_view);

class WriteQuietly : public testing::TestWithParam<Write> {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe2(ends_, O_CLOEXEC | O_NONBLOCK), 0); }
  void TearDown() override {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }
  ssize_t write(std::string_view bytes) { return GetParam()(ends_[1], bytes); }

  int ends_[2] = {-1, -1};
};

TEST_P(WriteQuietly, WritesWhatThePipeTakes) {
  EXPECT_EQ(write("hello"), 5);
  char read[8] = {};
  EXPECT_EQ(::read(ends_[0], read, sizeof read), 5);
  EXPECT_STREQ(read, "hello");
}

TEST_P(WriteQuietly, FullPipeIsEagain) {
  const std::string much(1 << 20, 'x');
  EXPECT_GT(write(much), 0);
  EXPECT_EQ(write(much), -1);
  EXPECT_EQ(errno, EAGAIN);
}

// With the default disposition the signal would end this program.
TEST_P(WriteQuietly, NobodyReadingIsEpipeAndNoSignal) {
  struct sigaction standard{}, before{};
  standard.sa_handler = SIG_DFL;
  ASSERT_EQ(::sigaction(SIGPIPE, &standard, &before), 0);
  ::close(ends_[0]);
  ends_[0] = -1;
  const auto written = write("hello");
  const int why = errno;
  sigset_t pending;
  ::sigpending(&pending);
  ::sigaction(SIGPIPE, &before, nullptr);
  EXPECT_EQ(written, -1);
  EXPECT_EQ(why, EPIPE);
  EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

TEST_P(WriteQuietly, WhatIsNotADescriptorIsReported) {
  EXPECT_EQ(GetParam()(-1, "hello"), -1);
  EXPECT_EQ(errno, EBADF);
}

INSTANTIATE_TEST_SUITE_P(Ways, WriteQuietly, testing::Values(&write_quietly, &write_with_signal_blocked),
                         [](const auto& info) { return info.index == 0 ? "Chosen" : "WithSignalBlocked"; });

}  // namespace
}  // namespace patchbay
