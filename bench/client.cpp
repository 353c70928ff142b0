// The measuring client of this library: its public coroutine face, as a program would use it.
// Only `forward` goes one layer deeper, to where an answer is handed on as the bytes it came
// in, `catalog` to where one is made, and `model-…` and `keep-…` to the two halves of Host::for_model; hosts are made
// where chance can be handed in. bench/README.md has the arguments and the line that is printed.
#include <algorithm>
#include <filesystem>
#include <span>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <patchbay/client.h>
#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "figures.h"
#include "host/make_host.h"
#include "host/results/result_store.h"
#include "many_tools.h"
#include "protocol/codec.h"
#include "results/fit.h"
#include "results/outline.h"
#include "rpc/peer.h"
#include "rpc/transport.h"

namespace {

namespace pb = patchbay;
using bench::Arguments;
using pb::Task;

std::shared_ptr<pb::Transport> transport(const Arguments& arguments) {
  if (arguments.server.starts_with("http://")) return pb::http_transport({.url = arguments.server});
  return pb::stdio_transport({.command = arguments.server});
}

pb::Client client() { return pb::Client({.info = {.name = "bench", .version = "1"}}); }

Task<std::size_t> echo(pb::Session session) {
  auto result = co_await session.call_tool("echo", pb::Json{{"text", "hello"}});
  co_return std::get<pb::TextContent>(result.content.at(0)).text.size();
}

Task<std::size_t> large(pb::Session session) {
  auto result = co_await session.call_tool("large", {});
  co_return std::get<pb::TextContent>(result.content.at(0)).text.size();
}

Task<std::size_t> many(pb::Session session) {
  auto result = co_await session.call_tool("many", {});
  co_return (*result.structured_content)["rows"].size();
}

void check(bool right) {
  if (!right) throw pb::Error(pb::Errc::protocol, "not the answer that was expected");
}

Task<void> one_by_one(const Arguments& arguments, pb::Session session) {
  auto call = arguments.measure == "large" ? large : arguments.measure == "many" ? many : echo;
  for (int i = 0; i < arguments.warm_up(); ++i) check(co_await call(session) >= 4);
  bench::Meter meter(arguments.measure);
  for (int i = 0; i < arguments.count; ++i) {
    const double began = bench::wall_us();
    const auto size = co_await call(session);
    meter.took(bench::wall_us() - began);
    check(size >= 4);
  }
  meter.print(arguments.count);
}

// The delay of each event of a stream: the server writes the time into it.
Task<void> stream(const Arguments& arguments, pb::Session session) {
  std::optional<bench::Meter> meter;
  pb::CallOptions options;
  options.on_progress = [&](const pb::Progress& progress) {
    const double now = bench::wall_us();
    if (meter && progress.message) meter->took(now - std::strtod(progress.message->c_str(), nullptr) / 1e3);
  };
  co_await session.call_tool("stream", pb::Json::object(), options);
  meter.emplace(arguments.measure);
  for (int i = 0; i < arguments.count; ++i) co_await session.call_tool("stream", pb::Json::object(), options);
  meter->print(arguments.count);
}

Task<void> work(pb::Session session, int& left) {
  while (left > 0) {
    --left;
    check(co_await echo(session) == 4);
  }
}

Task<void> flood(pb::Session session, int calls, int depth) {
  pb::Scope scope(co_await pb::asio::this_coro::executor);
  for (int i = 0; i < depth; ++i) scope.spawn(work(session, calls));
  co_await scope.join();
}

Task<void> in_flight(const Arguments& arguments, pb::Session session) {
  co_await flood(session, arguments.warm_up(), arguments.at_once);
  bench::Meter meter(arguments.measure);
  co_await flood(session, arguments.count, arguments.at_once);
  meter.print(arguments.count);
}

Task<void> connect_next(const Arguments& arguments, const pb::Client& client, int& left,
                        std::vector<pb::Session>& sessions) {
  while (left > 0) {
    --left;
    auto session = co_await client.connect(transport(arguments));
    auto tools = co_await session.list_tools();
    check(tools.items.size() == 3);
    sessions.push_back(std::move(session));
  }
}

Task<void> connect_many(const Arguments& arguments) {
  const auto connecting = client();
  std::vector<pb::Session> sessions;
  int left = arguments.count;
  pb::Scope scope(co_await pb::asio::this_coro::executor);
  bench::Meter meter(arguments.measure);
  for (int i = 0; i < arguments.at_once; ++i) scope.spawn(connect_next(arguments, connecting, left, sessions));
  co_await scope.join();
  meter.print(1);
  pb::Scope closing(co_await pb::asio::this_coro::executor);
  for (auto& session : sessions) closing.spawn(session.close_quickly());
  co_await closing.join();
}

// Of a server that crashed for the first time, at its shortest: four fifths of a second.
constexpr double restart_pause_us = 800'000;

// A host that reads no files, with `servers` servers named s0, s1, ...
std::unique_ptr<pb::Host> host_of(const Arguments& arguments, int servers) {
  pb::HostOptions options;
  options.config = pb::LoadedConfig{};
  options.local_starts = static_cast<std::size_t>(arguments.at_once);
  pb::Runtime runtime;
  // Pauses are spread by chance; here each is the shortest.
  runtime.random = [](std::span<std::uint8_t> bytes) { std::ranges::fill(bytes, std::uint8_t{0}); };
  std::unique_ptr<pb::Host> host(new pb::Host(pb::make_host(std::move(options), runtime)));
  for (int i = 0; i < servers; ++i) {
    pb::ServerConfig config;
    config.name = "s" + std::to_string(i);
    config.command = arguments.server;
    host->add_server(std::move(config));
  }
  return host;
}

Task<void> host_calls(const Arguments& arguments) {
  auto host = host_of(arguments, 1);
  co_await host->start();
  std::optional<bench::Meter> meter;
  for (int i = -arguments.warm_up(); i < arguments.count; ++i) {
    if (i == 0) meter.emplace(arguments.measure);
    const double began = bench::wall_us();
    const auto result = co_await host->call("mcp__s0__echo", pb::Json{{"text", "hello"}});
    if (meter) meter->took(bench::wall_us() - began);
    check(std::get<pb::TextContent>(result.content.at(0)).text.size() == 4);
  }
  meter->print(arguments.count);
  co_await host->stop_quickly();
}

Task<void> host_start(const Arguments& arguments) {
  auto host = host_of(arguments, arguments.count);
  bench::Meter meter(arguments.measure);
  co_await host->start();
  check(host->catalog()->size() == 3 * static_cast<std::size_t>(arguments.count));
  meter.print(1);
  co_await host->stop_quickly();
}

// From nothing to the first answer, in a process that rested as long as one that waits to start a crashed server again:
// right after another start everything is still in the processor's caches, and it takes half as long.
Task<void> host_cold(const Arguments& arguments) {
  pb::asio::steady_timer rest(co_await pb::asio::this_coro::executor);
  bench::Meter meter(arguments.measure);
  for (int i = -arguments.warm_up(); i < arguments.count; ++i) {
    rest.expires_after(std::chrono::microseconds(static_cast<std::int64_t>(restart_pause_us)));
    co_await rest.async_wait(pb::asio::use_awaitable);
    const double began = bench::wall_us();
    auto host = host_of(arguments, 1);
    (void)co_await host->call("mcp__s0__echo", pb::Json{{"text", "hello"}});
    if (i >= 0) meter.took(bench::wall_us() - began);
    co_await host->stop_quickly();
  }
  meter.print(arguments.count);
}

// From the crash of a server to the next answer, without the pause before it is started again. Each time with a host
// of its own: one that crashes again soon is given a longer pause.
Task<void> host_restart(const Arguments& arguments) {
  bench::Meter meter(arguments.measure);
  for (int i = -arguments.warm_up(); i < arguments.count; ++i) {
    auto host = host_of(arguments, 1);
    (void)co_await host->call("mcp__s0__echo", pb::Json{{"text", "hello"}});
    auto session = co_await host->session("s0");
    (void)co_await pb::as_result(session.call_tool("crash", {}));
    const double began = bench::wall_us();
    (void)co_await host->call("mcp__s0__echo", pb::Json{{"text", "hello"}});
    if (i >= 0) meter.took(bench::wall_us() - began - restart_pause_us);
    co_await host->stop_quickly();
  }
  meter.print(arguments.count);
}

void catalogs(const Arguments& arguments) {
  const bool very_many = arguments.measure == "catalog-large";
  bench::ManyTools tools(very_many ? bench::very_many : bench::ManyTools::Size{.servers = arguments.at_once});
  tools.start();
  for (int i = 0; i < arguments.warm_up(); ++i) check(tools.changed_catalog() > 0);
  bench::Meter meter(arguments.measure);
  for (int i = 0; i < arguments.count; ++i) check(tools.changed_catalog() > 0);
  meter.print(arguments.count);
}

void catalog_start(const Arguments& arguments) {
  bench::ManyTools tools(bench::very_many);
  for (int i = 0; i < arguments.warm_up(); ++i) check(tools.start() == 10'000);
  bench::Meter meter(arguments.measure);
  for (int i = 0; i < arguments.count; ++i) check(tools.start() == 10'000);
  meter.print(arguments.count);
}

Task<void> forward(const Arguments& arguments) {
  const pb::Runtime runtime;
  auto how = transport(arguments);
  auto channel = co_await how->open(runtime);
  pb::Peer peer(co_await pb::asio::this_coro::executor, std::move(channel), runtime, {});
  peer.start();
  const auto call = [&](const char* method, pb::Payload params) {
    return peer.call({.id = peer.reserve_id(), .method = method, .params = std::move(params)});
  };
  co_await call("initialize", pb::Json{{"protocolVersion", "2025-11-25"},
                                       {"capabilities", pb::Json::object()},
                                       {"clientInfo", pb::Json{{"name", "bench"}, {"version", "1"}}}});
  (void)peer.notify("notifications/initialized", {});
  for (int i = 0; i < arguments.warm_up(); ++i) co_await call("tools/call", pb::Json{{"name", "large"}});
  bench::Meter meter(arguments.measure);
  for (int i = 0; i < arguments.count; ++i) {
    const auto result = co_await call("tools/call", pb::Json{{"name", "large"}});
    check(result.text().size() > 4'900'000 && result.text().ends_with('}'));
  }
  meter.print(arguments.count);
  co_await peer.close(pb::CloseMode::quick);
}

// What a model is given of a result that is too large for it, as a Host makes it beside the loop. Keeping the result is
// measured by itself.
pb::ModelResult for_model(const pb::CallToolResult& result) {
  auto draft = pb::draft_of(result);
  check(!pb::fits(draft, {}));
  return pb::shortened(std::move(draft), "bench",
                       {.handle = "@result:abcdefgh", .outline = pb::outline_of(result), .reading = "Read on."});
}

// Reading it included, which is its floor.
Task<void> read_for_model(const Arguments& arguments, pb::Session session, const char* tool) {
  std::optional<bench::Meter> meter;
  for (int i = -arguments.warm_up(); i < arguments.count; ++i) {
    if (i == 0) meter.emplace(arguments.measure);
    auto result = co_await session.call_tool(tool, {});
    check(for_model(result).handle.size() > 8);
  }
  meter->print(arguments.count);
}

// Made JSON again, compressed and written to TMPDIR.
Task<void> keep(const Arguments& arguments, pb::Session session, const char* tool) {
  auto folder = (std::filesystem::temp_directory_path() / "patchbay-bench-XXXXXX").string();
  check(mkdtemp(folder.data()) != nullptr);
  const pb::ResultStore store(folder);
  const auto result = co_await session.call_tool(tool, {});
  std::optional<bench::Meter> meter;
  bool kept = true;
  for (int i = -arguments.warm_up(); i < arguments.count; ++i) {
    if (i == 0) meter.emplace(arguments.measure);
    kept = kept && store.keep("bench", tool, pb::to_text(pb::encode(result)));
  }
  std::filesystem::remove_all(folder);
  check(kept);
  meter->print(arguments.count);
}

Task<int> measure(Arguments arguments) {
  if (arguments.measure == "connect") {
    co_await connect_many(arguments);
  } else if (arguments.measure == "forward") {
    co_await forward(arguments);
  } else if (arguments.measure == "host") {
    co_await host_calls(arguments);
  } else if (arguments.measure == "host-connect") {
    co_await host_start(arguments);
  } else if (arguments.measure == "cold") {
    co_await host_cold(arguments);
  } else if (arguments.measure == "restart") {
    co_await host_restart(arguments);
  } else if (arguments.measure == "catalog" || arguments.measure == "catalog-large") {
    catalogs(arguments);
  } else if (arguments.measure == "catalog-start") {
    catalog_start(arguments);
  } else {
    auto session = co_await client().connect(transport(arguments));
    if (arguments.measure == "parallel") {
      co_await in_flight(arguments, session);
    } else if (arguments.measure == "model-large" || arguments.measure == "model-many") {
      co_await read_for_model(arguments, session, arguments.measure == "model-large" ? "large" : "many");
    } else if (arguments.measure == "keep-large" || arguments.measure == "keep-many") {
      co_await keep(arguments, session, arguments.measure == "keep-large" ? "large" : "many");
    } else if (arguments.measure == "stream") {
      co_await stream(arguments, session);
    } else {
      co_await one_by_one(arguments, session);
    }
    co_await session.close_quickly();
  }
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) { return pb::run(measure(bench::arguments_of(argc, argv))); }
