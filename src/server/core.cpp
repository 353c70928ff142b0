#include "server/core.h"

#include <algorithm>

#include "protocol/methods.h"
#include "protocol/skills.h"

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

TaskSupport task_support_of(const Tool& tool) noexcept {
  return tool.execution && tool.execution->task_support ? *tool.execution->task_support : TaskSupport::forbidden;
}

bool concerns(std::string_view subscribed, std::string_view updated) noexcept {
  if (!updated.starts_with(subscribed)) return false;
  return updated.size() == subscribed.size() || subscribed.ends_with('/') || updated[subscribed.size()] == '/';
}

ServerCore::Core(ServerOptions o) : options(std::move(o)), sealer(system_random()) {
  if (options.page_size == 0) options.page_size = 1;
  auto room = std::make_shared<TaskRoom>(TaskRoom::Bounds{.count = options.tasks,
                                                          .count_each = options.tasks_each,
                                                          .bytes = options.task_bytes,
                                                          .bytes_each = options.task_bytes_each});
  const TaskStore::Bounds bounds{.ttl = options.task_ttl,
                                 .ttl_most = std::max(options.task_ttl, options.task_ttl_most),
                                 .poll_interval = options.task_poll_interval};
  for (auto* store : {&legacy_tasks, &modern_tasks}) {
    *store = std::make_shared<TaskStore>(bounds, real_clock(), system_random(), room);
    (*store)->on_change = [this](const StoredTask& task) { announce({Change::Kind::task, task.task().id}); };
  }
}

ServerCore::~Core() { end_tasks(); }

void ServerCore::follow(const Clock& clock) noexcept {
  legacy_tasks->follow(clock);
  modern_tasks->follow(clock);
}

void ServerCore::end_tasks() {
  legacy_tasks->stop();
  modern_tasks->stop();
}

Task<void> ServerCore::close_door(std::shared_ptr<Core> core, Duration for_handlers) {
  if (--core->doors > 0) co_return;
  co_await core->legacy_tasks->finish(for_handlers);
  co_await core->modern_tasks->finish(for_handlers);
}

Runtime ServerCore::own_runtime() const {
  Runtime runtime;
  runtime.log = Log(options.log);
  return runtime;
}

ServerCapabilities ServerCore::capabilities() const {
  ServerCapabilities capabilities;
  capabilities.logging = Json::object();
  if (completion) capabilities.completions = Json::object();
  if (prompts.ever_used()) capabilities.prompts = ListChangedCapability{.list_changed = true, .extra = {}};
  if (offers_resources()) {
    capabilities.resources = ResourcesCapability{.subscribe = true, .list_changed = true, .extra = {}};
  }
  if (tools.ever_used()) capabilities.tools = ListChangedCapability{.list_changed = true, .extra = {}};
  if (tasks_offered) {
    capabilities.tasks = Json{{"list", Json::object()},
                              {"cancel", Json::object()},
                              {"requests", Json{{"tools", Json{{"call", Json::object()}}}}}};
    capabilities.extensions[std::string(tasks_extension)] = Json::object();
  }
  if (skills.ever_used()) capabilities.extensions[std::string(skills_extension)] = skills_settings();
  return capabilities;
}

bool ServerCore::offers(std::string_view method) const noexcept {
  if (method == method::complete) return completion != nullptr;
  if (method.starts_with("tools/")) return tools.ever_used();
  if (method.starts_with("tasks/")) return tasks_offered;
  if (method.starts_with("prompts/")) return prompts.ever_used();
  if (method.starts_with("skills/") || method == method::read_directory) return skills.ever_used();
  if (method.starts_with("resources/")) return offers_resources();
  return true;
}

namespace {

ResourceHandler answers_with(std::shared_ptr<const ServedFile> file) {
  return [file](RequestContext&, std::string) {
    return [](std::shared_ptr<const ServedFile> kept) -> Task<std::vector<ResourceContents>> {
      std::vector<ResourceContents> contents;
      contents.push_back(kept->contents);
      co_return contents;
    }(file);
  };
}

}  // namespace

void ServerCore::follow_skills(const SkillChange& change) {
  const auto& [before, after] = change;
  for (const auto& [uri, file] : before) {
    if (!after.contains(uri)) resources.erase(uri);
  }
  std::vector<std::string> updated;
  for (const auto& [uri, file] : after) {
    auto old = before.find(uri);
    if (old != before.end() && old->second == file) continue;
    if (old != before.end() && old->second->listed != file->listed) updated.push_back(uri);
    resources.put(uri, file->resource, answers_with(file));
  }
  announce({Change::Kind::resources, {}});
  for (auto& uri : updated) announce({Change::Kind::resource_updated, std::move(uri)});
}

void ServerCore::announce(Change change) {
  for (auto* listener : listeners) listener->on_change(change);
}

}  // namespace patchbay
