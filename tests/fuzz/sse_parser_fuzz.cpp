// Event streams: however a stream is cut, the same events come out as of the whole, which is
// read here once more in the plainest way, and nothing is kept beyond the limit.
//
// Input: the limit (one byte, times four), how the stream is cut (one byte, a seed), then the stream.
#include <algorithm>
#include <chrono>

#include "fuzz/fuzz.h"
#include "http/sse_parser.h"

namespace {

using patchbay::SseEvent;
using patchbay::SseParser;
using patchbay::fuzz::require;

struct Seen {
  std::vector<SseEvent> events;
  std::string last_id;
  std::uint64_t comments = 0;
  bool failed = false;
  bool operator==(const Seen&) const = default;
};

// The standard's own words, with the whole stream in hand.
Seen expected(std::string_view stream, std::size_t limit) {
  Seen seen;
  if (stream.starts_with("\xEF\xBB\xBF")) stream.remove_prefix(3);
  SseEvent current;
  bool has_data = false;
  std::size_t used = 0;
  while (!stream.empty()) {
    const auto end = stream.find_first_of("\r\n");
    const auto line = stream.substr(0, end);
    if (line.size() > limit - used + 7) {
      seen.failed = true;
      return seen;
    }
    if (end == std::string_view::npos) return seen;
    stream.remove_prefix(end + (stream.substr(end).starts_with("\r\n") ? 2 : 1));
    if (line.empty()) {
      if (current.id) seen.last_id = *current.id;
      if (has_data || current.id || current.retry) seen.events.push_back(current);
      current = {};
      has_data = false;
      used = 0;
      continue;
    }
    if (line.starts_with(':')) {
      ++seen.comments;
      continue;
    }
    const auto colon = line.find(':');
    const auto name = line.substr(0, colon);
    std::string value(colon == std::string_view::npos ? "" : line.substr(colon + 1));
    if (value.starts_with(' ')) value.erase(0, 1);
    std::size_t size = value.size();
    if (name == "data") {
      if (has_data) current.data += '\n', ++size;
      current.data += value;
      has_data = true;
    } else if (name == "event") {
      current.event = value;
    } else if (name == "id" && value.find('\0') == std::string::npos) {
      current.id = value;
    } else {
      size = 0;
      const bool digits = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
      if (name == "retry" && digits) {
        current.retry = value.size() - std::min(value.find_first_not_of('0'), value.size()) > 18
                            ? std::chrono::milliseconds::max()
                            : std::chrono::milliseconds(std::stoll(value));
      }
    }
    used += size;
    if (used > limit) {
      seen.failed = true;
      return seen;
    }
  }
  return seen;
}

Seen read(std::string_view stream, std::size_t limit, std::size_t most, std::uint32_t seed) {
  Seen seen;
  SseParser parser(limit);
  while (!stream.empty() && !seen.failed) {
    seed = seed * 1664525u + 1013904223u;
    const auto chunk = stream.substr(0, std::size_t{1} + (seed >> 8) % most);
    stream.remove_prefix(chunk.size());
    seen.failed = !parser.feed(chunk).has_value();
    while (auto event = parser.next()) {
      require(event->data.size() + event->event.size() + event->id.value_or("").size() <= limit,
              "an event over the limit");
      seen.events.push_back(std::move(*event));
    }
  }
  seen.last_id = parser.last_id();
  seen.comments = parser.comments();
  return seen;
}

}  // namespace

FUZZ_TARGET(sse_parser) {
  if (input.size() < 2) return;
  const std::size_t limit = std::size_t{static_cast<unsigned char>(input[0])} * 4;
  const auto seed = static_cast<unsigned char>(input[1]);
  const auto stream = input.substr(2);
  auto wanted = expected(stream, limit);
  // 19 digits may or may not fit; which, is the table's business.
  auto forget_retry = [](Seen& seen) {
    for (auto& event : seen.events) {
      if (event.retry && *event.retry > std::chrono::milliseconds(999'999'999'999'999'999)) event.retry.emplace(-1);
    }
  };
  forget_retry(wanted);
  for (const std::size_t most : {std::size_t{1}, std::size_t{5}, stream.size() + 1}) {
    auto seen = read(stream, limit, most, seed);
    forget_retry(seen);
    require(seen == wanted, "another reading of the same stream");
  }
}
