#include "gateway/host_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/loop_clock.h"
#include "base/timeout.h"
#include "entries/signature.h"
#include "host/server_error.h"
#include "protocol/codec.h"
#include "protocol/methods.h"
#include "protocol/wire.h"
#include "rpc/error_data.h"
#include "server/context.h"
#include "server/requests.h"
#include "transport/unix_socket.h"

namespace patchbay {
namespace {

using namespace std::chrono_literals;

constexpr auto first_word_limit = 10s;
// A tool that a server has just announced may not be in the catalog yet.
constexpr auto catalog_pause = 100ms;
constexpr int catalog_looks = 20;
constexpr std::size_t requests_at_once = 256;

// The caller has limits of its own; what it gives up is cancelled here.
constexpr std::chrono::milliseconds callers_time{std::chrono::hours(24)};

template <class T>
Json list_of(std::string_view key, const std::vector<T>& items) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(encode(item));
  return Json{{key, std::move(list)}};
}

// Of single resources nobody was told that they can be followed here.
bool is_of_list(Change::Kind kind) noexcept {
  return kind == Change::Kind::tools || kind == Change::Kind::prompts || kind == Change::Kind::resources;
}

ServerStatus state_of(const Host& host, const std::string& server) {
  auto states = host.status();
  const auto found = std::ranges::find(states, server, &ServerStatus::name);
  if (found == states.end()) throw Error(Errc::closed, "the server was removed while it was starting");
  return std::move(*found);
}

// The revision to speak: the one that was asked for, where it is one that begins like this.
std::string agreed_version(const std::string& wanted) {
  const auto known = legacy_versions();
  return std::ranges::find(known, wanted) == known.end() ? std::string(known.front()) : wanted;
}

// What the connection can pass on. Tasks are followed on this side, and who called waits.
ServerCapabilities passed_on(ServerCapabilities capabilities) {
  capabilities.tasks.reset();
  capabilities.extensions.erase(std::string(tasks_extension));
  if (capabilities.resources) capabilities.resources->subscribe = false;
  return capabilities;
}

// The session's own answer has to be there before the caller stops waiting for it.
Duration time_to_answer(std::chrono::milliseconds callers_limit) {
  return as_duration(callers_limit - std::clamp<std::chrono::milliseconds>(callers_limit / 4, 20ms, 2000ms));
}

// Why a server is not there yet, for a caller whose time is over. Pure.
Error not_there_yet(const ServerStatus& state, const std::string& printed, std::chrono::milliseconds limit) {
  const auto seconds = std::chrono::duration<double>(limit).count();
  if (state.reason == ServerReason::reconnecting && state.error) {
    // In front, because it is what the user can do something about.
    return state.error
        ->with_message(fmt::format("{}; it is coming back (attempt {} of {}), and was not there within {} s",
                                   state.error->message(), state.attempt, state.attempts, seconds))
        .with_carried_out(CarriedOut::no);
  }
  auto message = fmt::format("no answer from {} within {} s; ", state.transport, seconds);
  if (printed.empty()) {
    return Error(Errc::timeout, message + "the session goes on starting it")
        .with_carried_out(CarriedOut::no)
        .with_remedy({Remedy::Kind::give_more_time, state.name});
  }
  // More time would not help.
  message += fmt::format(
      "it printed lines on stdout that are not JSON-RPC, such as \"{}\"; stdout is only for the protocol: everything "
      "else must go to stderr",
      printed);
  return Error(Errc::timeout, std::move(message)).with_carried_out(CarriedOut::no);
}

// Whoever changed a file a moment ago means what it says now. A file that cannot be read is as it was.
Task<void> read_files_again(Host& host) { (void)co_await as_result(host.reload()); }

}  // namespace

std::shared_ptr<HostView> HostView::make(const asio::any_io_executor& executor, std::shared_ptr<SharedHost> shared,
                                         Fd socket, Runtime runtime) {
  runtime.limits.server_requests = requests_at_once;
  auto view = std::make_shared<HostView>(std::move(shared), runtime);
  Peer::Handlers handlers;
  // Weak: the view owns the peer that owns this.
  handlers.request = [kept = std::weak_ptr(view)](Request request) -> Task<Payload> {
    auto self = kept.lock();
    if (!self) throw Error(Errc::closed, "the connection was closed");
    return serve(std::move(self), std::move(request));
  };
  handlers.closed = [kept = std::weak_ptr(view)](const Error&) {
    if (auto self = kept.lock()) self->heard_.notify_all();
  };
  view->peer_ = std::make_shared<Peer>(executor, socket_channel(executor, std::move(socket), runtime), runtime,
                                       std::move(handlers));
  return view;
}

HostView::~HostView() {
  shared_->routes->remove(this);
  if (!using_) return;
  --shared_->in_use;
  shared_->use_changed.notify_all();
}

void HostView::begin_use() {
  if (std::exchange(using_, true)) return;
  ++shared_->in_use;
  shared_->routes->add(this);
  shared_->use_changed.notify_all();
}

void HostView::end() { peer_->end(Error(Errc::closed, "the connection was ended to make room for others")); }

// Returns when something was said, or the connection has ended.
Task<void> HostView::first_word(Self self) {
  while (!self->spoken_ && !self->peer_->closed()) co_await self->heard_.wait();
}

Task<void> HostView::run(Self self) {
  const auto peer = self->peer_;
  peer->start();
  auto spoken = co_await as_result(
      with_timeout(first_word(self), first_word_limit, "the connection was ended: nothing was said on it"));
  if (spoken) (void)co_await as_result(peer->wait_closed());
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await asio::this_coro::reset_cancellation_state();
  co_await peer->close(CloseMode::quick);
}

Task<Payload> HostView::serve(Self self, Request request) {
  if (!std::exchange(self->spoken_, true)) self->heard_.notify_all();
  auto params = std::move(request.params).take();
  if (params.is_null()) params = Json::object();
  if (!params.is_object()) throw invalid_params("params: expected an object");
  auto answered = co_await as_result(answer(self, std::move(request.id), std::move(request.method), std::move(params)));
  if (answered) co_return std::move(*answered);
  throw carrying(self->shared_->shown ? self->shared_->shown(answered.error()) : answered.error());
}

Task<Json> HostView::answer(Self self, RequestId id, std::string method, Json params) {
  auto& shared = *self->shared_;
  if (method == method::ping) co_return Json::object();
  if (method == session_method::status) {
    co_await read_files_again(shared.host);
    co_return shared.status();
  }
  if (method == session_method::recording) {
    const auto server = params["server"].text();
    if (!shared.recording) throw method_not_found(method);
    co_return co_await shared.recording(std::string(server.value_or("")));
  }
  if (method == session_method::stop) {
    shared.stop();
    co_return Json::object();
  }
  if (method == session_method::reconnect) {
    const auto server = params["server"].text();
    if (!server) throw invalid_params("server: expected a string");
    self->begin_use();
    co_await read_files_again(shared.host);
    auto made = co_await as_result(shared.host.reconnect(std::string(*server)));
    // Who asks for it knows.
    (void)shared.history.take_restart(std::string(*server));
    value_or_throw(std::move(made));
    co_return Json::object();
  }
  if (method == method::initialize) co_return co_await initialize(self, std::move(params));
  if (!self->initialized_) {
    throw Error::rpc(rpc_code::invalid_request, "the connection is not initialized; begin with initialize");
  }
  const CallerRoutes::Running running(shared.routes, self, self->server_, std::move(id));
  auto options = self->options_for(params, running.id());
  if (method == method::call_tool) co_return co_await call_tool(self, std::move(params), std::move(options));
  // TODO(spec): of several servers at once only tools are offered.
  if (self->server_.empty() && method != method::list_tools) throw method_not_found(method);
  if (method.ends_with("/list")) co_return co_await list(self, std::move(method), std::move(options));
  co_return co_await pass_on(self, std::move(method), std::move(params), std::move(options));
}

CallOptions HostView::options_for(const Json& params, std::uint64_t call) {
  CallOptions options;
  options.call_id = call;
  options.total = callers_time;
  // The caller has checked what it wants to be checked.
  options.check_arguments = options.check_result = server_.empty();
  options.refuse_asking = !typed_;
  if (const Json* token = params["_meta"].find("progressToken")) {
    options.on_progress = [kept = weak_from_this(), token = *token](const Progress& progress) {
      auto self = kept.lock();
      if (!self) return;
      Json told{{"progressToken", token}, {"progress", progress.progress}};
      if (progress.total) told["total"] = *progress.total;
      if (progress.message) told["message"] = *progress.message;
      (void)self->peer_->notify(method::progress, std::move(told));
    };
  }
  return options;
}

Task<Json> HostView::initialize(Self self, Json params) {
  auto& shared = *self->shared_;
  auto& host = shared.host;
  if (self->initialized_) throw Error::rpc(rpc_code::invalid_request, "the connection is already initialized");
  const Json meta = params["_meta"];
  auto request = params_or_throw(decode<InitializeRequest>(std::move(params)));
  if (const auto version = meta[session_meta::version].text(); version && *version != shared.version) {
    throw Error(Errc::config, fmt::format("the session is of version {} and the program that asks of version {}",
                                          shared.version, *version));
  }
  const auto arrived = loop_clock(co_await asio::this_coro::executor).now();
  self->begin_use();
  const auto version = agreed_version(request.protocol_version);
  InitializeResult result{
      .protocol_version = version, .capabilities = {}, .server_info = {}, .instructions = {}, .meta = {}, .extra = {}};
  co_await read_files_again(host);
  if (const auto name = meta[session_meta::server].text()) {
    const std::string server(*name);
    const auto& servers = host.config().servers;
    const auto entry = std::ranges::find(servers, server, &ServerConfig::name);
    const auto hash = meta[session_meta::entry].text();
    if (entry == servers.end() || (hash && *hash != entry_hash(*entry))) {
      throw Error(Errc::config, fmt::format("the session reads other configuration files than this command: there, "
                                            "server \"{}\" is {}",
                                            server, entry == servers.end() ? "not declared" : "another one"));
    }
    const auto limit = meta[session_meta::limit].to_int();
    self->limit_ = std::chrono::milliseconds(std::max<std::int64_t>(limit.value_or(0), 0));
    const auto session = co_await open_server(self, server, arrived, self->limit_);
    const auto description = session.server();
    const auto state = state_of(host, server);
    self->server_ = server;
    self->typed_ = meta[session_meta::typed] == Json(true);
    result.capabilities = find_wire(version)->offered(passed_on(description.capabilities));
    result.server_info = description.info;
    result.instructions = state.server ? state.server->instructions : description.instructions;
    result.meta = Json{{session_meta::about, Json{{"era", state.era ? Json(to_string(*state.era)) : Json()},
                                                  {"protocolVersion", description.protocol_version},
                                                  {"capabilities", encode(description.capabilities)}}}};
    if (const auto restarted = shared.history.take_restart(server)) {
      result.meta[session_meta::about]["restarted"] = restarted->time_since_epoch().count();
    }
  } else {
    result.capabilities.tools = ListChangedCapability{.list_changed = true};
    result.server_info = Implementation{.name = "patchbay", .version = shared.version};
  }
  self->capabilities_ = std::move(request.capabilities);
  self->initialized_ = true;
  co_return encode(result);
}

Task<Session> HostView::open_server(Self self, std::string server, Clock::TimePoint arrived,
                                    std::chrono::milliseconds limit) {
  auto& shared = *self->shared_;
  auto left = Duration::max();
  if (limit > 0ms) {
    const auto spent = loop_clock(co_await asio::this_coro::executor).now() - arrived;
    left = std::max<Duration>(time_to_answer(limit) - spent, as_duration(1ms));
  }
  // Refused without a start where rules deny all of it.
  auto opened = co_await as_result(with_timeout(shared.host.session(server), left, "the caller's time"));
  if (opened) co_return std::move(*opened);
  const auto& error = opened.error();
  const auto state = state_of(shared.host, server);
  if (limit > 0ms && error.code() == Errc::timeout && !state.server && state.state == ServerState::pending) {
    throw not_there_yet(state, shared.history.printed(server), limit);
  }
  // As the server failed, without its name: the caller puts its own name of the server in front.
  if (error.code() != Errc::denied && !state.server && state.error) throw *state.error;
  throw error;
}

// Those that wait for somebody to agree as they were before; without the new ones.
Task<std::vector<Tool>> HostView::as_agreed(Host& host, std::string server, std::vector<Tool> listed) {
  std::vector<Tool> out;
  for (const auto& tool : listed) {
    const auto known = co_await as_result(host.find_tool(server + "/" + tool.name));
    if (known) {
      out.push_back(*known->tool);
    } else if (known.error().code() == Errc::denied) {
      // It is new. Who calls it has to hear why it is not called, which a name that is not listed cannot say.
      out.push_back(tool);
    }
  }
  co_return out;
}

// The tools of this view, as rules leave them.
Json HostView::catalog_json() const {
  Json tools = Json::array();
  for (const auto& entry : shared_->host.catalog()->tools()) {
    if (!server_.empty() && entry.server != server_) continue;
    auto tool = *entry.tool;
    if (server_.empty()) tool.name = entry.name;
    tools.push_back(encode(tool));
    // How it runs is decided on this side: nobody beyond it can ask for a task.
    tools.as_array().back().as_object().erase("execution");
  }
  return Json{{"tools", std::move(tools)}};
}

Task<Json> HostView::list(Self self, std::string method, CallOptions options) {
  auto& host = self->shared_->host;
  options.total.reset();  // all pages of a list have a limit of their own
  if (self->server_.empty()) {
    co_await host.start();
    co_return self->catalog_json();
  }
  if (method == method::list_prompts) co_return list_of("prompts", *(co_await host.prompts(self->server_)).items);
  if (method == method::list_resources) {
    co_return list_of("resources", *(co_await host.resources(self->server_)).items);
  }
  if (method == method::list_resource_templates) {
    co_return list_of("resourceTemplates", *(co_await host.resource_templates(self->server_)).items);
  }
  const auto arrived = loop_clock(co_await asio::this_coro::executor).now();
  const auto limit = std::min(self->limit_, self->runtime_.limits.list);
  auto session = co_await open_server(self, self->server_, arrived, limit);
  if (method == method::list_tools) {
    if (!self->typed_) co_return self->catalog_json();
    auto tools = co_await as_result(session.list_tools(options));
    if (!tools && tools.error().code() == Errc::connect) {
      // It was gone before anybody noticed. It is waited for like any other that is coming back.
      session = co_await open_server(self, self->server_, arrived, limit);
      tools = co_await as_result(session.list_tools(options));
    }
    // The command looks at the rules itself, and says which of them hides a tool.
    auto items = value_or_throw(std::move(tools)).items;
    if (state_of(host, self->server_).reason == ServerReason::changed_tools) {
      items = co_await as_agreed(host, self->server_, std::move(items));
    }
    auto listed = list_of("tools", items);
    for (Json& tool : listed["tools"].as_array()) tool.as_object().erase("execution");
    co_return listed;
  }
  if (method == method::list_skills) co_return list_of("skills", (co_await session.list_skills(options)).items);
  throw method_not_found(method);
}

Task<Json> HostView::pass_on(Self self, std::string method, Json params, CallOptions options) {
  const auto arrived = loop_clock(co_await asio::this_coro::executor).now();
  auto session = co_await open_server(self, self->server_, arrived, self->limit_);
  if (method == method::read_resource) {
    auto request = params_or_throw(decode<ReadResourceRequest>(std::move(params)));
    co_return encode(co_await session.read_resource(std::move(request.uri), std::move(options)));
  }
  if (method == method::get_prompt) {
    auto request = params_or_throw(decode<GetPromptRequest>(std::move(params)));
    co_return encode(
        co_await session.get_prompt(std::move(request.name), std::move(request.arguments), std::move(options)));
  }
  if (method == method::complete) {
    auto request = params_or_throw(decode<CompleteRequest>(std::move(params)));
    co_return encode(co_await session.complete(std::move(request), std::move(options)));
  }
  if (method == method::get_skill) {
    auto request = params_or_throw(decode<ResourceUri>(std::move(params)));
    co_return Json{{"skill", encode(co_await session.get_skill(std::move(request.uri), std::move(options)))}};
  }
  if (method == method::read_directory) {
    auto request = params_or_throw(decode<ResourceUri>(std::move(params)));
    co_return list_of("resources", (co_await session.read_directory(std::move(request.uri), std::move(options))).items);
  }
  if (method == method::set_log_level) {
    co_await session.set_log_level(params_or_throw(decode<SetLevelRequest>(std::move(params))).level);
    co_return Json::object();
  }
  throw method_not_found(method);
}

Task<std::string> HostView::exposed_name(Self self, std::string tool) {
  auto& host = self->shared_->host;
  for (int looked = 1;; ++looked) {
    auto found = co_await as_result(host.find_tool(self->server_ + "/" + tool));
    if (found && found->server == self->server_ && found->tool->name == tool) co_return found->name;
    const auto catalog = host.catalog();
    for (const auto& entry : catalog->tools()) {
      if (entry.server == self->server_ && entry.tool->name == tool) co_return entry.name;
    }
    if (!found && found.error().code() != Errc::invalid_argument) throw std::move(found).error();
    if (looked == catalog_looks) {
      throw Error(Errc::invalid_argument, fmt::format("server \"{}\" has no tool \"{}\"", self->server_, tool));
    }
    co_await sleep_for(catalog_pause);
  }
}

Task<Json> HostView::call_tool(Self self, Json params, CallOptions options) {
  auto& host = self->shared_->host;
  auto request = params_or_throw(decode<CallToolRequest>(std::move(params)));
  auto arguments = request.arguments.is_null() ? Payload() : Payload(std::move(request.arguments));
  if (self->server_.empty()) {
    options.total.reset();
    co_return encode(co_await host.call(request.name, std::move(arguments), std::move(options)));
  }
  auto name = co_await as_result(exposed_name(self, request.name));
  if (!name) throw std::move(name).error().with_carried_out(CarriedOut::no);
  auto called = co_await as_result(host.call(std::move(*name), std::move(arguments), std::move(options)));
  // The caller names server and tool itself.
  if (!called) {
    const auto outcome = called.error().carried_out().value_or(CarriedOut::unknown);
    throw Error(called.error().original()).with_carried_out(outcome);
  }
  co_return encode(*called);
}

Task<ElicitResult> HostView::elicit(ElicitRequest question, RequestId about) {
  auto self = shared_from_this();
  const ElicitResult nobody{.action = ElicitResult::Action::cancel};
  if (!missing_capability(capabilities_, question).is_null() || peer_->closed()) co_return nobody;
  PeerCall call;
  call.id = peer_->reserve_id();
  call.method = method::elicit;
  call.params = encode(question);
  call.about = std::move(about);
  const auto peer = peer_;
  auto given = co_await as_result(peer->call(std::move(call)));
  // Cancelled for the server, and never without a word.
  const auto cancelled = [&](const Error& why) {
    runtime_.log.for_server(self->server_)(LogLevel::warning, "question_cancelled", "reason", why.message());
    return nobody;
  };
  if (!given) {
    if (given.error().code() == Errc::cancelled || given.error().code() == Errc::closed) co_return nobody;
    co_return cancelled(given.error());
  }
  auto answer = decode_answer(question, std::move(*given).take(), runtime_.limits.schema_steps);
  if (!answer) co_return cancelled(answer.error());
  co_return std::get<ElicitResult>(std::move(*answer));
}

void HostView::log(const LogMessage& message) { (void)peer_->notify(method::log_message, encode(message)); }

void HostView::changed(const Change& change) {
  // Who is shown the catalog hears of it when it is another one.
  if (change.kind == Change::Kind::tools && !typed_) return;
  if (is_of_list(change.kind) && initialized_) (void)peer_->notify(notification_of(change.kind), {});
}

void HostView::catalog_changed() {
  if (!typed_ && initialized_) (void)peer_->notify(method::tools_changed, {});
}

}  // namespace patchbay
