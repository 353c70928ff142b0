// One session of an editor: an Agent, what it shows and what it asks. Owned by the agent server; loop thread only.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "acp/agent_server.h"
#include "acp/updates.h"
#include "rpc/peer.h"

namespace patchbay::acp {

class EditorSession : public std::enable_shared_from_this<EditorSession> {
 public:
  EditorSession(std::shared_ptr<Peer> peer, EditorCan can);
  EditorSession(const EditorSession&) = delete;
  EditorSession& operator=(const EditorSession&) = delete;

  // Completes what the editor wished for with who is asked.
  void fill(SessionWish& wish);
  // Throws what Agent::begin throws.
  Task<void> begin(std::unique_ptr<SessionGround> ground, std::string directory);
  Task<void> end();

  const std::string& id() const { return agent_->id(); }
  AgentMode mode() const { return agent_->mode(); }
  void set_mode(AgentMode mode);
  // Everything that was said in it until now.
  void show_history();
  Task<AgentAnswer> prompt(AgentInput input);
  void cancel();

 private:
  void heard(const AgentEvent& event);
  void update(Json update);
  Task<std::string> ask(Json call, Json options);
  Task<bool> ask_permission(PermissionQuestion question);
  Task<std::optional<bool>> ask_approval(ServerConfig server);
  Task<bool> ask_sampling(SamplingQuestion question);
  Task<ElicitResult> ask_form(ElicitRequest request, CallContext context);

  std::shared_ptr<Peer> peer_;
  EditorCan can_;
  std::string directory_;
  std::optional<Updates> updates_;
  std::set<std::string> allowed_;    // tools that the user allows for this session
  std::size_t texts_asked_for_ = 0;  // by servers, of the model
  std::unique_ptr<SessionGround> ground_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace patchbay::acp
