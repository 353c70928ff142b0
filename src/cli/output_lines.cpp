#include "cli/output_lines.h"

#include <utility>

#include "base/offload.h"

namespace patchbay::cli {
namespace {

constexpr std::size_t most_waiting = 8u << 20;

}  // namespace

void OutputLines::put(std::string text) {
  bytes_ += text.size();
  waiting_.push_back(std::move(text));
  changed_.notify_all();
}

Task<void> OutputLines::room() {
  while (bytes_ > most_waiting) co_await written_.wait();
}

void OutputLines::end() {
  ended_ = true;
  changed_.notify_all();
}

Task<void> OutputLines::write() {
  for (;;) {
    while (waiting_.empty() && !ended_) co_await changed_.wait();
    if (waiting_.empty()) co_return;
    // All that has come together: a fast writer and a slow reader meet in few large pieces.
    std::string text;
    for (auto& one : std::exchange(waiting_, {})) text += one;
    const auto size = text.size();
    co_await offload(Pool::slow, [out = io_.out, text = std::move(text)] { out(text); });
    bytes_ -= size;
    written_.notify_all();
  }
}

}  // namespace patchbay::cli
