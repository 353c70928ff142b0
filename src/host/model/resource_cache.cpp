#include "host/model/resource_cache.h"

namespace patchbay {
namespace {

constexpr std::size_t bytes_of_entry = 256;  // beside its texts

// "file:///a/b" is below "file:///a".
bool is_below(std::string_view uri, std::string_view above) {
  if (!uri.starts_with(above)) return false;
  return uri.size() == above.size() || above.ends_with('/') || uri[above.size()] == '/';
}

}  // namespace

std::size_t bytes_of(const ReadResourceResult& result) noexcept {
  std::size_t bytes = bytes_of_entry;
  for (const auto& one : result.contents) {
    bytes += bytes_of_entry + one.uri.size() + (one.text ? one.text->size() : 0) + (one.blob ? one.blob->size() : 0);
  }
  return bytes;
}

const ResourceCache::Kept* ResourceCache::find(const std::string& server, const std::string& uri) {
  const auto found = index_.find({server, uri});
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return &found->second->kept;
}

std::vector<ResourceCache::Key> ResourceCache::store(const std::string& server, const std::string& uri,
                                                     std::shared_ptr<const ReadResourceResult> result, bool watched,
                                                     std::uint64_t generation) {
  std::vector<Key> gone;
  Key key{server, uri};
  if (const auto before = index_.find(key); before != index_.end()) erase(before->second);
  const auto bytes = bytes_of(*result);
  if (bytes > most_bytes_ / 4 || most_entries_ == 0) return {std::move(key)};
  entries_.push_front({key, {std::move(result), watched, generation != generation_}, bytes});
  index_[std::move(key)] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > most_bytes_ || entries_.size() > most_entries_) {
    gone.push_back(entries_.back().key);
    erase(std::prev(entries_.end()));
  }
  return gone;
}

std::vector<ResourceCache::Key> ResourceCache::set_stale(const std::string& server, std::string_view uri) {
  ++generation_;
  std::vector<Key> changed;
  for (auto& entry : entries_) {
    if (entry.key.first != server || (!is_below(uri, entry.key.second) && !is_below(entry.key.second, uri))) continue;
    if (entry.kept.usable()) changed.push_back(entry.key);
    entry.kept.stale = true;
  }
  return changed;
}

void ResourceCache::unwatch(const std::string& server) {
  for (auto& entry : entries_) {
    if (entry.key.first == server) entry.kept.watched = false;
  }
}

void ResourceCache::drop(const std::string& server, const std::string& uri) {
  if (const auto found = index_.find({server, uri}); found != index_.end()) erase(found->second);
}

void ResourceCache::clear() {
  entries_.clear();
  index_.clear();
  bytes_ = 0;
  ++generation_;
}

void ResourceCache::erase(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  index_.erase(entry->key);
  entries_.erase(entry);
}

}  // namespace patchbay
