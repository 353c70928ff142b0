#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ranges>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/timeout.h"
#include "catalog/tool_filter.h"
#include "entries/child_env.h"
#include "entries/diff.h"
#include "entries/limits.h"
#include "host/config/config_watch.h"
#include "host/config/connector_fetch.h"
#include "host/config/rule_request.h"
#include "host/host_impl.h"
#include "host/start/stored_secrets.h"
#include "permission/policy.h"
#include "permission/rule_check.h"
#include "process/sandbox_probe.h"
#include "servers/settle.h"
#include "settings/settings_layers.h"

namespace patchbay {

using namespace std::chrono_literals;

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

Task<std::shared_ptr<Transport>> reached_by(Reach reach, ServerConfig entry) { co_return reach(entry); }

}  // namespace

Host::Impl::Impl(HostOptions options, const Runtime& runtime, std::string doing, std::shared_ptr<SecretVault> vault)
    : options_(std::move(options)),
      events_(std::make_shared<HostEvents>(options_.on_event, runtime.log)),
      runtime_(runtime),
      given_limits_(runtime.limits),
      given_protocol_(options_.client.protocol),
      doing_(std::move(doing)),
      vault_(std::move(vault)),
      local_slots_(options_.local_starts.value_or(configured_limits().local_starts)),
      remote_slots_(options_.remote_starts.value_or(configured_limits().remote_starts)),
      results_(options_.results, options_.state_directory) {
  runtime_.log = HostEvents::log_of(events_);
  if (!runtime_.calls) runtime_.calls = std::make_shared<std::uint64_t>(0);
  if (!options_.config) {
    if (!options_.load) options_.load.emplace();
    if (options_.load->cwd.empty()) options_.load->cwd = std::filesystem::current_path();
    options_.load->trust_project |= options_.trust_project;
    options_.config.emplace().cwd = options_.load->cwd;
    unread_ = true;
  }
  session_id_ = random_id(runtime_.random);
  asking_ = std::make_shared<Questions>(options_.asking, options_.client, runtime_.log);
  sign_ins_ = std::make_shared<SignIns>(options_.sign_in, runtime_);
  if (!options_.state_directory.empty()) {
    recorder_ = std::make_shared<ServerRecorder>(options_.state_directory, runtime_.log);
    const auto& info = options_.client.info;
    flight_ = std::make_shared<FlightRecorder>(options_.state_directory, fmt::format("{} {}", info.name, info.version),
                                               [recorder = recorder_](const std::string& why) { recorder->warn(why); });
  }
  pins_ = std::make_unique<HostPins>(options_.state_directory, runtime_.log);
  channels_ = std::make_shared<Channels>(options_.channels, options_.state_directory, runtime_.random, runtime_.log);
  apply_settings();
}

Limits Host::Impl::configured_limits() const {
  auto limits = given_limits_;
  if (options_.config) {
    const auto nothing = [](std::string_view) { return std::nullopt; };
    limits = limits_from(variables_of(*options_.config, nothing), limits);
  }
  if (options_.connect_limit) limits.connect = *options_.connect_limit;
  if (!options_.connect_setting.empty()) limits.connect_setting = options_.connect_setting;
  if (options_.tool_limit) limits.tool = *options_.tool_limit;
  return limits;
}

VariableLookup Host::Impl::startup_variables() const {
  return options_.load && options_.load->variables ? options_.load->variables : process_environment();
}

// Null: there is no place for one.
std::shared_ptr<SecretVault> Host::Impl::vault_in(const std::string& config_dir) const {
  if (options_.state_directory.empty()) return nullptr;
  VaultOptions vault;
  vault.state_directory = options_.state_directory;
  vault.config_directory = config_dir.empty() ? options_.state_directory : config_dir;
  vault.variables = startup_variables();
  vault.random = runtime_.random;
  return std::make_shared<SecretVault>(std::move(vault));
}

std::shared_ptr<const StartContext> Host::Impl::start_context() const {
  const auto& config = *options_.config;
  auto context = std::make_shared<StartContext>();
  std::error_code ignored;
  context->run.cwd = config.cwd.empty() ? std::filesystem::current_path(ignored).string() : config.cwd;
  context->run.config_dir = config.helper_dir.empty() ? context->run.cwd : config.helper_dir;
  context->run.session_id = session_id_;
  context->run.project_trusted = config.project_trusted || options_.trust_project;
  context->variables = variables_of(config, startup_variables());
  context->environment = environment_of_process();
  for (const auto& variable : config.environment) {
    context->environment[variable.name] = variable.value;
    context->run.settings_env.emplace_back(variable.name, variable.value);
  }
  context->connectors = config.connectors;
  context->sign_ins = sign_ins_;
  context->settings = config.settings;
  context->own_config_dir = config.config_dir;
  context->sandbox_machine = [state = options_.state_directory] {
    return look_at_sandbox_machine({.state_directory = state});
  };
  if (!config.config_dir.empty()) {
    context->secrets = [file = config.config_dir + "/secrets.json", vault = vault_](const std::string& name) {
      return stored_or_old_secret(vault.get(), file, name);
    };
  }
  if (recorder_) {
    context->watch = [weak = std::weak_ptr(recorder_), flight = std::weak_ptr(flight_)](const ServerConfig& server,
                                                                                        TextSecrets secrets) {
      if (const auto frames = flight.lock()) frames->starting(server.name, secrets);
      const auto recorder = weak.lock();
      return recorder ? recorder->starting(server, std::move(secrets)) : StartWatch{};
    };
  }
  context->check = [settings = config.settings, startup = startup_variables()](const ServerConfig& written,
                                                                               const ServerConfig& expanded) {
    auto verdict = judge_entry(written, expanded, layers_of(settings), startup);
    if (!verdict.allowed()) {
      throw Error(Errc::denied, fmt::format("server \"{}\" is not used: {}", expanded.name, verdict.reason));
    }
  };
  return context;
}

void Host::Impl::keep_to_lists(ServerConfig& config) const {
  auto standing = settle_alone(config, layers_of(options_.config->settings), startup_variables());
  if (standing.why == ServerStanding::active) return;
  config.standing = standing.why;
  config.decided_by = std::move(standing.by);
  config.reason = std::move(standing.policy_text);
}

void Host::Impl::tell_rules_of_servers() {
  std::vector<std::string> names;
  for (const auto& [name, connection] : connections_) names.push_back(name);
  permissions_.know_servers(names);
  spelled_.clear();
}

void Host::Impl::apply_settings() {
  const auto& config = *options_.config;
  // Where its key is, is known when the configuration has been read.
  if (!unread_ && !vault_) vault_ = vault_in(config.config_dir);
  if (!unread_) sign_ins_->use(vault_, options_.state_directory);
  context_ = start_context();
  if (recorder_) recorder_->use(config, startup_variables());
  pins_->use(pin_mode(layers_of(config.settings)), key_context(config, startup_variables()));
  channels_->use(config.settings, config.project_dir.empty() ? config.cwd : config.project_dir);
  if (flight_) flight_->use(!recorder_is_off(layers_of(config.settings)));
  trace_context_ = TraceContext::from(context_->variables, runtime_.random);
  runtime_.limits = configured_limits();
  idle_limit_ = idle_limit_from(context_->variables);
  results_.use(context_->variables);
  const bool legacy = context_->variables("MCP_PROTOCOL_NEGOTIATION") == "legacy" && given_protocol_ == "auto";
  options_.client.protocol = legacy ? "legacy" : given_protocol_;
  const auto request = rule_request(config, options_.permission, options_.trust_project);
  directory_ = request.places.cwd;
  permissions_ = Permissions(collect_rules(layers_of(config.settings), request));
  if (options_.hooks) hooks_ = HookSet(layers_of(config.settings), request.trusted);
  hook_runner_ = nullptr;  // what it was made of may be other now
  offered_.set_rules(permissions_);
  if (asking_->use(layers_of(config.settings), config.cwd, config.home)) tell_folders();
  tell_rules_of_servers();
  for (const auto& problem : permissions_.problems()) {
    if (problem.severity == Severity::note) continue;
    runtime_.log(LogLevel::info, "permission", "text", problem.text());
  }
  for (const auto& problem : hooks_.problems()) {
    if (problem.severity == Severity::note) continue;
    runtime_.log(LogLevel::info, "hook", "text", problem.text());
  }
}

std::map<std::string, Connection::Parts> Host::Impl::new_servers() const {
  std::map<std::string, Connection::Parts> found;
  auto is_new = [&](const std::string& name) { return !connections_.contains(name) && !found.contains(name); };
  for (const auto& [name, in_process] : in_process_) {
    if (!is_new(name)) continue;
    Connection::Parts parts;
    parts.config.name = name;
    parts.config.origin.scope = ConfigScope::embedded;
    parts.transport = memory_transport(in_process.server);
    parts.prefix = in_process.prefix;
    keep_to_lists(parts.config);
    found.emplace(name, std::move(parts));
  }
  for (const auto& [name, reached] : reached_) {
    if (!is_new(name)) continue;
    Connection::Parts parts;
    parts.config = reached.config;
    parts.transport = reached.transport;
    // Whoever reaches it another way asks first as well.
    parts.approved = reached.config.standing != ServerStanding::awaiting_approval;
    keep_to_lists(parts.config);
    found.emplace(name, std::move(parts));
  }
  auto declared = added_;
  declared.insert(declared.begin(), options_.config->servers.begin(), options_.config->servers.end());
  for (const auto& config : std::views::reverse(declared)) {
    if (!is_new(config.name)) continue;
    Connection::Parts parts;
    parts.config = config;
    if (config.standing == ServerStanding::broken) {
      Error broken(Errc::config, fmt::format("server \"{}\" cannot be used: {} (declared in {})", config.name,
                                             config.reason, config.origin.file));
      parts.unusable = config.remedy ? std::move(broken).with_remedy(*config.remedy) : broken;
    } else {
      parts.shown = shown_target(config);
      parts.unusable = unreachable(config);
      parts.make_transport = [config, context = context_](Runtime runtime) {
        return make_transport(config, context, std::move(runtime));
      };
      parts.pin = [this, config](ServerDescription server, OfferedTools::Tools listed) {
        return pins_->look(config, std::move(server), std::move(listed));
      };
      if (reach_) {
        parts.make_transport = [config, reach = reach_](const Runtime&) { return reached_by(reach, config); };
      }
      if (!options_.failure_memory.empty() || flight_) {
        parts.note = [this, config](std::optional<Error> error) { return note(config, std::move(error)); };
      }
    }
    parts.approved = config.origin.trust == ConfigTrust::trusted || config.approved || options_.trust_project;
    found.emplace(config.name, std::move(parts));
  }
  return found;
}

Task<void> Host::Impl::read_config() {
  auto turn = co_await reloading_.acquire();
  check_running();
  if (!unread_) co_return;
  auto config = co_await read_files();
  unread_ = false;
  unprepared_ = true;
  options_.config = std::move(config);
  apply_settings();
  // Nothing has started yet, so nobody holds a slot.
  local_slots_.set_permits(options_.local_starts.value_or(runtime_.limits.local_starts));
  remote_slots_.set_permits(options_.remote_starts.value_or(runtime_.limits.remote_starts));
}

ClientOptions Host::Impl::client_of_connection(const ServerConfig& config) {
  auto client = options_.client;
  asking_->answer_for(client, config.name, config.origin);
  put_hooks_around(client, config.name);
  if (!events_->wanted()) return client;
  client.on_log = [events = events_, next = client.on_log](const LogMessage& message, const CallContext& context) {
    events->tell(ServerLog{context, message});
    if (next) next(message, context);
  };
  client.on_change = [events = events_, next = client.on_change](const Change& change, const CallContext& context) {
    events->tell(ServerChange{context, change});
    if (next) next(change, context);
  };
  return client;
}

Task<void> Host::Impl::prepare() {
  check_running();
  if (unread_) co_await read_config();
  if (!unprepared_) co_return;
  executor_ = co_await asio::this_coro::executor;
  if (recorder_ && options_.warm_start) {
    std::vector<ServerConfig> entries;
    for (const auto& [name, parts] : new_servers()) {
      if (!parts.transport) entries.push_back(parts.config);
    }
    co_await recall(key_context(*options_.config, startup_variables()), std::move(entries));
    check_running();
    if (!unprepared_) co_return;  // somebody else did it meanwhile
  }
  make_connections();
}

Task<void> Host::Impl::recall(KeyContext context, std::vector<ServerConfig> entries) {
  if (!recorder_ || !options_.warm_start) co_return;
  std::erase_if(entries, [](const ServerConfig& entry) { return entry.standing != ServerStanding::active; });
  auto found = co_await recall_tools(options_.state_directory, std::move(context), std::move(entries));
  for (auto& one : found) {
    auto name = one.entry.name;
    recalled_.insert_or_assign(std::move(name), std::move(one));
  }
}

OfferedTools::Tools Host::Impl::earlier_tools(const Connection::Parts& parts) const {
  const auto& config = parts.config;
  OfferedTools::Tools tools;
  if (const auto before = before_.find(config.name); before != before_.end()) tools = before->second;
  const auto kept = recalled_.find(config.name);
  if (tools.empty() && kept != recalled_.end() && kept->second.entry == config) tools = kept->second.tools;
  if (tools.empty()) return {};
  const auto status = Connection::initial_status(parts);
  const bool startable = status.state == ServerState::needs_auth || status.reason == ServerReason::not_started;
  if (!startable || permissions_.denied_server(config.name)) return {};
  const auto expanded = expand_server(config, context_->variables);
  if (!judge_entry(config, expanded, layers_of(options_.config->settings), startup_variables()).allowed()) return {};
  std::erase_if(tools, [&](const auto& tool) { return !lets_through(config, tool->name); });
  return tools;
}

void Host::Impl::make_connections() {
  if (!scope_) {
    scope_.emplace(executor_);
    questions_.emplace(executor_);
    if (recorder_) recorder_->begin(executor_);
    if (flight_) flight_->begin(executor_);
    channels_->begin(executor_);
    if (options_.follow_config && options_.load) scope_->spawn(follow_config());
    if (options_.config->connectors && options_.load) scope_->spawn(ask_for_connectors());
  }
  for (auto& [name, parts] : new_servers()) {
    auto& slots = parts.config.kind == ServerKind::stdio ? local_slots_ : remote_slots_;
    for (const auto& warning : expand_server(parts.config, context_->variables).warnings) {
      // Whoever loaded the configuration has it among its problems already.
      runtime_.log.for_server(name)(LogLevel::info, "config", "text", warning);
    }
    if (options_.approve) {
      parts.approve = [this](ApprovalQuestion question) { return approve(std::move(question)); };
    }
    if (recorder_ && parts.approved && !parts.unusable && !parts.transport)
      parts.refused = recorder_->hold_back(parts.config);
    if (parts.refused && may_sign_in(parts.config)) {
      parts.refused = std::move(*parts.refused).with_remedy({Remedy::Kind::sign_in, parts.config.name});
    }
    parts.follow_changes = options_.follow_changes;
    parts.by_itself = options_.keep_connected;
    parts.on_change = [this](Connection& connection) { changed(connection); };
    parts.on_list_change = [events = events_](const Connection& connection, ListKind kind) {
      events->tell(ListChange{connection.name(), kind});
    };
    parts.earlier_tools = earlier_tools(parts);
    if (flight_) parts.tap = flight_->tap(name);
    parts.trace_context = trace_context_;
    auto client = client_of_connection(parts.config);
    open_channel(parts, client);
    auto connection = std::make_shared<Connection>(executor_, runtime_, std::move(client), slots, std::move(parts));
    if (!connection->tools().empty()) {
      before_.erase(name);
      catalog_untold_ |= offered_.set(name, connection->prefix(), connection->tools());
    }
    connections_[name] = std::move(connection);
  }
  for (const auto& [name, tools] : std::exchange(before_, {})) catalog_untold_ |= offered_.remove(name);
  recalled_.clear();
  unprepared_ = false;
  spelled_.clear();
  tell_rules_of_servers();
  tell_catalog();
}

Task<ConfigChange> Host::Impl::apply(LoadedConfig next) {
  auto diff = diff_servers(options_.config->servers, next.servers, context_->variables,
                           variables_of(next, startup_variables()));
  for (auto* names : {&diff.added, &diff.removed, &diff.changed}) {
    std::erase_if(*names, [&](const std::string& name) { return is_programs_own(name); });
  }
  ConfigChange change{diff.added, diff.removed, diff.changed, next.problems};
  // Read first: behind it there is no wait until the new connections are made, so nobody finds a server without one.
  std::vector<ServerConfig> fresh;
  for (const auto& entry : next.servers) {
    const bool is_fresh = std::ranges::find(diff.added, entry.name) != diff.added.end() ||
                          std::ranges::find(diff.changed, entry.name) != diff.changed.end();
    if (is_fresh) fresh.push_back(entry);
  }
  co_await recall(key_context(next, startup_variables()), std::move(fresh));
  check_running();
  options_.config = std::move(next);
  unprepared_ = true;
  apply_settings();
  std::vector<std::string> wanted = started_ ? diff.added : std::vector<std::string>();
  for (const auto* names : {&diff.removed, &diff.changed}) {
    for (const auto& name : *names) {
      if (replace(name) || (started_ && names == &diff.changed)) wanted.push_back(name);
    }
  }
  // What they speak depends on whether they may push messages.
  std::vector<std::string> other_channels;
  for (const auto& [name, connection] : connections_) {
    if (channels_->is_other(connection->config())) other_channels.push_back(name);
  }
  for (const auto& name : other_channels) {
    if (replace(name) || started_) wanted.push_back(name);
  }
  // Policy may have changed its mind about servers of the program as well.
  std::vector<std::string> brought;
  for (const auto& [name, in_process] : in_process_) brought.push_back(name);
  for (const auto& [name, reached] : reached_) brought.push_back(name);
  for (const auto& name : brought) {
    auto known = connections_.find(name);
    if (known == connections_.end()) continue;
    const bool was_off = known->second->config().standing == ServerStanding::policy;
    const bool is_off =
        settle_alone(known->second->config(), layers_of(options_.config->settings), startup_variables()).why ==
        ServerStanding::policy;
    if (is_off != was_off && (replace(name) || started_)) {
      wanted.push_back(name);
    }
  }
  catalog_untold_ = true;
  make_connections();
  std::vector<std::shared_ptr<Connection>> starting;
  for (const auto& [name, connection] : connections_) {
    const bool due = std::ranges::find(wanted, name) != wanted.end() ||
                     (started_ && connection->status().reason == ServerReason::not_started);
    if (due && !permissions_.denied_server(name)) starting.push_back(connection);
  }
  // Before anything is started: whoever hides secrets knows the entries by then.
  events_->tell(change);
  for (const auto& name : diff.removed) {
    if (flight_) flight_->forget(name);
  }
  if (!starting.empty()) scope_->spawn(start_quietly(std::move(starting)));
  co_return change;
}

bool Host::Impl::is_programs_own(const std::string& name) const {
  return in_process_.contains(name) || reached_.contains(name) ||
         std::ranges::find(added_, name, &ServerConfig::name) != added_.end();
}

Task<void> Host::Impl::start_quietly(std::vector<std::shared_ptr<Connection>> wanted) {
  (void)co_await as_result(start(std::move(wanted)));
}

bool Host::Impl::replace(const std::string& name) {
  auto node = connections_.extract(name);
  if (node.empty()) return false;
  unprepared_ = true;
  spelled_.clear();
  before_.insert_or_assign(name, node.mapped()->tools());
  const bool connected = node.mapped()->connected();
  fading_.insert(node.mapped());
  scope_->spawn(let_fade(std::move(node.mapped())));
  return connected;
}

Task<void> Host::Impl::let_fade(std::shared_ptr<Connection> old) {
  auto waited = co_await as_result(old->fade());
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await old->close(waited ? CloseMode::graceful : CloseMode::quick);
  fading_.erase(old);
}

Task<ConfigChange> Host::Impl::reload() {
  if (!options_.load)
    throw Error(Errc::config, "this host got its servers from the program and has no file to read again");
  auto turn = co_await reloading_.acquire();
  check_running();
  auto config = co_await read_files();
  co_return co_await apply(std::move(config));
}

// Reading may wait for a slow disk.
Task<LoadedConfig> Host::Impl::read_files() {
  auto read = [request = *options_.load, memory = memory_]() mutable {
    auto config = load_servers(request, memory);
    return std::pair(std::move(config), std::move(memory));
  };
  auto [config, memory] = co_await offload(Pool::slow, std::move(read));
  check_running();
  memory_ = std::move(memory);
  co_return std::move(config);
}

Task<void> Host::Impl::ask_for_connectors() {
  const auto directory = *options_.config->connectors;
  if (connectors_are_fresh(directory, loop_clock(co_await asio::this_coro::executor))) co_return;
  auto asked = co_await as_result(fetch_connectors(directory, context_, runtime_));
  if (asked) asked = co_await as_result(reload_quietly());
  if (asked || stopped_ || asked.error().code() == Errc::cancelled) co_return;
  const bool nobody_signed_in = asked.error().sign_in().has_value();
  if (nobody_signed_in && signing_in_at_connectors_) co_return;
  runtime_.log(LogLevel::warning, nobody_signed_in ? "connectors_sign_in" : "connectors", "text",
               asked.error().message());
}

Task<void> Host::Impl::reload_quietly() { (void)co_await reload(); }

Task<void> Host::Impl::follow_config() {
  auto outcome = co_await as_result(follow_config_files());
  if (!outcome && !stopped_ && outcome.error().code() != Errc::cancelled) {
    runtime_.log(LogLevel::warning, "config_not_followed", "text", outcome.error().message());
  }
}

Task<void> Host::Impl::follow_config_files() {
  ConfigWatch watch(executor_);
  // Where the program has read them, which files that were is known once they are read here.
  if (memory_.looked_for.empty()) co_await reload_quietly();
  for (;;) {
    // What changed while nobody watched is found by reading once more.
    const bool unseen = watch.look_at(memory_.looked_for);
    if (!unseen) co_await watch.changed();
    (void)co_await reload();
    if (unseen) co_await sleep_for(between_readings);
  }
}

}  // namespace patchbay
