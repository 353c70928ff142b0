// FrameRing: the latest messages that passed between us and one server, within a number of frames and of bytes. They
// are kept as JSON text: a shared Payload would keep its values and its block beside it, and would make whoever takes
// the value copy it (docs/adr/0027-recordings.md). How the newest channel began is kept apart from the rest: without it
// nobody can replay what came later. Secrets are in it; they are taken out when frames leave it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/message.h"

namespace patchbay {

struct RecordedFrame {
  enum class Kind : std::uint8_t {
    opened,    // a channel
    sent,      // to the server
    received,  // from it
    lost,      // the stream of one request ended without its answer: {"id":…,"reason":…}
    ended,     // the server ended the channel: why
    closed,    // we did
    gap,       // so many frames (`size`) were here and had to go
  };
  Kind kind = Kind::opened;
  bool cut = false;           // `text` has the envelope of a message of `size` bytes, without params and result
  std::uint32_t channel = 0;  // one server may be reached over several, one after the other or at the same time
  std::int64_t time = 0;      // milliseconds; where they begin, whoever adds frames knows
  std::size_t size = 0;
  std::string text;
  bool operator==(const RecordedFrame&) const = default;
};

class FrameRing {
 public:
  static constexpr std::size_t most_frames = 256;
  static constexpr std::size_t most_bytes = 1u << 20;
  static constexpr std::size_t largest_frame = most_bytes / 4;
  // How a channel began.
  static constexpr std::size_t head_frames = 24;
  static constexpr std::size_t head_bytes = most_bytes / 4;

  void opened(std::uint32_t channel, std::int64_t time);
  // `kind`: sent or received. One that is too large leaves its envelope and its size.
  void add(RecordedFrame::Kind kind, std::uint32_t channel, std::int64_t time, const Message& message);
  // `kind`: lost, ended or closed.
  void mark(RecordedFrame::Kind kind, std::uint32_t channel, std::int64_t time, std::string text);

  // In order.
  std::vector<RecordedFrame> frames() const;
  std::size_t size() const noexcept { return before_.size() + head_.size() + rest_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }
  void clear() { *this = FrameRing(); }

 private:
  void keep(RecordedFrame frame);
  void drop_oldest();

  std::deque<RecordedFrame> before_;  // the newest channel; they go first
  std::vector<RecordedFrame> head_;   // how it began; stays
  std::deque<RecordedFrame> rest_;
  std::size_t dropped_ = 0;  // between the two
  bool in_head_ = false;     // the next frame belongs to it
  std::size_t head_size_ = 0;
  std::size_t bytes_ = 0;
  std::string spare_;  // memory of a frame that had to go
};

// The envelope of a message: everything but params, result and what an error carries.
std::string envelope_text(const Message& message);

}  // namespace patchbay
