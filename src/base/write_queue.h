// What waits to be written to somebody who may not read it yet.
// WriteQueue: the bytes. What is on its way stays where it is; what is queued meanwhile gathers behind it, so that many
// messages leave by one write. Pure.
// FlushPace: when to write them. Some are written at once, so that nobody waits for them; those that follow are
// gathered and written together at the end of this turn of the loop.
//
// Both are parts of one connection's state; loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <patchbay/task.h>

namespace patchbay {

class WriteQueue {
 public:
  // Where the next bytes are appended.
  std::string& tail() noexcept { return waiting_; }
  std::size_t size() const noexcept { return writing_.size() - written_ + waiting_.size(); }
  bool empty() const noexcept { return size() == 0; }

  // What to write next; nothing when the queue is empty.
  std::string_view front() {
    if (between() && !waiting_.empty()) begin().swap(waiting_);
    return std::string_view(writing_).substr(written_);
  }
  void wrote(std::size_t bytes) { written_ += bytes; }

  // Nothing that was begun has still to be written. Then begin() takes what shall leave before all that waits.
  bool between() const noexcept { return written_ == writing_.size(); }
  std::string& begin() {
    writing_.clear();
    written_ = 0;
    if (writing_.capacity() > kept_room) writing_.shrink_to_fit();
    return writing_;
  }

  // Takes out `size` bytes, `at` bytes behind the first that is not written. They were appended together.
  void erase(std::size_t at, std::size_t size) {
    const auto ahead = writing_.size() - written_;
    if (at < ahead) {
      writing_.erase(written_ + at, size);
    } else {
      waiting_.erase(at - ahead, size);
    }
  }
  void clear() {
    writing_.clear();
    waiting_.clear();
    written_ = 0;
  }

 private:
  static constexpr std::size_t kept_room = 1u << 20;  // a larger buffer is given back

  std::string writing_;
  std::size_t written_ = 0;
  std::string waiting_;
};

class FlushPace {
 public:
  enum class AtOnce : std::uint8_t {
    after_an_answer,  // the first since something was read: of many requests in a row only the first is alone
    first_of_a_turn,  // whoever sends it may keep the loop busy afterwards
  };
  explicit FlushPace(AtOnce which = AtOnce::after_an_answer) : which_(which) {}

  // Something was read.
  void answered() noexcept { unanswered_ = false; }
  // Something was queued. `owner` has a flush(), and this object belongs to it.
  template <class Owner>
  void queued(const asio::any_io_executor& executor, const std::shared_ptr<Owner>& owner) {
    if (posted_) return;
    if (which_ == AtOnce::first_of_a_turn) {
      owner->flush();
    } else if (!std::exchange(unanswered_, true)) {
      owner->flush();
      return;
    }
    posted_ = true;
    asio::post(executor, [this, owner] {
      posted_ = false;
      owner->flush();
    });
  }

 private:
  AtOnce which_;
  bool unanswered_ = false;  // something was written since the last read
  bool posted_ = false;      // a handler will flush in this turn of the loop
};

}  // namespace patchbay
