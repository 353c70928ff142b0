#include "agent/models/openai_error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "base/strings.h"

namespace patchbay {
namespace {

constexpr std::size_t longest_words = 2'000;  // of what a server says about itself

std::string text_at(const Json& in, std::string_view key) {
  const auto text = in[key].text();
  return std::string(cut_utf8(text.value_or(std::string_view()), longest_words));
}

// What an error inside of a stream would have been as an answer.
int status_of(std::string_view word) {
  constexpr std::array<std::pair<std::string_view, int>, 16> words{{
      {"invalid_request_error", 400},
      {"invalid_prompt", 400},
      {"context_length_exceeded", 400},
      {"exceed_context_size_error", 400},
      {"BadRequestError", 400},
      {"authentication_error", 401},
      {"invalid_api_key", 401},
      {"insufficient_quota", 402},
      {"permission_error", 403},
      {"model_not_found", 404},
      {"not_found_error", 404},
      {"rate_limit_exceeded", 429},
      {"rate_limit_error", 429},
      {"server_error", 500},
      {"unavailable_error", 503},
      {"overloaded_error", 503},
  }};
  const auto found = std::ranges::find(words, word, &std::pair<std::string_view, int>::first);
  return found == words.end() ? 500 : found->second;
}

// Older vLLM, llama.cpp and LM Studio have no word for it.
bool says_too_long(std::string_view message) {
  constexpr std::array<std::string_view, 4> words{"maximum context length", "available context size",
                                                  "context length of only", "context the overflows"};
  return std::ranges::any_of(words, [&](std::string_view some) { return message.contains(some); });
}

// The tool that "tools[3].function.parameters" speaks of.
std::string tool_at(std::string_view param, const ModelRequest& request) {
  constexpr std::string_view prefix = "tools[";
  if (!param.starts_with(prefix) || !request.tools) return {};
  std::size_t index = 0;
  const auto number = param.substr(prefix.size());
  const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), index);
  if (fault != std::errc() || end == number.data() + number.size() || *end != ']') return {};
  return index < request.tools->tools.size() ? request.tools->tools[index].name : std::string();
}

}  // namespace

ProviderFailure openai_failure(int status, const Json& said, const ModelRequest& request) {
  ProviderFailure failure{.status = status};
  const Json* const inner = said.find("error");
  if (inner && inner->is_string()) {
    failure.message = text_at(said, "error");
  }
  const Json& error = inner && inner->is_object() ? *inner : said;
  if (failure.message.empty()) failure.message = text_at(error, "message");
  // `code` is the narrower word; others put the status there.
  const auto type = text_at(error, "type");
  failure.type = text_at(error, "code");
  if (failure.type.empty()) failure.type = type;
  if (failure.status == 0) {
    const auto code = error["code"].to_int().value_or(0);
    failure.status = code >= 400 && code < 600 ? static_cast<int>(code) : status_of(failure.type);
    if (failure.status == 500 && failure.type != type) failure.status = status_of(type);
  }
  const auto param = text_at(error, "param");
  failure.too_long = failure.type == "context_length_exceeded" || type == "exceed_context_size_error" ||
                     (failure.status == 400 && (param == "input_tokens" || says_too_long(failure.message)));
  if (failure.status == 400 && !failure.too_long) failure.tool = tool_at(param, request);
  return failure;
}

ProviderFailure openai_http_failure(int status, std::string_view body, const ModelRequest& request) {
  const auto said = parse_json(body);
  if (said && said->is_object()) {
    auto failure = openai_failure(status, *said, request);
    if (failure.message.empty()) failure.message = std::string(cut_utf8(body, longest_words));
    return failure;
  }
  return {.status = status, .message = std::string(cut_utf8(body, longest_words))};
}

}  // namespace patchbay
