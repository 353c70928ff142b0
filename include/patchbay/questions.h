// What a server asks of a client: its roots, something of the user (elicitation), something of a model (sampling).
// A client answers with the handlers of client.h, a server asks through its request's context. Values; types.h says
// what the members `meta` and `extra` mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/json.h>
#include <patchbay/types.h>

namespace patchbay {

struct Root {
  std::string uri = {};  // file://
  std::optional<std::string> name = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const Root&) const = default;
};

struct ElicitRequest {
  enum class Mode : std::uint8_t { form, url };
  Mode mode = Mode::form;
  std::string message = {};
  Json requested_schema = {};                      // form: a flat object schema
  std::optional<std::string> url = {};             // url
  std::optional<std::string> elicitation_id = {};  // url, in revisions that announce completion
  Json meta = {};
  Json extra = {};
  bool operator==(const ElicitRequest&) const = default;
};

struct ElicitResult {
  enum class Action : std::uint8_t { accept, decline, cancel };
  Action action = Action::cancel;
  std::optional<Json> content = {};  // an object, with accept of a form
  Json meta = {};
  Json extra = {};
  bool operator==(const ElicitResult&) const = default;
};
std::string_view to_string(ElicitResult::Action action) noexcept;

struct ModelHint {
  std::optional<std::string> name = {};  // a part of a model's name
  Json extra = {};
  bool operator==(const ModelHint&) const = default;
};

struct ModelPreferences {
  std::vector<ModelHint> hints = {};
  std::optional<double> cost_priority = {};
  std::optional<double> speed_priority = {};
  std::optional<double> intelligence_priority = {};
  Json extra = {};
  bool operator==(const ModelPreferences&) const = default;
};

enum class IncludeContext : std::uint8_t { none, this_server, all_servers };

struct ToolChoice {
  enum class Mode : std::uint8_t { automatic, required, none };
  std::optional<Mode> mode = {};
  Json extra = {};
  bool operator==(const ToolChoice&) const = default;
};

struct SamplingMessage {
  Role role = Role::user;
  std::vector<Content> content = {};  // one block is sent as an object, more as an array
  Json meta = {};
  Json extra = {};
  bool operator==(const SamplingMessage&) const = default;
};

struct CreateMessageRequest {
  std::vector<SamplingMessage> messages = {};
  std::int64_t max_tokens = 0;
  std::optional<ModelPreferences> model_preferences = {};
  std::optional<std::string> system_prompt = {};
  std::optional<IncludeContext> include_context = {};
  std::optional<double> temperature = {};
  std::vector<std::string> stop_sequences = {};
  std::optional<Json> metadata = {};
  std::vector<Tool> tools = {};
  std::optional<ToolChoice> tool_choice = {};
  Json meta = {};
  Json extra = {};
  bool operator==(const CreateMessageRequest&) const = default;
};

struct CreateMessageResult {
  Role role = Role::assistant;
  std::vector<Content> content = {};
  std::string model = {};
  std::optional<std::string> stop_reason = {};  // endTurn, stopSequence, maxTokens, toolUse or free text
  Json meta = {};
  Json extra = {};
  bool operator==(const CreateMessageResult&) const = default;
};

}  // namespace patchbay
