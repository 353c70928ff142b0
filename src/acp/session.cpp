#include "acp/session.h"

#include <utility>

#include <fmt/format.h>

#include "acp/editor_words.h"
#include "agent/grants.h"
#include "agent/sampling.h"
#include "base/as_result.h"
#include "entries/consent_text.h"
#include "text/visible_text.h"

namespace patchbay::acp {
namespace {

Json option(std::string_view id, std::string_view name, std::string_view kind) {
  return {{"optionId", id}, {"name", name}, {"kind", kind}};
}

}  // namespace

EditorSession::EditorSession(std::shared_ptr<Peer> peer, EditorCan can) : peer_(std::move(peer)), can_(can) {}

void EditorSession::fill(SessionWish& wish) {
  const std::weak_ptr<EditorSession> self = weak_from_this();
  wish.ask = [self](PermissionQuestion question) -> Task<bool> {
    const auto session = self.lock();
    co_return session&& co_await session->ask_permission(std::move(question));
  };
  wish.approve = [self](ServerConfig server) -> Task<std::optional<bool>> {
    const auto session = self.lock();
    if (!session) co_return std::nullopt;
    co_return co_await session->ask_approval(std::move(server));
  };
  wish.sampling = [self](SamplingQuestion question) -> Task<bool> {
    const auto session = self.lock();
    co_return session&& co_await session->ask_sampling(std::move(question));
  };
  if (can_.fill_forms) {
    wish.person = [self](ElicitRequest request, CallContext context) -> Task<ElicitResult> {
      const auto session = self.lock();
      if (!session) co_return ElicitResult{};
      co_return co_await session->ask_form(std::move(request), std::move(context));
    };
  }
  wish.on_host_event = [self](const HostEvent& event) {
    const auto session = self.lock();
    if (session && session->agent_) session->agent_->heard(event);
  };
}

Task<void> EditorSession::begin(std::unique_ptr<SessionGround> ground, std::string directory) {
  ground_ = std::move(ground);
  directory_ = std::move(directory);
  updates_.emplace(directory_, can_.show_notices);
  auto options = ground_->options();
  options.on_event = [this](const AgentEvent& event) { heard(event); };
  agent_ = std::make_unique<Agent>(ground_->host(), ground_->model(), std::move(options));
  co_await agent_->begin();
}

Task<void> EditorSession::end() {
  if (agent_) co_await agent_->stop();
  if (ground_) co_await ground_->host().stop();
}

void EditorSession::set_mode(AgentMode mode) { agent_->set_mode(mode); }

void EditorSession::show_history() {
  for (auto& one : Updates::history(agent_->messages(), directory_)) update(std::move(one));
}

Task<AgentAnswer> EditorSession::prompt(AgentInput input) { return agent_->send(std::move(input)); }

void EditorSession::cancel() { agent_->interrupt_turn(); }

void EditorSession::heard(const AgentEvent& event) {
  if (auto one = updates_->of(event)) update(std::move(*one));
}

void EditorSession::update(Json update) {
  // A connection that does not take it any more is ending, which its reader notices.
  (void)peer_->notify("session/update", Payload(Json{{"sessionId", agent_->id()}, {"update", std::move(update)}}));
}

// The id of what was chosen. However long the person takes.
Task<std::string> EditorSession::ask(Json call, Json options) {
  PeerCall question{.id = peer_->reserve_id(), .method = "session/request_permission", .cancel_by = CancelBy::nothing};
  question.params =
      Payload(Json{{"sessionId", agent_->id()}, {"toolCall", std::move(call)}, {"options", std::move(options)}});
  const auto answer = co_await peer_->call(std::move(question));
  co_return chosen_option(answer.value());
}

Task<bool> EditorSession::ask_permission(PermissionQuestion question) {
  // What a rule wants to be asked is asked each time.
  const bool each_time = possible_grants(question).empty();
  if (!each_time && allowed_.contains(question.tool.name)) co_return true;
  auto options = Json::array();
  options.push_back(option("once", "Allow", "allow_once"));
  if (!each_time) {
    options.push_back(option("session", fmt::format("Allow {} for this session", question.tool.name), "allow_always"));
  }
  options.push_back(option("no", "Reject", "reject_once"));
  auto call = updates_->call(question.context.call_id);
  // What is called is what is shown, also where a hook or a result took the place of what the model wrote.
  const auto& arguments = question.arguments.value();
  if (!call.find("title") || call["rawInput"] != arguments) {
    call = Json{{"toolCallId", call["toolCallId"]}, {"title", question.tool.name}, {"rawInput", arguments}};
  }
  const auto chosen = co_await ask(std::move(call), std::move(options));
  if (chosen == "session" && !each_time) allowed_.insert(question.tool.name);
  co_return chosen == "once" || chosen == "session";
}

Task<std::optional<bool>> EditorSession::ask_approval(ServerConfig server) {
  auto options = Json::array();
  options.push_back(option("approve", "Approve it for this project", "allow_always"));
  options.push_back(option("later", "Not now", "reject_once"));
  options.push_back(option("reject", "Reject it for this project", "reject_always"));
  const auto name = visible_text(server.name);
  auto content = Json::array();
  content.push_back({{"type", "content"},
                     {"content", Json{{"type", "text"},
                                      {"text", verbatim(fmt::format("This project declares the MCP server \"{}\":\n{}",
                                                                    name, consent_block(server, "  ", 0)))}}}});
  Json call{{"toolCallId", fmt::format("server:{}", server.name)},
            {"title", fmt::format("Start the MCP server \"{}\"", name)},
            {"kind", "other"},
            {"status", "pending"},
            {"content", std::move(content)}};
  const auto chosen = co_await ask(std::move(call), std::move(options));
  if (chosen == "approve") co_return true;
  if (chosen == "reject") co_return false;
  co_return std::nullopt;
}

// All that would be sent is shown, or nothing is sent. A yes is for once.
Task<bool> EditorSession::ask_sampling(SamplingQuestion question) {
  value_or_throw(can_be_read(question.text));
  auto options = Json::array();
  options.push_back(option("once", "Send it to the model, and the answer to the server", "allow_once"));
  options.push_back(option("no", "Reject", "reject_once"));
  const auto server = visible_text(question.context.server);
  auto content = Json::array();
  content.push_back(
      {{"type", "content"},
       {"content",
        Json{{"type", "text"},
             {"text", verbatim(fmt::format("The server \"{}\"{} wants your model to answer this:\n{}", server,
                                           question.context.tool.empty()
                                               ? std::string()
                                               : fmt::format(" (tool {})", visible_text(question.context.tool)),
                                           question.text))}}}});
  Json call{{"toolCallId", fmt::format("sampling:{}", ++texts_asked_for_)},
            {"title", fmt::format("Answer the server \"{}\" with the model", server)},
            {"kind", "other"},
            {"status", "pending"},
            {"content", std::move(content)}};
  co_return co_await ask(std::move(call), std::move(options)) == "once";
}

Task<ElicitResult> EditorSession::ask_form(ElicitRequest request, CallContext context) {
  // A page to open is not a form; nobody is asked about it here.
  if (request.mode != ElicitRequest::Mode::form) co_return ElicitResult{};
  Json params{{"sessionId", agent_->id()},
              {"mode", "form"},
              {"message", form_message(context.server, request.message)},
              {"requestedSchema", request.requested_schema}};
  if (context.call_id != 0) params["toolCallId"] = updates_->id_of(context.call_id);
  PeerCall question{.id = peer_->reserve_id(), .method = "elicitation/create", .cancel_by = CancelBy::nothing};
  question.params = Payload(std::move(params));
  const auto answer = co_await peer_->call(std::move(question));
  co_return form_answer(answer.value());
}

}  // namespace patchbay::acp
