#include "transport/stream_reader.h"

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/limit_text.h"
#include "base/pace.h"
#include "base/timeout.h"
#include "http/sse_parser.h"
#include "transport/resuming.h"

namespace patchbay {

ByteBudget::Unfinished StreamReader::incoming(HttpExchange& exchange) const {
  return {byte_budget(), executor_, runtime_.limits.buffered, [&exchange] { exchange.cancel(); }};
}

Task<void> StreamReader::wait_for_room(ByteBudget::Unfinished& incoming) {
  auto room = co_await as_result(incoming.room(ByteBudget::small));
  if (!room) throw too_much(room.error());
}

// The next piece of a stream that has shown signs of life, and would not be silent for so long.
Task<std::string> StreamReader::read_within(HttpExchange& exchange, Duration patience) {
  const auto shown = limit_text(std::chrono::ceil<std::chrono::milliseconds>(patience));
  auto piece = co_await as_result(with_timeout(
      exchange.read(), patience, fmt::format("the stream was silent for {}, although it was active before", shown)));
  if (piece) co_return std::move(*piece);
  if (piece.error().code() == Errc::timeout) {
    runtime_.log(LogLevel::info, "stream_silent", "limit", shown);
    requester_.use_fresh_connections();  // the others lead the same way
  }
  throw std::move(piece).error();
}

Task<bool> StreamReader::read(HttpExchange& exchange, std::optional<RequestId> wanted, bool listens,
                              StreamMemory& memory) {
  SseParser parser(runtime_.limits.message);
  StreamPulse pulse(waits_.pulse);
  Chatter chatter(waits_.chatter);
  Pace pace;
  auto unfinished = incoming(exchange);
  auto bear = [&](std::size_t bytes, std::size_t pieces) {
    auto bearable = chatter.note(bytes, pieces, clock_.now());
    if (!bearable) throw too_much(bearable.error());
  };
  bool answered = false;
  memory.broken.reset();
  while (!answered) {
    if (!unfinished.fits(ByteBudget::small)) co_await wait_for_room(unfinished);
    const auto begun = clock_.now();
    const auto patience = listens ? pulse.patience() : std::nullopt;
    auto piece = co_await as_result(patience ? read_within(exchange, *patience) : exchange.read());
    if (!piece) {
      if (unfinished.failed()) throw too_much(unfinished.failure());
      if (piece.error().code() == Errc::cancelled) throw std::move(piece).error();
      memory.broken = std::move(piece).error();
      co_return false;
    }
    if (piece->empty()) co_return false;
    const auto silence = clock_.now() - begun;
    const auto comments = parser.comments();
    const auto lines = parser.ignored_lines();
    const auto bytes = parser.ignored_bytes();
    if (auto fed = parser.feed(*piece); !fed) throw fed.error().within(requester_.shown());
    unfinished.hold(parser.unfinished());
    if (unfinished.failed()) throw too_much(unfinished.failure());
    bear(parser.ignored_bytes() - bytes, parser.ignored_lines() - lines);
    bool beat = parser.comments() > comments, message = false;
    while (auto event = parser.next()) {
      ++memory.events;
      pace.note(event->data.size());
      if (pace.due()) co_await pace.turn();
      if (event->id) memory.last_id = usable_event_id(*event->id) ? *event->id : std::string();
      if (event->retry) memory.retry = *event->retry;
      if (event->data.empty() || !event->is_message()) {
        beat = true;
        bear(event->data.size(), 1);
        continue;
      }
      message = true;
      while (!inbox_.has_room()) co_await inbox_.taken();
      while (auto busy = room_()) co_await std::move(*busy);
      const auto size = event->data.size();
      auto put = MessageInbox::Put::nothing;
      if (is_read_aside(size, runtime_.limits)) {
        put = co_await inbox_.put_text_aside(std::move(event->data), byte_budget().charge(size), wanted, runtime_);
      } else {
        put = inbox_.put_text(std::move(event->data), wanted, runtime_);
      }
      answered = answered || put == MessageInbox::Put::answer;
      if (put == MessageInbox::Put::nothing) {
        bear(size, 1);
      } else {
        chatter.heard();
        ++memory.messages;
      }
    }
    pulse.note(silence, beat && !message ? StreamPulse::Sign::beat : StreamPulse::Sign::other);
  }
  co_return true;
}

}  // namespace patchbay
