#include "cli/session/use.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include <patchbay/version.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/strings.h"
#include "cli/session/control.h"
#include "cli/texts/present.h"
#include "cli/texts/time_words.h"
#include "entries/signature.h"
#include "gateway/socket_door.h"
#include "host/make_host.h"
#include "host/start/server_start.h"
#include "protocol/codec.h"

namespace patchbay::cli {

ServerStatus SessionUse::corrected(ServerStatus status) const {
  const auto known = about.find(status.name);
  if (known == about.end() || !status.server) return status;
  const Json& said = known->second;
  for (const auto era : std::array{Era::legacy, Era::modern}) {
    if (said["era"] == Json(to_string(era))) status.era = era;
  }
  if (const auto version = said["protocolVersion"].text()) status.server->protocol_version = *version;
  if (auto capabilities = decode<ServerCapabilities>(said["capabilities"])) {
    status.server->capabilities = std::move(*capabilities);
  }
  return status;
}

std::string flags_against_session(const Settings& settings) {
  std::vector<std::string> found;
  auto note = [&](bool given, std::string_view flag) {
    if (given) found.emplace_back(flag);
  };
  note(settings.no_session, "--no-session");
  note(!settings.mcp_config.empty(), "--mcp-config");
  note(!settings.mcp_servers.empty(), "--mcp-server");
  note(settings.strict, "--strict-mcp-config");
  note(!settings.plugin_dirs.empty(), "--plugin-dir");
  note(!settings.settings.empty(), "--settings");
  note(settings.trust_project, "--trust-project");
  note(settings.builtin, "--builtin");
  note(settings.ide, "--ide");
  note(!settings.channels.empty(), "--channels");
  note(settings.allow_run, "--allow-run");
  note(!settings.sandbox.empty(), "--sandbox");
  note(!settings.root.empty(), "--root");
  note(!settings.allowed_tools.empty(), "--allowedTools");
  note(!settings.disallowed_tools.empty(), "--disallowedTools");
  note(!settings.permission_mode.empty(), "--permission-mode");
  note(settings.skip_permissions, "--dangerously-skip-permissions");
  return join(found, ", ");
}

namespace {

// "" when nothing has to be said.
std::string restart_line(const ServerConfig& server, const Json& about) {
  const auto time = about["restarted"].to_int();
  if (!time) return {};
  return fmt::format("patchbay: warning: server \"{}\" was {} at {}; what it held is gone\n",
                     safe_name(server.name, 80), server.kind == ServerKind::stdio ? "restarted" : "connected again",
                     local_time(std::chrono::sys_seconds(std::chrono::seconds(*time))));
}

}  // namespace

std::string command_conversation() {
  std::array<std::uint8_t, 16> random{};
  system_random()(random);
  return "command " + base64url_encode({reinterpret_cast<const char*>(random.data()), random.size()});
}

std::shared_ptr<const SessionUse> use_session(const Settings& settings, Io& io, Host& host,
                                              std::function<void(const std::string&)> say) {
  // These look at how servers start.
  if (settings.command == Command::doctor || settings.command == Command::why) return nullptr;
  // These compare what the servers themselves say.
  if (settings.command == Command::lock || settings.command == Command::verify) return nullptr;
  // These need the server itself; the session hears of it afterwards.
  if (settings.command == Command::login || settings.command == Command::logout || settings.command == Command::xaa) {
    return nullptr;
  }
  if (const auto flags = flags_against_session(settings); !flags.empty()) {
    const auto session = settings.quiet ? std::nullopt : session_seen();
    if (session) {
      io.talk(fmt::format("patchbay: note: the session of this directory (pid {}) is not used because of {}\n",
                          session->pid, flags));
    }
    return nullptr;
  }
  const auto session = running_session();
  if (!session) {
    const auto place = settings.quiet ? std::nullopt : session_place(session_directory(), process_environment());
    if (place && take_away_left_socket(*place)) {
      io.talk(
          "patchbay: warning: the session of this directory has ended, and what its servers held is gone; this command "
          "starts the servers it needs; to start another session: patchbay session start\n");
    }
    return nullptr;
  }
  require_same_version(*session);
  // Another session in this directory is another conversation: its servers know nothing of this one.
  host.set_conversation(fmt::format("session {} {} {}", session->pid, session->since, session->place.path()));
  auto use = std::make_shared<SessionUse>();
  use->place = session->place;
  use->line = session_line(*session);
  for (const auto& server : host.config().servers) {
    // A session never approves. What awaits approval is asked about here; the session reads the answer from its file
    // when the server is reached.
    const bool startable =
        server.standing == ServerStanding::active || server.standing == ServerStanding::awaiting_approval;
    if (!startable || server.disabled) continue;
    SessionTarget target{.place = session->place,
                         .shown = shown_target(server),
                         .meta = Json{{session_meta::server, server.name},
                                      {session_meta::entry, entry_hash(server)},
                                      {session_meta::version, version()},
                                      {session_meta::typed, true}},
                         .on_opened = [use, server, say](const Json& about) {
                           use->about.insert_or_assign(server.name, about);
                           if (const auto line = restart_line(server, about); !line.empty() && say) say(line);
                         }};
    // The session has the same files, and calls its server through a Host as well.
    leave_hooks_to_server(host, server.name);
    auto reached = server;
    reached.protocol = "legacy";
    host.add_server(std::move(reached), session_transport(std::move(target)));
  }
  return use;
}

}  // namespace patchbay::cli
