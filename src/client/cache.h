// Cache: results a server said stay fresh for a while. Keyed by method and what affects the
// result; checked when used, dropped when the server announces a change. Bounded. Pure but
// for the clock it is given.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include <patchbay/json.h>

#include "base/clock.h"

namespace patchbay {

class Cache {
 public:
  explicit Cache(Clock clock, std::size_t capacity = 256);

  // Null when absent or stale.
  const Json* find(std::string_view method, std::string_view key);
  // Nothing happens for a `ttl_ms` of zero or less. At most a day counts.
  void store(std::string_view method, std::string_view key, std::int64_t ttl_ms, Json result);
  void drop(std::string_view method);                        // every key of a method
  void drop(std::string_view method, std::string_view key);  // one
  void clear();
  // How often something was dropped. An answer that was asked for before a drop may be older
  // than the change that caused it: compare, and do not store it then.
  std::uint64_t drops() const noexcept { return drops_; }
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  struct Entry {
    std::string id;
    std::chrono::steady_clock::time_point fresh_until;
    Json result;
  };
  void forget(const std::string& id);
  static std::string id_of(std::string_view method, std::string_view key);

  Clock clock_;
  std::size_t capacity_;
  std::uint64_t drops_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
};

}  // namespace patchbay
