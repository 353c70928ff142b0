// An agent: a model, here one that plays a file, uses the tools of servers and one of the program's own.
#include <iostream>

#include <patchbay/agent.h>
#include <patchbay/patchbay.h>
namespace pb = patchbay;

pb::Task<void> demo(std::string model) {
  auto clock = std::make_shared<pb::Server>("clock", "1.0");
  clock->add_tool("time", "What time it is", pb::args(), [] { return pb::text("half past nine"); });
  pb::HostOptions options;
  options.trust_project = true;  // whoever runs this has read the .mcp.json
  pb::Host host(std::move(options));
  host.add_server("clock", clock);
  pb::Agent agent(host, pb::make_model(std::move(model)), {.on_event = [](const pb::AgentEvent& event) {
                    if (const auto* call = std::get_if<pb::AgentToolCall>(&event.what))
                      std::cout << call->use.name << '\n';
                  }});
  auto answer = co_await agent.send({.text = "What is to be done, and when?"});
  std::cout << answer.text << '\n';
  co_await agent.stop();
  co_await host.stop();
}

int main(int argc, char** argv) { return pb::run(demo(argc > 1 ? argv[1] : "script:answers.json")); }
