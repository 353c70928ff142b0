#include "transport/text_channel.h"

#include <deque>
#include <utility>

#include <fmt/format.h>

#include "base/apart.h"
#include "base/byte_budget.h"
#include "base/close_once.h"
#include "base/scope.h"
#include "base/waiting.h"
#include "http/chatter.h"
#include "rpc/transport.h"
#include "transport/inbox.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto last_writes = 2s;  // for what is queued when a graceful close begins
constexpr auto quick_close = 100ms;
constexpr std::size_t inbox_room = 8u << 20;

}  // namespace

struct TextMessages::State {
  using Self = std::shared_ptr<State>;

  State(asio::any_io_executor executor, std::unique_ptr<TextChannel> t, std::string s, Runtime r)
      : texts(std::move(t)),
        shown(std::move(s)),
        runtime(std::move(r)),
        clock(loop_clock(executor)),
        inbox(inbox_room),
        apart(executor),
        scope(executor) {}

  std::shared_ptr<TextChannel> texts;
  std::string shown;
  Runtime runtime;
  const Clock& clock;
  MessageInbox inbox;
  Chatter chatter;
  std::deque<std::string> queue;
  std::size_t queued = 0;  // bytes, the text being written included
  bool writing = false;
  Event written;  // nothing is queued any more, or nothing will be written
  CloseOnce closing;
  Apart apart;  // the program's functions, which need not listen when they are cancelled
  Scope scope;

  // What the program throws beside Error is the end of its connection.
  Error end_of(Error error) const {
    if (error.code() == Errc::internal) error = Error(Errc::closed, error.message());
    return error.within(shown);
  }

  static Task<std::optional<std::string>> read_one(std::shared_ptr<TextChannel> texts) {
    co_return co_await texts->read();
  }
  static Task<bool> write_one(std::shared_ptr<TextChannel> texts, std::string text) {
    co_await texts->write(std::move(text));
    co_return true;
  }
  static Task<bool> close_one(std::shared_ptr<TextChannel> texts) {
    co_await texts->close();
    co_return true;
  }

  static Task<void> read(Self self) {
    for (;;) {
      while (!self->inbox.has_room()) co_await self->inbox.taken();
      auto text = co_await as_result(self->apart.run(read_one(self->texts)));
      auto taken =
          text ? co_await take(self, std::move(*text)) : std::unexpected(self->end_of(std::move(text).error()));
      if (taken) continue;
      self->inbox.finish(std::move(taken).error());
      co_return;
    }
  }

  static Task<Result<void>> take(Self self, std::optional<std::string> text) {
    if (!text) co_return fail(Errc::closed, fmt::format("{} ended the connection", self->shown));
    const auto size = text->size();
    if (size > self->runtime.limits.message) {
      co_return fail(Errc::limit, fmt::format("{} sent a message of {} bytes; {} are allowed", self->shown, size,
                                              self->runtime.limits.message));
    }
    auto put = MessageInbox::Put::nothing;
    if (is_read_aside(size, self->runtime.limits)) {
      put = co_await self->inbox.put_text_aside(std::move(*text), byte_budget().charge(size), std::nullopt,
                                                self->runtime);
    } else {
      put = self->inbox.put_text(std::move(*text), std::nullopt, self->runtime);
    }
    if (put != MessageInbox::Put::nothing) {
      self->chatter.heard();
      co_return Result<void>();
    }
    auto bearable = self->chatter.note(size, 1, self->clock.now());
    if (!bearable) co_return std::unexpected(bearable.error().within(self->shown));
    co_return Result<void>();
  }

  static Task<void> write(Self self) {
    while (!self->queue.empty()) {
      auto text = std::move(self->queue.front());
      self->queue.pop_front();
      const auto size = text.size();
      auto sent = co_await as_result(self->apart.run(write_one(self->texts, std::move(text))));
      self->queued -= size;
      if (sent) continue;
      self->inbox.finish(self->end_of(std::move(sent).error()));
      self->queue.clear();
      self->queued = 0;
    }
    self->writing = false;
    self->written.notify_all();
  }

  static Task<void> until_written(Self self) {
    while (self->writing) co_await self->written.wait();
  }

  static Task<void> close(Self self, CloseMode mode) {
    if (!self->closing.begin()) co_return co_await self->closing.finished();
    self->inbox.close();
    const bool throws = co_await asio::this_coro::throw_if_cancelled();
    co_await asio::this_coro::throw_if_cancelled(false);
    const auto limit = mode == CloseMode::graceful ? Duration(last_writes) : Duration(quick_close);
    (void)co_await as_result(with_timeout(until_written(self), limit, "not everything was written"));
    auto ended = co_await as_result(with_timeout(self->apart.run(close_one(self->texts)), limit, "it did not end"));
    if (!ended) self->runtime.log(LogLevel::warning, "close_failed", "reason", ended.error().message());
    self->scope.cancel();
    co_await self->scope.join();
    self->closing.finish();
    co_await asio::this_coro::throw_if_cancelled(throws);
  }
};

TextMessages::TextMessages(asio::any_io_executor executor, std::unique_ptr<TextChannel> texts, std::string shown,
                           Runtime runtime)
    : state_(std::make_shared<State>(executor, std::move(texts), std::move(shown), std::move(runtime))) {
  state_->scope.spawn(State::read(state_));
}

TextMessages::~TextMessages() {
  state_->closing.begin();
  state_->scope.cancel();
  state_->inbox.finish(Error(Errc::closed, "the connection was closed"));
}

Result<void> TextMessages::enqueue(std::string text) {
  auto& state = *state_;
  if (state.inbox.end()) return std::unexpected(*state.inbox.end());
  if (state.queued > 0 && state.queued + text.size() > state.runtime.limits.outgoing) {
    return fail(Errc::limit,
                fmt::format("{} bytes wait to be sent, because {} does not accept them", state.queued, state.shown));
  }
  state.queued += text.size();
  state.queue.push_back(std::move(text));
  if (!std::exchange(state.writing, true)) state.scope.spawn(State::write(state_));
  return {};
}

Result<void> TextMessages::send(Message message) {
  std::string text;
  append_message(text, message);
  return enqueue(std::move(text));
}

Result<void> TextMessages::send_batch(std::vector<Message> messages) {
  std::string text;
  append_batch(text, messages);
  return enqueue(std::move(text));
}

Task<Incoming> TextMessages::receive() { return MessageInbox::take({state_, &state_->inbox}); }

std::optional<Incoming> TextMessages::received() { return state_->inbox.take_now(); }

Task<void> TextMessages::close(CloseMode mode) { return State::close(state_, mode); }

namespace {

class TextTransport final : public Transport {
 public:
  TextTransport(std::string name, OpenTextChannel open) : name_(std::move(name)), open_(std::move(open)) {}

  Kind kind() const noexcept override { return Kind::text; }
  std::string describe() const override { return name_; }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override { return open_with(open_, name_, runtime); }

 private:
  // Keeps the function for as long as what it returned runs.
  static Task<std::unique_ptr<TextChannel>> opened(OpenTextChannel open) { co_return co_await open(); }
  static Task<std::unique_ptr<Channel>> open_with(OpenTextChannel open, std::string name, Runtime runtime) {
    auto executor = co_await asio::this_coro::executor;
    // Apart, since nothing makes the program's function listen to its cancellation.
    auto texts = co_await as_result(Apart(executor).run(opened(std::move(open))));
    if (!texts) {
      if (texts.error().code() == Errc::internal) throw Error(Errc::connect, texts.error().within(name).message());
      throw texts.error().within(name);
    }
    if (!*texts)
      throw Error(Errc::connect, fmt::format("{}: the program that embeds Patchbay returned no connection", name));
    co_return std::make_unique<TextMessages>(executor, std::move(*texts), std::move(name), std::move(runtime));
  }

  std::string name_;
  OpenTextChannel open_;
};

}  // namespace

std::shared_ptr<Transport> text_transport(std::string name, OpenTextChannel open) {
  return std::make_shared<TextTransport>(std::move(name), std::move(open));
}

}  // namespace patchbay
