#include "http/client/byte_stream.h"

#include <fcntl.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>

#include "base/as_result.h"
#include "base/fd.h"
#include "base/limit_text.h"
#include "base/waiting.h"
#include "http/client/failure.h"
#include "http/client/route.h"

namespace patchbay {
namespace {

using boost::system::error_code;
using Descriptor = asio::posix::stream_descriptor;

// libcurl makes the connection and takes TLS off it; waiting is ours, on a descriptor of our own
// for the same socket, so that Asio never refers to a number that libcurl has given back.
class CurlStream final : public ByteStream, private TransferSink {
 public:
  CurlStream(const asio::any_io_executor& executor, Route route)
      : context_(std::move(route.context)), socket_(executor), loop_(executor, 1) {
    transfer_ = loop_.start(request_, std::make_shared<const TransferOptions>(std::move(route.transfer)), *this);
  }
  CurlStream(const CurlStream&) = delete;
  CurlStream& operator=(const CurlStream&) = delete;

  Task<void> connect() {
    while (!connected_ && !failure_) co_await changed_.wait();
    if (failure_) throw http_error(*failure_, context_);
    Fd own(::fcntl(transfer_->socket(), F_DUPFD_CLOEXEC, 0));
    if (!own)
      throw Error(Errc::connect,
                  "no file descriptor is left for a connection; close some files or connections, or raise the limit "
                  "(ulimit -n)");
    socket_.assign(own.release());
  }

  Result<std::optional<std::size_t>> read_now(std::span<char> into) override {
    auto moved = transfer_->receive(into);
    if (moved.failure) return std::unexpected(http_error(*moved.failure, context_));
    if (moved.would_wait) return std::nullopt;
    return moved.bytes;
  }
  Result<std::size_t> write_now(std::string_view bytes) override {
    auto moved = transfer_->send(bytes);
    if (moved.failure) return std::unexpected(http_error(*moved.failure, context_));
    return moved.bytes;
  }
  Task<void> readable() override { return ready(Descriptor::wait_read); }
  Task<void> writable() override { return ready(Descriptor::wait_write); }
  void interrupt() override {
    error_code ignored;
    socket_.cancel(ignored);
  }

 private:
  Task<void> ready(Descriptor::wait_type what) {
    error_code error;
    co_await socket_.async_wait(what, asio::redirect_error(asio::use_awaitable, error));
    if (!error) co_return;
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) throw boost::system::system_error(error);
  }

  void on_connected() override {
    connected_ = true;
    changed_.notify_all();
  }
  void on_head(int, HttpHeaders) override {}
  Verdict on_body(std::string_view) override { return Verdict::stop; }
  void on_end(std::optional<HttpFailure> failure) override {
    failure_ = failure.value_or(HttpFailure{.fault = HttpFault::closed});
    changed_.notify_all();
  }

  HttpRequest request_;
  HttpFailureContext context_;
  bool connected_ = false;
  std::optional<HttpFailure> failure_;
  Event changed_;
  Descriptor socket_;
  CurlLoop loop_;
  std::unique_ptr<CurlTransfer> transfer_;  // last: it refers to all the others
};

}  // namespace

Task<std::unique_ptr<ByteStream>> connect_stream(std::string method, std::string shown, Url url,
                                                 HttpClientOptions settings, Duration limit) {
  auto route = value_or_throw(route_to(url, settings));
  route.context.method = std::move(method);
  route.context.shown = std::move(shown);
  route.transfer.connect_only = true;
  if (limit != Duration::max()) {
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(limit);
    route.transfer.connect_limit = milliseconds;
    route.context.limit = limit_text(milliseconds);
  }
  warn_of_unread_trust(settings);
  auto executor = co_await asio::this_coro::executor;
  auto stream = std::make_unique<CurlStream>(executor, std::move(route));
  co_await stream->connect();
  co_return stream;
}

}  // namespace patchbay
