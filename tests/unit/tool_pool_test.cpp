// One list of tools for a request: sorted, unique, the same bytes for the same input. Rows of docs/requirements.md:
// W2, W5, N3.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/model_view.h>

#include "catalog/model_tool.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Tool tool(std::string name, std::string description = "Does it") {
  Tool out;
  out.name = std::move(name);
  out.description = std::move(description);
  return out;
}

ServerTools server(std::string name, std::vector<Tool> tools, NamePrefix prefix = NamePrefix::server) {
  ServerTools out{std::move(name), {}, prefix};
  for (auto& one : tools) out.tools.push_back(std::make_shared<const Tool>(std::move(one)));
  return out;
}

std::vector<std::string> names_of(const ToolPool& pool) {
  std::vector<std::string> out;
  for (const auto& one : pool.tools) out.push_back(one.name);
  return out;
}

TEST(ToolPool, OwnToolsComeFirstAndBothPartsAreSorted) {
  const std::vector own{tool("write"), tool("bash")};
  const Catalog catalog(std::vector{server("z", {tool("a")}), server("a", {tool("z"), tool("b")})});
  const auto pool = make_tool_pool(own, catalog, {}, ModelApi::anthropic);
  EXPECT_THAT(names_of(pool), ElementsAre("bash", "write", "mcp__a__b", "mcp__a__z", "mcp__z__a"));
  EXPECT_EQ(pool.own, 2u);
  EXPECT_THAT(pool.left_out, IsEmpty());
  EXPECT_EQ(pool.find("bash")->catalog_name, "");
  EXPECT_EQ(pool.find("mcp__z__a")->catalog_name, "mcp__z__a");
  EXPECT_EQ(pool.find("z"), nullptr);
}

TEST(ToolPool, ANameIsGivenOnceAndOwnToolsKeepTheirs) {
  const std::vector own{tool("bash", "first"), tool("bash", "second"), tool("not a name"), tool("")};
  const Catalog catalog(std::vector{server("mine", {tool("bash"), tool("zsh")}, NamePrefix::none)});
  const auto pool = make_tool_pool(own, catalog, {}, ModelApi::anthropic);
  EXPECT_THAT(names_of(pool), ElementsAre("bash", "zsh"));
  EXPECT_EQ(pool.tools[0].description, "first");
  EXPECT_THAT(pool.left_out,
              testing::UnorderedElementsAre(
                  ToolLeftOut{"", "its name is not 1 to 64 of the characters a-z A-Z 0-9 _ -"},
                  ToolLeftOut{"bash", "the program has another tool of this name"},
                  ToolLeftOut{"bash", "the program has a tool of this name"},
                  ToolLeftOut{"not a name", "its name is not 1 to 64 of the characters a-z A-Z 0-9 _ -"}));
}

// W3: one tool that an API cannot have is left out alone.
TEST(ToolPool, WhatAnApiCannotHaveIsLeftOutAloneWithItsReason) {
  auto bad = tool("bad");
  bad.input_schema = Json{{"type", "string"}};
  auto app = tool("app");
  app.meta = Json{{"ui", Json{{"visibility", Json::array({"app"})}}}};
  const Catalog catalog(std::vector{server("s", {tool("good"), bad, app})});
  const auto pool = make_tool_pool({}, catalog, {}, ModelApi::openai_chat);
  EXPECT_THAT(names_of(pool), ElementsAre("mcp__s__good"));
  EXPECT_THAT(pool.left_out,
              ElementsAre(ToolLeftOut{"mcp__s__app", "its server made it for its user interface and not for models"},
                          ToolLeftOut{"mcp__s__bad", "its schema accepts no object"}));
}

// W5, N3
TEST(ToolPool, TheSameInputGivesTheSameBytesWhateverCameFirst) {
  const std::vector own{tool("write"), tool("bash")};
  const std::vector other_own{own[1], own[0]};
  const Catalog catalog(std::vector{server("z", {tool("a")}), server("a", {tool("z"), tool("b")})});
  const Catalog other(std::vector{server("a", {tool("b"), tool("z")}), server("z", {tool("a")})});
  const std::vector<ServerInstructions> said{{"z", "Use z"}, {"a", "Use a"}};
  const std::vector<ServerInstructions> other_said{said[1], said[0]};
  for (auto api :
       {ModelApi::anthropic, ModelApi::openai_chat, ModelApi::openai_responses, ModelApi::gemini, ModelApi::local}) {
    const auto pool = make_tool_pool(own, catalog, said, api);
    const auto again = make_tool_pool(other_own, other, other_said, api);
    EXPECT_EQ(pool, again);
    EXPECT_EQ(to_text(to_json(pool, api)), to_text(to_json(again, api)));
  }
}

TEST(ToolPool, EachApiSpellsAToolItsOwnWay) {
  const Catalog catalog(std::vector{server("s", {tool("t")})});
  const std::vector own{tool("a"), tool("b")};
  const auto text = [&](ModelApi api) { return to_text(to_json(make_tool_pool({}, catalog, {}, api), api)); };
  EXPECT_EQ(text(ModelApi::anthropic),
            R"([{"name":"mcp__s__t","description":"Does it","input_schema":{"type":"object"}}])");
  EXPECT_EQ(text(ModelApi::openai_chat),
            R"([{"type":"function","function":{"name":"mcp__s__t","description":"Does it",)"
            R"("parameters":{"type":"object","properties":{}},"strict":false}}])");
  EXPECT_EQ(text(ModelApi::openai_responses), R"([{"type":"function","name":"mcp__s__t","description":"Does it",)"
                                              R"("parameters":{"type":"object","properties":{}},"strict":false}])");
  EXPECT_EQ(text(ModelApi::gemini),
            R"([{"name":"mcp__s__t","description":"Does it","parametersJsonSchema":{"type":"object"}}])");
  EXPECT_EQ(text(ModelApi::local), R"([{"type":"function","function":{"name":"mcp__s__t","description":"Does it",)"
                                   R"("parameters":{"type":"object"}}}])");
  // W5: the cache breakpoint is after the last of the program's own tools.
  EXPECT_EQ(
      to_text(to_json(make_tool_pool(own, catalog, {}, ModelApi::anthropic), ModelApi::anthropic)),
      R"([{"name":"a","description":"Does it","input_schema":{"type":"object"}},)"
      R"({"name":"b","description":"Does it","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}},)"
      R"({"name":"mcp__s__t","description":"Does it","input_schema":{"type":"object"}}])");
}

// W2, W7
TEST(ToolPool, InstructionsAreCleanedCutAndSorted) {
  const std::vector<ServerInstructions> said{
      {"z", std::string(3000, 'x')}, {"b", " \u200b\n"}, {"a\u202e", "Use\u200b it"}};
  const auto pool = make_tool_pool({}, Catalog(), said, ModelApi::anthropic);
  ASSERT_EQ(pool.instructions.size(), 2u);
  EXPECT_EQ(pool.instructions[0], (ServerInstructions{"a", "Use it"}));
  EXPECT_EQ(characters_in(pool.instructions[1].text), longest_model_text);
}

// Local servers make one grammar of all tools and refuse everything when it is too large.
TEST(ToolPool, SchemasThatAreTooLargeTogetherForAGrammarAreOpened) {
  std::vector<Tool> tools;
  for (int i = 0; i < 30; ++i) {
    auto large = tool("t" + std::to_string(100 + i));
    large.input_schema["title"] = std::string(4'000, 'x');
    tools.push_back(std::move(large));
  }
  const Catalog catalog(std::vector{server("s", tools)});
  const auto pool = make_tool_pool({}, catalog, {}, ModelApi::local);
  EXPECT_EQ(pool.tools.size(), 30u);
  std::size_t bytes = 0;
  for (const auto& one : pool.tools) bytes += to_text(*one.input_schema).size();
  EXPECT_LT(bytes, 90'000u);
  EXPECT_THAT(pool.tools.front().changes, IsEmpty());
  EXPECT_THAT(pool.tools.back().changes,
              ElementsAre("all schemas together are too large for a grammar: any object is accepted"));
  EXPECT_THAT(make_tool_pool({}, catalog, {}, ModelApi::anthropic).tools.back().changes, IsEmpty());
}

}  // namespace
}  // namespace patchbay
