#include "agent/models/openai_chat.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "agent/models/answer_parts.h"
#include "agent/models/openai_chat_reader.h"
#include "agent/models/openai_error.h"
#include "agent/models/openai_schema.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_name = 64;
constexpr std::size_t longest_id = 40;

Json text_part(std::string text) { return Json{{"type", "text"}, {"text", std::move(text)}}; }

Json image_part(const ModelImage& image) {
  return Json{{"type", "image_url"}, {"image_url", Json{{"url", data_url(image)}}}};
}

// Writes the messages of a conversation.
class ChatMessages {
 public:
  explicit ChatMessages(const ModelInfo& info) : info_(info) {}

  void system(std::string text) {
    if (!text.empty()) out_.push_back(Json{{"role", "system"}, {"content", std::move(text)}});
  }

  void add(const ModelMessage& message) {
    if (message.role == Role::assistant) {
      add_assistant(message);
    } else {
      add_user(message);
    }
  }

  Json take() && { return Json(std::move(out_)); }

 private:
  // Outcomes come first, directly behind the calls. A `tool` message is text alone: images follow in the user's name.
  void add_user(const ModelMessage& message) {
    Json::Array parts;
    bool has_image = false;
    const auto show = [&](const ModelImage& image) {
      has_image = has_image || info_.takes_images;
      parts.push_back(info_.takes_images ? image_part(image) : text_part(instead_of(image)));
    };
    for (const auto& part : message.parts) {
      const auto* outcome = std::get_if<ModelToolOutcome>(&part);
      if (!outcome) continue;
      const auto images = add_outcome(*outcome);
      if (images.empty()) continue;
      parts.push_back(text_part("What " + outcome->name + " answered as an image:"));
      for (const auto* image : images) show(*image);
    }
    for (const auto& part : message.parts) {
      if (const auto* text = std::get_if<ModelText>(&part)) parts.push_back(text_part(text->text));
      if (const auto* news = std::get_if<ModelNews>(&part)) parts.push_back(text_part(news->text));
      if (const auto* image = std::get_if<ModelImage>(&part)) show(*image);
    }
    if (parts.empty()) return;
    if (has_image) {
      out_.push_back(Json{{"role", "user"}, {"content", Json(std::move(parts))}});
      return;
    }
    // Many servers read a list of texts badly.
    std::vector<std::string> texts;
    for (const auto& part : parts) texts.emplace_back(part["text"].as_text());
    out_.push_back(Json{{"role", "user"}, {"content", joined_texts(texts)}});
  }

  std::vector<const ModelImage*> add_outcome(const ModelToolOutcome& outcome) {
    std::vector<std::string> texts;
    std::vector<const ModelImage*> images;
    for (const auto& block : outcome.blocks) {
      if (const auto* text = std::get_if<ModelText>(&block)) texts.push_back(text->text);
      const auto* image = std::get_if<ModelImage>(&block);
      if (image && info_.takes_images) images.push_back(image);
      if (image && !info_.takes_images) texts.push_back(instead_of(*image));
    }
    if (texts.empty()) texts.emplace_back(images.empty() ? "(nothing)" : "(an image, which follows)");
    out_.push_back(Json{{"role", "tool"},
                        {"tool_call_id", short_id(outcome.id, longest_id)},
                        {"content", (outcome.is_error ? "Error: " : "") + joined_texts(texts)}});
    return images;
  }

  void add_assistant(const ModelMessage& message) {
    std::vector<std::string> texts;
    Json::Array calls;
    Json::Object thought;
    for (const auto& part : message.parts) {
      if (const auto* text = std::get_if<ModelText>(&part)) texts.push_back(text->text);
      if (const auto* use = std::get_if<ModelToolUse>(&part)) {
        calls.push_back(Json{
            {"id", short_id(use->id, longest_id)},
            {"type", "function"},
            {"function", Json{{"name", plain_name(use->name, longest_name)}, {"arguments", arguments_text(*use)}}}});
      }
      const auto* block = std::get_if<ProviderBlock>(&part);
      if (!block || block->provider != info_.provider) continue;
      for (auto [name, value] : block->value.members()) thought.set(name, value);
    }
    if (texts.empty() && calls.empty()) return;
    Json out{{"role", "assistant"}};
    if (!texts.empty()) {
      out["content"] = joined_texts(texts);
    } else if (info_.api == ModelApi::local) {
      out["content"] = "";  // some templates cannot do without
    } else {
      out["content"] = nullptr;
    }
    if (!calls.empty()) {
      // Models that think between calls want to see what they thought. OpenAI sends no thoughts and refuses all.
      for (const auto word : chat_thinking_words) {
        const auto* said = info_.api == ModelApi::local ? thought.find(word) : nullptr;
        if (said) out[word] = *said;
      }
      out["tool_calls"] = Json(std::move(calls));
    }
    out_.push_back(std::move(out));
  }

  const ModelInfo& info_;
  Json::Array out_;
};

class OpenAiChat final : public Provider {
 public:
  explicit OpenAiChat(ModelInfo info) : info_(std::move(info)) {}

  const ModelInfo& info() const noexcept override { return info_; }

  ProviderRequest request(const ModelRequest& request, const ProviderNow& /*now*/) const override {
    const bool local = info_.api == ModelApi::local;
    const bool tools = request.tools && !request.tools->tools.empty();
    // Local servers have one grammar: with the one of the answer no tool could be called.
    const bool schema_in_words = local && tools && request.answer_schema;
    std::vector<std::string> system;
    if (!request.system.empty()) system.push_back(request.system);
    if (schema_in_words) {
      system.push_back("Your last message, when no tool is needed any more, is JSON and nothing else. Its schema: " +
                       to_text(*request.answer_schema));
    }
    ChatMessages messages(info_);
    messages.system(joined_texts(system));
    for (const auto& message : request.messages) messages.add(*message);

    Json body{{"model", info_.model},
              {"messages", std::move(messages).take()},
              {"stream", true},
              {"stream_options", Json{{"include_usage", true}}}};
    if (tools) body["tools"] = to_json(*request.tools, info_.api);
    if (local) {
      // Servers with a small context refuse a request whose answer might not fit: only what is asked for.
      if (request.max_tokens != 0) body["max_tokens"] = request.max_tokens;
    } else if (const auto most = request.max_tokens != 0 ? request.max_tokens : info_.max_output; most != 0) {
      body["max_completion_tokens"] = most;
    }
    if (request.answer_schema && !schema_in_words) {
      body["response_format"] = Json{{"type", "json_schema"},
                                     {"json_schema", Json{{"name", "answer"},
                                                          {"schema", *request.answer_schema},
                                                          {"strict", is_strict_schema(*request.answer_schema)}}}};
    }
    return {.path = "/chat/completions", .body = std::move(body), .framing = AnswerFraming::events};
  }

  void authorize(HttpHeaders& headers, const Secret& key) const override {
    headers.set("Authorization", "Bearer " + std::string(key.reveal()));
  }

  std::unique_ptr<AnswerReader> reader(const ModelRequest& request, const ProviderNow& /*now*/) const override {
    return openai_chat_reader(info_, request);
  }

  ProviderFailure failure(int status, std::string_view body, const ModelRequest& request,
                          const ProviderNow& now) const override {
    return openai_http_failure(status, body, [&] { return this->request(request, now).body; });
  }

 private:
  ModelInfo info_;
};

}  // namespace

std::shared_ptr<Provider> openai_chat_provider(ModelInfo info) { return std::make_shared<OpenAiChat>(std::move(info)); }

}  // namespace patchbay
