// The names of MCP's requests and notifications. Which era knows which of them is in
// the wires (wire.h): a method absent from an era is absent from its table.
#pragma once

#include <string_view>

namespace patchbay::method {

inline constexpr std::string_view initialize = "initialize";
inline constexpr std::string_view discover = "server/discover";
inline constexpr std::string_view ping = "ping";
inline constexpr std::string_view list_tools = "tools/list";
inline constexpr std::string_view call_tool = "tools/call";
inline constexpr std::string_view list_resources = "resources/list";
inline constexpr std::string_view list_resource_templates = "resources/templates/list";
inline constexpr std::string_view read_resource = "resources/read";
inline constexpr std::string_view subscribe = "resources/subscribe";
inline constexpr std::string_view unsubscribe = "resources/unsubscribe";
inline constexpr std::string_view read_directory = "resources/directory/read";
inline constexpr std::string_view list_skills = "skills/list";
inline constexpr std::string_view get_skill = "skills/get";
inline constexpr std::string_view list_prompts = "prompts/list";
inline constexpr std::string_view get_prompt = "prompts/get";
inline constexpr std::string_view complete = "completion/complete";
inline constexpr std::string_view set_log_level = "logging/setLevel";
inline constexpr std::string_view listen = "subscriptions/listen";

// Of tasks; either side may be the one that keeps them in the older era.
inline constexpr std::string_view get_task = "tasks/get";
inline constexpr std::string_view task_result = "tasks/result";
inline constexpr std::string_view list_tasks = "tasks/list";
inline constexpr std::string_view cancel_task = "tasks/cancel";
inline constexpr std::string_view update_task = "tasks/update";

// What a server asks of a client: as requests of its own, or inside a result.
inline constexpr std::string_view elicit = "elicitation/create";
inline constexpr std::string_view create_message = "sampling/createMessage";
inline constexpr std::string_view list_roots = "roots/list";

inline constexpr std::string_view initialized = "notifications/initialized";
inline constexpr std::string_view cancelled = "notifications/cancelled";
inline constexpr std::string_view progress = "notifications/progress";
inline constexpr std::string_view log_message = "notifications/message";
inline constexpr std::string_view tools_changed = "notifications/tools/list_changed";
inline constexpr std::string_view prompts_changed = "notifications/prompts/list_changed";
inline constexpr std::string_view resources_changed = "notifications/resources/list_changed";
inline constexpr std::string_view resource_updated = "notifications/resources/updated";
inline constexpr std::string_view roots_changed = "notifications/roots/list_changed";
inline constexpr std::string_view elicitation_complete = "notifications/elicitation/complete";
inline constexpr std::string_view task_status = "notifications/tasks/status";
inline constexpr std::string_view task_changed = "notifications/tasks";
inline constexpr std::string_view listen_acknowledged = "notifications/subscriptions/acknowledged";

}  // namespace patchbay::method
