#include "server/replay.h"

#include <algorithm>

namespace patchbay {
namespace {

constexpr std::size_t overhead = 64;  // of one event, beside its text

}  // namespace

void ReplayBuffer::add(EventId id, std::string event) {
  const auto size = event.size() + overhead;
  kept_.push_back({id, std::move(event)});
  bytes_ += size;
  total_->bytes += size;
  while (!kept_.empty() && (bytes_ > limit_ || total_->bytes > total_->limit)) {
    const auto oldest = kept_.front().event.size() + overhead;
    bytes_ -= oldest;
    total_->bytes -= oldest;
    kept_.pop_front();
  }
}

bool ReplayBuffer::holds(std::uint64_t stream) const noexcept {
  return std::ranges::any_of(kept_, [&](const Kept& kept) { return kept.id.stream == stream; });
}

ReplayBuffer::Missed ReplayBuffer::after(EventId after, std::uint64_t next) const {
  Missed missed;
  auto expected = after.event + 1;
  for (const auto& kept : kept_) {
    if (kept.id.stream != after.stream || kept.id.event <= after.event) continue;
    missed.complete &= kept.id.event == expected;
    expected = kept.id.event + 1;
    missed.events.push_back(kept.event);
  }
  missed.complete &= expected == next;
  return missed;
}

}  // namespace patchbay
