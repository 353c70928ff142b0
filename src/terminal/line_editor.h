// A text that a person types: keys in, a text and a cursor out. Several lines, the keys of Emacs and readline, undo,
// what was killed, history with search, and completion as values: it says what is to be completed and is told the
// candidates whenever they are there. It reads and shows nothing itself (terminal/keys, terminal/prompt_view). Pure;
// one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "terminal/keys.h"

namespace patchbay::terminal {

enum class EditEvent : std::uint8_t {
  none,          // nothing, or what redrawing shows
  submit,        // take() has it
  interrupt,     // Ctrl-C
  end_of_input,  // Ctrl-D in an empty text
  complete,      // Tab: wanted() says what
  escape,
  redraw,  // Ctrl-L
};

// What a candidate stands for is the caller's affair; `text` takes the place of what was typed from `begin` on.
struct Candidate {
  std::string text = {};
  std::string about = {};  // shown beside it
  bool operator==(const Candidate&) const = default;
};

struct CompletionWanted {
  std::uint64_t number = 0;  // of this wish: an offer for another one comes too late
  std::string text = {};     // all of it
  std::size_t cursor = 0;
};

// What is shown while history is searched.
struct HistorySearch {
  std::string words = {};
  std::optional<std::size_t> found = {};  // its entry
};

class LineEditor {
 public:
  static constexpr std::size_t longest_text = std::size_t{1} << 20;
  static constexpr std::size_t most_history = 1000;

  EditEvent key(const Key& key);

  const std::string& text() const noexcept { return text_; }
  std::size_t cursor() const noexcept { return cursor_; }
  bool empty() const noexcept { return text_.empty(); }
  // Another text; the cursor is at its end. Can be undone.
  void set(std::string text);
  // What was submitted. It is in the history then, unless it is what stands there last or begins with a blank.
  std::string take();
  // Forgets what was typed.
  void clear();

  const std::vector<std::string>& history() const noexcept { return history_; }
  void set_history(std::vector<std::string> history);

  CompletionWanted wanted() const { return {wish_, text_, cursor_}; }
  // What may stand from `begin` to the cursor. One is taken at once; of several what they begin with, and they are
  // shown: Tab and arrows choose, Enter takes one, any other key goes on with the text.
  void offer(std::uint64_t number, std::size_t begin, std::vector<Candidate> candidates);
  const std::vector<Candidate>& candidates() const noexcept { return candidates_; }
  std::optional<std::size_t> chosen() const noexcept { return chosen_; }

  const std::optional<HistorySearch>& search() const noexcept { return search_; }

 private:
  struct Snapshot {
    std::string text;
    std::size_t cursor = 0;
  };
  enum class Change : std::uint8_t { typing, other };

  EditEvent search_key(const Key& key, bool& handled);
  bool choose_key(const Key& key);
  EditEvent control_key(char letter);
  bool alt_key(char letter);
  EditEvent enter(const Key& key);

  void remember(Change change);
  void undo();
  void insert(std::string_view text, Change change = Change::other);
  // Takes it out of the text; the cursor is where it began.
  std::string cut(std::size_t begin, std::size_t end);
  enum class Where : std::uint8_t { before, behind };
  void kill(std::size_t begin, std::size_t end, Where where);
  void yank();
  void yank_older();
  void transpose();
  void move_vertically(int by);
  void show_history(std::size_t entry);
  void find_older(std::size_t below);
  void take_candidate(const Candidate& candidate);
  void forget_candidates();
  std::size_t line_begin() const noexcept;
  std::size_t line_end() const noexcept;
  std::size_t word_before() const noexcept;
  std::size_t word_behind() const noexcept;

  std::string text_;
  std::size_t cursor_ = 0;
  std::optional<std::size_t> wanted_column_;  // while going up and down

  std::vector<Snapshot> undo_;
  std::optional<Change> last_change_;

  std::vector<std::string> killed_;  // the newest last
  bool killing_ = false;             // the last key killed: what the next one kills belongs to it
  struct Yanked {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t entry = 0;
  };
  std::optional<Yanked> yanked_;

  std::vector<std::string> history_;       // the newest last
  std::optional<std::size_t> at_history_;  // what is shown of it
  std::string draft_;                      // what was typed before

  std::optional<HistorySearch> search_;
  Snapshot before_search_;

  std::uint64_t wish_ = 0;
  std::vector<Candidate> candidates_;
  std::size_t completed_from_ = 0;
  std::optional<std::size_t> chosen_;
};

}  // namespace patchbay::terminal
