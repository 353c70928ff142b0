// Server-sent events out of a byte stream, as the HTML standard defines them. A state machine
// without input of its own: feed() it whatever arrived, however it was cut, and take events
// with next(). It looks at bytes only, so a chunk may end inside a UTF-8 sequence. Owned by
// whoever reads the stream; pure.
//
// One difference to a browser: a block that carries an id or a retry time but no data is
// reported too (its data is empty), because MCP servers begin streams with such a block.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/error.h>

namespace patchbay {

struct SseEvent {
  std::string event;              // empty means "message"
  std::string data;               // empty: nothing to dispatch, but see id and retry
  std::optional<std::string> id;  // set when this block had one; may be empty, which forgets the last
  std::optional<std::chrono::milliseconds> retry;

  bool is_message() const noexcept { return event.empty() || event == "message"; }
  bool operator==(const SseEvent&) const = default;
};

class SseParser {
 public:
  // `limit` bounds all that one event holds; one byte more fails with Errc::limit.
  explicit SseParser(std::size_t limit) : limit_(limit) {}

  // After a failure the parser takes nothing more; feed() says the same again.
  Result<void> feed(std::string_view bytes);
  std::optional<SseEvent> next();

  // What a reconnection sends as Last-Event-ID: the id of the latest complete event that had one.
  const std::string& last_id() const noexcept { return last_id_; }
  // The latest time the server asked to wait before reconnecting.
  std::optional<std::chrono::milliseconds> retry() const noexcept { return retry_; }
  // Comment lines, by which a server shows that it is alive.
  std::uint64_t comments() const noexcept { return comments_; }
  // Lines that belong to no event we report, comments among them, and their bytes: a server can send them without end.
  std::uint64_t ignored_lines() const noexcept { return ignored_lines_; }
  std::uint64_t ignored_bytes() const noexcept { return ignored_bytes_; }
  // How much of an event that has not ended is held.
  std::size_t unfinished() const noexcept { return line_.size() + used_; }
  // Whether something came behind the last complete event: a stream that ended there was cut off.
  bool mid_event() const noexcept { return !line_.empty() || pending_; }

 private:
  bool take_line(std::string_view line);
  void end_event();
  void ignore(std::size_t bytes) noexcept;
  bool fits(std::size_t more, std::size_t slack = 0) const noexcept;
  Result<void> too_large();

  std::size_t limit_;
  std::string line_;       // the beginning of a line whose end has not come
  std::size_t used_ = 0;   // bytes of the fields of the event so far
  int bom_seen_ = 0;       // bytes of a byte order mark at the very beginning; -1 when that is decided
  bool after_cr_ = false;  // an LF now belongs to the CR before it
  bool failed_ = false;
  bool pending_ = false;  // the current block has a field
  bool has_data_ = false;
  SseEvent current_;
  std::deque<SseEvent> ready_;
  std::string last_id_;
  std::optional<std::chrono::milliseconds> retry_;
  std::uint64_t comments_ = 0;
  std::uint64_t ignored_lines_ = 0;
  std::uint64_t ignored_bytes_ = 0;
};

}  // namespace patchbay
