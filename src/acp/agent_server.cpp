#include "acp/agent_server.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "acp/session.h"
#include "agent/conversation/conversation.h"
#include "base/as_result.h"
#include "base/scope.h"

namespace patchbay::acp {
namespace {

constexpr std::int64_t protocol_version = 1;
constexpr std::size_t most_sessions = 64;
constexpr std::int64_t auth_required = -32000;  // of the protocol

std::string text_at(const Json& object, std::string_view key) {
  const auto text = object[key].text();
  return text ? std::string(*text) : std::string();
}

constexpr std::string_view mode_id(AgentMode mode) { return mode == AgentMode::plan ? "plan" : "default"; }

Json modes_json(AgentMode current) {
  auto modes = Json::array();
  modes.push_back({{"id", "default"}, {"name", "Default"}, {"description", "Asks before calls that no rule decides"}});
  modes.push_back({{"id", "plan"}, {"name", "Plan"}, {"description", "Calls only tools that say they only read"}});
  return {{"currentModeId", mode_id(current)}, {"availableModes", std::move(modes)}};
}

// Handlers that do not listen outlive the connection; they hold it.
class AgentServer : public std::enable_shared_from_this<AgentServer> {
 public:
  explicit AgentServer(AgentServerOptions options) : options_(std::move(options)) {}

  Task<void> run(std::unique_ptr<Channel> channel, Runtime runtime) {
    peer_ = std::make_shared<Peer>(
        co_await asio::this_coro::executor, std::move(channel), runtime,
        Peer::Handlers{
            .request = [self = shared_from_this()](Request request) { return answer(self, std::move(request)); },
            .notification = [this](Notification notification) { take(notification); }});
    peer_->start();
    co_await as_result(peer_->wait_closed());
    co_await asio::this_coro::throw_if_cancelled(false);
    over_ = true;
    co_await peer_->close(CloseMode::graceful);
    Scope ending(co_await asio::this_coro::executor);
    for (auto& [id, session] : sessions_) ending.spawn(session->end());
    co_await ending.join();
    sessions_.clear();
    const auto peer = std::exchange(peer_, nullptr);
    // It is not a fault when the editor ends it.
    if (peer->closed() && peer->close_error().code() == Errc::limit) throw peer->close_error();
  }

 private:
  // What fails is told in words that may leave the program.
  static Task<Payload> answer(std::shared_ptr<AgentServer> self, Request request) {
    auto done = co_await as_result(self->dispatch(std::move(request)));
    if (done) co_return Payload(std::move(*done));
    auto error = self->options_.shown ? self->options_.shown(done.error()) : done.error();
    if (error.code() == Errc::unauthorized) throw Error::rpc(auth_required, error.message());
    throw error;
  }

  Task<Json> dispatch(Request request) {
    const auto& method = request.method;
    const Json params = request.params.value();
    if (method == "initialize") co_return initialize(params);
    if (method == "session/new") co_return co_await open(params, {});
    if (method == "session/load") co_return co_await open(params, text_at(params, "sessionId"));
    if (method == "session/list") co_return co_await list(params);
    if (method == "session/prompt") co_return co_await prompt(request.id, params);
    if (method == "session/set_mode") co_return set_mode(params);
    if (method == "session/close") co_return co_await close(params);
    throw Error::rpc(rpc_code::method_not_found, fmt::format("unknown method {}", method));
  }

  Json initialize(const Json& params) {
    can_ = editor_can(params["clientCapabilities"]);
    Json capabilities{
        {"loadSession", !options_.state_directory.empty()},
        {"promptCapabilities", Json{{"image", options_.takes_images}, {"audio", false}, {"embeddedContext", true}}},
        {"mcpCapabilities", Json{{"http", true}, {"sse", true}}}};
    Json sessions{{"close", Json::object()}};
    if (!options_.state_directory.empty()) sessions["list"] = Json::object();
    capabilities["sessionCapabilities"] = std::move(sessions);
    return {{"protocolVersion", protocol_version},
            {"agentCapabilities", std::move(capabilities)},
            {"authMethods", Json::array()},
            {"agentInfo", Json{{"name", "patchbay"}, {"title", "Patchbay"}, {"version", options_.version}}}};
  }

  Task<Json> open(Json params, std::string resume) {
    if (sessions_.size() >= most_sessions) {
      throw Error(Errc::limit, fmt::format("there are {} sessions, the limit", most_sessions));
    }
    SessionWish wish{.directory = text_at(params, "cwd"), .resume = resume};
    if (!wish.directory.starts_with('/')) throw Error(Errc::invalid_argument, "\"cwd\" must be an absolute path");
    for (const auto& more : params["additionalDirectories"].items()) {
      if (const auto path = more.text()) wish.directories.emplace_back(*path);
    }
    wish.servers = value_or_throw(editor_servers(params["mcpServers"]));
    if (const auto open = sessions_.find(resume); open != sessions_.end()) {
      // It is taken up anew, perhaps with other servers.
      auto before = std::move(open->second);
      sessions_.erase(open);
      co_await before->end();
    }
    auto session = std::make_shared<EditorSession>(peer_, can_);
    session->fill(wish);
    const auto directory = wish.directory;
    auto begun = co_await as_result(session->begin(options_.make_ground(std::move(wish)), directory));
    // Meanwhile the editor may have gone.
    if (begun && over_) begun = std::unexpected(Error(Errc::closed, "the connection has ended"));
    if (!begun) {
      co_await as_result(session->end());
      throw std::move(begun).error();
    }
    sessions_.insert_or_assign(session->id(), session);
    if (!resume.empty()) {
      session->show_history();
      co_return Json{{"modes", modes_json(session->mode())}};
    }
    co_return Json{{"sessionId", session->id()}, {"modes", modes_json(session->mode())}};
  }

  Task<Json> list(Json params) {
    auto sessions = Json::array();
    const auto kept = co_await Conversation::list(
        {.state_directory = options_.state_directory, .directory = text_at(params, "cwd")}, 100);
    for (const auto& one : kept) {
      sessions.push_back({{"sessionId", one.id},
                          {"cwd", one.directory},
                          {"title", one.words},
                          {"updatedAt", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                                    fmt::gmtime(std::chrono::system_clock::to_time_t(one.newest)))}});
    }
    co_return Json{{"sessions", std::move(sessions)}};
  }

  std::shared_ptr<EditorSession> meant(const Json& params) const {
    const auto found = sessions_.find(text_at(params, "sessionId"));
    if (found == sessions_.end()) throw Error(Errc::invalid_argument, "there is no session of this \"sessionId\"");
    return found->second;
  }

  Task<Json> prompt(RequestId id, Json params) {
    const auto session = meant(params);
    auto input = value_or_throw(prompt_input(params["prompt"]));
    prompts_.insert_or_assign(to_text(id), session);
    auto answer = co_await as_result(session->prompt(std::move(input)));
    prompts_.erase(to_text(id));
    co_return Json{{"stopReason", stop_reason(value_or_throw(std::move(answer)).end)}};
  }

  Json set_mode(const Json& params) {
    const auto mode = text_at(params, "modeId");
    if (mode != mode_id(AgentMode::normal) && mode != mode_id(AgentMode::plan)) {
      throw Error(Errc::invalid_argument, "\"modeId\" must be default or plan");
    }
    meant(params)->set_mode(mode == mode_id(AgentMode::plan) ? AgentMode::plan : AgentMode::normal);
    return Json::object();
  }

  Task<Json> close(Json params) {
    const auto session = meant(params);
    sessions_.erase(session->id());
    session->cancel();
    co_await session->end();
    co_return Json::object();
  }

  void take(const Notification& notification) {
    if (notification.method == "session/cancel") {
      const auto found = sessions_.find(text_at(notification.params.value(), "sessionId"));
      if (found != sessions_.end()) found->second->cancel();
    } else if (notification.method == "$/cancel_request") {
      const auto found = prompts_.find(to_text(notification.params.value()["requestId"]));
      if (found != prompts_.end()) found->second->cancel();
    }
  }

  AgentServerOptions options_;
  EditorCan can_;
  std::shared_ptr<Peer> peer_;
  bool over_ = false;
  std::map<std::string, std::shared_ptr<EditorSession>, std::less<>> sessions_;
  std::map<std::string, std::shared_ptr<EditorSession>, std::less<>> prompts_;  // by the id of the request, as JSON
};

}  // namespace

Task<void> serve_agent(AgentServerOptions options, std::unique_ptr<Channel> channel, Runtime runtime) {
  const auto server = std::make_shared<AgentServer>(std::move(options));
  co_await server->run(std::move(channel), std::move(runtime));
}

}  // namespace patchbay::acp
