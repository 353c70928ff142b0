#include "cli/context.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/exit_code.h"
#include "cli/texts/present.h"
#include "cli/texts/remedy_words.h"
#include "host/server_error.h"
#include "text/shell_word.h"

namespace patchbay::cli {

std::chrono::milliseconds timeout_of(const Settings& settings) {
  const double milliseconds = std::clamp(settings.timeout_seconds.value_or(0) * 1000, 1.0, 9e12);
  return std::chrono::milliseconds(static_cast<std::int64_t>(milliseconds));
}

CallOptions Context::call_options() const {
  CallOptions options;
  if (settings.timeout_seconds) options.total = timeout_of(settings);
  options.check_arguments = options.check_result = !settings.no_check;
  options.on_progress = [this](const Progress& progress) { waiting.progress(progress); };
  // What a task says of itself is as good as progress to somebody who waits.
  options.on_task = [this](const RemoteTask& task) { waiting.status(task); };
  return options;
}

std::vector<ServerStatus> Context::statuses() const {
  auto all = host.status();
  for (auto& status : all) {
    if (session) status = session->corrected(std::move(status));
    if (status.error) status = secrets->without(std::move(status));
  }
  return all;
}

void Context::print_json(const Json& value) const { io.out(json_text(value, io.out_is_terminal)); }

Task<void> start_to_look(Context& context, const std::string& server) {
  context.waiting.begin(fmt::format("starting {}", server));
  co_await context.host.start({server});
  context.waiting.end();
}

Task<std::vector<std::string>> start_servers(Context& context, const std::string& only) {
  context.waiting.begin(only.empty() ? "starting servers" : fmt::format("starting {}", only));
  if (only.empty()) {
    co_await context.host.start();
  } else if (auto opened = co_await as_result(context.host.session(only)); !opened) {
    const auto statuses = context.statuses();
    const auto status = std::ranges::find(statuses, only, &ServerStatus::name);
    const bool tried = status != statuses.end() && status->reason != ServerReason::not_started;
    if (!tried) throw std::move(opened).error();
  }
  context.waiting.end();
  std::vector<std::string> connected;
  for (const auto& status : context.statuses()) {
    if (!only.empty() && status.name != only) continue;
    if (status.state == ServerState::connected) connected.push_back(status.name);
  }
  co_return connected;
}

Task<std::optional<Session>> session_to_list(Context& context, std::string server, std::string only) {
  auto session = co_await as_result(context.host.session(server));
  if (session) co_return std::move(*session);
  if (session.error().code() != Errc::denied || server == only) throw std::move(session).error();
  co_return std::nullopt;
}

namespace {

// Why a server is switched off, in words.
std::string reason_of(const Context& context, const ServerStatus& status) {
  if (status.error) return status.error->message();
  const auto& servers = context.host.config().servers;
  const auto found = std::ranges::find(servers, status.name, &ServerConfig::name);
  return found == servers.end() || found->reason.empty() ? std::string(to_string(status.reason)) : reason_words(*found);
}

}  // namespace

int listing_exit_code(const Context& context, const std::string& only) {
  int code = 0;
  bool connected = false;
  bool required_failed = false;
  std::vector<std::string> waiting;
  for (const auto& status : context.statuses()) {
    if (!only.empty() && status.name != only) continue;
    if (status.state == ServerState::connected) connected = true;
    required_failed |= status.required && status.state != ServerState::connected;
    if (status.state == ServerState::failed || status.state == ServerState::needs_auth) {
      code = 3;
      // A listing that fails says why in any case, also after -q.
      if (!context.settings.json && status.error && !context.told.contains(status.name)) {
        context.told.emplace(status.name, *status.error);
        context.io.talk(fmt::format("patchbay: \"{}\": {}\n", safe_name(status.name, 80),
                                    message_line(without_name(status.name, status.error->message()), 500)));
      }
    }
    if (awaits_approval(status)) waiting.push_back(status.name);
    // Awaiting approval is a matter of configuration, not of connecting; so is being switched off.
    const bool off = status.state == ServerState::pending || status.state == ServerState::disabled;
    if (off && code == 0 && !only.empty()) code = 2;
    const bool said = context.told.contains(status.name);
    if (status.state == ServerState::disabled && !only.empty() && !context.settings.json && !said) {
      context.io.talk(fmt::format("patchbay: \"{}\" is not used: {}\n", safe_name(only, 80),
                                  message_line(reason_of(context, status), 500)));
    }
  }
  if (!waiting.empty() && !context.settings.json) context.io.talk(approval_line(waiting));
  if (required_failed) return code == 0 ? 3 : code;
  return connected ? 0 : code;
}

int say_list_failure(const Context& context, const std::string& server, const Error& error) {
  context.io.talk(fmt::format("patchbay: \"{}\": {}\n", safe_name(server, 80),
                              message_text(without_name(server, context.secrets->without(error).message()))));
  return exit_code(error);
}

std::string none_text(const std::string& only, const std::vector<std::string>& connected, std::string_view what) {
  if (only.empty()) return fmt::format("No connected server has {}.\n", what);
  return connected.empty() ? std::string() : fmt::format("\"{}\" has no {}.\n", safe_name(only, 80), what);
}

Error with_failures(const Context& context, const Error& error) {
  std::vector<std::string> failed;
  for (const auto& status : context.statuses()) {
    if (status.state == ServerState::connected || status.state == ServerState::disabled) continue;
    const auto why =
        status.error ? without_name(status.name, status.error->message()) : std::string(to_string(status.reason));
    failed.push_back(context.told.contains(status.name)
                         ? fmt::format("\"{}\"", safe_name(status.name, 80))
                         : fmt::format("\"{}\" ({})", safe_name(status.name, 80), message_line(why, 120)));
  }
  if (failed.empty()) return error;
  return error.with_message(continued(
      error.message(), fmt::format("it may belong to a server that is not connected: {}", fmt::join(failed, ", "))));
}

Json servers_json(const Context& context, const std::string& only) {
  Json list = Json::array();
  for (const auto& status : context.statuses()) {
    if (only.empty() || status.name == only) list.push_back(status_json(status));
  }
  return list;
}

}  // namespace patchbay::cli
