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

}  // namespace

Duration pause_before_resuming(std::optional<milliseconds> wish, int attempt) {
  const auto first = std::clamp(wish.value_or(standard_pause), shortest_pause, longest_pause);
  if (attempt <= 1) return first;
  return std::min(first * (1 << std::min(attempt - 1, 6)), std::max(first, longest_growth));
}

bool usable_event_id(std::string_view id) noexcept {
  return id.size() <= longest_id && std::ranges::none_of(id, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return (byte < 0x20 && c != '\t') || byte == 0x7F;
         });
}

}  // namespace patchbay
