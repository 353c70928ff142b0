#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/strings.h"
#include "base/timeout.h"
#include "entries/limits.h"
#include "host/hooks/agent_hooks.h"
#include "host/host_impl.h"
#include "host/make_host.h"

namespace patchbay {

using namespace std::chrono_literals;

std::string_view to_string(ServerState state) noexcept {
  static constexpr std::array names{"connected", "failed", "needs-auth", "pending", "disabled"};
  return names.at(static_cast<std::size_t>(state));
}

std::string_view to_string(ServerReason reason) noexcept {
  switch (reason) {
    case ServerReason::none:
      return "";
    case ServerReason::not_started:
      return "not started";
    case ServerReason::connecting:
      return "connecting";
    case ServerReason::reconnecting:
      return "reconnecting";
    case ServerReason::awaiting_approval:
      return to_string(ServerStanding::awaiting_approval);
    case ServerReason::not_usable:
      return "not usable";
    case ServerReason::wants_credentials:
      return "wants credentials";
    case ServerReason::connect_failed:
      return "connect failed";
    case ServerReason::tools_fetch_failed:
      return "tools fetch failed";
    case ServerReason::changed_tools:
      return "changed tools";
    case ServerReason::connection_lost:
      return "connection lost";
    case ServerReason::gave_up:
      return "gave up";
    case ServerReason::keeps_ending:
      return "keeps ending";
    case ServerReason::closed:
      return "closed";
    case ServerReason::rejected:
      return to_string(ServerStanding::rejected);
    case ServerReason::disabled:
      return to_string(ServerStanding::disabled);
    case ServerReason::policy:
      return to_string(ServerStanding::policy);
    case ServerReason::duplicate:
      return to_string(ServerStanding::duplicate);
    case ServerReason::not_configured:
      return to_string(ServerStanding::not_configured);
    case ServerReason::broken:
      return to_string(ServerStanding::broken);
    case ServerReason::shadowed:
      return to_string(ServerStanding::shadowed);
  }
  return "";
}

std::string reason_text(const ServerStatus& status) {
  if (status.attempts == 0) return std::string(to_string(status.reason));
  return fmt::format("{} {}/{}", to_string(status.reason), status.attempt, status.attempts);
}

namespace {

constexpr auto between_catalogs = 50ms;

// What applies when the program does not hand in a Runtime.
Runtime runtime_of_environment(const LogOptions& log) {
  Runtime runtime;
  runtime.limits = limits_from(process_environment());
  runtime.log = Log(log);
  return runtime;
}

}  // namespace

std::vector<ServerStatus> Host::Impl::status() const {
  std::map<std::string, ServerStatus> known;
  for (const auto& [name, connection] : connections_) known.emplace(name, connection->status());
  if (!stopped_ && unprepared_) {
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
              fmt::format("there is no server called \"{}\"{}", name,
                          !meant.empty()  ? fmt::format("; did you mean \"{}\"?", meant)
                          : names.empty() ? "; no server is configured"
                                          : fmt::format("; the servers are {}", fmt::join(names, ", "))));
}

Task<void> Host::Impl::start(std::vector<std::shared_ptr<Connection>> wanted, std::shared_ptr<CallClock> time,
                             CallContext context) {
  Scope scope(co_await asio::this_coro::executor);
  for (const auto& connection : wanted) {
    scope.spawn([](std::shared_ptr<Connection> one, std::shared_ptr<CallClock> left, CallContext call) -> Task<void> {
      (void)co_await as_result(one->ensure(left, std::move(call)));
    }(connection, time, context));
  }
  // Whoever stops waiting stops waiting now; the attempts go on for others.
  co_await scope.finish();
  check_running();
  tell_catalog();
}

Task<bool> Host::Impl::approve(ApprovalQuestion question) {
  auto turn = co_await asking_->queue().acquire();
  co_return co_await questions_->run(ask(options_.approve, std::move(question)));
}

void Host::Impl::tell_folders() const {
  for (const auto& [name, connection] : connections_) {
    if (const auto* session = connection->session()) Session(*session).roots_changed();
  }
}

void Host::Impl::changed(Connection& connection) {
  // One that was replaced may have had something to say already.
  if (!is_current(connection)) return;
  spelled_.clear();
  // Tools of a server that is gone stay: it comes back, and a list that changes back and forth costs a model its
  // prompt cache.
  if (offered_.set(connection.name(), connection.prefix(), tools_of(connection))) tell_catalog_soon();
  const auto status = connection.status();
  // A list that it has not made itself is not kept as if it had.
  const bool known = connection.has_listed() || status.reason != ServerReason::none;
  if (recorder_ && known && !reached_.contains(connection.name())) {
    recorder_->note(connection.config(), status, connection.tools());
  }
  if (events_->wanted()) events_->tell(status);
}

void Host::Impl::tell_catalog() {
  if (!std::exchange(catalog_untold_, false)) return;
  auto now = offered_.shown(permissions_);
  if (now == told_catalog_) return;
  told_catalog_ = std::move(now);
  events_->tell(CatalogChange{});
}

// Many servers that connect within a moment are one new catalog.
void Host::Impl::tell_catalog_soon() {
  catalog_untold_ = true;
  if (!events_->wanted() || std::exchange(telling_catalog_, true)) return;
  scope_->spawn(tell_catalogs());
}

Task<void> Host::Impl::tell_catalogs() {
  while (catalog_untold_) {
    tell_catalog();
    co_await sleep_for(between_catalogs);
  }
  telling_catalog_ = false;
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
  if (self->questions_) self->questions_->end(Error(Errc::closed, "the host was stopped"));
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
  self->hook_runner_ = nullptr;  // and its connections
  // What a renewal brings is kept, however it ends here.
  (void)co_await as_result(self->sign_ins_->close());
  // Behind the last words of every server.
  if (self->flight_) (void)co_await as_result(self->flight_->finish());
  if (self->recorder_) (void)co_await as_result(self->recorder_->finish());
  (void)co_await as_result(self->channels_->finish());
  // Whoever answers questions gets a moment to notice: what it uses may go with the host.
  if (self->questions_) {
    (void)co_await as_result(self->questions_->wait_ended(as_duration(self->runtime_.limits.exit_after_eof)));
  }
  if (!closed) self->runtime_.log(LogLevel::error, "stop", "text", closed.error().message());
  self->offered_ = {};
  self->spelled_.clear();
  self->ended_ = true;
  self->all_ended_.notify_all();
}

bool Host::Impl::is_current(const Connection& connection) const {
  const auto now = connections_.find(connection.name());
  return now != connections_.end() && now->second.get() == &connection;
}

Task<Session> Host::Impl::ensure(std::string name, std::shared_ptr<CallClock> time, CallContext context) {
  for (;;) {
    auto connection = require(name);
    auto session = co_await as_result(connection->ensure(time, context));
    check_running();
    if (session) co_return std::move(*session);
    auto now = connections_.find(name);
    if (session.error().code() != Errc::closed || now == connections_.end() || now->second == connection) {
      throw std::move(session).error();
    }
  }
}

template <class T>
Task<ServerList<T>> Host::Impl::list(std::string name, Task<ServerList<T>> (Connection::*method)()) {
  const auto self = shared_from_this();
  co_await prepare();
  (void)require(name);
  permissions_.require_server(name);
  for (;;) {
    const auto connection = require(name);
    auto listed = co_await as_result(((*connection).*method)());
    check_running();
    if (listed) {
      if constexpr (std::is_same_v<T, Prompt>) {
        const bool declared = !in_process_.contains(name) && !reached_.contains(name);
        if (declared && !listed->from_before) co_await pins_->look_at_prompts(connection->config(), listed->items);
        check_running();
      }
      co_return std::move(*listed);
    }
    auto now = connections_.find(name);
    if (listed.error().code() != Errc::closed || now == connections_.end() || now->second == connection) {
      throw std::move(listed).error();
    }
  }
}

Host::Host() : Host(HostOptions{}) {}
Host::Host(HostOptions options) {
  const auto runtime = runtime_of_environment(options.client.log);
  impl_ = std::make_shared<Impl>(std::move(options), runtime, std::string());
}
Host::Host(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

struct HostMaker {
  static Host make(HostOptions options, const Runtime& runtime, std::string doing, Reach reach,
                   std::shared_ptr<SecretVault> vault) {
    auto impl = std::make_shared<Host::Impl>(std::move(options), runtime, std::move(doing), std::move(vault));
    impl->reach_ = std::move(reach);
    return Host(std::move(impl));
  }
  static void leave_hooks(Host& host, std::string server) { host.impl_->hooks_elsewhere_.insert(std::move(server)); }
  static Task<HookVerdict> ask_agent_hooks(Host& host, HookEvent event, std::string what, Json facts) {
    return Host::Impl::ask_agent_hooks(host.impl_, event, std::move(what), std::move(facts));
  }
  static void set_conversation(Host& host, std::string id, std::string transcript) {
    host.impl_->conversation_of_hooks_ = {std::move(id), std::move(transcript)};
  }
  static const std::string& conversation_of(Host& host) { return host.impl_->conversation_of_hooks_.id; }
  static std::shared_ptr<FlightRecorder> flight_of(Host& host) { return host.impl_->flight_; }
};

void leave_hooks_to_server(Host& host, std::string server) { HostMaker::leave_hooks(host, std::move(server)); }

Task<HookVerdict> ask_agent_hooks(Host& host, HookEvent event, std::string what, Json facts) {
  return HostMaker::ask_agent_hooks(host, event, std::move(what), std::move(facts));
}

void tell_hooks_of_conversation(Host& host, std::string id, std::string transcript) {
  HostMaker::set_conversation(host, std::move(id), std::move(transcript));
}

bool hooks_are_told_of(Host& host, std::string_view id) { return HostMaker::conversation_of(host) == id; }

std::shared_ptr<FlightRecorder> flight_recorder_of(Host& host) { return HostMaker::flight_of(host); }

Host make_host(HostOptions options, const Runtime& runtime, std::string doing, Reach reach,
               std::shared_ptr<SecretVault> vault) {
  return HostMaker::make(std::move(options), runtime, std::move(doing), std::move(reach), std::move(vault));
}

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
  impl_->unprepared_ = true;
}

void Host::add_server(ServerConfig config, std::shared_ptr<Transport> transport) {
  auto name = config.name;
  impl_->reached_.insert_or_assign(std::move(name), Impl::Reached{std::move(config), std::move(transport)});
  impl_->unprepared_ = true;
}

void Host::add_server(ServerConfig config) {
  impl_->added_.push_back(std::move(config));
  impl_->unprepared_ = true;
}

bool Host::remove_server(const std::string& name) {
  auto& impl = *impl_;
  const auto here = impl.in_process_.erase(name) + impl.reached_.erase(name);
  const auto declared = std::erase_if(impl.added_, [&](const ServerConfig& config) { return config.name == name; });
  if (here + declared == 0) return false;
  if (impl.stopped_ || !impl.connections_.contains(name)) return true;
  (void)impl.replace(name);
  impl.before_[name].clear();  // another server of that name has other tools
  impl.make_connections();
  if (impl.flight_) impl.flight_->forget(name);
  return true;
}

std::vector<std::shared_ptr<Connection>> Host::Impl::startable() const {
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [name, connection] : connections_) {
    if (recorder_ && recorder_->holds_back(name)) continue;
    if (!refused_whole(name)) all.push_back(connection);
  }
  return all;
}

void Host::set_folders(std::vector<std::string> folders) {
  if (impl_->asking_->set_folders(std::move(folders))) impl_->tell_folders();
}

Task<void> Host::prepare() {
  auto impl = impl_;
  co_await impl->prepare();
}

Task<void> Host::start() {
  auto impl = impl_;
  co_await impl->prepare();
  impl->started_ = true;
  co_await impl->start(impl->startable());
}

Task<void> Host::begin(BeginWait wait) {
  auto impl = impl_;
  co_await impl->prepare();
  impl->started_ = true;
  auto all = impl->startable();
  std::vector<std::shared_ptr<Connection>> awaited, required;
  for (const auto& connection : all) {
    // One in this process keeps nobody waiting.
    const bool embedded = connection->config().origin.scope == ConfigScope::embedded;
    if (embedded || wait == BeginWait::all || connection->config().always_load) awaited.push_back(connection);
    if (connection->config().required) required.push_back(connection);
  }
  impl->scope_->spawn(impl->start_quietly(std::move(all)));
  // One that is late is there when it is there.
  (void)co_await as_result(with_timeout(impl->start(std::move(awaited)),
                                        as_duration(impl->runtime_.limits.conversation), "servers are still starting"));
  impl->check_running();
  for (const auto& connection : required) (void)co_await impl->ensure(connection->name());
}

Task<void> Host::start(std::vector<std::string> names) {
  auto impl = impl_;
  co_await impl->prepare();
  std::vector<std::shared_ptr<Connection>> some;
  for (const auto& name : names) some.push_back(impl->require(name));
  co_await impl->start(std::move(some));
}

std::shared_ptr<const Catalog> Host::catalog() const { return impl_->offered_.shown(impl_->permissions_); }

std::vector<ServerStatus> Host::status() const { return impl_->status(); }

const LoadedConfig& Host::config() const noexcept { return *impl_->options_.config; }

std::vector<ConfigProblem> Host::permission_problems() const {
  std::vector<std::string> names;
  for (const auto& status : impl_->status()) names.push_back(status.name);
  auto problems = impl_->permissions_.problems();
  std::ranges::copy(impl_->hooks_.problems(), std::back_inserter(problems));
  std::ranges::move(impl_->channel_problems(), std::back_inserter(problems));
  std::ranges::move(impl_->permissions_.unknown_names(names, *impl_->offered_.all()), std::back_inserter(problems));
  return problems;
}

Task<Session> Host::session(std::string server, CallContext on_behalf) {
  auto impl = impl_;
  co_await impl->prepare();
  (void)impl->require(server);
  impl->permissions_.require_server(server);
  co_return co_await impl->ensure(std::move(server), nullptr, std::move(on_behalf));
}

Task<ServerList<Prompt>> Host::prompts(std::string server) {
  return impl_->list(std::move(server), &Connection::prompts);
}
Task<ServerList<Resource>> Host::resources(std::string server) {
  return impl_->list(std::move(server), &Connection::resources);
}
Task<ServerList<ResourceTemplate>> Host::resource_templates(std::string server) {
  return impl_->list(std::move(server), &Connection::resource_templates);
}

Task<void> Host::reconnect(std::string server) {
  auto impl = impl_;
  co_await impl->prepare();
  auto connection = impl->require(server);
  impl->permissions_.require_server(server);
  if (const auto sign_in = impl->sign_ins_->find(server)) sign_in->read_again();
  auto made = co_await as_result(connection->reconnect());
  impl->check_running();
  if (made) co_return;
  // The one that has taken its place is a new connection.
  if (made.error().code() != Errc::closed || impl->is_current(*connection)) throw std::move(made).error();
  (void)co_await impl->ensure(std::move(server));
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
