// Lists the tools of every server in .mcp.json and calls one of them.
#include <iostream>

#include <patchbay/patchbay.h>

patchbay::Task<int> demo() {
  patchbay::HostOptions options;
  options.trust_project = true;  // whoever runs this has read the .mcp.json
  patchbay::Host host(std::move(options));
  co_await host.start();
  for (const auto& tool : host.catalog()->tools()) std::cout << tool.name << '\n';
  auto result = co_await host.call("files/read_file", patchbay::Json{{"path", "todo.md"}});
  std::cout << patchbay::text_of(result) << '\n';
  co_await host.stop();
  co_return result.is_error ? 1 : 0;
}

int main() { return patchbay::run(demo()); }  // prints an Error and returns its exit code
