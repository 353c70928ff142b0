// What hooks are given, and what references in their entries become. P3.
#include "hooks/hook_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace patchbay {
namespace {

TEST(HookInput, AToolCall) {
  Tool tool;
  tool.name = "query";
  const CatalogEntry entry{"mcp__db__query", "db", std::make_shared<const Tool>(tool)};
  const HookSurroundings run{
      .session_id = "id", .transcript = "/s/id.jsonl", .cwd = "/w", .mode = PermissionMode::bypass};
  EXPECT_EQ(to_text(tool_hook_input(HookEvent::pre_tool_use, run, entry, Json{{"sql", "x"}}, 7)),
            R"({"session_id":"id","transcript_path":"/s/id.jsonl","cwd":"/w","permission_mode":"bypassPermissions",)"
            R"("hook_event_name":"PreToolUse","tool_name":"mcp__db__query","tool_input":{"sql":"x"},)"
            R"("tool_use_id":"7","mcp_server":"db"})");
  const auto request = tool_hook_input(HookEvent::permission_request, run, entry, Json(), 7);
  EXPECT_EQ(request["tool_input"], Json::object());
  EXPECT_EQ(request["permission_suggestions"], Json::array());
}

TEST(HookInput, AQuestion) {
  ElicitRequest form;
  form.message = "who?";
  form.requested_schema = Json{{"type", "object"}};
  const auto input = elicitation_hook_input(HookEvent::elicitation, {}, "db", form);
  EXPECT_EQ(input["mcp_server_name"], Json("db"));
  EXPECT_EQ(input["mode"], Json("form"));
  EXPECT_EQ(input["requested_schema"], (Json{{"type", "object"}}));
  ElicitRequest url;
  url.mode = ElicitRequest::Mode::url;
  url.url = "https://x/";
  url.elicitation_id = "e";
  const auto page = elicitation_hook_input(HookEvent::elicitation, {}, "db", url);
  EXPECT_EQ(page["url"], Json("https://x/"));
  EXPECT_EQ(page["elicitation_id"], Json("e"));
  EXPECT_EQ(page.find("requested_schema"), nullptr);
}

TEST(HookInput, ReferencesBecomeWhatIsThere) {
  const Json facts{{"tool_name", "t"},
                   {"tool_input", Json{{"n", 5}, {"text", "a${tool_name}"}, {"o", Json{{"p", true}}}}}};
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"a":"${tool_input.n}"})", R"({"a":5})"},
      {R"({"a":"n=${tool_input.n}!"})", R"({"a":"n=5!"})"},
      {R"({"a":"${tool_input}"})", R"({"a":{"n":5,"text":"a${tool_name}","o":{"p":true}}})"},
      {R"({"a":["${tool_input.o.p}"]})", R"({"a":[true]})"},
      {R"({"a":"${tool_input.text}"})", R"({"a":"a${tool_name}"})"},  // not looked at again
      {R"({"a":"${nothing.here}"})", R"({"a":null})"},
      {R"({"a":"x${nothing.here}y"})", R"({"a":"xy"})"},
      {R"({"a":"${open"})", R"({"a":"${open"})"},
      {R"({"a":5})", R"({"a":5})"},
      {"null", "{}"},
  };
  for (const auto& [input, expected] : cases) {
    const auto made = filled_in(*parse_json(input), facts);
    ASSERT_TRUE(made) << input;
    EXPECT_EQ(to_text(*made), expected);
  }
}

TEST(HookInput, WhatReferencesAddIsBounded) {
  const Json facts{{"big", std::string(1 << 20, 'x')}};
  std::string text;
  for (int i = 0; i < 40; ++i) text += "${big} ";
  const auto made = filled_in(Json{{"a", text}}, facts);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), Errc::limit);
}

TEST(HookInput, HeadersKnowAllowedVariablesAlone) {
  const std::vector<std::string> allowed{"TOKEN", "UNSET"};
  const VariableLookup variables = [](std::string_view name) -> std::optional<std::string> {
    if (name == "TOKEN") return "t";
    if (name == "SECRET") return "s";
    return std::nullopt;
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {"Bearer $TOKEN", "Bearer t"},
      {"Bearer ${TOKEN}!", "Bearer t!"},
      {"$SECRET", ""},
      {"a$UNSET", "a"},
      {"5$", "5$"},
      {"$$TOKEN", "$t"},
      {"${TOKEN", "${TOKEN"},
      {"plain", "plain"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(filled_in_header(text, allowed, variables), expected) << text;
}

}  // namespace
}  // namespace patchbay
