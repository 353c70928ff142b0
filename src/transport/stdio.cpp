#include "transport/stdio.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <unordered_set>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/byte_budget.h"
#include "base/crypto.h"
#include "base/pace.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "http/chatter.h"
#include "process/command_lookup.h"
#include "process/line_reader.h"
#include "process/process.h"
#include "rpc/read_messages.h"
#include "secrets/names.h"
#include "text/clean_text.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto for_exit_status = 200ms;  // between the end of stdout and the exit status
constexpr auto for_slow_exit = 2s;       // the same, when it is seen to be ending on a busy machine
constexpr auto for_reader = 500ms;       // between a failed write and the reader's own verdict
constexpr auto quick_step = 100ms;       // each step of a quick close
constexpr std::size_t detail_lines = 20;
constexpr std::size_t kept_buffer = 1u << 20;
constexpr std::size_t sample_size = 80;  // of a line that was no message, in an error

// Different when the command leads to another file, or that file was written; and the same
// for the first argument that is a file: a script, when the command is an interpreter.
std::string command_stamp(const StdioTarget& options) {
  std::error_code ignored;
  const auto here = std::filesystem::current_path(ignored) / options.cwd;
  const auto environment = overlay_environment(environ, options.env);
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
                 colon != argument.npos && is_secret_variable(argument.substr(0, colon)) && colon < equals) {
        text += argument.substr(0, colon + 1) + " ***";
      } else if (equals != argument.npos && is_secret_variable(argument.substr(0, equals))) {
        text += argument.substr(0, equals + 1) + "***";
      } else {
        text += argument;
        value_follows = argument.starts_with('-') && equals == argument.npos && is_secret_variable(argument);
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
    auto process = co_await Process::start(std::move(spec), copy);
    auto label = name_.empty() ? std::filesystem::path(options_.command).filename().string() : name_;
    co_return std::make_unique<StdioChannel>(std::move(process), std::move(label), std::move(copy),
                                             co_await asio::this_coro::executor);
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
        reader(runtime.limits.message),
        incoming(byte_budget(), e, runtime.limits.buffered,
                 [this] {
                   if (process) process->interrupt_read();
                 }),
        silence(e) {}

  std::unique_ptr<Process> process;
  std::string label;
  Runtime runtime;
  asio::any_io_executor executor;

  // Reading.
  LineReader reader;
  std::optional<Error> failure;  // what receive() throws from now on
  std::uint64_t junk = 0;        // lines that looked like JSON and were no message
  std::string first_junk;        // the first of those
  bool heard = false;            // a message has come
  Pace pace;
  Chatter chatter;
  std::uint64_t chattered = 0;            // bytes of junk that were counted there
  std::optional<LineReader::Line> large;  // the next line, to be read aside
  std::optional<Incoming> ready;          // what came of one whose receiver left meanwhile
  ByteBudget::Unfinished incoming;
  std::uint64_t junk_told = 0;  // lines of either kind that were logged

  // Writing. `writing` is on its way to the pipe from `written` on; `waiting` gathers.
  std::string writing;
  std::size_t written = 0;
  std::string waiting;
  // Requests of which nothing was written yet, each with where it begins among all bytes that were ever queued; in that
  // order, and empty while the child reads.
  struct Unsent {
    std::uint64_t begin;
    std::uint64_t size;
    RequestId id;
  };
  std::deque<Unsent> unsent;
  std::unordered_set<RequestId> unsent_ids;
  std::uint64_t gone = 0;     // bytes written, of all that were ever queued
  bool pipe_full = false;     // a handler waits for room
  bool flush_posted = false;  // a handler will flush in this turn of the loop
  bool unanswered = false;    // something was written since the last read
  bool broken = false;        // nobody reads stdin any more
  asio::steady_timer silence;
  Event flushed;

  bool closing = false;
  bool closed = false;

  std::size_t queued() const noexcept { return writing.size() - written + waiting.size(); }

  // Its bytes are in one of the two texts, whole: `waiting` becomes `writing` at once.
  void cut(const Unsent& request) {
    if (broken) return;  // nothing is left to be written
    const auto ahead = writing.size() - written;
    const auto at = static_cast<std::size_t>(request.begin - gone);
    if (at < ahead) {
      writing.erase(written + at, request.size);
    } else {
      waiting.erase(at - ahead, request.size);
    }
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
    const auto count = junk + reader.junk_lines();
    if (count == 0) return {};
    const auto& first = reader.junk_lines() > 0 ? reader.first_junk() : first_junk;
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
    return Error(Errc::closed, fmt::format("server \"{}\" {}", label, what))
        .with_detail(process->stderr_tail(detail_lines));
  }

  void flush() {
    while (!broken && !pipe_full && queued() > 0) {
      if (written == writing.size()) {
        writing.clear();
        written = 0;
        if (writing.capacity() > kept_buffer) writing.shrink_to_fit();
        writing.swap(waiting);
      }
      auto sent = process->write_some(std::string_view(writing).substr(written));
      if (!sent) {
        break_input(sent.error());
      } else if (*sent == 0) {
        pipe_full = true;
        process->when_writable([self = shared_from_this()] {
          self->pipe_full = false;
          if (!self->closed) self->flush();
        });
      } else {
        written += *sent;
        gone += *sent;
        for (; !unsent.empty() && unsent.front().begin < gone; unsent.pop_front()) {
          unsent_ids.erase(unsent.front().id);
        }
      }
    }
    if (queued() == 0 || broken) flushed.notify_all();
  }

  // The reader's verdict (exit status, stderr) says more than EPIPE does, so it gets a
  // moment to arrive first.
  void break_input(const Error& why) {
    broken = true;
    writing.clear();
    waiting.clear();
    written = 0;
    runtime.log(LogLevel::debug, "write_failed", "text", why.message());
    silence.expires_after(for_reader);
    silence.async_wait([self = shared_from_this()](boost::system::error_code aborted) {
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
      chatter.heard();
      return taken(std::move(*read.decoded));
    }
    const auto& why = read.decoded.error();
    bear(line.text.size(), 1);
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
  void bear(std::size_t bytes, std::size_t pieces) {
    auto bearable = chatter.note(bytes, pieces, std::chrono::steady_clock::now());
    if (!bearable) fail_with(bearable.error().within(fmt::format("server \"{}\"", label)));
  }

  void tell_junk(std::string_view why, std::string_view text) {
    runtime.log(junk_told++ == 0 ? LogLevel::info : LogLevel::debug, "junk", "why", why, "text", cut_utf8(text, 120));
  }

  std::optional<Incoming> next_buffered() {
    if (ready) return std::exchange(ready, std::nullopt);
    const auto junk_before = reader.junk_lines();
    std::optional<Incoming> found;
    while (!large && !pace.due()) {
      auto line = reader.next();
      if (!line) break;
      pace.note(line->text.size());
      if (is_read_aside(line->text.size(), runtime.limits)) {
        large = std::move(line);
      } else if ((found = judge(*line, read_messages(line->block, line->text, runtime.limits)))) {
        break;
      }
    }
    const auto junk_lines = reader.junk_lines() - junk_before;
    bear(reader.skipped_bytes() - std::exchange(chattered, reader.skipped_bytes()), junk_lines);
    if (junk_lines > 0) tell_junk("not JSON", reader.junk_sample());
    return found;
  }

  // The line that next_buffered() left alone.
  static Task<void> read_large(std::shared_ptr<State> self) {
    const auto line = std::move(*std::exchange(self->large, std::nullopt));
    self->incoming.hold(line.text.size());
    auto weight = self->incoming.finish();
    auto read = co_await read_messages_aside(line.block, line.text, std::move(weight), self->runtime.limits);
    self->pace.rested();
    self->ready = self->judge(line, std::move(read));
  }

  // After the last byte: half a line may still be a message.
  Task<std::optional<Incoming>> finish() {
    auto line = reader.rest();
    std::optional<Incoming> last;
    std::string cut;
    if (line) {
      auto read = is_read_aside(line->text.size(), runtime.limits)
                      ? co_await read_messages_aside(line->block, line->text, incoming.finish(), runtime.limits)
                      : read_messages(line->block, line->text, runtime.limits);
      if (read.decoded) last = taken(std::move(*read.decoded));
      if (!last) cut = fmt::format(" in the middle of a message (only {} bytes of it arrived)", line->text.size());
    }
    line.reset();
    bool ended = co_await process->ended_within(for_exit_status);
    if (failure) co_return last;
    if (!ended && process->exiting()) ended = co_await process->ended_within(for_slow_exit);
    if (failure) co_return last;
    if (const auto& status = process->exit_status()) {
      fail_with(closed_error(patchbay::describe(*status) + cut));
    } else if (process->warden_lost()) {
      fail_with(closed_error("was lost: its patchbay-warden process was killed" + cut));
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

StdioChannel::~StdioChannel() {
  state_->closing = true;
  state_->closed = true;
  state_->silence.cancel();
  state_->fail_with(Error(Errc::closed, "the connection was closed"));
  // Handlers that wait for the pipe hold the state; the child must not wait for them.
  state_->process.reset();
}

Result<void> StdioChannel::send(Message message) {
  const auto begin = state_->gone + state_->queued();
  auto sent = enqueue([&](std::string& out) { append_message(out, message); });
  const auto* request = std::get_if<Request>(&message);
  if (sent && request && state_->gone <= begin && state_->unsent_ids.insert(request->id).second) {
    state_->unsent.push_back({begin, state_->gone + state_->queued() - begin, request->id});
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
  const auto before = s.waiting.size();
  write(s.waiting);
  s.waiting += '\n';
  if (s.queued() > s.runtime.limits.outgoing) {
    s.waiting.resize(before);
    return fail(Errc::limit, fmt::format("server \"{}\" has stopped reading: {} bytes are waiting (the limit is {})",
                                         s.label, s.queued(), s.runtime.limits.outgoing));
  }
  if (s.pipe_full || s.flush_posted) return {};
  // A message after an answer is written at once. Those that follow before anything else is
  // read are gathered and written together at the end of this turn of the loop.
  if (!std::exchange(s.unanswered, true)) {
    s.flush();
    return {};
  }
  s.flush_posted = true;
  asio::post(s.executor, [state = state_] {
    state->flush_posted = false;
    if (!state->closed) state->flush();
  });
  return {};
}

Task<Incoming> StdioChannel::receive() {
  auto s = state_;
  for (;;) {
    if (s->closing) throw *s->failure;
    // What came before the failure is delivered before it.
    if (auto incoming = s->next_buffered()) co_return std::move(*incoming);
    if (s->failure) throw *s->failure;
    if (s->large) {
      co_await State::read_large(s);
      continue;
    }
    if (s->pace.due() || s->reader.resting()) {
      co_await s->pace.turn();
      continue;
    }
    if (s->incoming.failed()) {
      s->reader.drop();
      s->incoming.hold(0);
      s->fail_with(s->incoming.failure().within(fmt::format("server \"{}\"", s->label)));
      continue;
    }
    s->incoming.hold(s->reader.unfinished());
    if (s->reader.too_long()) {
      s->fail_with(Error(Errc::limit, fmt::format("server \"{}\" sent a message of more than {} bytes", s->label,
                                                  s->runtime.limits.message)));
      throw *s->failure;
    }
    if (!s->incoming.fits(ByteBudget::small)) {
      auto waited = co_await as_result(s->incoming.room(ByteBudget::small));
      if (!waited && waited.error().code() != Errc::limit) throw std::move(waited).error();
      continue;
    }
    auto room = s->reader.room();
    const auto length = co_await s->process->read_some(room);
    if (s->closing) throw *s->failure;
    if (!length) continue;
    if (*length > 0) {
      s->unanswered = false;
      s->pace.rested();
      s->reader.commit(*length);
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
    if (s->queued() > 0 && !s->broken && !s->process->ended()) {
      const auto begin = std::chrono::steady_clock::now();
      auto waited = co_await as_result(with_timeout(s->flushed.wait(), patience.after_eof, ""));
      if (!waited && waited.error().code() == Errc::cancelled) throw std::move(waited).error();
      const auto spent =
          std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
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

std::uint64_t StdioChannel::junk_lines() const noexcept { return state_->junk + state_->reader.junk_lines(); }

}  // namespace patchbay
