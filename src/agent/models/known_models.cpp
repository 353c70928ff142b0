#include "agent/models/known_models.h"

#include <algorithm>

namespace patchbay {
namespace {

constexpr ModelKeyName openai_key{"OPENAI_API_KEY", ModelKeyKind::bearer};

constexpr std::array<ProviderFacts, 6> providers{{
    {.provider = ModelProvider::anthropic,
     .name = "anthropic",
     .keys = {{{"ANTHROPIC_API_KEY", ModelKeyKind::api_key}, {"ANTHROPIC_AUTH_TOKEN", ModelKeyKind::bearer}}},
     .base_variable = "ANTHROPIC_BASE_URL",
     .base = "https://api.anthropic.com",
     .model = "claude-sonnet-5",
     .needs_key = true},
    {.provider = ModelProvider::openai,
     .name = "openai",
     .keys = {{openai_key, {}}},
     .base_variable = "OPENAI_BASE_URL",
     .base = "https://api.openai.com/v1",
     .model = "gpt-5.5",
     .needs_key = true},
    {.provider = ModelProvider::openai_chat,
     .name = "openai-chat",
     .keys = {{openai_key, {}}},
     .base_variable = "OPENAI_BASE_URL",
     .base = "https://api.openai.com/v1",
     .model = "gpt-5.5",
     .needs_key = true},
    {.provider = ModelProvider::gemini,
     .name = "gemini",
     .keys = {{{"GEMINI_API_KEY", ModelKeyKind::api_key}, {}}},
     .base_variable = "GOOGLE_GEMINI_BASE_URL",
     .base = "https://generativelanguage.googleapis.com",
     .model = "gemini-3.5-flash",
     .needs_key = true},
    {.provider = ModelProvider::ollama,
     .name = "ollama",
     .keys = {},
     .base_variable = "OLLAMA_HOST",
     .base = "http://127.0.0.1:11434",
     .model = "qwen3"},
    {.provider = ModelProvider::script, .name = "script", .keys = {}},
}};

struct Family {
  ModelProvider provider;
  std::string_view prefix;  // the first that fits counts
  std::size_t context = 0;
  std::size_t output = 0;
  bool images = true;
};

// The last of each provider is for names that are not known.
constexpr std::array families{
    Family{ModelProvider::anthropic, "claude-3-5", 200'000, 8'192},
    Family{ModelProvider::anthropic, "claude-3-7", 200'000, 32'000},
    Family{ModelProvider::anthropic, "claude-3-", 200'000, 4'096},
    Family{ModelProvider::anthropic, "claude-", 200'000, 32'000},
    Family{ModelProvider::anthropic, "", 200'000, 8'192},
    Family{ModelProvider::openai, "gpt-5", 272'000, 64'000},
    Family{ModelProvider::openai, "gpt-6", 272'000, 64'000},
    Family{ModelProvider::openai, "gpt-4.1", 1'000'000, 32'768},
    Family{ModelProvider::openai, "gpt-4o", 128'000, 16'384},
    Family{ModelProvider::openai, "gpt-3.5", 16'000, 4'096, false},
    Family{ModelProvider::openai, "o3-mini", 200'000, 64'000, false},
    Family{ModelProvider::openai, "o1", 200'000, 64'000},
    Family{ModelProvider::openai, "o3", 200'000, 64'000},
    Family{ModelProvider::openai, "o4", 200'000, 64'000},
    Family{ModelProvider::openai, "", 128'000, 8'192},
    Family{ModelProvider::gemini, "gemini-2.0", 1'048'576, 8'192},
    Family{ModelProvider::gemini, "gemini-1.", 1'048'576, 8'192},
    Family{ModelProvider::gemini, "gemini-", 1'048'576, 65'536},
    Family{ModelProvider::gemini, "gemma-", 128'000, 8'192},
    Family{ModelProvider::gemini, "", 128'000, 8'192},
    // The context of a local model is memory that is set aside: what it could read is more than most machines have.
    Family{ModelProvider::ollama, "gemma3", 32'768, 8'192},
    Family{ModelProvider::ollama, "llava", 32'768, 8'192},
    Family{ModelProvider::ollama, "llama3.2-vision", 32'768, 8'192},
    Family{ModelProvider::ollama, "llama4", 32'768, 8'192},
    Family{ModelProvider::ollama, "qwen2.5vl", 32'768, 8'192},
    Family{ModelProvider::ollama, "qwen3-vl", 32'768, 8'192},
    Family{ModelProvider::ollama, "", 32'768, 8'192, false},
};

struct Guess {
  std::string_view prefix;
  std::optional<ModelProvider> provider;
};
constexpr std::array<Guess, 8> guesses{{
    {"claude-", ModelProvider::anthropic},
    {"gpt-oss", std::nullopt},  // everybody may have it
    {"gpt-", ModelProvider::openai},
    {"chatgpt-", ModelProvider::openai},
    {"o1", ModelProvider::openai},
    {"o3", ModelProvider::openai},
    {"o4", ModelProvider::openai},
    {"gemini-", ModelProvider::gemini},
}};

// As other programs call the newest of a kind.
struct ShortName {
  std::string_view said;
  std::string_view model;
};
constexpr std::array<ShortName, 3> short_names{{
    {"sonnet", "claude-sonnet-5"},
    {"opus", "claude-opus-5"},
    {"haiku", "claude-haiku-4-5"},
}};

constexpr std::array<std::string_view, 7> adaptive{"claude-opus-4-6", "claude-opus-4-7",   "claude-opus-4-8",
                                                   "claude-opus-5",   "claude-sonnet-4-6", "claude-sonnet-5",
                                                   "claude-fable-"};

constexpr std::array<std::string_view, 6> changing_tools{"claude-opus-4-8",  "claude-opus-5", "claude-sonnet-5-5",
                                                         "claude-haiku-5-5", "claude-fable-", "claude-mythos-"};

// Tools that are declared, or come up later, outside of what is cached.
constexpr std::array<Guess, 7> holding_deferred{{
    {"claude-opus-", ModelProvider::anthropic},
    {"claude-sonnet-", ModelProvider::anthropic},
    {"claude-haiku-", ModelProvider::anthropic},
    {"claude-fable-", ModelProvider::anthropic},
    {"claude-mythos-", ModelProvider::anthropic},
    {"gpt-5.6", ModelProvider::openai},
    {"gpt-6", ModelProvider::openai},
}};

ModelApi api_of(ModelProvider provider) noexcept {
  switch (provider) {
    case ModelProvider::anthropic:
    case ModelProvider::script:
      return ModelApi::anthropic;
    case ModelProvider::openai:
      return ModelApi::openai_responses;
    case ModelProvider::openai_chat:
      return ModelApi::openai_chat;
    case ModelProvider::gemini:
      return ModelApi::gemini;
    case ModelProvider::ollama:
      return ModelApi::local;
  }
  return ModelApi::anthropic;
}

}  // namespace

std::span<const ProviderFacts> all_providers() noexcept { return providers; }

const ProviderFacts& facts_of(ModelProvider provider) noexcept {
  return *std::ranges::find(providers, provider, &ProviderFacts::provider);
}

std::string_view to_string(ModelProvider provider) noexcept { return facts_of(provider).name; }

std::optional<ModelProvider> provider_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(providers, name, &ProviderFacts::name);
  return found == providers.end() ? std::nullopt : std::optional(found->provider);
}

std::string_view whole_model_name(std::string_view said) noexcept {
  const auto bare = said.substr(0, said.find('['));
  const auto found = std::ranges::find(short_names, bare, &ShortName::said);
  return found == short_names.end() ? said : found->model;
}

std::optional<ModelProvider> provider_of_model(std::string_view model) noexcept {
  const auto found = std::ranges::find_if(guesses, [&](const Guess& guess) { return model.starts_with(guess.prefix); });
  return found == guesses.end() ? std::nullopt : found->provider;
}

bool shows_adaptive_thinking(std::string_view model) noexcept {
  return std::ranges::any_of(adaptive, [&](std::string_view prefix) { return model.starts_with(prefix); });
}

bool takes_tool_changes(std::string_view model) noexcept {
  return std::ranges::any_of(changing_tools, [&](std::string_view prefix) { return model.starts_with(prefix); });
}

ModelInfo known_model(ModelProvider provider, std::string_view model) {
  ModelInfo info{.provider = std::string(to_string(provider)), .model = std::string(model), .api = api_of(provider)};
  info.holds_deferred = std::ranges::any_of(
      holding_deferred, [&](const Guess& one) { return one.provider == provider && model.starts_with(one.prefix); });
  const auto maker = provider == ModelProvider::openai_chat ? ModelProvider::openai : provider;
  for (const auto& family : families) {
    if (family.provider != maker || !model.starts_with(family.prefix)) continue;
    info.context_tokens = family.context;
    info.max_output = family.output;
    info.takes_images = family.images;
    break;
  }
  return info;
}

}  // namespace patchbay
