// Cuts a byte stream into lines, without doing any input itself: the caller reads into
// room() and says how much came. A line is a slice of a shared block; the block is never
// written again while anybody else refers to it, and used again when nobody does.
//
// Only lines that begin with '{' or '[' are lines here. Blank lines are skipped. Any other
// line is junk (servers print banners): it is dropped while it streams by, however long it
// is, and counted. A line longer than the limit ends the stream: too_long().
//
// Owned by one channel, loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace patchbay {

class LineReader {
 public:
  struct Line {
    std::shared_ptr<const std::string> block;
    std::string_view text;  // without its line end; 64 bytes behind it can be read
  };

  explicit LineReader(std::size_t limit);

  // Where to read to: at least 16 KiB. Valid until the next call of room() or next().
  std::span<char> room();
  void commit(std::size_t bytes);

  // The next whole line, or nothing until more has been read. Passes over a bounded number of junk lines at a
  // time: when there may be more among what was read already, resting() is set, and next() goes on.
  std::optional<Line> next();
  bool resting() const noexcept { return resting_; }
  // Lets go of all that was read and not yet handed out.
  void drop();
  // How much of a line that has not ended is held.
  std::size_t unfinished() const noexcept { return in_junk_ ? 0 : end_ - begin_; }
  // After the end of the stream: what came behind the last line end, if it is no junk.
  std::optional<Line> rest();

  bool too_long() const noexcept { return too_long_; }
  std::uint64_t junk_lines() const noexcept { return junk_lines_; }
  // Of junk and blank lines, all that was passed over.
  std::uint64_t skipped_bytes() const noexcept { return skipped_bytes_; }
  // The beginning of the latest junk line, for a log, and of the first.
  const std::string& junk_sample() const noexcept { return junk_sample_; }
  const std::string& first_junk() const noexcept { return junk_lines_ > 1 ? first_junk_ : junk_sample_; }

 private:
  bool skip_to_line();
  void begin_junk();
  void drop_junk();

  std::size_t limit_;
  std::shared_ptr<std::string> block_;  // its size is the room, not what was read
  std::shared_ptr<std::string> spare_;  // handed out earlier; used again once it is ours alone
  std::size_t begin_ = 0;               // of the line being read
  std::size_t scanned_ = 0;             // no line end before this
  std::size_t end_ = 0;                 // of what was read
  bool in_junk_ = false;
  bool too_long_ = false;
  bool resting_ = false;
  std::uint64_t junk_lines_ = 0;
  std::uint64_t skipped_bytes_ = 0;
  std::string junk_sample_;
  std::string first_junk_;  // once there is a second
};

}  // namespace patchbay
