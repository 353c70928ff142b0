// FrameRing: the latest messages that passed between us and one server, within a number of frames and of bytes. Of each
// the bytes of its params or result are kept: a shared Payload would keep its values and its block beside it, and would
// make whoever takes the value copy it (docs/adr/0027-recordings.md). What stands around them is written when frames
// leave the ring, which few ever do. How the newest channel began is kept apart from the rest: without it nobody can
// replay what came later. Secrets are in it; they are taken out when frames leave it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
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

  // In order, each as JSON text.
  std::vector<RecordedFrame> frames() const;
  std::size_t size() const noexcept { return head_.size() + count_; }
  std::size_t bytes() const noexcept { return bytes_; }
  void clear() { *this = FrameRing(); }

 private:
  // How `text` is to be read.
  enum class Form : std::uint8_t { whole, request, notification, response };
  struct Held {
    RecordedFrame::Kind kind = RecordedFrame::Kind::opened;
    bool cut = false;
    Form form = Form::whole;  // else the method of a message and its params, or its result, one behind the other
    std::uint32_t channel = 0;
    std::uint32_t method_size = 0;
    std::int64_t time = 0;
    std::int64_t id = 0;  // where the message has one and `text` does not
    std::size_t size = 0;
    std::string text;
  };

  static bool hold(Held& held, const Message& message);
  static RecordedFrame recorded(const Held& held);
  std::size_t slot(std::size_t at) const noexcept;
  void put_in_order();
  Held& begin_frame(RecordedFrame::Kind kind, std::uint32_t channel, std::int64_t time);
  void end_frame(Held& newest);
  void drop_oldest(std::size_t keeps);

  std::vector<Held> head_;   // how the newest channel began; stays
  std::vector<Held> slots_;  // all others go round in it: `count_` of them from `first_` on
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  std::size_t before_ = 0;   // so many of them are from before the newest channel; they go first
  std::size_t dropped_ = 0;  // between the head and what came after it
  bool in_head_ = false;     // the next frame belongs to it
  std::size_t head_size_ = 0;
  std::size_t bytes_ = 0;  // of memory, also of slots that hold nothing
};

// The envelope of a message: everything but params, result and what an error carries.
std::string envelope_text(const Message& message);

}  // namespace patchbay
