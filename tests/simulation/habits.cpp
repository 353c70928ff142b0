#include "simulation/sim_server.h"

namespace patchbay::test {

using namespace std::chrono_literals;

// The characters of the play: what each tends to do. L5, L6, L7, L8, X5.
const std::vector<Habits>& all_habits() {
  static const auto habits = [] {
    std::vector<Habits> all;
    const auto add = [&](Habits habits) { all.push_back(std::move(habits)); };
    add({.name = "well-behaved"});
    add({.name = "well-behaved remote", .remote = true});
    add({.name = "flapper", .lives = 1s});
    add({.name = "crashes", .slow_start = 10, .crashes = 12, .lingers = 20});
    add({.name = "hangs", .hangs = 10, .drops = 10, .slow = 20});
    add({.name = "mumbles", .errors = 15, .repeats = 30, .misses = 20, .slow = 30, .asks = 20});
    add({.name = "hard to start", .refuses = 50, .slow_start = 40, .never_opens = 10, .crashes = 3});
    add({.name = "goes away", .refuses = 40, .away = 300s, .crashes = 6});
    add({.name = "goes away, remote", .remote = true, .refuses = 20, .away = 300s, .statuses = 5});
    add({.name = "leaves for long", .remote = true, .refuses = 70, .away = 300s, .lives = 10s});
    add({.name = "unreliable remote", .remote = true, .refuses = 15, .slow = 15, .statuses = 15});
    add({.name = "wants credentials", .remote = true, .challenges = 10, .asks = 10});
    add({.name = "forgets sessions", .remote = true, .statuses = 3, .forgets = 15});
    add({.name = "changes its lists", .crashes = 2, .storms = 50, .differs = true});
    add({.name = "grows its list", .storms = 20, .grows = true});
    add({.name = "changes its era", .crashes = 10, .lives = 7s, .storms = 10, .changes_era = true});
    add({.name = "everything",
         .remote = true,
         .refuses = 10,
         .slow_start = 10,
         .never_opens = 2,
         .crashes = 4,
         .hangs = 4,
         .drops = 4,
         .errors = 5,
         .repeats = 10,
         .misses = 5,
         .slow = 20,
         .lingers = 10,
         .statuses = 4,
         .challenges = 3,
         .forgets = 4,
         .asks = 5,
         .storms = 10,
         .changes_era = true});
    return all;
  }();
  return habits;
}

}  // namespace patchbay::test
