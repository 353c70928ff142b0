// The same without coroutines; g++ 12 will do.
#include <iostream>

#include <patchbay/blocking.h>

int main() try {
  patchbay::blocking::Options options;
  options.trust_project = true;  // whoever runs this has read the .mcp.json
  patchbay::blocking::Host host(std::move(options));
  host.start();
  for (const auto& tool : host.catalog()->tools()) std::cout << tool.name << '\n';
  auto result = host.call("files/read_file", patchbay::Json{{"path", "todo.md"}});
  std::cout << patchbay::text_of(result) << '\n';
  return result.is_error ? 1 : 0;
} catch (const patchbay::Error& error) {
  std::cerr << error.message() << '\n';
  return 1;
}
