#include "process/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/fd.h"
#include "base/scope.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "process/domain_proxy.h"
#include "process/process_pin.h"
#include "process/process_stat.h"
#include "process/spawn.h"
#include "process/text_tail.h"
#include "process/warden/protocol.h"
#include "process/write_quietly.h"
#include "sandbox/confinement.h"

namespace patchbay {
namespace {

using asio::posix::stream_descriptor;
using boost::system::error_code;
using namespace std::chrono_literals;

constexpr auto after_kill = 2s;  // then a descendant is stuck in the kernel
constexpr auto for_leftovers = 100ms;
constexpr std::size_t last_words = 256u << 10;  // of stderr that is read without waiting; somebody may keep writing
constexpr auto for_last_words = 100ms;

}  // namespace

std::string describe(const ExitStatus& status) {
  if (status.signal == 0) return fmt::format("exited with status {}", status.code);
  const char* name = ::sigabbrev_np(status.signal);
  return name != nullptr ? fmt::format("was killed by signal {} (SIG{})", status.signal, name)
                         : fmt::format("was killed by signal {}", status.signal);
}

// Shared with the coroutines that read the socket and stderr: those may outlive the Process
// by one turn of the loop.
struct Process::State {
  State(const asio::any_io_executor& executor, const Runtime& r)
      : log(r.log),
        control(executor),
        input(executor),
        output(executor),
        errors(executor),
        tail(r.limits.stderr_tail),
        scope(executor) {}

  Log log;
  stream_descriptor control;
  stream_descriptor input;
  stream_descriptor output;
  stream_descriptor errors;
  TextTail tail;
  std::string refused;  // by the proxy, what it said first
  std::string partial;  // of a stderr line not yet logged
  std::function<void(std::string_view)> on_stderr;
  std::function<void(const ProcessEnd&)> on_end;
  LargePipe large;
  std::unique_ptr<DomainProxy> proxy;  // the way out of its sandbox, where that lists domains
  bool in_line = false;                // of stderr
  pid_t owner = ::getpid();
  pid_t warden = 0;
  pid_t command = 0;
  ProcessPin pin;  // of the warden, from the moment it was started
  bool warden_reaped = false;
  bool ended = false;
  bool leftovers = false;  // descendants lived when the command ended
  bool lost = false;
  std::size_t written = 0;  // to its stdin
  bool gone = false;        // no descendant is left
  bool shutting_down = false;
  bool interrupted = false;
  std::optional<ExitStatus> status;
  ShutdownStep step = ShutdownStep::none;
  ShutdownStep ended_after = ShutdownStep::none;  // the step at which the command ended
  bool shut_down = false;
  Event changed;  // ended, gone or shut_down
  Scope scope;

  ~State() { abandon(); }

  void order(char what) {
    const auto sent = ::send(control.native_handle(), &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;  // a warden that is gone shows as the end of the socket
  }

  void take(const pb_warden_record& record) {
    if (record.kind != PB_WARDEN_EXITED) return;
    status =
        WIFSIGNALED(record.value) ? ExitStatus{0, WTERMSIG(record.value)} : ExitStatus{WEXITSTATUS(record.value), 0};
    leftovers = record.place != 0;
    end();
  }

  void end() {
    if (ended) return;
    ended = true;
    ended_after = step;
    error_code ignored;
    output.cancel(ignored);  // a pending read looks again, and stops when nothing is left
    changed.notify_all();
  }

  // The socket has ended. Without a status, a stranger killed the warden; the command died
  // with it. What stayed in the warden's session is still known, for as long as nobody has waited for
  // the warden, whose number it has. Anything else is out of reach.
  void lose() {
    if (ended) return;
    lost = true;
    if (!warden_reaped && pin.unreaped()) end_session(warden);
    end();
  }

  // True when the warden is no child of ours any more. The embedder may have waited for it
  // first, or ignore SIGCHLD altogether: then there is nothing to reap.
  bool reap(int flags) {
    if (warden_reaped || warden <= 0) return true;
    warden_reaped = pin.reap(flags);
    return warden_reaped;
  }

  void close_all() {
    proxy.reset();
    on_end = nullptr;
    on_stderr = nullptr;  // a read that is through already is told to nobody
    error_code ignored;
    control.close(ignored);
    input.close(ignored);
    output.close(ignored);
    errors.close(ignored);
  }

  void read_errors_now() {
    std::array<char, 4096> buffer;
    std::size_t taken = 0;
    const auto end = std::chrono::steady_clock::now() + for_last_words;
    while (errors.is_open() && taken < last_words && std::chrono::steady_clock::now() < end) {
      const auto length = ::read(errors.native_handle(), buffer.data(), buffer.size());
      if (length < 0 && errno == EINTR) continue;
      if (length <= 0) return;
      taken += static_cast<std::size_t>(length);
      keep_errors({buffer.data(), static_cast<std::size_t>(length)});
    }
  }

  // Ours, in a line of its own among the server's.
  void say(std::string_view line) { keep_errors(fmt::format("{}{}{}\n", in_line ? "\n" : "", sandbox_line, line)); }

  void keep_errors(std::string_view text) {
    if (!text.empty()) in_line = !text.ends_with('\n');
    tail.append(text);
    if (on_stderr) on_stderr(text);
    if (!log.enabled(LogLevel::debug)) return;
    partial.append(text);
    std::size_t from = 0;
    for (std::size_t at; (at = partial.find('\n', from)) != partial.npos; from = at + 1) {
      log(LogLevel::debug, "stderr", "text", std::string_view(partial).substr(from, at - from));
    }
    partial.erase(0, from);
    if (partial.size() > 4096) {
      log(LogLevel::debug, "stderr", "text", partial);
      partial.clear();
    }
  }

  // Without the loop: kills what is left and waits for it, bounded.
  void abandon() {
    if (warden_reaped || warden <= 0) return;
    if (::getpid() != owner) return;  // a fork of the host must not end the host's servers
    if (control.is_open()) {
      order(PB_ORDER_KILL);
      const auto deadline = std::chrono::steady_clock::now() + 1s;
      for (;;) {
        pb_warden_record record{};
        const auto length = ::recv(control.native_handle(), &record, sizeof record, MSG_DONTWAIT);
        if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR)) {
          reap(0);  // the socket ends when the warden does
          return;
        }
        if (length > 0) continue;
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
        if (left <= 0) break;
        struct pollfd watched{control.native_handle(), POLLIN, 0};
        ::poll(&watched, 1, static_cast<int>(left));
      }
    }
    if (reap(WNOHANG)) return;
    // A warden that has not even started the command guards nothing. One that has keeps trying
    // what we could not do, and stays.
    if (command == 0) {
      pin.send(SIGKILL);
      reap(0);
    } else {
      warden_reaped = true;
      left_wardens().add(std::exchange(pin, ProcessPin()));
    }
  }

  static Task<void> watch(std::shared_ptr<State> self);
  static Task<void> drain_errors(std::shared_ptr<State> self);
  static Task<void> take_waiting_errors(std::shared_ptr<State> self);
  static Task<void> drain_output(std::shared_ptr<State> self);
  static Task<void> await_warden(std::shared_ptr<State> self);
  static Task<bool> gone_within(std::shared_ptr<State> self, Duration limit, bool shorten);
  static Task<void> descend(std::shared_ptr<State> self, Patience patience);
};

// Reads the warden's socket until it ends.
Task<void> Process::State::watch(std::shared_ptr<State> self) {
  for (;;) {
    pb_warden_record record{};
    error_code failed;
    const auto length = co_await self->control.async_read_some(asio::buffer(&record, sizeof record),
                                                               asio::redirect_error(asio::use_awaitable, failed));
    // Aborted, or closed before this coroutine first ran: the destructor has seen to the rest.
    if (failed == asio::error::operation_aborted || !self->control.is_open()) co_return;
    if (failed) break;
    if (length == sizeof record) self->take(record);
  }
  self->lose();
  co_await await_warden(self);
  self->gone = true;
  self->changed.notify_all();
}

// The socket ends a moment before the warden can be reaped. A pidfd tells when, without
// SIGCHLD.
Task<void> Process::State::await_warden(std::shared_ptr<State> self) {
  if (self->reap(WNOHANG)) co_return;
  Fd pin = self->pin.duplicate();
  if (!pin) {
    constexpr auto longest = 50ms;
    for (auto pause = 1ms; !self->reap(WNOHANG); pause = std::min(pause * 2, longest)) co_await sleep_for(pause);
    co_return;
  }
  stream_descriptor watched(co_await asio::this_coro::executor, pin.get());
  pin.release();
  error_code failed;
  co_await watched.async_wait(stream_descriptor::wait_read, asio::redirect_error(asio::use_awaitable, failed));
  if (!failed) self->reap(0);
}

Task<void> Process::State::drain_errors(std::shared_ptr<State> self) {
  std::array<char, 4096> buffer;
  for (;;) {
    error_code failed;
    const auto length =
        co_await self->errors.async_read_some(asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, failed));
    if (failed) break;
    self->keep_errors({buffer.data(), length});
  }
  if (!self->partial.empty()) self->log(LogLevel::debug, "stderr", "text", self->partial);
  self->partial.clear();
}

Task<void> Process::State::take_waiting_errors(std::shared_ptr<State> self) {
  // Turns of the loop; a pipe is empty after sixteen reads, unless somebody keeps filling it.
  constexpr int most_turns = 1000;
  for (int turn = 0, after_empty = 0; turn < most_turns && after_empty < 3; ++turn) {
    int waiting = 0;
    const bool open = self->errors.is_open() && ::ioctl(self->errors.native_handle(), FIONREAD, &waiting) == 0;
    if (!open || waiting == 0) ++after_empty;  // what was read last is told in one of the next turns
    co_await asio::post(asio::use_awaitable);
  }
}

Task<void> Process::State::drain_output(std::shared_ptr<State> self) {
  constexpr std::size_t size = 64u << 10;
  const auto buffer = std::make_unique_for_overwrite<char[]>(size);  // most of them are never written to
  for (;;) {
    error_code failed;
    co_await self->output.async_read_some(asio::buffer(buffer.get(), size),
                                          asio::redirect_error(asio::use_awaitable, failed));
    // The end of the command interrupts reads; its descendants may still be writing.
    if (failed && !(failed == asio::error::operation_aborted && self->output.is_open() && !self->gone)) break;
    auto cancelled = co_await asio::this_coro::cancellation_state;
    if (cancelled.cancelled() != asio::cancellation_type::none) break;
  }
}

// True when nothing is left within `limit`. With shorten, what the command leaves behind
// gets only a moment: it is not what stdin and INT were meant for.
Task<bool> Process::State::gone_within(std::shared_ptr<State> self, Duration limit, bool shorten) {
  const auto executor = co_await asio::this_coro::executor;
  const auto& clock = loop_clock(executor);
  auto deadline = clock.now() + limit;
  while (!self->gone) {
    const auto now = clock.now();
    if (self->ended && !self->leftovers) {
      deadline = now + after_kill;  // all ended; the warden is on its way out
    } else if (self->ended && shorten) {
      deadline = std::min<std::chrono::steady_clock::time_point>(deadline, now + for_leftovers);
      shorten = false;
    }
    const auto left = deadline - now;
    if (left <= Duration::zero()) co_return false;
    auto woken = co_await as_result(with_timeout(self->changed.wait(), left, ""));
    if (!woken && woken.error().code() != Errc::timeout) throw std::move(woken).error();
    if (!woken && deadline <= clock.now()) co_return self->gone;
  }
  co_return true;
}

Task<void> Process::State::descend(std::shared_ptr<State> self, Patience patience) {
  error_code ignored;
  self->step = ShutdownStep::input_closed;
  self->input.close(ignored);
  bool gone = co_await gone_within(self, patience.after_eof, true);
  if (!gone && !self->ended) {
    self->step = ShutdownStep::interrupted;
    self->order(PB_ORDER_INTERRUPT);
    gone = co_await gone_within(self, patience.after_interrupt, true);
  }
  if (!gone) {
    self->step = ShutdownStep::terminated;
    self->order(PB_ORDER_TERMINATE);
    gone = co_await gone_within(self, patience.after_terminate, false);
  }
  if (!gone) {
    self->step = ShutdownStep::killed;
    self->order(PB_ORDER_KILL);
    gone = co_await gone_within(self, after_kill, false);
  }
  if (!gone) {
    self->log(LogLevel::warning, "stuck", "pid", self->command, "text",
              "a process that the server started cannot be killed; the guard process keeps trying");
  }
  co_await take_waiting_errors(self);
  self->read_errors_now();
  if (self->on_end && self->ended) self->on_end({self->status, self->ended_after});
  self->close_all();
  self->shut_down = true;
  self->changed.notify_all();
}

Process::Process(std::shared_ptr<State> state) : state_(std::move(state)) {}

Process::~Process() {
  if (::getpid() != state_->owner) {
    // A fork of the host: its copy shares the epoll descriptor with the host, so even closing
    // would reach over there. The fork ends or executes something else; let it go as it is.
    new std::shared_ptr<State>(std::move(state_));
    return;
  }
  state_->abandon();
  state_->close_all();
  state_->scope.cancel();
  state_->shut_down = true;
  state_->changed.notify_all();
}

Task<std::unique_ptr<Process>> Process::start(ProcessSpec spec, Runtime runtime) {
  auto plan = plan_spawn(spec);
  left_wardens().reap();

  auto state = std::make_shared<State>(co_await asio::this_coro::executor, runtime);
  state->on_stderr = std::move(spec.on_stderr);
  state->on_end = std::move(spec.on_end);
  state->large.enlarge(plan.output.ours.get());
  // Wrapped before the spawn: once the warden runs, nothing below may throw.
  auto wrap = [](stream_descriptor& stream, Fd& fd) {
    stream.assign(fd.get());
    fd.release();
  };
  wrap(state->input, plan.input.ours);
  wrap(state->output, plan.output.ours);
  wrap(state->errors, plan.errors.ours);
  wrap(state->control, plan.control.ours);
  if (spec.confinement && spec.confinement->domains) {
    auto refused = [raw = state.get()](std::string_view line) {
      if (raw->refused.empty()) raw->refused = line;
      raw->say(line);
      raw->log(LogLevel::info, "sandbox", "text", line);
    };
    DomainProxy::Options options{.access = *spec.confinement->domains, .refused = std::move(refused)};
    state->proxy = std::make_unique<DomainProxy>(state->scope.executor(), std::move(options));
    state->proxy->serve_what_comes(std::move(plan.proxy.ours));
  }
  state->warden = spawn_warden(plan, spec.command);
  // From here on it is known by this. Without descriptors nothing else would work either: the warden sees its socket
  // close, and ends.
  state->pin = ProcessPin::of_child(state->warden);
  if (const int error = errno; !state->pin.has_descriptor() && (error == EMFILE || error == ENFILE)) {
    throw_errno(error, "cannot supervise", spec.command);
  }

  pb_warden_record record{};
  error_code failed;
  co_await state->control.async_read_some(asio::buffer(&record, sizeof record),
                                          asio::redirect_error(asio::use_awaitable, failed));
  if (failed == asio::error::operation_aborted) throw boost::system::system_error(failed);
  if (failed || record.kind != PB_WARDEN_STARTED) {
    co_await State::await_warden(state);
    if (failed) {
      throw Error(Errc::connect, fmt::format("the guard process {} ended at once; name a working copy: export "
                                             "PATCHBAY_WARDEN=/path/to/patchbay-warden",
                                             plan.image.path));
    }
    throw_not_started(record, plan, spec.command);
  }
  state->command = record.value;
  state->log(LogLevel::debug, "started", "pid", state->command, "warden", state->warden, "file", plan.file);
  state->scope.spawn(State::watch(state));
  state->scope.spawn(State::drain_errors(state));
  co_return std::unique_ptr<Process>(new Process(std::move(state)));
}

pid_t Process::pid() const noexcept { return state_->command; }
pid_t Process::warden_pid() const noexcept { return state_->warden; }
bool Process::ended() const noexcept { return state_->ended; }
const std::optional<ExitStatus>& Process::exit_status() const noexcept { return state_->status; }
bool Process::warden_lost() const noexcept { return state_->lost; }

Result<std::size_t> Process::write_some(std::string_view bytes) {
  if (!state_->input.is_open()) return fail(Errc::closed, "the input of the process is closed");
  const auto written = write_quietly(state_->input.native_handle(), bytes);
  if (written > 0) state_->written += static_cast<std::size_t>(written);
  if (written >= 0) return static_cast<std::size_t>(written);
  if (errno == EAGAIN) return 0u;
  return fail(Errc::closed, fmt::format("writing to the process failed: {}", std::strerror(errno)));
}

bool Process::has_read_nothing() const noexcept {
  if (state_->written == 0) return true;
  int unread = 0;
  const bool open = state_->input.is_open() && ::ioctl(state_->input.native_handle(), FIONREAD, &unread) == 0;
  return open && static_cast<std::size_t>(unread) == state_->written;
}

void Process::when_writable(std::function<void()> ready) {
  // No operation_aborted for the caller: it finds the input closed.
  state_->input.async_wait(stream_descriptor::wait_write,
                           [state = state_, ready = std::move(ready)](error_code) { ready(); });
}

void Process::close_input() {
  error_code ignored;
  state_->input.close(ignored);
}

Task<std::optional<std::size_t>> Process::read_some(std::span<char> room) {
  auto state = state_;
  for (;;) {
    if (std::exchange(state->interrupted, false)) co_return std::nullopt;
    if (!state->output.is_open()) co_return 0u;
    if (state->ended) {
      const auto length = ::read(state->output.native_handle(), room.data(), room.size());
      if (length < 0 && errno == EINTR) continue;
      co_return length > 0 ? static_cast<std::size_t>(length) : 0u;
    }
    error_code failed;
    const auto length = co_await state->output.async_read_some(asio::buffer(room.data(), room.size()),
                                                               asio::redirect_error(asio::use_awaitable, failed));
    if (!failed) co_return length;
    if (failed != asio::error::operation_aborted) co_return 0u;
    auto cancelled = co_await asio::this_coro::cancellation_state;
    if (cancelled.cancelled() != asio::cancellation_type::none) throw boost::system::system_error(failed);
  }
}

void Process::interrupt_read() {
  state_->interrupted = true;
  error_code ignored;
  state_->output.cancel(ignored);
}

bool Process::exiting() const {
  if (state_->ended) return true;
  const auto stat = process_stat(state_->command);
  return !stat || stat->exiting();  // without one: reaped by the warden, whose word is on its way
}

Task<bool> Process::ended_within(std::chrono::milliseconds limit) {
  auto state = state_;
  const auto executor = co_await asio::this_coro::executor;
  const auto& clock = loop_clock(executor);
  const auto deadline = clock.now() + limit;
  while (!state->ended) {
    const auto left = deadline - clock.now();
    if (left <= Duration::zero()) break;
    auto woken = co_await as_result(with_timeout(state->changed.wait(), left, ""));
    if (!woken && woken.error().code() != Errc::timeout) throw std::move(woken).error();
  }
  co_return state->ended;
}

Task<void> Process::take_waiting_errors() { return State::take_waiting_errors(state_); }

std::string Process::stderr_tail() {
  state_->read_errors_now();
  return std::string(state_->tail.kept());
}

std::string Process::stderr_tail(std::size_t lines) {
  state_->read_errors_now();
  return std::string(state_->tail.last_lines(lines));
}

const std::string& Process::refused() const noexcept { return state_->refused; }

std::string Process::telling_stderr(std::size_t lines) {
  state_->read_errors_now();
  return state_->tail.telling_lines(lines);
}

Task<ShutdownStep> Process::shutdown(Patience patience) {
  auto state = state_;
  if (!state->shutting_down) {
    state->shutting_down = true;
    state->scope.spawn(State::drain_output(state));
    state->scope.spawn(State::descend(state, patience));
  }
  while (!state->shut_down) co_await state->changed.wait();
  co_return state->step;
}

}  // namespace patchbay
