// Every tool of every server that .mcp.json names, and a call of one of them.
//   host [TOOL [JSON]]
#include <chrono>
#include <iostream>

#include <patchbay/patchbay.h>

namespace pb = patchbay;
using namespace std::chrono_literals;

pb::Task<int> demo(std::string tool, std::string arguments) {
  pb::HostOptions options;
  options.trust_project = true;  // whoever runs an example has read the file
  pb::Host host(std::move(options));
  co_await host.start();
  for (const auto& status : host.status()) {
    if (status.error) std::cerr << status.name << ": " << status.error->message() << '\n';
  }
  if (tool.empty()) {
    for (const auto& entry : host.catalog()->tools()) std::cout << entry.name << '\n';
  } else {
    auto parsed = pb::parse_json(arguments);
    if (!parsed) throw parsed.error();
    auto result = co_await host.call(tool, std::move(*parsed), {.total = 30s});
    std::cout << pb::text_of(result) << '\n';
  }
  co_await host.stop();
  co_return 0;
}

int main(int argc, char** argv) { return pb::run(demo(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "{}")); }
