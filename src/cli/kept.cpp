#include "cli/kept.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/offload.h"
#include "cli/texts/remedy_words.h"
#include "cli/words/permission_flags.h"
#include "host/kept/server_files.h"
#include "host/kept/server_log.h"
#include "host/offered_tools.h"
#include "settings/folders.h"

namespace patchbay::cli {
namespace {

using std::chrono::sys_seconds;

sys_seconds now_seconds() { return std::chrono::floor<std::chrono::seconds>(real_clock().wall()); }

// A server that never said that it has such lists has none: nothing needs to be asked.
template <class T>
KeptUse judged(const KeptServer& kept, const std::optional<KeptList<T>>& list, bool declared, const std::string& stamp,
               sys_seconds now, const KeptPolicy& policy) {
  auto time = list ? std::optional(list->time) : std::nullopt;
  if (!time && !declared && kept.description && kept.tools) time = kept.tools->time;
  return judge_kept(kept, time, stamp, now, policy);
}

void look_up(KeptRow& row, const std::string& directory, const KeyContext& context, sys_seconds now,
             const KeptPolicy& policy) {
  const auto key = server_key(*row.server, context);
  auto read = load_kept_server(directory, key);
  row.tools = row.prompts = row.resources = policy.on ? read.use : KeptUse::switched_off;
  if (!read.server || !policy.on) return;
  const auto& kept = row.kept.emplace(std::move(*read.server));
  const auto stamp = stamp_of(key.files);
  const auto capabilities = kept.description ? kept.description->server.capabilities : ServerCapabilities();
  row.tools = judged(kept, kept.tools, capabilities.tools.has_value(), stamp, now, policy);
  row.prompts = judged(kept, kept.prompts, capabilities.prompts.has_value(), stamp, now, policy);
  row.resources = judged(kept, kept.resources, capabilities.resources.has_value(), stamp, now, policy);
}

KeptRow row_of(const ServerConfig& server, const Permissions& permissions) {
  KeptRow row;
  row.server = &server;
  row.detail = server.reason.empty() ? std::string() : reason_words(server);
  switch (server.standing) {
    case ServerStanding::active:
      row.usable = true;
      row.reason = to_string(ServerReason::not_started);
      break;
    case ServerStanding::awaiting_approval:
      row.reason = to_string(server.standing);
      break;
    case ServerStanding::broken:
      row.state = ServerState::failed;
      row.reason = to_string(server.standing);
      break;
    default:
      row.state = ServerState::disabled;
      row.reason = to_string(server.standing);
      break;
  }
  if (row.usable && permissions.denied_server(server.name)) {
    row.usable = false;
    row.reason = "denied by rules";
  }
  return row;
}

}  // namespace

std::string state_directory() { return state_folder(process_environment()); }

KeptView kept_view(const Settings& settings) {
  auto declared = load_declared(settings);
  auto permissions = permissions_of(declared.config, settings);
  KeptView view{std::move(declared), std::move(permissions), now_seconds(), {}};
  const auto& config = view.declared.config;
  const auto context = key_context(config, process_environment());
  const auto policy = kept_policy(context.variables);
  const auto directory = state_directory();
  for (const auto& server : config.servers) {
    auto row = row_of(server, view.permissions);
    if (row.usable && !directory.empty()) look_up(row, directory, context, view.now, policy);
    view.rows.push_back(std::move(row));
  }
  return view;
}

std::shared_ptr<const Catalog> KeptView::catalog() const {
  OfferedTools offered;
  offered.set_rules(permissions);
  for (const auto& row : rows) {
    if (row.tools == KeptUse::usable && row.kept && row.kept->tools) {
      offered.set(row.server->name, NamePrefix::server, row.kept->tools->items);
    }
  }
  return offered.shown(permissions);
}

std::shared_ptr<const Tool> KeptView::tool(std::string_view server, std::string_view name) const {
  for (const auto& row : rows) {
    if (row.server->name != server || row.tools != KeptUse::usable || !row.kept || !row.kept->tools) continue;
    for (const auto& tool : row.kept->tools->items) {
      if (tool->name == name) return tool;
    }
  }
  return nullptr;
}

bool has_log(const ServerConfig& server, const LoadedConfig& config) {
  const auto directory = state_directory();
  std::error_code ignored;
  return !directory.empty() && std::filesystem::exists(server_log_path(directory, server, config.project_dir), ignored);
}

Task<void> keep_lists(Context& context, std::vector<ListedNow> lists) {
  const auto directory = state_directory();
  const auto& config = context.host.config();
  const auto keys = key_context(config, process_environment());
  if (directory.empty() || lists.empty() || !kept_policy(keys.variables).on) co_return;
  std::vector<std::pair<ServerKey, KeptServer>> found;
  const auto now = now_seconds();
  for (auto& list : lists) {
    const auto entry = std::ranges::find(config.servers, list.server, &ServerConfig::name);
    if (entry == config.servers.end() || entry->standing != ServerStanding::active) continue;
    auto key = server_key(*entry, keys);
    KeptServer kept;
    kept.name = list.server;
    kept.stamp = stamp_of(key.files);
    if (list.prompts) kept.prompts = KeptList<Prompt>{now, std::move(*list.prompts)};
    if (list.resources) kept.resources = KeptList<Resource>{now, std::move(*list.resources)};
    if (list.templates) kept.templates = KeptList<ResourceTemplate>{now, std::move(*list.templates)};
    found.emplace_back(std::move(key), std::move(kept));
  }
  auto write = [directory, found = std::move(found)]() mutable {
    std::string failure;
    for (auto& [key, kept] : found) {
      auto written = keep_server(directory, key, std::move(kept));
      if (!written && failure.empty()) failure = written.error().message();
    }
    return failure;
  };
  const auto failure = co_await offload(Pool::slow, std::move(write));
  if (!failure.empty()) context.runtime.log(LogLevel::warning, "state_not_kept", "text", failure);
}

}  // namespace patchbay::cli
