#include "agent/models/openai_responses.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/models/answer_parts.h"
#include "agent/models/openai_error.h"
#include "agent/models/openai_responses_reader.h"
#include "agent/models/openai_schema.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_name = 128;
constexpr std::size_t longest_id = 64;
constexpr std::size_t longest_cache_key = 64;

Json text_part(std::string text) { return Json{{"type", "input_text"}, {"text", std::move(text)}}; }

// Writes the items of a conversation.
class InputItems {
 public:
  InputItems(const ModelInfo& info, const ModelRequest& request, const ProviderNow& now)
      : info_(info),
        request_(request),
        announces_(info.holds_deferred && !now.without.contains(ApiExtra::tool_changes)) {
    if (!request.tools) return;
    for (const auto& tool : request.tools->tools) announced_.insert(tool.name);
  }

  void add(const ModelMessage& message) {
    if (message.role == Role::assistant) {
      add_assistant(message);
    } else {
      add_user(message);
    }
  }

  bool has_announced() const noexcept { return has_announced_; }
  Json take() && { return Json(std::move(out_)); }

 private:
  Json image_part(const ModelImage& image) const {
    if (!info_.takes_images) return text_part(instead_of(image));
    return Json{{"type", "input_image"}, {"image_url", data_url(image)}};
  }

  void add_user(const ModelMessage& message) {
    std::vector<const ModelTool*> came;
    for (const auto& part : message.parts) {
      const auto* outcome = std::get_if<ModelToolOutcome>(&part);
      if (!outcome) continue;
      add_outcome(*outcome);
      for (const auto& name : outcome->found) {
        if (const auto* tool = request_.deferred ? request_.deferred->find(name) : nullptr) came.push_back(tool);
      }
    }
    Json::Array content;
    for (const auto& part : message.parts) {
      if (const auto* text = std::get_if<ModelText>(&part)) content.push_back(text_part(text->text));
      if (const auto* image = std::get_if<ModelImage>(&part)) content.push_back(image_part(*image));
      const auto* news = std::get_if<ModelNews>(&part);
      if (!news) continue;
      // Servers have a say in it: it is the user's text and not the developer's.
      content.push_back(text_part(news->text));
      // Of what is deferred: a tool that was refused or went away is not there any more.
      for (const auto& tool : news->added) {
        if (const auto* held = request_.deferred ? request_.deferred->find(tool.name) : nullptr) came.push_back(held);
      }
    }
    announce(came);
    if (content.empty()) return;
    out_.push_back(Json{{"type", "message"}, {"role", "user"}, {"content", Json(std::move(content))}});
  }

  // Each tool once in a conversation.
  void announce(const std::vector<const ModelTool*>& came) {
    if (!announces_) return;
    Json::Array tools;
    for (const auto* tool : came) {
      if (announced_.insert(tool->name).second) tools.push_back(to_json(*tool, ModelApi::openai_responses));
    }
    if (tools.empty()) return;
    has_announced_ = true;
    out_.push_back(Json{{"type", "additional_tools"}, {"role", "developer"}, {"tools", Json(std::move(tools))}});
  }

  void add_outcome(const ModelToolOutcome& outcome) {
    Json::Array content;
    std::vector<std::string> texts;
    bool has_image = false;
    if (outcome.is_error) content.push_back(text_part("Error:"));
    for (const auto& block : outcome.blocks) {
      if (const auto* text = std::get_if<ModelText>(&block)) {
        texts.push_back(text->text);
        content.push_back(text_part(text->text));
      } else if (const auto* image = std::get_if<ModelImage>(&block)) {
        has_image = has_image || info_.takes_images;
        if (!info_.takes_images) texts.push_back(instead_of(*image));
        content.push_back(image_part(*image));
      }
    }
    if (texts.empty()) texts.emplace_back("(nothing)");
    Json output =
        has_image ? Json(std::move(content)) : Json((outcome.is_error ? "Error: " : "") + joined_texts(texts));
    out_.push_back(Json{{"type", "function_call_output"},
                        {"call_id", short_id(outcome.id, longest_id)},
                        {"output", std::move(output)}});
  }

  void add_assistant(const ModelMessage& message) {
    // Thoughts are accepted only with what they led to: those of an answer that was cut off behind them stay away.
    std::vector<const Json*> thoughts;
    Json phase;
    const auto settle = [&] {
      for (const auto* thought : std::exchange(thoughts, {})) out_.push_back(*thought);
    };
    for (const auto& part : message.parts) {
      if (const auto* text = std::get_if<ModelText>(&part)) {
        settle();
        Json item{{"type", "message"}, {"role", "assistant"}, {"content", text->text}};
        if (phase.is_string()) item["phase"] = std::exchange(phase, Json());
        out_.push_back(std::move(item));
      } else if (const auto* use = std::get_if<ModelToolUse>(&part)) {
        settle();
        out_.push_back(Json{{"type", "function_call"},
                            {"call_id", short_id(use->id, longest_id)},
                            {"name", plain_name(use->name, longest_name)},
                            {"arguments", arguments_text(*use)}});
      } else if (const auto* block = std::get_if<ProviderBlock>(&part); block && block->provider == info_.provider) {
        const auto type = block->value["type"].text();
        if (!type) {
          phase = block->value[responses_phase];
        } else if (*type != "reasoning") {
          settle();
          out_.push_back(block->value);
        } else if (block->value["encrypted_content"].is_string()) {
          // Without it there is only the id of something that was not stored.
          thoughts.push_back(&block->value);
        }
      }
    }
  }

  const ModelInfo& info_;
  const ModelRequest& request_;
  bool announces_;
  bool has_announced_ = false;
  std::set<std::string, std::less<>> announced_;
  Json::Array out_;
};

class OpenAiResponses final : public Provider {
 public:
  explicit OpenAiResponses(ModelInfo info) : info_(std::move(info)) {}

  const ModelInfo& info() const noexcept override { return info_; }

  ProviderRequest request(const ModelRequest& request, const ProviderNow& now) const override {
    InputItems items(info_, request, now);
    for (const auto& message : request.messages) items.add(*message);
    Json body{{"model", info_.model}};
    if (!request.system.empty()) body["instructions"] = request.system;
    ApiExtras extras;
    if (items.has_announced()) extras.insert(ApiExtra::tool_changes);
    body["input"] = std::move(items).take();
    auto tools = request.tools ? to_json(*request.tools, ModelApi::openai_responses) : Json::array();
    if (info_.holds_deferred && now.without.contains(ApiExtra::tool_changes)) {
      for (const auto* tool : named_tools(request)) tools.push_back(to_json(*tool, ModelApi::openai_responses));
    }
    if (tools.size() > 0) {
      body["tools"] = std::move(tools);
      body["parallel_tool_calls"] = true;
    }
    body["stream"] = true;
    body["store"] = false;
    if (openai_model_thinks(info_.model)) body["include"] = Json::array({"reasoning.encrypted_content"});
    if (const auto most = request.max_tokens != 0 ? request.max_tokens : info_.max_output; most != 0) {
      body["max_output_tokens"] = most;
    }
    if (!request.conversation.empty()) body["prompt_cache_key"] = short_id(request.conversation, longest_cache_key);
    if (request.answer_schema) {
      body["text"] = Json{{"format", Json{{"type", "json_schema"},
                                          {"name", "answer"},
                                          {"schema", *request.answer_schema},
                                          {"strict", is_strict_schema(*request.answer_schema)}}}};
    }
    return {
        .path = "/responses", .body = std::move(body), .framing = AnswerFraming::events, .extras = std::move(extras)};
  }

  void authorize(HttpHeaders& headers, const Secret& key) const override {
    headers.set("Authorization", "Bearer " + std::string(key.reveal()));
  }

  std::unique_ptr<AnswerReader> reader(const ModelRequest& request, const ProviderNow& /*now*/) const override {
    return openai_responses_reader(info_, request);
  }

  ProviderFailure failure(int status, std::string_view body, const ModelRequest& request,
                          const ProviderNow& now) const override {
    auto failure = openai_http_failure(status, body, [&] { return this->request(request, now).body; });
    if (status == 400 && failure.tool.empty() && first_quoted(failure.message) == "additional_tools") {
      failure.extra = ApiExtra::tool_changes;
    }
    return failure;
  }

 private:
  ModelInfo info_;
};

}  // namespace

bool openai_model_thinks(std::string_view model) noexcept {
  // A router's name of it: "openai/gpt-4.1".
  model = model.substr(model.rfind('/') + 1);
  constexpr std::array<std::string_view, 3> silent{"gpt-3", "gpt-4", "chatgpt"};
  return std::ranges::none_of(silent, [&](auto some) { return model.starts_with(some); }) &&
         !(model.starts_with("gpt-5") && model.contains("-chat"));
}

std::shared_ptr<Provider> openai_responses_provider(ModelInfo info) {
  return std::make_shared<OpenAiResponses>(std::move(info));
}

}  // namespace patchbay
