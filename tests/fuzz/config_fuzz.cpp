// A configuration file of any content: every problem has a place in it, every entry that
// counts has a name of its own, and variables are put in without being looked at again.
#include <algorithm>
#include <set>

#include "config/expand.h"
#include "config/merge.h"
#include "config/parse.h"
#include "fuzz/fuzz.h"

using namespace patchbay;
using fuzz::require;

namespace {

std::optional<std::string> variable(std::string_view name) {
  if (name == "HOME") return "/home/me";
  if (name == "EMPTY") return "";
  if (name == "NESTED") return "${HOME}";
  return std::nullopt;
}
std::optional<std::string> unset(std::string_view) { return std::nullopt; }

void check(const ParsedServers& parsed, std::size_t lines) {
  std::set<std::string> names;
  for (const ServerConfig& server : parsed.servers) {
    require(names.insert(server.name).second, "two entries of one name");
    require(server_name_fault(server.name).empty(), "an entry with a name that may not be");
    require(server.origin.line >= 1 && server.origin.line <= lines, "an entry outside the file");
    const ServerConfig ready = expand_server(server, variable);
    require(
        ready.name == server.name && ready.args.size() == server.args.size() && ready.env.size() == server.env.size(),
        "expanding changed the shape of an entry");
  }
  for (const ConfigProblem& problem : parsed.problems) {
    require(problem.line <= lines, "a problem outside the file");
    require(!problem.message.empty() && !problem.text().empty(), "a problem that says nothing");
  }
}

}  // namespace

FUZZ_TARGET(config) {
  const ConfigOrigin origin{.file = "/project/.mcp.json", .scope = ConfigScope::project};
  const auto lines = static_cast<std::size_t>(std::ranges::count(input, '\n')) + 1;
  const auto any = parse_servers(input, origin, ServerMap::wrapped_or_bare);
  const auto wrapped = parse_servers(input, origin, ServerMap::wrapped);
  check(any, lines);
  check(wrapped, lines);

  const std::vector<ParsedServers> sources{any, wrapped};
  const auto merged = merge_sources(sources);
  std::set<std::string> names;
  for (const auto& server : merged.servers) require(names.insert(server.name).second, "a name counts twice");

  const auto expanded = expand(input, variable);
  require(expanded.text.size() <= input.size() * 2 + 16, "expanding made too much of it");
  for (const auto& name : expanded.missing) {
    require(expanded.text.find("${" + name + "}") != std::string::npos, "a missing variable is not in the text");
  }
  const auto bare = expand(input, unset);
  if (input.find(":-") == std::string_view::npos) require(bare.text == input, "changed without any variable set");
}
