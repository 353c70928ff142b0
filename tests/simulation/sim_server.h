// SimServer: a server that exists in a World alone, over all its restarts. It speaks either era, counts which calls it
// carried out, and does whatever its habits and the seed say: it crashes, hangs, loses, repeats and reorders
// answers, refuses credentials, forgets sessions, changes its lists and its era. Its transports behave as those of
// a child process or of a URL do. One thread; it outlives its connections.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rpc/transport.h"
#include "simulation/world.h"

namespace patchbay::test {

// What a server tends to do. Numbers without a unit are of a hundred.
struct Habits {
  std::string name;
  bool remote = false;  // reached by a URL
  // Opening a connection.
  int refuses = 0;                // it cannot be reached for a while
  std::chrono::seconds away{20};  // how long at most
  int slow_start = 0;             // opening takes up to 10 s
  int never_opens = 0;
  // One request.
  int crashes = 0;     // half of them before the request is carried out
  int hangs = 0;       // carried out, never answered
  int drops = 0;       // never carried out, never answered
  int errors = 0;      // a JSON-RPC error; some refuse, some have carried it out
  int repeats = 0;     // the answer comes twice
  int misses = 0;      // the answer is to a request that nobody made
  int slow = 0;        // up to 5 s
  int lingers = 0;     // the request stays in the queue of its sender for a while
  int statuses = 0;    // remote: 5xx, or nobody listens there
  int challenges = 0;  // remote: 401 from then on, for a while
  int forgets = 0;     // remote: 404, the session is gone
  int asks = 0;        // it asks us something first
  // By itself.
  Duration lives = Duration::max();  // dies so long after it was started
  int storms = 0;                    // a second: many notices that its lists changed
  bool differs = false;              // each list is another one
  bool grows = false;                // each list is longer, and has no last page
  bool changes_era = false;          // between restarts
  // What no server can be blamed for: it would be a fault of ours. To see that it would be found.
  enum class Sabotage { none, carried_out_twice, answer_of_another, said_to_be_not_carried_out, left_open };
  Sabotage sabotage = Sabotage::none;
};

// The characters of the play. L5, L6, L7, L8, X5.
const std::vector<Habits>& all_habits();

// What happened to requests, for who wants to know that everything was tried.
using Tally = std::map<std::string, std::size_t, std::less<>>;

class SimServer {
 public:
  SimServer(World& world, std::string name, Habits habits, Tally& tally);

  const std::string& name() const noexcept { return name_; }
  const Habits& habits() const noexcept { return habits_; }
  // Its tools are always the same.
  bool steady() const noexcept { return steady_; }
  const std::vector<std::string>& tools() const noexcept { return tools_; }
  // Everything it ever listed.
  const std::set<std::string, std::less<>>& listed() const noexcept { return listed_; }

  std::shared_ptr<Transport> transport();
  // Every connection ends, as when a process is killed.
  void die(std::string_view why);
  void storm();
  // From now on it does nothing wrong.
  void calm();

  // How often each call was carried out, by its number.
  const std::map<std::int64_t, int>& carried_out() const noexcept { return carried_out_; }
  int opens = 0;
  int open_now = 0;
  int dropped = 0;  // channels that were destroyed without being closed

 private:
  friend class SimChannel;
  friend class SimTransport;
  struct Wire;
  using Held = std::shared_ptr<Wire>;

  Task<std::unique_ptr<Channel>> open();
  void live(const Held& wire);
  void weather(const Held& wire);
  void arrive(const Held& wire, Request request);
  void told(const Held& wire, const Notification& notification);
  void serve(const Held& wire, Request request, Duration takes);
  std::string result_of(const Held& wire, const Request& request);
  void answer(const Held& wire, const RequestId& id, Message message, Duration takes);
  void lose(const Held& wire, const RequestId& id, Error error, Duration takes);
  void break_off(const Held& wire, std::string_view why);
  void tell_changed(const Held& wire);
  bool up() const;

  World& world_;
  std::string name_;
  Habits habits_;
  Tally& tally_;
  Choices choices_;
  std::vector<std::string> tools_;
  std::set<std::string, std::less<>> listed_;
  std::map<std::int64_t, int> carried_out_;
  std::vector<Held> wires_;
  bool modern_ = true;
  bool steady_ = true;
  int lists_ = 0;
  Clock::TimePoint down_until_{};
  Clock::TimePoint refuses_until_{};
};

}  // namespace patchbay::test
