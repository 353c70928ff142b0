#include "transport/resuming.h"

#include <algorithm>

namespace patchbay {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds standard_pause{1'000};
constexpr milliseconds shortest_pause{100};
constexpr milliseconds longest_pause{3'600'000};  // that a server may ask for
constexpr milliseconds longest_growth{5'000};     // that ours may grow to
constexpr std::size_t longest_id = 4096;
constexpr int resume_tries = 5;   // after broken streams, in a row without a new event
constexpr int refused_tries = 3;  // of a stream that was there and is refused, in a row

}  // namespace

Duration pause_before_resuming(std::optional<milliseconds> wish, int attempt) {
  const auto first = std::clamp(wish.value_or(standard_pause), shortest_pause, longest_pause);
  if (attempt <= 1) return first;
  return std::min(first * (1 << std::min(attempt - 1, 6)), std::max(first, longest_growth));
}

StreamReply stream_reply(int status, std::string_view media_type) noexcept {
  if (status / 100 == 5 || status == 429 || status == 409) return StreamReply::later;
  return status == 200 && media_type == "text/event-stream" ? StreamReply::stream : StreamReply::none;
}

AnswerResume::Do AnswerResume::over(std::string_view last_id, bool broken) {
  if (stateless_ || last_id.empty()) return broken ? Do::lost : Do::empty;
  if (last_id != seen_) attempt_ = failures_ = 0;
  seen_ = last_id;
  if (broken && ++failures_ > resume_tries) return Do::worn_out;
  ++attempt_;
  return Do::ask;
}

ListenResume::Do ListenResume::answered(StreamReply reply, int status) {
  // At the first time a 409 means that somebody else has the stream.
  if (reply == StreamReply::later && (status != 409 || was_open_)) {
    ++attempt_;
    return Do::again;
  }
  if (reply == StreamReply::stream) {
    was_open_ = true;
    refusals_ = 0;
    return Do::read;
  }
  // 404 is how servers that know only POST at this path say so. From one that had this stream it rather means
  // that the session is gone.
  if (status != 404 || !was_open_) return Do::stop;
  if (++refusals_ > refused_tries) return Do::doubt_stop;
  ++attempt_;
  return Do::doubt_again;
}

bool ListenResume::skips(bool messages_came) {
  if (messages_came) skipped_ = 0;
  if (++skipped_ > resume_tries) return false;
  ++attempt_;
  return true;
}

bool usable_event_id(std::string_view id) noexcept {
  return id.size() <= longest_id && std::ranges::none_of(id, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return (byte < 0x20 && c != '\t') || byte == 0x7F;
         });
}

}  // namespace patchbay
