#include "protocol/capabilities.h"

namespace patchbay {

namespace {

struct Allows {
  const ClientCapabilities& client;

  bool operator()(const ElicitRequest& request) const noexcept {
    return request.mode == ElicitRequest::Mode::form ? supports_form(client) : supports_url(client);
  }
  bool operator()(const CreateMessageRequest& request) const noexcept {
    if (!client.sampling) return false;
    return (request.tools.empty() && !request.tool_choice) || client.sampling->tools.has_value();
  }
  bool operator()(const ListRootsRequest&) const noexcept { return client.roots.has_value(); }
};

}  // namespace

bool supports_form(const ClientCapabilities& client) noexcept {
  return client.elicitation && (client.elicitation->form || !client.elicitation->url);
}

bool supports_url(const ClientCapabilities& client) noexcept { return client.elicitation && client.elicitation->url; }

bool allows(const ClientCapabilities& client, const InputRequest& request) noexcept {
  return std::visit(Allows{client}, request);
}

}  // namespace patchbay
