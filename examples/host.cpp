// All servers of .mcp.json: hears what happens to them, and is asked before a tool is called.
#include <iostream>

#include <patchbay/patchbay.h>

namespace pb = patchbay;

pb::Task<bool> ask(pb::PermissionQuestion question) {
  std::cout << "call " << question.tool.name << ' ' << question.arguments.text() << "? yes\n";
  co_return true;
}

pb::Task<void> demo() {
  pb::HostOptions options;
  options.trust_project = true;  // whoever runs this has read the .mcp.json
  options.permission.ask = ask;
  options.on_event = [](const pb::HostEvent& event) {
    if (auto* s = std::get_if<pb::ServerStatus>(&event)) std::cout << s->name << ' ' << to_string(s->state) << '\n';
  };
  pb::Host host(std::move(options));
  std::cout << pb::text_of(co_await host.call("files/read_file", pb::Json{{"path", "todo.md"}})) << '\n';
  co_await host.stop();
}

int main() { return pb::run(demo()); }
