#include "http/sse_parser.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace patchbay {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t longest_name = std::string_view("event: ").size();  // of a field that counts

// Digits only, as the standard says; a number too large to count is the largest there is.
std::optional<std::chrono::milliseconds> retry_time(std::string_view text) {
  if (text.empty()) return std::nullopt;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const int digit = c - '0';
    value = value > (most - digit) / 10 ? most : value * 10 + digit;
  }
  return std::chrono::milliseconds(value);
}

const char* find(char c, const char* from, const char* end) {
  const auto* found = static_cast<const char*>(std::memchr(from, c, static_cast<std::size_t>(end - from)));
  return found ? found : end;
}

}  // namespace

bool SseParser::fits(std::size_t more, std::size_t slack) const noexcept {
  return used_ <= limit_ && (more <= slack || more - slack <= limit_ - used_);
}

Result<void> SseParser::too_large() {
  failed_ = true;
  line_ = {};
  current_ = {};
  return fail(Errc::limit, "an event in the stream is larger than " + std::to_string(limit_) +
                               " bytes (while reading the stream); ask the server for less at a time");
}

Result<void> SseParser::feed(std::string_view bytes) {
  if (failed_) return too_large();
  while (bom_seen_ >= 0 && !bytes.empty()) {
    if (bytes.front() != byte_order_mark[static_cast<std::size_t>(bom_seen_)]) {
      line_.assign(byte_order_mark.substr(0, static_cast<std::size_t>(bom_seen_)));
      bom_seen_ = -1;
    } else {
      bytes.remove_prefix(1);
      if (++bom_seen_ == 3) bom_seen_ = -1;
    }
  }
  // Where the next of each line end is; looked for again only once it has been passed.
  const char* lf = bytes.data();
  const char* cr = bytes.data();
  for (bool first = true; !bytes.empty(); first = false) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const char* const stop = bytes.data() + bytes.size();
    if (first || lf < bytes.data()) lf = find('\n', bytes.data(), stop);
    if (first || cr < bytes.data()) cr = find('\r', bytes.data(), stop);
    const char* const end = std::min(lf, cr);
    const auto piece = bytes.substr(0, static_cast<std::size_t>(end - bytes.data()));
    // Comments are not part of an event, but one without an end would fill the memory all the same.
    if (!fits(line_.size() + piece.size(), longest_name)) return too_large();
    if (end == stop) {
      line_.append(piece);
      break;
    }
    after_cr_ = *end == '\r';
    bytes.remove_prefix(piece.size() + 1);
    if (line_.empty()) {
      if (!take_line(piece)) return too_large();
    } else {
      line_.append(piece);
      const auto whole = std::move(line_);
      line_.clear();
      if (!take_line(whole)) return too_large();
    }
  }
  return {};
}

void SseParser::ignore(std::size_t bytes) noexcept {
  ++ignored_lines_;
  ignored_bytes_ += bytes;
}

bool SseParser::take_line(std::string_view line) {
  if (line.empty()) {
    end_event();
    return true;
  }
  const auto colon = line.find(':');
  if (colon == 0) {
    ++comments_;
    ignore(line.size());
    return true;
  }
  const auto name = line.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);

  if (name == "data") {
    const std::size_t size = value.size() + (has_data_ ? 1 : 0);
    if (!fits(size)) return false;
    if (has_data_) current_.data += '\n';
    current_.data.append(value);
    used_ += size;
    has_data_ = true;
    pending_ = true;
  } else if (name == "event") {
    if (!fits(value.size())) return false;
    used_ += value.size();
    current_.event = value;
    pending_ = true;
  } else if (name == "id") {
    if (value.find('\0') != std::string_view::npos) {
      ignore(line.size());
      return true;
    }
    if (!fits(value.size())) return false;
    used_ += value.size();
    current_.id = std::string(value);
    pending_ = true;
  } else if (name == "retry") {
    if (const auto time = retry_time(value)) {
      retry_ = current_.retry = time;
      pending_ = true;
    } else {
      ignore(line.size());
    }
  } else {
    ignore(line.size());
  }
  return true;
}

void SseParser::end_event() {
  if (current_.id) last_id_ = *current_.id;
  if (has_data_ || current_.id || current_.retry) {
    ready_.push_back(std::move(current_));
  } else {
    ignore(used_);
  }
  current_ = {};
  has_data_ = pending_ = false;
  used_ = 0;
}

std::optional<SseEvent> SseParser::next() {
  if (ready_.empty()) return std::nullopt;
  auto event = std::move(ready_.front());
  ready_.pop_front();
  return event;
}

}  // namespace patchbay
