#include "agent/models/anthropic.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "agent/models/answer_parts.h"
#include "agent/models/anthropic_reader.h"
#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::string_view api_version = "2023-06-01";
constexpr std::string_view tool_changes_beta = "mid-conversation-tool-changes-2026-07-01";
constexpr std::string_view cache_diagnosis_beta = "cache-diagnosis-2026-04-07";
constexpr std::size_t most_breakpoints = 4;
// A breakpoint finds what was cached up to 20 blocks back.
constexpr std::size_t blocks_between = 15;
// As long as names of tools may be. Ids have no limit that we know.
constexpr std::size_t longest_name = 128;
constexpr std::size_t longest_id = 256;

Json breakpoint() { return Json{{"type", "ephemeral"}}; }

Json text_block(std::string_view text) { return Json{{"type", "text"}, {"text", text}}; }

// Those that a request declares, in its order.
struct Declared {
  std::vector<const ModelTool*> tools;
  std::size_t loaded = 0;  // the others are deferred
};

Declared declared(const ModelInfo& info, const ModelRequest& request, const ProviderNow& now) {
  Declared out;
  if (request.tools) {
    for (const auto& tool : request.tools->tools) out.tools.push_back(&tool);
  }
  if (info.holds_deferred && now.without.contains(ApiExtra::deferred_tools)) {
    for (const auto* tool : named_tools(request)) out.tools.push_back(tool);
  }
  out.loaded = out.tools.size();
  // The API wants at least one that is not deferred.
  if (info.holds_deferred && !now.without.contains(ApiExtra::deferred_tools) && request.deferred && out.loaded > 0) {
    for (const auto& tool : request.deferred->tools) {
      if (!request.tools->find(tool.name)) out.tools.push_back(&tool);
    }
  }
  return out;
}

// Where a message says that something is wrong: "messages.3.content.0". Empty where it does not begin with that.
std::string_view place_of(std::string_view message) {
  const auto is_of_path = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  const auto end = std::ranges::find_if_not(message, is_of_path);
  return end != message.end() && *end == ':' ? std::string_view(message.begin(), end) : std::string_view();
}

// What a refusal that is about no tool is about. A message has words of others in it: names of tools, arguments,
// texts. What counts is where it says that something is wrong ("messages.3.content.0.tool_addition: …"), and what it
// quotes first, when that is a word of the API and nothing more.
std::optional<ApiExtra> named_extra(std::string_view message) {
  const auto quoted = first_quoted(message);
  if (quoted == cache_diagnosis_beta) return ApiExtra::cache_diagnosis;
  if (quoted == tool_changes_beta) return ApiExtra::tool_changes;
  const auto place = place_of(message);
  const auto rest = message.substr(place.size());
  constexpr std::string_view reference = "Tool reference ";
  if (place.empty()) {
    return message.starts_with(reference) ? std::optional(ApiExtra::deferred_tools) : std::nullopt;
  }
  const auto steps = split(place, '.');
  if (steps.front() == "diagnostics") return ApiExtra::cache_diagnosis;
  if (steps.front() != "messages") return std::nullopt;
  const auto names = [&](std::string_view word) {
    return quoted == word || std::ranges::find(steps, word) != steps.end();
  };
  if (names("tool_addition") || names("tool_removal")) return ApiExtra::tool_changes;
  // A message of that role holds nothing else here. Further inside, the words may be a tool's.
  const bool of_role =
      rest.contains("role \"system\"") || rest.contains("role 'system'") || rest.contains("role `system`");
  if (steps.back() == "role" || (of_role && steps.size() <= 2)) return ApiExtra::tool_changes;
  if (names("tool_reference") || trim(rest.substr(1)).starts_with(reference)) return ApiExtra::deferred_tools;
  return std::nullopt;
}

// The messages of one request.
class Messages {
 public:
  enum class Changes : std::uint8_t { in_words, in_blocks };

  Messages(const ModelInfo& info, const ModelRequest& request, const Declared& declared, Changes changes)
      : info_(info), changes_(changes) {
    for (std::size_t at = 0; at < declared.tools.size(); ++at) {
      auto& names = at < declared.loaded ? loaded_ : deferred_;
      names.insert(declared.tools[at]->name);
    }
    callable_ = loaded_;
    for (const auto& message : request.messages) add(*message);
  }

  // At most so many breakpoints go to ends of the user's messages, from the newest on.
  Json take(std::size_t breakpoints) && {
    std::size_t after = 0;  // blocks between this message and the breakpoint behind it
    bool first = true;
    auto& messages = messages_.as_array();
    for (auto at = messages.size(); at-- > 0 && breakpoints > 0;) {
      auto& content = messages[at]["content"].as_array();
      if (messages[at]["role"].text() == "user" && (first || after > blocks_between)) {
        content.back()["cache_control"] = breakpoint();
        --breakpoints;
        first = false;
        after = 0;
      }
      after += content.size();
    }
    return std::move(messages_);
  }

 private:
  void add(const ModelMessage& message) {
    Json results = Json::array();
    Json content = Json::array();
    for (const auto& part : message.parts) {
      if (const auto* outcome = std::get_if<ModelToolOutcome>(&part)) {
        results.push_back(result_block(*outcome));
      } else {
        add_part(content, part);
      }
    }
    // Results have to be first.
    for (const auto& block : content.items()) results.push_back(block);
    if (results.size() == 0) return;
    const auto role = message.role == Role::user ? "user" : "assistant";
    messages_.push_back(Json{{"role", role}, {"content", std::move(results)}});
    if (message.role == Role::user && changes_ == Changes::in_blocks) add_changes(message);
  }

  // Stands behind a message of the user, and in front of the model's or at the end: nothing else is accepted. What is
  // in it is no text: servers have a say in what they call their tools.
  void add_changes(const ModelMessage& message) {
    Json blocks = Json::array();
    const auto add = [&](std::string_view type, const std::string& name) {
      blocks.push_back(Json{{"type", type}, {"tool", {{"type", "tool_reference"}, {"name", name}}}});
    };
    for (const auto& part : message.parts) {
      const auto* news = std::get_if<ModelNews>(&part);
      if (news == nullptr) continue;
      for (const auto& name : news->removed) {
        if (callable_.erase(name) > 0) add("tool_removal", name);
      }
      for (const auto& tool : news->added) {
        if (!is_declared(tool.name) || !callable_.insert(tool.name).second) continue;
        add("tool_addition", tool.name);
      }
    }
    if (blocks.size() > 0) messages_.push_back(Json{{"role", "system"}, {"content", std::move(blocks)}});
  }

  bool is_declared(const std::string& name) const { return loaded_.contains(name) || deferred_.contains(name); }

  void add_part(Json& content, const ModelPart& part) const {
    if (const auto* text = std::get_if<ModelText>(&part)) {
      add_text(content, text->text);
    } else if (const auto* news = std::get_if<ModelNews>(&part)) {
      add_text(content, words_of(*news));
    } else if (const auto* image = std::get_if<ModelImage>(&part)) {
      content.push_back(image_block(*image));
    } else if (const auto* use = std::get_if<ModelToolUse>(&part)) {
      content.push_back(Json{{"type", "tool_use"},
                             {"id", plain_id(use->id, longest_id)},
                             {"name", plain_name(use->name, longest_name)},
                             {"input", use->input}});
    } else if (const auto* own = std::get_if<ProviderBlock>(&part)) {
      if (own->provider == info_.provider) content.push_back(own->value);
    }
  }

  // Where nothing but a search gets the model a tool that is held back, it is told so.
  std::string words_of(const ModelNews& news) const {
    const auto held_back = [&](const ModelTool& tool) { return deferred_.contains(tool.name); };
    if (changes_ == Changes::in_blocks || std::ranges::none_of(news.added, held_back)) return news.text;
    return news.text + "\nBefore you call one of them, load it: tool_search with the query \"select:NAME\".";
  }

  // A text without anything to read is refused.
  static void add_text(Json& content, std::string_view text) {
    if (!trim(text).empty()) content.push_back(text_block(text));
  }

  Json image_block(const ModelImage& image) const {
    if (!info_.takes_images) return text_block(instead_of(image));
    return Json{{"type", "image"},
                {"source", {{"type", "base64"}, {"media_type", image.mime_type}, {"data", image.data}}}};
  }

  Json result_block(const ModelToolOutcome& outcome) {
    Json content = Json::array();
    // References stand alone: the API puts the definitions in their place.
    for (const auto& name : outcome.found) {
      if (!deferred_.contains(name)) continue;
      content.push_back(Json{{"type", "tool_reference"}, {"tool_name", name}});
      callable_.insert(name);
    }
    if (content.size() == 0) {
      for (const auto& block : outcome.blocks) {
        if (const auto* text = std::get_if<ModelText>(&block)) add_text(content, text->text);
        if (const auto* image = std::get_if<ModelImage>(&block)) content.push_back(image_block(*image));
      }
    }
    Json result{{"type", "tool_result"}, {"tool_use_id", plain_id(outcome.id, longest_id)}};
    if (outcome.is_error) result["is_error"] = true;
    if (content.size() > 0) result["content"] = std::move(content);
    return result;
  }

  using Names = std::set<std::string, std::less<>>;

  const ModelInfo& info_;
  Changes changes_;
  Names loaded_, deferred_;
  Names callable_;  // at this place of the conversation
  Json messages_ = Json::array();
};

// "tools.3.custom.input_schema: …" is about the fourth tool.
struct NamedTool {
  std::size_t number = 0;
  std::string_view path = {};  // ".custom.input_schema"
};

std::optional<NamedTool> named_tool(std::string_view message) {
  // What is wrong is elsewhere, and the words behind it may be anybody's.
  if (const auto place = place_of(message); place.starts_with("messages") || place.starts_with("system")) {
    return std::nullopt;
  }
  constexpr std::string_view mark = "tools.";
  for (auto at = message.find(mark); at != std::string_view::npos; at = message.find(mark, at + 1)) {
    const auto digits = message.substr(at + mark.size());
    std::size_t number = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (read.ec != std::errc() || read.ptr == digits.data()) continue;
    const auto rest = digits.substr(static_cast<std::size_t>(read.ptr - digits.data()));
    return NamedTool{.number = number, .path = rest.substr(0, rest.find(':'))};
  }
  return std::nullopt;
}

class Anthropic final : public Provider {
 public:
  explicit Anthropic(AnthropicOptions options) : options_(std::move(options)) {
    if (options_.info.provider.empty()) options_.info.provider = "anthropic";
  }

  const ModelInfo& info() const noexcept override { return options_.info; }

  ProviderRequest request(const ModelRequest& request, const ProviderNow& now) const override {
    const auto& info = options_.info;
    const auto tools_there = declared(info, request, now);
    ProviderRequest out{.path = "/v1/messages", .headers = {{"anthropic-version", std::string(api_version)}}};
    if (tools_there.tools.size() > tools_there.loaded) out.extras.insert(ApiExtra::deferred_tools);
    // From the first request on: what is cached would be another conversation's otherwise.
    const bool changes = options_.tool_changes && info.holds_deferred &&
                         !now.without.contains(ApiExtra::deferred_tools) &&
                         !now.without.contains(ApiExtra::tool_changes);
    if (changes) out.extras.insert(ApiExtra::tool_changes);
    const bool diagnosis = options_.cache_diagnosis && !now.without.contains(ApiExtra::cache_diagnosis);
    if (diagnosis) out.extras.insert(ApiExtra::cache_diagnosis);
    auto betas = options_.betas;
    if (changes) betas.emplace_back(tool_changes_beta);
    if (diagnosis) betas.emplace_back(cache_diagnosis_beta);
    if (!betas.empty()) out.headers.add("anthropic-beta", join(betas, ","));
    Json body{{"model", info.model},
              {"max_tokens", request.max_tokens != 0 ? request.max_tokens : info.max_output},
              {"stream", true}};
    std::size_t breakpoints = most_breakpoints;
    if (auto tools = tools_of(request, tools_there); tools.size() > 0) {
      if (request.tools && request.tools->own > 0) --breakpoints;
      body["tools"] = std::move(tools);
    }
    if (!trim(request.system).empty()) {
      auto system = text_block(request.system);
      system["cache_control"] = breakpoint();
      --breakpoints;
      body["system"] = Json::array({std::move(system)});
    }
    if (options_.show_thinking) body["thinking"] = Json{{"type", "adaptive"}, {"display", "summarized"}};
    Json output = Json::object();
    if (!options_.effort.empty()) output["effort"] = options_.effort;
    if (request.answer_schema) output["format"] = Json{{"type", "json_schema"}, {"schema", *request.answer_schema}};
    if (output.size() > 0) body["output_config"] = std::move(output);
    // Null in the first request: there is nothing to compare it with, and the next one can be.
    if (diagnosis) {
      body["diagnostics"] = Json{{"previous_message_id", now.previous.empty() ? Json() : Json(now.previous)}};
    }
    using Changes = Messages::Changes;
    body["messages"] =
        Messages(info, request, tools_there, changes ? Changes::in_blocks : Changes::in_words).take(breakpoints);
    out.body = std::move(body);
    return out;
  }

  void authorize(HttpHeaders& headers, const Secret& key) const override {
    if (options_.credential == AnthropicOptions::Credential::token) {
      headers.set("Authorization", fmt::format("Bearer {}", key.reveal()));
    } else {
      headers.set("x-api-key", std::string(key.reveal()));
    }
  }

  std::unique_ptr<AnswerReader> reader(const ModelRequest& request, const ProviderNow& /*now*/) const override {
    return anthropic_reader(options_.info.provider, request);
  }

  ProviderFailure failure(int status, std::string_view body, const ModelRequest& request,
                          const ProviderNow& now) const override {
    const auto value = parse_json(body);
    auto failure = anthropic_failure(status, value ? *value : Json());
    if (!value) failure.message = body;
    if (status != 400) return failure;
    const auto named = named_tool(failure.message);
    if (!named) {
      failure.extra = named_extra(failure.message);
      return failure;
    }
    // A server has a say in what else there is to read about its tool.
    failure.too_long = false;
    if (named->path == ".custom.defer_loading" || named->path == ".defer_loading") {
      failure.extra = ApiExtra::deferred_tools;
    }
    const auto tools = declared(options_.info, request, now).tools;
    if (named->number < tools.size()) failure.tool = tools[named->number]->name;
    return failure;
  }

 private:
  static Json tools_of(const ModelRequest& request, const Declared& all) {
    Json tools = request.tools ? to_json(*request.tools, ModelApi::anthropic) : Json::array();
    for (std::size_t at = tools.size(); at < all.tools.size(); ++at) {
      auto tool = to_json(*all.tools[at], ModelApi::anthropic);
      if (at >= all.loaded) tool["defer_loading"] = true;
      tools.push_back(std::move(tool));
    }
    return tools;
  }

  AnthropicOptions options_;
};

}  // namespace

std::shared_ptr<Provider> anthropic_provider(AnthropicOptions options) {
  return std::make_shared<Anthropic>(std::move(options));
}

}  // namespace patchbay
