#include "process/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace patchbay {
namespace {

constexpr std::size_t block_size = 64u << 10;
constexpr std::size_t least_room = 16u << 10;
constexpr std::size_t padding = 64;          // what a vector JSON parser may read past a text
constexpr std::size_t most_kept = 8u << 20;  // larger blocks are not kept for later
constexpr std::size_t sample_size = 120;
constexpr int most_junk_at_a_time = 1000;

std::shared_ptr<std::string> make_block(std::size_t room) {
  auto block = std::make_shared<std::string>();
  // The bytes are written by read(2) before anybody looks; zeroing them would cost as much.
  block->resize_and_overwrite(room + padding, [](char* data, std::size_t size) {
    std::memset(data + size - padding, 0, padding);
    return size;
  });
  return block;
}

std::size_t room_of(const std::string& block) { return block.size() - padding; }
bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

LineReader::LineReader(std::size_t limit) : limit_(limit) {}

std::span<char> LineReader::room() {
  if (!block_) block_ = make_block(block_size);
  const std::size_t kept = end_ - begin_;
  const bool ours = block_.use_count() == 1;
  if (ours && kept == 0) begin_ = scanned_ = end_ = 0;
  const std::size_t left = room_of(*block_) - end_;
  if (!ours || left < least_room) {
    // A long line gets a block four times its present size, so that it is copied few times;
    // but not so large a one that it is thrown away afterwards, while that can be helped.
    std::size_t wanted = kept < block_size / 2 ? block_size : std::max(block_size, kept * 4);
    if (kept < most_kept / 2) wanted = std::min(wanted, most_kept);
    wanted = std::min(wanted, std::max(block_size, limit_ + least_room + 2));
    wanted = std::max(wanted, kept + least_room);
    std::shared_ptr<std::string> target;
    if (ours && room_of(*block_) >= wanted) {
      target = block_;
    } else if (spare_ && spare_.use_count() == 1 && room_of(*spare_) >= wanted) {
      target = std::exchange(spare_, nullptr);
    } else {
      target = make_block(wanted);
    }
    std::memmove(target->data(), block_->data() + begin_, kept);
    if (target != block_) {
      // Keep the larger of the two for later.
      const bool keep = room_of(*block_) <= most_kept && (!spare_ || room_of(*spare_) < room_of(*block_) || !ours);
      if (keep) spare_ = std::move(block_);
      block_ = std::move(target);
    }
    scanned_ -= begin_;
    begin_ = 0;
    end_ = kept;
  }
  return {block_->data() + end_, room_of(*block_) - end_};
}

void LineReader::commit(std::size_t bytes) { end_ += bytes; }

// Moves begin_ to the first byte of a line worth keeping. False when there is none yet.
bool LineReader::skip_to_line() {
  resting_ = false;
  for (int junk = 0;; ++junk) {
    if (junk == most_junk_at_a_time) {
      resting_ = true;
      return false;
    }
    if (in_junk_) drop_junk();
    if (in_junk_) return false;
    if (scanned_ > begin_) return true;  // the line has begun
    const auto before = begin_;
    while (begin_ < end_ && (blank((*block_)[begin_]) || (*block_)[begin_] == '\n')) ++begin_;
    skipped_bytes_ += begin_ - before;
    scanned_ = begin_;
    if (begin_ == end_) return false;
    const char first = (*block_)[begin_];
    if (first == '{' || first == '[') return true;
    begin_junk();
  }
}

void LineReader::begin_junk() {
  in_junk_ = true;
  if (junk_lines_++ == 1) first_junk_ = std::move(junk_sample_);
  junk_sample_.clear();
}

void LineReader::drop_junk() {
  const char* from = block_->data() + begin_;
  const auto* found = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
  const std::size_t length = found ? static_cast<std::size_t>(found - from) : end_ - begin_;
  if (junk_sample_.size() < sample_size) junk_sample_.append(from, std::min(length, sample_size - junk_sample_.size()));
  begin_ += length;
  skipped_bytes_ += length;
  if (found) {
    ++begin_;
    in_junk_ = false;
  }
  scanned_ = begin_;
}

std::optional<LineReader::Line> LineReader::next() {
  if (too_long_ || !block_ || !skip_to_line()) return std::nullopt;
  const char* data = block_->data();
  const auto* found = static_cast<const char*>(std::memchr(data + scanned_, '\n', end_ - scanned_));
  if (!found) {
    scanned_ = end_;
    const std::size_t length = end_ - begin_;
    if (length > limit_ && !(length == limit_ + 1 && data[end_ - 1] == '\r')) too_long_ = true;
    return std::nullopt;
  }
  const auto stop = static_cast<std::size_t>(found - data);
  std::string_view text(data + begin_, stop - begin_);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() > limit_) {
    too_long_ = true;
    return std::nullopt;
  }
  begin_ = scanned_ = stop + 1;
  return Line{block_, text};
}

void LineReader::drop() {
  block_.reset();
  spare_.reset();
  begin_ = scanned_ = end_ = 0;
}

std::optional<LineReader::Line> LineReader::rest() {
  if (too_long_ || !block_) return std::nullopt;
  bool begun = skip_to_line();
  while (!begun && resting_) begun = skip_to_line();
  if (!begun) return std::nullopt;
  std::string_view text(block_->data() + begin_, end_ - begin_);
  if (text.ends_with('\r')) text.remove_suffix(1);  // half a line end; next() left room for it
  begin_ = scanned_ = end_;
  return Line{block_, text};
}

}  // namespace patchbay
