// What is said to a language model and what it answers, in no provider's spelling, and Model: a model that can be
// asked. make_model() makes one of a provider; a program may bring its own. The values are plain; a Model is used on
// the loop thread only, by one conversation or several at once.
//
// Nothing here knows of servers. What a model may call is a ToolPool, made by make_tool_pool() of a catalog.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <patchbay/config.h>
#include <patchbay/error.h>
#include <patchbay/json.h>
#include <patchbay/model_view.h>
#include <patchbay/results.h>
#include <patchbay/task.h>
#include <patchbay/types.h>

namespace patchbay {

// The model wants a tool to be called.
struct ModelToolUse {
  std::string id = {};    // unique in its conversation
  std::string name = {};  // as ModelTool::name
  Json input = Json::object();
  std::string broken = {};  // what the model wrote, where that is not a JSON object; `input` is empty then
  bool operator==(const ModelToolUse&) const = default;
};

// What became of it. Every ModelToolUse gets exactly one, in the user's message that follows.
struct ModelToolOutcome {
  std::string id = {};  // of the ModelToolUse
  std::string name = {};
  std::vector<ModelBlock> blocks = {};
  bool is_error = false;
  // Tools that a search found: an API that has references to deferred tools is given these.
  std::vector<std::string> found = {};
  bool operator==(const ModelToolOutcome&) const = default;
};

// A block that only one provider understands (thinking, a signature, something new): it goes back to that provider as
// it came, in its place, and to no other.
struct ProviderBlock {
  std::string provider = {};  // ModelInfo::provider
  Json value = {};
  bool operator==(const ProviderBlock&) const = default;
};

// What the program tells the model in the middle of a conversation: tools that came or went, servers that are late or
// failed. `text` says all of it in words; providers with a way of their own to announce tools use the lists.
struct ModelNews {
  std::string text = {};
  std::vector<ModelTool> added = {};
  std::vector<std::string> removed = {};
  bool operator==(const ModelNews&) const = default;
};

using ModelPart = std::variant<ModelText, ModelImage, ModelToolUse, ModelToolOutcome, ProviderBlock, ModelNews>;

struct ModelMessage {
  Role role = Role::user;
  std::vector<ModelPart> parts = {};
  bool operator==(const ModelMessage&) const = default;
};
// The texts of a message, joined by a newline.
std::string text_of(const ModelMessage& message);

// Tokens, as the provider counts them. What was read from its cache or written to it is not in `input`.
struct ModelUsage {
  std::uint64_t input = 0;
  std::uint64_t cache_read = 0;
  std::uint64_t cache_written = 0;
  std::uint64_t output = 0;
  std::string cache_miss = {};  // why the cache was of no use, where the provider says so
  std::uint64_t prompt() const noexcept { return input + cache_read + cache_written; }
  bool operator==(const ModelUsage&) const = default;
};

enum class ModelStop : std::uint8_t {
  end_turn,      // it has said what it wanted
  tool_use,      // it waits for outcomes
  max_tokens,    // cut off
  refusal,       // the model or a filter refuses
  pause,         // to be asked again with the conversation as it is
  context_full,  // the conversation is longer than the model can read
  malformed,     // it tried to call a tool and wrote nonsense
  other,
};
std::string_view to_string(ModelStop stop) noexcept;

struct ModelAnswer {
  ModelMessage message = {.role = Role::assistant};
  ModelStop stop = ModelStop::end_turn;
  std::string stop_text = {};  // as the provider says it
  ModelUsage usage = {};
  std::string model = {};  // which one answered, as the provider says
  // Tools that the provider refused; the answer was given without them. They belong in no later request.
  std::vector<ToolLeftOut> left_out = {};
  std::vector<std::string> warnings = {};  // for the user: a server's parser that is switched off, say
  bool operator==(const ModelAnswer&) const = default;
};

// What happens while a model answers.
struct ModelTextDelta {
  std::string text;
};
struct ModelThinkingDelta {
  std::string text;
};
struct ModelToolBegun {  // its arguments are still being written
  std::string id;
  std::string name;
};
// The request failed in a way that may pass, and is sent again after the pause. What came of the answer so far is void.
struct ModelRetry {
  int attempt = 0;  // the one that comes, from 2
  int of = 0;
  std::chrono::milliseconds pause{};
  std::string reason;
};
using ModelEvent = std::variant<ModelTextDelta, ModelThinkingDelta, ModelToolBegun, ModelRetry>;

struct ModelRequest {
  std::string system = {};
  std::shared_ptr<const ToolPool> tools = {};  // null: none. The same object for a whole conversation keeps caches
  // Beside them: tools that a search has to find first. Sent where the API can hold them outside of what it caches.
  std::shared_ptr<const ToolPool> deferred = {};
  std::vector<std::shared_ptr<const ModelMessage>> messages = {};
  std::size_t max_tokens = 0;              // of the answer; 0: ModelInfo::max_output
  std::optional<Json> answer_schema = {};  // the answer is JSON of this schema
  std::string conversation = {};           // a stable name for the provider's cache; nothing personal
};

struct ModelInfo {
  std::string provider = {};  // "anthropic", "openai", "openai-chat", "gemini", "ollama", "script", or a program's own
  std::string model = {};     // as the provider calls it
  ModelApi api = ModelApi::anthropic;  // how tools are shown to it
  std::size_t context_tokens = 200'000;
  std::size_t max_output = 8'192;
  bool takes_images = true;
  bool holds_deferred = false;  // ModelRequest::deferred and ModelToolOutcome::found mean something to it
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const noexcept = 0;
  // One answer. Retries what may pass by itself, within bounds. Cancelling aborts the request. Throws
  // Errc::unauthorized for a key that is missing or refused, Errc::connect, timeout, limit (the conversation is too
  // long), http, protocol. `on_event` may be empty; it is called on the loop and must be quick.
  virtual Task<ModelAnswer> ask(ModelRequest request, std::function<void(const ModelEvent&)> on_event) = 0;
};

// A model of a provider: "anthropic:claude-…", "openai:…" (Responses), "openai-chat:…" (chat completions, as many local
// servers have them), "gemini:…", "ollama:…"; a provider alone means its usual model; "script:FILE" plays a file. Keys
// and addresses are in variables: ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_BASE_URL, OPENAI_API_KEY,
// OPENAI_BASE_URL, GEMINI_API_KEY, OLLAMA_HOST. Without words the first provider that has one of them. Nothing is
// asked or read but a script. It belongs to the loop that it is used on, which outlives it. Throws Errc::config for
// words that name no model, and for a key that is not there.
std::shared_ptr<Model> make_model(std::string words = {}, const VariableLookup& variables = process_environment());

}  // namespace patchbay
