#include "server/core.h"

#include "protocol/methods.h"

namespace patchbay {

std::string encode_cursor(std::string_view list, std::uint64_t place) {
  return base64url_encode(std::string(list) + ":" + std::to_string(place));
}

Result<std::uint64_t> decode_cursor(std::string_view list, std::string_view cursor) {
  auto refused = [] { return fail(Errc::invalid_argument, "the cursor was not issued by this server"); };
  auto text = base64url_decode(cursor);
  if (!text) return refused();
  std::string_view rest = *text;
  if (!rest.starts_with(list) || !rest.substr(list.size()).starts_with(':')) return refused();
  rest.remove_prefix(list.size() + 1);
  std::uint64_t place = 0;
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), place);
  if (error != std::errc() || end != rest.data() + rest.size()) return refused();
  return place;
}

bool concerns(std::string_view subscribed, std::string_view updated) noexcept {
  if (!updated.starts_with(subscribed)) return false;
  return updated.size() == subscribed.size() || subscribed.ends_with('/') || updated[subscribed.size()] == '/';
}

Server::Core::Core(ServerOptions o) : options(std::move(o)), sealer(system_random()) {
  if (options.page_size == 0) options.page_size = 1;
}

ServerCapabilities Server::Core::capabilities() const {
  ServerCapabilities capabilities;
  capabilities.logging = Json::object();
  if (completion) capabilities.completions = Json::object();
  if (prompts.ever_used()) capabilities.prompts = ListChangedCapability{.list_changed = true, .extra = {}};
  if (offers_resources()) {
    capabilities.resources = ResourcesCapability{.subscribe = true, .list_changed = true, .extra = {}};
  }
  if (tools.ever_used()) capabilities.tools = ListChangedCapability{.list_changed = true, .extra = {}};
  return capabilities;
}

bool Server::Core::offers(std::string_view method) const noexcept {
  if (method == method::complete) return completion != nullptr;
  if (method.starts_with("tools/")) return tools.ever_used();
  if (method.starts_with("prompts/")) return prompts.ever_used();
  if (method.starts_with("resources/")) return offers_resources();
  return true;
}

void Server::Core::announce(Change change) {
  for (auto* listener : listeners) listener->on_change(change);
}

}  // namespace patchbay
