#include "rpc/channel_tap.h"

#include <utility>

#include <fmt/format.h>

#include "base/as_result.h"
#include "rpc/trace_context.h"

namespace patchbay {
namespace {

struct OpenTap {
  std::shared_ptr<ChannelTap> tap;
  std::uint32_t channel = 0;
};

// Everything goes on to the channel inside.
class TappedChannel final : public Channel {
 public:
  TappedChannel(std::unique_ptr<Channel> inner, const ChannelTaps& taps, std::shared_ptr<const TraceContext> context)
      : inner_(std::move(inner)), context_(std::move(context)) {
    for (const auto& tap : taps) taps_.push_back({tap, tap->opened()});
  }

  Result<void> send(Message message) override {
    prepare(message);
    return inner_->send(std::move(message));
  }
  Result<void> send_batch(std::vector<Message> messages) override {
    for (auto& message : messages) prepare(message);
    return inner_->send_batch(std::move(messages));
  }
  Result<void> send_about(const RequestId& request, Message message) override {
    prepare(message);
    return inner_->send_about(request, std::move(message));
  }
  Task<Incoming> receive() override {
    try {
      auto incoming = co_await inner_->receive();
      tell(incoming);
      co_return incoming;
    } catch (const Error& error) {
      // Whoever stopped waiting has not ended it.
      if (error.code() != Errc::cancelled) end(&error);
      throw;
    }
  }
  std::optional<Incoming> received() override {
    auto incoming = inner_->received();
    if (incoming) tell(*incoming);
    return incoming;
  }
  Task<void> close(CloseMode mode) override {
    end(nullptr);
    return inner_->close(mode);
  }

  void forget(const RequestId& request) override { inner_->forget(request); }
  void release_stream(const RequestId& request, std::optional<std::chrono::milliseconds> retry) override {
    inner_->release_stream(request, retry);
  }
  void abandon(const RequestId& id) override { inner_->abandon(id); }
  bool withdraw(const RequestId& id) override { return inner_->withdraw(id); }
  std::vector<RequestId> withdraw_all() override { return inner_->withdraw_all(); }
  void set_protocol_version(std::string_view version) override { inner_->set_protocol_version(version); }
  void on_doubt(std::function<void()> doubted) override { inner_->on_doubt(std::move(doubted)); }
  std::string diagnostics() const override { return inner_->diagnostics(); }
  std::string skipped() const override { return inner_->skipped(); }

 private:
  void prepare(Message& message) {
    if (context_) {
      if (auto* request = std::get_if<Request>(&message)) request->params = context_->added(std::move(request->params));
    }
    for (const auto& [tap, channel] : taps_) tap->sent(channel, message);
  }
  void tell(const Incoming& incoming) {
    for (const auto& [tap, channel] : taps_) {
      if (const auto* message = std::get_if<Message>(&incoming)) {
        tap->received(channel, *message);
      } else if (const auto* lost = std::get_if<Lost>(&incoming)) {
        tap->lost(channel, *lost);
      } else {
        for (const auto& one : std::get<Batch>(incoming).messages) tap->received(channel, one);
      }
    }
  }
  void end(const Error* why) {
    if (std::exchange(ended_, true)) return;
    for (const auto& [tap, channel] : taps_) tap->closed(channel, why);
  }

  std::unique_ptr<Channel> inner_;
  std::vector<OpenTap> taps_;
  std::shared_ptr<const TraceContext> context_;
  bool ended_ = false;
};

class TappedTransport final : public Transport {
 public:
  TappedTransport(std::shared_ptr<Transport> inner, ChannelTaps taps, std::shared_ptr<const TraceContext> context)
      : inner_(std::move(inner)), taps_(std::move(taps)), context_(std::move(context)) {}

  Kind kind() const noexcept override { return inner_->kind(); }
  std::string describe() const override { return inner_->describe(); }
  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override {
    return open_tapped(inner_, taps_, context_, runtime);
  }
  Identity identity() const override { return inner_->identity(); }
  std::unique_ptr<Transport> fallback() const override {
    auto other = inner_->fallback();
    return other ? std::make_unique<TappedTransport>(std::move(other), taps_, context_) : nullptr;
  }

 private:
  static Task<std::unique_ptr<Channel>> open_tapped(std::shared_ptr<Transport> inner, ChannelTaps taps,
                                                    std::shared_ptr<const TraceContext> context, Runtime runtime) {
    auto channel = co_await inner->open(runtime);
    co_return std::make_unique<TappedChannel>(std::move(channel), taps, std::move(context));
  }

  std::shared_ptr<Transport> inner_;
  ChannelTaps taps_;
  std::shared_ptr<const TraceContext> context_;
};

class TraceTap final : public ChannelTap {
 public:
  TraceTap(std::string server, std::function<void(std::string_view, std::string_view)> trace, Log log)
      : sent_(server + " ->"), received_(server + " <-"), trace_(std::move(trace)), log_(std::move(log)) {}

  std::uint32_t opened() override { return 0; }
  void sent(std::uint32_t, const Message& message) override { write(sent_, message); }
  void received(std::uint32_t, const Message& message) override { write(received_, message); }
  void lost(std::uint32_t, const Lost&) override {}
  void closed(std::uint32_t, const Error*) override {}

 private:
  void write(std::string_view direction, const Message& message) {
    std::string text;
    append_message(text, message);
    try {
      trace_(direction, text);
    } catch (...) {
      if (std::exchange(failed_, true)) return;
      log_(LogLevel::error, "trace_failed", "reason", error_from(std::current_exception()).message());
    }
  }

  std::string sent_;
  std::string received_;
  std::function<void(std::string_view, std::string_view)> trace_;
  Log log_;
  bool failed_ = false;  // that was told
};

}  // namespace

std::shared_ptr<Transport> tapped(std::shared_ptr<Transport> transport, ChannelTaps taps,
                                  std::shared_ptr<const TraceContext> context) {
  if (taps.empty() && !context) return transport;
  return std::make_shared<TappedTransport>(std::move(transport), std::move(taps), std::move(context));
}

std::shared_ptr<ChannelTap> trace_tap(std::string server,
                                      std::function<void(std::string_view direction, std::string_view message)> trace,
                                      Log log) {
  return std::make_shared<TraceTap>(std::move(server), std::move(trace), std::move(log));
}

}  // namespace patchbay
