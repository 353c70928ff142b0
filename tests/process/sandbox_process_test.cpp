// N5, N2: what the warden promises of every command holds for one in a sandbox as well, alone and behind bubblewrap.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "host/start/sandbox_start.h"
#include "process/children.h"
#include "process/process.h"
#include "process/sandbox_probe.h"
#include "support/capability.h"
#include "support/loop.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using test::run_task;
using testing::IsEmpty;
using testing::Not;

Task<std::string> output_of(ProcessSpec spec) {
  auto process = co_await Process::start(std::move(spec), Runtime{});
  std::string text;
  std::array<char, 4096> room;
  for (;;) {
    const auto length = co_await process->read_some(room);
    if (!length || *length == 0) break;
    text.append(room.data(), *length);
  }
  co_await process->shutdown({60s, 60s, 60s});
  co_return text;
}

// Of "auto", for a shell that works in the temporary directory.
std::shared_ptr<const Confinement> automatic(bool bubblewrap) {
  const SandboxLevels levels{.entry = read_sandbox(Json("auto")).value(), .entry_is_users = true, .command = "/bin/sh"};
  const VariableLookup none = [](std::string_view) { return std::nullopt; };
  auto machine = look_at_sandbox_machine({});
  if (!bubblewrap) machine.bubblewrap.clear();
  return plan_sandbox("s", levels, sandbox_places(none, "/tmp", ""), none, "/bin/sh", machine).value().confinement;
}

class SandboxedProcess : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    NEEDS(landlock);
    if (GetParam()) NEEDS(bubblewrap);
  }
};

TEST_P(SandboxedProcess, HandsOnStatusAndDescriptorsAsWithoutOne) {
  const auto confinement = automatic(GetParam());
  run_task([&]() -> Task<void> {
    EXPECT_EQ(co_await output_of({.command = "/bin/ls", .args = {"/proc/self/fd"}, .confinement = confinement}),
              "0\n1\n2\n3\n");
    auto process = co_await Process::start({.command = "/bin/sh", .args = {"-c", "exit 7"}, .confinement = confinement},
                                           Runtime{});
    EXPECT_TRUE(co_await process->ended_within(60s));
    EXPECT_EQ(process->exit_status(), (ExitStatus{.code = 7}));
    co_await process->shutdown({60s, 60s, 60s});
    EXPECT_THAT(test::own_children(), IsEmpty());
  });
}

TEST_P(SandboxedProcess, LeavesNothingBehindThatIgnoresEverySignal) {
  const auto confinement = automatic(GetParam());
  const std::string mark = "PATCHBAY_SANDBOX_MARK_" + std::to_string(::getpid());
  run_task([&]() -> Task<void> {
    ProcessSpec spec{.command = "/bin/bash",
                     .args = {"-c", "trap '' TERM INT HUP; (setsid sleep 100 &) ; echo up; while :; do sleep 1; done"}};
    spec.env = {{mark, "1"}};
    spec.confinement = confinement;
    auto process = co_await Process::start(std::move(spec), Runtime{});
    std::array<char, 16> room;
    EXPECT_EQ(co_await process->read_some(room), 3u);
    EXPECT_THAT(test::marked(mark), Not(IsEmpty()));
    co_await process->shutdown({1ms, 1ms, 1ms});
    EXPECT_THAT(test::marked(mark), IsEmpty());
  });
}

INSTANTIATE_TEST_SUITE_P(Each, SandboxedProcess, testing::Values(false, true),
                         [](const auto& info) { return std::string(info.param ? "BehindBubblewrap" : "Alone"); });

}  // namespace
}  // namespace patchbay
