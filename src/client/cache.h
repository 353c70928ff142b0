// Cache: results a server said stay fresh for a while. Keyed by method and what affects the
// result; checked when used, dropped when the server announces a change. Bounded. Pure but
// for the clock it is given.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <patchbay/json.h>

#include "base/clock.h"

namespace patchbay {

class Cache {
 public:
  explicit Cache(const Clock& clock, std::size_t capacity = 256);

  // An answer is handed out as it is kept: nobody changes it, so nobody needs a copy.
  struct Kept {
    std::shared_ptr<const Json> result;
    std::size_t bytes = 0;  // as it was received
  };

  // Null when absent or stale; good until something is stored or dropped.
  const Kept* find(std::string_view method, std::string_view key);
  // Nothing happens for a `ttl_ms` of zero or less. At most a day counts.
  void store(std::string_view method, std::string_view key, std::int64_t ttl_ms, Kept kept);
  void drop(std::string_view method);                        // every key of a method
  void drop(std::string_view method, std::string_view key);  // one
  void clear();
  // Grows whenever something of the method is dropped. An answer that was asked for in an earlier generation may be
  // older than the change that began this one: it must not be kept, nor take the place of a later one.
  std::uint64_t generation(std::string_view method) const;
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::string id;
    std::chrono::steady_clock::time_point fresh_until;
    Kept kept;
  };
  void forget(const std::string& id);
  static std::string id_of(std::string_view method, std::string_view key);

  const Clock& clock_;
  std::size_t capacity_;
  std::uint64_t clears_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> drops_;  // by method
  std::list<Entry> entries_;                                 // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

}  // namespace patchbay
