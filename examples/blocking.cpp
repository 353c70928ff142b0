// The same library without coroutines; builds with g++ 12 too:
//   g++ -std=c++23 blocking.cpp $(pkg-config --cflags --libs patchbay)
//   ./a.out COMMAND [ARGUMENT...]        lists the tools of the server that the command starts
#include <iostream>

#include <patchbay/blocking.h>

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::cerr << "usage: blocking COMMAND [ARGUMENT...]\n";
    return 2;
  }
  patchbay::StdioOptions server;
  server.command = argv[1];
  server.args.assign(argv + 2, argv + argc);
  auto session = patchbay::blocking::connect(std::move(server));
  std::cout << session.server().info.name << ' ' << session.server().protocol_version << '\n';
  for (const auto& tool : session.list_tools().items) std::cout << tool.name << '\n';
  session.close();
  return 0;
} catch (const patchbay::Error& error) {
  std::cerr << error.message() << '\n' << error.detail();
  return 1;
}
