#include "http/chatter.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace patchbay {
namespace {

using Seconds = std::chrono::duration<double>;

}  // namespace

Result<void> Chatter::note(std::size_t bytes, std::size_t pieces, TimePoint now) {
  if (bytes == 0 && pieces == 0) return {};
  const double passed = std::max(0.0, Seconds(now - std::exchange(last_, now)).count());
  bytes_ = std::max(0.0, bytes_ - passed * static_cast<double>(rule_.bytes_a_second)) + static_cast<double>(bytes);
  pieces_ = std::max(0.0, pieces_ - passed * static_cast<double>(rule_.pieces_a_second)) + static_cast<double>(pieces);
  if (bytes_ <= static_cast<double>(rule_.bytes) && pieces_ <= static_cast<double>(rule_.pieces)) return {};
  return fail(
      Errc::limit,
      fmt::format(
          "sends data without end that contains no message ({:.0f} pieces, {:.0f} bytes); nothing more is read from it",
          pieces_, bytes_));
}

}  // namespace patchbay
