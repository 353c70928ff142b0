// The agent inside of an editor: the Agent Client Protocol (version 1) on one Channel. It answers the editor's
// requests, owns the sessions, one Agent each, shows what they do, and asks the editor's user. What a session runs on
// (a Host, a model) is made by the program. Loop thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <patchbay/agent.h>

#include "acp/editor_words.h"
#include "base/runtime.h"
#include "rpc/channel.h"

namespace patchbay::acp {

// What an editor asks for when it begins a session or takes one up, and how its user is asked.
struct SessionWish {
  std::string directory;                 // absolute
  std::vector<std::string> directories;  // more of them
  std::string servers;                   // the text of a file of servers; empty: none
  std::string resume;                    // the id of a conversation; empty: a new one
  std::function<Task<bool>(PermissionQuestion)> ask;
  // Nothing: not now.
  std::function<Task<std::optional<bool>>(ServerConfig)> approve;
  // Unset: the editor shows no forms.
  std::function<Task<ElicitResult>(ElicitRequest, CallContext)> person = {};
  // Whether a server may have text from the model.
  std::function<Task<bool>(SamplingQuestion)> sampling;
  std::function<void(const HostEvent&)> on_host_event;
};

// What one session runs on. It outlives the session's Agent.
class SessionGround {
 public:
  virtual ~SessionGround() = default;
  virtual Host& host() = 0;
  virtual std::shared_ptr<Model> model() = 0;
  virtual AgentOptions options() = 0;  // without on_event
};

struct AgentServerOptions {
  std::string version;          // of the program
  std::string state_directory;  // where conversations are kept; empty: none can be taken up
  bool takes_images = true;
  // Throws what the editor is told. Blocking for a moment: it reads files.
  std::function<std::unique_ptr<SessionGround>(SessionWish)> make_ground;
  // As texts are shown that leave the program.
  std::function<Error(const Error&)> shown = {};
};

// Serves until the editor ends the connection, then ends every session. Errc::limit: it sent more than is taken, or has
// stopped reading what it asked for.
Task<void> serve_agent(AgentServerOptions options, std::unique_ptr<Channel> channel, Runtime runtime);

}  // namespace patchbay::acp
