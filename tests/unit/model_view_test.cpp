// What each model API is given of one tool. Rows of docs/requirements.md: W1, W2, W3, W4, W7.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/model_view.h>

#include "catalog/model_tool.h"

namespace patchbay {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr auto all_apis = {ModelApi::anthropic, ModelApi::openai_chat, ModelApi::openai_responses, ModelApi::gemini,
                           ModelApi::local};

Json parsed(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value) << text;
  return value ? std::move(*value) : Json();
}

CatalogEntry entry(Tool tool, std::string name = "mcp__files__read") {
  if (tool.name.empty()) tool.name = "read";
  return {std::move(name), "files", std::make_shared<const Tool>(std::move(tool)), NamePrefix::server};
}

CatalogEntry with_schema(std::string_view schema) {
  Tool tool;
  tool.description = "Reads";
  tool.input_schema = parsed(schema);
  return entry(std::move(tool));
}

std::string schema_for(ModelApi api, std::string_view schema) {
  auto view = view_tool(with_schema(schema), api);
  return view ? to_text(*view->input_schema) : std::string("refused: ") + std::string(view.error().message());
}

// W3: the server's own value, not a copy of it.
TEST(ModelView, ASchemaThatAnApiAcceptsGoesThroughAsSent) {
  const auto plain = with_schema(
      R"({"type":"object","properties":{"path":{"type":"string","enum":["a b","\u200b"],"default":"\u200b"},)"
      R"("n":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["path"],"additionalProperties":false})");
  for (auto api : all_apis) {
    const auto view = view_tool(plain, api);
    ASSERT_TRUE(view);
    EXPECT_EQ(view->input_schema.get(), &plain.tool->input_schema) << to_string(api);
    EXPECT_THAT(view->changes, IsEmpty()) << to_string(api);
    EXPECT_EQ(view->name, "mcp__files__read");
    EXPECT_EQ(view->catalog_name, "mcp__files__read");
  }
}

// W3, compat: B7.11
TEST(ModelView, OnlyWhatAnApiRefusesIsChanged) {
  using enum ModelApi;
  struct Case {
    std::string_view why;
    std::vector<ModelApi> apis;
    std::string_view sent, expected;
  };
  const std::string key65(65, 'k');
  const std::string long_key = R"({"type":"object","properties":{")" + key65 + R"(":{}}})";
  for (
      const auto& [why, apis, sent, expected] : std::vector<Case>{
          {"no schema at all", {anthropic, gemini, local}, R"({"type":"object"})", R"({"type":"object"})"},
          {"OpenAI wants properties",
           {openai_chat, openai_responses},
           R"({"type":"object"})",
           R"({"type":"object","properties":{}})"},
          {"OpenAI wants items",
           {openai_chat, openai_responses},
           R"({"type":"object","properties":{"a":{"type":"array"}}})",
           R"({"type":"object","properties":{"a":{"type":"array","items":{}}}})"},
          {"others do not",
           {anthropic, gemini, local},
           R"({"type":"object","properties":{"a":{"type":"array"}}})",
           R"({"type":"object","properties":{"a":{"type":"array"}}})"},
          {"anything is accepted", {anthropic}, "true", R"({"type":"object"})"},
          {"nothing is said", {anthropic, gemini}, "null", R"({"type":"object"})"},
          {"the root does not say that it is an object",
           {anthropic, openai_chat, gemini, local},
           R"({"properties":{"a":{}}})",
           R"({"type":"object","properties":{"a":{}}})"},
          {"an object or nothing",
           {anthropic, gemini},
           R"({"type":["object","null"],"properties":{}})",
           R"({"type":"object","properties":{}})"},
          {"a text",
           {anthropic, openai_chat, gemini, local},
           R"({"type":"string"})",
           "refused: its schema accepts no object"},
          {"nothing", {anthropic}, "false", "refused: its schema accepts no object"},
          // Combined roots.
          {"anyOf of required names",
           {anthropic, openai_chat, openai_responses},
           R"({"type":"object","properties":{"project":{"type":"string"},"paths":{},"scopes":{}},"required":["project"],)"
           R"("anyOf":[{"required":["paths"]},{"required":["scopes"]}]})",
           R"({"type":"object","properties":{"project":{"type":"string"},"paths":{},"scopes":{}},"required":["project"]})"},
          {"others take it",
           {gemini, local},
           R"({"type":"object","anyOf":[{"required":["a"]}]})",
           R"({"type":"object","anyOf":[{"required":["a"]}]})"},
          {"oneOf of whole objects",
           {anthropic},
           R"({"oneOf":[{"type":"object","properties":{"id":{"const":1},"a":{"type":"string"}},"required":["id","a"]},)"
           R"({"type":"object","properties":{"id":{"const":2},"b":{"pattern":"^x$"}},"required":["id"]}]})",
           R"({"type":"object","properties":{"id":{"anyOf":[{"const":1},{"const":2}]},"a":{"type":"string"},)"
           R"("b":{"pattern":"^x$"}},"required":["id"]})"},
          {"allOf keeps what is required",
           {anthropic},
           R"({"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},)"
           R"({"properties":{"a":{"enum":["x"]},"b":{}},"required":["b"]}]})",
           R"({"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"enum":["x"]}]},"b":{}},"required":["a","b"]})"},
          {"definitions stay",
           {anthropic},
           R"({"$defs":{"P":{"properties":{"a":{"$ref":"#/$defs/T"}},"required":["a"]},"T":{"type":"string"}},)"
           R"("allOf":[{"$ref":"#/$defs/P"}]})",
           R"({"type":"object","$defs":{"P":{"properties":{"a":{"$ref":"#/$defs/T"}},"required":["a"]},"T":{"type":"string"}},)"
           R"("properties":{"a":{"$ref":"#/$defs/T"}},"required":["a"]})"},
          {"a root that is elsewhere in the schema",
           {anthropic, openai_chat, local},
           R"({"$ref":"#/definitions/A","definitions":{"A":{"type":"object","properties":{"x":{}}}}})",
           R"({"type":"object","definitions":{"A":{"type":"object","properties":{"x":{}}}},"properties":{"x":{}}})"},
          {"a choice that is not an object is not a choice",
           {anthropic},
           R"({"anyOf":[{"type":"null"},{"type":"object","properties":{"a":{}}}]})",
           R"({"type":"object","properties":{"a":{}}})"},
          {"no choice is an object",
           {anthropic, openai_chat},
           R"({"anyOf":[{"type":"null"},{"type":"string"}]})",
           "refused: its schema does not accept an object"},
          {"all of it and nothing", {anthropic}, R"({"allOf":[false]})", "refused: its schema accepts nothing"},
          {"enum and not at the root",
           {openai_chat},
           R"({"type":"object","properties":{"a":{"enum":[1],"not":{}}},"enum":[{}],"not":{}})",
           R"({"type":"object","properties":{"a":{"enum":[1],"not":{}}}})"},
          {"they may stay elsewhere",
           {anthropic},
           R"({"type":"object","not":{"required":["a"]}})",
           R"({"type":"object","not":{"required":["a"]}})"},
          // Names of properties.
          {"a key with a blank",
           {anthropic},
           R"({"type":"object","properties":{"a b":{}},"required":["a b"]})",
           R"({"type":"object"})"},
          {"a key that is too long", {anthropic}, long_key, R"({"type":"object"})"},
          {"an odd key further inside",
           {anthropic},
           R"({"type":"object","properties":{"in":{"type":"object","properties":{"$x":{"type":"string"}}},"ok":{}}})",
           R"({"type":"object","properties":{"in":{"type":"object","description":"JSON Schema: )"
           R"({\"type\":\"object\",\"properties\":{\"$x\":{\"type\":\"string\"}}}"},"ok":{}}})"},
          {"others take any key",
           {openai_chat, gemini, local},
           R"({"type":"object","properties":{"a b":{}}})",
           R"({"type":"object","properties":{"a b":{}}})"},
          // References.
          {"references are replaced",
           {gemini},
           R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"object",)"
           R"("properties":{"a":{"$ref":"#/definitions/A~1B","description":"mine"}},"definitions":{"A/B":{"type":"string","description":"x"}}})",
           R"({"type":"object","properties":{"a":{"type":"string","description":"mine"}}})"},
          {"what leads to itself ends",
           {gemini},
           R"({"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},)"
           R"("$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}}}}})",
           R"({"type":"object","properties":{"n":{"type":"object","properties":{"next":{}}}}})"},
          {"what leads nowhere",
           {gemini},
           R"({"type":"object","properties":{"n":{"$ref":"#/$defs/N","title":"t"}}})",
           R"({"type":"object","properties":{"n":{"title":"t"}}})"},
          {"a grammar cannot fetch",
           {local},
           R"({"type":"object","properties":{"n":{"$ref":"https://x.example/s"}}})",
           R"({"type":"object","properties":{"n":{}}})"},
          {"references stay for others",
           {anthropic, openai_chat, local},
           R"({"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"string"}}})",
           R"({"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"string"}}})"},
          // Grammars.
          {"patterns, formats and large bounds are for people",
           {local},
           R"~({"type":"object","properties":{"s":{"type":"string","pattern":"^(?=a)","maxLength":10000,"minLength":1},)~"
           R"~("pattern":{"type":"string","format":"date","description":"When"}}})~",
           R"~({"type":"object","properties":{"s":{"type":"string","minLength":1,)~"
           R"~("description":"(pattern: ^(?=a)) (maxLength: 10000)"},)~"
           R"~("pattern":{"type":"string","description":"When (format: date)"}}})~"},
          {"others take patterns",
           {anthropic, openai_chat, gemini},
           R"~({"type":"object","properties":{"s":{"pattern":"^(?=a)","maxLength":10000}}})~",
           R"~({"type":"object","properties":{"s":{"pattern":"^(?=a)","maxLength":10000}}})~"},
          // W7: texts for a model are cleaned wherever they are, data is not.
          {"descriptions inside are cleaned",
           {anthropic, openai_chat, gemini, local},
           "{\"type\":\"object\",\"properties\":{\"description\":{\"description\":\"a\\u200bb\",\"const\":"
           "\"a\\u200bb\"}}}",
           "{\"type\":\"object\",\"properties\":{\"description\":{\"description\":\"ab\",\"const\":\"a\u200bb\"}}}"},
      }) {
    for (auto api : apis) EXPECT_EQ(schema_for(api, sent), expected) << why << ", " << to_string(api);
  }
}

// W3: whoever looks why a tool is not as its server sent it finds the reason with the tool.
TEST(ModelView, EveryChangeIsSaidOnce) {
  const auto view = view_tool(
      with_schema(R"({"type":"object","properties":{"a":{"pattern":"x"},"b":{"pattern":"y"}}})"), ModelApi::local);
  EXPECT_THAT(view->changes, ElementsAre("pattern is in the description: a grammar cannot hold it"));
}

// W3: a server cannot make a view grow without limit by references to references.
TEST(ModelView, ReferencesThatMultiplyAreGivenUp) {
  std::string schema = R"({"type":"object","properties":{"a":{"$ref":"#/$defs/l20"}},"$defs":{"l0":{"type":"string"})";
  for (int i = 1; i <= 20; ++i) {
    const auto below = std::to_string(i - 1);
    schema += ",\"l" + std::to_string(i) + R"(":{"properties":{"x":{"$ref":"#/$defs/l)" + below +
              R"("},"y":{"$ref":"#/$defs/l)" + below + "\"}}}";
  }
  schema += "}}";
  const auto view = view_tool(with_schema(schema), ModelApi::gemini);
  ASSERT_TRUE(view);
  EXPECT_EQ(to_text(*view->input_schema), R"({"type":"object"})");
  EXPECT_THAT(view->description, HasSubstr("JSON Schema of the arguments: {"));
}

TEST(ModelView, ARootThatIsCombinedOfItselfIsGivenUp) {
  const auto view =
      view_tool(with_schema(R"({"allOf":[{"$ref":"#"},{"$ref":"#"}],"properties":{"a":{}}})"), ModelApi::anthropic);
  ASSERT_TRUE(view);
  EXPECT_EQ(to_text(*view->input_schema), R"({"type":"object"})");
  EXPECT_THAT(view->description, HasSubstr("JSON Schema of the arguments: {\"allOf\""));
}

// compat: B7.11
TEST(ModelView, ASentenceBeforeTheDescriptionNamesTheGroups) {
  struct Case {
    std::string_view schema, description;
  };
  for (
      const auto& [schema, description] : std::vector<Case>{
          {R"({"type":"object","required":["project"],"anyOf":[{"required":["paths","project"]},{"required":["scopes"]}]})",
           "Pass at least one of these groups of arguments: `paths`; or `scopes`.\n\nReads"},
          {R"({"oneOf":[{"required":["a","b"]},{"required":["c"]},{}]})",
           "Pass exactly one of these groups of arguments: `a` with `b`; or `c`; or no others.\n\nReads"},
          {R"({"oneOf":[{"required":["a"]},{"required":["a"]}]})", "Reads"},
          {R"({"allOf":[{"required":["a"]},{"anyOf":[{"required":["b"]},{"required":["c"]}]}]})",
           "Pass at least one of these groups of arguments: `b`; or `c`.\n\nReads"},
          {"{\"oneOf\":[{\"required\":[\"a\\u202eb\"]},{\"required\":[\"c\"]}]}",
           "Pass exactly one of these groups of arguments: `ab`; or `c`.\n\nReads"},
      }) {
    const auto view = view_tool(with_schema(schema), ModelApi::anthropic);
    ASSERT_TRUE(view) << schema;
    EXPECT_EQ(view->description, description) << schema;
  }
}

// W2, W4, W7
TEST(ModelView, DescriptionsAreCleanedAndNeverEmptyAndHintsAreNamedOnlyIfSent) {
  const auto hints = [](std::optional<bool> read_only, std::optional<bool> destructive) {
    ToolAnnotations out;
    out.read_only_hint = read_only;
    out.destructive_hint = destructive;
    return out;
  };
  struct Case {
    std::optional<std::string> description;
    std::optional<ToolAnnotations> annotations;
    std::string expected;
  };
  for (const auto& [description, annotations, expected] : std::vector<Case>{
           {"Reads a file", {}, "Reads a file"},
           {" Reads\r\nlines\x1b[31m ", {}, "Reads\nlines"},
           {"a\u200b\u202eb\U000E0041", {}, "ab"},
           {std::nullopt, {}, "MCP tool read from files"},
           {"", {}, "MCP tool read from files"},
           {" \n\u200b", {}, "MCP tool read from files"},
           {"x", hints({}, {}), "x"},
           {"x", hints(true, {}), "x (readOnly)"},
           {"x", hints(false, true), "x (destructive)"},
           {"x", hints(false, false), "x"},
           {"x", hints(true, true), "x (readOnly) (destructive)"},
           {std::nullopt, hints(true, {}), "MCP tool read from files (readOnly)"},
       }) {
    Tool tool;
    tool.description = description;
    tool.annotations = annotations;
    EXPECT_EQ(view_tool(entry(tool), ModelApi::anthropic)->description, expected);
  }
}

TEST(ModelView, DescriptionsHaveAtMost2048CharactersWithTheMarker) {
  const auto described = [](std::string description, bool destructive) {
    Tool tool;
    tool.description = std::move(description);
    if (destructive) tool.annotations.emplace().destructive_hint = true;
    return view_tool(entry(std::move(tool)), ModelApi::anthropic)->description;
  };
  EXPECT_EQ(described(std::string(2048, 'x'), false), std::string(2048, 'x'));
  const auto cut = described(std::string(2049, 'x'), false);
  EXPECT_EQ(characters_in(cut), 2048u);
  EXPECT_THAT(cut, EndsWith("xx … [cut]"));
  // Characters and not bytes; none is cut in two.
  std::string umlauts, families;
  for (int i = 0; i < 2048; ++i) umlauts += "\u00e4";
  EXPECT_EQ(described(umlauts, false), umlauts);
  EXPECT_EQ(characters_in(described(umlauts + "\u00e4", false)), 2048u);
  // The hint is the last that is given up.
  const auto hinted = described(std::string(2048, 'x'), true);
  EXPECT_EQ(characters_in(hinted), 2048u);
  EXPECT_THAT(hinted, EndsWith(" … [cut] (destructive)"));
  // Where a joined emoji is cut, no joiner is left at the end.
  for (int i = 0; i < 700; ++i) families += "\U0001F468\u200D\U0001F469";
  const auto joined = described("x" + families, false);
  EXPECT_LE(characters_in(joined), 2048u);
  EXPECT_THAT(joined, Not(HasSubstr("\u200D …")));
}

// W3: an odd key costs the schema and not the tool; the model can still read it.
TEST(ModelView, ASchemaThatCannotBeSentIsInTheDescription) {
  auto odd = with_schema(R"({"type":"object","properties":{"a b":{"type":"string"}}})");
  EXPECT_EQ(
      view_tool(odd, ModelApi::anthropic)->description,
      "Reads\n\nJSON Schema of the arguments: {\"type\":\"object\",\"properties\":{\"a b\":{\"type\":\"string\"}}}");
  Tool large = *odd.tool;
  large.description = std::string(3000, 'd');
  large.input_schema["properties"]["a b"]["title"] = std::string(3000, 's');
  const auto view = view_tool(entry(large), ModelApi::anthropic);
  EXPECT_LE(characters_in(view->description), longest_model_text);
  EXPECT_THAT(view->description, StartsWith("ddd"));
  EXPECT_THAT(view->description, HasSubstr("[cut]\n\nJSON Schema of the arguments: {"));
  EXPECT_THAT(view->description, EndsWith("sss … [cut]"));
}

TEST(ModelView, AnApiThatWantsALetterFirstGetsAnotherName) {
  const CatalogEntry digit = entry({}, "3d_render");
  EXPECT_EQ(view_tool(digit, ModelApi::openai_chat)->name, "3d_render");
  const auto view = view_tool(digit, ModelApi::gemini);
  EXPECT_THAT(view->name, StartsWith("_3d_render_"));
  EXPECT_EQ(view->catalog_name, "3d_render");
  EXPECT_EQ(view->changes.size(), 1u);
  EXPECT_EQ(view_tool(digit, ModelApi::gemini)->name, view->name);
  EXPECT_EQ(view_tool(entry({}, std::string(64, '7')), ModelApi::gemini)->name.size(), 64u);
}

// MCP Apps: _meta.ui.visibility is a list of "model" and "app", both when it is absent.
TEST(ModelView, WhatAServerMadeForItsUserInterfaceIsNotForModels) {
  struct Case {
    std::string_view meta;
    bool for_model;
  };
  for (const auto& [meta, for_model] : std::vector<Case>{
           {"null", true},
           {"{}", true},
           {R"({"ui":{"resourceUri":"ui://x"}})", true},
           {R"({"ui":{"visibility":["model","app"]}})", true},
           {R"({"ui":{"visibility":["model"]}})", true},
           {R"({"ui":{"visibility":["app"]}})", false},
           {R"({"ui":{"visibility":[]}})", false},
           {R"({"ui":{"visibility":"app"}})", true},
           {R"({"ui":"app"})", true},
       }) {
    Tool tool;
    tool.meta = parsed(meta);
    EXPECT_EQ(is_for_model(tool), for_model) << meta;
    const auto view = view_tool(entry(tool), ModelApi::anthropic);
    EXPECT_EQ(view.has_value(), for_model) << meta;
    if (!view) EXPECT_EQ(view.error().message(), "its server made it for its user interface and not for models");
  }
}

}  // namespace
}  // namespace patchbay
