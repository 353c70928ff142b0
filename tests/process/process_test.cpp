// T1, L9: children as the library starts, watches and ends them.
#include "process/process.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <thread>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/fd.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "process/children.h"
#include "process/warden/image.h"
#include "support/loop.h"
#include "support/places.h"
#include "support/temp_tree.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::program;
using test::run_task;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Steps long enough that only what the child does decides which one ends it.
constexpr Patience unhurried{60s, 60s, 60s};
constexpr Patience hurried{1ms, 1ms, 1ms};

ProcessSpec odd(std::vector<std::string> args) { return {.command = program("odd-server"), .args = std::move(args)}; }

Task<std::string> read_line(Process& process) {
  std::string text;
  while (!text.ends_with('\n')) {
    char byte = 0;
    const auto length = co_await process.read_some({&byte, 1});
    if (!length || *length == 0) break;
    text += byte;
  }
  co_return text;
}

Task<Error> failure_of(ProcessSpec spec) {
  auto started = co_await as_result(Process::start(std::move(spec), Runtime{}));
  if (started) {
    ADD_FAILURE() << "the command was started";
    co_return Error(Errc::internal, "");
  }
  co_return started.error();
}

// On this thread, and in what it starts, the system refuses a descriptor of a process, as some containers do.
bool refuse_process_descriptors() {
  constexpr auto number = static_cast<std::uint32_t>(SYS_pidfd_open);
  std::array<sock_filter, 4> rules{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program_of_them{.len = rules.size(), .filter = rules.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program_of_them) == 0;
}

TEST(Process, WhereProcessDescriptorsAreRefused_ServersStartAndEndAllTheSame) {
  std::thread([] {
    ASSERT_TRUE(refuse_process_descriptors()) << std::strerror(errno);
    ASSERT_LT(::syscall(SYS_pidfd_open, ::getpid(), 0), 0);
    run_task([]() -> Task<void> {
      auto process = co_await Process::start(odd({"echo"}), Runtime{});
      EXPECT_EQ(process->write_some("hello\n"), 6u);
      EXPECT_EQ(co_await read_line(*process), "hello\n");
      EXPECT_EQ(co_await process->shutdown(unhurried), ShutdownStep::input_closed);
      EXPECT_EQ(process->exit_status(), (ExitStatus{0, 0}));
      EXPECT_EQ(::waitpid(process->warden_pid(), nullptr, WNOHANG), -1) << "its warden was waited for";
      // One that is told to end by a signal, and one that the destructor has to see to.
      auto asked = co_await Process::start({.command = "/bin/sh", .args = {"-c", "exec sleep 1000"}}, Runtime{});
      EXPECT_EQ(co_await asked->shutdown({1ms, 60s, 60s}), ShutdownStep::interrupted);
      auto dropped = co_await Process::start({.command = "/bin/sh", .args = {"-c", "exec sleep 1000"}}, Runtime{});
      const auto warden = dropped->warden_pid();
      dropped.reset();
      EXPECT_EQ(::waitpid(warden, nullptr, WNOHANG), -1) << "its warden was waited for";
    });
  }).join();
}

TEST(Process, BytesGoBothWays) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"echo"}), Runtime{});
    EXPECT_EQ(process->write_some("hello\n"), 6u);
    EXPECT_EQ(co_await read_line(*process), "hello\n");
    EXPECT_EQ(co_await process->shutdown(unhurried), ShutdownStep::input_closed);
    EXPECT_EQ(process->exit_status(), (ExitStatus{0, 0}));
  });
}

struct Ladder {
  const char* mode;
  Patience patience;
  ShutdownStep step;
};
class ShutdownLadder : public testing::TestWithParam<Ladder> {};

// L9: each child is ended by the first step that can end it, and no later one is taken.
TEST_P(ShutdownLadder, EndsAtTheFirstStepThatHelps) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({GetParam().mode}), Runtime{});
    const auto pid = process->pid();
    if (std::string_view(GetParam().mode) != "echo") EXPECT_EQ(co_await read_line(*process), "ready\n");
    EXPECT_EQ(co_await process->shutdown(GetParam().patience), GetParam().step);
    EXPECT_FALSE(test::alive(pid));
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}
INSTANTIATE_TEST_SUITE_P(All, ShutdownLadder,
                         testing::Values(Ladder{"echo", unhurried, ShutdownStep::input_closed},
                                         Ladder{"until-int", {1ms, 60s, 60s}, ShutdownStep::interrupted},
                                         Ladder{"until-term", {1ms, 1ms, 60s}, ShutdownStep::terminated},
                                         Ladder{"stubborn", hurried, ShutdownStep::killed}));

TEST(Process, WhatTheCommandLeavesBehindIsTerminatedWithoutWaitingForIt) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"leave-behind"}), Runtime{});
    EXPECT_EQ(co_await read_line(*process), "ready\n");
    char byte = 0;
    // The descendant keeps stdout open; the end of the command is the end all the same.
    EXPECT_EQ(co_await process->read_some({&byte, 1}), 0u);
    EXPECT_EQ(process->exit_status(), (ExitStatus{3, 0}));
    EXPECT_EQ(co_await process->shutdown(unhurried), ShutdownStep::terminated);
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Process, ShutdownDrainsAChildThatHangsInAWrite) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"lines", "", "4000000", "", "wait"}), Runtime{});
    EXPECT_EQ(co_await process->shutdown(unhurried), ShutdownStep::input_closed);
    EXPECT_EQ(process->exit_status(), (ExitStatus{0, 0}));
  });
}

TEST(Process, ShutdownGoesOnWhenItsWaiterIsCancelled) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"stubborn"}), Runtime{});
    EXPECT_EQ(co_await read_line(*process), "ready\n");
    auto first = co_await as_result(with_timeout(process->shutdown({50ms, 50ms, 50ms}), 1ms, "impatient"));
    EXPECT_FALSE(first);
    EXPECT_EQ(co_await process->shutdown(unhurried), ShutdownStep::killed);
  });
}

TEST(Process, DestructorKillsTheTree) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"stubborn"}), Runtime{});
    EXPECT_EQ(co_await read_line(*process), "ready\n");
    const auto pid = process->pid();
    process.reset();
    EXPECT_FALSE(test::alive(pid));
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Process, CancelledStartLeavesNothing) {
  run_task([]() -> Task<void> {
    auto warm = co_await Process::start(odd({"echo"}), Runtime{});
    co_await warm->shutdown(unhurried);
    const auto before = test::open_descriptors();
    for (int i = 0; i < 10; ++i) {
      Scope scope(co_await asio::this_coro::executor);
      scope.spawn([]() -> Task<void> {
        auto process = co_await Process::start(odd({"stubborn"}), Runtime{});
        co_await process->shutdown(unhurried);
      }());
      // One turn of the loop: the warden runs; whether its first word has come is up to the
      // machine, and either way nothing may be left.
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
      scope.cancel();
      co_await scope.join();
    }
    EXPECT_EQ(test::open_descriptors(), before);
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Process, ExitStatusAndSignalAreReported) {
  run_task([]() -> Task<void> {
    auto exits = co_await Process::start(odd({"exit", "7"}), Runtime{});
    EXPECT_TRUE(co_await exits->ended_within(1min));
    EXPECT_EQ(describe(exits->exit_status().value()), "exited with status 7");
    co_await exits->shutdown(unhurried);
    auto dies = co_await Process::start(odd({"die", "9"}), Runtime{});
    EXPECT_TRUE(co_await dies->ended_within(1min));
    EXPECT_EQ(describe(dies->exit_status().value()), "was killed by signal 9 (SIGKILL)");
    co_await dies->shutdown(unhurried);
  });
}

TEST(Process, StderrIsKeptUpToItsLimit) {
  run_task([]() -> Task<void> {
    Runtime runtime;
    runtime.limits.stderr_tail = 12;
    std::vector<std::string> logged;
    runtime.log = Log(LogLevel::debug, [&](const LogEvent& event) {
      if (event.event == "stderr") logged.emplace_back(event.field("text"));
    });
    auto process = co_await Process::start(odd({"exit", "1", "first", "second", "third"}), runtime);
    EXPECT_TRUE(co_await process->ended_within(1min));
    EXPECT_EQ(process->stderr_tail(), "third\n");
    EXPECT_EQ(process->stderr_tail(1), "third");
    co_await process->shutdown(unhurried);
    EXPECT_THAT(logged, testing::ElementsAre("first", "second", "third"));
  });
}

// The child must not inherit what the host did to itself: masks, ignored signals, open files.
TEST(Process, ChildStartsCleanInItsDirectoryWithItsEnvironment) {
  sigset_t some;
  sigset_t before;
  ::sigemptyset(&some);
  ::sigaddset(&some, SIGUSR1);
  ::sigaddset(&some, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &some, &before);
  auto* old = ::signal(SIGUSR2, SIG_IGN);
  auto* old_child = ::signal(SIGCHLD, SIG_IGN);
  Fd leaked(::open("/dev/null", O_RDONLY));  // not close-on-exec
  test::Variable outer("PATCHBAY_TEST_OUTER", "outer");
  test::Variable both("PATCHBAY_TEST_BOTH", "parent");
  test::TemporaryDirectory directory;
  run_task([&]() -> Task<void> {
    auto spec = odd({"report", "PATCHBAY_TEST_OUTER", "PATCHBAY_TEST_BOTH", "PATCHBAY_TEST_NEW"});
    spec.env = {{"PATCHBAY_TEST_BOTH", "child $HOME"}, {"PATCHBAY_TEST_NEW", ""}};
    spec.cwd = directory.path();
    auto process = co_await Process::start(spec, Runtime{});
    EXPECT_EQ(
        co_await read_line(*process),
        directory.path() + "|" + spec.command +
            "|blocked:|ignored:|open:|PATCHBAY_TEST_OUTER=outer|PATCHBAY_TEST_BOTH=child $HOME|PATCHBAY_TEST_NEW=\n");
    EXPECT_EQ(co_await process->shutdown(unhurried), ShutdownStep::input_closed);
  });
  ::signal(SIGCHLD, old_child);
  ::signal(SIGUSR2, old);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Process, ArgumentsReachTheChildUntouchedByAnyShell) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"print", "a  b $HOME `id` * \"q\" 'r' ; exit\\n"}), Runtime{});
    EXPECT_EQ(co_await read_line(*process), "a  b $HOME `id` * \"q\" 'r' ; exit\n");
    co_await process->shutdown(unhurried);
  });
}

TEST(Process, CommandIsLookedUpAlongThePathOfTheEntry) {
  run_task([]() -> Task<void> {
    ProcessSpec spec{.command = "odd-server", .args = {"print", "found\\n"}, .env = {{"PATH", test::built()}}};
    auto process = co_await Process::start(spec, Runtime{});
    EXPECT_EQ(co_await read_line(*process), "found\n");
    co_await process->shutdown(unhurried);
    spec.env["PATH"] = "/nonexistent:/also/nothing";
    auto error = co_await failure_of(spec);
    EXPECT_EQ(error.code(), Errc::connect);
    EXPECT_THAT(error.message(), AllOf(HasSubstr("odd-server"), HasSubstr("none of the 2 directories of PATH")));
  });
}

TEST(Process, ErrorsSayWhatIsWrongWithTheCommand) {
  test::TemporaryDirectory directory;
  auto add = [&](const std::string& name, const std::string& text, int mode) {
    const auto path = directory.path() + "/" + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), static_cast<mode_t>(mode));
    return path;
  };
  const auto plain = add("plain", "echo hello\n", 0755);
  const auto lost = add("lost", "#!/no/such/interpreter\n", 0755);
  run_task([&]() -> Task<void> {
    auto no_line = co_await failure_of({.command = plain});
    EXPECT_THAT(no_line.message(), HasSubstr("no #! line"));
    auto no_interpreter = co_await failure_of({.command = lost});
    EXPECT_THAT(no_interpreter.message(), HasSubstr("interpreter"));
    auto no_directory = co_await failure_of({.command = "true", .cwd = directory.path() + "/missing"});
    EXPECT_EQ(no_directory.code(), Errc::connect);
    EXPECT_THAT(no_directory.message(), AllOf(HasSubstr("working directory"), HasSubstr("/missing")));
    auto file_as_directory = co_await failure_of({.command = "true", .cwd = plain});
    EXPECT_THAT(file_as_directory.message(), HasSubstr("not a directory"));
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Process, NulIsAnArgumentErrorWhereverItIs) {
  const std::string nul("a\0b", 3);
  run_task([&]() -> Task<void> {
    std::vector<ProcessSpec> specs{
        {.command = nul},
        {.command = "true", .args = {"x", nul}},
        {.command = "true", .env = {{"A", nul}}},
        {.command = "true", .env = {{nul, "a"}}},
        {.command = "true", .cwd = nul},
        {.command = "true", .env = {{"A=B", "a"}}},
        {.command = "true", .env = {{"", "a"}}},
    };
    for (auto& spec : specs) {
      auto error = co_await failure_of(std::move(spec));
      EXPECT_EQ(error.code(), Errc::invalid_argument) << error.message();
    }
  });
}

TEST(Process, NoDescriptorsLeftIsReportedAndLeaksNone) {
  run_task([]() -> Task<void> {
    auto warm = co_await Process::start(odd({"echo"}), Runtime{});
    co_await warm->shutdown(unhurried);
    const auto before = test::open_descriptors();
    struct rlimit old{};
    ::getrlimit(RLIMIT_NOFILE, &old);
    int refused = 0;
    // Every number of free descriptors from none up to enough.
    for (rlim_t spare = 0; spare < 12; ++spare) {
      struct rlimit tight = old;
      tight.rlim_cur = before + spare - 1;
      ::setrlimit(RLIMIT_NOFILE, &tight);
      auto started = co_await as_result(Process::start(odd({"echo"}), Runtime{}));
      ::setrlimit(RLIMIT_NOFILE, &old);
      if (started) {
        co_await (*started)->shutdown(unhurried);
      } else {
        ++refused;
        EXPECT_EQ(started.error().code(), Errc::connect);
        EXPECT_THAT(started.error().message(), HasSubstr("no file descriptors are left"));
      }
      started = fail(Errc::closed, "");
      EXPECT_EQ(test::open_descriptors(), before);
    }
    EXPECT_GT(refused, 0);
    EXPECT_LT(refused, 12);
  });
}

TEST(Process, WritingToAChildThatIsGoneDoesNotRaiseSigpipe) {
  static volatile std::sig_atomic_t raised = 0;
  raised = 0;
  auto* old = ::signal(SIGPIPE, [](int) { raised = 1; });
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"exit", "0"}), Runtime{});
    EXPECT_TRUE(co_await process->ended_within(1min));
    auto written = process->write_some("x");
    EXPECT_FALSE(written);
    EXPECT_EQ(written.error().code(), Errc::closed);
    co_await process->shutdown(unhurried);
  });
  EXPECT_EQ(raised, 0);
  ::signal(SIGPIPE, old);
  // The signal is not left waiting either, nor the mask changed.
  sigset_t set;
  ::sigpending(&set);
  EXPECT_EQ(::sigismember(&set, SIGPIPE), 0);
  ::pthread_sigmask(SIG_SETMASK, nullptr, &set);
  EXPECT_EQ(::sigismember(&set, SIGPIPE), 0);
}

TEST(Process, SigpipeOfTheEmbedderStaysPending) {
  sigset_t pipe_only;
  sigset_t before;
  ::sigemptyset(&pipe_only);
  ::sigaddset(&pipe_only, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  ::raise(SIGPIPE);
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"exit", "0"}), Runtime{});
    EXPECT_TRUE(co_await process->ended_within(1min));
    EXPECT_FALSE(process->write_some("x"));
    co_await process->shutdown(unhurried);
  });
  const struct timespec now{};
  EXPECT_EQ(::sigtimedwait(&pipe_only, nullptr, &now), SIGPIPE);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Process, FiftyTimesLeaveNoDescriptorAndNoZombie) {
  run_task([]() -> Task<void> {
    auto warm = co_await Process::start(odd({"echo"}), Runtime{});
    co_await warm->shutdown(unhurried);
    warm.reset();
    const auto before = test::open_descriptors();
    for (int i = 0; i < 50; ++i) {
      auto process = co_await Process::start(odd({i % 2 == 0 ? "echo" : "stubborn"}), Runtime{});
      if (i % 5 != 0) co_await process->shutdown(i % 2 == 0 ? unhurried : hurried);
    }
    EXPECT_EQ(test::open_descriptors(), before);
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Process, EmbedderThatIgnoresSigchldChangesNothing) {
  auto* old = ::signal(SIGCHLD, SIG_IGN);
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"exit", "5"}), Runtime{});
    EXPECT_TRUE(co_await process->ended_within(1min));
    EXPECT_EQ(process->exit_status(), (ExitStatus{5, 0}));
    EXPECT_EQ(co_await process->shutdown(unhurried), ShutdownStep::input_closed);
    auto other = co_await Process::start(odd({"stubborn"}), Runtime{});
    EXPECT_EQ(co_await read_line(*other), "ready\n");
    EXPECT_EQ(co_await other->shutdown(hurried), ShutdownStep::killed);
  });
  ::signal(SIGCHLD, old);
}

// A fork of the host has copies of everything; destroying its copy must not end the
// host's server.
TEST(Process, ForkOfTheHostDoesNotEndItsServers) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"echo"}), Runtime{});
    const pid_t child = ::fork();
    if (child == 0) {
      process.reset();
      ::_exit(0);
    }
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(process->write_some("still here\n"), 11u);
    EXPECT_EQ(co_await read_line(*process), "still here\n");
    EXPECT_EQ(co_await process->shutdown(unhurried), ShutdownStep::input_closed);
  });
}

TEST(Warden, IsNamedAndLeadsItsOwnSession) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"echo"}), Runtime{});
    const auto warden = process->warden_pid();
    EXPECT_EQ(test::slurp("/proc/" + std::to_string(warden) + "/comm"), "patchbay-warden\n");
    EXPECT_THAT(test::slurp("/proc/" + std::to_string(warden) + "/cmdline"),
                StartsWith(std::string("patchbay-warden\0", 16)));
    EXPECT_EQ(::getsid(warden), warden);
    EXPECT_NE(::getpgid(process->pid()), ::getpgid(warden));
    co_await process->shutdown(unhurried);
  });
}

TEST(Warden, SurvivesTheSignalsOfATerminal) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"echo"}), Runtime{});
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGUSR1})
      ::kill(process->warden_pid(), number);
    EXPECT_EQ(process->write_some("still here\n"), 11u);
    EXPECT_EQ(co_await read_line(*process), "still here\n");
    EXPECT_EQ(co_await process->shutdown(unhurried), ShutdownStep::input_closed);
  });
}

TEST(Warden, KilledByAStrangerTakesTheCommandAndItsGroupAlong) {
  run_task([]() -> Task<void> {
    auto process =
        co_await Process::start({.command = "/bin/sh", .args = {"-c", "sleep 1000 & echo $!; wait"}}, Runtime{});
    const pid_t grandchild = std::stoi(co_await read_line(*process));
    ::kill(process->warden_pid(), SIGKILL);
    EXPECT_TRUE(co_await process->ended_within(1min));
    EXPECT_TRUE(process->warden_lost());
    EXPECT_FALSE(process->exit_status());
    co_await process->shutdown(unhurried);
    for (pid_t pid : {process->pid(), grandchild}) {
      while (test::alive(pid)) co_await sleep_for(1ms);
    }
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Warden, RunsFromMemoryWhenThereIsNoFile) {
  auto image = embedded_warden();
  ASSERT_TRUE(image) << image.error().message();
  // A copy of this test where no libexec is beside it would find the same.
  test::Variable named("PATCHBAY_WARDEN", image->path);
  run_task([&]() -> Task<void> {
    auto process = co_await Process::start(odd({"echo"}), Runtime{});
    EXPECT_THAT(std::filesystem::read_symlink("/proc/" + std::to_string(process->warden_pid()) + "/exe").string(),
                StartsWith("/memfd:patchbay-warden"));
    EXPECT_EQ(test::slurp("/proc/" + std::to_string(process->warden_pid()) + "/comm"), "patchbay-warden\n");
    EXPECT_EQ(process->write_some("hello\n"), 6u);
    EXPECT_EQ(co_await read_line(*process), "hello\n");
    EXPECT_EQ(co_await process->shutdown(unhurried), ShutdownStep::input_closed);
  });
}

TEST(Warden, NamedButUnusableIsAnErrorNotASilentStart) {
  run_task([]() -> Task<void> {
    {
      test::Variable named("PATCHBAY_WARDEN", "/no/such/warden");
      auto error = co_await failure_of(odd({"echo"}));
      EXPECT_EQ(error.code(), Errc::connect);
      EXPECT_THAT(error.message(), AllOf(HasSubstr("/no/such/warden"), HasSubstr("unset PATCHBAY_WARDEN")));
    }
    {
      test::Variable named("PATCHBAY_WARDEN", "/bin/true");
      auto error = co_await failure_of(odd({"echo"}));
      EXPECT_EQ(error.code(), Errc::connect);
      EXPECT_THAT(error.message(), HasSubstr("/bin/true"));
    }
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

Task<void> lose_a_warden() {
  // Its end is reached when nobody holds the other side any more: the grandchild alone does.
  test::TempTree tree;
  const auto held = (tree.path() / "held").string();
  EXPECT_EQ(::mkfifo(held.c_str(), 0600), 0);
  asio::posix::stream_descriptor last(co_await asio::this_coro::executor,
                                      ::open(held.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto process = co_await Process::start(
      {.command = "/bin/bash", .args = {"-c", "set -m; exec 3> \"$0\"; sleep 1000 & exec 3>&-; echo $!; wait", held}},
      Runtime{});
  const pid_t grandchild = std::stoi(co_await read_line(*process));
  EXPECT_EQ(::getsid(grandchild), process->warden_pid());
  EXPECT_EQ(::getpgid(grandchild), grandchild) << "a group of its own";
  ::kill(process->warden_pid(), SIGKILL);
  EXPECT_TRUE(co_await process->ended_within(1min));
  co_await process->shutdown(unhurried);
  co_await last.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
  char nothing = 0;
  EXPECT_EQ(::read(last.native_handle(), &nothing, 1), 0);
  EXPECT_THAT(test::own_children(), IsEmpty());
}

// What a stranger's kill leaves in the warden's session is ended too, whichever group it has made itself.
TEST(Warden, KilledByAStrangerTakesItsSessionAlong) { run_task(lose_a_warden); }

TEST(Warden, WhereProcessDescriptorsAreRefused_KilledByAStrangerTakesItsSessionAlongAllTheSame) {
  std::thread([] {
    ASSERT_TRUE(refuse_process_descriptors()) << std::strerror(errno);
    run_task(lose_a_warden);
  }).join();
}

// Somebody else of the program may wait for our child before we do. Its number then means nothing any more.
TEST(Warden, WaitedForBySomebodyElseIsNeverSignalledByItsNumber) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"echo"}), Runtime{});
    const auto warden = process->warden_pid();
    ::kill(warden, SIGKILL);
    int status = 0;
    EXPECT_EQ(::waitpid(warden, &status, 0), warden);
    EXPECT_TRUE(co_await process->ended_within(1min));
    EXPECT_TRUE(process->warden_lost());
    co_await process->shutdown(unhurried);
    while (test::alive(process->pid())) co_await sleep_for(1ms);
  });
}

// L7: it hangs, as behind something that cannot be killed. When it ends in the end, it does not stay as a zombie.
TEST(Warden, ThatWasStuckIsReapedLater) {
  run_task([]() -> Task<void> {
    auto process = co_await Process::start(odd({"echo"}), Runtime{});
    const auto warden = process->warden_pid();
    ::kill(warden, SIGSTOP);
    EXPECT_EQ(co_await process->shutdown({10ms, 10ms, 10ms}), ShutdownStep::killed);
    process.reset();
    EXPECT_THAT(test::own_children(), testing::ElementsAre(warden));
    ::kill(warden, SIGCONT);
    siginfo_t info{};
    EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(warden), &info, WEXITED | WNOWAIT), 0);
    auto next = co_await Process::start(odd({"echo"}), Runtime{});
    EXPECT_THAT(test::own_children(), testing::ElementsAre(next->warden_pid()));
    co_await next->shutdown(unhurried);
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

// L7: a server that never stops writing its last words. Here each is listened to so slowly that the pipe is never
// empty.
TEST(Process, LastWordsWithoutEndAreBounded) {
  run_task([]() -> Task<void> {
    std::size_t heard = 0;
    ProcessSpec spec{.command = "/bin/sh", .args = {"-c", "exec yes >&2"}};
    spec.on_stderr = [&](std::string_view text) {
      heard += text.size();
      std::this_thread::sleep_for(1ms);
    };
    auto process = co_await Process::start(std::move(spec), Runtime{});
    while (heard == 0) co_await sleep_for(1ms);
    EXPECT_THAT(process->stderr_tail(), HasSubstr("y\ny\n"));
    co_await process->shutdown({10ms, 10ms, 10ms});
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Warden, ThatNeverComesUpIsGivenUp) {
  test::TemporaryDirectory directory;
  const auto file = directory.path() + "/stuck-warden";
  std::ofstream(file) << "#!/bin/sh\nexec sleep 1000\n";
  ::chmod(file.c_str(), 0755);
  test::Variable named("PATCHBAY_WARDEN", file);
  run_task([]() -> Task<void> {
    auto started = co_await as_result(with_timeout(Process::start(odd({"echo"}), Runtime{}), 1ms, "too slow"));
    EXPECT_FALSE(started);
    EXPECT_EQ(started.error(), Error(Errc::timeout, "too slow"));
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST(Warden, OfAnotherVersionIsRefused) {
  test::TemporaryDirectory directory;
  const auto file = directory.path() + "/old-warden";
  // What a warden of another version answers: the first field says "failed", the second "version".
  std::ofstream(file) << "#!/bin/sh\nprintf '\\2\\0\\0\\0\\1\\0\\0\\0\\0\\0\\0\\0' >&3\n";
  ::chmod(file.c_str(), 0755);
  test::Variable named("PATCHBAY_WARDEN", file);
  run_task([]() -> Task<void> {
    auto error = co_await failure_of(odd({"echo"}));
    EXPECT_THAT(error.message(), HasSubstr("another version"));
  });
}

}  // namespace
}  // namespace patchbay
