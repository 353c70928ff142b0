#include "support/ws_door.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "server/serve.h"
#include "transport/ws.h"
#include "ws/handshake.h"

namespace patchbay::test {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

class TcpStream final : public ByteStream {
 public:
  explicit TcpStream(tcp::socket socket) : socket_(std::move(socket)) { socket_.non_blocking(true); }

  Result<std::optional<std::size_t>> read_now(std::span<char> into) override {
    error_code error;
    const auto count = socket_.read_some(asio::buffer(into.data(), into.size()), error);
    if (error == asio::error::would_block) return std::nullopt;
    if (error == asio::error::eof) return 0;
    if (error) return fail(Errc::closed, error.message());
    return count;
  }
  Result<std::size_t> write_now(std::string_view bytes) override {
    error_code error;
    const auto count = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
    if (error == asio::error::would_block) return 0;
    if (error) return fail(Errc::closed, error.message());
    return count;
  }
  Task<void> readable() override { return ready(tcp::socket::wait_read); }
  Task<void> writable() override { return ready(tcp::socket::wait_write); }
  void interrupt() override { socket_.cancel(); }

 private:
  Task<void> ready(tcp::socket::wait_type what) {
    error_code error;
    co_await socket_.async_wait(what, asio::redirect_error(asio::use_awaitable, error));
  }
  tcp::socket socket_;
};

}  // namespace

WsDoor::WsDoor(asio::any_io_executor executor, std::shared_ptr<Server> server)
    : server_(std::move(server)),
      acceptor_(executor, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      scope_(executor) {
  scope_.spawn(accept_all(*this));
}

std::string WsDoor::url() const { return fmt::format("ws://127.0.0.1:{}/mcp", acceptor_.local_endpoint().port()); }

Task<void> WsDoor::stop() {
  scope_.cancel();
  co_await scope_.join();
}

Task<void> WsDoor::accept_all(WsDoor& door) {
  for (;;) {
    auto socket = co_await door.acceptor_.async_accept(asio::use_awaitable);
    door.scope_.spawn(serve(door.server_, std::move(socket)));
  }
}

Task<void> WsDoor::serve(std::shared_ptr<Server> server, tcp::socket socket) {
  std::string head;
  const auto length =
      co_await asio::async_read_until(socket, asio::dynamic_buffer(head), "\r\n\r\n", asio::use_awaitable);
  auto rest = head.substr(length);
  const auto at = head.find("Sec-WebSocket-Key: ") + 19;
  const std::string answer =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: mcp\r\n"
      "Sec-WebSocket-Accept: " +
      handshake_accept(std::string_view(head).substr(at, head.find("\r\n", at) - at)) + "\r\n\r\n";
  co_await asio::async_write(socket, asio::buffer(answer), asio::use_awaitable);
  WebSocketSettings settings;
  settings.role = WebSocketRole::server;
  settings.shown = "the client";
  auto executor = co_await asio::this_coro::executor;
  auto connection =
      std::make_unique<WebSocket>(executor, std::make_unique<TcpStream>(std::move(socket)), settings, std::move(rest));
  auto channel = std::make_unique<WsChannel>(executor, std::move(connection), Runtime{});
  (void)co_await as_result(patchbay::serve(*server, std::move(channel), Runtime{}));
}

}  // namespace patchbay::test
