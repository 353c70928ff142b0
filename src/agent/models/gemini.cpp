#include "agent/models/gemini.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agent/models/answer_parts.h"
#include "agent/models/gemini_reader.h"
#include "base/strings.h"

namespace patchbay {
namespace {

constexpr int newest_generation = 3;
constexpr std::size_t longest_name = 128;
constexpr std::size_t longest_words = 2'000;  // of what a server says about itself

// In place of the signature of a call that another model made: newer models refuse a request whose first call of a
// step has none.
constexpr std::string_view foreign_signature = "skip_thought_signature_validator";

Json text_part(std::string_view text) { return Json{{"text", text}}; }

Json image_part(const ModelImage& image) {
  return Json{{"inlineData", Json{{"mimeType", image.mime_type}, {"data", image.data}}}};
}

// The messages of a request as contents.
class Contents {
 public:
  explicit Contents(const ModelInfo& info) : info_(info), newer_(gemini_generation(info.model) >= newest_generation) {}

  void add(const ModelMessage& message) {
    if (message.role == Role::user) {
      add_user(message);
    } else {
      add_assistant(message);
    }
  }

  Json take() && { return std::move(contents_); }

 private:
  void close(std::string_view role, Json parts) {
    if (parts.size() == 0) return;
    contents_.push_back(Json{{"role", role}, {"parts", std::move(parts)}});
  }

  void add_image(Json& parts, const ModelImage& image) const {
    parts.push_back(info_.takes_images ? image_part(image) : text_part(instead_of(image)));
  }

  // Outcomes are a content of their own directly behind the calls: others beside them are refused.
  void add_user(const ModelMessage& message) {
    Json outcomes = Json::array();
    Json rest = Json::array();
    for (const auto& part : message.parts) {
      if (const auto* outcome = std::get_if<ModelToolOutcome>(&part)) add_outcome(*outcome, outcomes, rest);
    }
    for (const auto& part : message.parts) {
      if (const auto* text = std::get_if<ModelText>(&part); text && !text->text.empty()) {
        rest.push_back(text_part(text->text));
      }
      if (const auto* image = std::get_if<ModelImage>(&part)) add_image(rest, *image);
      if (const auto* news = std::get_if<ModelNews>(&part); news && !news->text.empty()) {
        rest.push_back(text_part(news->text));
      }
    }
    close("user", std::move(outcomes));
    close("user", std::move(rest));
  }

  // Newer models take images inside of an outcome, older ones behind all of them.
  void add_outcome(const ModelToolOutcome& outcome, Json& outcomes, Json& rest) const {
    std::vector<std::string> texts;
    Json images = Json::array();
    for (const auto& block : outcome.blocks) {
      if (const auto* text = std::get_if<ModelText>(&block)) texts.push_back(text->text);
      const auto* image = std::get_if<ModelImage>(&block);
      if (image && info_.takes_images) images.push_back(image_part(*image));
      if (image && !info_.takes_images) texts.push_back(instead_of(*image));
    }
    if (texts.empty() && images.size() != 0) texts.emplace_back("(an image)");
    const auto name = name_of(outcome.name);
    Json response{{outcome.is_error ? "error" : "output", joined_texts(texts)}};
    Json function{{"id", outcome.id}, {"name", name}, {"response", std::move(response)}};
    if (images.size() != 0 && newer_) {
      function["parts"] = std::move(images);
    } else if (images.size() != 0) {
      rest.push_back(text_part(fmt::format("From {}:", name)));
      for (const auto& image : images.items()) rest.push_back(image);
    }
    outcomes.push_back(Json{{"functionResponse", std::move(function)}});
  }

  void add_assistant(const ModelMessage& message) {
    Json parts = Json::array();
    std::string signature;  // of the part that comes
    bool called = false;
    const auto sign = [&](Json part) {
      if (!signature.empty()) part["thoughtSignature"] = std::exchange(signature, {});
      parts.push_back(std::move(part));
    };
    for (const auto& part : message.parts) {
      if (const auto* block = std::get_if<ProviderBlock>(&part)) {
        if (block->provider != info_.provider || block->value["model"].text() != info_.model) continue;
        if (const auto given = block->value["signature"].text()) signature = *given;
        if (const auto& whole = block->value["part"]; whole.is_object()) parts.push_back(whole);
      } else if (const auto* text = std::get_if<ModelText>(&part)) {
        if (!text->text.empty()) sign(text_part(text->text));
        signature.clear();
      } else if (const auto* use = std::get_if<ModelToolUse>(&part)) {
        if (!called && newer_ && signature.empty()) signature = foreign_signature;
        called = true;
        sign(Json{{"functionCall", Json{{"id", use->id}, {"name", name_of(use->name)}, {"args", use->input}}}});
      }
    }
    close("model", std::move(parts));
  }

  // What the pool calls a tool fits; what a model has made up may not.
  static std::string name_of(const std::string& name) {
    const bool fits = !name.empty() && name.size() <= longest_name && (name[0] < '0' || name[0] > '9') &&
                      std::ranges::all_of(name, [](char c) {
                        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                               c == '-' || c == '.' || c == ':';
                      });
    return fits ? name : "_" + plain_name(name, longest_name - 1);
  }

  const ModelInfo& info_;
  bool newer_;
  Json contents_ = Json::array();
};

class Gemini final : public Provider {
 public:
  explicit Gemini(ModelInfo info) : info_(std::move(info)) {}

  const ModelInfo& info() const noexcept override { return info_; }

  ProviderRequest request(const ModelRequest& request, const ProviderNow& /*now*/) const override {
    Contents contents(info_);
    for (const auto& message : request.messages) contents.add(*message);
    Json body{{"contents", std::move(contents).take()}};
    const bool has_tools = request.tools && !request.tools->tools.empty();
    auto system = request.system;
    Json config{{"maxOutputTokens", request.max_tokens != 0 ? request.max_tokens : info_.max_output}};
    if (shows_thoughts()) config["thinkingConfig"] = Json{{"includeThoughts", true}};
    if (request.answer_schema) {
      // Older models refuse a form of the answer beside tools.
      if (!has_tools || gemini_generation(info_.model) >= newest_generation) {
        config["responseMimeType"] = "application/json";
        config["responseJsonSchema"] = *request.answer_schema;
      } else {
        if (!system.empty()) system += "\n\n";
        system += "When you have everything you need, answer with nothing but JSON that fits this JSON Schema: " +
                  to_text(*request.answer_schema);
      }
    }
    if (!system.empty()) body["systemInstruction"] = Json{{"parts", Json::array({text_part(system)})}};
    if (has_tools) {
      body["tools"] = Json::array({Json{{"functionDeclarations", to_json(*request.tools, ModelApi::gemini)}}});
    }
    body["generationConfig"] = std::move(config);
    return {.path = fmt::format("/v1beta/{}:streamGenerateContent?alt=sse", model_path()),
            .headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}},
            .body = std::move(body),
            .framing = AnswerFraming::events};
  }

  void authorize(HttpHeaders& headers, const Secret& key) const override {
    headers.set("x-goog-api-key", std::string(key.reveal()));
  }

  std::unique_ptr<AnswerReader> reader(const ModelRequest& request, const ProviderNow& /*now*/) const override {
    return gemini_reader(info_, request);
  }

  ProviderFailure failure(int status, std::string_view body, const ModelRequest& request,
                          const ProviderNow& /*now*/) const override {
    const auto said = parse_json(body);
    auto failure = gemini_failure(status, said ? *said : Json(), request);
    if (failure.message.empty()) failure.message = cut_utf8(body, longest_words);
    return failure;
  }

 private:
  // A name may have its kind in front: "models/…", "tunedModels/…".
  std::string model_path() const {
    const auto name = percent_encoded(info_.model, "/-._~");
    return name.contains('/') ? name : "models/" + name;
  }

  // The others refuse to be asked for thoughts.
  bool shows_thoughts() const {
    const auto& model = info_.model;
    if (model.contains("image") || model.contains("tts") || model.contains("live")) return false;
    return model.starts_with("gemini-2.5") || gemini_generation(model) >= newest_generation;
  }

  ModelInfo info_;
};

}  // namespace

int gemini_generation(std::string_view model) noexcept {
  if (const auto slash = model.rfind('/'); slash != std::string_view::npos) model.remove_prefix(slash + 1);
  constexpr std::string_view prefix = "gemini-";
  if (!model.starts_with(prefix)) return 0;
  if (model.ends_with("-latest")) return newest_generation;
  model.remove_prefix(prefix.size());
  int number = 0;
  const auto [end, fault] = std::from_chars(model.data(), model.data() + model.size(), number);
  return fault == std::errc() ? number : 0;
}

std::shared_ptr<Provider> gemini_provider(ModelInfo info) { return std::make_shared<Gemini>(std::move(info)); }

}  // namespace patchbay
