#include "support/script_server.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/as_result.h"
#include "protocol/methods.h"
#include "protocol/wire.h"
#include "transport/memory.h"

namespace patchbay::test {

class ScriptChannel final : public Channel {
 public:
  ScriptChannel(ScriptServer& server, std::unique_ptr<Channel> inner, std::shared_ptr<Peer> far)
      : server_(server), inner_(std::move(inner)), far_(std::move(far)) {}
  // Whoever opens a channel closes it; a server process would be left behind otherwise.
  ~ScriptChannel() override { EXPECT_FALSE(far_) << "a channel was dropped without being closed"; }

  Result<void> send(Message message) override {
    if (const auto* request = std::get_if<Request>(&message)) {
      const auto found = server_.failing.find(request->method);
      if (found != server_.failing.end()) return std::unexpected(found->second);
    }
    return inner_->send(std::move(message));
  }
  Result<void> send_batch(std::vector<Message> messages) override { return inner_->send_batch(std::move(messages)); }
  Task<Incoming> receive() override { return inner_->receive(); }
  void abandon(const RequestId& id) override { inner_->abandon(id); }
  Task<void> close(CloseMode mode) override {
    if (server_.before_close) co_await server_.before_close();
    co_await inner_->close(mode);
    if (auto far = std::exchange(far_, nullptr)) {
      co_await far->close(mode);
      std::erase(server_.peers_, far);
      --server_.open_now;
      server_.happened.notify_all();
    }
  }

 private:
  ScriptServer& server_;
  std::unique_ptr<Channel> inner_;
  std::shared_ptr<Peer> far_;
};

class ScriptTransport final : public Transport {
 public:
  explicit ScriptTransport(ScriptServer& server) : server_(server) {}
  Kind kind() const noexcept override { return Kind::memory; }
  std::string describe() const override { return "a script"; }
  Identity identity() const override { return server_.identity; }

  Task<std::unique_ptr<Channel>> open(const Runtime& runtime) override { return open_to(server_, runtime); }

 private:
  static Task<std::unique_ptr<Channel>> open_to(ScriptServer& server, Runtime runtime) {
    auto executor = co_await asio::this_coro::executor;
    ++server.opens;
    ++server.open_now;
    server.most_open_at_once = std::max(server.most_open_at_once, server.open_now);
    server.happened.notify_all();
    if (server.before_open) {
      auto opened = co_await as_result(server.before_open());
      if (!opened) {
        --server.open_now;
        throw std::move(opened).error();
      }
    }
    auto [near, far] = make_memory_pair(runtime.limits);
    Peer::Handlers handlers;
    handlers.request = [&server](Request request) { return server.answer(std::move(request)); };
    handlers.notification = [&server](Notification notification) {
      server.told.push_back(notification.method);
      server.told_with.push_back(notification.params);
      server.happened.notify_all();
    };
    Runtime theirs;
    theirs.limits.server_requests = 10'000;
    auto peer = std::make_shared<Peer>(executor, std::move(far), theirs, std::move(handlers));
    peer->start();
    server.peers_.push_back(peer);
    co_return std::make_unique<ScriptChannel>(server, std::move(near), std::move(peer));
  }

  ScriptServer& server_;
};

ScriptServer::~ScriptServer() = default;

std::unique_ptr<ScriptServer> ScriptServer::modern(std::string capabilities) {
  auto server = std::make_unique<ScriptServer>();
  server->on(std::string(method::discover),
             fmt::format(R"({{"resultType":"complete","supportedVersions":["{}"],"capabilities":{}}})",
                         modern_versions().front(), capabilities));
  return server;
}

std::unique_ptr<ScriptServer> ScriptServer::legacy(std::string capabilities) {
  auto server = std::make_unique<ScriptServer>();
  server->on(std::string(method::initialize),
             fmt::format(R"({{"protocolVersion":"{}","capabilities":{},"serverInfo":{{"name":"s","version":"1"}}}})",
                         legacy_versions().front(), capabilities));
  server->on(std::string(method::ping), "{}");
  return server;
}

void ScriptServer::on(std::string method, Answer answer) { answers_[std::move(method)] = std::move(answer); }

void ScriptServer::on(std::string method, std::string result) {
  auto payload = *Payload::parse(std::move(result));
  on(std::move(method), [payload](Request) -> Task<Payload> { co_return payload; });
}

Task<Payload> ScriptServer::answer(Request request) {
  asked.push_back(request.method);
  happened.notify_all();
  auto found = answers_.find(request.method);
  if (found == answers_.end()) throw Error::rpc(rpc_code::method_not_found, "unknown method " + request.method);
  // A copy: the script may be changed while this answer is on its way.
  auto script = std::make_shared<Answer>(found->second);
  const auto name = request.method;
  auto outcome = co_await as_result((*script)(std::move(request)));
  if (!outcome && outcome.error().code() == Errc::cancelled) {
    taken_back.push_back(name);
    happened.notify_all();
  }
  co_return value_or_throw(std::move(outcome));
}

void ScriptServer::notify(std::string_view method, Payload params) {
  for (auto& peer : peers_) (void)peer->notify(method, params);
}

Task<Payload> ScriptServer::ask(std::string method, Payload params, Duration limit) {
  auto peer = peers_.back();
  PeerCall call;
  call.id = peer->reserve_id();
  call.method = std::move(method);
  call.params = std::move(params);
  call.total = limit;
  co_return co_await peer->call(std::move(call));
}

Task<void> ScriptServer::die() {
  auto peers = peers_;
  for (auto& peer : peers) co_await peer->close(CloseMode::quick);
}

std::shared_ptr<Transport> ScriptServer::transport() { return std::make_shared<ScriptTransport>(*this); }

std::size_t ScriptServer::count(std::string_view method) const {
  return static_cast<std::size_t>(std::ranges::count(asked, method));
}

Task<void> ScriptServer::wait_asked(std::string_view method, std::size_t times) {
  while (count(method) < times) co_await happened.wait();
}

Task<void> ScriptServer::wait_told(std::string_view method, std::size_t times) {
  while (static_cast<std::size_t>(std::ranges::count(told, method)) < times) co_await happened.wait();
}

Task<void> ScriptServer::wait_taken_back(std::string_view method, std::size_t times) {
  while (static_cast<std::size_t>(std::ranges::count(taken_back, method)) < times) co_await happened.wait();
}

std::unique_ptr<ScriptServer> tool_server(std::vector<std::string> tools) {
  auto server = ScriptServer::modern(R"({"tools":{}})");
  Json list = Json::array();
  for (auto& tool : tools) list.push_back(Json{{"name", std::move(tool)}});
  server->on(std::string(method::list_tools), to_text(Json{{"resultType", "complete"}, {"tools", std::move(list)}}));
  return server;
}

Task<Payload> no_answer() {
  Event never;
  co_await never.wait();
  co_return Payload();
}

ClientOptions modern_client() {
  ClientOptions options;
  options.protocol = std::string(modern_versions().front());
  return options;
}

}  // namespace patchbay::test
