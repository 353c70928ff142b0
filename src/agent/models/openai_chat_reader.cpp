#include "agent/models/openai_chat_reader.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "agent/models/answer_parts.h"
#include "agent/models/openai_error.h"
#include "base/strings.h"

namespace patchbay {
namespace {

std::string_view text_at(const Json& in, std::string_view key) { return in[key].text().value_or(std::string_view()); }

std::uint64_t number_at(const Json& in, std::string_view key) { return in[key].to_uint().value_or(0); }

// One call as far as it has arrived.
struct Call {
  std::string given_id;  // by the server; may be empty or the same for all
  std::optional<std::uint64_t> index;
  std::string id;  // ours, once it is told
  std::string name;
  std::string arguments;
  ObjectEnd end;
};

class ChatReader final : public AnswerReader {
 public:
  ChatReader(const ModelInfo& info, const ModelRequest& request)
      : provider_(info.provider), has_tools_(request.tools && !request.tools->tools.empty()), ids_(request) {}

  std::expected<void, ProviderFailure> take(std::string_view event, std::string_view data,
                                            const ModelEventSink& tell) override {
    if (done_) return {};
    data = trim(data);
    if (data.empty()) return {};
    if (data == "[DONE]") {
      done_ = true;
      return {};
    }
    const auto chunk = parse_json(data);
    if (!chunk) return std::unexpected(damaged(chunk.error()));
    // Servers that fail in the middle have no other way to say so.
    const auto* error = chunk->find("error");
    if ((error && !error->is_null()) || event == "error" || text_at(*chunk, "object") == "error") {
      return std::unexpected(openai_failure(*chunk));
    }
    if (const auto model = text_at(*chunk, "model"); !model.empty()) model_ = model;
    if ((*chunk)["usage"].is_object()) read_usage((*chunk)["usage"]);
    for (const auto& choice : (*chunk)["choices"].items()) {
      if (choice["index"].to_uint().value_or(0) == 0) read_choice(choice, tell);
    }
    if (calls_.size() > most_answer_items) return std::unexpected(too_many_items());
    return {};
  }

  bool complete() const noexcept override { return done_; }

  std::expected<ModelAnswer, ProviderFailure> finish() override {
    // Not everybody says [DONE], and not everybody says why it stopped.
    if (!done_ && finish_.empty()) {
      return std::unexpected(cut_off());
    }
    done_ = true;
    ModelAnswer answer;
    answer.model = model_;
    answer.usage = usage_;
    auto& parts = answer.message.parts;
    if (!thoughts_.empty()) {
      Json kept = Json::object();
      kept[thinking_word_] = std::move(thoughts_);
      parts.emplace_back(ProviderBlock{.provider = provider_, .value = std::move(kept)});
    }
    const bool raw_call = has_tools_ && calls_.empty() && holds_raw_call(text_);
    if (!text_.empty()) parts.emplace_back(ModelText{std::move(text_)});
    bool calls = false;
    for (auto& call : calls_) {
      if (call.name.empty() && call.arguments.empty()) continue;
      calls = true;
      if (call.id.empty()) call.id = ids_.take(call.given_id);
      ModelToolUse use{.id = std::move(call.id), .name = std::move(call.name)};
      read_arguments(use, call.arguments);
      parts.emplace_back(std::move(use));
    }
    answer.stop = stop(calls);
    answer.stop_text = finish_.empty() ? "none" : finish_;
    if (raw_call) {
      answer.warnings.emplace_back(
          "the server sent a call of a tool as text: its parser for tool calls is switched off, so no tool can be "
          "used (vLLM: enable-auto-tool-choice and tool-call-parser; llama.cpp: jinja)");
    }
    return answer;
  }

 private:
  void read_choice(const Json& choice, const ModelEventSink& tell) {
    // A server that does not stream after all sends a whole message.
    const Json& delta = choice["delta"].is_object() ? choice["delta"] : choice["message"];
    read_thoughts(delta, tell);
    read_content(delta["content"], tell);
    if (const auto refusal = text_at(delta, "refusal"); !refusal.empty()) {
      refused_ = true;
      add_text(refusal, tell);
    }
    for (const auto& call : delta["tool_calls"].items()) {
      if (calls_.size() <= most_answer_items) read_call(call, tell);
    }
    if (const auto finish = text_at(choice, "finish_reason"); !finish.empty()) finish_ = finish;
  }

  void add_text(std::string_view text, const ModelEventSink& tell) {
    if (text.empty()) return;
    text_ += text;
    tell(ModelTextDelta{std::string(text)});
  }

  void add_thought(std::string_view word, std::string_view text, const ModelEventSink& tell) {
    if (text.empty()) return;
    // While they rename it, servers send the same text under two words.
    if (thinking_word_.empty()) thinking_word_ = word;
    if (thinking_word_ != word) return;
    thoughts_ += text;
    tell(ModelThinkingDelta{std::string(text)});
  }

  void read_thoughts(const Json& delta, const ModelEventSink& tell) {
    for (const auto word : chat_thinking_words) add_thought(word, text_at(delta, word), tell);
  }

  // A text, or a list of parts of which some are thoughts.
  void read_content(const Json& content, const ModelEventSink& tell) {
    if (const auto text = content.text()) add_text(*text, tell);
    for (const auto& part : content.items()) {
      if (const auto text = part["text"].text()) add_text(*text, tell);
      for (const auto& thought : part["thinking"].items()) {
        // Only shown: who sends thoughts this way wants none back.
        if (const auto text = text_at(thought, "text"); !text.empty()) tell(ModelThinkingDelta{std::string(text)});
      }
    }
  }

  void read_call(const Json& delta, const ModelEventSink& tell) {
    const Json& function = delta["function"];
    Json arguments = function["arguments"];
    // Some send the object itself.
    if (arguments.is_object()) arguments = Json(to_text(arguments));
    const auto piece = arguments.text().value_or(std::string_view());
    const auto name = text_at(function, "name");
    Call& call = call_of(delta, name, piece);
    if (call.given_id.empty()) call.given_id = text_at(delta, "id");
    // Sent once, or again with each piece, or in pieces before the arguments begin.
    if (!name.empty() && name != call.name && call.arguments.empty() && call.name.size() < longest_tool_name) {
      call.name += name.substr(0, longest_tool_name);
    }
    call.arguments += piece;
    call.end.feed(piece);
    if (call.id.empty() && !call.name.empty()) {
      call.id = ids_.take(call.given_id);
      tell(ModelToolBegun{call.id, call.name});
    }
  }

  // Which call this is a piece of. The index alone does not say: there are servers that begin every call with index 0
  // and another id, that leave the id of later pieces empty, or that send whole calls without either.
  Call& call_of(const Json& delta, std::string_view name, std::string_view piece) {
    const auto id = text_at(delta, "id");
    const auto index = delta["index"].to_uint();
    const auto same_index = [&](const Call& call) { return !index || !call.index || call.index == index; };
    auto newest_first = std::views::reverse(calls_);
    if (!id.empty()) {
      const auto same_id =
          std::ranges::find_if(newest_first, [&](const Call& call) { return call.given_id == id && same_index(call); });
      if (same_id != newest_first.end()) return *same_id;
    }
    const auto before = std::ranges::find_if(newest_first, same_index);
    const bool begins = before == newest_first.end() || (!id.empty() && !before->given_id.empty()) ||
                        (!name.empty() && !piece.empty() && before->end.reached());
    if (!begins) return *before;
    calls_.push_back({.index = index});
    return calls_.back();
  }

  void read_usage(const Json& usage) {
    const auto prompt = number_at(usage, "prompt_tokens");
    const auto cached = std::min(prompt, number_at(usage["prompt_tokens_details"], "cached_tokens"));
    usage_ = {.input = prompt - cached, .cache_read = cached, .output = number_at(usage, "completion_tokens")};
  }

  ModelStop stop(bool calls) const {
    if (finish_ == "length") return ModelStop::max_tokens;
    if (finish_ == "content_filter" || refused_) return ModelStop::refusal;
    // Servers end with "stop" behind calls as well.
    if (calls) return ModelStop::tool_use;
    if (finish_ == "tool_calls" || finish_ == "function_call") return ModelStop::malformed;
    return finish_ == "stop" || finish_.empty() ? ModelStop::end_turn : ModelStop::other;
  }

  const std::string provider_;
  const bool has_tools_;
  CallIds ids_;
  bool done_ = false;
  bool refused_ = false;
  std::string model_;
  std::string text_;
  std::string thoughts_;
  std::string thinking_word_;
  std::string finish_;
  std::vector<Call> calls_;
  ModelUsage usage_;
};

}  // namespace

std::unique_ptr<AnswerReader> openai_chat_reader(const ModelInfo& info, const ModelRequest& request) {
  return std::make_unique<ChatReader>(info, request);
}

}  // namespace patchbay
