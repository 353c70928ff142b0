// Core: what a Server knows, shared by all its connections: the registries, the options,
// the key that seals state clients carry, and who wants to hear of changes. No era and no
// connection appears here. Loop thread only.
#pragma once

#include <memory>
#include <set>
#include <string_view>

#include <patchbay/server.h>

#include "base/crypto.h"
#include "base/runtime.h"
#include "protocol/schema_check.h"
#include "protocol/uri_template.h"
#include "rpc/task_store.h"
#include "server/registry.h"
#include "server/skills.h"

namespace patchbay {

// The library's way to what a Server consists of.
struct ServerAccess {
  using Core = Server::Core;
  static const std::shared_ptr<Core>& core(const Server& server) noexcept { return server.core_; }
};
using ServerCore = ServerAccess::Core;

class ChangeListener {
 public:
  virtual ~ChangeListener() = default;
  // Called in the middle of someone else's work: take note, act later.
  virtual void on_change(const Change& change) = 0;
};

// A template is parsed when it is added, not when it is matched.
struct TemplateRoute {
  UriTemplate pattern;
  TemplateHandler handler;
};

// What a tool takes and returns is compiled when it is added.
struct ToolRoute {
  ToolSchemas schemas;
  ToolHandler handler;
  ToolOptions options;
};

struct Server::Core {
  explicit Core(ServerOptions o);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;
  ~Core();

  ServerOptions options;
  Registry<Tool, ToolRoute> tools{"tools"};
  Registry<Resource, ResourceHandler> resources{"resources"};
  Registry<ResourceTemplate, TemplateRoute> templates{"resourceTemplates"};
  Registry<Prompt, PromptHandler> prompts{"prompts"};
  SkillShelf skills;
  std::shared_ptr<const CompletionHandler> completion;
  Sealer sealer;
  std::set<ChangeListener*> listeners;
  // Apart, because a client of one era cannot read the other's tasks.
  std::shared_ptr<TaskStore> legacy_tasks;
  std::shared_ptr<TaskStore> modern_tasks;
  bool tasks_offered = false;  // by any tool, once: clients were told of it

  bool offers_resources() const noexcept { return resources.ever_used() || templates.ever_used(); }
  ServerCapabilities capabilities() const;
  // Whether there is anything behind this method; methods without a capability always.
  bool offers(std::string_view method) const noexcept;
  void announce(Change change);
  // Makes the resources follow the skills.
  void follow_skills(const SkillChange& change);
  // The clock of the loop on which it is served.
  void follow(const Clock& clock) noexcept;
  void end_tasks();
  // What applies when nobody hands in a Runtime.
  Runtime own_runtime() const;
  // The ways in of a whole program (stdio, HTTP) that are open. When the last one closes,
  // nobody is left to fetch what tasks would still find.
  int doors = 0;
  static Task<void> close_door(std::shared_ptr<Core> core, Duration for_handlers);
};

TaskSupport task_support_of(const Tool& tool) noexcept;

// Whether news of `updated` is for who subscribed to `subscribed`: the same URI, or one above it.
bool concerns(std::string_view subscribed, std::string_view updated) noexcept;

}  // namespace patchbay
