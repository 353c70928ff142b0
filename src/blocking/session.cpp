// A session of the blocking face: each call waits for the coroutine of the same name.
#include "base/runtime.h"
#include "blocking/loop.h"
#include "client/connect.h"
#include "entries/limits.h"

namespace patchbay::blocking {

ClientOptions client_options(const Options& options, const std::weak_ptr<CallbackParts>& weak) {
  const auto& callbacks = options.callbacks;
  ClientOptions client;
  client.info = options.info;
  client.protocol = options.protocol;
  client.log_level = options.log_level;
  client.protocol_memory = options.protocol_memory;
  client.elicit = awaited(weak, callbacks.elicit);
  client.elicit_by_url = callbacks.elicit_by_url;
  client.sample = awaited(weak, callbacks.sample);
  client.sample_with_tools = callbacks.sample_with_tools;
  client.roots = awaited(weak, callbacks.roots);
  client.on_log = posted(weak, callbacks.on_log);
  client.on_change = posted(weak, callbacks.on_change);
  client.on_lost = posted(weak, callbacks.on_lost);
  client.log = {.sink = posted(weak, callbacks.log.sink), .threshold = callbacks.log.threshold};
  return client;
}

// The handle belongs to the loop, so it is let go of there.
Session::Impl::~Impl() {
  try {
    loop->run<void>([s = std::make_shared<patchbay::Session>(std::move(session))]() -> Task<void> {
      return [](std::shared_ptr<patchbay::Session> last) -> Task<void> {
        *last = patchbay::Session();
        co_return;
      }(s);
    });
  } catch (const Error&) {
  }
}

namespace {

// What does not wait, done on the loop.
template <class T, class Parts>
T known(const Parts& parts, T (patchbay::Session::*what)() const) {
  return parts.loop->template run<T>([s = parts.session, what] {
    return [](patchbay::Session session, T (patchbay::Session::*about)() const) -> Task<T> {
      co_return (session.*about)();
    }(s, what);
  });
}

// A list that takes nothing but options.
template <class T, class Parts>
T listed(const Parts& parts, CallOptions options, Task<T> (patchbay::Session::*list)(CallOptions)) {
  const CallEvents events(options, *parts.loop);
  return parts.loop->template run<T>(
      [s = parts.session, options = std::move(options), list]() mutable { return (s.*list)(options); });
}

}  // namespace

ServerDescription Session::server() const { return known<ServerDescription>(*impl_, &patchbay::Session::server); }
bool Session::closed() const { return known<bool>(*impl_, &patchbay::Session::closed); }
std::string Session::diagnostics() const { return known<std::string>(*impl_, &patchbay::Session::diagnostics); }

Listing<Tool> Session::list_tools(CallOptions options) {
  return listed<Listing<Tool>>(*impl_, std::move(options), &patchbay::Session::list_tools);
}
Listing<Resource> Session::list_resources(CallOptions options) {
  return listed<Listing<Resource>>(*impl_, std::move(options), &patchbay::Session::list_resources);
}
Listing<ResourceTemplate> Session::list_resource_templates(CallOptions options) {
  return listed<Listing<ResourceTemplate>>(*impl_, std::move(options), &patchbay::Session::list_resource_templates);
}
Page<Tool> Session::list_tools_page(std::optional<std::string> cursor, CallOptions options) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  return loop->run<Page<Tool>>([s = impl_->session, cursor, options = std::move(options)]() mutable {
    return s.list_tools_page(cursor, options);
  });
}
Listing<Prompt> Session::list_prompts(CallOptions options) {
  return listed<Listing<Prompt>>(*impl_, std::move(options), &patchbay::Session::list_prompts);
}
CallToolResult Session::call_tool(std::string name, Json arguments, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  return loop->run<CallToolResult>(
      [s = impl_->session, name, arguments = std::move(arguments), options = std::move(options)]() mutable {
        return s.call_tool(name, arguments.is_null() ? Payload() : Payload(arguments), options);
      },
      stop);
}
StartedTool Session::start_tool(std::string name, Json arguments, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  return loop->run<StartedTool>(
      [s = impl_->session, name, arguments = std::move(arguments), options = std::move(options)]() mutable {
        return s.start_tool(name, arguments.is_null() ? Payload() : Payload(arguments), options);
      },
      stop);
}
CallToolResult Session::await_task(std::string id, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  return loop->run<CallToolResult>(
      [s = impl_->session, id, options = std::move(options)]() mutable { return s.await_task(id, options); }, stop);
}
RemoteTask Session::get_task(std::string id) {
  return impl_->loop->run<RemoteTask>([s = impl_->session, id]() mutable { return s.get_task(id); });
}
Listing<RemoteTask> Session::list_tasks(CallOptions options) {
  return listed<Listing<RemoteTask>>(*impl_, std::move(options), &patchbay::Session::list_tasks);
}
void Session::cancel_task(std::string id) {
  impl_->loop->run<void>([s = impl_->session, id]() mutable { return s.cancel_task(id); });
}
ReadResourceResult Session::read_resource(std::string uri, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  return loop->run<ReadResourceResult>(
      [s = impl_->session, uri, options = std::move(options)]() mutable { return s.read_resource(uri, options); },
      stop);
}
Listing<Skill> Session::list_skills(CallOptions options) {
  return listed<Listing<Skill>>(*impl_, std::move(options), &patchbay::Session::list_skills);
}
Skill Session::get_skill(std::string uri, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  return loop->run<Skill>(
      [s = impl_->session, uri, options = std::move(options)]() mutable { return s.get_skill(uri, options); }, stop);
}
ResourceContents Session::read_skill(Skill skill, std::string file, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  return loop->run<ResourceContents>(
      [s = impl_->session, skill = std::move(skill), file, options = std::move(options)]() mutable {
        return s.read_skill(skill, file, options);
      },
      stop);
}
Listing<Resource> Session::read_directory(std::string uri, CallOptions options) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  return loop->run<Listing<Resource>>(
      [s = impl_->session, uri, options = std::move(options)]() mutable { return s.read_directory(uri, options); });
}
GetPromptResult Session::get_prompt(std::string name, std::map<std::string, std::string> arguments, CallOptions options,
                                    std::stop_token stop) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  return loop->run<GetPromptResult>(
      [s = impl_->session, name, arguments = std::move(arguments), options = std::move(options)]() mutable {
        return s.get_prompt(name, arguments, options);
      },
      stop);
}
CompleteResult Session::complete(CompleteRequest request, CallOptions options, std::stop_token stop) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  return loop->run<CompleteResult>([s = impl_->session, request = std::move(request),
                                    options = std::move(options)]() mutable { return s.complete(request, options); },
                                   stop);
}
void Session::set_log_level(LoggingLevel level) {
  impl_->loop->run<void>([s = impl_->session, level]() mutable { return s.set_log_level(level); });
}
void Session::ping(CallOptions options) {
  auto& loop = impl_->loop;
  const CallEvents events(options, *loop);
  loop->run<void>([s = impl_->session, options = std::move(options)]() mutable { return s.ping(options); });
}
SubscriptionFilter Session::watch(SubscriptionFilter filter) {
  return impl_->loop->run<SubscriptionFilter>([s = impl_->session, filter = std::move(filter)] {
    return [](patchbay::Session session, SubscriptionFilter wanted) -> Task<SubscriptionFilter> {
      co_return (co_await session.watch(std::move(wanted))).honoured();
    }(s, filter);
  });
}
void Session::roots_changed() {
  impl_->loop->run<void>([s = impl_->session] {
    return [](patchbay::Session session) -> Task<void> {
      session.roots_changed();
      co_return;
    }(s);
  });
}
void Session::close() {
  impl_->loop->run<void>([s = impl_->session]() mutable { return s.close(); });
}
void Session::close_quickly() {
  impl_->loop->run<void>([s = impl_->session]() mutable { return s.close_quickly(); });
}

struct Connecting {
  static Session to(std::shared_ptr<Transport> transport, const Options& options) {
    auto loop = Loop::start();
    auto client = std::make_shared<Client>(client_options(options, loop->callbacks()));
    auto connected = loop->run<patchbay::Session>([client, transport] {
      Runtime runtime;
      runtime.limits = limits_from(process_environment());
      runtime.log = Log(client->options().log);
      return patchbay::connect(*client, transport, std::move(runtime));
    });
    Session session;
    session.impl_ = std::make_shared<Session::Impl>(std::move(loop), std::move(connected));
    return session;
  }
};

Session connect(StdioOptions server, Options options) {
  return Connecting::to(stdio_transport(std::move(server)), options);
}

Session connect(HttpOptions server, Options options) {
  const bool by_websocket = server.url.starts_with("ws:") || server.url.starts_with("wss:");
  return Connecting::to(by_websocket ? ws_transport(std::move(server)) : http_transport(std::move(server)), options);
}

}  // namespace patchbay::blocking
