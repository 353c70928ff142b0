// What was read of resources, by server and URI, within bounds of entries and bytes; what was used longest ago goes
// first. An entry may be used without asking again while its server tells of changes (`watched`) and has told of none
// (`stale`). Pure; owned by ModelTools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <patchbay/types.h>

namespace patchbay {

class ResourceCache {
 public:
  using Key = std::pair<std::string, std::string>;  // server, URI

  struct Kept {
    std::shared_ptr<const ReadResourceResult> result;
    bool watched = false;
    bool stale = false;
    bool usable() const noexcept { return watched && !stale; }
  };

  ResourceCache(std::size_t bytes, std::size_t entries) : most_bytes_(bytes), most_entries_(entries) {}

  // Null when it is not there. Good until something is stored or dropped.
  const Kept* find(const std::string& server, const std::string& uri);
  // What a change since `generation` was read may have made old is kept as stale. Returns what had to go; that is the
  // entry itself when it is larger than a quarter of all there may be.
  std::vector<Key> store(const std::string& server, const std::string& uri,
                         std::shared_ptr<const ReadResourceResult> result, bool watched, std::uint64_t generation);
  // This resource, or one above or below it, is another one now. Returns what was usable until now.
  std::vector<Key> set_stale(const std::string& server, std::string_view uri);
  // The server does not tell of changes any more.
  void unwatch(const std::string& server);
  void drop(const std::string& server, const std::string& uri);
  void clear();

  std::uint64_t generation() const noexcept { return generation_; }
  std::size_t size() const noexcept { return index_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Entry {
    Key key;
    Kept kept;
    std::size_t bytes = 0;
  };
  using Entries = std::list<Entry>;  // the one used last first
  void erase(Entries::iterator entry);

  std::size_t most_bytes_;
  std::size_t most_entries_;
  std::size_t bytes_ = 0;
  std::uint64_t generation_ = 0;  // grows with every change that was told
  Entries entries_;
  std::map<Key, Entries::iterator> index_;
};

std::size_t bytes_of(const ReadResourceResult& result) noexcept;

}  // namespace patchbay
