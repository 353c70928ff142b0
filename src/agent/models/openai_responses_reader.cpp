#include "agent/models/openai_responses_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "agent/models/answer_parts.h"
#include "agent/models/openai_error.h"
#include "base/strings.h"

namespace patchbay {
namespace {

std::string_view text_at(const Json& in, std::string_view key) { return in[key].text().value_or(std::string_view()); }

std::uint64_t number_at(const Json& in, std::string_view key) { return in[key].to_uint().value_or(0); }

// One item of the output as far as it has arrived.
struct Item {
  std::string type;
  std::string call_id;  // ours, once it is told
  std::string name;
  std::string arguments;
  std::map<std::uint64_t, std::string> texts;  // by their place in the content
  bool thought = false;                        // something of its thoughts was told
  Json whole;                                  // as the server says it is at last
};

class ResponsesReader final : public AnswerReader {
 public:
  ResponsesReader(const ModelInfo& info, const ModelRequest& request) : provider_(info.provider), ids_(request) {}

  std::expected<void, ProviderFailure> take(std::string_view event, std::string_view data,
                                            const ModelEventSink& tell) override {
    if (done_) return {};
    data = trim(data);
    if (data.empty() || data == "[DONE]") return {};
    const auto said = parse_json(data);
    if (!said) return std::unexpected(damaged(said.error()));
    auto type = text_at(*said, "type");
    if (event == "error" || type == "error" || (type.empty() && (*said)["error"].is_object())) {
      return std::unexpected(openai_failure(without_type(*said)));
    }
    if (type.empty()) type = event;
    // A server that does not stream after all sends the response itself.
    if (text_at(*said, "object") == "response") {
      return take_response("response." + std::string(text_at(*said, "status")), *said, tell);
    }
    if (const auto taken = take_response(type, (*said)["response"], tell); !taken) return taken;
    take_item_event(type, *said, tell);
    if (items_.size() > most_answer_items || pieces_ > most_answer_items) return std::unexpected(too_many_items());
    return {};
  }

  bool complete() const noexcept override { return done_; }

  std::expected<ModelAnswer, ProviderFailure> finish() override {
    if (!done_) return std::unexpected(cut_off());
    ModelAnswer answer;
    answer.model = model_;
    answer.usage = usage_;
    bool calls = false;
    for (auto& [index, item] : items_) {
      if (item.type == "function_call") {
        calls = true;
        ModelToolUse use{.id = item.call_id.empty() ? ids_.take({}) : item.call_id, .name = item.name};
        read_arguments(use, item.arguments);
        answer.message.parts.emplace_back(std::move(use));
      } else if (item.type == "message") {
        add_message(answer, item);
      } else if (item.whole.is_object()) {
        answer.message.parts.emplace_back(ProviderBlock{.provider = provider_, .value = std::move(item.whole)});
      }
    }
    items_.clear();
    answer.stop = stop(calls);
    answer.stop_text = incomplete_.empty() ? status_ : status_ + ": " + incomplete_;
    return answer;
  }

 private:
  // The event's own type is no word about the error.
  static Json without_type(Json said) {
    if (text_at(said, "type") == "error") said.erase("type");
    return said;
  }

  // The events that speak of the whole answer.
  std::expected<void, ProviderFailure> take_response(std::string_view type, const Json& response,
                                                     const ModelEventSink& tell) {
    if (!response.is_object()) return {};
    if (const auto model = text_at(response, "model"); !model.empty()) model_ = model;
    if (type == "response.failed" || type == "response.cancelled") {
      auto failure = openai_failure(response["error"]);
      if (failure.message.empty()) failure.message = "the provider gave up the answer without a reason";
      return std::unexpected(std::move(failure));
    }
    if (type != "response.completed" && type != "response.incomplete" && type != "response.done") return {};
    done_ = true;
    status_ = text_at(response, "status");
    if (status_.empty()) status_ = type == "response.incomplete" ? "incomplete" : "completed";
    incomplete_ = text_at(response["incomplete_details"], "reason");
    read_usage(response["usage"]);
    // Only from a server that says everything at once.
    if (items_.empty()) {
      std::uint64_t index = 0;
      for (const auto& item : response["output"].items()) {
        if (index >= most_answer_items) break;
        finish_item(item_at(index++), item, tell);
      }
    }
    return {};
  }

  Item& item_at(std::uint64_t index) { return items_[index]; }

  // The item that an event speaks of. Where it does not say, it is the newest.
  std::uint64_t index_of(const Json& said) const {
    if (const auto index = said["output_index"].to_uint()) return *index;
    return items_.empty() ? 0 : items_.rbegin()->first;
  }

  void take_item_event(std::string_view type, const Json& said, const ModelEventSink& tell) {
    if (type == "response.output_item.added") {
      begin_item(item_at(index_for_new(said)), said["item"], tell);
    } else if (type == "response.output_item.done") {
      finish_item(item_at(index_of(said)), said["item"], tell);
    } else if (type == "response.output_text.delta") {
      add_text(said, text_at(said, "delta"), tell);
    } else if (type == "response.refusal.delta") {
      refused_ = true;
      add_text(said, text_at(said, "delta"), tell);
    } else if (type == "response.function_call_arguments.delta") {
      auto& item = item_at(index_of(said));
      if (item.type.empty()) item.type = "function_call";
      item.arguments += text_at(said, "delta");
    } else if (type == "response.function_call_arguments.done") {
      auto& item = item_at(index_of(said));
      if (item.type.empty()) item.type = "function_call";
      if (const auto all = said["arguments"].text(); all && !all->empty()) item.arguments = *all;
    } else if (type == "response.reasoning_summary_text.delta" || type == "response.reasoning_text.delta") {
      add_thought(said, text_at(said, "delta"), tell);
    } else if (type == "response.reasoning_summary_part.added") {
      if (item_at(index_of(said)).thought) tell(ModelThinkingDelta{"\n\n"});
    }
  }

  std::uint64_t index_for_new(const Json& said) const {
    if (const auto index = said["output_index"].to_uint()) return *index;
    return items_.empty() ? 0 : items_.rbegin()->first + 1;
  }

  void begin_item(Item& item, const Json& said, const ModelEventSink& tell) {
    if (item.type.empty()) item.type = text_at(said, "type");
    if (item.type != "function_call") return;
    if (item.name.empty()) item.name = cut_utf8(text_at(said, "name"), longest_tool_name);
    if (!item.call_id.empty() || item.name.empty()) return;
    item.call_id = ids_.take(text_at(said, "call_id"));
    tell(ModelToolBegun{item.call_id, item.name});
  }

  void finish_item(Item& item, const Json& said, const ModelEventSink& tell) {
    if (!said.is_object() || !item.whole.is_null()) return;
    begin_item(item, said, tell);
    if (const auto arguments = text_at(said, "arguments"); !arguments.empty()) item.arguments = arguments;
    if (item.type == "message") {
      finish_message(item, said["content"], tell);
    } else if (item.type == "reasoning" && !item.thought) {
      for (const auto& part : said["summary"].items()) tell_thought(item, text_at(part, "text"), tell);
    }
    item.whole = said;
  }

  // What the whole message says counts; what of it was not told yet is told now.
  void finish_message(Item& item, const Json& content, const ModelEventSink& tell) {
    std::uint64_t place = 0;
    for (const auto& part : content.items()) {
      auto text = part["text"].text();
      if (const auto refusal = part["refusal"].text()) {
        refused_ = true;
        text = refusal;
      }
      if (text && !text->empty()) {
        auto& known = text_in(item, place);
        if (known.empty()) tell(ModelTextDelta{std::string(*text)});
        known = *text;
      }
      ++place;
    }
  }

  std::string& text_in(Item& item, std::uint64_t place) {
    const auto [text, is_new] = item.texts.try_emplace(place);
    if (is_new) ++pieces_;
    return text->second;
  }

  void add_text(const Json& said, std::string_view text, const ModelEventSink& tell) {
    if (text.empty()) return;
    auto& item = item_at(index_of(said));
    if (item.type.empty()) item.type = "message";
    text_in(item, number_at(said, "content_index")) += text;
    tell(ModelTextDelta{std::string(text)});
  }

  void add_thought(const Json& said, std::string_view text, const ModelEventSink& tell) {
    auto& item = item_at(index_of(said));
    if (item.type.empty()) item.type = "reasoning";
    if (text.empty()) return;
    item.thought = true;
    tell(ModelThinkingDelta{std::string(text)});
  }

  static void tell_thought(Item& item, std::string_view text, const ModelEventSink& tell) {
    if (text.empty()) return;
    tell(ModelThinkingDelta{(item.thought ? "\n\n" : "") + std::string(text)});
    item.thought = true;
  }

  void add_message(ModelAnswer& answer, Item& item) const {
    // Newer models say which of their texts is the last word, and want it back.
    if (const auto& phase = std::as_const(item.whole)[responses_phase]; phase.is_string()) {
      Json kept = Json::object();
      kept[responses_phase] = phase;
      answer.message.parts.emplace_back(ProviderBlock{.provider = provider_, .value = std::move(kept)});
    }
    for (auto& [place, text] : item.texts) {
      if (!text.empty()) answer.message.parts.emplace_back(ModelText{std::move(text)});
    }
  }

  void read_usage(const Json& usage) {
    const auto prompt = number_at(usage, "input_tokens");
    const auto cached = std::min(prompt, number_at(usage["input_tokens_details"], "cached_tokens"));
    usage_ = {.input = prompt - cached, .cache_read = cached, .output = number_at(usage, "output_tokens")};
  }

  ModelStop stop(bool calls) const {
    if (incomplete_ == "max_output_tokens" || incomplete_ == "max_tokens") return ModelStop::max_tokens;
    if (incomplete_ == "content_filter" || refused_) return ModelStop::refusal;
    if (status_ == "incomplete") return ModelStop::other;
    return calls ? ModelStop::tool_use : ModelStop::end_turn;
  }

  const std::string provider_;
  CallIds ids_;
  std::size_t pieces_ = 0;  // texts of all messages
  bool done_ = false;
  bool refused_ = false;
  std::string model_;
  std::string status_;
  std::string incomplete_;
  std::map<std::uint64_t, Item> items_;
  ModelUsage usage_;
};

}  // namespace

std::unique_ptr<AnswerReader> openai_responses_reader(const ModelInfo& info, const ModelRequest& request) {
  return std::make_unique<ResponsesReader>(info, request);
}

}  // namespace patchbay
