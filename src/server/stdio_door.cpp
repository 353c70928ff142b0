// This process as a server on its own stdin and stdout.
#include <unistd.h>

#include <boost/asio/this_coro.hpp>

#include <patchbay/server.h>

#include "base/runtime.h"
#include "server/connection.h"
#include "server/serve.h"
#include "transport/line_channel.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

// A client that pipes its requests in and closes still wants its answers; one that is
// gone does not, and ends us by a signal when this is too long for it.
constexpr auto after_eof = 10s;

Task<void> serve_descriptors(std::shared_ptr<ServerCore> core, Runtime runtime) {
  auto executor = co_await asio::this_coro::executor;
  auto channel = std::make_unique<LineChannel>(executor, STDIN_FILENO, STDOUT_FILENO, runtime);
  const auto for_handlers = as_duration(runtime.limits.exit_after_eof);
  ++core->doors;
  {
    ClientConnection connection(core, executor, std::move(channel), std::move(runtime), after_eof);
    co_await connection.run();
  }
  co_await ServerCore::close_door(core, for_handlers);
}

}  // namespace

Task<void> Server::serve_stdio() { return serve_descriptors(core_, core_->own_runtime()); }
Task<void> serve_stdio(Server& server, const Runtime& runtime) {
  return serve_descriptors(ServerAccess::core(server), runtime);
}

}  // namespace patchbay
