// The session era: revisions that begin with `initialize`. A request carries little about
// itself, servers send requests of their own, results have no envelope.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "protocol/codec.h"
#include "protocol/methods.h"
#include "protocol/wire_parts.h"

namespace patchbay {
namespace {

constexpr std::string_view v2025_11 = "2025-11-25";
constexpr std::string_view v2025_06 = "2025-06-18";
constexpr std::string_view v2025_03 = "2025-03-26";
constexpr std::string_view v2024_11 = "2024-11-05";
constexpr std::array versions{v2025_11, v2025_06, v2025_03, v2024_11};

constexpr std::array requests{method::initialize,    method::ping,           method::list_tools,
                              method::call_tool,     method::list_resources, method::list_resource_templates,
                              method::read_resource, method::subscribe,      method::unsubscribe,
                              method::list_prompts,  method::get_prompt,     method::complete,
                              method::set_log_level, method::list_skills,    method::get_skill,
                              method::read_directory};
// Of either side.
constexpr std::array task_requests{method::get_task, method::task_result, method::list_tasks, method::cancel_task};

// The model's names and this era's for the same members.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> task_members{
    {{"ttlMs", "ttl"}, {"pollIntervalMs", "pollInterval"}}};

void to_model_names(Json& task) {
  auto* object = task.if_object();
  if (!object) return;
  for (const auto& [model, ours] : task_members) {
    Json* value = object->find(ours);
    if (!value) continue;
    Json moved = std::move(*value);
    object->erase(ours);
    object->set(model, std::move(moved));
  }
}

Json write_plain_task(const RemoteTask& task) {
  Json written = encode(task);
  auto& object = written.as_object();
  for (const auto& [model, ours] : task_members) {
    Json* value = object.find(model);
    if (!value) continue;
    Json moved = std::move(*value);
    object.erase(model);
    object.set(ours, std::move(moved));
  }
  if (!task.ttl_ms) object.set("ttl", Json());  // said, also when there is no limit
  return written;
}

constexpr std::int64_t resource_not_found = -32002;
constexpr std::int64_t url_elicitation_required = -32042;

class LegacyWire final : public Wire {
 public:
  explicit constexpr LegacyWire(std::string_view version) : version_(version) {}

  Era era() const noexcept override { return Era::legacy; }
  std::string_view version() const noexcept override { return version_; }
  bool has_request(std::string_view method) const noexcept override {
    return std::ranges::find(requests, method) != requests.end() || is_task_request(method);
  }
  bool has_server_request(std::string_view method) const noexcept override {
    if (is_task_request(method)) return true;
    if (method == method::elicit) return version_ == v2025_06 || version_ == v2025_11;
    return method == method::ping || method == method::create_message || method == method::list_roots;
  }
  bool allows_batches() const noexcept override { return version_ == v2025_03; }
  bool closing_cancels() const noexcept override { return false; }
  bool repeats_in_headers() const noexcept override { return false; }
  bool primes_streams() const noexcept override { return version_ == v2025_11; }

  ClientCapabilities offered(ClientCapabilities capabilities) const override { return without_news(capabilities); }
  ServerCapabilities offered(ServerCapabilities capabilities) const override { return without_news(capabilities); }

  bool asks_for_tasks(const ServerCapabilities& server) const noexcept override {
    return has_tasks() && server.tasks && (*server.tasks)["requests"]["tools"].find("call");
  }
  void add_task_wish(Members& members, const TaskWish& wish) const override {
    Json task = Json::object();
    if (wish.ttl_ms) task["ttl"] = *wish.ttl_ms;
    members.emplace_back("task", std::move(task));
  }
  Result<TaskState> read_task(Json state) const override {
    to_model_names(state);
    auto task = decode<RemoteTask>(std::move(state), "task");
    if (!task) return std::unexpected(std::move(task).error());
    return TaskState{std::move(*task), {}, {}, {}};
  }

  Payload params(const Members& members, const ClientIdentity&, const RequestMeta& meta) const override {
    auto object = meta_of(members);
    if (meta.progress_token) object.set("progressToken", token_json(*meta.progress_token));
    if (members.empty() && object.empty()) return {};
    return params_text(members, std::move(object));
  }

  // A legacy result has no envelope; one that a dual server adds out of habit is taken off.
  Result<Outcome> outcome(std::string_view method, Json result) const override {
    if (!result.is_object()) {
      return fail(Errc::protocol,
                  fmt::format("the result of {} is {}, not an object", method, to_string(result.kind())));
    }
    result.as_object().erase("resultType");
    if (Json* list = method == method::list_tasks ? result.as_object().find("tasks") : nullptr) {
      if (auto* tasks = list->if_array()) std::ranges::for_each(*tasks, to_model_names);
    }
    const Json* task = method == method::call_tool ? result.find("task") : nullptr;
    if (task && task->find("taskId") && !result.find("content")) {
      auto state = read_task(*task);
      if (!state) return std::unexpected(std::move(state).error());
      return std::move(state->task);
    }
    return result;
  }

  bool read_plain(std::string_view text, CallToolResult& out) const override {
    return read_plain_result(text, out, nullptr);
  }

  std::optional<InputRequired> input_needed(const Error& error) const override {
    if (error.rpc_code() != url_elicitation_required || error.rpc_data().empty()) return std::nullopt;
    auto data = parse_json(error.rpc_data());
    const Json* list = data ? data->find("elicitations") : nullptr;
    if (!list || !list->is_array()) return std::nullopt;
    InputRequired input;
    for (const auto& item : list->as_array()) {
      auto request = decode<ElicitRequest>(item);
      if (!request || request->mode != ElicitRequest::Mode::url) continue;
      auto key = request->elicitation_id.value_or(std::to_string(input.requests.size()));
      input.requests.emplace_back(std::move(key), std::move(*request));
    }
    if (input.requests.empty()) return std::nullopt;
    return input;
  }

  // The user went to the URL; the request itself is repeated as it was.
  void add_input(Members&, const InputAnswers&, const std::optional<std::string>&) const override {}

  Json complete(std::string_view, Json result, const Implementation&, const CacheHints&) const override {
    return result;
  }

  Json needs_input(const InputRequired&, const Implementation&) const override {
    throw Error(Errc::internal, "a legacy result cannot ask for input");
  }
  std::int64_t resource_not_found_code() const noexcept override { return resource_not_found; }

  Result<std::optional<TaskWish>> task_wish(const Json& params) const override {
    const Json* task = has_tasks() ? params.find("task") : nullptr;
    if (!task || task->is_null()) return std::nullopt;
    if (!task->is_object()) return fail(Errc::invalid_argument, "task is not an object");
    TaskWish wish;
    if (const Json* ttl = task->find("ttl"); ttl && !ttl->is_null()) {
      wish.ttl_ms = ttl->to_int();
      if (!wish.ttl_ms || *wish.ttl_ms < 0)
        return fail(Errc::invalid_argument, "task.ttl is not a number of milliseconds");
    }
    return wish;
  }
  Json task_created(const RemoteTask& task, const Implementation&) const override {
    return Json{{"task", write_plain_task(task)}};
  }
  Json write_task(const TaskState& state) const override { return write_plain_task(state.task); }
  bool tool_error_fails_task() const noexcept override { return true; }

 private:
  bool has_tasks() const noexcept { return version_ == v2025_11; }
  bool is_task_request(std::string_view method) const noexcept {
    return has_tasks() && std::ranges::find(task_requests, method) != task_requests.end();
  }
  // Tasks are an extension of the newer era, and in this one part of its last revision.
  template <class Capabilities>
  Capabilities without_news(Capabilities capabilities) const {
    capabilities.extensions.erase(std::string(tasks_extension));
    if (!has_tasks()) capabilities.tasks.reset();
    return capabilities;
  }

  std::string_view version_;
};

constexpr LegacyWire wire_2025_11{v2025_11};
constexpr LegacyWire wire_2025_06{v2025_06};
constexpr LegacyWire wire_2025_03{v2025_03};
constexpr LegacyWire wire_2024_11{v2024_11};
constexpr std::array<const Wire*, 4> wires{&wire_2025_11, &wire_2025_06, &wire_2025_03, &wire_2024_11};

}  // namespace

Json related_task_meta(std::string_view task_id) {
  return Json{{"io.modelcontextprotocol/related-task", Json{{"taskId", task_id}}}};
}

std::optional<std::string> related_task_of(const Json& params) {
  const auto id = params["_meta"]["io.modelcontextprotocol/related-task"]["taskId"].text();
  return id ? std::optional<std::string>(*id) : std::nullopt;
}

std::span<const Wire* const> legacy_wires() noexcept { return wires; }
std::span<const std::string_view> legacy_versions() noexcept { return versions; }

}  // namespace patchbay
