// ReplayBuffer: the latest events of a session's streams, so that a client that lost its
// connection gets what it missed. Bounded in bytes, of its own and of all together. The
// oldest go first: of its own, or when all hold too much, the oldest of anybody's, so that
// what was said a minute ago outlives what was said half an hour ago. Owned by a session;
// loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "server/http_checks.h"

namespace patchbay {

class ReplayBuffer;

// What all buffers of one server hold.
struct ReplayTotal {
  std::size_t bytes = 0;
  std::size_t limit = 64u << 20;
  std::list<ReplayBuffer*> order;  // whose event it is, one for each, the oldest first
};

class ReplayBuffer {
 public:
  ReplayBuffer(std::size_t limit, std::shared_ptr<ReplayTotal> total) : limit_(limit), total_(std::move(total)) {}
  ReplayBuffer(const ReplayBuffer&) = delete;
  ReplayBuffer& operator=(const ReplayBuffer&) = delete;
  ~ReplayBuffer();

  void add(EventId id, std::string event);
  bool holds(std::uint64_t stream) const noexcept;

  struct Missed {
    std::vector<std::string> events;
    bool complete = true;  // false: some that followed `after` are gone
  };
  // What followed this event of its stream. `next` is the number the stream's next event will
  // have; it tells an event that is gone from one that never was.
  Missed after(EventId after, std::uint64_t next) const;

  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Kept {
    EventId id;
    std::string event;
    std::list<ReplayBuffer*>::iterator place;
  };
  void drop_oldest();

  std::size_t limit_;
  std::shared_ptr<ReplayTotal> total_;
  std::size_t bytes_ = 0;
  std::deque<Kept> kept_;
};

}  // namespace patchbay
