#include "agent/models/answer_stream.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/limit_text.h"
#include "base/loop_clock.h"
#include "base/pace.h"
#include "base/strings.h"
#include "base/timeout.h"

namespace patchbay {

AnswerFrames::AnswerFrames(AnswerFraming framing, AnswerReader& reader, std::size_t limit)
    : framing_(framing), reader_(reader), limit_(limit), events_(limit) {}

Result<AnswerFrames::Outcome> AnswerFrames::feed(std::string_view bytes, const ModelEventSink& tell) {
  taken_ += bytes.size();
  if (taken_ > limit_) {
    return fail(Errc::limit, fmt::format("the answer is larger than {}", limit_text(limit_)));
  }
  if (!begun_) {
    const auto first = bytes.find_first_not_of(" \t\r\n");
    begun_ = first != std::string_view::npos;
    if (begun_ && framing_ == AnswerFraming::events && bytes[first] == '{') framing_ = AnswerFraming::whole;
  }
  if (framing_ != AnswerFraming::events) {
    text_ += bytes;
    return framing_ == AnswerFraming::lines ? take_lines(tell) : Outcome();
  }
  if (auto fed = events_.feed(bytes); !fed) return std::unexpected(fed.error());
  while (auto event = events_.next()) {
    if (event->data.empty()) continue;
    ++heard_;
    if (auto took = reader_.take(event->event, event->data, tell); !took) return took;
    if (reader_.complete()) break;
  }
  return Outcome();
}

AnswerFrames::Outcome AnswerFrames::take_lines(const ModelEventSink& tell) {
  std::size_t begin = 0;
  for (auto end = text_.find('\n', searched_); end != std::string::npos && !reader_.complete();
       end = text_.find('\n', begin)) {
    const auto line = trim(std::string_view(text_).substr(begin, end - begin));
    begin = end + 1;
    if (line.empty()) continue;
    ++heard_;
    if (auto took = reader_.take("", line, tell); !took) return took;
  }
  text_.erase(0, begin);
  searched_ = text_.size();
  return {};
}

AnswerFrames::Outcome AnswerFrames::end(const ModelEventSink& tell) {
  const auto rest = trim(text_);
  if (framing_ == AnswerFraming::events || rest.empty() || reader_.complete()) return {};
  return reader_.take("", rest, tell);
}

Task<AnswerEnd> read_answer(HttpExchange& exchange, AnswerFraming framing, AnswerReader& reader, std::size_t limit,
                            Duration quiet, ModelEventSink tell) {
  AnswerFrames frames(framing, reader, limit);
  const auto executor = co_await asio::this_coro::executor;
  const auto& clock = loop_clock(executor);
  std::size_t heard = 0;
  auto heard_at = clock.now();
  // A model that answers faster than we read must not have the loop for itself.
  Pace pace;
  while (!reader.complete()) {
    const auto wait = quiet == Duration::max() ? quiet : std::max(Duration(), quiet - (clock.now() - heard_at));
    const auto read = co_await as_result(with_timeout(exchange.read(), wait, "the answer does not go on"));
    if (!read && read.error().code() == Errc::timeout && clock.now() - heard_at >= quiet) {
      co_return AnswerEnd{.fell_quiet = true};
    }
    if (!read) throw read.error();
    const auto& piece = *read;
    const auto outcome = piece.empty() ? Result<AnswerFrames::Outcome>(frames.end(tell)) : frames.feed(piece, tell);
    if (!outcome) throw outcome.error();
    if (!*outcome) co_return AnswerEnd{.wrong = outcome->error()};
    if (piece.empty()) break;
    if (std::exchange(heard, frames.heard()) != frames.heard()) heard_at = clock.now();
    pace.note(piece.size());
    if (pace.due()) co_await pace.turn();
  }
  co_return AnswerEnd{};
}

}  // namespace patchbay
