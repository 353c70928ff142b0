// Host::sign_in and Host::sign_out: the only place where somebody is sent to a browser. Outside of every limit for
// connecting or calling.
#include <algorithm>

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include "base/as_result.h"
#include "base/scope.h"
#include "base/strings.h"
#include "base/waiting.h"
#include "host/config/connector_fetch.h"
#include "host/host_impl.h"
#include "host/server_error.h"
#include "settings/connectors.h"

namespace patchbay {
namespace {

constexpr std::string_view sign_in_tool_name = "authenticate";

std::shared_ptr<const Tool> sign_in_tool(const std::string& server) {
  auto tool = std::make_shared<Tool>();
  tool->name = sign_in_tool_name;
  tool->description = fmt::format(
      "Server \"{}\" needs the user to sign in before its tools can be used. Calling this opens a page in the user's "
      "browser and returns "
      "when they have signed in; then the tools of the server take the place of this one.",
      server);
  tool->input_schema = Json{{"type", "object"}, {"properties", Json::object()}};
  return tool;
}

// Ends a sign-in that nobody waits for any more.
struct Withdraw {
  explicit Withdraw(Spawned s) : sign_in(std::move(s)) {}
  Withdraw(const Withdraw&) = delete;
  Withdraw& operator=(const Withdraw&) = delete;
  ~Withdraw() { sign_in.cancel(); }
  Spawned sign_in;
};

// What came of work that runs apart: set once, also for work that never began.
template <class T>
class Outcome {
 public:
  explicit Outcome(std::shared_ptr<Completion<Result<T>>> to) : to_(std::move(to)) {}
  Outcome(Outcome&&) = default;
  ~Outcome() {
    if (to_) to_->set(fail(Errc::cancelled, "cancelled"));
  }
  void set(Result<T> result) { to_->set(std::move(result)); }

 private:
  std::shared_ptr<Completion<Result<T>>> to_;
};

template <class T>
Task<void> told(Task<T> work, Outcome<T> outcome) {
  outcome.set(co_await as_result(std::move(work)));
}

// In a scope of the host, so that stop() ends it, however long the user or an authorization server takes.
template <class T>
Task<T> apart(Scope& scope, Task<T> work) {
  auto outcome = std::make_shared<Completion<Result<T>>>();
  const Withdraw withdraw(scope.spawn(told(std::move(work), Outcome<T>(outcome))));
  auto done = co_await outcome->wait();
  co_return value_or_throw(std::move(done));
}

// The host has ended: that is what whoever waits for something of it hears.
template <class T>
T ended_or(const Result<T>& done, bool stopped) {
  if (stopped) throw Error(Errc::closed, "the host was stopped");
  return value_or_throw(done);
}

SignInResult result_of(SignInReport report) {
  return {std::move(report.issuer), std::move(report.resource), std::move(report.granted), report.registered};
}

SignOutResult result_of(SignOutReport report) {
  SignOutResult result{.was_signed_in = report.was_signed_in, .issuer = std::move(report.issuer)};
  if (report.not_told) result.not_told = report.not_told->message();
  return result;
}

}  // namespace

Task<std::shared_ptr<ServerSignIn>> Host::Impl::signing_in(std::shared_ptr<Connection> connection) {
  const auto& name = connection->name();
  if (!may_sign_in(connection->config())) {
    throw Error(Errc::unsupported,
                fmt::format("nobody can sign in at server \"{}\": {}", name,
                            connection->config().url.empty() ? "it is not reached by a URL"
                                                             : "its entry has credentials of its own"));
  }
  auto tried = co_await as_result(connection->ensure());
  check_running();
  auto sign_in = sign_ins_->find(name);
  // What keeps it from being asked keeps anybody from signing in.
  if (!tried && !(sign_in && (tried.error().sign_in() || sign_in->last_need()))) throw tried.error();
  if (!sign_in)
    throw Error(Errc::unsupported,
                fmt::format("nobody can sign in at server \"{}\": it is not reached by a URL", name));
  co_return sign_in;
}

Task<SignInResult> Host::Impl::sign_in(std::shared_ptr<Impl> impl, std::string server) {
  co_await impl->prepare();
  auto done = co_await as_result(apart(*impl->scope_, sign_in_now(impl, std::move(server))));
  co_return ended_or(done, impl->stopped_);
}

bool Host::Impl::means_connectors(const std::string& name) const {
  return name == connectors_name && !connections_.contains(name) && options_.config->connectors &&
         signs_in_at_connectors(*options_.config->connectors);
}

Task<SignInResult> Host::Impl::sign_in_at_connectors(std::shared_ptr<Impl> impl) {
  const auto directory = *impl->options_.config->connectors;
  impl->signing_in_at_connectors_ = true;
  auto sign_in = directory_sign_in(directory, impl->context_, impl->runtime_, co_await asio::this_coro::executor);
  // A refusal says whom to ask.
  (void)co_await as_result(fetch_connectors(directory, impl->context_, impl->runtime_));
  auto need = co_await sign_in->need();
  auto report = co_await sign_in->sign_in(std::move(need), impl->sign_ins_->visits());
  // Signed in is who gets the list.
  auto fetched = co_await as_result(fetch_connectors(directory, impl->context_, impl->runtime_));
  if (!fetched) {
    throw fetched.error().with_message(
        fmt::format("you signed in at {}, but {}", report.issuer, fetched.error().message()));
  }
  if (impl->options_.load) (void)co_await as_result(impl->reload_quietly());
  co_return result_of(std::move(report));
}

Task<SignInResult> Host::Impl::sign_in_now(std::shared_ptr<Impl> impl, std::string server) {
  if (impl->means_connectors(server)) co_return co_await sign_in_at_connectors(impl);
  auto connection = impl->require(server);
  impl->permissions_.require_server(server);
  SignInReport report;
  // The token of another server of the resource may be one that nobody gets in with any more: then the user is asked.
  for (bool again = false;; again = true) {
    {
      const Connection::Use use(*connection);
      auto sign_in = co_await impl->signing_in(connection);
      auto need = co_await sign_in->need();
      auto done = co_await as_result(sign_in->sign_in(std::move(need), impl->sign_ins_->visits()));
      impl->check_running();
      if (!done) throw error_of_server(server, done.error());
      report = std::move(*done);
    }
    // Signed in is who gets in.
    connection = impl->require(server);
    const Connection::Use use(*connection);
    auto connected = co_await as_result(connection->reconnect());
    impl->check_running();
    if (connected) break;
    if (report.shared && !again && connected.error().sign_in()) continue;
    throw connected.error().with_message(
        fmt::format("you signed in at {}, but {}", report.issuer, connected.error().message()));
  }
  co_await let_others_in(impl, server);
  co_return result_of(std::move(report));
}

// What is behind the same proxy was refused for the same reason.
Task<void> Host::Impl::let_others_in(std::shared_ptr<Impl> impl, std::string server) {
  const auto& directory = impl->options_.config->connectors;
  if (!directory || !signs_in_at_connectors(*directory)) co_return;
  std::vector<std::shared_ptr<Connection>> others;
  bool ours = false;
  for (const auto& [name, connection] : impl->connections_) {
    if (!is_behind_proxy(*directory, connection->config())) continue;
    name == server ? void(ours = true) : others.push_back(connection);
  }
  if (!ours) co_return;
  Scope scope(co_await asio::this_coro::executor);
  for (const auto& other : others) {
    scope.spawn([](std::shared_ptr<Connection> one) -> Task<void> {
      const Connection::Use use(*one);
      (void)co_await as_result(one->reconnect());
    }(other));
  }
  co_await scope.finish();
}

Task<SignInResult> Host::sign_in(std::string server) { return Impl::sign_in(impl_, std::move(server)); }

OfferedTools::Tools Host::Impl::tools_of(const Connection& connection) {
  auto tools = connection.tools();
  const auto& name = connection.name();
  const bool wanted = sign_ins_->has_person() && connection.status().state == ServerState::needs_auth &&
                      may_sign_in(connection.config());
  if (!wanted || std::ranges::any_of(tools, [](const auto& tool) { return tool->name == sign_in_tool_name; })) {
    sign_in_tools_.erase(name);
    return tools;
  }
  auto& tool = sign_in_tools_[name];
  if (!tool) tool = sign_in_tool(name);
  tools.push_back(tool);
  return tools;
}

std::string Host::Impl::sign_in_meant(std::string_view tool) {
  if (sign_in_tools_.empty()) return {};
  const auto catalog = offered_.all();
  const auto found = catalog->find(tool);
  const auto* const* entry = std::get_if<const CatalogEntry*>(&found);
  if (!entry) return {};
  const auto ours = sign_in_tools_.find((*entry)->server);
  return ours != sign_in_tools_.end() && ours->second == (*entry)->tool ? ours->first : std::string();
}

// A failure is a result as well: the model can say what went wrong, and try again.
Task<CallToolResult> Host::Impl::sign_in_by_tool(std::shared_ptr<Impl> impl, std::string server) {
  auto done = co_await as_result(sign_in(impl, server));
  impl->check_running();
  CallToolResult result;
  TextContent text;
  if (done) {
    const auto count = impl->require(server)->tools().size();
    text.text = fmt::format("The user signed in at {}. Server \"{}\" is connected and has {} now.", done->issuer,
                            server, plural(count, "tool"));
  } else {
    if (done.error().code() == Errc::cancelled) throw done.error();
    text.text = fmt::format("Signing in did not work: {}", done.error().message());
    result.is_error = true;
  }
  result.content.push_back(std::move(text));
  co_return result;
}

Task<SignOutResult> Host::Impl::sign_out_now(std::shared_ptr<Impl> impl, std::string server) {
  if (impl->means_connectors(server)) {
    auto sign_in = directory_sign_in(*impl->options_.config->connectors, impl->context_, impl->runtime_,
                                     co_await asio::this_coro::executor);
    co_return result_of(co_await sign_in->sign_out());
  }
  auto connection = impl->require(server);
  if (connection->config().url.empty()) {
    throw Error(Errc::unsupported,
                fmt::format("there is no sign-in at server \"{}\": it is not reached by a URL", server));
  }
  const Connection::Use use(*connection);
  auto sign_in = impl->sign_ins_->find(server);
  if (!sign_in) {
    auto tried = co_await as_result(connection->ensure());
    impl->check_running();
    sign_in = impl->sign_ins_->find(server);
    if (!sign_in && !tried) throw tried.error();
  }
  if (!sign_in) co_return SignOutResult{};
  auto report = co_await sign_in->sign_out();
  impl->check_running();
  // What it was connected with is not valid any more.
  if (report.was_signed_in) (void)co_await as_result(connection->reconnect());
  co_return result_of(std::move(report));
}

Task<SignOutResult> Host::sign_out(std::string server) {
  auto impl = impl_;
  co_await impl->prepare();
  auto done = co_await as_result(apart(*impl->scope_, Impl::sign_out_now(impl, std::move(server))));
  co_return ended_or(done, impl->stopped_);
}

Task<void> Host::Impl::sign_in_at_provider_now(std::shared_ptr<Impl> impl) {
  const auto executor = co_await asio::this_coro::executor;
  HttpClientOptions http;
  http.environment = impl->start_context()->variables;
  http.log = impl->runtime_.log;
  co_await impl->sign_ins_->sign_in_at_provider(executor, std::move(http));
}

Task<void> Host::sign_in_at_provider() {
  auto impl = impl_;
  co_await impl->prepare();
  auto done = co_await as_result(apart(*impl->scope_, Impl::sign_in_at_provider_now(impl)));
  ended_or(done, impl->stopped_);
}

}  // namespace patchbay
