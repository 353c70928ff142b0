// Core: what a Server knows, shared by all its connections: the registries, the options,
// the key that seals state clients carry, and who wants to hear of changes. No era and no
// connection appears here. Loop thread only.
#pragma once

#include <memory>
#include <set>
#include <string_view>

#include <patchbay/server.h>

#include "base/crypto.h"
#include "protocol/uri_template.h"
#include "server/registry.h"

namespace patchbay {

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

struct Server::Core {
  explicit Core(ServerOptions o);

  ServerOptions options;
  Registry<Tool, ToolHandler> tools{"tools"};
  Registry<Resource, ResourceHandler> resources{"resources"};
  Registry<ResourceTemplate, TemplateRoute> templates{"resourceTemplates"};
  Registry<Prompt, PromptHandler> prompts{"prompts"};
  std::shared_ptr<const CompletionHandler> completion;
  Sealer sealer;
  std::set<ChangeListener*> listeners;

  bool offers_resources() const noexcept { return resources.ever_used() || templates.ever_used(); }
  ServerCapabilities capabilities() const;
  // Whether there is anything behind this method; methods without a capability always.
  bool offers(std::string_view method) const noexcept;
  void announce(Change change);
};

// Whether news of `updated` is for who subscribed to `subscribed`: the same URI, or one above it.
bool concerns(std::string_view subscribed, std::string_view updated) noexcept;

}  // namespace patchbay
