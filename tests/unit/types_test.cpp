// The model and its codec: what is read, what survives, and what is said about the rest.
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <patchbay/types.h>

#include "protocol/capabilities.h"
#include "protocol/codec.h"
#include "support/fails_with.h"

namespace patchbay {
namespace {

using test::FailsSaying;
using testing::ElementsAre;
using testing::IsEmpty;

Json json(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed) throw std::move(parsed).error();
  return *std::move(parsed);
}

template <class T>
T read(std::string_view text) {
  auto decoded = decode<T>(json(text));
  if (!decoded) throw std::move(decoded).error();
  return *std::move(decoded);
}

template <class T>
std::string error_of(std::string_view text, std::string_view path = {}) {
  auto decoded = decode<T>(json(text), path);
  if (decoded) return "(no error)";
  EXPECT_EQ(decoded.error().code(), Errc::protocol);
  return decoded.error().message();
}

// What is left over after reading, and what is written back.
struct Trip {
  Json extra;
  Json written;
};

template <class T>
Trip trip(Json value) {
  auto decoded = decode<T>(std::move(value));
  if (!decoded) throw std::move(decoded).error();
  return {decoded->extra, encode(*decoded)};
}

template <class T>
Trip block_trip(Json value) {
  auto decoded = decode<Content>(std::move(value));
  if (!decoded) throw std::move(decoded).error();
  return {std::get<T>(*decoded).extra, encode(*decoded)};
}

template <class T>
std::function<Trip(Json)> page_trip(std::string key) {
  return [key](Json value) -> Trip {
    auto page = decode_page<T>(std::move(value), key);
    if (!page) throw std::move(page).error();
    return {page->extra, encode_page(*page, key)};
  };
}

// Every property that any published revision gives a definition, the envelope of results
// (which the wires add and remove) and tasks left out, with an example that has them all.
struct Definition {
  std::string name;
  std::set<std::string> properties;
  std::string example;
  std::function<Trip(Json)> through;
};

const std::vector<Definition>& definitions() {
  static const std::vector<Definition> table{
      {"Annotations",
       {"audience", "lastModified", "priority"},
       R"({"audience":["user","assistant"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"})",
       trip<Annotations>},
      {"Icon",
       {"mimeType", "sizes", "src", "theme"},
       R"({"src":"https://example.com/i.png","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"})",
       trip<Icon>},
      {"Implementation",
       {"description", "icons", "name", "title", "version", "websiteUrl"},
       R"({"name":"weather","title":"Weather","version":"1.2.0","description":"Forecasts",
           "websiteUrl":"https://example.com","icons":[{"src":"data:image/png;base64,AA=="}]})",
       trip<Implementation>},
      {"TextContent",
       {"_meta", "annotations", "text", "type"},
       R"({"type":"text","text":"hello","annotations":{"priority":1},"_meta":{"a/b":1}})",
       block_trip<TextContent>},
      {"ImageContent",
       {"_meta", "annotations", "data", "mimeType", "type"},
       R"({"type":"image","data":"AAAA","mimeType":"image/png","annotations":{"audience":["user"]},"_meta":{"a/b":1}})",
       block_trip<ImageContent>},
      {"AudioContent",
       {"_meta", "annotations", "data", "mimeType", "type"},
       R"({"type":"audio","data":"AAAA","mimeType":"audio/wav","annotations":{"audience":["user"]},"_meta":{"a/b":1}})",
       block_trip<AudioContent>},
      {"ResourceLink",
       {"_meta", "annotations", "description", "icons", "mimeType", "name", "size", "title", "type", "uri"},
       R"({"type":"resource_link","uri":"file:///m.rs","name":"m.rs","title":"Main","description":"entry",
           "mimeType":"text/x-rust","size":817,"annotations":{"priority":0.9},
           "icons":[{"src":"https://example.com/i.png"}],"_meta":{"a/b":1}})",
       block_trip<ResourceLink>},
      {"EmbeddedResource",
       {"_meta", "annotations", "resource", "type"},
       R"({"type":"resource","resource":{"uri":"file:///m.rs","text":"fn main() {}"},
           "annotations":{"priority":0.9},"_meta":{"a/b":1}})",
       block_trip<EmbeddedResource>},
      {"ToolUseContent",
       {"_meta", "id", "input", "name", "type"},
       R"({"type":"tool_use","id":"call_1","name":"get_weather","input":{"city":"Paris"},"_meta":{"a/b":1}})",
       block_trip<ToolUse>},
      {"ToolResultContent",
       {"_meta", "content", "isError", "structuredContent", "toolUseId", "type"},
       R"({"type":"tool_result","toolUseId":"call_1","content":[{"type":"text","text":"18"}],
           "structuredContent":{"t":18},"isError":true,"_meta":{"a/b":1}})",
       block_trip<ToolResult>},
      {"TextResourceContents",
       {"_meta", "mimeType", "text", "uri"},
       R"({"uri":"file:///a.txt","mimeType":"text/plain","text":"a","_meta":{"a/b":1}})",
       trip<ResourceContents>},
      {"BlobResourceContents",
       {"_meta", "blob", "mimeType", "uri"},
       R"({"uri":"file:///a.bin","mimeType":"application/octet-stream","blob":"AAAA","_meta":{"a/b":1}})",
       trip<ResourceContents>},
      {"ToolAnnotations",
       {"destructiveHint", "idempotentHint", "openWorldHint", "readOnlyHint", "title"},
       R"({"title":"T","readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false})",
       trip<ToolAnnotations>},
      {"Tool",
       {"_meta", "annotations", "description", "execution", "icons", "inputSchema", "name", "outputSchema", "title"},
       R"({"name":"get_weather","title":"Weather","description":"Current weather",
           "inputSchema":{"type":"object","properties":{"location":{"type":"string"}},"required":["location"]},
           "outputSchema":{"type":"object","properties":{"t":{"type":"number"}}},
           "annotations":{"readOnlyHint":true},"icons":[{"src":"https://example.com/i.png"}],
           "execution":{"taskSupport":"optional"},"_meta":{"a/b":1}})",
       trip<Tool>},
      {"CallToolRequestParams",
       {"_meta", "arguments", "name"},
       R"({"name":"get_weather","arguments":{"location":"New York"},"_meta":{"progressToken":7}})",
       trip<CallToolRequest>},
      {"CallToolResult",
       {"_meta", "content", "isError", "structuredContent"},
       R"({"content":[{"type":"text","text":"{\"t\":22.5}"}],"structuredContent":{"t":22.5},"isError":true,
           "_meta":{"a/b":1}})",
       trip<CallToolResult>},
      {"Resource",
       {"_meta", "annotations", "description", "icons", "mimeType", "name", "size", "title", "uri"},
       R"({"uri":"file:///m.rs","name":"m.rs","title":"Main","description":"entry","mimeType":"text/x-rust",
           "size":817,"annotations":{"priority":1},"icons":[{"src":"https://example.com/i.png"}],"_meta":{"a/b":1}})",
       trip<Resource>},
      {"ResourceTemplate",
       {"_meta", "annotations", "description", "icons", "mimeType", "name", "title", "uriTemplate"},
       R"({"uriTemplate":"file:///{path}","name":"Files","title":"All files","description":"d",
           "mimeType":"application/octet-stream","annotations":{"priority":1},
           "icons":[{"src":"https://example.com/i.png"}],"_meta":{"a/b":1}})",
       trip<ResourceTemplate>},
      {"ReadResourceRequestParams",
       {"_meta", "uri"},
       R"({"uri":"file:///m.rs","_meta":{"progressToken":"p"}})",
       trip<ReadResourceRequest>},
      {"ReadResourceResult",
       {"_meta", "cacheScope", "contents", "ttlMs"},
       R"({"contents":[{"uri":"file:///m.rs","text":"x"}],"ttlMs":5000,"cacheScope":"private","_meta":{"a/b":1}})",
       trip<ReadResourceResult>},
      {"SubscribeRequestParams", {"_meta", "uri"}, R"({"uri":"file:///m.rs","_meta":{}})", trip<ResourceUri>},
      {"UnsubscribeRequestParams", {"_meta", "uri"}, R"({"uri":"file:///m.rs","_meta":{}})", trip<ResourceUri>},
      {"ResourceUpdatedNotificationParams",
       {"_meta", "uri"},
       R"({"uri":"file:///m.rs","_meta":{}})",
       trip<ResourceUri>},
      {"Prompt",
       {"_meta", "arguments", "description", "icons", "name", "title"},
       R"({"name":"code_review","title":"Review","description":"Asks for a review",
           "arguments":[{"name":"code","title":"Code","description":"The code","required":true}],
           "icons":[{"src":"https://example.com/i.png"}],"_meta":{"a/b":1}})",
       trip<Prompt>},
      {"PromptMessage",
       {"content", "role"},
       R"({"role":"user","content":{"type":"text","text":"Please review"}})",
       trip<PromptMessage>},
      {"GetPromptRequestParams",
       {"_meta", "arguments", "name"},
       R"({"name":"code_review","arguments":{"code":"def f(): pass"},"_meta":{}})",
       trip<GetPromptRequest>},
      {"GetPromptResult",
       {"_meta", "description", "messages"},
       R"({"description":"d","messages":[{"role":"assistant","content":{"type":"text","text":"x"}}],"_meta":{}})",
       trip<GetPromptResult>},
      {"PaginatedRequestParams", {"_meta", "cursor"}, R"({"cursor":"","_meta":{}})", trip<ListRequest>},
      {"PromptReference",
       {"name", "title", "type"},
       R"({"type":"ref/prompt","name":"code_review","title":"Review"})",
       trip<CompletionReference>},
      {"ResourceTemplateReference",
       {"type", "uri"},
       R"({"type":"ref/resource","uri":"file:///{path}"})",
       trip<CompletionReference>},
      {"CompleteRequestParams",
       {"_meta", "argument", "context", "ref"},
       R"({"ref":{"type":"ref/prompt","name":"code_review"},"argument":{"name":"framework","value":"fla"},
           "context":{"arguments":{"language":"python"}},"_meta":{}})",
       trip<CompleteRequest>},
      {"CompleteResult",
       {"_meta", "completion"},
       R"({"completion":{"values":["python","pytorch"],"total":10,"hasMore":true},"_meta":{}})",
       trip<CompleteResult>},
      {"SetLevelRequestParams", {"_meta", "level"}, R"({"level":"critical","_meta":{}})", trip<SetLevelRequest>},
      {"LoggingMessageNotificationParams",
       {"_meta", "data", "level", "logger"},
       R"({"level":"error","logger":"database","data":{"error":"failed"},"_meta":{}})",
       trip<LogMessage>},
      {"ProgressNotificationParams",
       {"_meta", "message", "progress", "progressToken", "total"},
       R"({"progressToken":"abc","progress":50.5,"total":100,"message":"Reticulating","_meta":{}})",
       trip<ProgressNotification>},
      {"CancelledNotificationParams",
       {"_meta", "reason", "requestId"},
       R"({"requestId":123,"reason":"user","_meta":{}})",
       trip<CancelledNotification>},
      {"Root", {"_meta", "name", "uri"}, R"({"uri":"file:///home/u","name":"Home","_meta":{}})", trip<Root>},
      {"ListRootsResult",
       {"_meta", "roots"},
       R"({"roots":[{"uri":"file:///home/u"}],"_meta":{}})",
       trip<ListRootsResult>},
      {"ElicitRequestFormParams",
       {"_meta", "message", "requestedSchema"},  // `mode` is "form" when it is absent
       R"({"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}},
           "_meta":{}})",
       trip<ElicitRequest>},
      {"ElicitRequestURLParams",
       {"_meta", "elicitationId", "message", "mode", "url"},
       R"({"mode":"url","message":"Sign in","url":"https://example.com/x","elicitationId":"e1","_meta":{}})",
       trip<ElicitRequest>},
      {"ElicitResult",
       {"_meta", "action", "content"},
       R"({"action":"accept","content":{"name":"octocat","tags":["a","b"],"n":3},"_meta":{}})",
       trip<ElicitResult>},
      {"ElicitationCompleteNotification.params",
       {"elicitationId"},
       R"({"elicitationId":"e1"})",
       trip<ElicitationComplete>},
      {"ModelPreferences",
       {"costPriority", "hints", "intelligencePriority", "speedPriority"},
       R"({"hints":[{"name":"claude-3-sonnet"},{}],"intelligencePriority":0.8,"speedPriority":0.5,"costPriority":0})",
       trip<ModelPreferences>},
      {"SamplingMessage",
       {"_meta", "content", "role"},
       R"({"role":"user","content":{"type":"text","text":"What is the capital of France?"},"_meta":{}})",
       trip<SamplingMessage>},
      {"CreateMessageRequestParams",
       {"_meta", "includeContext", "maxTokens", "messages", "metadata", "modelPreferences", "stopSequences",
        "systemPrompt", "temperature", "toolChoice", "tools"},
       R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}],
           "maxTokens":100,"modelPreferences":{"hints":[{"name":"m"}]},"systemPrompt":"s",
           "includeContext":"thisServer","temperature":0.1,"stopSequences":["\n"],"metadata":{"k":1},
           "tools":[{"name":"t","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"auto"},"_meta":{}})",
       trip<CreateMessageRequest>},
      {"CreateMessageResult",
       {"_meta", "content", "model", "role", "stopReason"},
       R"({"role":"assistant","content":{"type":"text","text":"Paris"},"model":"m-1","stopReason":"endTurn",
           "_meta":{}})",
       trip<CreateMessageResult>},
      {"ClientCapabilities",
       {"elicitation", "experimental", "extensions", "roots", "sampling", "tasks"},
       R"({"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}},
           "tasks":{"list":{},"cancel":{},"requests":{"elicitation":{"create":{}}}},
           "extensions":{"io.example/x":{"a":1}},"experimental":{"y":{}}})",
       trip<ClientCapabilities>},
      {"ServerCapabilities",
       {"completions", "experimental", "extensions", "logging", "prompts", "resources", "tasks", "tools"},
       R"({"logging":{},"completions":{},"prompts":{"listChanged":true},
           "resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},
           "tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}},
           "extensions":{"io.example/x":{}},"experimental":{"y":{"z":null}}})",
       trip<ServerCapabilities>},
      {"InitializeRequestParams",
       {"_meta", "capabilities", "clientInfo", "protocolVersion"},
       R"({"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"},
           "_meta":{}})",
       trip<InitializeRequest>},
      {"InitializeResult",
       {"_meta", "capabilities", "instructions", "protocolVersion", "serverInfo"},
       R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},
           "instructions":"Be kind","_meta":{}})",
       trip<InitializeResult>},
      {"SubscriptionFilter",
       {"promptsListChanged", "resourceSubscriptions", "resourcesListChanged", "toolsListChanged"},
       R"({"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,
           "resourceSubscriptions":["file:///a"]})",
       trip<SubscriptionFilter>},
      {"ListToolsResult",
       {"_meta", "cacheScope", "nextCursor", "tools", "ttlMs"},
       R"({"tools":[{"name":"t","inputSchema":{"type":"object"}}],"nextCursor":"","ttlMs":0,"cacheScope":"public",
           "_meta":{"a/b":1}})",
       page_trip<Tool>("tools")},
      {"ListResourcesResult",
       {"_meta", "cacheScope", "nextCursor", "resources", "ttlMs"},
       R"({"resources":[{"uri":"a:b","name":"b"}],"nextCursor":"n","ttlMs":1,"cacheScope":"private","_meta":{}})",
       page_trip<Resource>("resources")},
      {"ListResourceTemplatesResult",
       {"_meta", "cacheScope", "nextCursor", "resourceTemplates", "ttlMs"},
       R"({"resourceTemplates":[{"uriTemplate":"a:{b}","name":"b"}],"nextCursor":"n","ttlMs":1,
           "cacheScope":"private","_meta":{}})",
       page_trip<ResourceTemplate>("resourceTemplates")},
      {"ListPromptsResult",
       {"_meta", "cacheScope", "nextCursor", "prompts", "ttlMs"},
       R"({"prompts":[{"name":"p"}],"nextCursor":"n","ttlMs":1,"cacheScope":"private","_meta":{}})",
       page_trip<Prompt>("prompts")},
  };
  return table;
}

// N1
TEST(Types, EveryPropertyOfTheSchemas_IsKnownAndWrittenBack) {
  for (const Definition& definition : definitions()) {
    SCOPED_TRACE(definition.name);
    const Json example = json(definition.example);
    std::set<std::string> shown;
    for (const auto& [key, value] : example.as_object()) shown.emplace(key);
    EXPECT_EQ(shown, definition.properties);
    const Trip result = definition.through(example);
    EXPECT_EQ(to_text(result.extra), "null");
    EXPECT_EQ(result.written, example) << to_text(result.written);
  }
}

TEST(Types, MembersThisBuildDoesNotKnow_SurviveTheTrip) {
  for (const Definition& definition : definitions()) {
    SCOPED_TRACE(definition.name);
    Json example = json(definition.example);
    example["x-later"] = json(R"({"deep":[1,null,{"a":1.5}]})");
    example["xNull"] = nullptr;
    const Trip result = definition.through(example);
    EXPECT_EQ(to_text(result.extra), R"({"x-later":{"deep":[1,null,{"a":1.5}]},"xNull":null})");
    EXPECT_EQ(result.written, example) << to_text(result.written);
  }
}

TEST(Types, MembersInsideGroupedObjects_Survive) {
  const Json result = json(R"({"completion":{"values":[],"hasMore":false,"source":"cache"}})");
  EXPECT_EQ(trip<CompleteResult>(result).written, result);
  const Json request = json(
      R"({"ref":{"type":"ref/prompt","name":"p","x":1},"argument":{"name":"a","value":"b","y":2},"context":{"z":3}})");
  EXPECT_EQ(trip<CompleteRequest>(request).written, request);
}

TEST(Types, NullForAnOptionalMember_IsAbsence) {
  const auto tool = read<Tool>(R"({"name":"t","title":null,"description":null,"inputSchema":null,"outputSchema":null,
      "annotations":null,"icons":null,"execution":null,"_meta":null})");
  EXPECT_EQ(tool, Tool{.name = "t"});
  EXPECT_EQ(to_text(encode(tool)), R"({"name":"t","inputSchema":{"type":"object"}})");
}

// W3
TEST(Types, ToolWithoutASchema_GetsTheEmptyObjectSchema) {
  EXPECT_EQ(read<Tool>(R"({"name":"t"})").input_schema, json(R"({"type":"object"})"));
  EXPECT_EQ(read<Tool>(R"({"name":"t","inputSchema":null})").input_schema, json(R"({"type":"object"})"));
  EXPECT_EQ(error_of<Tool>(R"({"name":"t","inputSchema":"any"})"), "inputSchema: expected an object, found a string");
}

// W3
TEST(Types, Schemas_AreKeptExactlyAsSent) {
  const std::string schema =
      R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"z":{"const":null},)"
      R"("a":{"$ref":"#/$defs/q"}},"$defs":{"q":{"pattern":"^\\d+$","maximum":18446744073709551615}},"x-y":[]})";
  const auto tool = read<Tool>(R"({"name":"t","inputSchema":)" + schema + R"(,"outputSchema":)" + schema + "}");
  EXPECT_EQ(to_text(tool.input_schema), schema);
  EXPECT_EQ(to_text(*tool.output_schema), schema);
}

TEST(Types, OptionalMemberOfTheWrongType_IsKeptAsideAndDoesNotCostTheTool) {
  const std::string text =
      R"({"name":"t","inputSchema":{"type":"object"},"title":7,"annotations":{"readOnlyHint":"yes","title":"T"},)"
      R"("icons":[{"src":"https://a"},{"mimeType":"no src"}],"_meta":[1]})";
  const auto tool = read<Tool>(text);
  EXPECT_EQ(tool.title, std::nullopt);
  EXPECT_THAT(tool.icons, IsEmpty());
  EXPECT_TRUE(tool.meta.is_null());
  ASSERT_TRUE(tool.annotations);
  EXPECT_EQ(tool.annotations->read_only_hint, std::nullopt);
  EXPECT_EQ(tool.annotations->title, "T");
  EXPECT_EQ(encode(tool), json(text)) << to_text(encode(tool));
}

TEST(Types, MemberSetAfterReading_WinsOverTheOneKeptAside) {
  auto tool = read<Tool>(R"({"name":"t","title":7})");
  tool.title = "Seven";
  EXPECT_EQ(to_text(encode(tool)), R"({"name":"t","title":"Seven","inputSchema":{"type":"object"}})");
}

TEST(Types, Errors_NameThePathAndWhatWasFound) {
  EXPECT_EQ(error_of<Tool>("[]"), "expected an object, found an array");
  EXPECT_EQ(error_of<Tool>("{}"), "name: expected a string, found nothing");
  EXPECT_EQ(error_of<Tool>(R"({"name":null})", "tools[3]"), "tools[3].name: expected a string, found null");
  EXPECT_EQ(error_of<GetPromptResult>(R"({"messages":[{"role":"user","content":{}},{"role":"king","content":{}}]})"),
            "messages[1].role: expected one of user, assistant, found \"king\"");
  EXPECT_EQ(error_of<CompleteResult>(R"({"completion":{"values":["a",1]}})"),
            "completion.values[1]: expected a string, found an integer");
  EXPECT_EQ(error_of<CompleteResult>(R"({"completion":[]})"), "completion: expected an object, found an array");
  EXPECT_EQ(error_of<CallToolRequest>(R"({"name":"t","arguments":[1]})"),
            "arguments: expected an object, found an array");
  EXPECT_EQ(error_of<GetPromptRequest>(R"({"name":"p","arguments":{"a":{}}})"),
            "arguments.a: expected a string, found an object");
  EXPECT_EQ(error_of<ListRequest>(R"({"cursor":5})"), "cursor: expected a string, found an integer");
  EXPECT_EQ(error_of<SetLevelRequest>(R"({"level":"loud"})"),
            "level: expected one of debug, info, notice, warning, error, critical, alert, emergency, found \"loud\"");
  EXPECT_EQ(error_of<ProgressNotification>(R"({"progressToken":1.5,"progress":1})"),
            "progressToken: expected a string or an integer, found a number");
  EXPECT_EQ(error_of<CreateMessageResult>(R"({"role":"assistant","model":"m"})"),
            "content: expected an object or an array, found nothing");
}

TEST(Types, OneBadTool_DoesNotHideTheOthers) {
  auto page = decode_page<Tool>(
      json(R"({"tools":[{"name":"a"},{"title":"no name"},7,{"name":"b","inputSchema":[]},{"name":"c"}]})"), "tools");
  ASSERT_TRUE(page);
  EXPECT_THAT(page->items, ElementsAre(Tool{.name = "a"}, Tool{.name = "c"}));
  EXPECT_THAT(page->problems, ElementsAre(DecodeProblem{"tools[1].name", "expected a string, found nothing"},
                                          DecodeProblem{"tools[2]", "expected an object, found an integer"},
                                          DecodeProblem{"tools[3].inputSchema", "expected an object, found an array"}));
}

TEST(Types, WhatIsNotAList_IsReported) {
  EXPECT_THAT(decode_page<Tool>(json("{}"), "tools"), FailsSaying("tools: expected an array, found nothing"));
  EXPECT_THAT(decode_page<Tool>(json(R"({"tools":{}})"), "tools"),
              FailsSaying("tools: expected an array, found an object"));
  EXPECT_THAT(decode_page<Tool>(json("7"), "tools"), FailsSaying("expected an object, found an integer"));
  EXPECT_THAT(decode_list<Tool>(json("{}"), "tools").problems,
              ElementsAre(DecodeProblem{"tools", "expected an array, found an object"}));
}

TEST(Types, NullInPlaceOfAList_IsAnEmptyList) {
  EXPECT_THAT(decode_page<Tool>(json(R"({"tools":null})"), "tools")->items, IsEmpty());
  EXPECT_THAT(read<GetPromptResult>(R"({"messages":null})").messages, IsEmpty());
  EXPECT_THAT(read<CallToolResult>(R"({"content":null})").content, IsEmpty());
}

TEST(Types, Cursors_AbsentAndEmptyDiffer) {
  EXPECT_EQ(decode_page<Tool>(json(R"({"tools":[],"nextCursor":""})"), "tools")->next_cursor, "");
  EXPECT_EQ(decode_page<Tool>(json(R"({"tools":[],"nextCursor":null})"), "tools")->next_cursor, std::nullopt);
  EXPECT_EQ(decode_page<Tool>(json(R"({"tools":[]})"), "tools")->next_cursor, std::nullopt);
}

// X1
TEST(Types, StructuredContent_AbsentAndNullDiffer) {
  EXPECT_EQ(read<CallToolResult>(R"({"content":[]})").structured_content, std::nullopt);
  EXPECT_EQ(read<CallToolResult>(R"({"content":[],"structuredContent":null})").structured_content, Json());
  EXPECT_EQ(to_text(encode(read<CallToolResult>(R"({"content":[],"structuredContent":null})"))),
            R"({"content":[],"structuredContent":null})");
}

TEST(Types, ContentOfAnUnknownType_IsKeptRaw) {
  const Json raw = json(R"({"type":"video","data":"AAAA","fps":30})");
  EXPECT_EQ(*decode<Content>(raw), Content(UnknownContent{"video", raw}));
  EXPECT_EQ(encode(Content(UnknownContent{"video", raw})), raw);
}

TEST(Types, ContentThatLacksWhatItsTypeNeeds_IsKeptRaw) {
  for (std::string_view text :
       {R"({"type":"text"})", R"({"type":"text","text":null})", R"({"type":"text","text":7})",
        R"({"type":"image","data":"AAAA"})", R"({"type":"audio","mimeType":"audio/wav"})",
        R"({"type":"resource_link","uri":"a:b"})", R"({"type":"resource","resource":{"text":"x"}})",
        R"({"type":"resource","resource":"a:b"})", R"({"type":"tool_use","id":"1","name":"t","input":"x"})",
        R"({"type":"tool_result","toolUseId":"1","content":"x"})", R"({"text":"no type"})", R"({"type":7})", "7",
        R"("text")", "null", "[]"}) {
    SCOPED_TRACE(text);
    const auto content = decode<Content>(json(text));
    ASSERT_TRUE(content);
    EXPECT_EQ(kind_of(*content), ContentKind::unknown);
    EXPECT_EQ(encode(*content), json(text));
  }
}

TEST(Types, ToolResultsInsideSampling_NestToAnyDepth) {
  Json block = json(R"({"type":"text","text":"x"})");
  for (int i = 0; i < 50; ++i) {
    Json outer = json(R"({"type":"tool_result","toolUseId":"t","content":[]})");
    outer["content"].push_back(std::move(block));
    block = std::move(outer);
  }
  const auto content = decode<Content>(block);
  ASSERT_TRUE(content);
  EXPECT_EQ(kind_of(*content), ContentKind::tool_result);
  EXPECT_EQ(*content, *decode<Content>(block));
  EXPECT_EQ(encode(*content), block);
}

TEST(Types, SamplingContent_IsOneBlockOrSeveral) {
  const auto one = read<SamplingMessage>(R"({"role":"user","content":{"type":"text","text":"a"}})");
  EXPECT_THAT(one.content, ElementsAre(Content(TextContent{.text = "a"})));
  EXPECT_EQ(read<SamplingMessage>(R"({"role":"user","content":[{"type":"text","text":"a"}]})"), one);
  EXPECT_TRUE(encode(one)["content"].is_object());
  const SamplingMessage two{.content = {TextContent{.text = "a"}, TextContent{.text = "b"}}};
  EXPECT_EQ(encode(two)["content"].size(), 2u);
}

TEST(Types, Elicitation_NeedsWhatItsModeNeeds) {
  EXPECT_EQ(read<ElicitRequest>(R"({"mode":"form","message":"m","requestedSchema":{}})").mode,
            ElicitRequest::Mode::form);
  EXPECT_EQ(error_of<ElicitRequest>(R"({"message":"m"})"), "requestedSchema: expected an object, found nothing");
  EXPECT_EQ(error_of<ElicitRequest>(R"({"mode":"url","message":"m"})"), "url: expected a string, found nothing");
  EXPECT_EQ(error_of<ElicitRequest>(R"({"mode":"dance","message":"m"})"),
            "mode: expected one of form, url, found \"dance\"");
}

TEST(Types, LogMessageWithAnOddLevel_IsStillRead) {
  const auto message = read<LogMessage>(R"({"level":"warn","data":"x"})");
  EXPECT_EQ(message.level, LoggingLevel::info);
  EXPECT_EQ(message.data, Json("x"));
  EXPECT_EQ(message.extra, json(R"({"level":"warn"})"));
}

TEST(Types, Numbers_AreTakenHoweverTheyAreWritten) {
  EXPECT_EQ(read<Resource>(R"({"uri":"a:b","name":"b","size":2.0})").size, 2);
  EXPECT_EQ(read<ProgressNotification>(R"({"progressToken":3,"progress":1})").progress.progress, 1.0);
  EXPECT_EQ(read<Annotations>(R"({"priority":1e400})").extra, json(R"({"priority":1e400})"));
  EXPECT_EQ(error_of<ProgressNotification>(R"({"progressToken":3,"progress":-1e400})"),
            "progress: expected a number within the range of a double, found a number");
  EXPECT_EQ(read<CancelledNotification>(R"({"requestId":"3"})").request_id, ProgressToken("3"));
  EXPECT_EQ(read<CancelledNotification>(R"({"requestId":3})").request_id, ProgressToken(std::int64_t{3}));
}

TEST(Types, CapabilityGivenAsTrue_IsDeclared) {
  const auto server = read<ServerCapabilities>(R"({"tools":true,"logging":true,"prompts":false,"resources":{}})");
  EXPECT_EQ(server.tools, ListChangedCapability{});
  EXPECT_EQ(server.logging, Json::object());
  EXPECT_EQ(server.prompts, std::nullopt);
  EXPECT_EQ(server.resources, ResourcesCapability{});
}

TEST(Types, ServerThatBarelySaysWhoItIs_CanStillBeInitialized) {
  const auto result = read<InitializeResult>(R"({"protocolVersion":"2024-11-05","serverInfo":{"name":"s"}})");
  EXPECT_EQ(result.server_info.name, "s");
  EXPECT_EQ(result.server_info.version, "");
  EXPECT_EQ(result.capabilities, ServerCapabilities{});
}

TEST(Types, LoggingLevels_AreNamedAndOrdered) {
  for (auto level : {LoggingLevel::debug, LoggingLevel::notice, LoggingLevel::emergency}) {
    EXPECT_EQ(parse_logging_level(to_string(level)), level);
  }
  EXPECT_EQ(parse_logging_level("Debug"), std::nullopt);
  EXPECT_LT(LoggingLevel::warning, LoggingLevel::error);
}

// E1
TEST(Types, ElicitationWithoutModes_MeansForms) {
  struct Case {
    std::string capabilities;
    bool form;
    bool url;
  };
  for (const auto& [text, form, url] : std::vector<Case>{{"{}", false, false},
                                                         {R"({"elicitation":{}})", true, false},
                                                         {R"({"elicitation":{"form":{}}})", true, false},
                                                         {R"({"elicitation":{"url":{}}})", false, true},
                                                         {R"({"elicitation":{"form":{},"url":{}}})", true, true}}) {
    SCOPED_TRACE(text);
    const auto client = read<ClientCapabilities>(text);
    EXPECT_EQ(supports_form(client), form);
    EXPECT_EQ(supports_url(client), url);
    EXPECT_EQ(allows(client, ElicitRequest{}), form);
    EXPECT_EQ(allows(client, ElicitRequest{.mode = ElicitRequest::Mode::url}), url);
  }
}

TEST(Types, SamplingWithTools_NeedsItsOwnCapability) {
  const auto plain = read<ClientCapabilities>(R"({"sampling":{}})");
  const auto with_tools = read<ClientCapabilities>(R"({"sampling":{"tools":{}},"roots":{}})");
  const CreateMessageRequest simple;
  const CreateMessageRequest tools{.tools = {Tool{.name = "t"}}};
  EXPECT_TRUE(allows(plain, simple));
  EXPECT_FALSE(allows(plain, tools));
  EXPECT_TRUE(allows(with_tools, tools));
  EXPECT_FALSE(allows(plain, ListRootsRequest{}));
  EXPECT_TRUE(allows(with_tools, ListRootsRequest{}));
  EXPECT_FALSE(allows(ClientCapabilities{}, simple));
}

}  // namespace
}  // namespace patchbay
