#include "terminal/line_editor.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "terminal/width.h"
#include "text/clean_text.h"

namespace patchbay::terminal {
namespace {

constexpr std::size_t most_undo = 200;
constexpr std::size_t most_killed = 20;
// What undo keeps in all: many copies of a long text would be a lot.
constexpr std::size_t most_undo_bytes = std::size_t{8} << 20;

bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string common_beginning(const std::vector<Candidate>& candidates) {
  std::string_view common = candidates.front().text;
  for (const auto& one : candidates) {
    const auto mismatch = std::ranges::mismatch(common, one.text);
    common = common.substr(0, static_cast<std::size_t>(mismatch.in1 - common.begin()));
  }
  return std::string(cut_utf8(common, common.size()));
}

}  // namespace

std::size_t LineEditor::line_begin() const noexcept {
  if (cursor_ == 0) return 0;
  const auto before = text_.rfind('\n', cursor_ - 1);
  return before == std::string::npos ? 0 : before + 1;
}

std::size_t LineEditor::line_end() const noexcept { return std::min(text_.find('\n', cursor_), text_.size()); }

std::size_t LineEditor::word_before() const noexcept {
  auto at = cursor_;
  while (at > 0 && !is_word(text_[at - 1])) --at;
  while (at > 0 && is_word(text_[at - 1])) --at;
  return at;
}

std::size_t LineEditor::word_behind() const noexcept {
  auto at = cursor_;
  while (at < text_.size() && !is_word(text_[at])) ++at;
  while (at < text_.size() && is_word(text_[at])) ++at;
  return at;
}

void LineEditor::remember(Change change) {
  // Characters typed one after the other are one step.
  const bool same = change == Change::typing && last_change_ == Change::typing;
  last_change_ = change;
  if (same) return;
  std::size_t bytes = text_.size();
  for (const auto& one : undo_) bytes += one.text.size();
  while (!undo_.empty() && (undo_.size() >= most_undo || bytes > most_undo_bytes)) {
    bytes -= undo_.front().text.size();
    undo_.erase(undo_.begin());
  }
  undo_.push_back({text_, cursor_});
}

void LineEditor::undo() {
  if (undo_.empty()) return;
  text_ = std::move(undo_.back().text);
  cursor_ = undo_.back().cursor;
  undo_.pop_back();
  last_change_.reset();
}

void LineEditor::insert(std::string_view text, Change change) {
  text = cut_utf8(text, longest_text - std::min(longest_text, text_.size()));
  if (text.empty()) return;
  remember(change);
  text_.insert(cursor_, text);
  cursor_ += text.size();
}

std::string LineEditor::cut(std::size_t begin, std::size_t end) {
  auto out = text_.substr(begin, end - begin);
  text_.erase(begin, end - begin);
  cursor_ = begin;
  return out;
}

void LineEditor::kill(std::size_t begin, std::size_t end, Where where) {
  if (begin == end) return;
  remember(Change::other);
  auto text = cut(begin, end);
  if (killing_ && !killed_.empty()) {
    auto& last = killed_.back();
    last = where == Where::before ? text + last : last + text;
  } else {
    if (killed_.size() >= most_killed) killed_.erase(killed_.begin());
    killed_.push_back(std::move(text));
  }
  killing_ = true;
}

void LineEditor::yank() {
  if (killed_.empty()) return;
  const auto begin = cursor_;
  insert(killed_.back());
  yanked_ = Yanked{begin, cursor_, killed_.size() - 1};
}

void LineEditor::yank_older() {
  if (!yanked_) return;
  auto yanked = *yanked_;
  yanked.entry = (yanked.entry == 0 ? killed_.size() : yanked.entry) - 1;
  remember(Change::other);
  (void)cut(yanked.begin, yanked.end);
  insert(killed_[yanked.entry]);
  yanked.end = cursor_;
  yanked_ = yanked;
}

void LineEditor::transpose() {
  const auto begin = line_begin();
  auto at = cursor_;
  if (at == line_end() && at > begin) at = previous_character(text_, at);
  if (at == begin || at == text_.size()) return;
  const auto first = previous_character(text_, at);
  const auto end = next_character(text_, at);
  remember(Change::other);
  text_ = text_.substr(0, first) + text_.substr(at, end - at) + text_.substr(first, at - first) + text_.substr(end);
  cursor_ = end;
}

void LineEditor::set(std::string text) {
  remember(Change::other);
  text_ = std::string(cut_utf8(text, longest_text));
  cursor_ = text_.size();
  forget_candidates();
}

void LineEditor::clear() {
  text_.clear();
  cursor_ = 0;
  undo_.clear();
  last_change_.reset();
  at_history_.reset();
  draft_.clear();
  search_.reset();
  yanked_.reset();
  killing_ = false;
  forget_candidates();
}

std::string LineEditor::take() {
  auto text = std::exchange(text_, {});
  clear();
  const bool worth = !trim(text).empty() && !text.starts_with(' ') && (history_.empty() || history_.back() != text);
  if (worth) {
    if (history_.size() >= most_history) history_.erase(history_.begin());
    history_.push_back(text);
  }
  return text;
}

void LineEditor::set_history(std::vector<std::string> history) {
  history_ = std::move(history);
  if (history_.size() > most_history) {
    history_.erase(history_.begin(), history_.end() - static_cast<std::ptrdiff_t>(most_history));
  }
  at_history_.reset();
}

// ---- history

void LineEditor::show_history(std::size_t entry) {
  if (!at_history_) draft_ = text_;
  remember(Change::other);
  if (entry >= history_.size()) {
    at_history_.reset();
    text_ = std::exchange(draft_, {});
  } else {
    at_history_ = entry;
    text_ = history_[entry];
  }
  cursor_ = text_.size();
}

void LineEditor::move_vertically(int by) {
  const auto begin = line_begin();
  if (by < 0 && begin == 0) {
    const auto entry = at_history_.value_or(history_.size());
    if (entry > 0) show_history(entry - 1);
    return;
  }
  if (by > 0 && line_end() == text_.size()) {
    if (at_history_) show_history(*at_history_ + 1);
    return;
  }
  const auto column = wanted_column_.value_or(columns_of(std::string_view(text_).substr(begin, cursor_ - begin)));
  cursor_ = by < 0 ? begin - 1 : line_end() + 1;
  const auto other = line_begin();
  const auto line = std::string_view(text_).substr(other, line_end() - other);
  cursor_ = other + fitting(line, column).size();
  wanted_column_ = column;
}

void LineEditor::find_older(std::size_t below) {
  for (std::size_t i = std::min(below, history_.size()); i-- > 0;) {
    const auto at = history_[i].find(search_->words);
    if (at == std::string::npos || (search_->found && history_[i] == text_)) continue;
    search_->found = i;
    text_ = history_[i];
    cursor_ = at;
    return;
  }
}

EditEvent LineEditor::search_key(const Key& key, bool& handled) {
  handled = true;
  const auto restart = [&] {
    search_->found.reset();
    text_ = before_search_.text;
    cursor_ = before_search_.cursor;
    if (!search_->words.empty()) find_older(history_.size());
  };
  if (key.code == KeyCode::character && key.ctrl && key.text == "r") {
    if (search_->found) find_older(*search_->found);
    return EditEvent::none;
  }
  if (key.code == KeyCode::escape || (key.ctrl && (key.text == "g" || key.text == "c"))) {
    text_ = before_search_.text;
    cursor_ = before_search_.cursor;
    search_.reset();
    return EditEvent::none;
  }
  if (key.code == KeyCode::backspace && !key.alt) {
    search_->words.resize(previous_character(search_->words, search_->words.size()));
    restart();
    return EditEvent::none;
  }
  if ((key.code == KeyCode::character && !key.ctrl && !key.alt) || key.code == KeyCode::paste) {
    const auto words = clean_line(key.text);
    // clean_line takes the blanks at the ends, which count here.
    search_->words += key.code == KeyCode::paste ? words : key.text;
    search_->words = std::string(cut_utf8(search_->words, 500));
    restart();
    return EditEvent::none;
  }
  // Any other key takes what was found and does what it does.
  at_history_ = search_->found;
  draft_ = before_search_.text;
  search_.reset();
  handled = false;
  return EditEvent::none;
}

// ---- completion

void LineEditor::forget_candidates() {
  candidates_.clear();
  chosen_.reset();
  ++wish_;
}

void LineEditor::offer(std::uint64_t number, std::size_t begin, std::vector<Candidate> candidates) {
  if (number != wish_ || begin > cursor_ || candidates.empty()) return;
  completed_from_ = begin;
  if (candidates.size() == 1) {
    take_candidate(candidates.front());
    return;
  }
  const auto common = common_beginning(candidates);
  if (common.size() > cursor_ - begin) take_candidate({.text = common});
  candidates_ = std::move(candidates);
  chosen_.reset();
}

void LineEditor::take_candidate(const Candidate& candidate) {
  remember(Change::other);
  (void)cut(completed_from_, cursor_);
  const auto from = completed_from_;
  text_.insert(cursor_, cut_utf8(candidate.text, longest_text - std::min(longest_text, text_.size())));
  cursor_ = std::min(from + candidate.text.size(), text_.size());
  forget_candidates();
}

// Whether the key was about the candidates.
bool LineEditor::choose_key(const Key& key) {
  const auto count = candidates_.size();
  const auto step = [&](std::size_t by) { chosen_ = chosen_ ? (*chosen_ + by) % count : (by == 1 ? 0 : count - 1); };
  if (key.code == KeyCode::tab && !key.ctrl && !key.alt) {
    step(key.shift ? count - 1 : 1);
    return true;
  }
  if (key.code == KeyCode::down || (key.ctrl && key.text == "n")) {
    step(1);
    return true;
  }
  if (key.code == KeyCode::up || (key.ctrl && key.text == "p")) {
    step(count - 1);
    return true;
  }
  if (key.code == KeyCode::enter && chosen_) {
    take_candidate(Candidate(candidates_[*chosen_]));
    return true;
  }
  const bool leaves = key.code == KeyCode::escape || (key.ctrl && key.text == "g");
  forget_candidates();
  return leaves;
}

// ---- keys

EditEvent LineEditor::enter(const Key& key) {
  if (key.alt || key.shift || key.ctrl) {
    insert("\n");
    return EditEvent::none;
  }
  if (cursor_ > 0 && cursor_ == line_end() && text_[cursor_ - 1] == '\\') {
    remember(Change::other);
    text_[cursor_ - 1] = '\n';
    return EditEvent::none;
  }
  return EditEvent::submit;
}

EditEvent LineEditor::control_key(char letter) {
  switch (letter) {
    case 'a':
      cursor_ = line_begin();
      break;
    case 'b':
      cursor_ = previous_character(text_, cursor_);
      break;
    case 'c':
      return EditEvent::interrupt;
    case 'd':
      if (text_.empty()) return EditEvent::end_of_input;
      if (cursor_ < text_.size()) {
        remember(Change::other);
        (void)cut(cursor_, next_character(text_, cursor_));
      }
      break;
    case 'e':
      cursor_ = line_end();
      break;
    case 'f':
      cursor_ = next_character(text_, cursor_);
      break;
    case 'j':
      insert("\n");
      break;
    case 'k':
      // At the end of a line, the line's end itself.
      kill(cursor_, std::max(line_end(), std::min(cursor_ + 1, text_.size())), Where::behind);
      break;
    case 'l':
      return EditEvent::redraw;
    case 'n':
      move_vertically(1);
      break;
    case 'p':
      move_vertically(-1);
      break;
    case 'r':
    case 's':
      before_search_ = {text_, cursor_};
      search_ = HistorySearch{};
      break;
    case 't':
      transpose();
      break;
    case 'u':
      kill(line_begin(), cursor_, Where::before);
      break;
    case 'w': {
      auto at = cursor_;
      while (at > 0 && (text_[at - 1] == ' ' || text_[at - 1] == '\n')) --at;
      while (at > 0 && text_[at - 1] != ' ' && text_[at - 1] != '\n') --at;
      kill(at, cursor_, Where::before);
      break;
    }
    case 'y':
      yank();
      break;
    case '_':
    case 'z':
      undo();
      break;
    default:
      break;
  }
  return EditEvent::none;
}

// Whether the letter means something with Alt.
bool LineEditor::alt_key(char letter) {
  switch (letter) {
    case 'b':
      cursor_ = word_before();
      return true;
    case 'f':
      cursor_ = word_behind();
      return true;
    case 'd':
      kill(cursor_, word_behind(), Where::behind);
      return true;
    case 'y':
      yank_older();
      return true;
    case '<':
      cursor_ = 0;
      return true;
    case '>':
      cursor_ = text_.size();
      return true;
    default:
      return false;
  }
}

EditEvent LineEditor::key(const Key& key) {
  if (search_) {
    bool handled = false;
    const auto event = search_key(key, handled);
    if (handled) return event;
  }
  if (!candidates_.empty() && choose_key(key)) return EditEvent::none;

  // What only counts from one key to the next.
  const bool kills = (key.ctrl && (key.text == "k" || key.text == "u" || key.text == "w")) ||
                     (key.alt && (key.text == "d" || key.code == KeyCode::backspace));
  const bool vertical =
      key.code == KeyCode::up || key.code == KeyCode::down || (key.ctrl && (key.text == "n" || key.text == "p"));
  const bool plain = key.code == KeyCode::character && !key.ctrl && !key.alt;
  const bool yanks = key.alt && key.text == "y";
  if (!kills) killing_ = false;
  if (!vertical) wanted_column_.reset();
  if (!yanks) yanked_.reset();
  if (!plain) last_change_.reset();
  if (key.code != KeyCode::tab) ++wish_;

  const bool by_word = key.ctrl || key.alt;
  switch (key.code) {
    case KeyCode::character:
      if (key.ctrl && key.text.size() == 1) return control_key(key.text.front());
      if (key.alt) {
        if (key.text.size() == 1) (void)alt_key(key.text.front());
        return EditEvent::none;
      }
      insert(key.text, Change::typing);
      break;
    case KeyCode::paste:
      insert(clean_for_display(key.text));
      break;
    case KeyCode::enter:
      return enter(key);
    case KeyCode::tab:
      if (key.shift) break;
      ++wish_;
      return EditEvent::complete;
    case KeyCode::backspace:
      if (by_word) {
        kill(word_before(), cursor_, Where::before);
      } else if (cursor_ > 0) {
        remember(Change::other);
        (void)cut(previous_character(text_, cursor_), cursor_);
      }
      break;
    case KeyCode::erase:
      if (by_word) {
        kill(cursor_, word_behind(), Where::behind);
      } else if (cursor_ < text_.size()) {
        remember(Change::other);
        (void)cut(cursor_, next_character(text_, cursor_));
      }
      break;
    case KeyCode::escape:
      return EditEvent::escape;
    case KeyCode::up:
      move_vertically(-1);
      break;
    case KeyCode::down:
      move_vertically(1);
      break;
    case KeyCode::left:
      cursor_ = by_word ? word_before() : previous_character(text_, cursor_);
      break;
    case KeyCode::right:
      cursor_ = by_word ? word_behind() : next_character(text_, cursor_);
      break;
    case KeyCode::home:
      cursor_ = key.ctrl ? 0 : line_begin();
      break;
    case KeyCode::end:
      cursor_ = key.ctrl ? text_.size() : line_end();
      break;
    case KeyCode::insert:
    case KeyCode::page_up:
    case KeyCode::page_down:
    case KeyCode::function:
      break;
  }
  return EditEvent::none;
}

}  // namespace patchbay::terminal
