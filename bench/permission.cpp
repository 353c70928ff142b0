// What deciding about calls costs: five hundred rules of every kind, ten thousand calls.
//
//   bench-permission [CALLS [RULES]]
//
// Prints one JSON object: milliseconds for all calls, the best of five rounds.
#include <cstdlib>

#include <fmt/format.h>

#include "figures.h"
#include "permission/decide.h"

using namespace patchbay;

namespace {

// Rules as people have them: most about whole servers and single tools, some about arguments.
Permissions rules_of(std::size_t count) {
  RuleSet set;
  const RulePlaces places{"/home/me/project", "/home/me"};
  for (std::size_t i = 0; i < count; ++i) {
    const auto server = i / 8;
    const auto add = [&](const std::string& text, RuleList list) {
      auto read = read_rule(text, list, places);
      read.rule->file = "/home/me/.claude/settings.json";
      read.rule->line = i + 1;
      set.rules.push_back(std::move(*read.rule));
    };
    switch (i % 8) {
      case 0:
        add(fmt::format("mcp__server{}__read_*", server), RuleList::allow);
        break;
      case 1:
        add(fmt::format("mcp__server{}__tool1", server), RuleList::allow);
        break;
      case 2:
        add(fmt::format("mcp__server{}__query(sql: /^select\\b/i)", server), RuleList::allow);
        break;
      case 3:
        add(fmt::format("mcp__server{}__write_file(path: ./docs/**)", server), RuleList::allow);
        break;
      case 4:
        add(fmt::format("mcp__server{}__fetch(url: https://*.example.com/**)", server), RuleList::allow);
        break;
      case 5:
        add(fmt::format("mcp__server{}__resize(width: 1..4096, height: 1..4096)", server), RuleList::ask);
        break;
      case 6:
        add(fmt::format("mcp__server{}__delete*", server), RuleList::deny);
        break;
      default:
        add(fmt::format("mcp__*__drop_{}", server), RuleList::deny);
    }
  }
  return Permissions(std::move(set));
}

struct Call {
  CatalogEntry tool;
  Json arguments;
};

std::vector<Call> calls_of(std::size_t servers) {
  const std::vector<std::pair<std::string, Json>> tools{
      {"read_file", Json{{"path", "README.md"}}},
      {"tool1", Json{{"x", 1}}},
      {"query", Json{{"sql", "SELECT name FROM users WHERE id = 5"}}},
      {"write_file", Json{{"path", "docs/guide/page.md"}, {"content", "text"}}},
      {"fetch", Json{{"url", "https://api.example.com/v1/items?page=2"}}},
      {"resize", Json{{"width", 640}, {"height", 480}}},
      {"delete_all", Json::object()},
      {"unknown", Json{{"a", "b"}}},
  };
  std::vector<ServerTools> offered;
  for (std::size_t i = 0; i < servers; ++i) {
    ServerTools one{fmt::format("server{}", i), {}, NamePrefix::server};
    for (const auto& [name, arguments] : tools) {
      Tool tool;
      tool.name = name;
      one.tools.push_back(std::make_shared<const Tool>(std::move(tool)));
    }
    offered.push_back(std::move(one));
  }
  std::vector<Call> calls;
  for (const auto& entry : Catalog(offered).tools()) {
    for (const auto& [name, arguments] : tools) {
      if (name == entry.tool->name) calls.push_back({entry, arguments});
    }
  }
  return calls;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10'000;
  const std::size_t rules = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 500;
  const auto permissions = rules_of(rules);
  const auto calls = calls_of(rules / 8 + 1);
  double best = 0;
  std::size_t outcomes[3] = {};
  for (int round = 0; round < 5; ++round) {
    std::size_t seen[3] = {};
    const double begin = bench::wall_us();
    for (std::size_t i = 0; i < count; ++i) {
      const auto& call = calls[i % calls.size()];
      ++seen[static_cast<std::size_t>(permissions.decide(call.tool, call.arguments, "/home/me/project").outcome)];
    }
    const double ms = (bench::wall_us() - begin) / 1000;
    if (round == 0 || ms < best) best = ms;
    std::copy(std::begin(seen), std::end(seen), outcomes);
  }
  fmt::print(
      "{{\"measure\":\"permission\",\"decisions\":{},\"rules\":{},\"ms\":{:.2f},\"aim_ms\":50,\"allow\":{},\"ask\":{},"
      "\"deny\":{}}}\n",
      count, rules, best, outcomes[0], outcomes[1], outcomes[2]);
  return 0;
}
