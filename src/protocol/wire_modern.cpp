// The stateless era: every request repeats version and capabilities in `_meta`, every
// result says what kind it is, servers ask inside results instead of sending requests.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "protocol/codec.h"
#include "protocol/methods.h"
#include "protocol/wire_parts.h"

namespace patchbay {
namespace {

constexpr std::array<std::string_view, 1> versions{"2026-07-28"};

constexpr std::string_view key_version = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view key_capabilities = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view key_client_info = "io.modelcontextprotocol/clientInfo";
constexpr std::string_view key_log_level = "io.modelcontextprotocol/logLevel";
constexpr std::string_view key_server_info = "io.modelcontextprotocol/serverInfo";
constexpr std::string_view key_subscription = "io.modelcontextprotocol/subscriptionId";

constexpr std::int64_t internal_error = -32603;

constexpr std::array requests{method::discover,
                              method::list_tools,
                              method::call_tool,
                              method::list_resources,
                              method::list_resource_templates,
                              method::read_resource,
                              method::read_directory,
                              method::list_skills,
                              method::get_skill,
                              method::list_prompts,
                              method::get_prompt,
                              method::complete,
                              method::listen,
                              method::get_task,
                              method::update_task,
                              method::cancel_task};
constexpr std::array may_need_input{method::call_tool, method::read_resource, method::get_prompt};
constexpr std::array cacheable{method::discover,
                               method::list_tools,
                               method::list_prompts,
                               method::list_resources,
                               method::list_resource_templates,
                               method::read_resource,
                               method::list_skills,
                               method::get_skill};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& table, std::string_view method) {
  return std::ranges::find(table, method) != table.end();
}

Result<InputRequest> decode_input_request(const std::string& key, const Json& item) {
  const Json& name = item["method"];
  const Json* found = item.find("params");
  const Json params = found ? *found : Json::object();
  auto wrap = [&](auto decoded) -> Result<InputRequest> {
    if (!decoded) return std::unexpected(decoded.error().within(fmt::format("inputRequests.{}.params", key)));
    return InputRequest(std::move(*decoded));
  };
  if (name == Json(method::elicit)) return wrap(decode<ElicitRequest>(params));
  if (name == Json(method::create_message)) return wrap(decode<CreateMessageRequest>(params));
  if (name == Json(method::list_roots)) return wrap(decode<ListRootsRequest>(params));
  return fail(Errc::protocol, fmt::format("inputRequests.{} of the server asks for an unknown method", key));
}

Json encode_input_request(const InputRequest& request) {
  if (auto* elicit = std::get_if<ElicitRequest>(&request))
    return {{"method", method::elicit}, {"params", encode(*elicit)}};
  if (auto* sample = std::get_if<CreateMessageRequest>(&request)) {
    return {{"method", method::create_message}, {"params", encode(*sample)}};
  }
  return {{"method", method::list_roots}};
}

Json encode_input_response(const InputResponse& response) {
  return std::visit([](const auto& value) { return encode(value); }, response);
}

Result<void> decode_input_requests(const Json& result, std::vector<std::pair<std::string, InputRequest>>& into) {
  const Json* list = result.find("inputRequests");
  if (!list || list->is_null()) return {};
  if (!list->is_object()) return fail(Errc::protocol, "inputRequests is not an object");
  for (const auto& [key, item] : list->as_object()) {
    auto request = decode_input_request(std::string(key), item);
    if (!request) return std::unexpected(std::move(request).error());
    into.emplace_back(key, std::move(*request));
  }
  return {};
}

Json encode_input_requests(const std::vector<std::pair<std::string, InputRequest>>& asked) {
  Json::Object object;
  for (const auto& [key, request] : asked) object.set(key, encode_input_request(request));
  return object;
}

Json write_flat_task(const RemoteTask& task) {
  Json written = encode(task);
  if (!task.ttl_ms) written["ttlMs"] = Json();  // said, also when there is no limit
  return written;
}

Error task_error(const Json& error) {
  const auto message = error["message"].text();
  const Json* data = error.find("data");
  return Error::rpc(error["code"].to_int().value_or(internal_error),
                    std::string(message.value_or("the task failed; the server gave no reason")),
                    data ? to_text(*data) : std::string());
}

Result<Outcome> decode_input_required(const Json& result) {
  InputRequired input;
  if (auto read = decode_input_requests(result, input.requests); !read) return std::unexpected(std::move(read).error());
  if (const Json* state = result.find("requestState"); state && !state->is_null()) {
    if (!state->is_string()) return fail(Errc::protocol, "requestState is not a string");
    input.state = state->as_text();
  }
  if (input.requests.empty() && !input.state) {
    return fail(Errc::protocol, "the server needs input but did not say which");
  }
  return input;
}

// Said in the description of the server already.
void erase_server_info(Json::Object& object) {
  Json* meta = object.find("_meta");
  if (!meta || !meta->is_object()) return;
  meta->as_object().erase(key_server_info);
  if (meta->size() == 0) object.erase("_meta");
}

class ModernWire final : public Wire {
 public:
  explicit constexpr ModernWire(std::string_view version) : version_(version) {}

  Era era() const noexcept override { return Era::modern; }
  std::string_view version() const noexcept override { return version_; }
  bool has_request(std::string_view method) const noexcept override { return contains(requests, method); }
  bool has_server_request(std::string_view) const noexcept override { return false; }
  bool allows_batches() const noexcept override { return false; }
  bool closing_cancels() const noexcept override { return true; }
  bool repeats_in_headers() const noexcept override { return true; }
  bool primes_streams() const noexcept override { return false; }

  ClientCapabilities offered(ClientCapabilities capabilities) const override {
    capabilities.tasks.reset();  // the older era's; an extension here
    return capabilities;
  }
  ServerCapabilities offered(ServerCapabilities capabilities) const override {
    capabilities.tasks.reset();
    return capabilities;
  }

  bool asks_for_tasks(const ServerCapabilities&) const noexcept override { return false; }
  void add_task_wish(Members&, const TaskWish&) const override {}

  Result<TaskState> read_task(Json state) const override {
    TaskState read;
    if (!state.is_object()) return fail(Errc::protocol, "the state of a task that the server sent is not an object");
    if (auto asked = decode_input_requests(state, read.requests); !asked) {
      return std::unexpected(std::move(asked).error());
    }
    auto& object = state.as_object();
    if (Json* result = object.find("result"); result && result->is_object()) {
      result->as_object().erase("resultType");
      read.result = std::move(*result);
    }
    if (const Json* error = object.find("error"); error && error->is_object()) read.error = task_error(*error);
    for (auto key : {"resultType", "inputRequests", "result", "error"}) object.erase(key);
    erase_server_info(object);
    auto task = decode<RemoteTask>(std::move(state));
    if (!task) return std::unexpected(task.error().within("the state of a task"));
    read.task = std::move(*task);
    return read;
  }

  Payload params(const Members& members, const ClientIdentity& client, const RequestMeta& meta) const override {
    auto object = meta_of(members);
    if (meta.progress_token) object.set("progressToken", token_json(*meta.progress_token));
    object.set(key_version, version_);
    object.set(key_client_info, encode(client.info));
    auto capabilities = offered(client.capabilities);
    if (!meta.tasks) capabilities.extensions.erase(std::string(tasks_extension));
    object.set(key_capabilities, encode(capabilities));
    if (meta.log_level) object.set(key_log_level, to_string(*meta.log_level));
    return params_text(members, std::move(object));
  }

  Result<Outcome> outcome(std::string_view method, Json result) const override {
    if (!result.is_object()) {
      return fail(Errc::protocol,
                  fmt::format("the result of {} is {}, not an object", method, to_string(result.kind())));
    }
    const Json type = result["resultType"];  // absent means complete
    if (type == Json("input_required")) {
      if (!contains(may_need_input, method)) {
        return fail(Errc::protocol,
                    fmt::format("the server answered {} with input_required, which is allowed only for tools/call, "
                                "resources/read and prompts/get; report it to the server's author",
                                method));
      }
      return decode_input_required(result);
    }
    const bool task = type == Json("task");
    if (task && method == method::call_tool) {
      auto state = read_task(std::move(result));
      if (!state) return std::unexpected(std::move(state).error());
      return std::move(state->task);
    }
    // Some servers name the state of a task so as well.
    if (!type.is_null() && type != Json("complete") && !(task && method == method::get_task)) {
      return fail(Errc::protocol,
                  fmt::format("the server answered {} with the unknown result type {}", method, to_text(type)));
    }
    auto& object = result.as_object();
    object.erase("resultType");
    erase_server_info(object);
    return result;
  }

  bool read_plain(std::string_view text, CallToolResult& out) const override {
    const auto known = [](std::string_view key, std::string_view value) {
      return key == "resultType" && value == "\"complete\"";
    };
    if (!read_plain_result(text, out, known)) return false;
    if (auto* meta = out.meta.if_object()) {
      meta->erase(key_server_info);
      if (meta->empty()) out.meta = Json();
    }
    return true;
  }

  std::optional<InputRequired> input_needed(const Error&) const override { return std::nullopt; }

  void add_input(Members& members, const InputAnswers& answers,
                 const std::optional<std::string>& state) const override {
    if (!answers.empty()) {
      Json::Object object;
      for (const auto& [key, answer] : answers) object.set(key, encode_input_response(answer));
      members.emplace_back("inputResponses", Json(std::move(object)));
    }
    if (state) members.emplace_back("requestState", Json(*state));
  }

  Json complete(std::string_view method, Json result, const Implementation& server,
                const CacheHints& cache) const override {
    auto& object = result.as_object();
    object.set("resultType", "complete");
    if (contains(cacheable, method)) {
      object.set("ttlMs", cache.ttl_ms.value_or(0));
      object.set("cacheScope", cache.scope == CacheScope::shared ? "public" : "private");
    }
    object["_meta"][key_server_info] = encode(server);
    return result;
  }

  Json needs_input(const InputRequired& input, const Implementation& server) const override {
    Json result{{"resultType", "input_required"}};
    if (!input.requests.empty()) result["inputRequests"] = encode_input_requests(input.requests);
    if (input.state) result["requestState"] = *input.state;
    result["_meta"][key_server_info] = encode(server);
    return result;
  }
  std::int64_t resource_not_found_code() const noexcept override { return -32602; }

  // The older era's wish is not an error here, and says nothing.
  Result<std::optional<TaskWish>> task_wish(const Json&) const override { return std::nullopt; }
  Json task_created(const RemoteTask& task, const Implementation& server) const override {
    Json result = write_flat_task(task);
    result["resultType"] = "task";
    result["_meta"][key_server_info] = encode(server);
    return result;
  }
  Json write_task(const TaskState& state) const override {
    Json written = write_flat_task(state.task);
    if (!state.requests.empty()) written["inputRequests"] = encode_input_requests(state.requests);
    if (state.result) written["result"] = *state.result;
    if (state.error) {
      Json error{{"code", state.error->rpc_code().value_or(internal_error)}, {"message", state.error->message()}};
      if (auto data = parse_json(state.error->rpc_data())) error["data"] = std::move(*data);
      written["error"] = std::move(error);
    }
    return written;
  }
  bool tool_error_fails_task() const noexcept override { return false; }

 private:
  std::string_view version_;
};

constexpr ModernWire wire_2026_07{versions[0]};
constexpr std::array<const Wire*, 1> wires{&wire_2026_07};

}  // namespace

std::span<const Wire* const> modern_wires() noexcept { return wires; }
std::span<const std::string_view> modern_versions() noexcept { return versions; }

bool is_modern_request(const Json& params) noexcept { return params["_meta"].find(key_version) != nullptr; }

Result<ReceivedMeta> read_meta(const Json& params) {
  ReceivedMeta received;
  const Json& meta = params["_meta"];
  if (meta.is_null()) return received;
  auto bad = [](std::string_view what) { return fail(Errc::invalid_argument, fmt::format("_meta.{}", what)); };
  if (!meta.is_object()) return fail(Errc::invalid_argument, "_meta is not an object");
  if (const Json* token = meta.find("progressToken"); token && !token->is_null()) {
    if (token->is_string()) {
      received.progress_token = std::string(token->as_text());
    } else if (auto number = token->to_int()) {
      received.progress_token = *number;
    } else {
      return bad("progressToken is neither a string nor an integer");
    }
  }
  if (const Json* version = meta.find(key_version)) {
    if (!version->is_string()) return bad(fmt::format("{} is not a string", key_version));
    received.protocol_version = version->as_text();
  }
  if (const Json* info = meta.find(key_client_info); info && info->is_object()) {
    if (auto decoded = decode<Implementation>(*info)) received.client_info = std::move(*decoded);
  }
  if (const Json* capabilities = meta.find(key_capabilities)) {
    auto decoded = decode<ClientCapabilities>(*capabilities);
    if (!decoded) return bad(fmt::format("{}: {}", key_capabilities, decoded.error().message()));
    received.client_capabilities = std::move(*decoded);
  }
  if (const Json* level = meta.find(key_log_level)) {
    auto parsed = level->is_string() ? parse_logging_level(level->as_text()) : std::nullopt;
    if (!parsed) return bad(fmt::format("{} is not a logging level", key_log_level));
    received.log_level = parsed;
  }
  return received;
}

Result<CarriedInput> read_carried_input(const Json& params) {
  CarriedInput carried;
  if (const Json* answers = params.find("inputResponses"); answers && !answers->is_null()) {
    if (!answers->is_object()) return fail(Errc::invalid_argument, "inputResponses is not an object");
    for (const auto& [key, answer] : answers->as_object()) carried.answers.emplace_back(key, answer);
  }
  if (const Json* state = params.find("requestState"); state && !state->is_null()) {
    if (!state->is_string()) return fail(Errc::invalid_argument, "requestState is not a string");
    carried.state = state->as_text();
  }
  return carried;
}

std::optional<ServerDescription> read_discover_result(const Json& result) {
  const Json& supported = result["supportedVersions"];
  const Json& capabilities = result["capabilities"];
  if (!supported.is_array() || supported.size() == 0 || !capabilities.is_object()) return std::nullopt;
  ServerDescription server;
  for (const auto& version : supported.as_array()) {
    if (!version.is_string()) return std::nullopt;
    server.supported_versions.emplace_back(version.as_text());
  }
  auto decoded = decode<ServerCapabilities>(capabilities);
  if (!decoded) return std::nullopt;
  server.capabilities = std::move(*decoded);
  // The identity belongs in `_meta`; some servers put it beside the capabilities.
  const Json* info = result["_meta"].find(key_server_info);
  if (!info) info = result.find("serverInfo");
  if (info) {
    if (auto implementation = decode<Implementation>(*info)) server.info = std::move(*implementation);
  }
  if (const auto text = result["instructions"].text()) server.instructions = *text;
  server.cache.ttl_ms = result["ttlMs"].to_int();
  if (result["cacheScope"] == Json("public")) server.cache.scope = CacheScope::shared;
  return server;
}

Json discover_result(const ServerDescription& server, std::span<const std::string_view> supported) {
  Json list = Json::array();
  for (auto version : supported) list.push_back(version);
  Json result{{"supportedVersions", std::move(list)}, {"capabilities", encode(server.capabilities)}};
  if (server.instructions) result["instructions"] = *server.instructions;
  return result;
}

bool declares_tasks(const ClientCapabilities& client) noexcept {
  return client.extensions.contains(std::string(tasks_extension));
}
Json tasks_capability() { return Json{{"extensions", Json{{std::string(tasks_extension), Json::object()}}}}; }

Json subscription_meta(const Json& subscription_id) { return Json{{std::string(key_subscription), subscription_id}}; }

const Json* subscription_id_of(const Json& params) noexcept { return params["_meta"].find(key_subscription); }

bool is_modern_error(std::int64_t code) noexcept {
  return code == modern_code::header_mismatch || code == modern_code::missing_client_capability ||
         code == modern_code::unsupported_version;
}

std::vector<std::string> supported_versions_of(const Error& error) {
  std::vector<std::string> supported;
  const auto data = parse_json(error.rpc_data());
  if (!data) return supported;
  if (const auto* list = (*data)["supported"].if_array()) {
    for (const auto& version : *list) {
      if (const auto text = version.text()) supported.emplace_back(*text);
    }
  }
  return supported;
}

Error unsupported_version_error(std::string_view requested, std::span<const std::string_view> supported) {
  Json list = Json::array();
  for (auto version : supported) list.push_back(version);
  return Error::rpc(modern_code::unsupported_version, fmt::format("protocol version {} is not supported", requested),
                    to_text(Json{{"supported", std::move(list)}, {"requested", requested}}));
}

Error missing_capability_error(const Json& required_capabilities) {
  return Error::rpc(modern_code::missing_client_capability,
                    "the client does not have a capability that this request needs",
                    to_text(Json{{"requiredCapabilities", required_capabilities}}));
}

}  // namespace patchbay
