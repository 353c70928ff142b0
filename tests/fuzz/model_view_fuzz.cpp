// Whatever schema and description a stranger's tool has, each model API gets an object schema and a clean description
// within its bounds, or the tool is left out with a reason; and the same again the second time.
// Input: the description up to the first newline, then the schema.
#include <patchbay/model_view.h>

#include "catalog/model_tool.h"
#include "fuzz/fuzz.h"
#include "text/clean_text.h"

using namespace patchbay;
using fuzz::require;

namespace {

void check(const CatalogEntry& entry, ModelApi api) {
  const auto view = view_tool(entry, api);
  if (!view) {
    require(view.error().code() == Errc::unsupported && !view.error().message().empty(), "left out without a reason");
    return;
  }
  require(!view->description.empty(), "an empty description");
  require(characters_in(view->description) <= longest_model_text, "a description that is too long");
  require(clean_for_display(view->description) == view->description, "a description that is not clean");
  const auto& schema = *view->input_schema;
  require(schema["type"].text() == "object", "a root that is not an object");
  const bool untouched = view->input_schema.get() == &entry.tool->input_schema;
  require(untouched == view->changes.empty(), "changed without a reason, or the other way round");
  if (api == ModelApi::anthropic || api == ModelApi::openai_chat) {
    require(!schema.find("anyOf") && !schema.find("oneOf") && !schema.find("allOf"), "a combined root");
  }
  if (api == ModelApi::openai_chat) require(schema["properties"].is_object(), "no properties");
  require(to_text(to_json(*view, api)) == to_text(to_json(*view_tool(entry, api), api)), "other bytes the second time");
}

}  // namespace

FUZZ_TARGET(model_view) {
  const auto end = input.find('\n');
  if (end == std::string_view::npos) return;
  auto schema = parse_json(input.substr(end + 1), {.max_depth = 64});
  if (!schema) return;
  auto tool = std::make_shared<Tool>();
  tool->name = "tool";
  tool->description = std::string(input.substr(0, end));
  tool->input_schema = std::move(*schema);
  const CatalogEntry entry{"mcp__server__tool", "server", tool, NamePrefix::server};
  for (auto api :
       {ModelApi::anthropic, ModelApi::openai_chat, ModelApi::openai_responses, ModelApi::gemini, ModelApi::local}) {
    check(entry, api);
  }
}
