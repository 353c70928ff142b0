#include "client/cache.h"

#include <algorithm>

namespace patchbay {
namespace {
constexpr std::int64_t longest_ttl_ms = 24ll * 60 * 60 * 1000;
}

Cache::Cache(const Clock& clock, std::size_t capacity) : clock_(clock), capacity_(capacity) {}

// A method never holds a newline, so the two parts cannot run into each other.
std::string Cache::id_of(std::string_view method, std::string_view key) {
  std::string id(method);
  id.push_back('\n');
  id += key;
  return id;
}

const Cache::Kept* Cache::find(std::string_view method, std::string_view key) {
  auto found = index_.find(id_of(method, key));
  if (found == index_.end()) return nullptr;
  if (clock_.now() >= found->second->fresh_until) {
    entries_.erase(found->second);
    index_.erase(found);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found->second);
  return &found->second->kept;
}

void Cache::store(std::string_view method, std::string_view key, std::int64_t ttl_ms, Kept kept) {
  forget(id_of(method, key));
  if (ttl_ms <= 0) return;
  auto until = clock_.now() + std::chrono::milliseconds(std::min(ttl_ms, longest_ttl_ms));
  entries_.push_front(Entry{id_of(method, key), until, std::move(kept)});
  index_.emplace(entries_.front().id, entries_.begin());
  while (entries_.size() > capacity_) {
    index_.erase(entries_.back().id);
    entries_.pop_back();
  }
}

std::uint64_t Cache::generation(std::string_view method) const {
  const auto found = drops_.find(method);
  return clears_ + (found == drops_.end() ? 0 : found->second);
}

void Cache::drop(std::string_view method) {
  ++drops_[std::string(method)];
  auto prefix = id_of(method, "");
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->id.starts_with(prefix)) {
      index_.erase(it->id);
      it = entries_.erase(it);
    } else {
      ++it;
    }
  }
}

void Cache::drop(std::string_view method, std::string_view key) {
  ++drops_[std::string(method)];
  forget(id_of(method, key));
}

void Cache::forget(const std::string& id) {
  auto found = index_.find(id);
  if (found == index_.end()) return;
  entries_.erase(found->second);
  index_.erase(found);
}

void Cache::clear() {
  ++clears_;
  index_.clear();
  entries_.clear();
}

}  // namespace patchbay
