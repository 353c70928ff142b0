#include <unistd.h>

#include <array>
#include <filesystem>
#include <map>
#include <ranges>

#include <fmt/format.h>

#include <patchbay/host.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/strings.h"
#include "config/limits.h"
#include "host/connection.h"
#include "host/naming.h"

namespace patchbay {

std::string_view to_string(ServerState state) noexcept {
  static constexpr std::array names{"connected", "failed", "needs-auth", "pending", "disabled"};
  return names.at(static_cast<std::size_t>(state));
}

namespace {

StdioOptions stdio_options(const ServerConfig& config) {
  StdioOptions options;
  options.command = config.command;
  options.args = config.args;
  for (const auto& [key, value] : config.env) options.env[key] = value;
  options.cwd = config.cwd.value_or("");
  return options;
}

HttpOptions http_options(const ServerConfig& config) {
  HttpOptions options;
  options.url = config.url;
  options.headers = config.headers;
  return options;
}

// The recipe for an entry, or why there is none. Messages show the entry as it was written,
// so that no value of a variable appears in them.
std::shared_ptr<Transport> transport_for(const ServerConfig& config, const ServerConfig& written,
                                         std::optional<Error>& unusable) {
  if (config.kind == ServerKind::stdio) {
    auto options = stdio_options(config);
    options.shown = stdio_transport(stdio_options(written))->describe();
    return stdio_transport(std::move(options));
  }
  const bool sse = config.kind == ServerKind::sse;
  if (!sse && config.kind != ServerKind::http) {
    unusable = Error(Errc::unsupported,
                     fmt::format("server '{}' is of type {}, which this version does not reach; it reaches stdio, http "
                                 "and sse",
                                 config.name, to_string(config.kind)));
  } else if (config.url.empty()) {
    unusable = Error(Errc::config,
                     fmt::format("server '{}' has an empty url; set it in {}", config.name, written.origin.file));
  } else {
    auto options = http_options(config);
    options.shown = http_transport(http_options(written))->describe();
    return sse ? sse_transport(std::move(options)) : http_transport(std::move(options));
  }
  return nullptr;
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
      LoadRequest request;
      request.cwd = std::filesystem::current_path();
      request.trust_project = options_.trust_project;
      options_.config = load_servers(request);
    }
  }

  struct InProcess {
    std::shared_ptr<Server> server;
    NamePrefix prefix;
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
      found.emplace(name, std::move(parts));
    }
    for (const auto& config : std::views::reverse(options_.config->servers)) {
      if (!is_new(config.name)) continue;
      Connection::Parts parts;
      parts.config = expand_server(config, process_environment());
      if (config.standing == ServerStanding::broken) {
        parts.unusable = Error(Errc::config, fmt::format("server '{}' in {} cannot be used: {}", config.name,
                                                         config.origin.file, config.reason));
      } else {
        parts.transport = transport_for(parts.config, config, parts.unusable);
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
    for (auto& [name, parts] : new_servers()) {
      auto& slots = parts.config.kind == ServerKind::stdio ? local_slots_ : remote_slots_;
      for (const auto& warning : parts.config.warnings) {
        runtime_.log(LogLevel::warning, "server={} event=config text=\"{}\"", name, warning);
      }
      if (options_.approve) {
        parts.approve = [this](const ServerConfig& server) { return approve(server); };
      }
      parts.follow_changes = options_.follow_changes;
      parts.on_change = [this](Connection& connection) { changed(connection); };
      connections_[name] = std::make_unique<Connection>(executor, runtime_, options_.client, slots, std::move(parts));
    }
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

  Connection& require(const std::string& name) {
    auto found = connections_.find(name);
    if (found != connections_.end()) return *found->second;
    std::vector<std::string> names;
    for (const auto& [known, connection] : connections_) names.push_back(known);
    auto meant = nearest(name, names);
    throw Error(Errc::invalid_argument,
                fmt::format("no server is called '{}'{}", name,
                            !meant.empty()  ? fmt::format("; did you mean '{}'?", meant)
                            : names.empty() ? "; none is configured"
                                            : fmt::format("; there are {}", fmt::join(names, ", "))));
  }

  Task<void> start(std::vector<Connection*> wanted) {
    Scope scope(co_await asio::this_coro::executor);
    for (auto* connection : wanted) {
      scope.spawn([](Connection& one) -> Task<void> { (void)co_await as_result(one.ensure()); }(*connection));
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
    tell(options_.on_catalog);
  }

  Task<CatalogEntry> find_tool(std::string text) {
    co_await prepare();
    // What is connected already may know it.
    if (const auto* entry = catalog_->at(text)) co_return *entry;
    std::vector<Connection*> meant;
    for (const auto& [name, connection] : connections_) {
      if (names_server(text, name)) meant.push_back(connection.get());
    }
    if (meant.size() == 1) {
      // Only this server can be meant, so its failure is the answer.
      co_await meant.front()->ensure();
    } else if (!meant.empty()) {
      co_await start(meant);
    }
    if (meant.empty()) {
      // Any server may have it, so the answer must not depend on which happen to be connected.
      // One that could not be started is not tried again for every name that nobody knows.
      std::vector<Connection*> all;
      for (const auto& [name, connection] : connections_) {
        if (connection->worth_trying()) all.push_back(connection.get());
      }
      co_await start(all);
    }
    auto found = catalog_->require(text);
    if (!found) throw meant.empty() ? with_failures(std::move(found).error()) : std::move(found).error();
    co_return **found;
  }

  // An unknown tool may belong to a server that did not start: say which did not.
  Error with_failures(Error error) const {
    std::vector<std::string> failed;
    for (const auto& [name, connection] : connections_) {
      auto status = connection->status();
      if (status.state == ServerState::connected || status.state == ServerState::disabled) continue;
      failed.push_back(fmt::format("'{}': {}", name, status.error ? status.error->message() : status.reason));
    }
    if (failed.empty()) return error;
    return Error(error.code(), fmt::format("{} (not connected: {})", error.message(), fmt::join(failed, "; ")));
  }

  Task<void> stop(CloseMode mode) {
    stopped_ = true;
    Scope scope(co_await asio::this_coro::executor);
    for (auto& [name, connection] : connections_) {
      scope.spawn([](Connection& one, CloseMode how) -> Task<void> { co_await one.close(how); }(*connection, mode));
    }
    co_await scope.join();
    catalog_ = std::make_shared<const Catalog>();
  }

  HostOptions options_;
  Runtime runtime_;
  Semaphore local_slots_;
  Semaphore remote_slots_;
  Semaphore asking_{1};
  std::map<std::string, InProcess> in_process_;
  std::map<std::string, std::unique_ptr<Connection>> connections_;
  std::shared_ptr<const Catalog> catalog_ = std::make_shared<const Catalog>();
  asio::any_io_executor executor_;
  bool stopped_ = false;
};

Host::Host() : Host(HostOptions{}) {}
Host::Host(HostOptions options) : Host(std::move(options), runtime_of_environment()) {}
Host::Host(HostOptions options, const Runtime& runtime) : impl_(std::make_shared<Impl>(std::move(options), runtime)) {}

// A host that was not stopped ends its connections now; the last coroutine keeps what it
// needs alive until they have ended.
Host::~Host() {
  if (impl_->stopped_ || impl_->connections_.empty()) return;
  Scope(impl_->executor_).spawn_last([](std::shared_ptr<Impl> keep) -> Task<void> {
    co_await keep->stop(CloseMode::quick);
  }(impl_));
}

void Host::add_server(std::string name, std::shared_ptr<Server> server, NamePrefix prefix) {
  impl_->in_process_[std::move(name)] = {std::move(server), prefix};
}

void Host::add_server(ServerConfig config) { impl_->options_.config->servers.push_back(std::move(config)); }

Task<void> Host::start() {
  auto impl = impl_;
  co_await impl->prepare();
  std::vector<Connection*> all;
  for (const auto& [name, connection] : impl->connections_) all.push_back(connection.get());
  co_await impl->start(std::move(all));
}

Task<void> Host::start(std::vector<std::string> names) {
  auto impl = impl_;
  co_await impl->prepare();
  std::vector<Connection*> some;
  for (const auto& name : names) some.push_back(&impl->require(name));
  co_await impl->start(std::move(some));
}

std::shared_ptr<const Catalog> Host::catalog() const noexcept { return impl_->catalog_; }

std::vector<ServerStatus> Host::status() const { return impl_->status(); }

const LoadedConfig& Host::config() const noexcept { return *impl_->options_.config; }

Task<CallToolResult> Host::call(std::string tool, Payload arguments, CallOptions options) {
  auto impl = impl_;
  auto entry = co_await impl->find_tool(std::move(tool));
  auto& connection = impl->require(entry.server);
  if (!options.total && connection.config().timeout) options.total = connection.config().timeout;
  auto session = co_await connection.ensure();
  co_return co_await session.call_tool(entry.tool->name, std::move(arguments), std::move(options));
}

Task<CatalogEntry> Host::find_tool(std::string tool) {
  auto impl = impl_;
  co_return co_await impl->find_tool(std::move(tool));
}

Task<Session> Host::session(std::string server) {
  auto impl = impl_;
  co_await impl->prepare();
  co_return co_await impl->require(server).ensure();
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
