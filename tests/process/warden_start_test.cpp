// N2, T1: what a warden hands to its command, and starting many of them at once. The warden has no libc on
// x86-64: what libc would do at its start and around its calls is looked at here. The same tests run with the
// warden that other machines get.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "process/children.h"
#include "process/process.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::program;
using test::run_task;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Patience unhurried{60s, 60s, 60s};

ProcessSpec shell(std::string script, std::vector<std::string> args = {}) {
  args.insert(args.begin(), {"-c", std::move(script), "sh"});
  return {.command = "/bin/sh", .args = std::move(args)};
}

Task<std::string> read_all(Process& process) {
  std::string text;
  std::array<char, 4096> room;
  for (;;) {
    const auto length = co_await process.read_some(room);
    if (!length || *length == 0) co_return text;
    text.append(room.data(), *length);
  }
}

Task<std::string> output_of(ProcessSpec spec) {
  auto process = co_await Process::start(std::move(spec), Runtime{});
  auto text = co_await read_all(*process);
  co_await process->shutdown(unhurried);
  co_return text;
}

// "": the warden of this machine. Else the one of others.
class WardenStart : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (*GetParam() == '\0') return;
    const auto file = program(GetParam());
    ASSERT_EQ(::access(file.c_str(), X_OK), 0) << file;
    named_.emplace("PATCHBAY_WARDEN", file);
  }
  std::optional<test::Variable> named_;
};

TEST_P(WardenStart, HandsOnArgumentsAndEnvironmentByteForByte) {
  run_task([]() -> Task<void> {
    const std::string odd = "a b\n\"c\" \xff$(d) \\";
    auto spec = shell(R"(printf '%s|' "$@" "$#" "$ODD" "${EMPTY-unset}" "${HOME-unset}")", {odd, "", "last"});
    spec.env = {{"ODD", odd}, {"EMPTY", ""}, {"LONG", std::string(100'000, 'x')}};
    spec.unset = {"HOME"};
    EXPECT_EQ(co_await output_of(std::move(spec)), odd + "||last|3|" + odd + "||unset|");
  });
}

TEST_P(WardenStart, LeavesTheCommandNoSignalThatIsBlockedOrIgnored) {
  // What the host has set for itself is not the command's.
  struct sigaction ignored{}, before{};
  ignored.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGUSR2, &ignored, &before), 0);
  run_task([]() -> Task<void> {
    const auto said =
        co_await output_of({.command = "/bin/grep", .args = {"-E", "^Sig(Blk|Ign)", "/proc/self/status"}});
    EXPECT_EQ(said, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  });
  ::sigaction(SIGUSR2, &before, nullptr);
}

TEST_P(WardenStart, LeavesTheCommandItsThreeDescriptorsAlone) {
  const int kept = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC, as an embedder may have some
  run_task([]() -> Task<void> {
    // The fourth is the directory itself.
    EXPECT_EQ(co_await output_of({.command = "/bin/ls", .args = {"/proc/self/fd"}}), "0\n1\n2\n3\n");
  });
  ::close(kept);
}

// Each start sees the host as it is then, not as it was when another server was started.
TEST_P(WardenStart, TakesLimitsMaskAndDirectoryAsTheyAreNow) {
  test::TemporaryDirectory directory;
  const auto where = std::filesystem::current_path();
  struct rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_CORE, &limit), 0);
  run_task([&]() -> Task<void> {
    auto running = co_await Process::start(shell("exec cat"), Runtime{});
    std::filesystem::current_path(directory.path());
    const auto mask = ::umask(0027);
    const struct rlimit lower{0, limit.rlim_max};
    ::setrlimit(RLIMIT_CORE, &lower);
    test::Variable changed("PATCHBAY_TEST_NOW", "now");
    EXPECT_EQ(co_await output_of(shell("pwd -P; umask; ulimit -S -c; echo $PATCHBAY_TEST_NOW")),
              std::filesystem::canonical(directory.path()).string() + "\n0027\n0\nnow\n");
    ::setrlimit(RLIMIT_CORE, &limit);
    ::umask(mask);
    std::filesystem::current_path(where);
    co_await running->shutdown({1ms, 60s, 60s});
  });
}

TEST_P(WardenStart, SaysWhyTheCommandCannotBeExecuted) {
  test::TemporaryDirectory directory;
  const auto file = directory.path() + "/no-interpreter";
  std::ofstream(file) << "#!/no/such/interpreter\n";
  ::chmod(file.c_str(), 0755);
  run_task([&]() -> Task<void> {
    auto started = co_await as_result(Process::start({.command = file}, Runtime{}));
    EXPECT_FALSE(started);
    EXPECT_THAT(started.error().message(), HasSubstr("interpreter"));
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST_P(WardenStart, ReportsHowTheCommandEnded) {
  run_task([]() -> Task<void> {
    auto seven = co_await Process::start(shell("exit 7"), Runtime{});
    auto killed = co_await Process::start(shell("kill -KILL $$"), Runtime{});
    EXPECT_TRUE(co_await seven->ended_within(1min));
    EXPECT_TRUE(co_await killed->ended_within(1min));
    EXPECT_EQ(seven->exit_status(), (ExitStatus{7, 0}));
    EXPECT_EQ(killed->exit_status(), (ExitStatus{0, SIGKILL}));
    co_await seven->shutdown(unhurried);
    co_await killed->shutdown(unhurried);
  });
}

// The whole tree gets INT and TERM, found by looking at every process there is.
TEST_P(WardenStart, ReachesDescendantsInOtherSessionsWithASignal) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(
        // Each says that it is up when its own child is a program: between fork and exec a shell loses a signal.
        shell("trap '' INT; trap 'wait; exit' TERM; for i in 1 2 3; do "
              "setsid sh -c 'trap \"echo heard; exit\" TERM; tail -f /dev/null & "
              "until read -r name < /proc/$!/comm && [ \"$name\" = tail ]; do :; done; echo up; wait' & done; wait"),
        Runtime{});
    std::string text;
    while (std::ranges::count(text, '\n') < 3) {
      std::array<char, 64> room;
      const auto length = co_await process->read_some(room);
      if (!length || *length == 0) break;
      text.append(room.data(), *length);
    }
    EXPECT_EQ(text, "up\nup\nup\n");
    const auto step = co_await process->shutdown({1ms, 1ms, 60s});
    EXPECT_EQ(step, ShutdownStep::terminated);
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST_P(WardenStart, OfManyAtOnceOnSeveralThreadsLeavesNothing) {
  constexpr int threads = 4, each = 25, rounds = 2;
  const auto descriptors = test::open_descriptors();
  std::atomic<int> answered{0};
  {
    std::latch begin(threads);
    std::vector<std::jthread> starters;
    for (int i = 0; i < threads; ++i) {
      starters.emplace_back([&] {
        begin.arrive_and_wait();
        run_task([&]() -> Task<void> {
          const auto one = [](std::atomic<int>& count) -> Task<void> {
            for (int round = 0; round < rounds; ++round) {
              if (co_await output_of(shell("echo here")) == "here\n") ++count;
            }
          };
          Scope scope(co_await asio::this_coro::executor);
          for (int j = 0; j < each; ++j) scope.spawn(one(answered));
          co_await scope.join();
        });
      });
    }
  }
  EXPECT_EQ(answered, threads * each * rounds);
  EXPECT_THAT(test::own_children(), IsEmpty());
  EXPECT_EQ(test::open_descriptors(), descriptors);
}

TEST_P(WardenStart, UnderNoNewPrivilegesIsAsElsewhere) {
  std::thread([] {
    ASSERT_EQ(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    run_task([]() -> Task<void> { EXPECT_EQ(co_await output_of(shell("echo here")), "here\n"); });
  }).join();
}

// A host that runs without stdin, stdout and stderr.
TEST_P(WardenStart, WithoutStandardDescriptorsIsAsElsewhere) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd : {0, 1, 2}) ::close(fd);
    bool right = false;
    run_task([&]() -> Task<void> { right = co_await output_of(shell("echo here")) == "here\n"; });
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Where the warden has libc anyway, there is no other.
#if defined(__x86_64__) && defined(__LP64__)
constexpr std::array wardens{"", "warden-with-libc"};
#else
constexpr std::array wardens{""};
#endif
INSTANTIATE_TEST_SUITE_P(All, WardenStart, testing::ValuesIn(wardens),
                         [](const auto& info) { return *info.param == '\0' ? "ThisMachine" : "OtherMachines"; });

}  // namespace
}  // namespace patchbay
