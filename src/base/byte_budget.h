// ByteBudget: what all connections of the process hold of their peers' messages, in one number. There is one,
// byte_budget(), for all loops and hosts; how much is too much is each user's own Limits::buffered. See
// docs/adr/0009-byte-budget.md. Any thread; what waits is resumed on its own loop.
//
// A message that is being received is Unfinished. It asks for room before it grows, and waits while there is
// none: what is whole is on its way to whoever wanted it, and frees its part soon. When nothing whole is left, the
// largest unfinished one has to go, so that two halves never wait for each other; and nobody waits for
// longer than `patience`. A whole message and the values made of it carry a Charge for as long as they live.
//
// Small messages do not count: they are many, short-lived, and bounded per channel. They always go through.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include <patchbay/task.h>

namespace patchbay {

class ByteBudget {
 public:
  static constexpr std::size_t small = 64u << 10;
  static constexpr std::chrono::seconds patience{30};

  ByteBudget() = default;
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // Bytes that are held; given back when it goes.
  class Charge {
   public:
    Charge() = default;
    Charge(Charge&& other) noexcept : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
    Charge& operator=(Charge&& other) noexcept;
    ~Charge() { release(); }
    void release() noexcept;
    std::size_t bytes() const noexcept { return bytes_; }

   private:
    friend class ByteBudget;
    Charge(ByteBudget* budget, std::size_t bytes) : budget_(budget), bytes_(bytes) {}
    ByteBudget* budget_ = nullptr;
    std::size_t bytes_ = 0;
  };

  class Unfinished;

  // Without asking: for what is there already. Small ones weigh nothing.
  Charge charge(std::size_t bytes);
  // For what is about to be made of `text` bytes that are charged already. Throws Errc::limit, see above.
  Task<Charge> admit(std::size_t bytes, std::size_t text, std::size_t ceiling);

  std::size_t used() const;

 private:
  struct Entry;
  using Entries = std::list<std::shared_ptr<Entry>>;
  std::shared_ptr<Entry> enter(asio::any_io_executor executor, std::size_t ceiling);
  void leave(const std::shared_ptr<Entry>& entry);
  void set_held(Entry& entry, std::size_t bytes);
  bool fits(const Entry* entry, std::size_t more, std::size_t ceiling) const;
  static Task<void> wait_for_room(ByteBudget& budget, std::shared_ptr<Entry> entry, std::size_t more);
  bool try_room(Entry& entry, std::size_t more);
  void give_back(std::size_t bytes) noexcept;
  void wake_waiting();  // under the lock

  mutable std::mutex mutex_;
  std::size_t used_ = 0;
  Entries entries_;
};

// One message at a time that arrives in pieces. Owned by whoever reads them; of one loop.
class ByteBudget::Unfinished {
 public:
  // `given_up` is called on the loop when this one has to go while it waits for its peer: whoever reads must
  // be interrupted then, and finds failure() set.
  Unfinished(ByteBudget& budget, asio::any_io_executor executor, std::size_t ceiling,
             std::function<void()> given_up = {});
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished();

  // So much of it is here now.
  void hold(std::size_t bytes);
  // Whether `more` may be read at once; else await room(). Errc::limit when it has to go.
  bool fits(std::size_t more) const;
  Task<void> room(std::size_t more);
  // Set when it has to go, for as long as it is not whole; the error to fail with.
  bool failed() const;
  Error failure() const;
  // It is whole: what it held is the caller's from now on, and the next one begins.
  Charge finish();

 private:
  friend class ByteBudget;
  Entry& entry();

  ByteBudget& budget_;
  asio::any_io_executor executor_;
  std::size_t ceiling_;
  std::function<void()> given_up_;
  std::shared_ptr<Entry> entry_;  // once it is more than small
};

ByteBudget& byte_budget();

// A text together with what it weighs: whoever shares it keeps both.
struct WeighedText {
  std::shared_ptr<const std::string> text;
  ByteBudget::Charge of_text;
  ByteBudget::Charge of_values;  // that were made of it
};

}  // namespace patchbay
