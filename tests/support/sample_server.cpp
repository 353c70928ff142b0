#include "support/sample_server.h"

namespace patchbay::test {

CallToolResult text_result(std::string text) {
  CallToolResult result;
  result.content.push_back(TextContent{.text = std::move(text)});
  return result;
}

std::shared_ptr<Server> sample_server(ServerOptions options) {
  if (options.info.name.empty()) options.info = {.name = "sample", .version = "1.0"};
  auto server = std::make_shared<Server>(std::move(options));

  server->add_tool(
      {.name = "echo", .description = "Says it back."},
      [](RequestContext&, Json arguments) -> Task<CallToolResult> { co_return text_result(to_text(arguments)); });
  server->add_tool({.name = "fail"}, [](RequestContext&, Json) -> Task<CallToolResult> {
    throw Error(Errc::denied, "the door is locked");
    co_return CallToolResult{};
  });
  server->add_tool({.name = "refuse"}, [](RequestContext&, Json) -> Task<CallToolResult> {
    throw Error::rpc(-31000, "not today", R"({"day":"monday"})");
    co_return CallToolResult{};
  });
  server->add_tool({.name = "numbers", .output_schema = Json{{"type", "array"}}},
                   [](RequestContext&, Json) -> Task<CallToolResult> {
                     CallToolResult result;
                     result.structured_content = Json::array({1, 2});
                     co_return result;
                   });

  server->add_resource({.uri = "mem://a", .name = "a"},
                       [](RequestContext&, std::string uri) -> Task<std::vector<ResourceContents>> {
                         std::vector<ResourceContents> contents;
                         contents.push_back({.uri = std::move(uri), .text = "alpha"});
                         co_return contents;
                       });
  server->add_resource_template(
      {.uri_template = "mem://item/{id}", .name = "item"},
      [](RequestContext&, std::string uri,
         std::map<std::string, std::string> variables) -> Task<std::vector<ResourceContents>> {
        std::vector<ResourceContents> contents;
        if (variables["id"] != "none") contents.push_back({.uri = std::move(uri), .text = "item " + variables["id"]});
        co_return contents;
      });

  Prompt greet{.name = "greet"};
  greet.arguments.push_back({.name = "who", .required = true});
  server->add_prompt(std::move(greet),
                     [](RequestContext&, std::map<std::string, std::string> arguments) -> Task<GetPromptResult> {
                       GetPromptResult result;
                       result.messages.push_back({.content = TextContent{.text = "hello " + arguments["who"]}});
                       co_return result;
                     });
  server->set_completion([](RequestContext&, CompleteRequest request) -> Task<CompleteResult> {
    CompleteResult result;
    const int count = request.argument.value == "many" ? 150 : 2;
    for (int i = 0; i < count; ++i) result.values.push_back(request.argument.value + std::to_string(i));
    co_return result;
  });
  return server;
}

}  // namespace patchbay::test
