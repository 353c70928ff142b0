// A host of the blocking face: each call waits for the coroutine of the same name.
#include <patchbay/host.h>

#include "blocking/loop.h"
#include "blocking/server.h"

namespace patchbay::blocking {

struct Host::Impl {
  std::shared_ptr<Loop> loop = Loop::start();
  std::shared_ptr<patchbay::Host> host;
};

// The handle belongs to the loop.
struct BackgroundCall::Impl {
  std::shared_ptr<Loop> loop;
  patchbay::BackgroundCall call;
};

namespace {

// What does not wait, done on the loop.
template <class T, class Parts, class Function>
T run(const Parts& parts, Function function) {
  return parts.loop->template run<T>([h = parts.host, function = std::move(function)] {
    return [](std::shared_ptr<patchbay::Host> host, Function f) -> Task<T> { co_return f(*host); }(h, function);
  });
}

}  // namespace

Host::Host(Options options) : impl_(std::make_shared<Impl>()) {
  const auto weak = impl_->loop->callbacks();
  HostOptions made;
  made.client = client_options(options, weak);
  made.config = std::move(options.config);
  made.load = std::move(options.load);
  made.follow_config = options.follow_config;
  made.follow_changes = options.follow_changes;
  made.keep_connected = options.keep_connected;
  made.trust_project = options.trust_project;
  made.approve = awaited(weak, std::move(options.approve));
  made.permission.allowed_tools = std::move(options.allowed_tools);
  made.permission.disallowed_tools = std::move(options.disallowed_tools);
  made.permission.mode = options.permission_mode;
  if (auto ask = awaited(weak, std::move(options.permit))) {
    made.permission.ask = [ask = std::move(ask)](PermissionQuestion question) {
      // Arguments of its own: whoever keeps the question may read it while the loop sends the call.
      if (question.arguments) question.arguments = Payload(Json(question.arguments.value()));
      return ask(std::move(question));
    };
  }
  made.sign_in.show = awaited(weak, std::move(options.show_page));
  made.on_event = posted(weak, std::move(options.on_event));
  made.failure_memory = std::move(options.failure_memory);
  made.state_directory = std::move(options.state_directory);
  made.warm_start = options.warm_start;
  made.connect_limit = options.connect_limit;
  made.connect_setting = options.connect_setting;
  made.tool_limit = options.tool_limit;
  made.local_starts = options.local_starts;
  made.remote_starts = options.remote_starts;
  impl_->host = std::make_shared<patchbay::Host>(std::move(made));
}

Host::~Host() {
  try {
    stop();
    // What belongs to the loop is let go of there.
    impl_->loop->run<void>([impl = impl_.get()] {
      return [](Impl* last) -> Task<void> {
        last->host.reset();
        co_return;
      }(impl);
    });
  } catch (const Error&) {
  }
}

void Host::add_server(ServerConfig config) {
  run<void>(*impl_, [config = std::move(config)](patchbay::Host& host) { host.add_server(config); });
}
void Host::add_server(std::string name, Server& server, NamePrefix prefix) {
  auto joining = server.impl_->join(impl_->loop);
  run<void>(*impl_, [&](patchbay::Host& host) { host.add_server(std::move(name), std::move(joining), prefix); });
}
void Host::start() {
  impl_->loop->run<void>([h = impl_->host] { return h->start(); });
}
void Host::start(std::vector<std::string> names) {
  impl_->loop->run<void>([h = impl_->host, names = std::move(names)] { return h->start(names); });
}
std::shared_ptr<const Catalog> Host::catalog() const {
  return run<std::shared_ptr<const Catalog>>(*impl_, [](patchbay::Host& host) { return host.catalog(); });
}
std::vector<ServerStatus> Host::status() const {
  return run<std::vector<ServerStatus>>(*impl_, [](patchbay::Host& host) { return host.status(); });
}
LoadedConfig Host::config() const {
  return run<LoadedConfig>(*impl_, [](patchbay::Host& host) { return host.config(); });
}
std::vector<ConfigProblem> Host::permission_problems() const {
  return run<std::vector<ConfigProblem>>(*impl_, [](patchbay::Host& host) { return host.permission_problems(); });
}
CatalogEntry Host::find_tool(std::string tool) {
  return impl_->loop->run<CatalogEntry>([h = impl_->host, tool] { return h->find_tool(tool); });
}
PermissionDecision Host::decide(std::string tool, Json arguments) {
  return impl_->loop->run<PermissionDecision>([h = impl_->host, tool, arguments = std::move(arguments)] {
    return h->decide(tool, arguments.is_null() ? Payload() : Payload(arguments));
  });
}
void Host::prepare() {
  impl_->loop->run<void>([h = impl_->host] { return h->prepare(); });
}
void Host::begin() {
  impl_->loop->run<void>([h = impl_->host] { return h->begin(); });
}
void Host::reconnect(std::string server) {
  impl_->loop->run<void>([h = impl_->host, server = std::move(server)] { return h->reconnect(server); });
}
SignInResult Host::sign_in(std::string server, std::stop_token stop) {
  return impl_->loop->run<SignInResult>([h = impl_->host, server = std::move(server)] { return h->sign_in(server); },
                                        std::move(stop));
}
SignOutResult Host::sign_out(std::string server) {
  return impl_->loop->run<SignOutResult>([h = impl_->host, server = std::move(server)] { return h->sign_out(server); });
}
ConfigChange Host::reload() {
  return impl_->loop->run<ConfigChange>([h = impl_->host] { return h->reload(); });
}
ConfigChange Host::reload(LoadedConfig config) {
  return impl_->loop->run<ConfigChange>([h = impl_->host, config = std::move(config)] { return h->reload(config); });
}
CallToolResult Host::call(std::string tool, Json arguments, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  return loop->run<CallToolResult>(
      [h = impl_->host, tool, arguments = std::move(arguments), options = std::move(options)] {
        return h->call(tool, arguments.is_null() ? Payload() : Payload(arguments), options);
      },
      stop);
}
BackgroundCall Host::start_call(std::string tool, Json arguments, CallOptions options) {
  const auto weak = impl_->loop->callbacks();
  options.on_progress = posted(weak, std::move(options.on_progress));
  options.on_task = posted(weak, std::move(options.on_task));
  BackgroundCall started;
  started.impl_ = std::make_shared<BackgroundCall::Impl>(
      impl_->loop, impl_->loop->run<patchbay::BackgroundCall>(
                       [h = impl_->host, tool, arguments = std::move(arguments), options = std::move(options)] {
                         return h->start_call(tool, arguments.is_null() ? Payload() : Payload(arguments), options);
                       }));
  return started;
}
std::vector<BackgroundCall> Host::background_calls() const {
  std::vector<BackgroundCall> calls;
  for (auto& call : run<std::vector<patchbay::BackgroundCall>>(
           *impl_, [](patchbay::Host& host) { return host.background_calls(); })) {
    calls.emplace_back().impl_ = std::make_shared<BackgroundCall::Impl>(impl_->loop, std::move(call));
  }
  return calls;
}

std::uint64_t BackgroundCall::id() const { return impl_->call.id(); }
BackgroundCallStatus BackgroundCall::status() const {
  return impl_->loop->run<BackgroundCallStatus>([call = impl_->call] {
    return [](patchbay::BackgroundCall one) -> Task<BackgroundCallStatus> { co_return one.status(); }(call);
  });
}
CallToolResult BackgroundCall::result(std::stop_token stop) {
  return impl_->loop->run<CallToolResult>(
      [call = impl_->call] {
        return [](patchbay::BackgroundCall one) -> Task<CallToolResult> { co_return co_await one.result(); }(call);
      },
      stop);
}
void BackgroundCall::cancel() {
  impl_->loop->run<void>([call = impl_->call] {
    return [](patchbay::BackgroundCall one) -> Task<void> {
      one.cancel();
      co_return;
    }(call);
  });
}
Session Host::session(std::string server, CallContext on_behalf) {
  auto connected = impl_->loop->run<patchbay::Session>(
      [h = impl_->host, server, on_behalf = std::move(on_behalf)] { return h->session(server, on_behalf); });
  Session session;
  session.impl_ = std::make_shared<Session::Impl>(impl_->loop, std::move(connected));
  return session;
}
void Host::stop() {
  impl_->loop->run<void>([h = impl_->host] { return h->stop(); });
}
void Host::stop_quickly() {
  impl_->loop->run<void>([h = impl_->host] { return h->stop_quickly(); });
}

}  // namespace patchbay::blocking
