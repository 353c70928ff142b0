#include "host/start/helper_command.h"

#include <array>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "process/process.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr Patience impatient{.after_eof = 0ms, .after_interrupt = 200ms, .after_terminate = 200ms};
constexpr std::size_t shown_error = 300;

// Until the command has ended and its output is read, or there is too much of it.
Task<void> read_all(Process& process, std::string& output, std::size_t limit) {
  std::array<char, 8 << 10> buffer;
  for (;;) {
    const auto length = co_await process.read_some(buffer);
    if (!length || *length == 0) break;
    output.append(buffer.data(), *length);
    if (output.size() > limit) co_return;
  }
  while (!process.ended()) (void)co_await process.ended_within(1h);
  co_await process.take_waiting_errors();
}

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
      with_timeout(read_all(process, output, command.output), as_duration(command.time), "it took too long"));

  // From here on nothing may be left half done, whether or not somebody still waits.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  Result<ShutdownStep> ended = fail(Errc::internal, "");
  for (int tries = 0; !ended && tries < 10; ++tries) ended = co_await as_result(process.shutdown(impatient));
  co_await asio::this_coro::throw_if_cancelled(throws);

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
