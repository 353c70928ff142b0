#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <ranges>
#include <set>

#include <fmt/format.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/scope.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "config/child_env.h"
#include "config/diff.h"
#include "config/limits.h"
#include "config/load.h"
#include "config/policy.h"
#include "config/secret_file.h"
#include "host/config_watch.h"
#include "host/connection.h"
#include "host/connector_fetch.h"
#include "host/failure_memory.h"
#include "host/naming.h"
#include "host/permission.h"
#include "host/rule_check.h"
#include "host/server_error.h"
#include "host/server_start.h"

namespace patchbay {

using namespace std::chrono_literals;

std::string_view to_string(ServerState state) noexcept {
  static constexpr std::array names{"connected", "failed", "needs-auth", "pending", "disabled"};
  return names.at(static_cast<std::size_t>(state));
}

namespace {

constexpr auto between_readings = 100ms;

// Names this run to the servers it starts.
std::string random_id(const Random& random) {
  std::array<std::uint8_t, 16> bytes{};
  random(bytes);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3F) | 0x80);
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", bytes[i]);
  }
  return out;
}

// What applies when the program does not hand in a Runtime.
Runtime runtime_of_environment() {
  Runtime runtime;
  runtime.limits = limits_from(process_environment());
  return runtime;
}

// Servers the text can mean; none when it is a bare tool name.
bool names_server(std::string_view text, const std::string& server) {
  return text.starts_with(fmt::format("mcp__{}__", server)) ||
         text.starts_with(fmt::format("mcp__{}__", normalise_name(server))) ||
         text.starts_with(fmt::format("{}/", server));
}

}  // namespace

class Host::Impl : public std::enable_shared_from_this<Host::Impl> {
 public:
  Impl(HostOptions options, const Runtime& runtime)
      : options_(std::move(options)),
        runtime_(runtime),
        local_slots_(options_.local_starts.value_or(runtime.limits.local_starts)),
        remote_slots_(options_.remote_starts.value_or(runtime.limits.remote_starts)) {
    if (options_.connect_limit) runtime_.limits.connect = *options_.connect_limit;
    if (options_.tool_limit) runtime_.limits.tool = *options_.tool_limit;
    if (!options_.config) {
      if (!options_.load) options_.load.emplace();
      if (options_.load->cwd.empty()) options_.load->cwd = std::filesystem::current_path();
      options_.load->trust_project |= options_.trust_project;
      options_.config = load_servers(*options_.load, memory_);
    }
    apply_settings();
    session_id_ = random_id(runtime_.random);
    context_ = start_context();
    idle_limit_ = idle_limit_from(context_->variables);
    if (auto choice = context_->variables("MCP_PROTOCOL_NEGOTIATION");
        choice == "legacy" && options_.client.protocol == "auto") {
      options_.client.protocol = *choice;
    }
  }

  std::shared_ptr<const StartContext> start_context() const {
    const auto& config = *options_.config;
    auto context = std::make_shared<StartContext>();
    std::error_code ignored;
    context->run.cwd = config.cwd.empty() ? std::filesystem::current_path(ignored).string() : config.cwd;
    context->run.config_dir = config.helper_dir.empty() ? context->run.cwd : config.helper_dir;
    context->run.session_id = session_id_;
    context->run.project_trusted = config.project_trusted || options_.trust_project;
    context->variables = options_.load && options_.load->variables ? options_.load->variables : process_environment();
    context->environment = environment_of_process();
    context->connectors = config.connectors;
    if (!config.config_dir.empty()) {
      context->secrets = [file = config.config_dir + "/secrets.json"](const std::string& name) {
        return stored_secret(file, name, ::getuid());
      };
    }
    context->check = [settings = config.settings](const ServerConfig& expanded) {
      auto verdict = judge_policy(expanded, settings.all());
      if (!verdict.allowed()) {
        throw Error(Errc::denied, fmt::format("server '{}' is not used: {}", expanded.name, verdict.reason));
      }
    };
    return context;
  }

  // Why an organisation does not want this server of ours.
  std::optional<Error> forbidden(const ServerConfig& config) const {
    try {
      context_->check(config);
    } catch (const Error& error) {
      return error;
    }
    return std::nullopt;
  }

  void tell_rules_of_servers() {
    std::vector<std::string> names;
    for (const auto& [name, connection] : connections_) names.push_back(name);
    permissions_.know_servers(names);
  }

  // Rules of the configuration and of the program; again whenever the configuration is another one.
  void apply_settings() {
    const auto& config = *options_.config;
    const auto request = rule_request(config, options_.permission, options_.trust_project);
    directory_ = request.places.cwd;
    permissions_ = Permissions(collect_rules(config.settings.all(), request));
    tell_rules_of_servers();
    for (const auto& problem : permissions_.problems()) {
      if (problem.severity == Severity::note) continue;
      runtime_.log(LogLevel::info, "event=permission text=\"{}\"", problem.text());
    }
  }

  struct InProcess {
    std::shared_ptr<Server> server;
    NamePrefix prefix;
  };

  struct Reached {
    ServerConfig config;
    std::shared_ptr<Transport> transport;
  };

  // Servers that have no connection yet, by name. One in this process goes before an entry of
  // the same name, and the entry that was added last before the others.
  std::map<std::string, Connection::Parts> new_servers() const {
    std::map<std::string, Connection::Parts> found;
    auto is_new = [&](const std::string& name) { return !connections_.contains(name) && !found.contains(name); };
    for (const auto& [name, in_process] : in_process_) {
      if (!is_new(name)) continue;
      Connection::Parts parts;
      parts.config.name = name;
      parts.config.origin.scope = ConfigScope::embedded;
      parts.transport = memory_transport(in_process.server);
      parts.prefix = in_process.prefix;
      if (auto error = forbidden(parts.config)) {
        parts.config.standing = ServerStanding::policy;
        parts.config.reason = error->message();
      }
      found.emplace(name, std::move(parts));
    }
    for (const auto& [name, reached] : reached_) {
      if (!is_new(name)) continue;
      Connection::Parts parts;
      parts.config = reached.config;
      parts.transport = reached.transport;
      if (auto error = forbidden(parts.config)) {
        parts.config.standing = ServerStanding::policy;
        parts.config.reason = error->message();
      }
      found.emplace(name, std::move(parts));
    }
    auto declared = added_;
    declared.insert(declared.begin(), options_.config->servers.begin(), options_.config->servers.end());
    for (const auto& config : std::views::reverse(declared)) {
      if (!is_new(config.name)) continue;
      Connection::Parts parts;
      parts.config = config;
      if (config.standing == ServerStanding::broken) {
        parts.unusable = Error(Errc::config, fmt::format("server '{}' in {} cannot be used: {}", config.name,
                                                         config.origin.file, config.reason));
      } else {
        parts.shown = shown_target(config);
        parts.unusable = unreachable(config);
        parts.make_transport = [config, context = context_](Runtime runtime) {
          return make_transport(config, context, std::move(runtime));
        };
        if (!options_.failure_memory.empty()) {
          parts.note = [this, config](std::optional<Error> error) { return note(config, std::move(error)); };
        }
      }
      parts.approved = config.origin.trust == ConfigTrust::trusted || config.approved || options_.trust_project;
      found.emplace(config.name, std::move(parts));
    }
    return found;
  }

  // Connections need a loop, and so are made when one is there.
  Task<void> prepare() {
    if (stopped_) throw Error(Errc::closed, "the host was stopped");
    auto executor = co_await asio::this_coro::executor;
    executor_ = executor;
    if (!scope_) {
      scope_.emplace(executor);
      if (options_.follow_config && options_.load) scope_->spawn(follow_config());
      if (options_.config->connectors && options_.load) scope_->spawn(ask_for_connectors());
    }
    for (auto& [name, parts] : new_servers()) {
      auto& slots = parts.config.kind == ServerKind::stdio ? local_slots_ : remote_slots_;
      for (const auto& warning : expand_server(parts.config, context_->variables).warnings) {
        // Whoever loaded the configuration has it among its problems already.
        runtime_.log(LogLevel::info, "server={} event=config text={}", name, to_text(Json(warning)));
      }
      if (options_.approve) {
        parts.approve = [this](const ServerConfig& server) { return approve(server); };
      }
      parts.follow_changes = options_.follow_changes;
      parts.on_change = [this](Connection& connection) { changed(connection); };
      connections_[name] = std::make_shared<Connection>(executor, runtime_, options_.client, slots, std::move(parts));
    }
    tell_rules_of_servers();
  }

  // Keeps why a server failed, or forgets it. Nothing that goes wrong with that is anybody's error.
  Task<void> note(ServerConfig config, std::optional<Error> error) const {
    const auto& path = options_.failure_memory;
    if (path.empty() || (error && !is_failure_of_server(error->code()))) co_return;
    const auto key = failure_key(config);
    if (!error && !recall_failure(path, key)) co_return;
    const auto now = std::chrono::floor<std::chrono::seconds>(runtime_.clock.wall());
    std::optional<KnownFailure> known;
    if (error) known = failure_of(config, context_->variables, *error, options_.failure_during, now);
    auto write = [path, key, known, now] { return remember_failure(path, key, known, now); };
    auto written = co_await offload(std::move(write));
    if (!written) runtime_.log(LogLevel::debug, "event=failure_not_kept text=\"{}\"", written.error().message());
  }

  // The last call on a server counts like its start.
  Task<void> note_call(std::shared_ptr<Connection> connection, std::optional<Error> error) {
    const auto& config = connection->config();
    if (options_.failure_memory.empty() || config.standing != ServerStanding::active ||
        config.origin.scope == ConfigScope::embedded || reached_.contains(config.name)) {
      co_return;
    }
    if (error && !is_failure_of_server(error->code())) co_return;
    if (!error && failed_calls_.erase(config.name) == 0) co_return;
    if (error) failed_calls_.insert(config.name);
    (void)co_await as_result(note(config, std::move(error)));
  }

  std::vector<ServerStatus> status() const {
    std::map<std::string, ServerStatus> known;
    for (const auto& [name, connection] : connections_) known.emplace(name, connection->status());
    if (!stopped_) {
      for (const auto& [name, parts] : new_servers()) known.emplace(name, Connection::initial_status(parts));
    }
    std::vector<ServerStatus> list;
    for (auto& [name, one] : known) list.push_back(std::move(one));
    return list;
  }

  std::shared_ptr<Connection> require(const std::string& name) {
    auto found = connections_.find(name);
    if (found != connections_.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [known, connection] : connections_) names.push_back(known);
    auto meant = nearest(name, names);
    throw Error(Errc::invalid_argument,
                fmt::format("no server is called '{}'{}", name,
                            !meant.empty()  ? fmt::format("; did you mean '{}'?", meant)
                            : names.empty() ? "; none is configured"
                                            : fmt::format("; there are {}", fmt::join(names, ", "))));
  }

  Task<void> start(std::vector<std::shared_ptr<Connection>> wanted) {
    Scope scope(co_await asio::this_coro::executor);
    for (const auto& connection : wanted) {
      scope.spawn(
          [](std::shared_ptr<Connection> one) -> Task<void> { (void)co_await as_result(one->ensure()); }(connection));
    }
    // Whoever stops waiting stops waiting now; the attempts go on for others.
    co_await scope.finish();
  }

  // A person is asked one thing at a time.
  Task<bool> approve(const ServerConfig& server) {
    auto turn = co_await asking_.acquire();
    co_return co_await options_.approve(server);
  }

  // What the program's own functions throw must not stop ours.
  template <class Function, class... Args>
  void tell(const Function& function, Args&&... args) {
    if (!function) return;
    try {
      function(std::forward<Args>(args)...);
    } catch (...) {
      runtime_.log(LogLevel::error, "event=callback_threw text=\"{}\"", error_from(std::current_exception()).message());
    }
  }

  void changed(Connection& connection) {
    rebuild();
    tell(options_.on_status, connection.status());
  }

  void rebuild() {
    std::vector<ServerTools> servers;
    for (const auto& [name, connection] : connections_) {
      if (connection->connected()) servers.push_back({name, connection->tools(), connection->prefix()});
    }
    catalog_ = Catalog::build(servers);
    shown_ = permissions_.visible(catalog_);
    tell(options_.on_catalog);
  }

  Task<CatalogEntry> find_tool(std::string text) {
    co_await prepare();
    // What is connected already may know it.
    if (const auto* entry = catalog_->at(text)) co_return *entry;
    std::vector<std::shared_ptr<Connection>> meant;
    for (const auto& [name, connection] : connections_) {
      if (names_server(text, name)) meant.push_back(connection);
    }
    if (meant.size() == 1) {
      // Only this server can be meant, so its failure is the answer.
      (void)co_await ensure(meant.front()->name());
    } else if (!meant.empty()) {
      co_await start(meant);
    }
    if (meant.empty()) {
      // Any server may have it, so the answer must not depend on which happen to be connected.
      // One that could not be started is not tried again for every name that nobody knows.
      std::vector<std::shared_ptr<Connection>> all;
      for (const auto& [name, connection] : connections_) {
        if (connection->worth_trying()) all.push_back(connection);
      }
      co_await start(all);
    }
    auto found = catalog_->require(text);
    if (!found) throw meant.empty() ? with_failures(std::move(found).error()) : std::move(found).error();
    co_return **found;
  }

  PermissionDecision decide(const CatalogEntry& entry, const Payload& arguments) {
    const auto connection = require(entry.server);
    return permissions_.decide(entry, permissions_.look_at_arguments() ? argument_value(arguments) : Json(),
                               argument_directory(connection->config(), directory_));
  }

  // Returns when the call may be made.
  Task<void> permit(CatalogEntry entry, Payload arguments) {
    const auto decision = decide(entry, arguments);
    if (decision.outcome == PermissionOutcome::allow) co_return;
    if (decision.outcome == PermissionOutcome::ask) {
      if (!options_.permission.ask) co_return;
      // A person is asked one thing at a time.
      auto turn = co_await asking_.acquire();
      const PermissionQuestion question{entry, arguments, decision};
      if (co_await options_.permission.ask(question)) co_return;
      throw Error(Errc::denied,
                  fmt::format("'{}' was not called: the person said no ({})", entry.name, decision.reason));
    }
    runtime_.log(LogLevel::info, "server={} event=call_denied tool=\"{}\" text=\"{}\"", entry.server, entry.name,
                 decision.reason);
    throw Error(Errc::denied, denial_text(entry.name, decision));
  }

  // An unknown tool may belong to a server that did not start: say which did not, and why unless
  // the program was told when it happened.
  Error with_failures(Error error) const {
    std::vector<std::string> failed;
    for (const auto& [name, connection] : connections_) {
      auto status = connection->status();
      if (status.state == ServerState::connected || status.state == ServerState::disabled) continue;
      failed.push_back(options_.on_status && status.state != ServerState::pending
                           ? fmt::format("'{}'", name)
                           : fmt::format("'{}': {}", name,
                                         status.error ? without_name(name, status.error->message()) : status.reason));
    }
    if (failed.empty()) return error;
    return Error(error.code(), fmt::format("{} (not connected: {})", error.message(), fmt::join(failed, "; ")));
  }

  Task<void> stop(CloseMode mode) {
    stopped_ = true;
    if (scope_) scope_->cancel();
    Scope scope(co_await asio::this_coro::executor);
    for (auto& [name, connection] : connections_) {
      scope.spawn([](Connection& one, CloseMode how) -> Task<void> { co_await one.close(how); }(*connection, mode));
    }
    co_await scope.join();
    if (scope_) co_await scope_->join();
    shown_ = catalog_ = std::make_shared<const Catalog>();
  }

  // A connection that is replaced while somebody waits for it is no answer; its successor is.
  Task<Session> ensure(std::string name) {
    for (;;) {
      auto connection = require(name);
      auto session = co_await as_result(connection->ensure());
      if (session) co_return std::move(*session);
      auto now = connections_.find(name);
      if (stopped_ || session.error().code() != Errc::closed || now == connections_.end() ||
          now->second == connection) {
        throw std::move(session).error();
      }
    }
  }

  // What another reading of the configuration changes. Servers that stay the same keep their connection; calls
  // that run on one that does not, finish on it.
  Task<ConfigChange> apply(LoadedConfig next) {
    auto diff = diff_servers(options_.config->servers, next.servers, context_->variables);
    for (auto* names : {&diff.added, &diff.removed, &diff.changed}) {
      std::erase_if(*names, [&](const std::string& name) { return is_programs_own(name); });
    }
    ConfigChange change{diff.added, diff.removed, diff.changed, next.problems};
    options_.config = std::move(next);
    context_ = start_context();
    apply_settings();
    std::vector<std::string> wanted = started_ ? diff.added : std::vector<std::string>();
    for (const auto* names : {&diff.removed, &diff.changed}) {
      for (const auto& name : *names) {
        if (replace(name) || (started_ && names == &diff.changed)) wanted.push_back(name);
      }
    }
    // Policy may have changed its mind about servers the program brought, too.
    std::vector<std::string> brought;
    for (const auto& [name, in_process] : in_process_) brought.push_back(name);
    for (const auto& [name, reached] : reached_) brought.push_back(name);
    for (const auto& name : brought) {
      auto known = connections_.find(name);
      if (known == connections_.end()) continue;
      const bool was_off = known->second->config().standing == ServerStanding::policy;
      if (forbidden(known->second->config()).has_value() != was_off && (replace(name) || started_)) {
        wanted.push_back(name);
      }
    }
    rebuild();
    co_await prepare();
    std::vector<std::shared_ptr<Connection>> starting;
    for (const auto& name : wanted) {
      if (auto found = connections_.find(name); found != connections_.end()) starting.push_back(found->second);
    }
    if (!starting.empty()) scope_->spawn(start_quietly(std::move(starting)));
    tell(options_.on_config, change);
    co_return change;
  }

  // Servers of the program go before entries of the same name, whatever those say now.
  bool is_programs_own(const std::string& name) const {
    return in_process_.contains(name) || reached_.contains(name) ||
           std::ranges::find(added_, name, &ServerConfig::name) != added_.end();
  }

  Task<void> start_quietly(std::vector<std::shared_ptr<Connection>> wanted) {
    (void)co_await as_result(start(std::move(wanted)));
  }

  // Takes the connection of this name out; true when it was connected.
  bool replace(const std::string& name) {
    auto node = connections_.extract(name);
    if (node.empty()) return false;
    const bool connected = node.mapped()->connected();
    scope_->spawn([](std::shared_ptr<Connection> old) -> Task<void> {
      auto waited = co_await as_result(old->fade());
      co_await asio::this_coro::throw_if_cancelled(false);
      co_await old->close(waited ? CloseMode::graceful : CloseMode::quick);
    }(std::move(node.mapped())));
    return connected;
  }

  Task<ConfigChange> reload() {
    if (!options_.load) throw Error(Errc::config, "this host was given its servers and has nothing to read again");
    auto turn = co_await reloading_.acquire();
    // Reading may wait for a slow disk.
    auto read = [request = *options_.load, memory = memory_]() mutable {
      auto config = load_servers(request, memory);
      return std::pair(std::move(config), std::move(memory));
    };
    auto [config, memory] = co_await offload(std::move(read));
    memory_ = std::move(memory);
    co_return co_await apply(std::move(config));
  }

  // In the background: nothing waits for it, and its failure is a line in the log.
  Task<void> ask_for_connectors() {
    const auto directory = *options_.config->connectors;
    if (connectors_are_fresh(directory, runtime_)) co_return;
    auto asked = co_await as_result(fetch_connectors(directory, context_, runtime_));
    if (asked) asked = co_await as_result(reload_quietly());
    if (!asked && asked.error().code() != Errc::cancelled) {
      runtime_.log(LogLevel::warning, "event=connectors text=\"{}\"", asked.error().message());
    }
  }

  Task<void> reload_quietly() { (void)co_await reload(); }

  Task<void> follow_config() {
    auto outcome = co_await as_result(follow_config_files());
    if (!outcome && outcome.error().code() != Errc::cancelled) {
      runtime_.log(LogLevel::warning, "event=config_not_followed text=\"{}\"", outcome.error().message());
    }
  }

  Task<void> follow_config_files() {
    ConfigWatch watch(executor_);
    for (;;) {
      // What changed while nobody watched is found by reading once more.
      const bool unseen = watch.look_at(memory_.looked_for);
      if (!unseen) co_await watch.changed();
      (void)co_await reload();
      if (unseen) co_await sleep_for(between_readings);
    }
  }

  HostOptions options_;
  Runtime runtime_;
  Semaphore local_slots_;
  Semaphore remote_slots_;
  Semaphore asking_{1};
  std::map<std::string, InProcess> in_process_;
  std::map<std::string, Reached> reached_;
  std::vector<ServerConfig> added_;  // by the program, whatever files say
  std::map<std::string, std::shared_ptr<Connection>> connections_;
  std::shared_ptr<const Catalog> catalog_ = std::make_shared<const Catalog>();  // of everything
  std::shared_ptr<const Catalog> shown_ = catalog_;                             // what rules leave of it
  Permissions permissions_;
  std::string directory_;  // paths in rules and arguments are relative to it
  asio::any_io_executor executor_;
  std::optional<Scope> scope_;  // once there is a loop
  ConfigMemory memory_;
  Semaphore reloading_{1};
  std::string session_id_;
  bool started_ = false;  // all of them, so new ones are started, too
  std::shared_ptr<const StartContext> context_;
  std::optional<std::chrono::milliseconds> idle_limit_;
  bool stopped_ = false;
  std::set<std::string> failed_calls_;  // servers whose last call is remembered as a failure
};

Host::Host() : Host(HostOptions{}) {}
Host::Host(HostOptions options) : Host(std::move(options), runtime_of_environment()) {}
Host::Host(HostOptions options, const Runtime& runtime) : impl_(std::make_shared<Impl>(std::move(options), runtime)) {}

// A host that was not stopped ends its connections now; the last coroutine keeps what it
// needs alive until they have ended.
Host::~Host() {
  if (impl_->stopped_ || !impl_->scope_ || (impl_->connections_.empty() && impl_->scope_->empty())) return;
  Scope(impl_->executor_).spawn_last([](std::shared_ptr<Impl> keep) -> Task<void> {
    co_await keep->stop(CloseMode::quick);
  }(impl_));
}

void Host::add_server(std::string name, std::shared_ptr<Server> server, NamePrefix prefix) {
  impl_->in_process_[std::move(name)] = {std::move(server), prefix};
}

void Host::add_server(ServerConfig config, std::shared_ptr<Transport> transport) {
  auto name = config.name;
  impl_->reached_.insert_or_assign(std::move(name), Impl::Reached{std::move(config), std::move(transport)});
}

void Host::add_server(ServerConfig config) { impl_->added_.push_back(std::move(config)); }

Task<void> Host::start() {
  auto impl = impl_;
  co_await impl->prepare();
  impl->started_ = true;
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [name, connection] : impl->connections_) all.push_back(connection);
  co_await impl->start(std::move(all));
}

Task<void> Host::start(std::vector<std::string> names) {
  auto impl = impl_;
  co_await impl->prepare();
  std::vector<std::shared_ptr<Connection>> some;
  for (const auto& name : names) some.push_back(impl->require(name));
  co_await impl->start(std::move(some));
}

std::shared_ptr<const Catalog> Host::catalog() const noexcept { return impl_->shown_; }

std::vector<ServerStatus> Host::status() const { return impl_->status(); }

const LoadedConfig& Host::config() const noexcept { return *impl_->options_.config; }

Task<CallToolResult> Host::call(std::string tool, Payload arguments, CallOptions options) {
  auto impl = impl_;
  auto entry = co_await impl->find_tool(std::move(tool));
  auto connection = impl->require(entry.server);
  Connection::Use use(*connection);
  co_await impl->permit(entry, arguments);
  const auto limit = connection->config().timeout;
  if (!options.total && limit) options.total = limit;
  // Who gives a server more time for a call gives it more time to be silent, too.
  if (!options.idle && impl->idle_limit_) options.idle = std::max(*impl->idle_limit_, limit.value_or(0ms));
  auto session = co_await connection->ensure();
  auto result = co_await as_result(session.call_tool(entry.tool->name, std::move(arguments), std::move(options)));
  if (!result) {
    auto error = error_of_call(entry.server, entry.tool->name, result.error());
    co_await impl->note_call(connection, error);
    throw error;
  }
  co_await impl->note_call(connection, std::nullopt);
  co_return std::move(*result);
}

Task<CatalogEntry> Host::find_tool(std::string tool) {
  auto impl = impl_;
  co_return co_await impl->find_tool(std::move(tool));
}

Task<PermissionDecision> Host::decide(std::string tool, Payload arguments) {
  auto impl = impl_;
  auto entry = co_await impl->find_tool(std::move(tool));
  co_return impl->decide(entry, arguments);
}

std::vector<ConfigProblem> Host::permission_problems() const {
  std::vector<std::string> names;
  for (const auto& status : impl_->status()) names.push_back(status.name);
  auto problems = impl_->permissions_.problems();
  std::ranges::move(impl_->permissions_.unknown_names(names, *impl_->catalog_), std::back_inserter(problems));
  return problems;
}

Task<Session> Host::session(std::string server) {
  auto impl = impl_;
  co_await impl->prepare();
  co_return co_await impl->ensure(std::move(server));
}

Task<ConfigChange> Host::reload() {
  auto impl = impl_;
  if (impl->stopped_) throw Error(Errc::closed, "the host was stopped");
  co_await impl->prepare();
  co_return co_await impl->reload();
}

Task<ConfigChange> Host::reload(LoadedConfig config) {
  auto impl = impl_;
  co_await impl->prepare();
  auto turn = co_await impl->reloading_.acquire();
  co_return co_await impl->apply(std::move(config));
}

Task<void> Host::stop() {
  auto impl = impl_;
  co_await impl->stop(CloseMode::graceful);
}

Task<void> Host::stop_quickly() {
  auto impl = impl_;
  co_await impl->stop(CloseMode::quick);
}

}  // namespace patchbay
