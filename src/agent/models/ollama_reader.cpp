#include "agent/models/ollama_reader.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "agent/models/answer_parts.h"
#include "base/limits.h"
#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_words = 2'000;  // of what a server says about itself

std::string_view text_at(const Json& in, std::string_view key) { return in[key].text().value_or(std::string_view()); }

std::uint64_t number_at(const Json& in, std::string_view key) { return in[key].to_uint().value_or(0); }

class OllamaReader final : public AnswerReader {
 public:
  OllamaReader(const ModelInfo& info, const ModelRequest& request, OllamaCalls calls)
      : provider_(info.provider), model_(info.model), ids_(request), calls_as_(calls), tools_(request.tools) {
    shaped_ = request.answer_schema.has_value();
  }

  std::expected<void, ProviderFailure> take(std::string_view, std::string_view data,
                                            const ModelEventSink& tell) override {
    if (done_) return {};
    data = trim(data);
    if (data.empty()) return {};
    bytes_ += data.size();
    if (bytes_ > Limits{}.message) return too_large();
    const auto line = parse_json(data);
    if (!line) {
      return std::unexpected(ProviderFailure{.type = "malformed",
                                             .message = "the server sent what is not JSON: " + line.error().message()});
    }
    if (const auto* error = line->find("error"); error && !error->is_null()) {
      return std::unexpected(ollama_failure(0, *line));
    }
    if (const auto model = text_at(*line, "model"); !model.empty()) answered_by_ = model;
    const auto& message = (*line)["message"];
    if (const auto thought = text_at(message, "thinking"); !thought.empty()) {
      if (tell) tell(ModelThinkingDelta{std::string(thought)});
      thinking_ += thought;
    }
    if (const auto text = text_at(message, "content"); !text.empty()) {
      if (tell) tell(ModelTextDelta{std::string(text)});
      text_ += text;
    }
    for (const auto& call : message["tool_calls"].items()) {
      if (calls_.size() >= most_answer_items) return too_large();
      read_call(call, tell);
    }
    if ((*line)["done"].to_bool().value_or(false)) {
      done_ = true;
      reason_ = cut_utf8(text_at(*line, "done_reason"), longest_words);
      answer_.usage.input = number_at(*line, "prompt_eval_count");
      answer_.usage.output = number_at(*line, "eval_count");
    }
    return {};
  }

  bool complete() const noexcept override { return done_; }

  std::expected<ModelAnswer, ProviderFailure> finish() override {
    if (!done_) return std::unexpected(ProviderFailure{.message = "the answer ended before it was complete"});
    if (calls_as_ == OllamaCalls::streamed && (is_lost() || is_text())) {
      return std::unexpected(ProviderFailure{.message = "a call of a tool seems to be lost, or came as text",
                                             .suspected = ApiExtra::streamed_calls});
    }
    if (is_text()) {
      answer_.warnings.emplace_back(
          "the server sent a call of a tool as text: it does not know how this model writes them, so no tool can be "
          "used; take another model, or a newer Ollama");
    }
    auto& parts = answer_.message.parts;
    if (!thinking_.empty()) {
      parts.emplace_back(
          ProviderBlock{.provider = provider_, .value = {{"model", model_}, {"thinking", std::move(thinking_)}}});
    }
    if (!text_.empty()) parts.emplace_back(ModelText{std::move(text_)});
    for (auto& call : calls_) parts.emplace_back(std::move(call));
    answer_.model = answered_by_.empty() ? model_ : answered_by_;
    answer_.stop = stop();
    answer_.stop_text = reason_;
    return std::move(answer_);
  }

 private:
  static std::unexpected<ProviderFailure> too_large() {
    return std::unexpected(ProviderFailure{.status = 413, .type = "too_large", .message = "the answer is too large"});
  }

  bool could_call() const {
    return tools_ && !tools_->tools.empty() && calls_.empty() && stop() == ModelStop::end_turn;
  }

  // A model that has nothing to say writes one token, which says so.
  bool is_lost() const { return could_call() && text_.empty() && thinking_.empty() && answer_.usage.output > 1; }

  // What was asked for in a shape of its own may look like a call.
  bool is_text() const { return could_call() && !shaped_ && is_raw_call(text_, *tools_); }

  // Older servers give no reason.
  ModelStop stop() const {
    if (reason_ == "length") return ModelStop::max_tokens;
    if (reason_.empty() || reason_ == "stop" || reason_ == "tool_calls") {
      return calls_.empty() ? ModelStop::end_turn : ModelStop::tool_use;
    }
    return ModelStop::other;
  }

  void read_call(const Json& call, const ModelEventSink& tell) {
    const auto& function = call["function"];
    ModelToolUse use{.id = ids_.take(text_at(call, "id")),
                     .name = std::string(cut_utf8(text_at(function, "name"), longest_tool_name))};
    const auto& arguments = function["arguments"];
    if (arguments.is_object()) {
      use.input = arguments;
    } else if (const auto text = arguments.text()) {
      read_arguments(use, *text);
    } else if (!arguments.is_null()) {
      use.broken = to_text(arguments);
    }
    if (tell) tell(ModelToolBegun{use.id, use.name});
    calls_.push_back(std::move(use));
  }

  std::string provider_;
  std::string model_;
  CallIds ids_;
  ModelAnswer answer_;
  std::string thinking_;
  std::string text_;
  std::vector<ModelToolUse> calls_;
  OllamaCalls calls_as_;
  std::shared_ptr<const ToolPool> tools_;
  bool shaped_ = false;  // the answer is to follow a schema
  std::string answered_by_;
  std::string reason_;
  std::size_t bytes_ = 0;
  bool done_ = false;
};

// There is no word for it.
bool says_too_long(std::string_view message) {
  constexpr std::array<std::string_view, 3> words{"exceeded max context length", "exceeds the context length",
                                                  "exceed context length"};
  return std::ranges::any_of(words, [&](std::string_view some) { return message.contains(some); });
}

}  // namespace

std::unique_ptr<AnswerReader> ollama_reader(const ModelInfo& info, const ModelRequest& request, OllamaCalls calls) {
  return std::make_unique<OllamaReader>(info, request, calls);
}

ProviderFailure ollama_failure(int status, const Json& said) {
  ProviderFailure failure{.status = status};
  const auto& error = said["error"];
  failure.message = cut_utf8(error.is_string() ? text_at(said, "error") : text_at(error, "message"), longest_words);
  if (failure.status == 0) {
    // Newer servers repeat the status that a model in their cloud answered with.
    const auto code = said["StatusCode"].to_int().value_or(0);
    failure.status = code >= 400 && code < 600 ? static_cast<int>(code) : 500;
    if (says_too_long(failure.message)) failure.status = 400;
  }
  failure.too_long = failure.status == 400 && says_too_long(failure.message);
  return failure;
}

}  // namespace patchbay
