// How a broken stream of events is asked for again (Streamable HTTP of the older revisions): whether, after
// which pause, how often, and from which event on. Pure; the HTTP channel asks, waits and reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/timeout.h"

namespace patchbay {

// The server's wish, if it has one, holds for the first attempt, within bounds: no stream is asked
// for without a pause, and none later than in an hour. Attempts after it wait longer and longer.
Duration pause_before_resuming(std::optional<std::chrono::milliseconds> wish, int attempt);

// What a server says to being asked for a stream.
enum class StreamReply : std::uint8_t {
  stream,
  later,  // it has too much to do, or does not know yet that the one before is dead
  none,
};
StreamReply stream_reply(int status, std::string_view media_type) noexcept;

// A stream that is to bring the answer to one request.
class AnswerResume {
 public:
  // A stateless request cannot be resumed.
  explicit AnswerResume(bool stateless) : stateless_(stateless) {}

  enum class Do : std::uint8_t {
    ask,       // for the rest, after the pause before attempt()
    lost,      // the answer will not come
    empty,     // the same: a whole stream came, and the answer was not in it
    worn_out,  // it broke too often
  };
  // The stream is over without the answer, or was not to be had again. `broken`: not in good order. A server that ends
  // it in good order wants to be asked again; the call has limits of its own.
  Do over(std::string_view last_id, bool broken);
  int attempt() const noexcept { return attempt_; }

 private:
  bool stateless_;
  std::string seen_;  // the last id there was before
  int attempt_ = 0;   // since there was a new event
  int failures_ = 0;  // the same, of those that broke
};

// The stream of what belongs to no request. Many servers have none; that is no fault.
class ListenResume {
 public:
  // Which attempt the next one is; there is a pause before every one but the first.
  int attempt() const noexcept { return attempt_; }
  bool was_open() const noexcept { return was_open_; }

  enum class Do : std::uint8_t {
    read,
    again,
    doubt_again,  // the session may be gone; a program that only listens would never notice
    doubt_stop,   // the same, and it was asked for often enough
    stop,
  };
  // No answer came.
  void failed() { ++attempt_; }
  Do answered(StreamReply reply, int status);
  // It ended.
  void ended(bool events_came) { attempt_ = events_came ? 1 : attempt_ + 1; }
  // A message on it was too large. True when the stream shall be asked for again, past that message.
  bool skips(bool messages_came);

 private:
  int attempt_ = 0;
  bool was_open_ = false;
  int refusals_ = 0;  // in a row, of a stream that was there
  int skipped_ = 0;   // in a row
};

// Whether an event's id can be sent back as a header.
bool usable_event_id(std::string_view id) noexcept;

}  // namespace patchbay
