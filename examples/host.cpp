// All servers of .mcp.json: hears what happens to them, and is asked before a tool is called.
#include <iostream>

#include <patchbay/patchbay.h>

namespace pb = patchbay;

pb::Task<bool> ask(pb::PermissionQuestion question) {
  std::cout << "call " << question.tool.name << ' ' << question.arguments.text() << "? yes\n";
  co_return true;
}

pb::Task<int> demo() {
  pb::HostOptions options;
  options.trust_project = true;  // whoever runs this has read the .mcp.json
  options.permission.disallowed_tools = {"mcp__files__write_file"};
  options.permission.ask = ask;
  options.on_event = [](const pb::HostEvent& event) {
    if (auto* s = std::get_if<pb::ServerStatus>(&event)) std::cout << s->name << ' ' << to_string(s->state) << '\n';
  };
  pb::Host host(std::move(options));
  co_await host.start();
  auto result = co_await host.call("files/read_file", pb::Json{{"path", "todo.md"}});
  std::cout << pb::text_of(result) << '\n';
  co_await host.stop();
  co_return result.is_error ? 1 : 0;
}

int main() { return pb::run(demo()); }
