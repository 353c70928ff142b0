// SocketOutput: what one connection of the HTTP server sends. A piece goes out at once as far as the socket takes it;
// the rest waits, bounded, until the client reads. The connection owns it and runs write_queued() whenever put()
// asks for that. Loop thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>

#include <patchbay/task.h>

#include "base/clock.h"
#include "base/timeout.h"
#include "base/waiting.h"

namespace patchbay {

class SocketOutput {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Bounds {
    std::size_t unread;  // bytes that may wait
    Duration stall;      // how long the client may read nothing of them
    std::size_t eased;   // when no more than these wait, flushed() is notified
  };
  // The socket outlives it and does not block.
  SocketOutput(asio::ip::tcp::socket& socket, const Clock& clock, Bounds bounds)
      : socket_(socket), clock_(clock), bounds_(bounds) {}

  enum class Put {
    sent,
    queued,         // write_queued() runs and takes care of it
    begin_writing,  // the same, once the caller has started it
    too_much,       // the client has not read what waits already
    broken,
  };
  // Sends the pieces in order, now or when the client reads.
  Put put(std::string first, std::string second, std::string_view third);
  // Until nothing waits; throws Errc::closed when the client is gone. One at a time.
  Task<void> write_queued();
  // It has returned, or will not be called.
  void stopped() {
    writing_ = false;
    deadline_ = TimePoint::max();
    flushed_.notify_all();
  }
  // Nothing more is sent.
  void drop();

  std::size_t queued() const noexcept { return queued_; }
  // When the client has read nothing for too long.
  TimePoint deadline() const noexcept { return deadline_; }
  Task<void> flushed() { return flushed_.wait(); }

 private:
  void keep(std::string piece, std::size_t& sent);

  asio::ip::tcp::socket& socket_;
  const Clock& clock_;
  Bounds bounds_;
  std::deque<std::string> pieces_;
  std::size_t offset_ = 0;  // of the first piece
  std::size_t queued_ = 0;
  bool writing_ = false;
  TimePoint deadline_ = TimePoint::max();
  Event flushed_;
};

}  // namespace patchbay
