// What an agent does, on the stage: texts of the model as finished blocks, calls with their arguments, what came of
// them, and while it works a line with the time, the calls that run and what their servers say. It decides nothing and
// asks nobody. Loop thread only; the stage outlives it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/agent.h>

#include "base/clock.h"
#include "cli/chat/stage.h"
#include "cli/texts/chat_words.h"
#include "terminal/markdown.h"

namespace patchbay::cli {

class ChatView {
 public:
  ChatView(Stage& stage, const Clock& clock) : stage_(stage), clock_(clock) {}

  ChatLook look() const { return {stage_.room(), stage_.color()}; }

  // Something is under way, until end(): the line says what and for how long.
  void begin(std::string what);
  void end();
  bool is_busy() const noexcept { return begun_.has_value(); }

  void heard(const AgentEvent& event);
  bool was_shortened = false;  // the conversation was shortened; whoever wants to know sets it to false before
  // The person is asked about the call with this number, and sees in the question what it edits.
  void asked(std::uint64_t call);
  // They have answered: its time begins now.
  void answered(std::uint64_t call);
  // All of the last result of which only the beginning was shown; empty: there was none.
  const std::string& last_result() const noexcept { return last_result_; }
  // What the model wrote so far is shown, finished or not.
  void finish_text();

  // Lines for the person that are of no model: notes, warnings.
  void note(std::string_view text);
  void fault(std::string_view text);

  void set_queued(std::vector<std::string> queued) { queued_ = std::move(queued); }
  void set_hint(std::string hint) { hint_ = std::move(hint); }
  void set_standing(std::string standing) { standing_ = std::move(standing); }
  // Puts all that into the region. `turn`: the sign that something goes on moves.
  void update(bool turn = false);

 private:
  struct Running {
    std::string name;
    std::string sub_agent;
    Clock::TimePoint begun;
    std::optional<Progress> progress;
    std::uint64_t call = 0;
    bool asked = false;
    std::vector<std::string> edit = {};  // what it changes; shown with its result, unless the question showed it
  };
  void show(const std::vector<std::string>& blocks);
  std::chrono::seconds since(Clock::TimePoint begun) const;

  Stage& stage_;
  const Clock& clock_;
  std::string what_;
  std::optional<Clock::TimePoint> begun_;
  std::size_t frame_ = 0;
  terminal::BlockSplitter splitter_;
  bool said_ = false;  // the model has written something since it was asked
  bool thinking_ = false;
  std::map<std::string, Running> running_;  // by the id of the use
  std::map<std::string, std::string> sub_agents_;
  std::string last_result_;
  std::vector<std::string> queued_;
  std::string hint_;
  std::string standing_;
};

}  // namespace patchbay::cli
