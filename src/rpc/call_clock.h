// CallClock: the time of one call, as its limits see it. It stops while a person is asked on
// behalf of the call, and goes on over everything that is sent for it: rounds of questions, another try
// in a renewed session, looks at the task it became. So a call has one total limit, whatever becomes of it.
//
// On whose behalf is asked is known when a server puts its questions into an answer, when the question
// comes on the stream of a request (HTTP) or names a task, and when only one call is pending. Where it is not known, it
// may be any call that is pending at that moment: all their clocks stop, but no call gets more than its
// own limit once more from such doubts, so one open question cannot keep the others alive for ever.
//
// A host makes another one for what it does before a call can be sent: finding and starting the server, asking.
//
// Shared by a call and by whoever stops it; one at a time waits for its end, a peer or over(). Pure but for over() and
// the clock it is given. Loop thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/timeout.h"

namespace patchbay {

// Which call a clock belongs to, for whoever is asked on its behalf.
struct CallTag {
  std::string_view method;
  std::string_view tool;
  std::string_view principal;
  std::uint64_t id = 0;
};

class CallClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `most_doubt`: how long it may stop where it is not known whether the question is the call's.
  // The clock outlives it.
  CallClock(const Clock& clock, Duration total) : CallClock(clock, total, total) {}
  CallClock(const Clock& clock, Duration total, Duration most_doubt);
  CallClock(const CallClock&) = delete;
  CallClock& operator=(const CallClock&) = delete;

  // Real time without what it stood still.
  TimePoint now() const { return clock_.now() - stood_still(); }
  TimePoint end() const noexcept { return end_; }
  Duration total() const noexcept { return total_; }
  // Another limit, counted from the same beginning.
  void set_total(Duration total);
  // Of the total; zero when it is over, Duration::max() when there is no limit.
  Duration left() const;
  // When, in real time, it will show `at` unless it is stopped or goes on meanwhile; TimePoint::max() while
  // that depends on a person.
  TimePoint when(TimePoint at) const;

  // Returns when nothing is left of the total. For a call that no peer times yet.
  static Task<void> over(std::shared_ptr<CallClock> clock);

  // Called when a stop ends or the limit is another one: what when() said is no longer true.
  std::function<void()> went_on;

  // Set while whoever waits for the call holds what it refers to.
  const CallTag* tag = nullptr;

  enum class Whose { this_calls, perhaps };
  // Stands still while one exists; without a clock it does nothing.
  class Stop {
   public:
    explicit Stop(std::shared_ptr<CallClock> clock, Whose whose = Whose::this_calls);
    Stop(Stop&& other) noexcept : clock_(std::move(other.clock_)), whose_(other.whose_) {}
    Stop& operator=(Stop&&) = delete;
    ~Stop();
    const CallClock* clock() const noexcept { return clock_.get(); }

   private:
    std::shared_ptr<CallClock> clock_;
    Whose whose_;
  };

 private:
  void change(int& stops, int by);
  Duration stood_still() const;
  Duration doubted_since() const;  // what the doubt that lasts has added since `since_`

  const Clock& clock_;
  TimePoint begun_;
  Duration total_;
  TimePoint end_;
  Duration most_doubt_;
  int stops_ = 0;
  int doubts_ = 0;
  TimePoint since_{};    // when one of these two changed last
  Duration stood_{};     // up to then
  Duration in_doubt_{};  // of that, where it was not known whose the question was
};

}  // namespace patchbay
