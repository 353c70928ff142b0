#include "process/to_the_end.h"

#include <array>
#include <string_view>

#include <boost/asio/this_coro.hpp>

#include "base/as_result.h"

namespace patchbay {

using namespace std::chrono_literals;

void Feeder::go_on() {
  while (sent_ < text_->size()) {
    const auto written = process_.write_some(std::string_view(*text_).substr(sent_));
    if (!written) return;  // it does not want the rest
    if (*written == 0) {
      process_.when_writable([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->go_on();
      });
      return;
    }
    sent_ += *written;
  }
  process_.close_input();
}

Task<void> read_to_end(Process& process, std::string& output, std::size_t most) {
  std::array<char, 8u << 10> buffer;
  for (;;) {
    const auto length = co_await process.read_some(buffer);
    if (!length || *length == 0) break;
    output.append(buffer.data(), *length);
    if (output.size() > most) co_return;
  }
  while (!process.ended()) (void)co_await process.ended_within(1h);
  co_await process.take_waiting_errors();
}

Task<void> shut_down(Process& process, Patience patience) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  Result<ShutdownStep> ended = fail(Errc::internal, "");
  for (int tries = 0; !ended && tries < 10; ++tries) ended = co_await as_result(process.shutdown(patience));
  co_await asio::this_coro::throw_if_cancelled(throws);
}

}  // namespace patchbay
