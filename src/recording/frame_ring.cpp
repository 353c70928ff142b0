#include "recording/frame_ring.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/strings.h"

namespace patchbay {
namespace {

// Memory that is worth keeping for the next frame.
constexpr std::size_t largest_spare = 4096;
constexpr std::size_t longest_name = 200;  // of a method, in an envelope

constexpr std::size_t largest_envelope = 4096;

std::size_t weight(const RecordedFrame& frame) noexcept { return frame.text.capacity(); }

// About what its text needs, so that it is not moved while it is written.
std::size_t room_for(const Message& message) {
  constexpr std::size_t around = 96;
  const auto of = [](const Payload& payload) { return payload ? payload.text().size() : 0; };
  if (const auto* request = std::get_if<Request>(&message))
    return of(request->params) + request->method.size() + around;
  if (const auto* response = std::get_if<Response>(&message)) return of(response->result) + around;
  if (const auto* told = std::get_if<Notification>(&message)) return of(told->params) + told->method.size() + around;
  const auto& failed = std::get<ErrorResponse>(message);
  return of(failed.error.data) + failed.error.message.size() + around;
}

}  // namespace

std::string envelope_text(const Message& message) {
  std::string out;
  if (const auto* request = std::get_if<Request>(&message)) {
    append_message(out, Request{request->id, std::string(cut_utf8(request->method, longest_name)), {}});
  } else if (const auto* notification = std::get_if<Notification>(&message)) {
    append_message(out, Notification{std::string(cut_utf8(notification->method, longest_name)), {}});
  } else if (const auto* response = std::get_if<Response>(&message)) {
    append_message(out, Response{response->id, {}});
  } else {
    const auto& failed = std::get<ErrorResponse>(message);
    append_message(out, ErrorResponse{failed.id, {failed.error.code, {}, {}}});
  }
  // Only an id can be so long.
  if (out.size() > largest_envelope) {
    out.clear();
    append_message(out, Notification{"unknown", {}});
  }
  return out;
}

void FrameRing::opened(std::uint32_t channel, std::int64_t time) {
  std::ranges::move(head_, std::back_inserter(before_));
  if (dropped_ > 0) {
    const auto since = rest_.empty() ? time : rest_.front().time;
    before_.push_back({.kind = RecordedFrame::Kind::gap, .time = since, .size = dropped_, .text = {}});
    bytes_ += weight(before_.back());
  }
  std::ranges::move(rest_, std::back_inserter(before_));
  head_.clear();
  rest_.clear();
  head_size_ = dropped_ = 0;
  in_head_ = true;
  keep({.kind = RecordedFrame::Kind::opened, .channel = channel, .time = time, .text = {}});
}

void FrameRing::add(RecordedFrame::Kind kind, std::uint32_t channel, std::int64_t time, const Message& message) {
  RecordedFrame frame{.kind = kind, .channel = channel, .time = time, .text = std::exchange(spare_, {})};
  if (fits(message, largest_frame)) {
    frame.text.reserve(room_for(message));
    append_message(frame.text, message);
  } else {
    frame.cut = true;
    frame.size = size_of(message);
    frame.text = envelope_text(message);
  }
  keep(std::move(frame));
}

void FrameRing::mark(RecordedFrame::Kind kind, std::uint32_t channel, std::int64_t time, std::string text) {
  keep({.kind = kind, .channel = channel, .time = time, .text = std::move(text)});
}

void FrameRing::keep(RecordedFrame frame) {
  const auto size = weight(frame);
  bytes_ += size;
  if (in_head_ && head_.size() < head_frames && head_size_ + size <= head_bytes) {
    head_size_ += size;
    head_.push_back(std::move(frame));
  } else {
    in_head_ = false;
    rest_.push_back(std::move(frame));
  }
  while (this->size() > most_frames || bytes_ > most_bytes) {
    if (before_.empty() && rest_.empty()) break;
    drop_oldest();
  }
}

void FrameRing::drop_oldest() {
  auto& from = before_.empty() ? rest_ : before_;
  if (before_.empty()) ++dropped_;
  auto& oldest = from.front();
  bytes_ -= weight(oldest);
  if (oldest.text.capacity() <= largest_spare) {
    spare_ = std::move(oldest.text);
    spare_.clear();
  }
  from.pop_front();
}

std::vector<RecordedFrame> FrameRing::frames() const {
  std::vector<RecordedFrame> out;
  out.reserve(size() + 1);
  out.insert(out.end(), before_.begin(), before_.end());
  out.insert(out.end(), head_.begin(), head_.end());
  if (dropped_ > 0) {
    const auto time = !rest_.empty() ? rest_.front().time : out.empty() ? 0 : out.back().time;
    out.push_back({.kind = RecordedFrame::Kind::gap, .time = time, .size = dropped_, .text = {}});
  }
  out.insert(out.end(), rest_.begin(), rest_.end());
  return out;
}

}  // namespace patchbay
