// What an error of OpenAI and of others who speak like it means. G1, W3.
#include "agent/models/openai_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

Json sent() {
  return parse_json(R"({
    "tools": [{"type": "function", "function": {"name": "first"}}, {"type": "function", "name": "second"}],
    "input": [{}, {"type": "additional_tools", "tools": [{"type": "function", "name": "third"}]}]})")
      .value();
}

struct Case {
  const char* why;
  int status;
  const char* body;
  ProviderFailure failure;
};

TEST(OpenAiError, SaysWhatItMeans) {
  const Case cases[] = {
      {"a text that is too long",
       400,
       R"({"error": {"message": "Too long.", "type": "invalid_request_error", "param": "messages",
                     "code": "context_length_exceeded"}})",
       {.status = 400, .type = "context_length_exceeded", .message = "Too long.", .too_long = true}},
      {"the same of llama.cpp, which answers with the status as its code",
       400,
       R"({"error": {"code": 400, "message": "the request exceeds the available context size",
                     "type": "exceed_context_size_error", "n_prompt_tokens": 14429, "n_ctx": 8192}})",
       {.status = 400,
        .type = "exceed_context_size_error",
        .message = "the request exceeds the available context size",
        .too_long = true}},
      {"the same of vLLM, which says it in words",
       400,
       R"({"error": {"message": "This model's maximum context length is 4096 tokens.", "type": "BadRequestError",
                     "param": null, "code": 400}})",
       {.status = 400,
        .type = "BadRequestError",
        .message = "This model's maximum context length is 4096 tokens.",
        .too_long = true}},
      {"a tool that is refused",
       400,
       R"({"error": {"message": "Invalid schema for function 'second'", "type": "invalid_request_error",
                     "param": "tools[1].function.parameters", "code": "invalid_function_parameters"}})",
       {.status = 400,
        .type = "invalid_function_parameters",
        .message = "Invalid schema for function 'second'",
        .tool = "second"}},
      {"the same of Responses, without a code",
       400,
       R"({"error": {"message": "Invalid", "type": "invalid_request_error", "param": "tools[0].name", "code": null}})",
       {.status = 400, .type = "invalid_request_error", .message = "Invalid", .tool = "first"}},
      {"a tool that was announced in the middle of a conversation",
       400,
       R"({"error": {"message": "Invalid", "type": "x", "param": "input[1].tools[0].parameters"}})",
       {.status = 400, .type = "x", .message = "Invalid", .tool = "third"}},
      {"something that is no tool",
       400,
       R"({"error": {"message": "Invalid", "type": "x", "param": "input[1].type"}})",
       {.status = 400, .type = "x", .message = "Invalid"}},
      {"a tool that was not sent",
       400,
       R"({"error": {"message": "Invalid", "type": "x", "param": "tools[2].name"}})",
       {.status = 400, .type = "x", .message = "Invalid"}},
      {"all tools together",
       400,
       R"({"error": {"message": "Too many", "type": "x", "param": "tools"}})",
       {.status = 400, .type = "x", .message = "Too many"}},
      {"a parameter that only looks like one",
       400,
       R"({"error": {"message": "No", "type": "x", "param": "tools[1"}})",
       {.status = 400, .type = "x", .message = "No"}},
      {"a key that is refused",
       401,
       R"({"error": {"message": "Incorrect API key provided", "type": "invalid_request_error",
                     "param": null, "code": "invalid_api_key"}})",
       {.status = 401, .type = "invalid_api_key", .message = "Incorrect API key provided"}},
      {"an error that is a text",
       500,
       R"({"error": "model failed to load"})",
       {.status = 500, .message = "model failed to load"}},
      {"an older vLLM",
       404,
       R"({"object": "error", "message": "The model does not exist.", "type": "NotFoundError", "code": 404})",
       {.status = 404, .type = "NotFoundError", .message = "The model does not exist."}},
      {"something else", 502, "<html>Bad Gateway</html>", {.status = 502, .message = "<html>Bad Gateway</html>"}},
      {"JSON of something else", 503, R"({"detail": "busy"})", {.status = 503, .message = R"({"detail": "busy"})"}},
      {"nothing", 500, "", {.status = 500}},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(openai_http_failure(one.status, one.body, sent), one.failure) << one.why;
  }
}

TEST(OpenAiError, InsideOfAStreamMeansAStatus) {
  const std::pair<const char*, int> cases[] = {
      {R"({"error": {"message": "m", "type": "server_error"}})", 500},
      {R"({"error": {"message": "m", "type": "x", "code": "rate_limit_exceeded"}})", 429},
      {R"({"error": {"message": "m", "type": "invalid_request_error", "code": "something_new"}})", 400},
      {R"({"error": {"message": "m", "code": 503}})", 503},
      {R"({"error": {"message": "m", "code": 7}})", 500},
      {R"({"code": "server_error", "message": "m", "param": null})", 500},
      {R"({"error": {"message": "m", "type": "insufficient_quota"}})", 402},
      {R"({"error": {"message": "m", "code": "context_length_exceeded"}})", 400},
      {R"({"error": "m"})", 500},
      {R"({})", 500},
  };
  for (const auto& [said, status] : cases) {
    EXPECT_EQ(openai_failure(*parse_json(said)).status, status) << said;
  }
  EXPECT_TRUE(openai_failure(*parse_json(R"({"code": "context_length_exceeded"})")).too_long);
}

TEST(OpenAiError, KeepsNoMoreThanAFewWords) {
  const auto failure = openai_http_failure(500, std::string(100'000, 'x'), sent);
  EXPECT_EQ(failure.message.size(), 2'000u);
}

}  // namespace
}  // namespace patchbay
