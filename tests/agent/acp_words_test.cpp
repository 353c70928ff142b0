// The Agent Client Protocol as values: what an editor sends, and what it is shown. N10.
#include <gtest/gtest.h>

#include "acp/editor_words.h"
#include "acp/updates.h"

namespace patchbay::acp {
namespace {

Json json(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text;
  return value ? std::move(*value) : Json();
}

TEST(EditorWords, APromptIsATextWithImages) {
  const auto input = prompt_input(json(R"([{"type":"text","text":"look at "},
      {"type":"resource_link","name":"a.txt","uri":"file:///w/a.txt"},{"type":"text","text":", please"},
      {"type":"resource","resource":{"uri":"file:///w/b","text":"the notes"}},
      {"type":"resource","resource":{"uri":"file:///w/c","blob":"aGk="}},
      {"type":"image","data":"aGk=","mimeType":"image/png"}])"));
  ASSERT_TRUE(input);
  EXPECT_EQ(input->text,
            "look at [a.txt](file:///w/a.txt), please\n<resource uri=\"file:///w/b\">\nthe notes\n</resource>\n"
            "[file:///w/c: not a text]");
  ASSERT_EQ(input->images.size(), 1u);
  EXPECT_EQ(input->images[0].mime_type, "image/png");
}

// Editors render texts as Markdown: there a comment would not be seen, and a picture would be loaded.
TEST(EditorWords, WhatServersSayIsShownAsItIs) {
  EXPECT_EQ(verbatim("<!-- send it all --> ![](https://evil.example/x)"),
            "```text\n<!-- send it all --> ![](https://evil.example/x)\n```\n");
  EXPECT_EQ(verbatim("a\n"), "```text\na\n```\n");
  EXPECT_EQ(verbatim("``x``"), "```text\n``x``\n```\n");
  EXPECT_EQ(verbatim("a\n```\n![](https://evil.example)\n`````"),
            "``````text\na\n```\n![](https://evil.example)\n`````\n``````\n");
  EXPECT_EQ(verbatim(""), "```text\n\n```\n");
}

TEST(EditorWords, AFormSaysWhichServerAsksAndWhatAsItIs) {
  EXPECT_EQ(form_message("files", "Your name?"), "files: Your name?");
  EXPECT_EQ(form_message("files", "Your name?\nAs on the card:\n"), "files: Your name?\nAs on the card:\n");
  EXPECT_EQ(form_message("fi\nles", "of \xe2\x80\xaeno\r\x1b[2Jyes"), R"(fi\nles: of \u202eno\r\x1b[2Jyes)");
  EXPECT_EQ(form_message("files", ""), "files: ");
}

TEST(EditorWords, WhatWasNotOfferedIsRefused) {
  for (const auto* wrong : {R"({"type":"text"})", R"([{"type":"audio","data":"","mimeType":"audio/wav"}])", R"([3])"}) {
    const auto input = prompt_input(json(wrong));
    ASSERT_FALSE(input) << wrong;
    EXPECT_EQ(input.error().code(), Errc::invalid_argument);
  }
}

TEST(EditorWords, ServersBecomeEntries) {
  struct Named {
    const char* servers;
    const char* text;  // null: refused
  };
  const Named cases[] = {
      {"null", ""},
      {"[]", ""},
      {R"([{"name":"a","command":"run","args":["-x"],"env":[{"name":"K","value":"v"}]},
          {"type":"http","name":"b","url":"https://b/mcp","headers":[{"name":"X-Key","value":"1"}]},
          {"type":"sse","name":"c","url":"https://c/sse","headers":[]}])",
       R"({"mcpServers":{"a":{"type":"stdio","command":"run","args":["-x"],"env":{"K":"v"}},
           "b":{"type":"http","url":"https://b/mcp","headers":{"X-Key":"1"}},"c":{"type":"sse","url":"https://c/sse"}}})"},
      {R"([{"name":"a"}])", nullptr},
      {R"([{"command":"run"}])", nullptr},
      {R"([{"name":"a","command":"x"},{"name":"a","command":"y"}])", nullptr},
      {R"([{"type":"acp","name":"a","id":"1"}])", nullptr},
      {R"([{"name":"a","command":"x","env":[{"name":"K"}]}])", nullptr},
      {"3", nullptr},
  };
  for (const auto& c : cases) {
    const auto text = editor_servers(json(c.servers));
    ASSERT_EQ(text.has_value(), c.text != nullptr) << c.servers;
    if (text) EXPECT_EQ(*text, std::string_view(c.text).empty() ? "" : to_text(json(c.text)));
  }
}

TEST(EditorWords, AnAnswerIsAChoiceOrNone) {
  EXPECT_EQ(chosen_option(json(R"({"outcome":{"outcome":"selected","optionId":"once"}})")), "once");
  EXPECT_EQ(chosen_option(json(R"({"outcome":{"outcome":"cancelled"}})")), "");
  EXPECT_EQ(chosen_option(json(R"({"outcome":"selected","optionId":"once"})")), "");
  using Action = ElicitResult::Action;
  EXPECT_EQ(form_answer(json(R"({"action":"accept","content":{"name":"Ada"}})")).content, (Json{{"name", "Ada"}}));
  EXPECT_EQ(form_answer(json(R"({"action":"decline"})")).action, Action::decline);
  EXPECT_EQ(form_answer(json(R"({"action":"_other"})")).action, Action::cancel);
}

AgentEvent called(ModelToolUse use, std::string catalog_name = {}, bool only_reads = false) {
  return {"", AgentToolCall{
                  .call = 7, .use = std::move(use), .catalog_name = std::move(catalog_name), .only_reads = only_reads}};
}

TEST(AgentUpdates, CallsSayWhatTheyDo) {
  struct Shown {
    const char* name;
    const char* input;
    const char* catalog_name;
    bool only_reads;
    const char* title;
    const char* kind;
  };
  const Shown cases[] = {
      {"read_file", R"({"path":"a.txt"})", "read_file", true, "read_file a.txt", "read"},
      {"run_command", R"({"command":"ls"})", "run_command", false, "run_command ls", "execute"},
      {"grep", R"({"pattern":"x\ny"})", "grep", true, "grep x y", "search"},
      {"mcp__docs__find", "{}", "mcp__docs__find", true, "mcp__docs__find", "read"},
      {"mcp__docs__put", "{}", "mcp__docs__put", false, "mcp__docs__put", "other"},
      // Only our own tools are known by their names.
      {"edit_file", R"({"path":"/etc/passwd"})", "mcp__odd__edit_file", false, "edit_file", "other"},
  };
  for (const auto& c : cases) {
    const auto shown = shown_call({.name = c.name, .input = json(c.input)}, c.catalog_name, c.only_reads, "/work");
    EXPECT_EQ(shown.title, c.title);
    EXPECT_EQ(shown.kind, c.kind) << c.name;
  }
}

TEST(AgentUpdates, AnEditIsShownAsItsChangeUntilTheEnd) {
  Updates updates("/work", true);
  const auto begun = updates.of(
      called({.id = "t1", .name = "edit_file", .input = json(R"({"path":"a.txt","old_text":"x","new_text":"y"})")},
             "edit_file"));
  ASSERT_TRUE(begun);
  const auto diff = R"({"type":"diff","path":"/work/a.txt","oldText":"x","newText":"y"})";
  EXPECT_EQ(to_text(*begun), to_text(json(R"({"sessionUpdate":"tool_call","toolCallId":"t1","title":"edit_file a.txt",
      "name":"edit_file","kind":"edit","locations":[{"path":"/work/a.txt"}],
      "rawInput":{"path":"a.txt","old_text":"x","new_text":"y"},"status":"pending","content":[)" +
                                          std::string(diff) + "]}")));
  EXPECT_EQ(updates.id_of(7), "t1");
  EXPECT_EQ(to_text(updates.call(7)["content"]), to_text(json("[" + std::string(diff) + "]")));
  const auto half = updates.of({"", AgentToolProgress{"t1", {.progress = 1, .total = 2}}});
  EXPECT_EQ((*half)["status"], Json("in_progress"));
  EXPECT_EQ((*half)["content"].size(), 2u);
  const auto ended = updates.of({"", AgentToolResult{.id = "t1", .result = {.blocks = {ModelText{"Edited."}}}}});
  EXPECT_EQ(to_text(*ended), to_text(json(R"({"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed",
      "content":[)" + std::string(diff) + R"(,{"type":"content","content":{"type":"text","text":"Edited."}}]})")));
  EXPECT_EQ(to_text(updates.call(7)), R"({"toolCallId":"call_7"})");
}

TEST(AgentUpdates, WhatIsSaidComesInPieces) {
  Updates updates("/work", false);
  EXPECT_EQ(to_text(*updates.of({"", AgentText{"Hel"}})),
            R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Hel"}})");
  EXPECT_EQ(to_text(*updates.of({"", AgentThinking{"hm"}})),
            R"({"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}})");
  EXPECT_FALSE(updates.of({"a1", AgentText{"of a sub-agent"}}));
  EXPECT_FALSE(updates.of({"", AgentMessage{}}));
  // An editor without a place for notices shows them as a thought.
  EXPECT_EQ((*updates.of({"", AgentNotice{"late"}}))["sessionUpdate"], Json("agent_thought_chunk"));
  EXPECT_EQ(to_text(*Updates("/work", true).of({"", AgentNotice{"late"}})),
            R"({"sessionUpdate":"notice","severity":"info","title":"late"})");
  const auto sub = updates.of({"a1", AgentToolCall{.use = {.id = "t1", .name = "glob"}}});
  EXPECT_EQ((*sub)["toolCallId"], Json("a1:t1"));
  const auto failed = updates.of({"a1", AgentToolResult{.id = "t1", .end = AgentToolResult::End::denied}});
  EXPECT_EQ((*failed)["status"], Json("failed"));
}

TEST(AgentUpdates, AConversationIsShownAgain) {
  const auto message = [](Role role, std::vector<ModelPart> parts) {
    return std::make_shared<const ModelMessage>(ModelMessage{role, std::move(parts)});
  };
  const std::vector<std::shared_ptr<const ModelMessage>> messages{
      message(Role::user, {ModelText{"read it"}, ModelNews{.text = "a server came"}}),
      message(Role::assistant,
              {ModelText{"I look."}, ModelToolUse{.id = "t1", .name = "read_file", .input = {{"path", "a"}}}}),
      message(Role::user, {ModelToolOutcome{.id = "t1", .blocks = {ModelText{"x"}}, .is_error = true}})};
  std::vector<std::string> kinds;
  for (const auto& update : Updates::history(messages, "/work")) {
    kinds.emplace_back(std::string(update["sessionUpdate"].as_text()) + " " + to_text(update["status"]));
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"user_message_chunk null", "agent_message_chunk null",
                                             "tool_call \"pending\"", "tool_call_update \"failed\""}));
}

TEST(AgentUpdates, EveryEndHasAReason) {
  using End = AgentAnswer::End;
  EXPECT_EQ(stop_reason(End::answered), "end_turn");
  EXPECT_EQ(stop_reason(End::deferred), "end_turn");
  EXPECT_EQ(stop_reason(End::refused), "refusal");
  EXPECT_EQ(stop_reason(End::max_turns), "max_turn_requests");
  EXPECT_EQ(stop_reason(End::interrupted), "cancelled");
}

}  // namespace
}  // namespace patchbay::acp
