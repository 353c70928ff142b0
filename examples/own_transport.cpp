// A connection that the program makes itself: here two queues, with a server at one end and a client at the other.
#include <iostream>

#include <boost/asio/experimental/channel.hpp>

#include <patchbay/patchbay.h>

namespace pb = patchbay;
namespace asio = pb::asio;
using Queue = asio::experimental::channel<void(boost::system::error_code, std::string)>;

struct Pipe : pb::TextChannel {
  std::shared_ptr<Queue> in, out;
  pb::Task<std::optional<std::string>> read() override { co_return co_await in->async_receive(asio::use_awaitable); }
  pb::Task<void> write(std::string text) override { co_await out->async_send({}, text, asio::use_awaitable); }
  pb::Task<void> close() override { co_return in->close(), out->close(); }
  Pipe(std::shared_ptr<Queue> i, std::shared_ptr<Queue> o) : in(std::move(i)), out(std::move(o)) {}
};

pb::Task<void> demo() {
  auto loop = co_await asio::this_coro::executor;
  auto there = std::make_shared<Queue>(loop, 16), back = std::make_shared<Queue>(loop, 16);
  pb::Server server("demo", "1.0");
  server.add_tool("greet", "Greets whoever calls", pb::args(), [] { return "Hello, you"; });
  asio::co_spawn(loop, server.serve(std::make_unique<Pipe>(there, back)), asio::detached);
  auto open = [=]() -> pb::Task<std::unique_ptr<pb::TextChannel>> { co_return std::make_unique<Pipe>(back, there); };
  auto session = co_await pb::Client().connect(pb::text_transport("my queues", open));
  std::cout << pb::text_of(co_await session.call_tool("greet", {})) << '\n';
}

int main() { return pb::run(demo()); }
