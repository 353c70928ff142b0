// Hearing about changes. Watches: the watches of one session that are open; a part of it. open_watch() opens
// one more; Session::watch wraps what it returns. Loop thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <patchbay/session.h>
#include <patchbay/task.h>

namespace patchbay {

class SessionOwner;

// The library's way to what a Watch consists of.
struct WatchAccess {
  using State = Watch::State;
};
using WatchState = WatchAccess::State;

class Watches {
 public:
  using Acknowledged = std::function<void(const SubscriptionFilter&)>;

  // A request to listen, by its id.
  void add(std::int64_t id, Acknowledged acknowledged) { listening_[id] = std::move(acknowledged); }
  void remove(std::int64_t id) { listening_.erase(id); }
  bool contains(std::int64_t id) const { return listening_.contains(id); }
  void acknowledge(std::int64_t id, const SubscriptionFilter& filter);

  // An older server knows a subscription once, however many watches share it. True for the first of them.
  bool subscribe(const std::string& uri) { return ++subscriptions_[uri] == 1; }
  // Of these, the ones that no other watch has.
  std::vector<std::string> give_up(std::vector<std::string> uris);
  // In a new session.
  Task<void> subscribe_again(SessionOwner& session);

  // Those that somebody holds a Watch of.
  void note(const std::shared_ptr<WatchState>& watch);
  bool any_held() const;
  // One of them, which is not one of these any more; null when there is none.
  std::shared_ptr<WatchState> take();

 private:
  std::unordered_map<std::int64_t, Acknowledged> listening_;
  std::map<std::string, std::size_t> subscriptions_;
  std::vector<std::weak_ptr<WatchState>> opened_;
};

// Returns when the server has acknowledged (modern) or every resource is subscribed to
// (legacy); throws when it refused.
Task<std::shared_ptr<WatchState>> open_watch(std::shared_ptr<SessionOwner> session, SubscriptionFilter filter);
// The same for a watch of a session that has ended: from now on it is one of `session`. Nothing is left of it when it
// is stopped meanwhile.
Task<void> move_watch(std::shared_ptr<SessionOwner> session, std::shared_ptr<WatchState> watch);

}  // namespace patchbay
