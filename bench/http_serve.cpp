// The measured server of this library: one tool, offered over HTTP as a program would do it. Prints
// its URL and serves until it is ended.
#include <cstdio>

#include <patchbay/patchbay.h>
#include <patchbay/server.h>
#include <patchbay/server_http.h>

namespace pb = patchbay;

namespace {

pb::Task<pb::CallToolResult> echo(pb::RequestContext&, pb::Json) {
  pb::CallToolResult result;
  result.content.push_back(pb::TextContent{.text = "said"});
  co_return result;
}

pb::Task<int> serve() {
  pb::Server server({.info = {.name = "bench", .version = "1"}});
  pb::Tool tool;
  tool.name = "echo";
  tool.description = "Says it again";
  tool.input_schema = pb::Json{{"type", "object"}, {"properties", pb::Json{{"text", pb::Json{{"type", "string"}}}}}};
  server.add_tool(std::move(tool), echo);
  pb::ServerHttpOptions options;
  options.on_listening = [](const std::string& url) {
    std::printf("%s\n", url.c_str());
    std::fflush(stdout);
  };
  co_await server.serve_http(std::move(options));
  co_return 0;
}

}  // namespace

int main() { return pb::run(serve()); }
