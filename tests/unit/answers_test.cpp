#include "client/answers.h"

#include <gtest/gtest.h>

#include "client/session_owner.h"
#include "protocol/codec.h"

namespace patchbay {
namespace {

Json json(std::string_view text) { return *parse_json(text); }

TEST(Answers, FieldsLeftUntouchedCarryTheirDefault) {
  struct Row {
    std::string name;
    std::string schema;
    std::string content;
    std::string expected;
  };
  const std::string all = R"({"type":"object","properties":{
    "s":{"type":"string","default":"x"},"i":{"type":"integer","default":3},"n":{"type":"number","default":1.5},
    "b":{"type":"boolean","default":false},"e":{"type":"string","enum":["a","b"],"default":"b"},
    "m":{"type":"array","items":{"type":"string","enum":["a","b"]},"default":["a","b"]},
    "none":{"type":"string"}}})";
  for (const auto& row : std::vector<Row>{
           {"every kind", all, "{}", R"({"s":"x","i":3,"n":1.5,"b":false,"e":"b","m":["a","b"]})"},
           {"what was given stays", all, R"({"i":7,"s":""})",
            R"({"i":7,"s":"","n":1.5,"b":false,"e":"b","m":["a","b"]})"},
           {"null was given", R"({"properties":{"s":{"default":"x"}}})", R"({"s":null})", R"({"s":null})"},
           {"a default of null", R"({"properties":{"s":{"default":null}}})", "{}", R"({"s":null})"},
           {"fields beyond the schema stay", R"({"properties":{}})", R"({"z":1})", R"({"z":1})"},
           {"no properties", R"({"type":"object"})", R"({"z":1})", R"({"z":1})"},
           {"no schema", "null", R"({"z":1})", R"({"z":1})"},
           {"a schema of another kind", R"({"properties":[1]})", "{}", "{}"},
           {"a property of another kind", R"({"properties":{"s":true}})", "{}", "{}"},
           {"content that is no object", R"({"properties":{"s":{"default":"x"}}})", "[]", R"({"s":"x"})"},
       }) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(with_defaults(json(row.schema), json(row.content)), json(row.expected));
  }
}

TEST(Answers, ACapabilityIsDeclaredWhenItsHandlerIsThere) {
  struct Row {
    std::string name;
    ClientOptions options;
    std::string declared;
  };
  ClientOptions form;
  form.elicit = [](ElicitRequest, CallContext) -> Task<ElicitResult> { co_return ElicitResult{}; };
  auto url = form;
  url.elicit_by_url = true;
  ClientOptions only_url_flag;
  only_url_flag.elicit_by_url = true;
  only_url_flag.sample_with_tools = true;
  ClientOptions sample;
  sample.sample = [](CreateMessageRequest, CallContext) -> Task<CreateMessageResult> {
    co_return CreateMessageResult{};
  };
  auto tools = sample;
  tools.sample_with_tools = true;
  ClientOptions roots;
  roots.roots = [](CallContext) -> Task<std::vector<Root>> { co_return std::vector<Root>{}; };
  for (const auto& row : std::vector<Row>{
           {"nothing", {}, "{}"},
           {"flags without handlers", only_url_flag, "{}"},
           {"forms", form, R"({"elicitation":{"form":{}}})"},
           {"forms and addresses", url, R"({"elicitation":{"form":{},"url":{}}})"},
           {"sampling", sample, R"({"sampling":{}})"},
           {"sampling with tools", tools, R"({"sampling":{"tools":{}}})"},
           {"roots", roots, R"({"roots":{"listChanged":true}})"},
       }) {
    SCOPED_TRACE(row.name);
    auto capabilities = capabilities_of(row.options);
    EXPECT_TRUE(capabilities.extensions.contains(std::string(tasks_extension)));
    // What can be answered can also be answered as a task. C11-16
    std::string requests;
    if (row.options.sample) requests = R"("sampling":{"createMessage":{}})";
    if (row.options.elicit) requests = R"("elicitation":{"create":{}})";
    EXPECT_EQ(capabilities.tasks ? to_text(*capabilities.tasks) : "",
              requests.empty() ? "" : R"({"list":{},"cancel":{},"requests":{)" + requests + "}}");
    capabilities.extensions.clear();
    capabilities.tasks.reset();
    EXPECT_EQ(encode(capabilities), json(row.declared));
  }
}

}  // namespace
}  // namespace patchbay
