#include "inspect/checkup.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/child_env.h"
#include "entries/expand.h"
#include "host/server_error.h"
#include "http/url.h"
#include "inspect/explanation.h"
#include "process/command_lookup.h"
#include "text/file_and_line.h"
#include "text/shell_word.h"

namespace patchbay {
namespace {

constexpr std::size_t few_open_files = 256;

Finding finding(FindingLevel level, std::string area, std::string subject, std::string message, Fix fix = {}) {
  return {level, std::move(area), std::move(subject), std::move(message), std::move(fix), 0, 0, {}};
}

std::string place_of(const ConfigOrigin& origin) { return file_and_line(origin.file, origin.line); }

// A text that still waits for a value says nothing yet.
bool is_open(std::string_view text) { return text.contains("${"); }

std::string path_in(const std::string& path, const std::string& directory) {
  return path.starts_with('/') ? path : fmt::format("{}/{}", directory, path);
}

class ServerCheck {
 public:
  ServerCheck(const LoadedConfig& config, const MachineFacts& machine, const ServerConfig& server,
              std::vector<Finding>& out)
      : config_(config),
        machine_(machine),
        written_(server),
        server_(expand_server(server, machine.variables)),
        out_(out) {}

  void run() {
    const auto before = out_.size();
    secrets();
    if (server_.kind == ServerKind::stdio) {
      local();
    } else {
      remote();
    }
    if (out_.size() == before) {
      out_.push_back(
          finding(FindingLevel::ok, "server", written_.name,
                  fmt::format("{} entry in {}", to_string(written_.origin.scope), place_of(written_.origin))));
    }
  }

 private:
  void problem(std::string message, Fix fix) {
    out_.push_back(finding(FindingLevel::problem, "server", written_.name, std::move(message), std::move(fix)));
  }

  Fix change(std::string_view what) const {
    return Fix::changing(fmt::format("correct {} in {}", what, place_of(written_.origin)));
  }

  void file(const std::string& path, std::string_view key) {
    if (path.empty() || is_open(path)) return;
    const auto whole = path_in(path, config_.cwd);
    if (!machine_.readable(whole)) {
      problem(fmt::format("its {} {} cannot be read", key, whole), change(fmt::format("\"{}\"", key)));
    }
  }

  void secrets() {
    for (const auto& reference : secret_references(written_)) {
      const auto spelled = fmt::format("${{{}:{}}}", to_string(reference.kind), reference.argument);
      if (auto fault = reference_fault(reference, written_.origin); !fault.empty()) {
        problem(std::move(fault), change(fmt::format("\"{}\"", reference.place)));
        continue;
      }
      switch (reference.kind) {
        case SecretKind::environment:
          if (!variable_of(written_, reference.argument, machine_.variables)) {
            problem(fmt::format("{} in \"{}\" is not set, so the server cannot start", spelled, reference.place),
                    Fix::changing(fmt::format("export {}=…", pasted_word(reference.argument))));
          }
          break;
        case SecretKind::file: {
          auto path = reference.argument;
          if (path.starts_with("~/")) path = config_.home + path.substr(1);
          if (const auto whole = path_in(path, config_.cwd); !machine_.readable(whole)) {
            problem(fmt::format("{} in \"{}\" names a file that cannot be read", spelled, reference.place),
                    Fix::changing(
                        fmt::format("create {}, or {}", whole, change(fmt::format("\"{}\"", reference.place)).text)));
          }
          break;
        }
        case SecretKind::stored:
          if (auto fault = machine_.secret_fault(reference.argument); !fault.empty()) {
            problem(fmt::format("{} in \"{}\" is not available: {}", spelled, reference.place, fault), {});
          }
          break;
        case SecretKind::command:
          break;
      }
    }
  }

  void local() {
    if (server_.env_file) file(*server_.env_file, "envFile");
    auto directory = config_.cwd;
    if (server_.cwd && !is_open(*server_.cwd)) {
      directory = path_in(*server_.cwd, config_.cwd);
      if (!machine_.readable(directory)) {
        return problem(fmt::format("its working directory {} does not exist or cannot be read", directory),
                       change("\"cwd\""));
      }
    }
    // What a prefix makes of the command line is its own affair.
    if (is_open(server_.command) || machine_.variables("CLAUDE_CODE_SHELL_PREFIX")) return;
    auto path = machine_.variables("PATH").value_or(std::string(default_path));
    for (const auto& [name, value] : server_.env) {
      if (name == "PATH" && !is_open(value)) path = value;
    }
    if (const auto found = machine_.find_command(server_.command, path, directory); !found) {
      problem(found.error().message(), change("\"command\""));
    }
  }

  void remote() {
    file(server_.tls.ca, "tls.ca");
    file(server_.tls.cert, "tls.cert");
    file(server_.tls.key, "tls.key");
    if (!is_open(server_.url)) {
      if (const auto url = parse_url(server_.url); !url) problem(url.error().message(), change("\"url\""));
    }
    if (!written_.headers_helper) return;
    RunContext run;
    run.cwd = config_.cwd;
    run.project_trusted = config_.project_trusted;
    if (auto fault = helper_fault(written_, run); !fault.empty()) {
      out_.push_back(finding(FindingLevel::note, "server", written_.name, std::move(fault), {Fix::Kind::trust}));
    }
  }

  const LoadedConfig& config_;
  const MachineFacts& machine_;
  const ServerConfig& written_;
  ServerConfig server_;
  std::vector<Finding>& out_;
};

}  // namespace

std::string_view to_string(FindingLevel level) noexcept {
  static constexpr std::array names{"ok", "note", "problem"};
  return names.at(static_cast<std::size_t>(level));
}

std::vector<Finding> check_configuration(const LoadedConfig& config, std::span<const ConfigProblem> problems) {
  std::vector<Finding> out;
  for (const auto& problem : problems) {
    auto one = finding(problem.severity == Severity::error ? FindingLevel::problem : FindingLevel::note,
                       "configuration", problem.file, problem.message);
    one.line = problem.line;
    one.column = problem.column;
    out.push_back(std::move(one));
  }
  const auto active = std::ranges::count(config.servers, ServerStanding::active, &ServerConfig::standing);
  // Of a file that cannot be read nobody knows what it declares.
  const bool unread = config.servers.empty() && std::ranges::any_of(problems, [](const auto& problem) {
                        return problem.severity == Severity::error;
                      });
  const bool good = active > 0 || (config.servers.empty() && !unread);
  out.insert(out.begin(),
             finding(good ? FindingLevel::ok : FindingLevel::note, "configuration", {},
                     unread ? std::string("no servers are declared in the files that could be read")
                     : config.servers.empty()
                         ? std::string("no servers are declared")
                         : fmt::format("{} declared server{}, of which {} may be started", config.servers.size(),
                                       config.servers.size() == 1 ? "" : "s", active)));
  if (config.exclusive) {
    out.push_back(finding(FindingLevel::note, "configuration", *config.exclusive,
                          "only the servers in the file of your organisation are used"));
  }
  return out;
}

std::vector<Finding> check_servers(const LoadedConfig& config, const MachineFacts& machine) {
  std::vector<Finding> out;
  for (const auto& server : config.servers) {
    const auto level = server.required ? FindingLevel::problem : FindingLevel::note;
    switch (server.standing) {
      case ServerStanding::active:
        ServerCheck(config, machine, server, out).run();
        break;
      case ServerStanding::awaiting_approval:
        out.push_back(finding(level, "server", server.name,
                              fmt::format("needs your approval: it is declared in {}", place_of(server.origin)),
                              {Fix::Kind::look_and_approve, server.name}));
        break;
      case ServerStanding::broken:  // said with its file already
      case ServerStanding::shadowed:
        break;
      case ServerStanding::rejected:
      case ServerStanding::disabled:
      case ServerStanding::policy:
      case ServerStanding::duplicate:
      case ServerStanding::not_configured:
        out.push_back(finding(level, "server", server.name,
                              fmt::format("is not used ({}): {}", to_string(server.standing), server.reason),
                              {Fix::Kind::explain, server.name}));
        break;
    }
    const bool counts =
        server.standing != ServerStanding::awaiting_approval && server.standing != ServerStanding::rejected;
    for (const auto& rival : config.shadowed) {
      if (!counts || rival.name != server.name || rival.standing != ServerStanding::awaiting_approval) continue;
      out.push_back(
          finding(FindingLevel::note, "server", server.name,
                  fmt::format("{} declares another server with this name, which needs your approval and would then "
                              "override the {} entry in {}",
                              place_of(rival.origin), to_string(server.origin.scope), place_of(server.origin)),
                  {Fix::Kind::approve_instead, server.name}));
    }
  }
  return out;
}

std::vector<Finding> check_trust(const LoadedConfig& config) {
  if (config.project_trusted) {
    return {finding(FindingLevel::ok, "trust", config.cwd,
                    "is trusted: its headersHelper commands and hooks run, and the allow rules in its settings apply",
                    {Fix::Kind::withdraw_trust})};
  }
  // Nobody should feel asked to trust it: this is how every directory begins.
  return {finding(
      FindingLevel::ok, "trust", config.cwd,
      "is not trusted: its headersHelper commands and hooks do not run, and the allow rules in its settings do not "
      "apply. This is the normal state of a directory")};
}

std::vector<Finding> check_files(const UpkeepState& state) {
  std::vector<Finding> out;
  for (const auto& file : state.files) {
    if (!file.mine) {
      out.push_back(finding(FindingLevel::problem, "files", file.path, "belongs to another user",
                            Fix::changing(fmt::format("change its owner with chown, or move it away: {}", file.path))));
    } else if (file.is_open()) {
      out.push_back(finding(file.has_secrets ? FindingLevel::problem : FindingLevel::note, "files", file.path,
                            fmt::format("other users can read it (mode {:04o}){}", file.mode,
                                        file.has_secrets ? ", and it contains secrets" : ""),
                            {Fix::Kind::repair_files}));
    } else {
      out.push_back(finding(FindingLevel::ok, "files", file.path, "only you can read it"));
    }
  }
  for (const auto& folder : state.closed_folders) {
    const bool config = folder.use == ClosedFolder::Use::config;
    out.push_back(finding(
        FindingLevel::problem, "files", folder.path,
        fmt::format("nothing can be written there ({}): {}", folder.reason,
                    config ? "servers cannot be added, approved or switched off, and no directory can be trusted"
                           : "sign-ins, secrets and the logs of servers cannot be kept"),
        Fix::changing(fmt::format("make it a folder that you can write to, or choose another with {}",
                                  config ? "XDG_CONFIG_HOME" : "XDG_STATE_HOME"))));
  }
  for (const auto& path : state.leftovers) {
    out.push_back(finding(FindingLevel::note, "files", path, "is a leftover file that is no longer needed",
                          {Fix::Kind::repair_files}));
  }
  for (const auto& path : state.gone_projects) {
    out.push_back(finding(FindingLevel::note, "files", path,
                          "no longer exists, but your approvals, rejections or trust for it are still stored",
                          {Fix::Kind::repair_files}));
  }
  if (state.being_changed) {
    out.push_back(finding(FindingLevel::note, "files", {}, "another program is changing patchbay's files now"));
  }
  return out;
}

std::vector<Finding> check_environment(const MachineFacts& machine, std::span<const SettingsVariable> set) {
  std::vector<Finding> out;
  for (const auto& one : set) {
    out.push_back(
        finding(FindingLevel::note, "environment", one.name,
                fmt::format("is set by \"env\" in {}, whatever the shell says", file_and_line(one.file, one.line))));
  }
  const auto& variable = machine.variables;
  for (std::string_view name :
       {"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY"}) {
    const auto path = variable(name);
    if (!path || path->empty() || machine.readable(*path)) continue;
    out.push_back(finding(FindingLevel::problem, "environment", std::string(name),
                          fmt::format("names {}, which cannot be read", *path),
                          Fix::changing(fmt::format("correct the variable, or: unset {}", name))));
  }
  for (std::string_view name : {"https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) {
    const auto proxy = variable(name);
    if (!proxy || proxy->empty()) continue;
    out.push_back(finding(FindingLevel::note, "environment", std::string(name),
                          fmt::format("the proxy {} is used for servers on other machines", redacted_url(*proxy))));
  }
  if (machine.open_files > 0 && machine.open_files < few_open_files) {
    out.push_back(finding(
        FindingLevel::note, "environment", "open files",
        fmt::format("a program can have only {} files open at the same time, which may be too few for many servers",
                    machine.open_files),
        Fix::changing("ulimit -n 1024")));
  }
  if (out.empty()) out.push_back(finding(FindingLevel::ok, "environment", {}, "no problems found"));
  return out;
}

std::vector<Finding> check_connections(std::span<const ServerStatus> statuses) {
  std::vector<Finding> out;
  for (const auto& status : statuses) {
    if (status.state == ServerState::connected) {
      auto message = fmt::format("connected, {} tool{}", status.tool_count, status.tool_count == 1 ? "" : "s");
      if (status.server) {
        message += fmt::format(", protocol {}", status.server->protocol_version);
        if (!status.server->info.name.empty()) {
          message += fmt::format(", {} {}", status.server->info.name, status.server->info.version);
        }
      }
      const bool listed = status.reason != ServerReason::tools_fetch_failed;
      if (!listed) message = "connected, but its tools cannot be listed";
      if (status.reason == ServerReason::changed_tools) {
        if (status.error) message += "; " + status.error->message();
        out.push_back(finding(FindingLevel::note, "connection", status.name, std::move(message),
                              Fix{Fix::Kind::look_at_changes, status.name}));
        continue;
      }
      out.push_back(finding(listed ? FindingLevel::ok : FindingLevel::problem, "connection", status.name,
                            std::move(message), listed ? Fix() : Fix{Fix::Kind::read_log, status.name}));
      continue;
    }
    const auto cause =
        status.error ? without_name(status.name, status.error->message()) : std::string(to_string(status.reason));
    const auto detail = status.error ? status.error->detail() : std::string();
    // Where the error ends in what to do, or the server said why, more of the log is of no help.
    const bool told = !detail.empty() || cause.contains("; ");
    auto one = finding(FindingLevel::problem, "connection", status.name,
                       status.state == ServerState::needs_auth ? fmt::format("needs sign-in: {}", cause) : cause,
                       told ? Fix() : Fix{Fix::Kind::read_log, status.name});
    if (status.error && status.error->sign_in()) one.fix = Fix{Fix::Kind::sign_in, status.name};
    one.detail = detail;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace patchbay
