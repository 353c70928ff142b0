// What a sandbox adds to the start of a server: the same program from its start to its end, without one, in one, and in
// one behind bubblewrap where that works; planning is part of it. One after the other in turn, so that other work on
// the machine meets all of them.
//
//   bench-sandbox [STARTS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "host/start/sandbox_start.h"
#include "process/process.h"
#include "process/sandbox_probe.h"

namespace {

using namespace patchbay;
using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

double median(std::vector<double> all) {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

struct Figures {
  std::vector<double> bare, confined, behind, planning;
  std::size_t rules = 0;
};

Task<double> start(std::shared_ptr<const Confinement> confinement) {
  ProcessSpec spec{.command = "/bin/true"};
  spec.confinement = std::move(confinement);
  const auto begin = Clock::now();
  auto process = co_await Process::start(std::move(spec), Runtime{});
  co_await process->ended_within(std::chrono::minutes(1));
  const auto time = Clock::now() - begin;
  co_await process->shutdown({});
  co_return microseconds(time);
}

Task<void> measure(int starts, Figures& out) {
  const auto variables = process_environment();
  const SandboxLevels levels{
      .entry = read_sandbox(Json{{"network", "none"}}).value(), .entry_is_users = true, .command = "true"};
  const auto places = sandbox_places(variables, "/tmp", "");
  const auto machine = look_at_sandbox_machine({});
  auto alone = machine;
  alone.bubblewrap.clear();
  const auto plan = [&](const SandboxMachine& on) {
    return plan_sandbox("true", levels, places, variables, "/bin/true", on).value().confinement;
  };
  for (int i = 0; i < starts; ++i) {
    out.bare.push_back(co_await start(nullptr));
    const auto begin = Clock::now();
    auto confinement = plan(alone);
    out.planning.push_back(microseconds(Clock::now() - begin));
    out.rules = confinement->paths.size();
    out.confined.push_back(co_await start(std::move(confinement)));
    if (!machine.bubblewrap.empty() && i % 4 == 0) out.behind.push_back(co_await start(plan(machine)));
  }
}

}  // namespace

int main(int count, char** words) {
  const int starts = count > 1 ? std::max(1, std::atoi(words[1])) : 400;
  Figures figures;
  boost::asio::io_context loop;
  boost::asio::co_spawn(loop, measure(starts, figures), [](std::exception_ptr failed) {
    if (failed) std::rethrow_exception(failed);
  });
  loop.run();
  const double bare = median(figures.bare);
  const double planning = median(figures.planning);
  const double confined = median(figures.confined);
  std::printf("start and end without a sandbox        %8.0f us\n", bare);
  std::printf("in one, %4zu rules                      %8.0f us, %.2f x\n", figures.rules, confined, confined / bare);
  std::printf("planning it                            %8.0f us\n", planning);
  std::printf("added in all                           %8.0f us\n", confined + planning - bare);
  if (!figures.behind.empty()) {
    const double behind = median(figures.behind);
    std::printf("behind bubblewrap                      %8.0f us, %.2f x\n", behind, behind / bare);
  }
}
