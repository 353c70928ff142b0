#include "recording/frame_ring.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/strings.h"

namespace patchbay {
namespace {

// Memory of a frame that had to go, which is worth keeping for the one that comes in its place.
constexpr std::size_t largest_spare = 4096;
constexpr std::size_t longest_name = 200;  // of a method, in an envelope

constexpr std::size_t largest_envelope = 4096;
// What a message has beside its method, params or result, and the bytes that one of a method may become.
constexpr std::size_t around = 128, most_escaped = 6;

// Beside the object itself.
std::size_t memory_of(const std::string& text) noexcept {
  return text.capacity() > std::string().capacity() ? text.capacity() : 0;
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

// What can be put together later: all but errors, ids that are texts, and what may be too large. Those are rare.
bool FrameRing::hold(Held& held, const Message& message) {
  const auto keep = [&held](Form form, const RequestId* id, std::string_view method, const Payload& payload) {
    const auto* number = id ? std::get_if<std::int64_t>(id) : nullptr;
    if (id && !number) return false;
    const auto inside = payload ? payload.text() : std::string_view();
    const auto size = method.size() + inside.size();
    if (most_escaped * method.size() + inside.size() + around > largest_frame) return false;
    held.form = form;
    held.id = number ? *number : 0;
    held.method_size = static_cast<std::uint32_t>(method.size());
    held.text.resize_and_overwrite(size, [&](char* to, std::size_t) {  // the second may be the room there is
      method.copy(to, method.size());
      inside.copy(to + method.size(), inside.size());
      return size;
    });
    return true;
  };
  if (const auto* request = std::get_if<Request>(&message)) {
    return keep(Form::request, &request->id, request->method, request->params);
  }
  if (const auto* response = std::get_if<Response>(&message)) {
    return keep(Form::response, &response->id, {}, response->result);
  }
  const auto* told = std::get_if<Notification>(&message);
  return told && keep(Form::notification, nullptr, told->method, told->params);
}

RecordedFrame FrameRing::recorded(const Held& held) {
  RecordedFrame frame{
      .kind = held.kind, .cut = held.cut, .channel = held.channel, .time = held.time, .size = held.size, .text = {}};
  const auto method = [&] { return held.text.substr(0, held.method_size); };
  const auto inside = [&] {
    auto text = held.text.substr(held.method_size);
    return text.empty() ? Payload() : Payload::from_validated(std::move(text));
  };
  switch (held.form) {
    case Form::whole:
      frame.text = held.text;
      break;
    case Form::request:
      append_message(frame.text, Request{held.id, method(), inside()});
      break;
    case Form::notification:
      append_message(frame.text, Notification{method(), inside()});
      break;
    case Form::response:
      append_message(frame.text, Response{held.id, inside()});
      break;
  }
  return frame;
}

std::size_t FrameRing::slot(std::size_t at) const noexcept {
  at += first_;
  return at < slots_.size() ? at : at - slots_.size();
}

// The oldest first, and no slot behind the newest.
void FrameRing::put_in_order() {
  std::ranges::rotate(slots_, slots_.begin() + static_cast<std::ptrdiff_t>(first_));
  slots_.resize(count_);
  first_ = 0;
}

void FrameRing::opened(std::uint32_t channel, std::int64_t time) {
  put_in_order();
  if (dropped_ > 0) {
    const auto since = before_ == count_ ? time : slots_[before_].time;
    head_.push_back({.kind = RecordedFrame::Kind::gap, .time = since, .size = dropped_, .text = {}});
  }
  slots_.insert(slots_.begin() + static_cast<std::ptrdiff_t>(before_), std::move_iterator(head_.begin()),
                std::move_iterator(head_.end()));
  count_ = before_ = slots_.size();
  head_.clear();
  head_size_ = dropped_ = bytes_ = 0;
  for (const auto& held : slots_) bytes_ += memory_of(held.text);
  in_head_ = true;
  end_frame(begin_frame(RecordedFrame::Kind::opened, channel, time));
}

void FrameRing::add(RecordedFrame::Kind kind, std::uint32_t channel, std::int64_t time, const Message& message) {
  auto& held = begin_frame(kind, channel, time);
  if (hold(held, message)) {
    // As nearly always.
  } else if (fits(message, largest_frame)) {
    append_message(held.text, message);
  } else {
    held.cut = true;
    held.size = size_of(message);
    held.text = envelope_text(message);
  }
  end_frame(held);
}

void FrameRing::mark(RecordedFrame::Kind kind, std::uint32_t channel, std::int64_t time, std::string text) {
  auto& held = begin_frame(kind, channel, time);
  held.text = std::move(text);
  end_frame(held);
}

// The newest of the others, until it is known whether it belongs to the head.
FrameRing::Held& FrameRing::begin_frame(RecordedFrame::Kind kind, std::uint32_t channel, std::int64_t time) {
  while (size() >= most_frames && count_ > 0) drop_oldest(largest_spare);
  if (count_ == slots_.size()) {
    put_in_order();
    slots_.resize(std::min(2 * count_ + 16, most_frames));
  }
  auto& held = slots_[slot(count_++)];
  held.kind = kind;
  held.cut = false;
  held.form = Form::whole;
  held.channel = channel;
  held.time = time;
  held.size = 0;
  held.text.clear();
  bytes_ -= memory_of(held.text);
  return held;
}

void FrameRing::end_frame(Held& newest) {
  const auto size = memory_of(newest.text);
  bytes_ += size;
  if (in_head_) {
    in_head_ = head_.size() < head_frames && head_size_ + size <= head_bytes;
    if (in_head_) {
      head_size_ += size;
      head_.push_back(std::move(newest));
      --count_;
    }
  }
  while (bytes_ > most_bytes && count_ > 0) drop_oldest(0);
}

// Its slot keeps at most so much memory.
void FrameRing::drop_oldest(std::size_t keeps) {
  auto& text = slots_[first_].text;
  if (const auto memory = memory_of(text); memory > keeps) {
    bytes_ -= memory;
    std::string().swap(text);  // an assignment may leave it its memory
  }
  if (++first_ == slots_.size()) first_ = 0;
  --count_;
  if (before_ > 0) {
    --before_;
  } else {
    ++dropped_;
  }
}

std::vector<RecordedFrame> FrameRing::frames() const {
  std::vector<RecordedFrame> out;
  out.reserve(size() + 1);
  for (std::size_t i = 0; i < before_; ++i) out.push_back(recorded(slots_[slot(i)]));
  for (const auto& held : head_) out.push_back(recorded(held));
  if (dropped_ > 0) {
    const auto time = before_ < count_ ? slots_[slot(before_)].time : out.empty() ? 0 : out.back().time;
    out.push_back({.kind = RecordedFrame::Kind::gap, .time = time, .size = dropped_, .text = {}});
  }
  for (auto i = before_; i < count_; ++i) out.push_back(recorded(slots_[slot(i)]));
  return out;
}

}  // namespace patchbay
