// What a model gets beside the tools of servers: it searches for one of many. A person mentions a resource.
#include <iostream>

#include <patchbay/patchbay.h>
namespace pb = patchbay;

pb::Task<std::vector<pb::ResourceContents>> today(pb::RequestContext&, std::string uri) {
  co_return std::vector<pb::ResourceContents>(1, {.uri = std::move(uri), .text = "water the plants"});
}
pb::Task<void> demo() {
  auto notes = std::make_shared<pb::Server>("notes", "1.0");
  notes->add_resource({.uri = "note:today", .name = "today"}, today);
  pb::HostOptions options;
  options.trust_project = true;  // whoever runs this has read the .mcp.json
  pb::Host host(std::move(options));
  host.add_server("notes", notes);
  pb::ModelTools own(host, {.tool_search = "true"});
  co_await host.start();
  co_await own.call("tool_search", pb::Json{{"query", "read a file"}, {"max_results", 1}});
  for (const auto& entry : own.loaded()->tools()) std::cout << entry.name << '\n';
  std::cout << pb::text_of((co_await own.mentioned("Is @notes:note:today done?")).at(0).for_model.front()) << '\n';
  co_await host.stop();
}

int main() { return pb::run(demo()); }
