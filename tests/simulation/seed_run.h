// SeedRun: one seed. A host and its servers in a World, programs that call, cancel, list, edit the configuration and
// stop at any time; and the judgement of what came of it. What must hold whatever happens (the invariants) is
// counted in Totals, and every breach is a problem in words. One thread.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/host.h>

#include "base/scope.h"
#include "simulation/sim_server.h"
#include "simulation/world.h"

namespace patchbay::test {

struct Totals {
  std::size_t seeds = 0;
  // How often each invariant was looked at.
  std::size_t one_outcome = 0;
  std::size_t not_twice = 0;
  std::size_t right_answer = 0;
  std::size_t said_not_carried_out = 0;
  std::size_t legal_states = 0;
  std::size_t names_stay = 0;
  std::size_t lists = 0;
  std::size_t unharmed = 0;
  std::size_t came_back = 0;
  std::size_t quiet = 0;
  // What happened, so that it can be seen that something did.
  std::size_t opens = 0;
  std::size_t steps = 0;
  Duration time{};
  Tally calls;   // "answered", or how they failed
  Tally tried;   // what servers did
  Tally states;  // that were seen
  Tally edits;

  std::string text() const;
};

class SeedRun {
 public:
  explicit SeedRun(std::uint64_t seed, Habits::Sabotage sabotage = Habits::Sabotage::none);
  SeedRun(const SeedRun&) = delete;
  SeedRun& operator=(const SeedRun&) = delete;
  ~SeedRun();

  // Empty: everything held.
  std::vector<std::string> check(Totals& totals);
  const std::vector<std::string>& log() const noexcept { return seen_->log(); }

 private:
  struct Call {
    std::int64_t number = 0;
    std::string server;
    bool begun = false;
    int ended = 0;
    std::string answer;
    std::optional<Error> error;
    bool has_time = false;  // neither limited nor cancelled by its caller
    bool while_stopping = false;
  };

  template <class... Values>
  void problem(fmt::format_string<Values...> text, Values&&... values);

  LoadedConfig config() const;
  Task<void> body();
  Task<void> call_again_and_again(int who);
  Task<void> perform(Call& call, std::string tool, CallOptions options);
  Task<void> administer();
  Task<void> calm_down();
  Task<void> call_until_answered(const SimServer& server);
  Task<void> edit();
  Task<void> look();
  template <class T>
  void look_at(const SimServer& server, const Result<ServerList<T>>& list);
  void heard(const HostEvent& event);
  void heard_of(const ServerStatus& status);
  void look_at_catalog();
  void judge(Totals& totals);

  std::unique_ptr<World> world_;
  const World* seen_ = world_.get();  // also when it is given up
  Choices choices_;
  Tally tried_;
  Tally states_;
  Tally edits_;
  std::deque<SimServer> servers_;
  std::map<std::string, ServerConfig> declared_;
  std::unique_ptr<Host> host_;
  bool stopping_ = false;
  std::int64_t calls_made_ = 0;
  std::deque<Call> calls_;
  std::map<std::string, ServerReason> last_;  // of the connection of now
  std::set<std::string> touched_;             // killed, edited or connected anew from outside
  std::set<std::string> offered_;             // servers whose tools were in the catalog since they were declared
  std::size_t states_looked_at_ = 0;
  std::size_t names_looked_at_ = 0;
  std::size_t lists_looked_at_ = 0;
  std::size_t came_back_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace patchbay::test
