#include "transport/line_channel.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <fmt/format.h>

#include "base/fd.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "base/waiting.h"
#include "base/write_queue.h"
#include "process/write_quietly.h"
#include "protocol/methods.h"
#include "transport/line_messages.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;
using boost::system::error_code;

constexpr auto quick_flush = 100ms;

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
  if (const auto text = id.text()) {
    response.id = std::string(*text);
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
        lines(e, runtime.limits, [this] {
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

  LineMessages lines;
  std::optional<Error> failure;  // what receive() throws from now on
  bool input_ended = false;

  WriteQueue out;
  FlushPace out_pace{FlushPace::AtOnce::first_of_a_turn};
  bool full = false;    // a handler waits for room
  bool broken = false;  // nobody reads the output any more
  bool closed = false;
  Event flushed;

  void flush() {
    while (!closed && !broken && !full && !out.empty()) {
      const auto sent = write_quietly(output.native_handle(), out.front());
      if (sent >= 0) {
        out.wrote(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        full = true;
        output.async_wait(asio::posix::stream_descriptor::wait_write, [self = shared_from_this()](error_code) {
          self->full = false;
          self->flush();
        });
      } else {
        break_off(std::strerror(errno));
      }
    }
    if (out.empty() || broken) flushed.notify_all();
  }

  void break_off(std::string_view why) {
    broken = true;
    out.clear();
    stop(Error(Errc::closed, fmt::format("the client no longer reads: {}", why)));
  }

  void stop(Error error) {
    if (!failure) failure = std::move(error);
    error_code ignored;
    input.cancel(ignored);
  }

  std::optional<Incoming> judge(const LineReader::Line& line, ReadMessages read, LineChannel& channel) {
    auto& decoded = read.decoded;
    if (decoded) lines.heard();
    if (decoded && decoded->batch) return Batch{std::move(decoded->messages)};
    if (decoded) return std::move(decoded->messages.front());
    bear(lines.bear(line.text.size(), 1));
    complain(line.text, decoded.error(), channel);
    return std::nullopt;
  }

  // What is no message may go on for a while, and not for ever.
  void bear(const Result<void>& bearable) {
    if (!bearable) stop(bearable.error().within("the client"));
  }

  void complain(std::string_view line, const Error& why, LineChannel& channel) {
    runtime.log(LogLevel::warning, "bad_line", "why", why.message(), "text", cut_utf8(line, 120));
    if (auto response = complaint(line, why, runtime.limits)) (void)channel.send(std::move(*response));
  }

  std::optional<Incoming> next_buffered(LineChannel& channel) {
    const auto junk_before = lines.reader().junk_lines();
    auto found = lines.next([&](const auto& line, ReadMessages read) { return judge(line, std::move(read), channel); });
    const auto junk_lines = lines.reader().junk_lines() - junk_before;
    bear(lines.bear_skipped(junk_lines));
    for (std::uint64_t junk = 0; junk < junk_lines; ++junk) {
      complain(lines.reader().junk_sample(), Error(Errc::protocol, "expected a JSON-RPC message (an object)"), channel);
    }
    return found;
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
  // What nobody waits for leaves room for what somebody does.
  const auto* told = std::get_if<Notification>(&message);
  const bool may_be_missed = told != nullptr && told->method != method::cancelled;
  const auto most = state_->runtime.limits.outgoing;
  return enqueue(may_be_missed ? most / 2 : most, [&](std::string& out) { append_message(out, message); });
}

Result<void> LineChannel::send_batch(std::vector<Message> messages) {
  return enqueue(state_->runtime.limits.outgoing, [&](std::string& out) { append_batch(out, messages); });
}

template <class Write>
Result<void> LineChannel::enqueue(std::size_t most, Write write) {
  auto& s = *state_;
  if (s.failure) return std::unexpected(*s.failure);
  auto& tail = s.out.tail();
  const auto before = tail.size();
  const auto queued_before = s.out.size();
  write(tail);
  tail += '\n';
  // Where nothing waits, nobody has stopped reading: how large one message may be is not decided here.
  if (queued_before > 0 && s.out.size() > most) {
    tail.resize(before);
    return fail(Errc::limit, fmt::format("the client has stopped reading: {} bytes are waiting (the limit is {})",
                                         s.out.size(), most));
  }
  if (!s.full) s.out_pace.queued(s.executor, state_);
  return {};
}

Task<Incoming> LineChannel::receive() {
  auto s = state_;
  for (;;) {
    if (s->failure) throw Error(*s->failure);
    if (auto incoming = s->next_buffered(*this)) co_return std::move(*incoming);
    if (s->failure) continue;
    switch (s->lines.todo()) {
      case LineMessages::Todo::read_aside: {
        auto [line, read] = co_await s->lines.read_aside();
        if (!s->closed) s->lines.put(s->judge(line, std::move(read), *this));
        continue;
      }
      case LineMessages::Todo::turn:
        co_await s->lines.turn();
        continue;
      case LineMessages::Todo::give_up:
        s->stop(s->lines.failure().within("the client"));
        continue;
      case LineMessages::Todo::too_long:
        s->stop(Error(Errc::limit,
                      fmt::format("the client sent a message of more than {} bytes", s->runtime.limits.message)));
        continue;
      case LineMessages::Todo::wait_for_room:
        if (s->input_ended) break;
        co_await s->lines.room();
        continue;
      case LineMessages::Todo::read:
        break;
    }
    // The end of input does not end the output: answers may still be sent.
    if (s->input_ended) throw Error(Errc::closed, "the client closed the connection");
    auto room = s->lines.reader().room();
    error_code failed;
    const auto length = co_await s->input.async_read_some(asio::buffer(room.data(), room.size()),
                                                          asio::redirect_error(asio::use_awaitable, failed));
    if (s->failure) continue;
    if (failed && s->lines.failed()) continue;  // interrupted, because what is held has to go
    if (failed == asio::error::operation_aborted) throw boost::system::system_error(failed);
    if (!failed) {
      s->lines.commit(length);
      continue;
    }
    s->input_ended = true;
    // Half a line may still be a message.
    if (auto rest = co_await s->lines.rest()) {
      if (auto last = s->judge(rest->first, std::move(rest->second), *this)) co_return std::move(*last);
    }
  }
}

void LineChannel::abandon(const RequestId&) {}

Task<void> LineChannel::close(CloseMode mode) {
  auto s = state_;
  s->stop(Error(Errc::closed, "the connection was closed"));
  if (s->closed) co_return;
  const Duration limit = mode == CloseMode::quick ? Duration(quick_flush) : Duration(s->runtime.limits.exit_after_eof);
  if (!s->out.empty() && !s->broken) (void)co_await as_result(with_timeout(s->flushed.wait(), limit, "not read"));
  s->closed = true;
  error_code ignored;
  s->input.close(ignored);
  s->output.close(ignored);
}

}  // namespace patchbay
