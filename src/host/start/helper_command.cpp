#include "host/start/helper_command.h"

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "process/process.h"
#include "process/to_the_end.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr Patience impatient{.after_eof = 0ms, .after_interrupt = 200ms, .after_terminate = 200ms};
constexpr std::size_t shown_error = 300;

}  // namespace

Task<std::string> run_helper(HelperCommand command, Runtime runtime) {
  ProcessSpec spec;
  spec.command = "/bin/sh";
  spec.args = {"-c", command.line};
  spec.env = command.environment.added;
  spec.unset = command.environment.removed;
  spec.cwd = command.cwd;
  auto started = co_await as_result(Process::start(std::move(spec), runtime));
  if (!started) {
    if (started.error().code() == Errc::cancelled) throw std::move(started).error();
    throw Error(Errc::config, fmt::format("{} cannot be run: {}", command.label, started.error().message()));
  }
  auto& process = **started;
  process.close_input();
  std::string output;
  auto outcome = co_await as_result(
      with_timeout(read_to_end(process, output, command.output), as_duration(command.time), "it took too long"));

  co_await shut_down(process, impatient);

  if (!outcome && outcome.error().code() == Errc::timeout) {
    throw Error(Errc::config, fmt::format("{} took longer than {:g} s, the limit, and was ended", command.label,
                                          std::chrono::duration<double>(command.time).count()));
  }
  if (!outcome) throw std::move(outcome).error();
  if (output.size() > command.output) {
    throw Error(Errc::config,
                fmt::format("{} printed more than {} KiB, the limit", command.label, command.output >> 10));
  }
  const auto& status = process.exit_status();
  if (!status || *status != ExitStatus{}) {
    const auto said = clean_excerpt(process.stderr_tail(3), shown_error);
    throw Error(Errc::config,
                fmt::format("{} {}{}{}", command.label, status ? describe(*status) : "was ended by another program",
                            said.empty() ? "" : ": ", said));
  }
  while (output.ends_with('\n') || output.ends_with('\r')) output.pop_back();
  co_return output;
}

}  // namespace patchbay
