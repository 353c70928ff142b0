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

constexpr int unknown_status = 500;

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
  return found == words.end() ? unknown_status : found->second;
}

// Older vLLM, llama.cpp and LM Studio have no word for it.
bool says_too_long(std::string_view message) {
  constexpr std::array<std::string_view, 4> words{"maximum context length", "available context size",
                                                  "context length of only", "context the overflows"};
  return std::ranges::any_of(words, [&](std::string_view some) { return message.contains(some); });
}

// The tool that "tools[3].function.parameters" or "input[7].tools[0]" speaks of.
std::string tool_at(std::string_view param, const Json& sent) {
  const Json* here = &sent;
  for (const auto step : split(param, '.')) {
    const auto bracket = step.find('[');
    if (bracket == std::string_view::npos || !step.ends_with(']')) return {};
    const auto number = step.substr(bracket + 1, step.size() - bracket - 2);
    std::size_t index = 0;
    const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), index);
    const auto name = step.substr(0, bracket);
    const auto items = (*here)[name].items();
    if (fault != std::errc() || end != number.data() + number.size() || index >= items.size()) return {};
    here = &items[index];
    if (name != "tools") continue;
    const Json& function = here->find("function") ? (*here)["function"] : *here;
    return std::string(function["name"].text().value_or(std::string_view()));
  }
  return {};
}

struct ErrorObject {
  ProviderFailure failure = {};
  std::string type = {};
  std::string param = {};
  std::int64_t code = 0;
};

ErrorObject read_error(const Json& said) {
  ErrorObject read;
  const Json* const inner = said.find("error");
  if (inner && inner->is_string()) read.failure.message = text_at(said, "error");
  const Json& error = inner && inner->is_object() ? *inner : said;
  if (read.failure.message.empty()) read.failure.message = text_at(error, "message");
  read.type = text_at(error, "type");
  read.param = text_at(error, "param");
  read.code = error["code"].to_int().value_or(0);
  // `code` is the narrower word; others put the status there.
  read.failure.type = text_at(error, "code");
  if (read.failure.type.empty()) read.failure.type = read.type;
  return read;
}

bool is_too_long(const ErrorObject& error) {
  return error.failure.type == "context_length_exceeded" || error.type == "exceed_context_size_error" ||
         (error.failure.status == 400 && (error.param == "input_tokens" || says_too_long(error.failure.message)));
}

}  // namespace

ProviderFailure openai_failure(const Json& said) {
  auto error = read_error(said);
  auto& failure = error.failure;
  if (error.code >= 400 && error.code < 600) {
    failure.status = static_cast<int>(error.code);
  } else {
    failure.status = status_of(failure.type);
    if (failure.status == unknown_status) failure.status = status_of(error.type);
  }
  failure.too_long = is_too_long(error);
  return std::move(failure);
}

ProviderFailure openai_http_failure(int status, std::string_view body, const std::function<Json()>& sent) {
  ErrorObject error;
  if (const auto said = parse_json(body)) error = read_error(*said);
  auto& failure = error.failure;
  failure.status = status;
  if (failure.message.empty()) failure.message = cut_utf8(body, longest_words);
  failure.too_long = is_too_long(error);
  if (status == 400 && !failure.too_long && !error.param.empty()) failure.tool = tool_at(error.param, sent());
  return std::move(failure);
}

}  // namespace patchbay
