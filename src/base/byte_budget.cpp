#include "base/byte_budget.h"

#include <algorithm>
#include <atomic>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/timeout.h"
#include "base/waiting.h"

namespace patchbay {
namespace {

std::size_t weight(std::size_t bytes) { return bytes > ByteBudget::small ? bytes : 0; }

}  // namespace

// All but `woken` and `given_up` belongs to the mutex; those two to the loop. `failed` is written under the mutex.
struct ByteBudget::Entry {
  Entry(asio::any_io_executor e, std::size_t c) : executor(std::move(e)), ceiling(c) {}

  asio::any_io_executor executor;
  std::size_t ceiling;
  std::size_t held = 0;     // counted in used_
  std::size_t claimed = 0;  // counted in used_ by somebody else, who cannot free it before this gets on
  std::size_t wanted = 0;   // and waits for
  bool waiting = false;
  std::atomic<bool> failed = false;
  Event woken;
  std::function<void()> given_up;

  std::size_t size() const noexcept { return held + claimed + wanted; }
};

ByteBudget::Charge& ByteBudget::Charge::operator=(Charge&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = other.budget_;
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void ByteBudget::Charge::release() noexcept {
  if (const auto bytes = std::exchange(bytes_, 0)) budget_->give_back(bytes);
}

ByteBudget::Charge ByteBudget::charge(std::size_t bytes) {
  bytes = weight(bytes);
  if (bytes == 0) return {};
  const std::lock_guard lock(mutex_);
  used_ += bytes;
  return {this, bytes};
}

std::size_t ByteBudget::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

void ByteBudget::give_back(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
  wake_waiting();
}

void ByteBudget::wake_waiting() {
  for (const auto& entry : entries_) {
    if (!entry->waiting) continue;
    asio::post(entry->executor, [entry] { entry->woken.notify_all(); });
  }
}

std::shared_ptr<ByteBudget::Entry> ByteBudget::enter(asio::any_io_executor executor, std::size_t ceiling) {
  auto entry = std::make_shared<Entry>(std::move(executor), ceiling);
  const std::lock_guard lock(mutex_);
  entries_.push_back(entry);
  return entry;
}

void ByteBudget::leave(const std::shared_ptr<Entry>& entry) {
  const std::lock_guard lock(mutex_);
  entries_.remove(entry);
  used_ -= std::exchange(entry->held, 0);
  entry->waiting = false;
  wake_waiting();
}

void ByteBudget::set_held(Entry& entry, std::size_t bytes) {
  bytes = weight(bytes);
  if (bytes == entry.held && !(entry.failed && bytes == 0)) return;  // only its own loop writes it
  const std::lock_guard lock(mutex_);
  // What had to go is gone, or came to its end after all.
  if (bytes == 0) entry.failed = false;
  const bool less = bytes < entry.held;
  used_ = used_ - entry.held + bytes;
  entry.held = bytes;
  if (less) wake_waiting();
}

bool ByteBudget::fits(const Entry* entry, std::size_t more, std::size_t ceiling) const {
  if ((!entry || entry->held == 0) && more <= small) return true;
  const std::lock_guard lock(mutex_);
  return !(entry && entry->failed) && used_ + more <= ceiling;
}

// True when there is room, or this one has to go; false when it has to wait.
bool ByteBudget::try_room(Entry& entry, std::size_t more) {
  const std::lock_guard lock(mutex_);
  entry.waiting = false;
  entry.wanted = 0;
  if (entry.failed || used_ + more <= entry.ceiling) return true;
  entry.wanted = more;
  std::size_t stuck = 0;
  bool one_goes = false;
  for (const auto& each : entries_) {
    stuck += each->held + each->claimed;
    one_goes = one_goes || (each->failed && each->held > 0);
  }
  if (used_ <= stuck && !one_goes) {
    // Only those who would have to wait as well: another host may allow itself more.
    auto* largest = &entry;
    for (const auto& each : entries_) {
      if (!each->failed && each->ceiling <= entry.ceiling && each->size() > largest->size()) largest = each.get();
    }
    largest->failed = true;
    if (largest == &entry) {
      entry.wanted = 0;
      return true;
    }
    for (const auto& each : entries_) {
      if (each.get() != largest) continue;
      asio::post(each->executor, [each] {
        each->woken.notify_all();
        // It may be whole by now.
        if (each->failed && each->given_up) each->given_up();
      });
    }
  }
  entry.waiting = true;
  return false;
}

Task<void> ByteBudget::wait_for_room(ByteBudget& budget, std::shared_ptr<Entry> entry, std::size_t more) {
  struct Leave {
    ByteBudget& budget;
    Entry& entry;
    ~Leave() {
      const std::lock_guard lock(budget.mutex_);
      entry.waiting = false;
      entry.wanted = 0;
    }
  } leave{budget, *entry};
  const auto executor = co_await asio::this_coro::executor;
  const auto& clock = loop_clock(executor);
  const auto end = clock.now() + patience;
  while (!budget.try_room(*entry, more)) {
    auto woken = co_await as_result(with_timeout(entry->woken.wait(), end - clock.now(), ""));
    if (woken) continue;
    if (woken.error().code() != Errc::timeout) throw std::move(woken).error();
    const std::lock_guard lock(budget.mutex_);
    entry->failed = true;
  }
}

Task<ByteBudget::Charge> ByteBudget::admit(std::size_t bytes, std::size_t text, std::size_t ceiling) {
  // It is in the list only while it waits; `text` then frees nothing before this gets on.
  Unfinished value(*this, co_await asio::this_coro::executor, ceiling);
  if (!value.fits(bytes)) {
    {
      auto& entry = value.entry();
      const std::lock_guard lock(mutex_);
      entry.claimed = weight(text);
    }
    co_await value.room(bytes);
  }
  co_return charge(bytes);
}

ByteBudget::Unfinished::Unfinished(ByteBudget& budget, asio::any_io_executor executor, std::size_t ceiling,
                                   std::function<void()> given_up)
    : budget_(budget), executor_(std::move(executor)), ceiling_(ceiling), given_up_(std::move(given_up)) {}

ByteBudget::Unfinished::~Unfinished() {
  if (!entry_) return;
  entry_->given_up = nullptr;
  budget_.leave(entry_);
}

ByteBudget::Entry& ByteBudget::Unfinished::entry() {
  if (!entry_) {
    entry_ = budget_.enter(executor_, ceiling_);
    entry_->given_up = given_up_;
  }
  return *entry_;
}

void ByteBudget::Unfinished::hold(std::size_t bytes) {
  if (entry_ || weight(bytes) > 0) budget_.set_held(entry(), bytes);
}

bool ByteBudget::Unfinished::fits(std::size_t more) const { return budget_.fits(entry_.get(), more, ceiling_); }

Task<void> ByteBudget::Unfinished::room(std::size_t more) {
  entry();
  co_await wait_for_room(budget_, entry_, more);
  if (failed()) throw failure();
}

bool ByteBudget::Unfinished::failed() const { return entry_ && entry_->failed; }

Error ByteBudget::Unfinished::failure() const {
  return Error(Errc::limit,
               fmt::format("the message was discarded: together with all other messages that are being received it "
                           "would need more than {} bytes; ask the servers for less at a time",
                           ceiling_));
}

ByteBudget::Charge ByteBudget::Unfinished::finish() {
  if (!entry_ || entry_->held == 0) return {};
  const std::lock_guard lock(budget_.mutex_);
  entry_->failed = false;
  Charge charge;
  charge.budget_ = &budget_;
  charge.bytes_ = std::exchange(entry_->held, 0);
  return charge;
}

ByteBudget& byte_budget() {
  // Never destroyed: values that live until the very end give back their part then.
  static auto& budget = *new ByteBudget;
  return budget;
}

}  // namespace patchbay
