// Signs in at the server of a URL if it wants that, and lists its tools.
#include <iostream>

#include <patchbay/patchbay.h>
namespace pb = patchbay;

pb::Task<void> show(pb::SignInPage page) { co_return void(std::cout << "Sign in: " << page.url << std::endl); }

pb::Task<void> demo(std::string url) {
  pb::ServerConfig server;
  server.name = "mine", server.kind = pb::ServerKind::http, server.url = std::move(url);
  pb::HostOptions options;
  options.config = pb::LoadedConfig{};  // none of the servers that files declare
  options.sign_in.show = show;          // or a coroutine that opens a browser
  pb::Host host(std::move(options));
  host.add_server(server);
  co_await host.start();
  if (host.status().at(0).state == pb::ServerState::needs_auth) co_await host.sign_in("mine");  // waits for the user
  auto session = co_await host.session("mine");  // throws what went wrong, where it is not connected
  auto tools = co_await session.list_tools();
  for (const auto& tool : tools.items) std::cout << tool.name << '\n';
  co_await host.stop();
}

int main(int argc, char** argv) { return pb::run(demo(argc > 1 ? argv[1] : "")); }
