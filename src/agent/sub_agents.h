// The tool "agent": the model gives a task to another agent, which has a conversation of its own, works until it is
// content, and answers with its last words. It shares the Host and its connections, sees what its definition allows of
// what its parent sees, and calls under its own principal. Servers that its definition declares itself are started for
// it alone and end with it; nobody else sees them. It has no sub-agents. Cancelling the call ends it. Its conversation
// is kept beside its parent's where that one is, and it can go on later: with `resume` of the tool.
// Owned by an Agent; loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/agent.h>

#include "agent/conversation/record.h"
#include "agent/definitions.h"

namespace patchbay {

struct SubAgentsOptions {
  std::vector<AgentDefinition> definitions = {};  // beside general_definition(), which one of them may replace
  AgentOptions parent = {};                       // what they inherit
  // What the parent is now. Called when one begins.
  std::function<std::shared_ptr<Model>()> model = {};
  std::function<AgentMode()> mode = {};
  std::function<void(AgentEvent)> tell = {};
  std::function<Task<void>(ModelUsage)> add_usage = {};  // of one that has ended
  // Where their conversations are kept, those that are known, and one more. Unset: they are not kept.
  std::function<Task<std::string>()> folder = {};
  std::function<std::vector<SubConversation>()> known = {};
  std::function<Task<void>(SubConversation)> keep = {};
};

class SubAgents {
 public:
  SubAgents(Host& host, SubAgentsOptions options);
  SubAgents(const SubAgents&) = delete;
  SubAgents& operator=(const SubAgents&) = delete;
  ~SubAgents();

  AgentTool tool() const;
  void heard(const HostEvent& event);
  // Of those that are at work.
  void set_mode(AgentMode mode);
  // It belongs to a sub-agent.
  bool owns_server(const std::string& server) const;
  // Returns when all have ended; whoever calls it has cancelled their calls.
  Task<void> ended();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace patchbay
