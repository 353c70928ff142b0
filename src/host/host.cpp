#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/offload.h"
#include "base/strings.h"
#include "config/limits.h"
#include "host/failure_memory.h"
#include "host/host_impl.h"
#include "host/log_name.h"
#include "host/naming.h"
#include "host/server_error.h"

namespace patchbay {

using namespace std::chrono_literals;

std::string_view to_string(ServerState state) noexcept {
  static constexpr std::array names{"connected", "failed", "needs-auth", "pending", "disabled"};
  return names.at(static_cast<std::size_t>(state));
}

namespace {

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

Task<void> Host::Impl::note(ServerConfig config, std::optional<Error> error) const {
  const auto& path = options_.failure_memory;
  if (path.empty() || (error && !is_failure_of_server(error->code()))) co_return;
  const auto key = failure_key(config);
  if (!error && !recall_failure(path, key)) co_return;
  const auto now = std::chrono::floor<std::chrono::seconds>(runtime_.clock.wall());
  std::optional<KnownFailure> known;
  if (error) {
    known = failure_of(config, context_->variables, environment_of_process(), *error, options_.failure_during, now);
  }
  auto write = [path, key, known, now] { return remember_failure(path, key, known, now); };
  auto written = co_await offload(Pool::quick, std::move(write));
  if (!written) runtime_.log(LogLevel::debug, "event=failure_not_kept text=\"{}\"", written.error().message());
}

Task<void> Host::Impl::note_call(std::shared_ptr<Connection> connection, std::optional<Error> error) {
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

std::vector<ServerStatus> Host::Impl::status() const {
  std::map<std::string, ServerStatus> known;
  for (const auto& [name, connection] : connections_) known.emplace(name, connection->status());
  if (!stopped_) {
    for (const auto& [name, parts] : new_servers()) known.emplace(name, Connection::initial_status(parts));
  }
  std::vector<ServerStatus> list;
  for (auto& [name, one] : known) list.push_back(std::move(one));
  return list;
}

std::shared_ptr<Connection> Host::Impl::require(const std::string& name) {
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

Task<void> Host::Impl::start(std::vector<std::shared_ptr<Connection>> wanted) {
  Scope scope(co_await asio::this_coro::executor);
  for (const auto& connection : wanted) {
    scope.spawn(
        [](std::shared_ptr<Connection> one) -> Task<void> { (void)co_await as_result(one->ensure()); }(connection));
  }
  // Whoever stops waiting stops waiting now; the attempts go on for others.
  co_await scope.finish();
  check_running();
}

Task<bool> Host::Impl::approve(const ServerConfig& server) {
  auto turn = co_await asking_.acquire();
  co_return co_await options_.approve(server);
}

void Host::Impl::changed(Connection& connection) {
  rebuild();
  tell(options_.on_status, connection.status());
}

void Host::Impl::rebuild() {
  std::vector<ServerTools> servers;
  for (const auto& [name, connection] : connections_) {
    if (connection->offers_tools()) servers.push_back({name, connection->tools(), connection->prefix()});
  }
  catalog_ = Catalog::build(servers);
  shown_ = permissions_.visible(catalog_);
  tell(options_.on_catalog);
}

Task<CatalogEntry> Host::Impl::find_tool(std::string text) {
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

PermissionDecision Host::Impl::decide(const CatalogEntry& entry, const Payload& arguments) {
  const auto connection = require(entry.server);
  if (!permissions_.look_at_arguments()) return permissions_.decide(entry, Json(), {});
  const auto& config = connection->config();
  return permissions_.decide(entry, argument_value(arguments), argument_directory(config, directory_),
                             argument_roots(config, directory_));
}

Task<void> Host::Impl::permit(CatalogEntry entry, Payload arguments) {
  const auto decision = decide(entry, arguments);
  if (decision.outcome == PermissionOutcome::allow) co_return;
  if (decision.outcome == PermissionOutcome::ask) {
    if (!options_.permission.ask) co_return;
    // A person is asked one thing at a time.
    auto turn = co_await asking_.acquire();
    check_running();
    const PermissionQuestion question{entry, arguments, decision};
    const bool allowed = co_await options_.permission.ask(question);
    check_running();
    if (allowed) co_return;
    throw Error(Errc::denied, fmt::format("'{}' was not called: the person said no ({})", entry.name, decision.reason));
  }
  runtime_.log(LogLevel::info, "server={} event=call_denied tool=\"{}\" text=\"{}\"", log_name(entry.server),
               entry.name, decision.reason);
  throw Error(Errc::denied, denial_text(entry.name, decision));
}

Error Host::Impl::with_failures(Error error) const {
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

void Host::Impl::check_running() const {
  if (stopped_) throw Error(Errc::closed, "the host was stopped");
}

Task<void> Host::Impl::stop(CloseMode mode) {
  const auto self = shared_from_this();
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  if (!std::exchange(stopped_, true)) Scope(co_await asio::this_coro::executor).spawn_last(end_all(self, mode));
  while (!ended_) (void)co_await as_result(all_ended_.wait());
  co_await asio::this_coro::throw_if_cancelled(throws);
}

Task<void> Host::Impl::end_all(std::shared_ptr<Impl> self, CloseMode mode) {
  if (self->scope_) self->scope_->cancel();
  // Held here: what else holds them may let go while they end.
  std::vector<std::shared_ptr<Connection>> all(self->fading_.begin(), self->fading_.end());
  for (const auto& [name, connection] : self->connections_) all.push_back(connection);
  Scope scope(co_await asio::this_coro::executor);
  for (const auto& connection : all) {
    scope.spawn([](std::shared_ptr<Connection> one, CloseMode how) -> Task<void> { co_await one->close(how); }(
                                                                       connection, mode));
  }
  auto closed = co_await as_result(scope.join());
  if (self->scope_) {
    auto joined = co_await as_result(self->scope_->join());
    if (closed) closed = std::move(joined);
  }
  if (!closed) self->runtime_.log(LogLevel::error, "event=stop text=\"{}\"", closed.error().message());
  self->shown_ = self->catalog_ = std::make_shared<const Catalog>();
  self->ended_ = true;
  self->all_ended_.notify_all();
}

Task<Session> Host::Impl::ensure(std::string name) {
  for (;;) {
    auto connection = require(name);
    auto session = co_await as_result(connection->ensure());
    check_running();
    if (session) co_return std::move(*session);
    auto now = connections_.find(name);
    if (session.error().code() != Errc::closed || now == connections_.end() || now->second == connection) {
      throw std::move(session).error();
    }
  }
}

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
  Connection::Call running(*connection);
  auto result = co_await as_result(session.call_tool(entry.tool->name, std::move(arguments), std::move(options)));
  running.ended(result ? std::nullopt : std::optional(result.error()));
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
  co_await impl->prepare();
  co_return co_await impl->reload();
}

Task<ConfigChange> Host::reload(LoadedConfig config) {
  auto impl = impl_;
  co_await impl->prepare();
  auto turn = co_await impl->reloading_.acquire();
  impl->check_running();
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
