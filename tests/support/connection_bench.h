// Bench: one Connection to a ScriptServer, and what it told. Loop thread only; end() before it goes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "host/connection.h"
#include "support/script_server.h"

namespace patchbay::test {

// A connection to a script.
struct Bench {
  explicit Bench(asio::any_io_executor ex, std::unique_ptr<ScriptServer> s = tool_server({"a", "b"}))
      : executor(ex), server(std::move(s)), scope(ex) {
    parts.config.name = "s";
    parts.transport = server->transport();
    parts.on_change = [this](Connection& one) {
      states.push_back(
          fmt::format("{} {} {}", to_string(one.status().state), to_string(one.status().reason), one.tools().size()));
      changed.notify_all();
    };
  }

  Connection& connection() {
    if (!made) made = std::make_unique<Connection>(executor, runtime, client, slots, std::move(parts));
    return *made;
  }

  // ensure() beside the test.
  struct Asked {
    std::optional<Result<Session>> outcome;
    Spawned running;
  };
  std::shared_ptr<Asked> ask() {
    auto asked = std::make_shared<Asked>();
    asked->running = scope.spawn([](Connection& one, std::shared_ptr<Asked> a) -> Task<void> {
      a->outcome = co_await as_result(one.ensure());
    }(connection(), asked));
    return asked;
  }

  Task<void> end() {
    co_await connection().close(CloseMode::graceful);
    co_await scope.join();
    EXPECT_EQ(server->connections(), 0u);
  }

  asio::any_io_executor executor;
  std::unique_ptr<ScriptServer> server;
  Runtime runtime;
  ClientOptions client;
  Semaphore slots{3};
  Connection::Parts parts;
  std::vector<std::string> states;
  Event changed;
  std::unique_ptr<Connection> made;
  Scope scope;
};

inline std::vector<std::string> names_of(const Connection& connection) {
  std::vector<std::string> names;
  for (const auto& tool : connection.tools()) names.push_back(tool->name);
  return names;
}

}  // namespace patchbay::test
