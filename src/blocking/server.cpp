// A server of the blocking face: the loop serves, handlers run on helper threads.
#include "blocking/server.h"

#include <algorithm>

namespace patchbay::blocking {
namespace {

// Handlers may wait for each other's work, or for a person: a few more threads than cores.
std::size_t handler_threads() { return std::max<std::size_t>(8, std::thread::hardware_concurrency()); }

ServerOptions logging_off_loop(ServerOptions options, const Loop& threads) {
  options.log.sink = posted(threads.callbacks(), std::move(options.log.sink));
  return options;
}

// A handler that takes values only.
template <class R, class... A>
auto handler_of(std::shared_ptr<const Places> places, std::function<R(A...)> function) {
  return [places = std::move(places), function = std::move(function)](RequestContext& context, A... arguments) {
    return run_handler<R>(places, context, [function, ... each = std::move(arguments)](Handling&) mutable {
      return function(std::move(each)...);
    });
  };
}

}  // namespace

struct ToolCall::Impl {
  Handling& handling;

  void tell(std::function<void(RequestContext&)> what) {
    (void)handling.on_loop<bool>([&](RequestContext& context) {
      what(context);
      return true;
    });
  }
};

std::optional<Implementation> ToolCall::client() const {
  return impl_.handling.on_loop<std::optional<Implementation>>([](RequestContext& c) { return c.client(); });
}
ClientCapabilities ToolCall::client_capabilities() const {
  return impl_.handling.on_loop<ClientCapabilities>([](RequestContext& c) { return c.client_capabilities(); });
}
std::stop_token ToolCall::stopped() const noexcept { return impl_.handling.stopped(); }
void ToolCall::progress(double value, std::optional<double> total, std::optional<std::string> message) {
  impl_.tell([&](RequestContext& context) { context.progress(value, total, std::move(message)); });
}
void ToolCall::log(LoggingLevel level, Json data, std::optional<std::string> logger) {
  impl_.tell([&](RequestContext& context) { context.log(level, std::move(data), std::move(logger)); });
}
void ToolCall::release_stream(std::optional<std::chrono::milliseconds> retry) {
  impl_.tell([&](RequestContext& context) { context.release_stream(retry); });
}
void ToolCall::status(std::string message) {
  impl_.tell([&](RequestContext& context) { context.status(std::move(message)); });
}
bool ToolCall::start_task() {
  return impl_.handling.on_loop<bool>([](RequestContext& context) { return context.start_task(); });
}
ElicitResult ToolCall::elicit(ElicitRequest request, std::string name) {
  return impl_.handling.ask<ElicitResult>(
      [&](RequestContext& context) { return context.elicit(std::move(request), std::move(name)); });
}
CreateMessageResult ToolCall::sample(CreateMessageRequest request, std::string name) {
  return impl_.handling.ask<CreateMessageResult>(
      [&](RequestContext& context) { return context.sample(std::move(request), std::move(name)); });
}
std::vector<Root> ToolCall::list_roots(std::string name) {
  return impl_.handling.ask<std::vector<Root>>(
      [&](RequestContext& context) { return context.list_roots(std::move(name)); });
}

Server::Impl::Impl(ServerOptions options)
    : threads(Loop::start(handler_threads())),
      places(std::make_shared<Places>(threads->callbacks(), threads->callbacks())),
      server(std::make_shared<patchbay::Server>(logging_off_loop(std::move(options), *threads))),
      loop_(threads) {}

// What belongs to the loop is let go of there.
Server::Impl::~Impl() {
  try {
    loop()->run<void>([this] {
      return [](Impl* last) -> Task<void> {
        last->server.reset();
        co_return;
      }(this);
    });
  } catch (const Error&) {
  }
}

std::shared_ptr<Loop> Server::Impl::loop() {
  std::lock_guard lock(mutex_);
  return loop_;
}

// A stop that was asked for is not a failure.
void Server::Impl::serve(std::function<Task<void>()> serving, const std::stop_token& stop) {
  struct Door {
    explicit Door(Impl& i) : impl(i) {
      std::lock_guard lock(impl.mutex_);
      loop = impl.loop_;
      ++impl.doors_;
    }
    Door(const Door&) = delete;
    Door& operator=(const Door&) = delete;
    ~Door() {
      std::lock_guard lock(impl.mutex_);
      --impl.doors_;
    }
    Impl& impl;
    std::shared_ptr<Loop> loop;
  };
  const Door door(*this);
  try {
    door.loop->run<void>(std::move(serving), stop);
  } catch (const Error& error) {
    if (error.code() != Errc::cancelled || !stop.stop_requested()) throw;
  }
}

std::shared_ptr<patchbay::Server> Server::Impl::join(std::shared_ptr<Loop> host) {
  std::lock_guard lock(mutex_);
  if (loop_ == host) return server;
  if (doors_ > 0)
    throw Error(Errc::invalid_argument,
                "the server already serves clients; add it to the host before it begins to serve");
  if (loop_ != threads) throw Error(Errc::invalid_argument, "the server was already added to another host");
  places->loop = host->callbacks();
  loop_ = std::move(host);
  return server;
}

Server::Server(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Server::Server(std::string name, std::string version, std::string instructions)
    : Server([&] {
        ServerOptions options;
        options.info.name = std::move(name);
        options.info.version = std::move(version);
        if (!instructions.empty()) options.instructions = std::move(instructions);
        return options;
      }()) {}

Server::~Server() = default;

void Server::add_tool(Tool tool, ToolFunction handler, ToolOptions options) {
  auto call = [places = impl_->places, handler = std::move(handler)](RequestContext& context, Json arguments) {
    return run_handler<CallToolResult>(places, context,
                                       [handler, arguments = std::move(arguments)](Handling& handling) mutable {
                                         ToolCall::Impl impl{handling};
                                         ToolCall meanwhile(impl);
                                         return handler(meanwhile, std::move(arguments));
                                       });
  };
  impl_->run<void>([&](patchbay::Server& server) { server.add_tool(std::move(tool), std::move(call), options); });
}
bool Server::remove_tool(std::string name) {
  return impl_->run<bool>([&](patchbay::Server& server) { return server.remove_tool(name); });
}

void Server::add_resource(Resource resource, std::function<std::vector<ResourceContents>(std::string uri)> handler) {
  auto read = handler_of(impl_->places, std::move(handler));
  impl_->run<void>([&](patchbay::Server& server) { server.add_resource(std::move(resource), std::move(read)); });
}
bool Server::remove_resource(std::string uri) {
  return impl_->run<bool>([&](patchbay::Server& server) { return server.remove_resource(uri); });
}
void Server::add_resource_template(
    ResourceTemplate resource_template,
    std::function<std::vector<ResourceContents>(std::string uri, std::map<std::string, std::string> variables)>
        handler) {
  auto read = handler_of(impl_->places, std::move(handler));
  impl_->run<void>(
      [&](patchbay::Server& server) { server.add_resource_template(std::move(resource_template), std::move(read)); });
}

void Server::add_skill(std::string path, std::vector<SkillFile> files) {
  impl_->run<void>([&](patchbay::Server& server) { server.add_skill(std::move(path), std::move(files)); });
}
bool Server::remove_skill(std::string path) {
  return impl_->run<bool>([&](patchbay::Server& server) { return server.remove_skill(path); });
}

void Server::add_prompt(Prompt prompt,
                        std::function<GetPromptResult(std::map<std::string, std::string> arguments)> handler) {
  auto get = handler_of(impl_->places, std::move(handler));
  impl_->run<void>([&](patchbay::Server& server) { server.add_prompt(std::move(prompt), std::move(get)); });
}
bool Server::remove_prompt(std::string name) {
  return impl_->run<bool>([&](patchbay::Server& server) { return server.remove_prompt(name); });
}
void Server::set_completion(std::function<CompleteResult(CompleteRequest request)> handler) {
  auto complete = handler_of(impl_->places, std::move(handler));
  impl_->run<void>([&](patchbay::Server& server) { server.set_completion(std::move(complete)); });
}

void Server::resource_updated(std::string uri) {
  impl_->run<void>([&](patchbay::Server& server) { server.resource_updated(uri); });
}

void Server::serve_stdio(std::stop_token stop) {
  impl_->serve([s = impl_->server] { return s->serve_stdio(); }, stop);
}

void Server::serve_http(HttpServing options, std::stop_token stop) {
  ServerHttpOptions http;
  if (!options.token.empty()) http.authorize = bearer_token(std::move(options.token));
  options.on_listening = posted(impl_->threads->callbacks(), std::move(options.on_listening));
  static_cast<HttpListening&>(http) = std::move(options);
  impl_->serve([s = impl_->server, http = std::move(http)] { return s->serve_http(http); }, stop);
}

}  // namespace patchbay::blocking
