#include "server/replay.h"

#include <algorithm>

namespace patchbay {
namespace {

constexpr std::size_t overhead = 64;  // of one event, beside its text

}  // namespace

ReplayBuffer::~ReplayBuffer() {
  while (!kept_.empty()) drop_oldest();
}

void ReplayBuffer::add(EventId id, std::string event) {
  const auto size = event.size() + overhead;
  // What is larger than any buffer may be leaves a gap, and nothing before it is of use.
  if (size > std::min(limit_, total_->limit)) {
    while (!kept_.empty()) drop_oldest();
    return;
  }
  kept_.push_back({id, std::move(event), total_->order.insert(total_->order.end(), this)});
  bytes_ += size;
  total_->bytes += size;
  while (bytes_ > limit_) drop_oldest();
  while (total_->bytes > total_->limit) total_->order.front()->drop_oldest();
}

void ReplayBuffer::drop_oldest() {
  const auto& oldest = kept_.front();
  const auto size = oldest.event.size() + overhead;
  bytes_ -= size;
  total_->bytes -= size;
  total_->order.erase(oldest.place);
  kept_.pop_front();
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
