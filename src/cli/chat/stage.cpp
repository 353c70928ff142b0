#include "cli/chat/stage.h"

#include <utility>

#include <boost/asio/this_coro.hpp>

#include <patchbay/config.h>

#include "base/as_result.h"
#include "base/scope.h"

namespace patchbay::cli {
namespace {

// How long a lone escape, and the end of a paste, are waited for.
constexpr auto sequence_patience = std::chrono::milliseconds(60);
constexpr auto paste_patience = std::chrono::seconds(3);
constexpr std::size_t most_held = 256u << 10;
// Beyond this a terminal is so far behind that the region is not drawn for it.
constexpr std::size_t most_unwritten = 256u << 10;

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

}  // namespace

struct Stage::Open {
  std::string prompt;
  terminal::LineEditor editor;
  Completion<std::optional<std::string>> answer;
};

Stage::Stage(const asio::any_io_executor& executor, bool color)
    : tty_(executor),
      color_(color),
      breaks_anew_(terminal::breaks_lines_anew(process_environment())),
      size_(tty_.size()) {}

Stage::~Stage() { close(); }

void Stage::close() {
  if (std::exchange(closed_, true)) return;
  if (!paused_ && !shown_.lines.empty()) tty_.write(terminal::redraw_all(shown_, {}));
  shown_ = {};
  if (!held_.empty()) tty_.write(terminal::print_above({}, std::exchange(held_, {}), {}));
  tty_.cooked();
}

terminal::PromptFrame Stage::frame() const {
  if (!begun_) return {};
  auto state = terminal::prompt_state(open_ != nullptr ? open_->editor : editor);
  if (open_ != nullptr) {
    state.prompt = open_->prompt;
  } else {
    state.placeholder = placeholder_;
    state.above = above_;
    state.below = below_;
  }
  state.columns = size_.columns;
  state.rows = size_.rows;
  state.color = color_;
  return terminal::layout(state);
}

void Stage::update() {
  if (closed_ || paused_ || tty_.unwritten() > most_unwritten) return;
  auto next = frame();
  tty_.write(terminal::redraw(shown_, next));
  shown_ = std::move(next);
}

void Stage::draw_again() {
  if (closed_ || paused_) return;
  auto next = frame();
  tty_.write(terminal::redraw_all(shown_, next));
  shown_ = std::move(next);
}

void Stage::print(std::string_view text) {
  if (text.empty()) return;
  std::string whole(text);
  if (!whole.ends_with('\n')) whole += '\n';
  if (question_ != nullptr || paused_) {
    left_out_ = left_out_ || held_.size() + whole.size() > most_held;
    if (!left_out_) held_ += whole;
    return;
  }
  if (closed_) {
    tty_.write(terminal::print_above({}, whole, {}));
    return;
  }
  auto next = frame();
  tty_.write(terminal::print_above(shown_, whole, next));
  shown_ = std::move(next);
}

void Stage::print(const std::vector<std::string>& lines) { print(joined(lines)); }

void Stage::show_held() {
  auto held = std::exchange(held_, {});
  if (std::exchange(left_out_, false)) held += "Some messages were not shown while you were asked.\n";
  print(held);
}

void Stage::set_above(std::vector<std::string> lines) { above_ = std::move(lines); }
void Stage::set_below(std::vector<std::string> lines) { below_ = std::move(lines); }
void Stage::set_placeholder(std::string text) { placeholder_ = std::move(text); }

// ---- keys

void Stage::take(const terminal::Key& key) {
  using terminal::EditEvent;
  if (key.ctrl && key.text == "z") {
    tty_.write(terminal::redraw_all(shown_, {}));
    shown_ = {};
    tty_.suspend();
    resized();
    return;
  }
  auto& to = open_ != nullptr ? open_->editor : editor;
  const auto event = to.key(key);
  if (event == EditEvent::redraw) {
    draw_again();
    return;
  }
  if (open_ == nullptr) {
    if (on_edit) on_edit(event);
    return;
  }
  switch (event) {
    case EditEvent::submit:
      open_->answer.set(open_->editor.take());
      break;
    case EditEvent::interrupt:
    case EditEvent::end_of_input:
    case EditEvent::escape:
      open_->answer.set(std::nullopt);
      break;
    default:
      break;
  }
}

void Stage::take(const std::vector<terminal::Key>& keys) {
  // The signal that says so may come behind the key.
  if (!keys.empty() && !closed_ && !paused_ && tty_.size() != size_) resized();
  for (const auto& key : keys) take(key);
  if (!keys.empty()) update();
}

void Stage::resized() {
  if (closed_ || paused_) return;
  const auto now = tty_.size();
  if (now != size_) {
    if (breaks_anew_) shown_ = terminal::reflowed(shown_, now.columns);
    size_ = now;
  }
  draw_again();
}

void Stage::continued() {
  if (closed_ || paused_) return;
  // After Ctrl-Z it is already as we want it.
  if (!tty_.is_raw()) {
    tty_.raw_again();
    shown_ = {};
  }
  resized();
}

void Stage::wait_for_rest() {
  const auto held = keys_.held();
  if (held == terminal::KeyReader::Held::nothing) {
    patience_->cancel();
    return;
  }
  patience_->set_after(held == terminal::KeyReader::Held::sequence ? Duration(sequence_patience)
                                                                   : Duration(paste_patience));
  patience_->call([this](boost::system::error_code error) {
    if (!error) take(keys_.timed_out());
  });
}

Task<void> Stage::run() {
  const auto executor = co_await asio::this_coro::executor;
  tty_.raw();
  begun_ = true;
  draw_again();
  patience_.emplace(executor);
  Scope scope(executor);
  scope.spawn(tty_.write_out());
  for (;;) {
    while (paused_) co_await pause_changed_.wait();
    reading_ = true;
    auto bytes = co_await as_result(tty_.read());
    reading_ = false;
    reading_ended_.notify_all();
    if (bytes) {
      take(keys_.feed(*bytes));
      wait_for_rest();
    } else if (!paused_) {
      throw std::move(bytes).error();
    }
  }
}

// ---- questions

void Stage::withdraw() {
  if (open_ != nullptr) open_->answer.set(std::nullopt);
}

Stage::Question::Question(Stage& stage) : stage_(stage) { stage.question_ = this; }

Stage::Question::~Question() {
  stage_.question_ = nullptr;
  stage_.show_held();
  stage_.update();
}

void Stage::Question::say(std::string_view text) {
  auto* const self = std::exchange(stage_.question_, nullptr);
  stage_.print(text);
  stage_.question_ = self;
}

void Stage::Question::say(const std::vector<std::string>& lines) { say(joined(lines)); }

Task<std::optional<std::string>> Stage::Question::ask(std::string prompt, std::string typed) {
  Open open;
  open.prompt = std::move(prompt);
  if (!typed.empty()) open.editor.set(std::move(typed));
  struct Close {
    Stage& stage;
    ~Close() { stage.open_ = nullptr; }
  };
  std::optional<std::string> answer;
  {
    stage_.open_ = &open;
    const Close close{stage_};
    stage_.update();
    answer = co_await open.answer.wait();
  }
  // The line stays, like one that was typed at a prompt.
  say(open.prompt + answer.value_or("^C"));
  co_return answer;
}

Stage::Pause::~Pause() {
  if (stage_ == nullptr || stage_->closed_) return;
  stage_->paused_ = false;
  // What is left was typed for the question that had the terminal, and not for the model.
  stage_->tty_.forget_typed();
  stage_->tty_.raw();
  stage_->shown_ = {};
  stage_->size_ = stage_->tty_.size();
  stage_->show_held();
  stage_->draw_again();
  stage_->pause_changed_.notify_all();
}

Task<Stage::Pause> Stage::pause() {
  tty_.write(terminal::redraw_all(shown_, {}));
  shown_ = {};
  paused_ = true;
  Pause pause(*this);
  while (reading_) {
    tty_.stop_reading();
    co_await reading_ended_.wait();
  }
  tty_.cooked();
  co_return std::move(pause);
}

void Stage::write_paused(std::string_view text) {
  if (!paused_) return;
  tty_.write(text);
}

}  // namespace patchbay::cli
