#include "ws/frames.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/strings.h"
#include "json/utf8.h"

namespace patchbay {
namespace {

constexpr std::size_t control_limit = 125;
// Room made on the strength of an announced length; the rest is made as the bytes arrive.
constexpr std::size_t believed = 1u << 20;
constexpr std::size_t most_empty_fragments = 100'000;

void apply_mask(char* data, std::size_t size, const WebSocketMask& mask, std::size_t at) {
  std::array<std::uint8_t, 8> turned{};
  for (std::size_t i = 0; i < turned.size(); ++i) turned[i] = mask[(at + i) % 4];
  std::uint64_t word = 0;
  std::memcpy(&word, turned.data(), sizeof word);
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    std::uint64_t piece = 0;
    std::memcpy(&piece, data + i, sizeof piece);
    piece ^= word;
    std::memcpy(data + i, &piece, sizeof piece);
  }
  for (; i < size; ++i) data[i] = static_cast<char>(static_cast<std::uint8_t>(data[i]) ^ turned[i % 8]);
}

bool is_utf8(std::string_view text) { return first_invalid_utf8(text) == all_utf8; }

// Section 7.4: the registered codes, and the two ranges for libraries and applications.
bool may_be_sent(std::uint16_t code) {
  if (code >= 3000 && code <= 4999) return true;
  return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
}

bool is_known(unsigned opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

}  // namespace

std::string describe_close_code(std::uint16_t code) {
  struct Meaning {
    std::uint16_t code;
    std::string_view text;
  };
  static constexpr Meaning meanings[]{
      {1000, "normal"},         {1001, "going away"},      {1002, "protocol error"},
      {1003, "not understood"}, {1005, "no code"},         {1007, "not valid UTF-8"},
      {1008, "policy"},         {1009, "message too big"}, {1010, "an extension is missing"},
      {1011, "internal error"}, {1012, "service restart"}, {1013, "try again later"},
      {1014, "bad gateway"},
  };
  for (const auto& meaning : meanings) {
    if (meaning.code == code) return fmt::format("{} ({})", code, meaning.text);
  }
  return std::to_string(code);
}

std::unexpected<Error> WebSocketReader::broken(std::uint16_t code, std::string what) {
  fault_ =
      Error(code == close_code::too_big || code == close_code::policy ? Errc::limit : Errc::protocol, std::move(what));
  fault_code_ = code;
  message_ = {};
  control_ = {};
  return std::unexpected(*fault_);
}

std::size_t WebSocketReader::header_size() const noexcept {
  if (header_got_ < 2) return 2;
  const std::size_t short_length = header_[1] & 0x7F;
  const std::size_t longer = short_length == 127 ? 8 : short_length == 126 ? 2 : 0;
  return 2 + longer + ((header_[1] & 0x80) != 0 ? 4 : 0);
}

std::size_t WebSocketReader::unfinished() const noexcept {
  if (fault_ || closed_) return 0;
  return header_got_ + message_.size() + control_.size();
}

std::optional<WebSocketEvent> WebSocketReader::next() {
  if (events_.empty()) return std::nullopt;
  auto event = std::move(events_.front());
  events_.pop_front();
  return event;
}

Result<void> WebSocketReader::feed(std::string_view bytes) {
  if (fault_) return std::unexpected(*fault_);
  while (!bytes.empty() && !closed_) {
    if (!in_payload_) {
      header_[header_got_++] = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      // What is wrong with the first two bytes is reported before the rest is waited for.
      if (header_got_ < 2 || (header_got_ > 2 && header_got_ < header_size())) continue;
      if (auto good = read_header(); !good) return good;
      if (!in_payload_) continue;
    } else {
      const auto piece = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
      auto& into = target();
      const auto before = into.size();
      into.append(piece);
      if (role_ == WebSocketRole::server) {
        apply_mask(into.data() + before, piece.size(), mask_, mask_at_);
        mask_at_ = (mask_at_ + piece.size()) % 4;
      }
      left_ -= piece.size();
      bytes.remove_prefix(piece.size());
    }
    if (left_ > 0) continue;
    if (auto good = finish_frame(); !good) return good;
  }
  return {};
}

// Called with two bytes, and again with the whole header when there is more of it.
Result<void> WebSocketReader::read_header() {
  const auto flags = header_[0];
  const unsigned opcode = flags & 0x0F;
  const std::size_t short_length = header_[1] & 0x7F;
  if ((flags & 0x70) != 0) {
    return broken(close_code::protocol_error, "a frame has reserved bits set, and no extension was agreed on");
  }
  if (!is_known(opcode))
    return broken(close_code::protocol_error, fmt::format("a frame has the unknown opcode {}", opcode));
  const bool masked = (header_[1] & 0x80) != 0;
  if (masked && role_ == WebSocketRole::client) {
    return broken(close_code::protocol_error, "a frame is masked, but only a client may mask frames");
  }
  if (!masked && role_ == WebSocketRole::server) {
    return broken(close_code::protocol_error, "a frame is not masked, but a client must mask frames");
  }
  opcode_ = static_cast<WebSocketOpcode>(opcode);
  final_ = (flags & 0x80) != 0;
  if (control()) {
    if (!final_) return broken(close_code::protocol_error, "a control frame is fragmented");
    if (short_length > control_limit)
      return broken(close_code::protocol_error, "a control frame is longer than 125 bytes");
  } else if (opcode_ == WebSocketOpcode::continuation && !fragmented_) {
    return broken(close_code::protocol_error, "a frame continues a message that did not begin");
  } else if (opcode_ != WebSocketOpcode::continuation && fragmented_) {
    return broken(close_code::protocol_error, "a message begins before the previous one has ended");
  }
  if (header_got_ < header_size()) return {};

  std::size_t at = 2;
  left_ = short_length;
  if (short_length >= 126) {
    const std::size_t longer = short_length == 127 ? 8 : 2;
    left_ = 0;
    for (std::size_t i = 0; i < longer; ++i) left_ = left_ << 8 | header_[at++];
    if (left_ >> 63 != 0) return broken(close_code::protocol_error, "the length of a frame is negative");
    if (left_ < 126 || (longer == 8 && left_ <= 0xFFFF)) {
      return broken(close_code::protocol_error, "the length of a frame is not written in its shortest form");
    }
  }
  if (masked) std::copy_n(header_.begin() + static_cast<std::ptrdiff_t>(at), 4, mask_.begin());
  mask_at_ = 0;
  if (!control()) {
    if (left_ > limit_ - message_.size()) {
      return broken(close_code::too_big, fmt::format("a message has more than {} bytes, which is the limit", limit_));
    }
    if (!fragmented_) fragmented_ = opcode_;
    message_.reserve(std::min<std::size_t>(message_.size() + static_cast<std::size_t>(left_), believed));
  }
  in_payload_ = true;
  return {};
}

Result<void> WebSocketReader::finish_frame() {
  in_payload_ = false;
  header_got_ = 0;
  using Kind = WebSocketEvent::Kind;
  switch (opcode_) {
    case WebSocketOpcode::close:
      return finish_close();
    case WebSocketOpcode::ping:
    case WebSocketOpcode::pong:
      events_.push_back({opcode_ == WebSocketOpcode::ping ? Kind::ping : Kind::pong, std::move(control_), 0});
      control_.clear();
      return {};
    default:
      break;
  }
  if (message_.size() == message_before_ && ++empty_fragments_ > most_empty_fragments) {
    return broken(close_code::policy,
                  fmt::format("a message has more than {} empty fragments, which is the limit", most_empty_fragments));
  }
  message_before_ = message_.size();
  if (!final_) return {};
  empty_fragments_ = message_before_ = 0;
  const bool text = *fragmented_ == WebSocketOpcode::text;
  fragmented_.reset();
  if (text && !is_utf8(message_)) return broken(close_code::invalid_text, "a text message is not valid UTF-8");
  events_.push_back({text ? Kind::text : Kind::binary, std::move(message_), 0});
  message_.clear();
  return {};
}

Result<void> WebSocketReader::finish_close() {
  WebSocketEvent event{WebSocketEvent::Kind::close, {}, close_code::none};
  if (control_.size() == 1) return broken(close_code::protocol_error, "a close frame contains half a code");
  if (control_.size() >= 2) {
    event.code = static_cast<std::uint16_t>(static_cast<std::uint8_t>(control_[0]) << 8 |
                                            static_cast<std::uint8_t>(control_[1]));
    event.data = control_.substr(2);
    if (!may_be_sent(event.code)) {
      return broken(close_code::protocol_error,
                    fmt::format("a close frame has the code {}, which is not allowed", event.code));
    }
    if (!is_utf8(event.data)) return broken(close_code::invalid_text, "the reason of a close frame is not valid UTF-8");
  }
  closed_ = true;
  control_.clear();
  message_ = {};
  events_.push_back(std::move(event));
  return {};
}

void append_frame(std::string& out, WebSocketOpcode opcode, std::string_view payload,
                  const std::optional<WebSocketMask>& mask, bool final) {
  const std::uint64_t size = payload.size();
  const unsigned masked = mask ? 0x80 : 0;
  auto byte = [&](std::uint64_t value) { out.push_back(static_cast<char>(static_cast<std::uint8_t>(value))); };
  byte((final ? 0x80u : 0u) | static_cast<unsigned>(opcode));
  if (size < 126) {
    byte(masked | size);
  } else if (size <= 0xFFFF) {
    byte(masked | 126);
    byte(size >> 8);
    byte(size);
  } else {
    byte(masked | 127);
    for (int shift = 56; shift >= 0; shift -= 8) byte(size >> shift);
  }
  if (mask) {
    for (auto part : *mask) byte(part);
  }
  const auto begin = out.size();
  out.append(payload);
  if (mask) apply_mask(out.data() + begin, payload.size(), *mask, 0);
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
  std::string payload{static_cast<char>(code >> 8), static_cast<char>(code & 0xFF)};
  payload += cut_utf8(reason, control_limit - 2);
  return payload;
}

}  // namespace patchbay
