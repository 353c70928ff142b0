#include "transport/outbox.h"

#include <algorithm>

namespace patchbay {

void Outbox::put(Kind kind, std::string body) {
  bytes_ += body.size();
  const auto place =
      kind == Kind::cancellation
          ? std::ranges::find_if(items_, [](const Item& item) { return item.kind != Kind::cancellation; })
          : items_.end();
  items_.insert(place, {kind, std::move(body)});
}

std::optional<Outbox::Item> Outbox::take() {
  if (items_.empty()) return std::nullopt;
  auto item = std::move(items_.front());
  items_.pop_front();
  bytes_ -= item.body.size();
  return item;
}

std::optional<Outbox::Item> Outbox::take_cancellation() {
  if (items_.empty() || items_.front().kind != Kind::cancellation) return std::nullopt;
  return take();
}

}  // namespace patchbay
