// Two tools: on stdin and stdout, or with a port as its argument over HTTP.
#include <iostream>

#include <patchbay/patchbay.h>

namespace pb = patchbay;

pb::Task<std::string> greet(pb::RequestContext& context, std::string name) {  // a handler may be a coroutine
  context.progress(1, 1, "almost done");
  co_return "Hello, " + name;
}

int main(int argc, char** argv) {
  pb::Server server("demo", "1.0");
  server.add_tool("add", "Adds two numbers",
                  pb::args(pb::arg<int>("a", "the first number"), pb::arg<int>("b", "the second number", 1)),
                  [](int a, int b) { return pb::text(std::to_string(a + b)); });
  server.add_tool("greet", "Greets somebody", pb::args(pb::arg<std::string>("name")), greet);
  if (argc == 1) return pb::run(server.serve_stdio());
  pb::ServerHttpOptions http;
  http.port = static_cast<std::uint16_t>(std::stoi(argv[1]));
  http.on_listening = [](const std::string& url) { std::cout << url << std::endl; };
  return pb::run(server.serve_http(http));
}
