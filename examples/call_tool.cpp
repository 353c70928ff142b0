// Starts one server, lists its tools and calls one of them.
#include <iostream>

#include <patchbay/patchbay.h>

namespace pb = patchbay;

pb::Task<int> demo() {
  pb::Client client;
  auto session = co_await client.connect(pb::stdio_transport({.command = "patchbay", .args = {"serve"}}));
  auto tools = co_await session.list_tools();
  for (const auto& tool : tools.items) std::cout << tool.name << '\n';
  auto result = co_await session.call_tool("read_file", pb::Json{{"path", "todo.md"}});
  std::cout << pb::text_of(result) << '\n';
  co_await session.close();
  co_return result.is_error ? 1 : 0;
}

int main() { return pb::run(demo()); }  // prints an Error and returns its exit code
