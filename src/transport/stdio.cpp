#include "transport/stdio.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <unordered_set>
#include <utility>

#include "base/crypto.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "base/timer.h"
#include "base/waiting.h"
#include "base/write_queue.h"
#include "process/command_lookup.h"
#include "process/process.h"
#include "secrets/names.h"
#include "text/clean_text.h"
#include "transport/line_messages.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto for_exit_status = 200ms;  // between the end of stdout and the exit status
constexpr auto for_slow_exit = 2s;       // the same, when it is seen to be ending on a busy machine
constexpr auto for_reader = 500ms;       // between a failed write and the reader's own verdict
constexpr auto quick_step = 100ms;       // each step of a quick close
constexpr std::size_t detail_lines = 20;
constexpr std::size_t sample_size = 80;  // of a line that was no message, in an error

// Different when the command leads to another file, or that file was written; and the same
// for the first argument that is a file: a script, when the command is an interpreter.
std::string command_stamp(const StdioTarget& options) {
  std::error_code ignored;
  const auto here = std::filesystem::current_path(ignored) / options.cwd;
  auto over = options.env;
  over.insert(options.context_env.begin(), options.context_env.end());
  const auto environment = overlay_environment(environ, over);
  const auto command = find_command(options.command, variable(environment, "PATH", default_path), here.string());
  if (!command) return "none";
  auto mark = [](const std::string& file) -> std::string {
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    return fmt::format("{:x}:{:x}:{:x}:{:x}.{:x}", status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec);
  };
  std::string stamp = mark(*command);
  for (const auto& argument : options.args) {
    if (auto script = mark((here / argument).string()); !script.empty()) return stamp + " " + script;
  }
  return stamp;
}

class StdioTransport final : public Transport {
 public:
  StdioTransport(StdioTarget options, std::string name) : options_(std::move(options)), name_(std::move(name)) {}

  Kind kind() const noexcept override { return Kind::stdio; }

  std::string describe() const override {
    if (!options_.shown.empty()) return options_.shown;
    std::string text = options_.command;
    bool value_follows = false;
    for (const auto& argument : options_.args) {
      const auto equals = argument.find('=');
      text += ' ';
      if (value_follows && !argument.starts_with('-')) {
        text += "***";
        value_follows = false;
      } else if (const auto colon = argument.find(':');
                 colon != argument.npos && is_secret_flag(argument.substr(0, colon)) && colon < equals) {
        text += argument.substr(0, colon + 1) + " ***";
      } else if (equals != argument.npos && is_secret_flag(argument.substr(0, equals))) {
        text += argument.substr(0, equals + 1) + "***";
      } else {
        text += argument;
        value_follows = argument.starts_with('-') && equals == argument.npos && is_secret_flag(argument);
      }
    }
    return text;
  }

  // Not the directory we happen to be in: what it makes of the command shows in the stamp.
  Identity identity() const override {
    Json words = Json::array({options_.command});
    for (const auto& argument : options_.args) words.push_back(argument);
    Json env = Json::object();
    for (const auto& [name, value] : options_.env) env[name] = value;
    const Json whole{{"command", std::move(words)}, {"env", std::move(env)}, {"cwd", options_.cwd}};
    return {sha256_hex("stdio " + to_text(whole)), command_stamp(options_)};
  }

  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override {
    auto copy = runtime;
    ProcessSpec spec;
    spec.command = options_.command;
    spec.args = options_.args;
    spec.env = options_.env;
    spec.env.insert(options_.context_env.begin(), options_.context_env.end());
    spec.unset = options_.unset_env;
    spec.cwd = options_.cwd;
    spec.on_stderr = options_.on_stderr;
    spec.on_end = options_.on_end;
    spec.confinement = options_.confinement;
    auto process = co_await Process::start(std::move(spec), copy);
    auto label = name_.empty() ? std::filesystem::path(options_.command).filename().string() : name_;
    auto channel = std::make_unique<StdioChannel>(std::move(process), std::move(label), std::move(copy),
                                                  co_await asio::this_coro::executor);
    channel->explain_refusal(options_.explain_refusal);
    co_return channel;
  }

 private:
  StdioTarget options_;
  std::string name_;
};

}  // namespace

std::shared_ptr<Transport> stdio_transport(StdioOptions options) {
  return stdio_transport_with(std::move(options), {});
}

std::unique_ptr<Transport> stdio_transport_with(StdioTarget options, std::string name) {
  return std::make_unique<StdioTransport>(std::move(options), std::move(name));
}

// Shared with the handlers that wait for the pipe; those may outlive the channel by one
// turn of the loop.
struct StdioChannel::State : std::enable_shared_from_this<State> {
  State(std::unique_ptr<Process> p, std::string l, Runtime r, asio::any_io_executor e)
      : process(std::move(p)),
        label(std::move(l)),
        runtime(std::move(r)),
        executor(e),
        lines(e, runtime.limits,
              [this] {
                if (process) process->interrupt_read();
              }),
        silence(e) {}

  std::unique_ptr<Process> process;
  std::string label;
  Runtime runtime;
  asio::any_io_executor executor;

  // Reading.
  LineMessages lines;
  std::optional<Error> failure;  // what receive() throws from now on
  std::uint64_t junk = 0;        // lines that looked like JSON and were no message
  std::string first_junk;        // the first of those
  bool heard = false;            // a message has come
  std::uint64_t junk_told = 0;   // lines of either kind that were logged

  // Writing.
  WriteQueue out;
  FlushPace out_pace;
  // Requests of which nothing was written yet, each with where it begins among all bytes that were ever queued; in that
  // order, and empty while the child reads.
  struct Unsent {
    std::uint64_t begin;
    std::uint64_t size;
    RequestId id;
  };
  std::deque<Unsent> unsent;
  std::unordered_set<RequestId> unsent_ids;
  std::uint64_t gone = 0;  // bytes written, of all that were ever queued
  bool pipe_full = false;  // a handler waits for room
  bool broken = false;     // nobody reads stdin any more
  Timer silence;
  Event flushed;

  bool closing = false;
  bool closed = false;
  std::function<std::string(std::string_view, std::string_view)> explain_refusal;

  void cut(const Unsent& request) {
    if (broken) return;  // nothing is left to be written
    out.erase(static_cast<std::size_t>(request.begin - gone), static_cast<std::size_t>(request.size));
  }

  void fail_with(Error error) {
    if (!failure) failure = std::move(error);
  }

  void stop(Error error) {
    fail_with(std::move(error));
    if (process) process->interrupt_read();
  }

  // Of the lines that were no messages, in words. Which of them was the first of all is not
  // kept; what is no JSON at all explains more.
  std::string skipped() const {
    const auto count = junk + lines.reader().junk_lines();
    if (count == 0) return {};
    const auto& first = lines.reader().junk_lines() > 0 ? lines.reader().first_junk() : first_junk;
    const auto shown = clean_line(first);
    return fmt::format(
        "printed {} on stdout that {} not JSON-RPC, such as \"{}{}\"; stdout is only for the protocol: everything else "
        "must go to stderr",
        plural(count, "line"), count == 1 ? "is" : "are", cut_utf8(shown, sample_size),
        shown.size() > sample_size ? "…" : "");
  }

  Error closed_error(std::string what) {
    // One that never said anything else is probably no server, or not started as one.
    if (const auto printed = heard ? std::string() : skipped(); !printed.empty()) what += "; it " + printed;
    if (!heard && explain_refusal) what += "; " + explain_refusal(process->stderr_tail(), process->refused());
    auto error = Error(Errc::closed, fmt::format("server \"{}\" {}", label, what))
                     .with_detail(process->telling_stderr(detail_lines));
    return process->has_read_nothing() ? std::move(error).with_carried_out(CarriedOut::no) : error;
  }

  void flush() {
    while (!closed && !broken && !pipe_full && !out.empty()) {
      auto sent = process->write_some(out.front());
      if (!sent) {
        break_input(sent.error());
      } else if (*sent == 0) {
        pipe_full = true;
        process->when_writable([self = shared_from_this()] {
          self->pipe_full = false;
          self->flush();
        });
      } else {
        out.wrote(*sent);
        gone += *sent;
        for (; !unsent.empty() && unsent.front().begin < gone; unsent.pop_front()) {
          unsent_ids.erase(unsent.front().id);
        }
      }
    }
    if (out.empty() || broken) flushed.notify_all();
  }

  // The reader's verdict (exit status, stderr) says more than EPIPE does, so it gets a
  // moment to arrive first.
  void break_input(const Error& why) {
    broken = true;
    out.clear();
    runtime.log(LogLevel::debug, "write_failed", "text", why.message());
    silence.set_after(for_reader);
    silence.call([self = shared_from_this()](boost::system::error_code aborted) {
      if (aborted || self->closing || self->failure) return;
      self->stop(self->closed_error("closed its input but keeps running"));
    });
  }

  static Incoming taken(Decoded decoded) {
    if (decoded.batch) return Batch{std::move(decoded.messages)};
    return std::move(decoded.messages.front());
  }

  // A message, an answer that was lost, or nothing when the line is junk.
  std::optional<Incoming> judge(const LineReader::Line& line, ReadMessages read) {
    if (read.decoded) {
      heard = true;
      lines.heard();
      return taken(std::move(*read.decoded));
    }
    const auto& why = read.decoded.error();
    bear(lines.bear(line.text.size(), 1));
    if (auto& id = read.seems_to_answer) {
      const bool too_large = why.code() == Errc::limit;
      return Lost{std::move(*id),
                  Error(why.code(), fmt::format("server \"{}\": the answer is {}: {}", label,
                                                too_large ? "too large" : "not valid JSON-RPC", why.message()))};
    }
    if (junk++ == 0) first_junk = cut_utf8(line.text, 2 * sample_size);
    tell_junk(why.message(), line.text);
    return std::nullopt;
  }

  // What is no message may go on for a while, and not for ever.
  void bear(const Result<void>& bearable) {
    if (!bearable) fail_with(bearable.error().within(fmt::format("server \"{}\"", label)));
  }

  void tell_junk(std::string_view why, std::string_view text) {
    runtime.log(junk_told++ == 0 ? LogLevel::info : LogLevel::debug, "junk", "why", why, "text", cut_utf8(text, 120));
  }

  std::optional<Incoming> next_buffered() {
    const auto junk_before = lines.reader().junk_lines();
    auto found = lines.next([this](const auto& line, ReadMessages read) { return judge(line, std::move(read)); });
    const auto junk_lines = lines.reader().junk_lines() - junk_before;
    bear(lines.bear_skipped(junk_lines));
    if (junk_lines > 0) tell_junk("not JSON", lines.reader().junk_sample());
    return found;
  }

  // After the last byte: half a line may still be a message.
  Task<std::optional<Incoming>> finish() {
    std::optional<Incoming> last;
    std::string cut;
    if (auto rest = co_await lines.rest()) {
      auto& [line, read] = *rest;
      if (read.decoded) last = taken(std::move(*read.decoded));
      if (!last) cut = fmt::format(" in the middle of a message (only {} bytes of it arrived)", line.text.size());
    }
    bool ended = co_await process->ended_within(for_exit_status);
    if (failure) co_return last;
    if (!ended && process->exiting()) ended = co_await process->ended_within(for_slow_exit);
    if (failure) co_return last;
    if (const auto& status = process->exit_status()) {
      fail_with(closed_error(patchbay::describe(*status) + cut));
    } else if (process->warden_lost()) {
      fail_with(closed_error("was ended because its guard process (patchbay-warden) was killed" + cut));
    } else if (!ended) {
      fail_with(closed_error("closed its output but keeps running" + cut));
    } else {
      fail_with(closed_error("ended" + cut));
    }
    co_return last;
  }
};

StdioChannel::StdioChannel(std::unique_ptr<Process> process, std::string label, Runtime runtime,
                           asio::any_io_executor executor)
    : state_(std::make_shared<State>(std::move(process), std::move(label), std::move(runtime), std::move(executor))) {}

void StdioChannel::explain_refusal(std::function<std::string(std::string_view, std::string_view)> explain) {
  state_->explain_refusal = std::move(explain);
}

StdioChannel::~StdioChannel() {
  state_->closing = true;
  state_->closed = true;
  state_->silence.cancel();
  state_->fail_with(Error(Errc::closed, "the connection was closed"));
  // Handlers that wait for the pipe hold the state; the child must not wait for them.
  state_->process.reset();
}

Result<void> StdioChannel::send(Message message) {
  const auto begin = state_->gone + state_->out.size();
  auto sent = enqueue([&](std::string& out) { append_message(out, message); });
  const auto* request = std::get_if<Request>(&message);
  if (sent && request && state_->gone <= begin && state_->unsent_ids.insert(request->id).second) {
    state_->unsent.push_back({begin, state_->gone + state_->out.size() - begin, request->id});
  }
  return sent;
}

bool StdioChannel::withdraw(const RequestId& id) {
  auto& s = *state_;
  if (s.unsent_ids.erase(id) == 0) return false;
  const auto found = std::ranges::find(s.unsent, id, &State::Unsent::id);
  s.cut(*found);
  const auto size = found->size;
  for (auto later = s.unsent.erase(found); later != s.unsent.end(); ++later) later->begin -= size;
  return true;
}

std::vector<RequestId> StdioChannel::withdraw_all() {
  auto& s = *state_;
  std::vector<RequestId> ids;
  // From the back, so that what is still to be cut stays where it is.
  for (; !s.unsent.empty(); s.unsent.pop_back()) {
    s.cut(s.unsent.back());
    ids.push_back(std::move(s.unsent.back().id));
  }
  s.unsent_ids.clear();
  return ids;
}

Result<void> StdioChannel::send_batch(std::vector<Message> messages) {
  return enqueue([&](std::string& out) { append_batch(out, messages); });
}

template <class Write>
Result<void> StdioChannel::enqueue(Write write) {
  auto& s = *state_;
  if (s.failure) return std::unexpected(*s.failure);
  if (s.broken || s.closing) {
    return fail(Errc::closed, fmt::format("server \"{}\" no longer reads its input", s.label));
  }
  auto& tail = s.out.tail();
  const auto before = tail.size();
  write(tail);
  tail += '\n';
  if (s.out.size() > s.runtime.limits.outgoing) {
    tail.resize(before);
    return fail(Errc::limit, fmt::format("server \"{}\" has stopped reading: {} bytes are waiting (the limit is {})",
                                         s.label, s.out.size(), s.runtime.limits.outgoing));
  }
  if (!s.pipe_full) s.out_pace.queued(s.executor, state_);
  return {};
}

Task<Incoming> StdioChannel::receive() {
  auto s = state_;
  for (;;) {
    if (s->closing) throw *s->failure;
    // What came before the failure is delivered before it.
    if (auto incoming = s->next_buffered()) co_return std::move(*incoming);
    if (s->failure) throw *s->failure;
    switch (s->lines.todo()) {
      case LineMessages::Todo::read_aside: {
        auto [line, read] = co_await s->lines.read_aside();
        s->lines.put(s->judge(line, std::move(read)));
        continue;
      }
      case LineMessages::Todo::turn:
        co_await s->lines.turn();
        continue;
      case LineMessages::Todo::give_up:
        s->fail_with(s->lines.failure().within(fmt::format("server \"{}\"", s->label)));
        continue;
      case LineMessages::Todo::too_long:
        s->fail_with(Error(Errc::limit, fmt::format("server \"{}\" sent a message of more than {} bytes", s->label,
                                                    s->runtime.limits.message)));
        throw *s->failure;
      case LineMessages::Todo::wait_for_room:
        co_await s->lines.room();
        continue;
      case LineMessages::Todo::read:
        break;
    }
    const auto length = co_await s->process->read_some(s->lines.reader().room());
    if (s->closing) throw *s->failure;
    if (!length) continue;
    if (*length > 0) {
      s->out_pace.answered();
      s->lines.commit(*length);
      continue;
    }
    if (auto last = co_await s->finish()) co_return std::move(*last);
  }
}

std::optional<Incoming> StdioChannel::received() {
  // After a failure there is nothing but what receive() says.
  return state_->closing || state_->failure ? std::nullopt : state_->next_buffered();
}

void StdioChannel::abandon(const RequestId&) {}

Task<void> StdioChannel::close(CloseMode mode) {
  auto s = state_;
  const auto& limits = s->runtime.limits;
  Patience patience{limits.exit_after_eof, limits.exit_after_int, limits.exit_after_term};
  if (mode == CloseMode::quick) {
    patience.after_eof = std::min(patience.after_eof, quick_step);
    patience.after_interrupt = std::min(patience.after_interrupt, quick_step);
    patience.after_terminate = std::min(patience.after_terminate, quick_step);
  }
  if (!s->closing) {
    s->closing = true;
    s->silence.cancel();
    s->stop(Error(Errc::closed, fmt::format("the connection to server \"{}\" was closed", s->label)));
    // What was sent before close is still delivered if the child reads it.
    if (!s->out.empty() && !s->broken && !s->process->ended()) {
      const auto executor = co_await asio::this_coro::executor;
      const auto& clock = loop_clock(executor);
      const auto begin = clock.now();
      auto waited = co_await as_result(with_timeout(s->flushed.wait(), patience.after_eof, ""));
      if (!waited && waited.error().code() == Errc::cancelled) throw std::move(waited).error();
      const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(clock.now() - begin);
      patience.after_eof = std::max(patience.after_eof - spent, 10ms);
    }
  }
  if (!s->process) co_return;
  co_await s->process->shutdown(patience);
  s->closed = true;
}

std::string StdioChannel::diagnostics() const {
  return state_->process ? state_->process->stderr_tail() : std::string();
}

std::string StdioChannel::skipped() const { return state_->skipped(); }

std::uint64_t StdioChannel::junk_lines() const noexcept { return state_->junk + state_->lines.reader().junk_lines(); }

}  // namespace patchbay
