#include "builtin/run_command.h"

#include <signal.h>
#include <string.h>

#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "builtin/arguments.h"
#include "builtin/text.h"
#include "builtin/tools.h"
#include "process/process.h"

namespace patchbay::builtin {

namespace {

using namespace std::chrono_literals;

// A program whose time is over has no use for end-of-file; the signals follow at once.
constexpr Patience impatient{.after_eof = 0ms, .after_interrupt = 500ms, .after_terminate = 500ms};
// One that ended by itself may have left others behind.
constexpr Patience after_the_end{.after_eof = 0ms, .after_interrupt = 0ms, .after_terminate = 200ms};

// Writes text to a program that may read slowly or not at all. Held by the callback that waits
// for room, so it outlives the Process, which it then no longer touches.
struct Feeder : std::enable_shared_from_this<Feeder> {
  Process* process = nullptr;
  std::string text;
  std::size_t sent = 0;

  void feed() {
    if (!process) return;
    while (sent < text.size()) {
      const auto written = process->write_some(std::string_view(text).substr(sent));
      if (!written) return;  // it does not want to read; that is its business
      if (*written == 0) {
        process->when_writable([self = shared_from_this()] { self->feed(); });
        return;
      }
      sent += *written;
    }
    process->close_input();
  }
};

// Returns when the program has ended and its output is read.
Task<void> run_to_end(Process& process, HeadAndTail& output) {
  std::array<char, 16 << 10> buffer;
  for (;;) {
    const auto length = co_await process.read_some(buffer);
    if (!length || *length == 0) break;
    output.append({buffer.data(), *length});
  }
  // It can close its output and go on.
  while (!process.ended()) (void)co_await process.ended_within(1h);
  co_await process.take_waiting_errors();
}

Task<void> report(RunProgress progress, std::string name) {
  for (int seconds = 1;; ++seconds) {
    const auto slept = co_await as_result(sleep_for(1s));
    if (!slept) co_return;
    progress(seconds, fmt::format("{} has run for {}", name, plural(static_cast<std::size_t>(seconds), "second")));
  }
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string section(std::string_view title, const std::string& text) {
  if (text.empty()) return {};
  return fmt::format("{}:\n{}{}", title, text, text.ends_with('\n') ? "" : "\n");
}

}  // namespace

void HeadAndTail::append(std::string_view bytes) {
  total_ += bytes.size();
  const auto room = std::min(half_ - head_.size(), bytes.size());
  head_ += bytes.substr(0, room);
  tail_ += bytes.substr(room);
  if (tail_.size() > 2 * half_) tail_.erase(0, tail_.size() - half_);
}

std::size_t HeadAndTail::dropped() const noexcept { return total_ - head_.size() - std::min(tail_.size(), half_); }

std::string HeadAndTail::text() const {
  if (dropped() == 0) return repair_utf8(head_ + tail_).text;
  std::string_view head = head_, tail = tail_;
  if (tail.size() > half_) tail.remove_prefix(tail.size() - half_);
  return fmt::format("{}\n[… {} left out …]\n{}", repair_utf8(head).text, size_text(dropped()), repair_utf8(tail).text);
}

Tool run_command_tool(const BuiltinLimits& limits) {
  Tool tool;
  tool.name = "run_command";
  tool.title = "Run a command";
  tool.description = fmt::format(
      "Runs a program to its end and returns its exit status, stdout and stderr. No shell is involved: args reach the "
      "program as they are, so * | > && $VAR and quotes have no effect. For a shell line, run sh with args [\"-c\", "
      "\"the line\"]. The program gets no terminal, and no input unless stdin is given. Everything it started is ended "
      "with it, so it cannot leave a server running. It is ended after timeout_seconds (default {}, at most {}). Of "
      "long output the beginning and the end are kept. To read, write or search files use the other tools.",
      limits.run_time.count(), limits.most_run_time.count());
  tool.input_schema = object_schema({
      {"command",
       {{"type", "string"}, {"minLength", 1}, {"description", "The program: a name looked up in PATH, or a path."}},
       true},
      {"args",
       {{"type", "array"},
        {"items", {{"type", "string"}}},
        {"description", "Its arguments, one string each. Default none."}}},
      {"cwd",
       {{"type", "string"},
        {"description",
         "The directory to run it in, relative to the root directory or absolute beneath it. Default: the root."}}},
      {"timeout_seconds",
       {{"type", "number"},
        {"exclusiveMinimum", 0},
        {"maximum", limits.most_run_time.count()},
        {"description", "How long it may run."}}},
      {"stdin",
       {{"type", "string"}, {"description", "Text for its standard input. Default: none, it reads end-of-file."}}},
  });
  tool.output_schema = object_schema({
      {"exitCode",
       {{"type", Json::array({"integer", "null"})}, {"description", "Exit status; null when a signal ended it."}},
       true},
      {"signal",
       {{"type", Json::array({"string", "null"})}, {"description", "The signal that ended it, such as SIGKILL."}},
       true},
      {"timedOut", {{"type", "boolean"}, {"description", "It was ended because it took too long."}}, true},
      {"stdout", {{"type", "string"}, {"description", "What it printed, cut in the middle when long."}}, true},
      {"stderr",
       {{"type", "string"}, {"description", "What it printed to stderr, cut in the middle when long."}},
       true},
  });
  ToolAnnotations annotations;
  annotations.read_only_hint = false;
  annotations.destructive_hint = true;
  annotations.idempotent_hint = false;
  annotations.open_world_hint = true;
  tool.annotations = annotations;
  return tool;
}

Task<CallToolResult> run_command(RunSettings settings, Json arguments, RunProgress progress) {
  const auto& limits = settings.limits;
  Arguments in("run_command", arguments, {"command", "args", "cwd", "timeout_seconds", "stdin"});
  ProcessSpec spec;
  spec.command = in.word("command");
  spec.args = in.strings("args");
  const auto cwd = in.optional_word("cwd").value_or(".");
  const auto most = static_cast<double>(limits.most_run_time.count());
  const double seconds = in.number("timeout_seconds", static_cast<double>(limits.run_time.count()), 0.001, most);
  auto input = in.optional_string("stdin");
  if (const auto fault = in.fault()) co_return error_result(*fault);
  if (const auto refusal = unless_directory(settings.root, cwd)) co_return error_result(*refusal);
  const auto directory = settings.root.resolved(cwd);
  if (!directory) co_return error_result(directory.error());
  spec.cwd = fmt::format("{}/{}", settings.root.path(), *directory);

  auto output = HeadAndTail(limits.run_output);
  auto errors = std::make_shared<HeadAndTail>(limits.run_output);
  spec.on_stderr = [errors](std::string_view bytes) { errors->append(bytes); };
  const bool line_as_command = spec.command.contains(' ');
  const auto name = std::string(last_part(spec.command));
  auto started = co_await as_result(Process::start(std::move(spec), settings.runtime));
  if (!started) {
    if (started.error().code() == Errc::cancelled) throw std::move(started).error();
    std::string message = started.error().message();
    if (line_as_command) {
      message +=
          ". Give the program alone as command and each argument in args; for a shell line run sh with args [\"-c\", "
          "\"the line\"].";
    }
    co_return error_result(std::move(message));
  }
  auto& process = **started;
  auto feeder = std::make_shared<Feeder>();
  feeder->process = &process;
  feeder->text = std::move(input).value_or("");
  feeder->feed();

  Scope beside(co_await asio::this_coro::executor);
  if (progress) beside.spawn(report(std::move(progress), name));
  const auto limit = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  auto outcome = co_await as_result(with_timeout(run_to_end(process, output), limit, "it took too long"));

  // From here on nothing may be left half done, whether or not somebody still waits.
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  feeder->process = nullptr;
  beside.cancel();
  co_await beside.join();
  Result<ShutdownStep> ended = fail(Errc::internal, "");
  for (int tries = 0; !ended && tries < 10; ++tries) {
    // A cancel that comes meanwhile interrupts the wait, not the shutdown.
    ended = co_await as_result(process.shutdown(outcome ? after_the_end : impatient));
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  const bool timed_out = !outcome && outcome.error().code() == Errc::timeout;
  if (!outcome && !timed_out) throw std::move(outcome).error();

  const auto& status = process.exit_status();
  const auto out = output.text();
  const auto err = errors->text();
  std::string text;
  if (timed_out) {
    text = fmt::format("{} was ended because it ran longer than {:g} s.\n", name, seconds);
  } else if (!status) {
    text = fmt::format("{} was ended by another program.\n", name);
  } else {
    text = fmt::format("{} {}.\n", name, describe(*status));
  }
  text += section("stdout", out) + section("stderr", err);
  if (out.empty() && err.empty()) text += "It printed nothing.\n";

  const bool by_signal = !status || status->signal != 0;
  const char* signal_name = status && status->signal != 0 ? ::sigabbrev_np(status->signal) : nullptr;
  auto result = text_result(std::move(text));
  result.is_error = timed_out || by_signal || status->code != 0;
  result.structured_content = Json{
      {"exitCode", by_signal ? Json() : Json(status->code)},
      {"signal", signal_name                     ? Json(fmt::format("SIG{}", signal_name))
                 : status && status->signal != 0 ? Json(fmt::format("{}", status->signal))
                                                 : Json()},
      {"timedOut", timed_out},
      {"stdout", out},
      {"stderr", err},
  };
  co_return result;
}

}  // namespace patchbay::builtin
