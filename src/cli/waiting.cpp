#include "cli/waiting.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/timeout.h"
#include "cli/texts/present.h"

namespace patchbay::cli {
namespace {
constexpr auto patience = std::chrono::milliseconds(400);  // quick work shows nothing
constexpr auto tick = std::chrono::milliseconds(120);
constexpr std::array frames{"|", "/", "-", "\\"};
}  // namespace

Task<void> Waiting::draw() {
  if (!io_.talk_is_terminal) co_return;
  for (;;) {
    co_await sleep_for(tick);
    if (active_ && !suspended_ && std::chrono::steady_clock::now() - begun_ >= patience) show();
  }
}

void Waiting::begin(std::string what) {
  what_ = std::move(what);
  progress_.reset();
  status_.clear();
  begun_ = std::chrono::steady_clock::now();
  active_ = true;
}

void Waiting::progress(const Progress& progress) { progress_ = progress; }

void Waiting::status(const RemoteTask& task) {
  status_ = task.status_message                         ? *task.status_message
            : task.status == TaskStatus::input_required ? "the server needs an answer"
                                                        : std::string();
}

void Waiting::show() {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begun_).count();
  std::string line = fmt::format("{} {} {} s", frames.at(frame_++ % frames.size()), what_, seconds);
  if (progress_) {
    line += progress_->total ? fmt::format("  {:g}/{:g}", progress_->progress, *progress_->total)
                             : fmt::format("  {:g}", progress_->progress);
    if (progress_->message) line += fmt::format("  {}", safe_line(*progress_->message, 60));
  }
  if (!status_.empty()) line += fmt::format("  {}", safe_line(status_, 60));
  io_.draw(fmt::format("\r\033[K{}", safe_line(line, std::max<std::size_t>(io_.width(), 10) - 1)));
  drawn_ = true;
}

void Waiting::pause() {
  if (drawn_) io_.draw("\r\033[K");
  drawn_ = false;
}

void Waiting::suspend() {
  pause();
  suspended_ = true;
}

void Waiting::resume() { suspended_ = false; }

void Waiting::end() {
  active_ = false;
  pause();
}

}  // namespace patchbay::cli
