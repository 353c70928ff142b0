// What is on the terminal while a conversation goes on: texts that are printed once and stay, and below them the region
// that is drawn again: status lines, the prompt with what is typed, a hint (terminal/prompt_view). It reads the keys,
// gives them to the editor, or to a question that is open, and tells what came of them. While a question is open, what
// others print waits: nothing may look like a part of it. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/timer.h"
#include "base/waiting.h"
#include "cli/chat/tty.h"
#include "terminal/keys.h"
#include "terminal/line_editor.h"
#include "terminal/prompt_view.h"

namespace patchbay::cli {

class Stage {
 public:
  Stage(const asio::any_io_executor& executor, bool color);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  // Reads keys and follows the size until cancelled, or until the terminal has gone (Errc::closed). Spawned once.
  Task<void> run();

  bool color() const noexcept { return color_; }
  std::size_t columns() const noexcept { return size_.columns; }
  std::size_t rows() const noexcept { return size_.rows; }
  // Columns that text may use: the last one stays free.
  std::size_t room() const noexcept { return size_.columns > 11 ? size_.columns - 1 : 10; }

  // What is typed. Whoever changes it calls update().
  terminal::LineEditor editor;
  std::function<void(terminal::EditEvent)> on_edit;

  // Above the region, for good. Without a line feed at its end one is added. Escape sequences in it are the caller's:
  // what strangers wrote has been cleaned.
  void print(std::string_view text);
  void print(const std::vector<std::string>& lines);

  // The region. Shown with the next update().
  void set_above(std::vector<std::string> lines);
  void set_below(std::vector<std::string> lines);
  void set_placeholder(std::string text);
  void update();

  // One at a time. What is printed with say() belongs to the question.
  class Question {
   public:
    explicit Question(Stage& stage);
    Question(const Question&) = delete;
    Question& operator=(const Question&) = delete;
    ~Question();
    void say(std::string_view text);
    void say(const std::vector<std::string>& lines);
    // A line; nothing when the person leaves it with Ctrl-C, Ctrl-D or Escape.
    Task<std::optional<std::string>> ask(std::string prompt, std::string typed = {});

   private:
    Stage& stage_;
  };
  bool is_asking() const noexcept { return question_ != nullptr; }
  // Nobody answers the question that is open, if any.
  void withdraw();

  // While one lives, the terminal is as programs expect it, with lines and signals, and the region is away: for whoever
  // asks by itself. Made by pause(). say() writes at once.
  class Pause {
   public:
    explicit Pause(Stage& stage) : stage_(&stage) {}
    Pause(Pause&& other) noexcept : stage_(std::exchange(other.stage_, nullptr)) {}
    Pause& operator=(Pause&&) = delete;
    ~Pause();

   private:
    Stage* stage_;
  };
  Task<Pause> pause();
  bool is_paused() const noexcept { return paused_; }
  // As it is, past the region; only while it is paused.
  void write_paused(std::string_view text);

  // Draws everything again: after the size changed, or somebody else wrote.
  void draw_again();
  // The terminal may have another size now.
  void resized();
  // The process was stopped and goes on.
  void continued();
  // The region goes, and the terminal is as it was. Nothing is drawn after it.
  void close();

 private:
  struct Open;  // a line that is asked for
  void take(const std::vector<terminal::Key>& keys);
  void take(const terminal::Key& key);
  terminal::PromptFrame frame() const;
  void show_held();
  void wait_for_rest();

  Tty tty_;
  bool color_;
  const bool breaks_anew_;
  Tty::Size size_;
  terminal::KeyReader keys_;
  std::optional<Timer> patience_;  // for what is held back of a key
  terminal::PromptFrame shown_;
  std::vector<std::string> above_;
  std::vector<std::string> below_;
  std::string placeholder_;

  Question* question_ = nullptr;
  Open* open_ = nullptr;
  std::string held_;
  bool left_out_ = false;

  bool begun_ = false;
  bool reading_ = false;
  bool paused_ = false;
  bool closed_ = false;
  Event pause_changed_;
  Event reading_ended_;
};

}  // namespace patchbay::cli
