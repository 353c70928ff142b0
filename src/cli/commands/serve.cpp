// `patchbay serve`: the built-in tools as an MCP server, on stdin and stdout or over HTTP.
#include "server/serve.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/crypto.h"
#include "base/scope.h"
#include "base/strings.h"
#include "builtin/builtin_server.h"
#include "cli/context.h"
#include "cli/texts/present.h"
#include "cli/words/serve_address.h"
#include "http/server/tcp_listener.h"

namespace patchbay::cli {
namespace {

// The token clients must show: from --bearer-file, else from the environment; empty: none was given.
std::string given_token(const Settings& settings, Io& io) {
  std::string token;
  if (!settings.bearer_file.empty()) {
    auto text = value_or_throw(read_argument_file(settings.bearer_file));
    token = std::string(trim(text));
    if (token.empty()) {
      throw Error(Errc::invalid_argument,
                  fmt::format("{} contains no token; write one line into it, for example with `openssl rand -hex 32`",
                              settings.bearer_file));
    }
  } else if (const char* from_environment = ::getenv("PATCHBAY_SERVE_TOKEN")) {
    token = std::string(trim(from_environment));
    if (token.empty()) {
      io.talk("patchbay: warning: PATCHBAY_SERVE_TOKEN is empty and is ignored; set it to a token, or unset it\n");
    }
  }
  return token;
}

// For one run. Nobody can guess it, and it can be written into a header as it is.
std::string new_token(const Random& random) {
  std::array<std::uint8_t, 32> bytes{};
  random(bytes);
  return base64url_encode(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

// As browsers write it: what has a path, or is a pattern, would never be met.
void check_origin(const std::string& origin) {
  const auto host = origin.find("://");
  if (host != 0 && host != std::string::npos && origin.find_first_of("/?#*@ ", host + 3) == std::string::npos &&
      origin.size() > host + 3) {
    return;
  }
  throw Error(Errc::invalid_argument,
              fmt::format("--allow-origin: \"{}\" is not an origin; write scheme, host and port as a browser does, for "
                          "example https://app.example or http://localhost:5173",
                          origin));
}

ServerHttpOptions http_options(const Settings& settings, Io& io, const Random& random) {
  const auto place = value_or_throw(parse_serve_address(settings.http));
  ServerHttpOptions options;
  options.address = place.address;
  options.port = place.port;
  options.allowed_hosts = settings.allow_hosts;
  for (const auto& origin : settings.allow_origins) check_origin(origin);
  options.allowed_origins = settings.allow_origins;
  const bool loopback = is_loopback_name(options.address);
  auto token = given_token(settings, io);
  // Whoever is to show a token that was made here must be told it; one that was given is known.
  std::string made;
  if (token.empty() && needs_token(loopback, settings.allow_run)) token = made = new_token(random);
  if (!token.empty()) options.authorize = bearer_token(token);
  if (!loopback) {
    io.talk(
        fmt::format("patchbay: warning: other machines can reach {}, and the connection is not encrypted; let clients "
                    "connect through a proxy that offers https\n",
                    options.address));
  }
  options.on_listening = [&io, json = settings.json, made](const std::string& url) {
    if (json) {
      Json said{{"url", url}};
      if (!made.empty()) said["token"] = made;
      io.out(json_text(said, io.out_is_terminal));
      return;
    }
    if (!made.empty()) {
      io.talk(
          fmt::format("patchbay: the token for this run is {}; clients send it as \"Authorization: Bearer TOKEN\". To "
                      "choose your own: --bearer-file FILE\n",
                      made));
    }
    io.talk(fmt::format("patchbay: serving on {}; press Ctrl-C to stop\n", url));
  };
  return options;
}

int serve_http(const Settings& settings, Io& io, std::shared_ptr<Server> server, const Runtime& runtime) {
  auto options = http_options(settings, io, runtime.random);
  asio::io_context loop(1);
  Scope scope(loop.get_executor());
  Scope side(loop.get_executor());
  asio::signal_set signals(loop, SIGINT, SIGTERM, SIGHUP);
  Result<void> outcome;
  auto serving = scope.spawn([](Task<void> work, Result<void>& o, Scope& beside, asio::signal_set& s) -> Task<void> {
    o = co_await as_result(std::move(work));
    beside.cancel();
    s.cancel();
  }(serve_http(*server, std::move(options), runtime), outcome, side, signals));
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

int serve(const Settings& settings, Io& io, const Runtime& runtime) {
  BuiltinOptions options;
  options.root = settings.root.empty() ? std::filesystem::current_path() : std::filesystem::path(settings.root);
  options.allow_run = settings.allow_run;
  options.runtime = runtime;
  auto server = make_builtin_server(options);
  if (!settings.http.empty()) return serve_http(settings, io, std::move(server), runtime);
  if (!settings.bearer_file.empty() || !settings.allow_hosts.empty() || !settings.allow_origins.empty()) {
    throw Error(Errc::invalid_argument,
                "--bearer-file, --allow-host and --allow-origin need HTTP; add --http 127.0.0.1:8080");
  }
  if (io.in_is_terminal) {
    io.talk(
        "patchbay: waiting for an MCP client on stdin; this command is meant to be started by a client. Press Ctrl-D "
        "to "
        "stop\n");
  }
  return run([](std::shared_ptr<Server> offered, Runtime with) -> Task<int> {
    co_await serve_stdio(*offered, with);
    co_return 0;
  }(std::move(server), runtime));
}

}  // namespace patchbay::cli
