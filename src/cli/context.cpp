#include "cli/context.h"

#include <fmt/format.h>

#include "base/exit_code.h"

namespace patchbay::cli {

CallOptions Context::call_options() const {
  CallOptions options;
  if (settings.timeout_seconds) {
    options.total = std::chrono::milliseconds(static_cast<std::int64_t>(*settings.timeout_seconds * 1000));
  }
  options.on_progress = [this](const Progress& progress) { waiting.progress(progress); };
  return options;
}

void Context::print_json(const Json& value) const {
  io.out(io.out_is_terminal ? to_pretty_text(value) : to_text(value));
  io.out("\n");
}

Task<std::vector<std::string>> start_servers(Context& context, const std::string& only) {
  context.waiting.begin(only.empty() ? "starting servers" : fmt::format("starting {}", only));
  if (only.empty()) {
    co_await context.host.start();
  } else {
    co_await context.host.start({only});
  }
  context.waiting.end();
  std::vector<std::string> connected;
  for (const auto& status : context.host.status()) {
    if (!only.empty() && status.name != only) continue;
    if (status.state == ServerState::connected) connected.push_back(status.name);
  }
  co_return connected;
}

int listing_exit_code(const Context& context, const std::string& only) {
  int code = 0;
  for (const auto& status : context.host.status()) {
    if (!only.empty() && status.name != only) continue;
    if (status.state == ServerState::connected) return 0;
    if (status.state == ServerState::failed) code = 3;
    // Waiting for a yes nobody gave is a matter of configuration, not of connecting.
    if (status.state == ServerState::pending && code == 0 && !only.empty()) code = 2;
  }
  return code;
}

}  // namespace patchbay::cli
