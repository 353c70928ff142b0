// LineMessages: messages that come as lines, whoever sends them: what has been read and not been handed out, in bounded
// pieces so that others have their turn, within the bytes the process may hold, and how much of it was no message at
// all. The channel to a child (stdio) and the channel to a client (line_channel) each own one, read into it, and
// decide what a line is worth. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <patchbay/task.h>

#include "base/byte_budget.h"
#include "base/loop_clock.h"
#include "base/pace.h"
#include "base/runtime.h"
#include "http/chatter.h"
#include "process/line_reader.h"
#include "rpc/channel.h"
#include "rpc/read_messages.h"

namespace patchbay {

class LineMessages {
 public:
  using Line = LineReader::Line;

  // `interrupt` is called when what is held of an unfinished line has to go; a read that waits shall return then.
  LineMessages(const asio::any_io_executor& executor, const Limits& limits, std::function<void()> interrupt)
      : limits_(limits),
        clock_(loop_clock(executor)),
        reader_(limits.message),
        incoming_(byte_budget(), executor, limits.buffered, std::move(interrupt)) {}

  LineReader& reader() noexcept { return reader_; }
  const LineReader& reader() const noexcept { return reader_; }

  // The next message among what was read. `judge(line, read)` says what a line is worth, nothing or something to hand
  // out. When there is none, todo() says what to do.
  template <class Judge>
  std::optional<Incoming> next(Judge judge) {
    if (ready_) return std::exchange(ready_, std::nullopt);
    while (!large_ && !pace_.due()) {
      auto line = reader_.next();
      if (!line) break;
      pace_.note(line->text.size());
      if (is_read_aside(line->text.size(), limits_)) {
        large_ = std::move(line);
      } else if (auto found = judge(*line, read_messages(line->block, line->text, limits_))) {
        return found;
      }
    }
    return std::nullopt;
  }

  enum class Todo : std::uint8_t {
    read_aside,     // a large line
    turn,           // others shall have theirs
    give_up,        // there is no room for the line that is coming: failure()
    too_long,       // the line is
    wait_for_room,  // room()
    read,           // into reader().room(), then commit()
  };
  Todo todo();
  // The large line. The owner lives while it is read, and judges it then.
  Task<std::pair<Line, ReadMessages>> read_aside();
  void put(std::optional<Incoming> found) { ready_ = std::move(found); }
  Task<void> turn() { return pace_.turn(); }
  Error failure() const { return incoming_.failure(); }
  bool failed() const { return incoming_.failed(); }
  Task<void> room();
  void commit(std::size_t bytes) {
    pace_.rested();
    reader_.commit(bytes);
  }
  // After the last byte: half a line may still be a message.
  Task<std::optional<std::pair<Line, ReadMessages>>> rest();

  // A line was a message.
  void heard() { chatter_.heard(); }
  // What is no message may go on for a while, and not for ever: Errc::limit.
  Result<void> bear(std::size_t bytes, std::size_t lines);
  // The same for what the reader has passed over since the last time, in so many lines.
  Result<void> bear_skipped(std::size_t lines);

 private:
  const Limits& limits_;
  const Clock& clock_;
  LineReader reader_;
  Pace pace_;
  Chatter chatter_;
  std::uint64_t borne_ = 0;  // bytes the reader passed over that were counted
  ByteBudget::Unfinished incoming_;
  std::optional<Line> large_;      // the next line, to be read aside
  std::optional<Incoming> ready_;  // what came of one whose receiver left meanwhile
};

}  // namespace patchbay
