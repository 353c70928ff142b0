#include "transport/line_messages.h"

#include <chrono>

#include "base/as_result.h"

namespace patchbay {

LineMessages::Todo LineMessages::todo() {
  if (large_) return Todo::read_aside;
  if (pace_.due() || reader_.resting()) return Todo::turn;
  incoming_.hold(reader_.unfinished());
  if (incoming_.failed()) {
    reader_.drop();
    incoming_.hold(0);
    return Todo::give_up;
  }
  if (reader_.too_long()) return Todo::too_long;
  return incoming_.fits(ByteBudget::small) ? Todo::read : Todo::wait_for_room;
}

Task<std::pair<LineMessages::Line, ReadMessages>> LineMessages::read_aside() {
  auto line = std::move(*std::exchange(large_, std::nullopt));
  incoming_.hold(line.text.size());
  auto weight = incoming_.finish();
  auto read = co_await read_messages_aside(line.block, line.text, std::move(weight), limits_);
  pace_.rested();
  co_return std::pair(std::move(line), std::move(read));
}

Task<void> LineMessages::room() {
  auto waited = co_await as_result(incoming_.room(ByteBudget::small));
  if (!waited && waited.error().code() != Errc::limit) throw std::move(waited).error();
}

Task<std::optional<std::pair<LineMessages::Line, ReadMessages>>> LineMessages::rest() {
  auto line = reader_.rest();
  if (!line) co_return std::nullopt;
  auto read = is_read_aside(line->text.size(), limits_)
                  ? co_await read_messages_aside(line->block, line->text, incoming_.finish(), limits_)
                  : read_messages(line->block, line->text, limits_);
  co_return std::pair(std::move(*line), std::move(read));
}

Result<void> LineMessages::bear(std::size_t bytes, std::size_t lines) {
  if (bytes == 0 && lines == 0) return {};
  return chatter_.note(bytes, lines, clock_.now());
}

Result<void> LineMessages::bear_skipped(std::size_t lines) {
  const auto bytes = reader_.skipped_bytes() - std::exchange(borne_, reader_.skipped_bytes());
  return bear(static_cast<std::size_t>(bytes), lines);
}

}  // namespace patchbay
