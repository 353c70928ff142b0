#include "transport/line_channel.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <fmt/format.h>

#include "base/byte_budget.h"
#include "base/fd.h"
#include "base/pace.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "http/chatter.h"
#include "process/line_reader.h"
#include "process/write_quietly.h"
#include "rpc/read_messages.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using boost::system::error_code;

constexpr auto quick_flush = 100ms;
constexpr std::size_t kept_buffer = 1u << 20;

// Reading and writing without blocking needs a flag that belongs to the open file, not to
// the descriptor: whoever shares the file (the shell a terminal belongs to, a stderr that
// is the same pipe) would find it set. A pipe or terminal is therefore opened anew; what
// cannot be (a socket) or must not be (a file, for its offset) is shared and gets its flags
// back.
class ClaimedFd {
 public:
  ClaimedFd(int fd, int mode) : original_(fd) {
    struct stat about{};
    if (::fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || ::isatty(fd) == 1)) {
      fd_.reset(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), mode | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    }
    if (fd_) return;
    flags_ = ::fcntl(fd, F_GETFL);
    fd_.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!fd_) {
      throw Error(Errc::connect, fmt::format("cannot use descriptor {}: {}", fd, std::strerror(errno)));
    }
  }
  ClaimedFd(const ClaimedFd&) = delete;
  ClaimedFd& operator=(const ClaimedFd&) = delete;
  ~ClaimedFd() {
    if (flags_ >= 0) (void)::fcntl(original_, F_SETFL, flags_);
  }

  int release() noexcept { return fd_.release(); }

 private:
  int original_;
  int flags_ = -1;  // to be restored, when the open file is shared
  Fd fd_;
};

// What to tell the client about a line that is no message; nothing when it is (or wants to
// be) an answer, which is never answered.
std::optional<ErrorResponse> complaint(std::string_view line, const Error& why, const Limits& limits) {
  if (why.code() == Errc::limit || is_read_aside(line.size(), limits)) {
    // Not looked into further: it is too much already.
    return ErrorResponse{std::nullopt, {rpc_code::invalid_request, why.message(), {}}};
  }
  const auto depth = limits.depth;
  auto value = parse_json(line, {.max_depth = depth});
  if (!value) return ErrorResponse{std::nullopt, {rpc_code::parse_error, why.message(), {}}};
  if (value->find("result") || value->find("error")) return std::nullopt;
  ErrorResponse response{std::nullopt, {rpc_code::invalid_request, why.message(), {}}};
  const Json& id = std::as_const(*value)["id"];
  if (const auto* text = id.if_string()) {
    response.id = *text;
  } else if (id.is_integer()) {
    if (auto number = id.to_int()) response.id = *number;
  }
  return response;
}

}  // namespace

// Shared with the handlers that wait for the output; those may outlive the channel by one
// turn of the loop.
struct LineChannel::State : std::enable_shared_from_this<State> {
  State(const asio::any_io_executor& e, int in, int out, Runtime r)
      : runtime(std::move(r)),
        executor(e),
        claimed_input(in, O_RDONLY),
        claimed_output(out, O_WRONLY),
        input(e, claimed_input.release()),
        output(e, claimed_output.release()),
        reader(runtime.limits.message),
        incoming(byte_budget(), e, runtime.limits.buffered, [this] {
          error_code ignored;
          input.cancel(ignored);
        }) {
    input.non_blocking(true);
    output.non_blocking(true);
  }

  Runtime runtime;
  asio::any_io_executor executor;
  ClaimedFd claimed_input;
  ClaimedFd claimed_output;
  asio::posix::stream_descriptor input;
  asio::posix::stream_descriptor output;

  LineReader reader;
  Pace pace;
  Chatter chatter;
  std::uint64_t chattered = 0;  // bytes of junk that were counted there
  ByteBudget::Unfinished incoming;
  std::optional<LineReader::Line> large;  // the next line, to be read aside
  std::optional<Incoming> ready;          // what came of one whose receiver left meanwhile
  std::optional<Error> failure;           // what receive() throws from now on
  bool input_ended = false;

  // `writing` is on its way from `written` on; `waiting` gathers.
  std::string writing;
  std::size_t written = 0;
  std::string waiting;
  bool full = false;          // a handler waits for room
  bool flush_posted = false;  // a handler will flush in this turn of the loop
  bool broken = false;        // nobody reads the output any more
  bool closed = false;
  Event flushed;

  std::size_t queued() const noexcept { return writing.size() - written + waiting.size(); }

  void flush() {
    while (!broken && !full && queued() > 0) {
      if (written == writing.size()) {
        writing.clear();
        written = 0;
        if (writing.capacity() > kept_buffer) writing.shrink_to_fit();
        writing.swap(waiting);
      }
      const auto sent = write_quietly(output.native_handle(), std::string_view(writing).substr(written));
      if (sent >= 0) {
        written += static_cast<std::size_t>(sent);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        full = true;
        output.async_wait(asio::posix::stream_descriptor::wait_write, [self = shared_from_this()](error_code) {
          self->full = false;
          if (!self->closed) self->flush();
        });
      } else {
        break_off(std::strerror(errno));
      }
    }
    if (queued() == 0 || broken) flushed.notify_all();
  }

  void break_off(std::string_view why) {
    broken = true;
    writing.clear();
    waiting.clear();
    written = 0;
    stop(Error(Errc::closed, fmt::format("the client no longer reads: {}", why)));
  }

  void stop(Error error) {
    if (!failure) failure = std::move(error);
    error_code ignored;
    input.cancel(ignored);
  }

  std::optional<Incoming> judge(const LineReader::Line& line, ReadMessages read, LineChannel& channel) {
    auto& decoded = read.decoded;
    if (decoded) chatter.heard();
    if (decoded && decoded->batch) return Batch{std::move(decoded->messages)};
    if (decoded) return std::move(decoded->messages.front());
    bear(line.text.size(), 1);
    complain(line.text, decoded.error(), channel);
    return std::nullopt;
  }

  // What is no message may go on for a while, and not for ever.
  void bear(std::size_t bytes, std::size_t pieces) {
    auto bearable = chatter.note(bytes, pieces, std::chrono::steady_clock::now());
    if (!bearable) stop(bearable.error().within("the client"));
  }

  void complain(std::string_view line, const Error& why, LineChannel& channel) {
    runtime.log(LogLevel::warning, "bad_line", "why", why.message(), "text", cut_utf8(line, 120));
    if (auto response = complaint(line, why, runtime.limits)) (void)channel.send(std::move(*response));
  }

  std::optional<Incoming> next_buffered(LineChannel& channel) {
    if (ready) return std::exchange(ready, std::nullopt);
    const auto junk_before = reader.junk_lines();
    std::optional<Incoming> found;
    while (!large && !pace.due()) {
      auto line = reader.next();
      if (!line) break;
      pace.note(line->text.size());
      if (is_read_aside(line->text.size(), runtime.limits)) {
        large = std::move(line);
      } else if ((found = judge(*line, read_messages(line->block, line->text, runtime.limits), channel))) {
        break;
      }
    }
    bear(reader.skipped_bytes() - std::exchange(chattered, reader.skipped_bytes()), reader.junk_lines() - junk_before);
    for (auto junk = junk_before; junk < reader.junk_lines(); ++junk) {
      complain(reader.junk_sample(), Error(Errc::protocol, "expected a JSON-RPC message (an object)"), channel);
    }
    return found;
  }

  // The line that next_buffered() left alone.
  static Task<void> read_large(std::shared_ptr<State> self, LineChannel& channel) {
    const auto line = std::move(*std::exchange(self->large, std::nullopt));
    self->incoming.hold(line.text.size());
    auto weight = self->incoming.finish();
    auto read = co_await read_messages_aside(line.block, line.text, std::move(weight), self->runtime.limits);
    self->pace.rested();
    if (!self->closed) self->ready = self->judge(line, std::move(read), channel);
  }
};

LineChannel::LineChannel(asio::any_io_executor executor, int input, int output, Runtime runtime)
    : state_(std::make_shared<State>(executor, input, output, std::move(runtime))) {}

LineChannel::~LineChannel() {
  state_->closed = true;
  state_->stop(Error(Errc::closed, "the connection was closed"));
  error_code ignored;
  state_->input.close(ignored);
  state_->output.close(ignored);
}

Result<void> LineChannel::send(Message message) {
  return enqueue([&](std::string& out) { append_message(out, message); });
}

Result<void> LineChannel::send_batch(std::vector<Message> messages) {
  return enqueue([&](std::string& out) { append_batch(out, messages); });
}

template <class Write>
Result<void> LineChannel::enqueue(Write write) {
  auto& s = *state_;
  if (s.failure) return std::unexpected(*s.failure);
  const auto before = s.waiting.size();
  const auto queued_before = s.queued();
  write(s.waiting);
  s.waiting += '\n';
  // Where nothing waits, nobody has stopped reading: how large one message may be is not decided here.
  if (queued_before > 0 && s.queued() > s.runtime.limits.outgoing) {
    s.waiting.resize(before);
    return fail(Errc::limit, fmt::format("the client has stopped reading: {} bytes are waiting (the limit is {})",
                                         s.queued(), s.runtime.limits.outgoing));
  }
  if (s.full || s.flush_posted) return {};
  // The first message of a turn is written at once; those that follow in the same turn are
  // gathered and written together at its end.
  s.flush();
  s.flush_posted = true;
  asio::post(s.executor, [state = state_] {
    state->flush_posted = false;
    if (!state->closed) state->flush();
  });
  return {};
}

Task<Incoming> LineChannel::receive() {
  auto s = state_;
  for (;;) {
    if (s->failure) throw Error(*s->failure);
    if (auto incoming = s->next_buffered(*this)) co_return std::move(*incoming);
    if (s->failure) continue;
    if (s->large) {
      co_await State::read_large(s, *this);
      continue;
    }
    if (s->pace.due() || s->reader.resting()) {
      co_await s->pace.turn();
      continue;
    }
    if (s->incoming.failed()) {
      s->reader.drop();
      s->incoming.hold(0);
      s->stop(s->incoming.failure().within("the client"));
      continue;
    }
    s->incoming.hold(s->reader.unfinished());
    if (s->reader.too_long()) {
      s->stop(Error(Errc::limit,
                    fmt::format("the client sent a message of more than {} bytes", s->runtime.limits.message)));
      continue;
    }
    // The end of input does not end the output: answers may still be sent.
    if (s->input_ended) throw Error(Errc::closed, "the client closed its end");
    if (!s->incoming.fits(ByteBudget::small)) {
      auto waited = co_await as_result(s->incoming.room(ByteBudget::small));
      if (!waited && waited.error().code() != Errc::limit) throw std::move(waited).error();
      continue;
    }
    auto room = s->reader.room();
    error_code failed;
    const auto length = co_await s->input.async_read_some(asio::buffer(room.data(), room.size()),
                                                          asio::redirect_error(asio::use_awaitable, failed));
    if (s->failure || s->incoming.failed()) continue;
    if (failed == asio::error::operation_aborted) throw boost::system::system_error(failed);
    s->pace.rested();
    if (!failed) {
      s->reader.commit(length);
      continue;
    }
    s->input_ended = true;
    // Half a line may still be a message.
    if (auto line = s->reader.rest()) {
      auto read = is_read_aside(line->text.size(), s->runtime.limits)
                      ? co_await read_messages_aside(line->block, line->text, s->incoming.finish(), s->runtime.limits)
                      : read_messages(line->block, line->text, s->runtime.limits);
      if (auto last = s->judge(*line, std::move(read), *this)) co_return std::move(*last);
    }
  }
}

void LineChannel::abandon(const RequestId&) {}

Task<void> LineChannel::close(CloseMode mode) {
  auto s = state_;
  s->stop(Error(Errc::closed, "the connection was closed"));
  if (s->closed) co_return;
  const Duration limit = mode == CloseMode::quick ? Duration(quick_flush) : Duration(s->runtime.limits.exit_after_eof);
  if (s->queued() > 0 && !s->broken) (void)co_await as_result(with_timeout(s->flushed.wait(), limit, "not read"));
  s->closed = true;
  error_code ignored;
  s->input.close(ignored);
  s->output.close(ignored);
}

}  // namespace patchbay
