// FakeChannel: the near end of a connection that a test plays by hand. What the code under
// test sends is kept in order; what it receives is what the test feeds. Loop thread only.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/waiting.h"
#include "rpc/channel.h"

namespace patchbay::test {

// Shared by the test and the channel it gave away.
struct FakeWire {
  std::vector<Message> sent;
  std::vector<std::vector<Message>> sent_batches;
  std::vector<RequestId> abandoned;
  std::vector<RequestId> unsent;  // what can be taken back
  Event sent_something;
  std::function<Result<void>(const Message&)> on_send;  // unset: every message is taken

  std::deque<Incoming> incoming;
  std::optional<Error> end;
  Event fed;

  int closes = 0;
  bool hold_close = false;  // close() does not return until it is false and `released` is notified
  Event close_called;
  Event released;

  void feed(Incoming message) {
    incoming.push_back(std::move(message));
    fed.notify_all();
  }
  void finish(Error error) {
    if (!end) end = std::move(error);
    fed.notify_all();
  }
  Task<void> wait_for_sent(std::size_t count) {
    while (sent.size() + sent_batches.size() < count) co_await sent_something.wait();
  }
};

class FakeChannel final : public Channel {
 public:
  explicit FakeChannel(std::shared_ptr<FakeWire> wire) : wire_(std::move(wire)) {}

  Result<void> send(Message message) override {
    if (wire_->on_send) {
      if (auto taken = wire_->on_send(message); !taken) return taken;
    }
    wire_->sent.push_back(std::move(message));
    wire_->sent_something.notify_all();
    return {};
  }
  Result<void> send_batch(std::vector<Message> messages) override {
    wire_->sent_batches.push_back(std::move(messages));
    wire_->sent_something.notify_all();
    return {};
  }
  Task<Incoming> receive() override { return receive_from(wire_); }
  void abandon(const RequestId& id) override { wire_->abandoned.push_back(id); }
  bool withdraw(const RequestId& id) override { return std::erase(wire_->unsent, id) > 0; }
  std::vector<RequestId> withdraw_all() override { return std::exchange(wire_->unsent, {}); }
  Task<void> close(CloseMode) override { return close_wire(wire_); }

 private:
  static Task<Incoming> receive_from(std::shared_ptr<FakeWire> wire) {
    while (wire->incoming.empty()) {
      if (wire->end) throw Error(*wire->end);
      co_await wire->fed.wait();
    }
    auto message = std::move(wire->incoming.front());
    wire->incoming.pop_front();
    co_return message;
  }
  static Task<void> close_wire(std::shared_ptr<FakeWire> wire) {
    ++wire->closes;
    wire->finish(Error(Errc::closed, "the connection was closed"));
    wire->close_called.notify_all();
    while (wire->hold_close) co_await wire->released.wait();
  }

  std::shared_ptr<FakeWire> wire_;
};

}  // namespace patchbay::test
