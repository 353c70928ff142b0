// W3: what a Server asks of the tools and forms of its own program.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/server.h>

#include "server/context.h"

namespace patchbay {
namespace {

using testing::HasSubstr;

Task<CallToolResult> nothing(RequestContext&, Json) { co_return CallToolResult{}; }

TEST(ServerChecks, WhatIsNotASchema_IsRefusedWhenTheToolIsAdded) {
  Server server({.info = {.name = "s", .version = "1"}});
  auto added = [&](Json input, std::optional<Json> output) -> std::string {
    Tool tool;
    tool.name = "t";
    tool.input_schema = std::move(input);
    tool.output_schema = std::move(output);
    try {
      server.add_tool(std::move(tool), nothing);
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.code()), error.message());
    }
    return "";
  };
  const Json good{{"type", "object"}};
  EXPECT_EQ(added(good, {}), "");
  EXPECT_EQ(added(good, Json{{"type", "array"}}), "");
  EXPECT_THAT(added(Json{{"type", "objekt"}}, {}), HasSubstr("invalid_argument: tool \"t\": inputSchema: "));
  EXPECT_THAT(added(good, Json{{"$ref", "#/gone"}}), HasSubstr("invalid_argument: tool \"t\": outputSchema: "));
  EXPECT_THAT(added(Json{{"$schema", "http://json-schema.org/draft-04/schema#"}}, {}),
              HasSubstr("invalid_argument: tool \"t\": inputSchema: "));
}

TEST(ServerChecks, AnswersToAForm_MustFitIt) {
  ElicitRequest form;
  form.requested_schema = Json{{"type", "object"},
                               {"properties", Json{{"mail", Json{{"type", "string"}, {"format", "email"}}}}},
                               {"required", Json::array({"mail"})}};
  auto answered = [&](std::string_view answer) -> std::string {
    auto decoded = decode_answer(form, parse_json(answer).value(), 10'000);
    return decoded ? "" : fmt::format("{}: {}", to_string(decoded.error().code()), decoded.error().message());
  };
  EXPECT_EQ(answered(R"({"action":"accept","content":{"mail":"a@example.com"}})"), "");
  EXPECT_EQ(answered(R"({"action":"decline"})"), "");
  EXPECT_EQ(answered(R"({"action":"cancel","content":{"mail":1}})"), "");
  EXPECT_THAT(answered(R"({"action":"accept","content":{"mail":"nobody"}})"),
              HasSubstr("protocol: the content does not match the form: /mail: "));
  EXPECT_THAT(answered(R"({"action":"accept","content":{}})"),
              HasSubstr(R"(content: missing property "mail" (required))"));
  EXPECT_THAT(answered(R"({"action":"accept"})"), HasSubstr("needs an object"));
}

}  // namespace
}  // namespace patchbay
