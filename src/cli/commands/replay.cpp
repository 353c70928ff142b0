// `patchbay replay FILE`: a recording as an MCP server, on stdin and stdout or over HTTP on this machine.
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <patchbay/task.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/strings.h"
#include "base/whole_file.h"
#include "cli/recordings.h"
#include "cli/texts/present.h"
#include "cli/words/serve_address.h"
#include "http/server/tcp_listener.h"
#include "recording/player.h"
#include "server/http_door.h"
#include "transport/line_channel.h"

namespace patchbay::cli {
namespace {

Script read_script(const Settings& settings, Io& io) {
  const auto& file = settings.words.front();
  auto text = value_or_throw(read_whole_file(file, largest_recording));
  if (!text) throw Error(Errc::invalid_argument, fmt::format("there is no file {}", file));
  const auto recording = read_recording(*text);
  if (!recording) throw recording.error().within(file);
  auto script = script_of(*recording);
  if (!settings.quiet) {
    for (const auto& warning : script.warnings) {
      io.talk(fmt::format("patchbay: warning: {}: {}\n", safe_name(file, 500), message_line(warning, 500)));
    }
  }
  return script;
}

ServerHttpOptions http_options(const Settings& settings, Io& io) {
  const auto place = value_or_throw(parse_serve_address(settings.http));
  if (!is_loopback_name(place.address)) {
    throw Error(Errc::invalid_argument,
                fmt::format("replay serves only this machine, and {} is reached from elsewhere; write for example "
                            "--http 127.0.0.1:8080",
                            place.address));
  }
  ServerHttpOptions options;
  options.address = place.address;
  options.port = place.port;
  options.on_listening = [&io, json = settings.json](const std::string& url) {
    if (json) {
      io.out(json_text({{"url", url}}, io.out_is_terminal));
    } else {
      io.talk(fmt::format("patchbay: replaying on {}; press Ctrl-C to stop\n", url));
    }
  };
  return options;
}

Task<void> serve_door(std::shared_ptr<Player> player, ServerHttpOptions options, Runtime runtime) {
  auto executor = co_await asio::this_coro::executor;
  HttpDoor door(
      [player](std::unique_ptr<Channel> channel, DoorChannel kind) -> Task<void> {
        return [](std::shared_ptr<Player> p, std::unique_ptr<Channel> c, DoorChannel k) -> Task<void> {
          const auto as = k == DoorChannel::session ? PlayedChannel::connection : PlayedChannel::one_request;
          (void)co_await Player::serve(p, std::move(c), as);
        }(player, std::move(channel), kind);
      },
      executor, std::move(options), runtime);
  co_await door.run();
}

int replay_http(const Settings& settings, Io& io, std::shared_ptr<Player> player, const Runtime& runtime) {
  auto options = http_options(settings, io);
  asio::io_context loop(1);
  Scope scope(loop.get_executor());
  Scope side(loop.get_executor());
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  Result<void> outcome;
  auto serving = scope.spawn([](Task<void> work, Result<void>& o, Scope& beside, asio::signal_set& s) -> Task<void> {
    o = co_await as_result(std::move(work));
    beside.cancel();
    s.cancel();
  }(serve_door(std::move(player), std::move(options), runtime), outcome, side, signals));
  side.spawn([](asio::signal_set& s, Spawned running) -> Task<void> {
    (void)co_await s.async_wait(asio::use_awaitable);
    running.cancel();
    // A second signal means now.
    const int by = co_await s.async_wait(asio::use_awaitable);
    _exit(128 + by);
  }(signals, serving));
  loop.run();
  if (!outcome && outcome.error().code() != Errc::cancelled) throw std::move(outcome).error();
  return 0;
}

}  // namespace

int replay(const Settings& settings, Io& io, const Runtime& runtime) {
  auto player = std::make_shared<Player>(read_script(settings, io), [&io, quiet = settings.quiet](const auto& line) {
    if (!quiet) io.talk(fmt::format("patchbay: {}\n", message_line(line, 1000)));
  });
  if (!settings.http.empty()) return replay_http(settings, io, std::move(player), runtime);
  if (io.in_is_terminal) {
    io.talk(
        "patchbay: waiting for an MCP client on stdin; this command is meant to be started by a client. Press Ctrl-D "
        "to stop\n");
  }
  return run([](std::shared_ptr<Player> p, Runtime with) -> Task<int> {
    auto executor = co_await asio::this_coro::executor;
    auto channel = std::make_unique<LineChannel>(executor, STDIN_FILENO, STDOUT_FILENO, with);
    // A server that ended the connection was gone.
    co_return co_await Player::serve(std::move(p), std::move(channel), PlayedChannel::connection) ? 1 : 0;
  }(std::move(player), runtime));
}

}  // namespace patchbay::cli
