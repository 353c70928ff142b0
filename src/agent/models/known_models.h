// What is known of providers and their models before anybody has asked them: as data, and cautious where nothing is
// known. model_choice.h uses it. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <patchbay/model.h>

namespace patchbay {

enum class ModelProvider : std::uint8_t { anthropic, openai, openai_chat, gemini, ollama, script };

// What a key is to a provider: it is sent in different headers.
enum class ModelKeyKind : std::uint8_t { none, api_key, bearer };

struct ModelKeyName {
  std::string_view variable = {};  // also the name of a secret
  ModelKeyKind kind = ModelKeyKind::none;
};

struct ProviderFacts {
  ModelProvider provider;
  std::string_view name;                // as people write it
  std::array<ModelKeyName, 2> keys;     // the first that is there counts
  std::string_view base_variable = {};  // of the environment
  std::string_view base = {};           // where it is when the variable is not set
  std::string_view model = {};          // when none is named
  bool needs_key = false;               // at `base`; a server of somebody's own may do without
};

// In the order in which they are tried when nobody says which.
std::span<const ProviderFacts> all_providers() noexcept;
const ProviderFacts& facts_of(ModelProvider provider) noexcept;
std::string_view to_string(ModelProvider provider) noexcept;
std::optional<ModelProvider> provider_named(std::string_view name) noexcept;
// "opus[1m]" of another program's settings as the provider calls it; any other name as it is.
std::string_view whole_model_name(std::string_view said) noexcept;
// Whose a model is, by the way it is called; nothing when more than one provider could have it.
std::optional<ModelProvider> provider_of_model(std::string_view model) noexcept;

// Whether it decides by itself how much it thinks, and can show it: the others refuse to be asked for that.
bool shows_adaptive_thinking(std::string_view model) noexcept;

// Whether it can be told of tools that come and go in the middle of a conversation: the others refuse that.
bool takes_tool_changes(std::string_view model) noexcept;

// Its size and what it reads; what is not known is set so that a request is not refused. ModelInfo::holds_deferred is
// right at the provider's own address: what stands between may know nothing of that.
ModelInfo known_model(ModelProvider provider, std::string_view model);

}  // namespace patchbay
