// Outbox: what an HTTP channel has to say besides requests, and has not sent yet: notifications and our
// answers. A server can ask for any number of answers and take none of them, so a cancellation goes before them:
// somebody waits for it. Everything else leaves in the order in which it came. Owned by the channel; pure.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

namespace patchbay {

class Outbox {
 public:
  enum class Kind {
    opening,  // says that a session may be used now
    notification,
    cancellation,
    answer,  // to one request of the server, or several
  };
  struct Item {
    Kind kind;
    std::string body;
  };

  void put(Kind kind, std::string body);
  std::optional<Item> take();
  std::optional<Item> take_cancellation();
  std::size_t size() const noexcept { return items_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::deque<Item> items_;  // cancellations first
  std::size_t bytes_ = 0;
};

}  // namespace patchbay
