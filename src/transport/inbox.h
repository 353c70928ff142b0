// MessageInbox: what several streams of one channel have received and nobody has taken yet. A
// stream that is ahead of the reader waits for room, so that a server cannot fill memory.
// Owned by the state of an HTTP channel; loop thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

#include <patchbay/task.h>

#include "base/runtime.h"
#include "base/waiting.h"
#include "rpc/channel.h"
#include "rpc/read_messages.h"

namespace patchbay {

class MessageInbox {
 public:
  explicit MessageInbox(std::size_t room) : room_(room) {}

  // Never waits; waiting for room beforehand keeps it small.
  void put(Incoming incoming, std::size_t size) {
    if (end_) return;
    items_.push_back({std::move(incoming), size});
    held_ += size;
    arrived_.notify_all();
  }
  // What came of a text: nothing, when it was no message; a message; or the one that was wanted.
  enum class Put { nothing, message, answer };
  // The message or messages of one event or body; `wanted` is the request whose answer is waited for there.
  // What is no message fails the call it seems to answer, else it is logged and skipped.
  Put put_text(std::string text, const std::optional<RequestId>& wanted, const Runtime& runtime);
  // The same for a text that is read aside (rpc/read_messages.h). Keep the owner alive meanwhile; what is put
  // by others in between stands before it.
  Task<Put> put_text_aside(std::string text, ByteBudget::Charge weight, std::optional<RequestId> wanted,
                           const Runtime& runtime);
  // While there is none, await taken(). Keep the owner alive meanwhile.
  bool has_room() const noexcept { return held_ <= room_ || end_; }
  Task<void> taken() { return taken_.wait(); }
  // After what is already there, takers get this error, and nothing more is put.
  void finish(Error error) {
    if (end_) return;
    end_ = std::move(error);
    arrived_.notify_all();
    taken_.notify_all();
  }
  const std::optional<Error>& end() const noexcept { return end_; }
  // Nobody wants what is there any more either.
  void close() {
    items_.clear();
    held_ = 0;
    finish(Error(Errc::closed, "the connection was closed"));
  }

  // One taker at a time.
  static Task<Incoming> take(std::shared_ptr<MessageInbox> inbox) {
    while (inbox->items_.empty()) {
      if (inbox->end_) throw Error(*inbox->end_);
      co_await inbox->arrived_.wait();
    }
    co_return std::move(*inbox->take_now());
  }
  // What is there already, if anything.
  std::optional<Incoming> take_now() {
    if (items_.empty()) return std::nullopt;
    auto item = std::move(items_.front());
    items_.pop_front();
    held_ -= item.size;
    taken_.notify_all();
    return std::move(item.incoming);
  }

 private:
  struct Item {
    Incoming incoming;
    std::size_t size;
  };
  Put put_read(ReadMessages read, std::size_t size, const std::optional<RequestId>& wanted, const Runtime& runtime);

  std::size_t room_;
  std::size_t held_ = 0;
  bool told_ = false;  // of something that was no message
  std::deque<Item> items_;
  std::optional<Error> end_;
  Event arrived_;
  Event taken_;
};

}  // namespace patchbay
