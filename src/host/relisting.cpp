#include "host/relisting.h"

#include <algorithm>

#include "base/as_result.h"
#include "base/timeout.h"

namespace patchbay {
namespace {

// A burst of change notices leads to one fetch.
constexpr auto first_delay = std::chrono::milliseconds(200);
constexpr auto longest_delay = std::chrono::seconds(30);

// Somebody in fetched().
struct Waiting {
  explicit Waiting(std::size_t& c) : count(c) { ++count; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { --count; }
  std::size_t& count;
};

}  // namespace

void Relisting::set_stale() {
  stale_ = true;
  go_on();
}

void Relisting::go_on() {
  if (!stale_ || running_ || !possible_()) return;
  running_ = true;
  scope_.spawn(run());
}

Task<void> Relisting::pause(Duration pause) {
  auto waited = co_await as_result(with_timeout(wanted_.wait(), pause, "nobody waits for the list"));
  if (!waited && waited.error().code() != Errc::timeout) throw std::move(waited).error();
}

Task<void> Relisting::run() {
  auto delay = std::chrono::duration_cast<Duration>(first_delay);
  while (stale_ && possible_()) {
    if (waiting_ == 0) co_await pause(delay);
    if (!possible_()) break;
    delay = std::min<Duration>(delay * 2, longest_delay);
    stale_ = false;
    fetching_ = true;
    co_await fetch_();
    fetching_ = false;
    ++fetches_;
    ended_.notify_all();
  }
  running_ = false;
  ended_.notify_all();
}

Task<void> Relisting::fetched() {
  // One that is on its way does not know of what has changed since it began.
  const auto enough = fetches_ + (fetching_ && stale_ ? 2 : 1);
  if (!fetching_) stale_ = true;
  const Waiting waiting(waiting_);
  go_on();
  wanted_.notify_all();
  while (running_ && fetches_ < enough && possible_()) co_await ended_.wait();
}

}  // namespace patchbay
