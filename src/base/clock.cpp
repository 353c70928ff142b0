#include "base/clock.h"

#include <sys/random.h>

#include <patchbay/error.h>

#include "base/loop_clock.h"

namespace patchbay {
namespace {

class RealClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
  WallTime wall() const override { return std::chrono::system_clock::now(); }
};

class ClockOfLoop final : public asio::execution_context::service {
 public:
  using key_type = ClockOfLoop;
  explicit ClockOfLoop(asio::execution_context& loop) : ClockOfLoop(loop, real_clock()) {}
  ClockOfLoop(asio::execution_context& loop, Clock& its_clock) : service(loop), clock(its_clock) {}
  Clock& clock;

 private:
  void shutdown() override {}
};

}  // namespace

Clock& real_clock() noexcept {
  static constinit RealClock clock;
  return clock;
}

void use_clock(asio::execution_context& loop, Clock& clock) { asio::make_service<ClockOfLoop>(loop, clock); }

Clock& loop_clock(const asio::any_io_executor& executor) {
  return asio::use_service<ClockOfLoop>(asio::query(executor, asio::execution::context)).clock;
}

Random system_random() {
  return [](std::span<std::uint8_t> out) {
    while (!out.empty()) {
      auto got = getrandom(out.data(), out.size(), 0);
      if (got < 0) {
        if (errno == EINTR) continue;
        throw Error(Errc::internal, "the system did not provide random bytes");
      }
      out = out.subspan(static_cast<std::size_t>(got));
    }
  };
}

}  // namespace patchbay
