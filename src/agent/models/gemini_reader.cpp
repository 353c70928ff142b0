#include "agent/models/gemini_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "agent/models/answer_parts.h"
#include "base/limits.h"
#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_words = 2'000;  // of what a server says about itself

std::string_view text_at(const Json& in, std::string_view key) { return in[key].text().value_or(std::string_view()); }

std::uint64_t number_at(const Json& in, std::string_view key) { return in[key].to_uint().value_or(0); }

ModelStop stop_of(std::string_view reason) {
  constexpr std::array<std::pair<std::string_view, ModelStop>, 16> reasons{{
      {"STOP", ModelStop::end_turn},
      {"MAX_TOKENS", ModelStop::max_tokens},
      {"MALFORMED_FUNCTION_CALL", ModelStop::malformed},
      {"UNEXPECTED_TOOL_CALL", ModelStop::malformed},
      {"TOO_MANY_TOOL_CALLS", ModelStop::malformed},
      {"MALFORMED_RESPONSE", ModelStop::malformed},
      {"SAFETY", ModelStop::refusal},
      {"RECITATION", ModelStop::refusal},
      {"LANGUAGE", ModelStop::refusal},
      {"BLOCKLIST", ModelStop::refusal},
      {"PROHIBITED_CONTENT", ModelStop::refusal},
      {"SPII", ModelStop::refusal},
      {"MODEL_ARMOR", ModelStop::refusal},
      {"IMAGE_SAFETY", ModelStop::refusal},
      {"IMAGE_PROHIBITED_CONTENT", ModelStop::refusal},
      {"IMAGE_RECITATION", ModelStop::refusal},
  }};
  const auto found = std::ranges::find(reasons, reason, &std::pair<std::string_view, ModelStop>::first);
  return found == reasons.end() ? ModelStop::other : found->second;
}

class GeminiReader final : public AnswerReader {
 public:
  GeminiReader(const ModelInfo& info, const ModelRequest& request)
      : provider_(info.provider), model_(info.model), request_{.tools = request.tools}, ids_(request) {}

  std::expected<void, ProviderFailure> take(std::string_view, std::string_view data,
                                            const ModelEventSink& tell) override {
    if (complete()) return {};
    data = trim(data);
    if (data.empty() || data == "[DONE]") return {};
    bytes_ += data.size();
    if (bytes_ > Limits{}.message) return too_large();
    const auto chunk = parse_json(data);
    if (!chunk) {
      return std::unexpected(ProviderFailure{
          .type = "malformed", .message = "the server sent what is not JSON: " + chunk.error().message()});
    }
    if (const auto* error = chunk->find("error"); error && !error->is_null()) {
      return std::unexpected(gemini_failure(0, *chunk, request_));
    }
    if (const auto version = text_at(*chunk, "modelVersion"); !version.empty()) answered_by_ = version;
    if (const auto blocked = text_at((*chunk)["promptFeedback"], "blockReason"); !blocked.empty()) {
      blocked_ = cut_utf8(blocked, longest_words);
    }
    for (const auto& candidate : (*chunk)["candidates"].items()) {
      // Only one is asked for.
      if (number_at(candidate, "index") != 0) continue;
      for (const auto& part : candidate["content"]["parts"].items()) {
        if (auto read = read_part(part, tell); !read) return read;
      }
      if (const auto reason = text_at(candidate, "finishReason"); !reason.empty()) {
        reason_ = cut_utf8(reason, longest_words);
        explanation_ = cut_utf8(text_at(candidate, "finishMessage"), longest_words);
      }
      break;
    }
    if (const auto& usage = (*chunk)["usageMetadata"]; usage.is_object()) {
      read_usage(usage);
      counted_at_end_ = !reason_.empty();
    }
    return {};
  }

  // Some servers count in a chunk behind the last part.
  bool complete() const noexcept override { return !blocked_.empty() || (!reason_.empty() && counted_at_end_); }

  std::expected<ModelAnswer, ProviderFailure> finish() override {
    if (reason_.empty() && blocked_.empty()) {
      return std::unexpected(ProviderFailure{.message = "the answer ended before it was complete"});
    }
    end_run();
    answer_.model = answered_by_.empty() ? model_ : answered_by_;
    if (!blocked_.empty()) {
      answer_.stop = ModelStop::refusal;
      answer_.stop_text = blocked_;
      return std::move(answer_);
    }
    answer_.stop = stop_of(reason_);
    answer_.stop_text = explanation_.empty() ? reason_ : fmt::format("{}: {}", reason_, explanation_);
    if (answer_.stop == ModelStop::end_turn && called_) answer_.stop = ModelStop::tool_use;
    return std::move(answer_);
  }

 private:
  // Pieces of one text, or of one thought, that have not been put into the message yet.
  enum class Run : std::uint8_t { none, text, thought };

  static std::unexpected<ProviderFailure> too_large() {
    return std::unexpected(ProviderFailure{.status = 413, .type = "too_large", .message = "the answer is too large"});
  }

  void add_block(std::string_view name, Json value) {
    answer_.message.parts.emplace_back(
        ProviderBlock{.provider = provider_, .value = {{"model", model_}, {name, std::move(value)}}});
  }

  void end_run() {
    if (run_ == Run::text) {
      if (!signature_.empty()) add_block("signature", signature_);
      answer_.message.parts.emplace_back(ModelText{std::move(text_)});
    } else if (run_ == Run::thought) {
      Json part{{"text", std::move(text_)}, {"thought", true}};
      if (!signature_.empty()) part["thoughtSignature"] = signature_;
      add_block("part", std::move(part));
    }
    run_ = Run::none;
    text_.clear();
    signature_.clear();
  }

  // A part with a signature is never joined to one without: the signature would be that of another text.
  void add_to_run(Run run, std::string_view text, std::string_view signature) {
    if (run_ != run || !signature_.empty() || (!signature.empty() && run == Run::text)) end_run();
    run_ = run;
    text_ += text;
    signature_ = signature;
  }

  std::expected<void, ProviderFailure> read_part(const Json& part, const ModelEventSink& tell) {
    if (!part.is_object()) return {};
    if (answer_.message.parts.size() >= most_answer_items) return too_large();
    const auto signature = text_at(part, "thoughtSignature");
    if (const auto& call = part["functionCall"]; call.is_object()) {
      read_call(call, signature, tell);
      return {};
    }
    const auto text = part["text"].text();
    if (text && part["thought"].to_bool().value_or(false)) {
      if (!text->empty() && tell) tell(ModelThinkingDelta{std::string(*text)});
      add_to_run(Run::thought, *text, signature);
    } else if (text && (!text->empty() || signature.empty())) {
      if (text->empty()) return {};
      if (tell) tell(ModelTextDelta{std::string(*text)});
      add_to_run(Run::text, *text, signature);
    } else {
      // The signature of everything before it, in a text without words; or something new.
      end_run();
      add_block("part", part);
    }
    return {};
  }

  void read_call(const Json& call, std::string_view signature, const ModelEventSink& tell) {
    end_run();
    if (!signature.empty()) add_block("signature", signature);
    ModelToolUse use{.id = ids_.take(text_at(call, "id")),
                     .name = std::string(cut_utf8(text_at(call, "name"), longest_tool_name))};
    const auto& arguments = call["args"];
    if (arguments.is_object()) {
      use.input = arguments;
    } else if (!arguments.is_null()) {
      use.broken = to_text(arguments);
    }
    if (tell) tell(ModelToolBegun{use.id, use.name});
    called_ = true;
    answer_.message.parts.emplace_back(std::move(use));
  }

  void read_usage(const Json& usage) {
    auto& out = answer_.usage;
    const auto prompt = number_at(usage, "promptTokenCount") + number_at(usage, "toolUsePromptTokenCount");
    out.cache_read = std::min(number_at(usage, "cachedContentTokenCount"), prompt);
    out.input = prompt - out.cache_read;
    out.output = number_at(usage, "candidatesTokenCount") + number_at(usage, "thoughtsTokenCount");
  }

  std::string provider_;
  std::string model_;
  ModelRequest request_;  // of it the tools alone, to name one
  CallIds ids_;
  ModelAnswer answer_;
  Run run_ = Run::none;
  std::string text_;
  std::string signature_;
  std::string answered_by_;
  std::string reason_;
  std::string explanation_;
  std::string blocked_;
  std::size_t bytes_ = 0;
  bool called_ = false;
  bool counted_at_end_ = false;
};

// What an error inside of a stream would have been as an answer.
int status_of(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, int>, 11> words{{
      {"INVALID_ARGUMENT", 400},
      {"FAILED_PRECONDITION", 400},
      {"OUT_OF_RANGE", 400},
      {"UNAUTHENTICATED", 401},
      {"PERMISSION_DENIED", 403},
      {"NOT_FOUND", 404},
      {"ABORTED", 409},
      {"RESOURCE_EXHAUSTED", 429},
      {"CANCELLED", 499},
      {"UNAVAILABLE", 503},
      {"DEADLINE_EXCEEDED", 504},
  }};
  const auto found = std::ranges::find(words, word, &std::pair<std::string_view, int>::first);
  return found == words.end() ? 500 : found->second;
}

// The tool that "GenerateContentRequest.tools[0].function_declarations[3].name" speaks of. There is no other place
// that says so than this path, in a field or in the message.
std::string tool_at(std::string_view path, const ModelRequest& request) {
  constexpr std::array<std::string_view, 2> names{"function_declarations[", "functionDeclarations["};
  for (const auto name : names) {
    const auto at = path.find(name);
    if (at == std::string_view::npos || !request.tools) continue;
    const auto number = path.substr(at + name.size());
    std::size_t index = 0;
    const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (fault != std::errc() || end == number.data() + number.size() || *end != ']') continue;
    if (index < request.tools->tools.size()) return request.tools->tools[index].name;
  }
  return {};
}

}  // namespace

std::unique_ptr<AnswerReader> gemini_reader(const ModelInfo& info, const ModelRequest& request) {
  return std::make_unique<GeminiReader>(info, request);
}

ProviderFailure gemini_failure(int status, const Json& said, const ModelRequest& request) {
  ProviderFailure failure{.status = status};
  const Json* whole = &said;
  if (const auto items = said.items(); items.begin() != items.end()) whole = &*items.begin();
  const Json& error = (*whole)["error"];
  failure.message = cut_utf8(error.is_string() ? text_at(*whole, "error") : text_at(error, "message"), longest_words);
  failure.type = cut_utf8(text_at(error, "status"), longest_words);
  if (failure.status == 0) {
    const auto code = error["code"].to_int().value_or(0);
    failure.status = code >= 400 && code < 600 ? static_cast<int>(code) : status_of(failure.type);
  }
  for (const auto& detail : error["details"].items()) {
    // A key that is none is an invalid argument to them.
    if (text_at(detail, "reason") == "API_KEY_INVALID") failure.status = 401;
    for (const auto& violation : detail["fieldViolations"].items()) {
      if (failure.tool.empty()) failure.tool = tool_at(text_at(violation, "field"), request);
    }
  }
  if (failure.status != 400) {
    failure.tool.clear();
    failure.too_long = failure.status == 413;
    return failure;
  }
  // There is no word for it.
  failure.too_long = failure.message.contains("exceeds the maximum number of tokens");
  if (failure.tool.empty() && !failure.too_long) failure.tool = tool_at(failure.message, request);
  return failure;
}

}  // namespace patchbay
