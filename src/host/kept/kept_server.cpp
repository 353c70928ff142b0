#include "host/kept/kept_server.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "json/kept_records.h"
#include "protocol/codec.h"

namespace patchbay {
namespace {

using std::chrono::sys_seconds;

constexpr std::size_t longest_text = 4096;

std::optional<sys_seconds> time_of(const Json& value) {
  const auto seconds = value.to_int();
  if (!seconds || *seconds < 0 || *seconds > last_second) return std::nullopt;
  return sys_seconds(std::chrono::seconds(*seconds));
}

std::int64_t seconds_of(sys_seconds time) { return time.time_since_epoch().count(); }

std::string text_of(const Json& value) {
  const auto text = value.text();
  return text && text->size() <= longest_text ? std::string(*text) : std::string();
}

constexpr std::array states{ServerState::connected, ServerState::failed, ServerState::needs_auth, ServerState::pending,
                            ServerState::disabled};

std::optional<KeptState> read_state(const Json& value) {
  const auto time = time_of(value["time"]);
  const auto name = value["state"].text();
  if (!time || !name) return std::nullopt;
  for (const auto state : states) {
    if (to_string(state) == *name) return KeptState{state, text_of(value["reason"]), text_of(value["error"]), *time};
  }
  return std::nullopt;
}

Json state_json(const KeptState& state) {
  return {{"state", to_string(state.state)},
          {"reason", state.reason},
          {"error", state.error},
          {"time", seconds_of(state.time)}};
}

std::optional<KeptDescription> read_description(const Json& value) {
  auto info = decode<Implementation>(value["serverInfo"]);
  auto capabilities = decode<ServerCapabilities>(value["capabilities"]);
  if (!info || !capabilities) return std::nullopt;
  KeptDescription out;
  out.server.info = std::move(*info);
  out.server.capabilities = std::move(*capabilities);
  if (const auto text = value["instructions"].text()) out.server.instructions = std::string(*text);
  out.server.protocol_version = text_of(value["protocolVersion"]);
  out.era = text_of(value["era"]);
  return out;
}

Json description_json(const KeptDescription& description) {
  const auto& server = description.server;
  return {{"serverInfo", encode(server.info)},
          {"capabilities", encode(server.capabilities)},
          {"instructions", server.instructions ? Json(*server.instructions) : Json()},
          {"protocolVersion", server.protocol_version},
          {"era", description.era}};
}

// One item that cannot be understood spoils its list: half a list would be taken for the whole.
template <class T>
std::optional<KeptList<T>> read_list(const Json& value) {
  const auto time = time_of(value["time"]);
  if (!time || !value["items"].is_array()) return std::nullopt;
  auto list = decode_list<T>(value["items"], "items");
  if (!list.problems.empty()) return std::nullopt;
  return KeptList<T>{*time, std::move(list.items)};
}

std::optional<KeptList<std::shared_ptr<const Tool>>> read_tools(const Json& value) {
  auto list = read_list<Tool>(value);
  if (!list) return std::nullopt;
  KeptList<std::shared_ptr<const Tool>> out{list->time, {}};
  out.items.reserve(list->items.size());
  for (auto& tool : list->items) out.items.push_back(std::make_shared<const Tool>(std::move(tool)));
  return out;
}

const Tool& item_of(const std::shared_ptr<const Tool>& tool) { return *tool; }
template <class T>
const T& item_of(const T& item) {
  return item;
}

template <class T>
void add_list(Json& out, std::string_view key, const std::optional<KeptList<T>>& list) {
  if (!list) return;
  Json items = Json::array();
  for (const auto& item : list->items) items.push_back(encode(item_of(item)));
  out.as_object().append(key, Json{{"time", seconds_of(list->time)}, {"items", std::move(items)}});
}

std::string text_of(const KeptServer& server) {
  Json out{{"version", kept_server_version}, {"name", server.name}, {"stamp", server.stamp}, {"cut", server.cut}};
  if (server.state) out.as_object().append("state", state_json(*server.state));
  if (server.description) out.as_object().append("description", description_json(*server.description));
  add_list(out, "tools", server.tools);
  add_list(out, "prompts", server.prompts);
  add_list(out, "resources", server.resources);
  add_list(out, "resourceTemplates", server.templates);
  return to_text(out) + "\n";
}

}  // namespace

std::string_view to_string(KeptUse use) noexcept {
  switch (use) {
    case KeptUse::usable:
      return "can be used";
    case KeptUse::switched_off:
      return "is switched off by MCP_DISCOVERY_CACHE=0";
    case KeptUse::missing:
      return "does not exist: the server was not used yet, or its entry or a variable in it has changed";
    case KeptUse::unreadable:
      return "cannot be read";
    case KeptUse::newer:
      return "was written by a newer version of this program";
    case KeptUse::not_listed:
      return "does not exist: the server has not listed it yet";
    case KeptUse::no_room:
      return "is incomplete: the lists of the server are too large";
    case KeptUse::expired:
      return "is too old";
    case KeptUse::from_future:
      return "has a time in the future";
    case KeptUse::program_changed:
      return "is out of date: the program of the server has changed";
  }
  return "";
}

KeptPolicy kept_policy(const VariableLookup& variables) {
  KeptPolicy policy;
  const auto on = variables("MCP_DISCOVERY_CACHE");
  policy.on = !on || (*on != "0" && *on != "false");
  if (const auto text = variables("MCP_DISCOVERY_CACHE_TTL_S")) {
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
    const bool whole = error == std::errc() && end == text->data() + text->size() && !text->empty();
    if (whole && seconds >= 0 && seconds <= last_second) policy.lasts = std::chrono::seconds(seconds);
  }
  return policy;
}

ReadKept read_kept_server(std::string_view text) {
  const auto parsed = parse_json(text);
  if (!parsed) return {KeptUse::unreadable, std::nullopt};
  const Json& value = *parsed;
  const auto version = value["version"].to_int();
  if (!version || *version < 1) return {KeptUse::unreadable, std::nullopt};
  if (*version > kept_server_version) return {KeptUse::newer, std::nullopt};
  const auto name = value["name"].text();
  if (!name) return {KeptUse::unreadable, std::nullopt};
  KeptServer out;
  out.name = std::string(*name);
  out.stamp = text_of(value["stamp"]);
  out.cut = value["cut"] == Json(true);
  out.state = read_state(value["state"]);
  out.description = read_description(value["description"]);
  out.tools = read_tools(value["tools"]);
  out.prompts = read_list<Prompt>(value["prompts"]);
  out.resources = read_list<Resource>(value["resources"]);
  out.templates = read_list<ResourceTemplate>(value["resourceTemplates"]);
  return {KeptUse::usable, std::move(out)};
}

std::string write_kept_server(const KeptServer& server) {
  auto text = text_of(server);
  if (text.size() <= largest_kept_server) return text;
  auto less = server;
  less.cut = true;
  for (int step = 0; text.size() > largest_kept_server; ++step) {
    if (step == 0) less.resources.reset(), less.templates.reset();
    if (step == 1) less.prompts.reset();
    if (step == 2) less.tools.reset();
    if (step == 3) less.description.reset();
    if (step == 4) return {};
    text = text_of(less);
  }
  return text;
}

KeptUse judge_kept(const KeptServer& kept, std::optional<sys_seconds> listed, std::string_view stamp_now,
                   sys_seconds now, const KeptPolicy& policy) {
  if (!policy.on) return KeptUse::switched_off;
  if (!listed) return kept.cut ? KeptUse::no_room : KeptUse::not_listed;
  if (kept.stamp != stamp_now) return KeptUse::program_changed;
  if (*listed > now) return KeptUse::from_future;
  return now - *listed < policy.lasts ? KeptUse::usable : KeptUse::expired;
}

KeptServer merged_kept(std::optional<KeptServer> before, KeptServer now) {
  if (!before) return now;
  if (!now.state) now.state = std::move(before->state);
  if (before->stamp != now.stamp) return now;
  if (!now.description) now.description = std::move(before->description);
  if (!now.tools) now.tools = std::move(before->tools);
  if (!now.prompts) now.prompts = std::move(before->prompts);
  if (!now.resources) now.resources = std::move(before->resources);
  if (!now.templates) now.templates = std::move(before->templates);
  return now;
}

}  // namespace patchbay
