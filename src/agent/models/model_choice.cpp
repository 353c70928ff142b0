#include "agent/models/model_choice.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/strings.h"
#include "http/url.h"
#include "settings/settings_layers.h"
#include "text/file_and_line.h"

namespace patchbay {
namespace {

template <class T>
using Chosen = std::expected<T, NoModel>;

std::unexpected<NoModel> wrong(Error error) {
  return std::unexpected(NoModel{.why = NoModel::Why::wrong, .variable = {}, .error = std::move(error)});
}
std::unexpected<NoModel> wrong(std::string message) { return wrong(Error(Errc::config, std::move(message))); }

std::string provider_list() {
  std::vector<std::string> names;
  for (const auto& facts : all_providers()) names.emplace_back(facts.name);
  return join(names, ", ");
}

struct Asked {
  ModelProvider provider;
  std::string name;  // empty: the usual one
};

Chosen<Asked> understood(std::string_view words) {
  if (const auto provider = provider_named(words)) {
    if (*provider == ModelProvider::script) return wrong("a script needs a file: script:FILE");
    return Asked{*provider, {}};
  }
  const auto colon = words.find(':');
  const auto before = words.substr(0, colon);
  if (colon != std::string_view::npos) {
    if (const auto provider = provider_named(before)) {
      const auto name = words.substr(colon + 1);
      if (*provider == ModelProvider::script && name.empty()) return wrong("a script needs a file: script:FILE");
      return Asked{*provider, std::string(name)};
    }
  }
  const auto name = whole_model_name(words);
  if (const auto provider = provider_of_model(name)) return Asked{*provider, std::string(name)};
  if (name != words) return Asked{ModelProvider::anthropic, std::string(name)};
  if (colon != std::string_view::npos) {
    std::vector<std::string> names;
    for (const auto& facts : all_providers()) names.emplace_back(facts.name);
    if (const auto meant = nearest(before, names); !meant.empty()) {
      return wrong(fmt::format("there is no model provider \"{}\"; did you mean \"{}\"? Providers: {}", before, meant,
                               provider_list()));
    }
  }
  return wrong(fmt::format("\"{}\" does not say whose model it is: put one of the providers and a colon before it ({})",
                           words, provider_list()));
}

bool names_provider(std::string_view words) { return provider_named(words.substr(0, words.find(':'))).has_value(); }

// What a header can carry.
bool fits_header(std::string_view key) {
  return std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7F; });
}

struct FoundKey {
  Secret key;
  ModelKeyKind kind = ModelKeyKind::none;
  std::string name;
  bool secret = false;
};

// What OLLAMA_HOST may be: a host, an address or a URL, each with or without a port. Where the server listens on every
// address, it is reached at this machine's own.
std::string ollama_url(std::string_view said) {
  if (said == "ollama.com") return "https://ollama.com";
  auto scheme = std::string("http");
  auto port = std::string(":11434");
  auto rest = said;
  if (const auto at = said.find("://"); at != std::string_view::npos) {
    scheme = said.substr(0, at);
    rest = said.substr(at + 3);
    port.clear();
  }
  const auto slash = std::min(rest.find('/'), rest.size());
  const auto path = rest.substr(slash);
  auto host = rest.substr(0, slash);
  const auto colon = host.rfind(':');
  const bool bare_ipv6 = host.find(':') != colon && !host.starts_with('[');
  if (colon != std::string_view::npos && !bare_ipv6 && host.find(']', colon) == std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  if (host.empty() || host == "0.0.0.0" || host == "[::]" || host == "::")
    return scheme + "://127.0.0.1" + port + std::string(path);
  if (bare_ipv6) return fmt::format("{}://[{}]{}{}", scheme, host, port, path);
  return fmt::format("{}://{}{}{}", scheme, host, port, path);
}

class Chooser {
 public:
  explicit Chooser(const ModelQuestion& question) : question_(question) {}

  Chosen<ModelChoice> choose() {
    if (const auto words = trim(question_.words); !words.empty()) return named(words, ModelChoice::Because::asked, {});
    if (question_.setting) {
      const auto& setting = *question_.setting;
      const auto place = file_and_line(setting.file, setting.line);
      auto choice = named(trim(setting.text), ModelChoice::Because::setting, place);
      if (choice) return choice;
      if (!setting.shared || names_provider(trim(setting.text))) {
        choice.error().error = choice.error().error.within(place);
        return choice;
      }
    }
    return first_there_is();
  }

 private:
  std::string variable(std::string_view name) const {
    if (name.empty() || !question_.variables) return {};
    return std::string(trim(question_.variables(name).value_or("")));
  }

  Chosen<ModelChoice> named(std::string_view words, ModelChoice::Because because, std::string because_of) {
    auto asked = understood(words);
    if (!asked) return std::unexpected(std::move(asked).error());
    ModelChoice choice{.provider = asked->provider,
                       .name = std::move(asked->name),
                       .because = because,
                       .because_of = std::move(because_of)};
    return complete(std::move(choice));
  }

  // Base, key and what is known of it.
  Chosen<ModelChoice> complete(ModelChoice choice) {
    const auto& facts = facts_of(choice.provider);
    if (choice.name.empty()) choice.name = facts.model;
    auto base = base_of(facts);
    if (!base) return std::unexpected(std::move(base).error());
    choice.base = std::move(base->first);
    choice.own_base = base->second;
    auto key = key_of(facts);
    if (!key) return std::unexpected(std::move(key).error());
    if (*key) {
      choice.key = std::move((*key)->key);
      choice.key_kind = (*key)->kind;
      choice.key_name = std::move((*key)->name);
      choice.key_is_secret = (*key)->secret;
    } else if (facts.needs_key && !choice.own_base) {
      std::string names(facts.keys.front().variable);
      if (!facts.keys.back().variable.empty()) names += fmt::format(" or {}", facts.keys.back().variable);
      return std::unexpected(NoModel{
          .why = NoModel::Why::no_key,
          .variable = std::string(facts.keys.front().variable),
          .error = Error(Errc::config,
                         fmt::format("{} needs a key: there is no variable and no secret {}", choice.text(), names))});
    }
    choice.info = known_model(choice.provider, choice.name);
    // What stands between may not pass deferred tools on, unless the person says that it does.
    if (choice.own_base && variable("ENABLE_TOOL_SEARCH") != "true") choice.info.holds_deferred = false;
    // Most servers of somebody's own make a grammar of all tools.
    if (choice.provider == ModelProvider::openai_chat && choice.own_base) {
      // A model on this machine reads as much as there is memory for, whoever serves it.
      if (is_on_this_machine(choice.base) && provider_of_model(choice.name) != ModelProvider::openai) {
        const auto local = known_model(ModelProvider::ollama, choice.name);
        choice.info.context_tokens = local.context_tokens;
        choice.info.max_output = local.max_output;
        choice.info.takes_images = local.takes_images;
      }
      choice.info.api = ModelApi::local;
    }
    if (choice.provider == ModelProvider::ollama) {
      // The server's own variable, for people who have set it for both.
      const auto text = variable("OLLAMA_CONTEXT_LENGTH");
      std::size_t tokens = 0;
      const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), tokens);
      if (fault == std::errc() && end == text.data() + text.size() && tokens >= 1024) {
        choice.info.context_tokens = tokens;
        choice.info.max_output = std::min(choice.info.max_output, tokens / 2);
      }
    }
    return choice;
  }

  Chosen<std::pair<std::string, bool>> base_of(const ProviderFacts& facts) const {
    auto said = variable(facts.base_variable);
    if (said.empty()) return std::pair(std::string(facts.base), false);
    const auto url = parse_url(facts.provider == ModelProvider::ollama ? ollama_url(said) : said);
    const auto bad = [&](std::string_view why) {
      return wrong(fmt::format("{} is {}: {}", facts.base_variable, redacted_url(said), why));
    };
    if (!url) return bad("that is not a URL");
    if (url->scheme != "https" && url->scheme != "http") return bad("it must begin with https:// or http://");
    if (!url->userinfo.empty() || url->query || url->fragment) {
      return bad("it may have a host, a port and a path, and nothing else");
    }
    auto text = url->text();
    while (text.ends_with('/')) text.pop_back();
    return std::pair(std::move(text), true);
  }

  // Never two: a key and a token together are refused.
  Chosen<std::optional<FoundKey>> key_of(const ProviderFacts& facts) {
    for (const auto& name : facts.keys) {
      if (auto value = variable(name.variable); !value.empty()) {
        if (!fits_header(value)) return wrong(fmt::format("{} has characters that no key has", name.variable));
        return FoundKey{Secret(std::move(value)), name.kind, std::string(name.variable), false};
      }
    }
    for (const auto& name : facts.keys) {
      if (name.variable.empty() || !question_.secrets) continue;
      const std::string text(name.variable);
      auto kept = question_.secrets(text);
      if (!kept) return wrong(kept.error().within(fmt::format("the secret {} cannot be read", text)));
      if (!*kept || (*kept)->empty()) continue;
      Secret value(std::string(trim((*kept)->reveal())));
      if (value.empty() || !fits_header(value.reveal())) {
        return wrong(fmt::format("the secret {} has characters that no key has", text));
      }
      return FoundKey{std::move(value), name.kind, text, true};
    }
    return std::nullopt;
  }

  Chosen<ModelChoice> first_there_is() {
    std::optional<NoModel> fault;
    for (const auto& facts : all_providers()) {
      if (facts.provider == ModelProvider::script || facts.provider == ModelProvider::openai_chat) continue;
      auto key = key_of(facts);
      if (!key) {
        // Another one may do; what is wrong with this one is reported if none does.
        if (!fault) fault = std::move(key).error();
        continue;
      }
      const bool has_address = !variable(facts.base_variable).empty();
      if (!*key && !has_address) continue;
      ModelChoice choice{.provider = facts.provider};
      if (*key) {
        choice.because = (*key)->secret ? ModelChoice::Because::secret : ModelChoice::Because::variable;
        choice.because_of = (*key)->name;
      } else {
        choice.because = ModelChoice::Because::variable;
        choice.because_of = facts.base_variable;
      }
      // What somebody runs at an address of their own has chat completions, and seldom anything else.
      if (facts.provider == ModelProvider::openai && has_address) {
        const auto base = base_of(facts);
        if (base && !is_openai(base->first)) choice.provider = ModelProvider::openai_chat;
      }
      return complete(std::move(choice));
    }
    if (fault) return std::unexpected(std::move(*fault));
    return std::unexpected(NoModel{.why = NoModel::Why::nothing_set_up,
                                   .variable = {},
                                   .error = Error(Errc::config, "there is no key and no address of a language model")});
  }

  static bool is_on_this_machine(std::string_view base) {
    const auto url = parse_url(base);
    return url && is_loopback_host(url->host);
  }

  static bool is_openai(std::string_view base) {
    const auto url = parse_url(base);
    return url && (url->host == "openai.com" || url->host.ends_with(".openai.com"));
  }

  const ModelQuestion& question_;
};

}  // namespace

std::optional<ModelSetting> model_setting(std::span<const SettingsLayer> layers) {
  const auto* layer = model_layer(layers);
  if (layer == nullptr) return std::nullopt;
  return ModelSetting{.text = layer->model->value,
                      .file = layer->file,
                      .line = layer->model->place.line,
                      .shared = layer->source == SettingsSource::user || layer->source == SettingsSource::enterprise};
}

std::string ModelChoice::text() const { return fmt::format("{}:{}", to_string(provider), name); }

std::string reason_text(const ModelChoice& choice) {
  switch (choice.because) {
    case ModelChoice::Because::asked:
      return {};
    case ModelChoice::Because::setting:
      return fmt::format("\"model\" in {}", choice.because_of);
    case ModelChoice::Because::variable:
      return fmt::format("{} is set", choice.because_of);
    case ModelChoice::Because::secret:
      return fmt::format("there is a secret {}", choice.because_of);
  }
  return {};
}

std::expected<ModelChoice, NoModel> choose_model(const ModelQuestion& question) { return Chooser(question).choose(); }

}  // namespace patchbay
