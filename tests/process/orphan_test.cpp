// N2, L9: nothing survives the host. A server with fourteen descendants that ignore signals,
// leave the session or fork twice; a host that ends normally, crashes, or is killed. Who is
// left is found in two ways that do not know of each other: a mark in the environment and a
// lock that each of them holds. The same without the warden must find survivors.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/children.h"

extern char** environ;

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::lock_holders;
using test::marked;
using test::program;
using testing::IsEmpty;
using testing::Not;

#if __has_feature(address_sanitizer)
constexpr auto patience = 10s;  // of programs that are several times as slow to end
#else
constexpr auto patience = 2s;
#endif
constexpr int at_once = 5;

int repetitions() {
  const char* soak = std::getenv("PATCHBAY_SOAK");
  return soak != nullptr && std::string_view(soak) == "1" ? 200 : 5;
}

std::string fresh_mark() {
  std::random_device random;
  return "PATCHBAY_TEST_MARK=" + std::to_string(random()) + "-" + std::to_string(random());
}

struct Attempt {
  Attempt(const std::string& how, const std::string& way, const std::string& mode,
          const std::string& host_program = program("orphan-host")) {
    std::vector<std::string> command{host_program, how, way, program("orphan-server"), mode, directory.path()};
    std::vector<char*> argv;
    for (auto& text : command) argv.push_back(text.data());
    argv.push_back(nullptr);
    std::vector<char*> variables;
    for (char** entry = environ; *entry != nullptr; ++entry) variables.push_back(*entry);
    variables.push_back(mark.data());
    variables.push_back(nullptr);
    EXPECT_EQ(::posix_spawn(&host, argv[0], nullptr, nullptr, argv.data(), variables.data()), 0);
  }

  void await_end_of_host(const std::string& way) {
    int status = 0;
    ASSERT_EQ(::waitpid(host, &status, 0), host);
    if (way == "exit") {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "host ended with wait status " << status;
    } else {
      EXPECT_TRUE(WIFSIGNALED(status)) << "host ended with wait status " << status;
      EXPECT_EQ(WTERMSIG(status), way == "abort" ? SIGABRT : SIGKILL);
    }
    ended = std::chrono::steady_clock::now();
    // Fifteen files: the whole tree was up before the host ended.
    const auto files = std::distance(std::filesystem::directory_iterator(directory.path()), {});
    EXPECT_EQ(files, 15);
  }

  // Those found by the mark and by the locks, when there are none or patience has run out.
  std::pair<std::vector<pid_t>, std::vector<pid_t>> survivors() const {
    for (;;) {
      auto left = std::pair(marked(mark), lock_holders(directory.path()));
      if (left.first.empty() && left.second.empty()) return left;
      if (std::chrono::steady_clock::now() - ended > patience) return left;
      std::this_thread::sleep_for(10ms);
    }
  }

  ~Attempt() {
    for (auto left = marked(mark); !left.empty(); left = marked(mark)) {
      for (pid_t pid : left) ::kill(pid, SIGKILL);
    }
  }

  test::TemporaryDirectory directory;
  std::string mark = fresh_mark();
  pid_t host = 0;
  std::chrono::steady_clock::time_point ended;
};

class Orphans : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Orphans, NoneIsLeftTwoSecondsAfterTheHostEnded) {
  const std::string way = std::get<0>(GetParam());
  const std::string mode = std::get<1>(GetParam());
  for (int done = 0; done < repetitions() && !HasFailure(); done += at_once) {
    std::vector<std::unique_ptr<Attempt>> runs;
    for (int i = 0; i < at_once; ++i) runs.push_back(std::make_unique<Attempt>("warden", way, mode));
    for (auto& run : runs) {
      run->await_end_of_host(way);
      auto [by_mark, by_lock] = run->survivors();
      EXPECT_THAT(by_mark, IsEmpty());
      EXPECT_THAT(by_lock, IsEmpty());
    }
  }
}

TEST_P(Orphans, SomeAreLeftWithoutTheWarden) {
  const std::string way = std::get<0>(GetParam());
  Attempt run("direct", way, std::get<1>(GetParam()));
  run.await_end_of_host(way);
  auto [by_mark, by_lock] = run.survivors();
  EXPECT_THAT(by_mark, Not(IsEmpty()));
  EXPECT_THAT(by_lock, Not(IsEmpty()));
}

// A target that has another pid at every look.
TEST(Runaway, IsCaught) {
  for (int i = 0; i < repetitions() && !testing::Test::HasFailure(); ++i) {
    Attempt run("warden", "kill", "runaway");
    run.await_end_of_host("kill");
    auto [by_mark, by_lock] = run.survivors();
    EXPECT_THAT(by_mark, IsEmpty());
    EXPECT_THAT(by_lock, IsEmpty());
  }
}

TEST(HostKilledWhileStarting, LeavesNothingWhereverItWas) {
  const int count = repetitions() * 8;
  int killed = 0;
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    // From before the warden runs to after the server has multiplied.
    Attempt run("warden", "kill-after:" + std::to_string(1 + i * 12'000 / count), "ignores");
    int status = 0;
    ASSERT_EQ(::waitpid(run.host, &status, 0), run.host);
    // On a fast machine the last of them are done before their time is up.
    const bool by_signal = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    EXPECT_TRUE(by_signal || status == 0) << "host ended with wait status " << status;
    killed += by_signal ? 1 : 0;
    run.ended = std::chrono::steady_clock::now();
    auto [by_mark, by_lock] = run.survivors();
    EXPECT_THAT(by_mark, IsEmpty());
    EXPECT_THAT(by_lock, IsEmpty());
  }
  EXPECT_GE(killed, count / 4);
}

// A program that was copied somewhere else has no libexec beside it: the warden then comes
// out of the program itself.
TEST(EmbeddedWarden, LeavesNothingEither) {
  test::TemporaryDirectory elsewhere;
  const auto copy = elsewhere.path() + "/bin/orphan-host";
  std::filesystem::create_directory(elsewhere.path() + "/bin");
  std::filesystem::copy_file(program("orphan-host"), copy);
  Attempt run("warden", "kill", "ignores", copy);
  run.await_end_of_host("kill");
  auto [by_mark, by_lock] = run.survivors();
  EXPECT_THAT(by_mark, IsEmpty());
  EXPECT_THAT(by_lock, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, Orphans,
                         testing::Combine(testing::Values("exit", "abort", "kill"),
                                          testing::Values("ignores", "setsid", "double-fork")),
                         [](const auto& info) {
                           std::string name = std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace patchbay
