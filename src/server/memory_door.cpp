// A server in this process, reached like any other: each open() is one connection to it,
// served by a coroutine that belongs to the channel handed out.
#include <patchbay/server.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "rpc/transport.h"
#include "server/serve.h"
#include "transport/memory.h"

namespace patchbay {
namespace {

class DoorChannel final : public Channel {
 public:
  DoorChannel(asio::any_io_executor executor, std::unique_ptr<Channel> inner)
      : inner_(std::move(inner)), scope_(std::move(executor)) {}

  void start(Task<void> serving) { scope_.spawn(std::move(serving)); }

  Result<void> send(Message message) override { return inner_->send(std::move(message)); }
  Result<void> send_batch(std::vector<Message> messages) override { return inner_->send_batch(std::move(messages)); }
  Task<Incoming> receive() override { return inner_->receive(); }
  void abandon(const RequestId& id) override { inner_->abandon(id); }
  Task<void> close(CloseMode mode) override {
    co_await inner_->close(mode);
    co_await scope_.join();
  }

 private:
  std::unique_ptr<Channel> inner_;
  Scope scope_;
};

Task<void> serve_quietly(std::shared_ptr<Server> server, std::unique_ptr<Channel> channel, Runtime runtime) {
  auto served = co_await as_result(serve(*server, std::move(channel), runtime));
  if (!served) runtime.log(LogLevel::error, "serving_failed", "reason", served.error().message());
}

class MemoryTransport final : public Transport {
 public:
  explicit MemoryTransport(std::shared_ptr<Server> server) : server_(std::move(server)) {}

  Kind kind() const noexcept override { return Kind::memory; }
  std::string describe() const override { return server_->options().info.name + " (in this process)"; }

  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override { return open_to(server_, runtime); }

 private:
  static Task<std::unique_ptr<Channel>> open_to(std::shared_ptr<Server> server, Runtime runtime) {
    auto executor = co_await asio::this_coro::executor;
    auto [near, far] = make_memory_pair(runtime.limits);
    auto channel = std::make_unique<DoorChannel>(executor, std::move(near));
    channel->start(serve_quietly(std::move(server), std::move(far), std::move(runtime)));
    co_return channel;
  }

  std::shared_ptr<Server> server_;
};

}  // namespace

std::shared_ptr<Transport> memory_transport(std::shared_ptr<Server> server) {
  return std::make_shared<MemoryTransport>(std::move(server));
}

}  // namespace patchbay
