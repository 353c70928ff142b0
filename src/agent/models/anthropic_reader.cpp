#include "agent/models/anthropic_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "agent/models/answer_parts.h"
#include "base/strings.h"

namespace patchbay {
namespace {

std::string text_at(const Json& value, std::string_view key) {
  const auto text = value[key].text();
  return text ? std::string(*text) : std::string();
}

ModelStop stop_of(std::string_view reason) {
  if (reason == "end_turn" || reason == "stop_sequence") return ModelStop::end_turn;
  if (reason == "tool_use") return ModelStop::tool_use;
  if (reason == "max_tokens") return ModelStop::max_tokens;
  if (reason == "refusal") return ModelStop::refusal;
  if (reason == "pause_turn") return ModelStop::pause;
  if (reason == "model_context_window_exceeded") return ModelStop::context_full;
  return ModelStop::other;
}

ProviderFailure nonsense(std::string message) { return {.type = "malformed_stream", .message = std::move(message)}; }

// Of a block, that are texts and grow.
constexpr std::size_t most_members = 32;

// One content block while it is put together.
struct Block {
  Json begun = {};                                             // as it came, with what is no text already in it
  std::map<std::string, std::string, std::less<>> grown = {};  // its texts, by member
  std::string json = {};                                       // of its input, as it is written
};

class Reader final : public AnswerReader {
 public:
  Reader(std::string provider, const ModelRequest& request) : provider_(std::move(provider)), ids_(request) {}

  std::expected<void, ProviderFailure> take(std::string_view event, std::string_view data,
                                            const ModelEventSink& tell) override {
    if (complete_) return {};
    const auto value = parse_json(data);
    if (!value || !value->is_object()) return std::unexpected(nonsense("an event is not a JSON object"));
    const auto named = (*value)["type"].text();
    const auto type = named ? *named : event;
    if (type == "content_block_delta") return delta((*value)["index"], (*value)["delta"], tell);
    if (type == "content_block_start") return begin((*value)["index"], (*value)["content_block"], tell);
    if (type == "message_start") {
      const auto& message = (*value)["message"];
      id_ = text_at(message, "id");
      answer_.model = text_at(message, "model");
      count(message["usage"]);
      answer_.usage.cache_miss = text_at(message["diagnostics"]["cache_miss_reason"], "type");
    } else if (type == "message_delta") {
      if (const auto reason = (*value)["delta"]["stop_reason"].text()) {
        stopped_ = true;
        answer_.stop_text = *reason;
        answer_.stop = stop_of(*reason);
      }
      count((*value)["usage"]);
    } else if (type == "message_stop") {
      complete_ = true;
    } else if (type == "error") {
      return std::unexpected(anthropic_failure(0, *value));
    }
    return {};
  }

  bool complete() const noexcept override { return complete_; }
  std::string id() const override { return id_; }

  std::expected<ModelAnswer, ProviderFailure> finish() override {
    // A reason to stop comes when all blocks are there: only a frame is missing then.
    if (!complete_ && !stopped_) {
      return std::unexpected(ProviderFailure{.type = "incomplete", .message = "the answer ended in the middle"});
    }
    for (auto& [index, block] : blocks_) add(std::move(block));
    blocks_.clear();
    return std::move(answer_);
  }

 private:
  // Members that are not said stay as they were: the last event says less than the first in some versions.
  void count(const Json& usage) {
    const auto read = [&](std::string_view name, std::uint64_t& into) {
      if (const auto value = usage[name].to_uint()) into = *value;
    };
    read("input_tokens", answer_.usage.input);
    read("cache_read_input_tokens", answer_.usage.cache_read);
    read("cache_creation_input_tokens", answer_.usage.cache_written);
    read("output_tokens", answer_.usage.output);
  }

  std::expected<void, ProviderFailure> begin(const Json& index, const Json& begun, const ModelEventSink& tell) {
    const auto at = index.to_uint();
    if (!at || !begun.is_object()) return std::unexpected(nonsense("a block has no index or no content"));
    if (blocks_.size() >= most_answer_items) return std::unexpected(too_many_items());
    auto [place, fresh] = blocks_.try_emplace(*at);
    if (!fresh) return std::unexpected(nonsense("two blocks have one index"));
    place->second.begun = begun;
    if (begun["type"].text() == "tool_use") {
      auto id = ids_.take(text_at(begun, "id"));
      auto name = std::string(cut_utf8(text_at(begun, "name"), longest_tool_name));
      place->second.begun["id"] = id;
      place->second.begun["name"] = name;
      tell(ModelToolBegun{std::move(id), std::move(name)});
    }
    if (auto text = text_at(begun, "text"); !text.empty()) tell(ModelTextDelta{std::move(text)});
    return {};
  }

  std::expected<void, ProviderFailure> delta(const Json& index, const Json& delta, const ModelEventSink& tell) {
    const auto at = index.to_uint();
    const auto place = at ? blocks_.find(*at) : blocks_.end();
    if (place == blocks_.end()) return std::unexpected(nonsense("a piece belongs to no block"));
    auto& block = place->second;
    const bool is_call = block.begun["type"].text() == "tool_use";
    for (auto [name, value] : delta.members()) {
      const auto text = value.text();
      if (name == "type" || !text || text->empty()) continue;
      if (name == "partial_json") {
        block.json += *text;
        continue;
      }
      // A call has its id and name from the beginning, and they were told.
      if (is_call) continue;
      if (block.grown.size() >= most_members && !block.grown.contains(name)) return std::unexpected(too_many_items());
      grow(block, name, *text);
      if (name == "text") tell(ModelTextDelta{std::string(*text)});
      if (name == "thinking") tell(ModelThinkingDelta{std::string(*text)});
    }
    return {};
  }

  static void grow(Block& block, std::string_view member, std::string_view text) {
    auto found = block.grown.find(member);
    if (found == block.grown.end()) {
      found = block.grown.emplace(std::string(member), text_at(block.begun, member)).first;
    }
    found->second += text;
  }

  void add(Block block) {
    for (auto& [member, text] : block.grown) block.begun[member] = std::move(text);
    auto& parts = answer_.message.parts;
    const auto type = text_at(block.begun, "type");
    if (type == "text") {
      if (auto text = text_at(block.begun, "text"); !text.empty()) parts.emplace_back(ModelText{std::move(text)});
    } else if (type == "tool_use") {
      parts.emplace_back(tool_use(block));
    } else {
      if (!block.json.empty()) {
        if (auto input = parse_json(block.json)) block.begun["input"] = std::move(*input);
      }
      parts.emplace_back(ProviderBlock{.provider = provider_, .value = std::move(block.begun)});
    }
  }

  static ModelToolUse tool_use(const Block& block) {
    ModelToolUse use{.id = text_at(block.begun, "id"), .name = text_at(block.begun, "name")};
    if (block.json.empty()) {
      if (block.begun["input"].is_object()) use.input = block.begun["input"];
    } else {
      read_arguments(use, block.json);
    }
    return use;
  }

  std::string provider_;
  std::string id_;
  CallIds ids_;
  ModelAnswer answer_;
  std::map<std::uint64_t, Block> blocks_;  // by index, which is their order
  bool stopped_ = false;
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<AnswerReader> anthropic_reader(std::string provider, const ModelRequest& request) {
  return std::make_unique<Reader>(std::move(provider), request);
}

int anthropic_status(std::string_view error_type) {
  constexpr std::array<std::pair<std::string_view, int>, 10> known{{{"invalid_request_error", 400},
                                                                    {"authentication_error", 401},
                                                                    {"billing_error", 402},
                                                                    {"permission_error", 403},
                                                                    {"not_found_error", 404},
                                                                    {"request_too_large", 413},
                                                                    {"rate_limit_error", 429},
                                                                    {"api_error", 500},
                                                                    {"timeout_error", 504},
                                                                    {"overloaded_error", 529}}};
  const auto* const found = std::ranges::find(known, error_type, &std::pair<std::string_view, int>::first);
  return found == known.end() ? 500 : found->second;
}

ProviderFailure anthropic_failure(int status, const Json& body) {
  const auto& error = body["error"];
  ProviderFailure failure{.type = text_at(error, "type"), .message = text_at(error, "message")};
  failure.status = status != 0 ? status : anthropic_status(failure.type);
  // There is a type for a request of too many bytes. One of too many tokens is an invalid request like any other, and
  // only its message tells.
  failure.too_long = failure.status == 413 || failure.type == "request_too_large" ||
                     (failure.status == 400 && (failure.message.contains("prompt is too long") ||
                                                failure.message.contains("exceed context limit")));
  return failure;
}

}  // namespace patchbay
