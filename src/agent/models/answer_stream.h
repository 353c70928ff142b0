// Takes the body of an answer apart as its framing says and gives the pieces to a reader, within bounds. http_model
// makes one for each answer. Loop thread only.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include <patchbay/task.h>

#include "agent/models/provider.h"
#include "base/clock.h"
#include "http/client/http_client.h"
#include "http/sse_parser.h"

namespace patchbay {

// The same without a connection: what arrived, however it was cut.
class AnswerFrames {
 public:
  using Outcome = std::expected<void, ProviderFailure>;

  // `limit` is that of one event or line, and of the whole. What begins with a brace is one JSON value and no events,
  // whatever was asked for: mostly it says what is wrong.
  AnswerFrames(AnswerFraming framing, AnswerReader& reader, std::size_t limit);

  // Ends early when the answer is complete. Errc::limit for what is too large.
  Result<Outcome> feed(std::string_view bytes, const ModelEventSink& tell);
  // The body has ended: a last line needs no end of its own.
  Outcome end(const ModelEventSink& tell);
  // Grows with what says something: an event, a line, of one JSON value every byte. Not with comments and empty lines.
  std::size_t heard() const noexcept { return framing_ == AnswerFraming::whole ? taken_ : heard_; }

 private:
  Outcome take_lines(const ModelEventSink& tell);

  AnswerFraming framing_;
  AnswerReader& reader_;
  std::size_t limit_;
  std::size_t taken_ = 0;
  std::size_t heard_ = 0;  // events or lines
  bool begun_ = false;
  SseParser events_;
  std::string text_;          // of a line or body that has not ended
  std::size_t searched_ = 0;  // so much of it has no end of a line
};

struct AnswerEnd {
  std::optional<ProviderFailure> wrong = {};  // what the provider said
  bool fell_quiet = false;                    // nothing but comments has come for `quiet`
};

// Until the answer is complete or the body ends. Throws Errc::limit, and what reading throws.
Task<AnswerEnd> read_answer(HttpExchange& exchange, AnswerFraming framing, AnswerReader& reader, std::size_t limit,
                            Duration quiet, ModelEventSink tell);

}  // namespace patchbay
