// A server of the blocking face: the loop serves, handlers run on helper threads.
#include <algorithm>

#include <patchbay/server.h>

#include "blocking/loop.h"

namespace patchbay::blocking {
namespace {

// Handlers may wait for each other's work, or for a person: a few more threads than cores.
std::size_t handler_threads() { return std::max<std::size_t>(8, std::thread::hardware_concurrency()); }

}  // namespace

struct ToolCall::Impl {
  RequestContext& context;
  asio::any_io_executor loop;

  // On the loop, while the handler waits here. What it throws is thrown here, whatever it is.
  template <class T>
  T ask(std::function<Task<T>(RequestContext&)> question) {
    auto promise = std::make_shared<std::promise<T>>();
    auto answer = promise->get_future();
    asio::co_spawn(loop, std::function([&question, this] { return question(context); }),
                   [promise](std::exception_ptr error, T value) {
                     if (error) {
                       promise->set_exception(error);
                     } else {
                       promise->set_value(std::move(value));
                     }
                   });
    return answer.get();
  }
  void tell(std::function<void(RequestContext&)> what) {
    (void)ask<bool>([&](RequestContext& c) -> Task<bool> {
      what(c);
      co_return true;
    });
  }
};

void ToolCall::progress(double value, std::optional<double> total, std::optional<std::string> message) {
  impl_.tell([&](RequestContext& context) { context.progress(value, total, std::move(message)); });
}
void ToolCall::log(LoggingLevel level, Json data, std::optional<std::string> logger) {
  impl_.tell([&](RequestContext& context) { context.log(level, std::move(data), std::move(logger)); });
}
ElicitResult ToolCall::elicit(ElicitRequest request) {
  return impl_.ask<ElicitResult>([&](RequestContext& context) { return context.elicit(std::move(request)); });
}
CreateMessageResult ToolCall::sample(CreateMessageRequest request) {
  return impl_.ask<CreateMessageResult>([&](RequestContext& context) { return context.sample(std::move(request)); });
}
std::vector<Root> ToolCall::list_roots() {
  return impl_.ask<std::vector<Root>>([](RequestContext& context) { return context.list_roots(); });
}

struct Server::Impl {
  std::shared_ptr<Loop> loop = Loop::start(handler_threads());
  std::shared_ptr<patchbay::Server> server;

  // What does not wait, done on the loop.
  template <class T>
  T run(std::function<T(patchbay::Server&)> function) {
    return loop->run<T>([s = server, function = std::move(function)] {
      return [](std::shared_ptr<patchbay::Server> one, std::function<T(patchbay::Server&)> f) -> Task<T> {
        co_return f(*one);
      }(s, function);
    });
  }

  // A stop that was asked for is no failure.
  void serve(std::function<Task<void>()> serving, const std::stop_token& stop) {
    try {
      loop->run<void>(std::move(serving), stop);
    } catch (const Error& error) {
      if (error.code() != Errc::cancelled || !stop.stop_requested()) throw;
    }
  }
};

Server::Server(std::string name, std::string version, std::string instructions) : impl_(std::make_unique<Impl>()) {
  ServerOptions options;
  options.info.name = std::move(name);
  options.info.version = std::move(version);
  if (!instructions.empty()) options.instructions = std::move(instructions);
  impl_->server = std::make_shared<patchbay::Server>(std::move(options));
}

Server::~Server() {
  try {
    impl_->loop->run<void>([impl = impl_.get()] {
      return [](Impl* last) -> Task<void> {
        last->server.reset();
        co_return;
      }(impl);
    });
  } catch (const Error&) {
  }
}

void Server::add_tool(Tool tool, ToolFunction handler) {
  auto call = [weak = impl_->loop->callbacks(), handler = std::move(handler)](RequestContext& context,
                                                                              Json arguments) -> Task<CallToolResult> {
    return [](std::weak_ptr<CallbackParts> threads, ToolFunction function, RequestContext& request,
              Json given) -> Task<CallToolResult> {
      auto parts = threads.lock();
      if (!parts) throw Error(Errc::closed, "the server no longer exists");
      auto executor = co_await asio::this_coro::executor;
      co_return co_await CallbackParts::callback<CallToolResult>(std::move(parts), [&] {
        ToolCall::Impl impl{request, executor};
        ToolCall meanwhile(impl);
        return function(meanwhile, std::move(given));
      });
    }(weak, handler, context, std::move(arguments));
  };
  impl_->run<void>([&](patchbay::Server& server) { server.add_tool(std::move(tool), std::move(call)); });
}

bool Server::remove_tool(std::string name) {
  return impl_->run<bool>([&](patchbay::Server& server) { return server.remove_tool(name); });
}

void Server::add_resource(Resource resource, std::function<std::vector<ResourceContents>(std::string uri)> handler) {
  using Contents = std::vector<ResourceContents>;
  std::function<Contents(const std::string&)> read = std::move(handler);
  auto call = [read = awaited(impl_->loop->callbacks(), std::move(read))](RequestContext&, std::string uri) {
    return read(std::move(uri));
  };
  impl_->run<void>([&](patchbay::Server& server) { server.add_resource(std::move(resource), std::move(call)); });
}

void Server::add_prompt(Prompt prompt,
                        std::function<GetPromptResult(std::map<std::string, std::string> arguments)> handler) {
  using Texts = std::map<std::string, std::string>;
  std::function<GetPromptResult(const Texts&)> get = std::move(handler);
  auto call = [get = awaited(impl_->loop->callbacks(), std::move(get))](RequestContext&, Texts arguments) {
    return get(std::move(arguments));
  };
  impl_->run<void>([&](patchbay::Server& server) { server.add_prompt(std::move(prompt), std::move(call)); });
}

void Server::resource_updated(std::string uri) {
  impl_->run<void>([&](patchbay::Server& server) { server.resource_updated(uri); });
}

void Server::serve_stdio(std::stop_token stop) {
  impl_->serve([s = impl_->server] { return s->serve_stdio(); }, stop);
}

void Server::serve_http(HttpServing options, std::stop_token stop) {
  ServerHttpOptions http;
  http.address = std::move(options.address);
  http.port = options.port;
  http.path = std::move(options.path);
  http.allowed_hosts = std::move(options.allowed_hosts);
  http.allowed_origins = std::move(options.allowed_origins);
  if (!options.token.empty()) http.authorize = bearer_token(std::move(options.token));
  http.on_listening = posted(impl_->loop->callbacks(), std::move(options.on_listening));
  impl_->serve([s = impl_->server, http = std::move(http)] { return s->serve_http(http); }, stop);
}

}  // namespace patchbay::blocking
