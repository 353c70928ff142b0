#include "agent/models/ollama.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/models/answer_parts.h"
#include "agent/models/ollama_reader.h"
#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_words = 2'000;  // of what a server says about itself
constexpr unsigned most_levels = 128;         // no deeper than JSON is read

bool is_list_of_texts(const Json& value) {
  return value.is_array() && std::ranges::all_of(value.items(), [](const Json& item) { return item.is_string(); });
}

// A schema as the server can read it: it reads schemas of properties into fixed types, and refuses the whole request
// for one that says true, or has a description that is no text.
Json readable_schema(const Json& schema, unsigned level) {
  if (!schema.is_object() || level > most_levels) return Json::object();
  Json out = schema;
  for (const auto* word : {"description", "title", "$ref"}) {
    if (const auto* value = out.find(word); value && !value->is_string()) out.erase(word);
  }
  if (const auto* value = out.find("enum"); value && !value->is_array()) out.erase("enum");
  if (const auto* value = out.find("type"); value && !value->is_string() && !is_list_of_texts(*value)) {
    out.erase("type");
  }
  for (const auto* word : {"properties", "$defs"}) {
    const auto* named = schema.find(word);
    if (!named) continue;
    if (!named->is_object()) {
      out.erase(word);
      continue;
    }
    Json readable = Json::object();
    for (auto [name, value] : named->members()) readable[name] = readable_schema(value, level + 1);
    out[word] = std::move(readable);
  }
  if (const auto* choices = schema.find("anyOf")) {
    Json readable = Json::array();
    for (const auto& choice : choices->items()) readable.push_back(readable_schema(choice, level + 1));
    out.erase("anyOf");
    if (readable.size() != 0) out["anyOf"] = std::move(readable);
  }
  if (const auto* required = schema.find("required")) {
    Json readable = Json::array();
    for (const auto& name : required->items()) {
      if (name.is_string()) readable.push_back(name);
    }
    out["required"] = std::move(readable);
  }
  return out;
}

Json tool_list(const ToolPool& pool, ModelApi api) {
  Json tools = Json::array();
  for (const auto& tool : pool.tools) {
    auto json = to_json(tool, api);
    json["function"]["parameters"] = readable_schema(*tool.input_schema, 0);
    tools.push_back(std::move(json));
  }
  return tools;
}

class Messages {
 public:
  explicit Messages(const ModelInfo& info) : info_(info) {}

  void system(const std::string& text) {
    if (!text.empty()) messages_.push_back(Json{{"role", "system"}, {"content", text}});
  }

  void add(const ModelMessage& message) {
    if (message.role == Role::user) {
      add_user(message);
    } else {
      add_assistant(message);
    }
  }

  Json take() && { return std::move(messages_); }

 private:
  void add_image(const ModelImage& image, std::vector<std::string>& texts, Json& images) const {
    if (info_.takes_images) {
      images.push_back(image.data);
    } else {
      texts.push_back(instead_of(image));
    }
  }

  // Templates put images of the user's messages alone before a model, so those of outcomes are there.
  void add_user(const ModelMessage& message) {
    std::vector<std::string> texts;
    Json images = Json::array();
    for (const auto& part : message.parts) {
      if (const auto* outcome = std::get_if<ModelToolOutcome>(&part)) {
        std::vector<std::string> said;
        const auto before = images.size();
        for (const auto& block : outcome->blocks) {
          if (const auto* text = std::get_if<ModelText>(&block)) said.push_back(text->text);
          if (const auto* image = std::get_if<ModelImage>(&block)) add_image(*image, said, images);
        }
        if (images.size() != before) texts.push_back(fmt::format("(The images are from {}.)", outcome->name));
        messages_.push_back(Json{{"role", "tool"},
                                 {"tool_name", outcome->name},
                                 {"tool_call_id", outcome->id},
                                 {"content", joined_texts(said)}});
      }
      if (const auto* text = std::get_if<ModelText>(&part)) texts.push_back(text->text);
      if (const auto* news = std::get_if<ModelNews>(&part)) texts.push_back(news->text);
      if (const auto* image = std::get_if<ModelImage>(&part)) add_image(*image, texts, images);
    }
    std::erase(texts, std::string());
    if (texts.empty() && images.size() == 0) return;
    Json out{{"role", "user"}, {"content", joined_texts(texts)}};
    if (images.size() != 0) out["images"] = std::move(images);
    messages_.push_back(std::move(out));
  }

  void add_assistant(const ModelMessage& message) {
    std::vector<std::string> texts;
    std::string thinking;
    Json calls = Json::array();
    for (const auto& part : message.parts) {
      if (const auto* text = std::get_if<ModelText>(&part)) texts.push_back(text->text);
      if (const auto* block = std::get_if<ProviderBlock>(&part)) {
        if (block->provider != info_.provider || block->value["model"].text() != info_.model) continue;
        thinking += block->value["thinking"].text().value_or(std::string_view());
      }
      if (const auto* use = std::get_if<ModelToolUse>(&part)) {
        calls.push_back(Json{{"id", use->id}, {"function", Json{{"name", use->name}, {"arguments", use->input}}}});
      }
    }
    if (texts.empty() && calls.size() == 0 && thinking.empty()) return;
    Json out{{"role", "assistant"}, {"content", joined_texts(texts)}};
    if (!thinking.empty()) out["thinking"] = std::move(thinking);
    if (calls.size() != 0) out["tool_calls"] = std::move(calls);
    messages_.push_back(std::move(out));
  }

  const ModelInfo& info_;
  Json messages_ = Json::array();
};

class Ollama final : public Provider {
 public:
  explicit Ollama(ModelInfo info) : info_(std::move(info)) {}

  const ModelInfo& info() const noexcept override { return info_; }

  ProviderRequest request(const ModelRequest& request, const ProviderNow& now) const override {
    const auto& info = info_;
    const bool has_tools = request.tools && !request.tools->tools.empty();
    const bool whole = has_tools && now.without.contains(ApiExtra::streamed_calls);
    Messages messages(info);
    messages.system(request.system);
    for (const auto& message : request.messages) messages.add(*message);
    const auto most = request.max_tokens != 0 ? request.max_tokens : info.max_output;
    // Newer servers say that a conversation is too long instead of cutting it; older ones skip the word.
    Json body{{"model", info.model},
              {"messages", std::move(messages).take()},
              {"stream", !whole},
              {"truncate", false},
              {"options", Json{{"num_ctx", info.context_tokens}, {"num_predict", most}}}};
    if (has_tools) body["tools"] = tool_list(*request.tools, info.api);
    if (request.answer_schema) body["format"] = *request.answer_schema;
    return {.path = "/api/chat",
            .headers = {{"Content-Type", "application/json"}},
            .body = std::move(body),
            .framing = whole ? AnswerFraming::whole : AnswerFraming::lines};
  }

  void authorize(HttpHeaders& headers, const Secret& key) const override {
    headers.set("Authorization", "Bearer " + std::string(key.reveal()));
  }

  std::unique_ptr<AnswerReader> reader(const ModelRequest& request, const ProviderNow& now) const override {
    return ollama_reader(info_, request,
                         now.without.contains(ApiExtra::streamed_calls) ? OllamaCalls::whole : OllamaCalls::streamed);
  }

  ProviderFailure failure(int status, std::string_view body, const ModelRequest&,
                          const ProviderNow& /*now*/) const override {
    const auto said = parse_json(body);
    auto failure = ollama_failure(status, said ? *said : Json());
    if (failure.message.empty()) failure.message = cut_utf8(body, longest_words);
    return failure;
  }

 private:
  ModelInfo info_;
};

}  // namespace

std::shared_ptr<Provider> ollama_provider(ModelInfo info) { return std::make_shared<Ollama>(std::move(info)); }

}  // namespace patchbay
