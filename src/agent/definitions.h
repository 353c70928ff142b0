// Definitions of sub-agents: Markdown files with a header between two lines "---", as other programs write them.
//
//   name: reviewer                  letters, digits, - and _
//   description: Reviews changes    when a model should use it
//   tools: Read, mcp__git           only these; a list or a text with commas
//   disallowedTools: Bash
//   mcpServers: [git, {x: {…}}]     only these servers; those with an entry are its own and end with it; []: none
//   model: inherit                  or a model's name
//
// What is below the header are its instructions. A definition grants nothing: it chooses among what its parent has.
// Reading a text and choosing tools are pure; definition_files.h finds the files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/catalog.h>
#include <patchbay/config.h>

namespace patchbay {

struct AgentDefinition {
  std::string name = {};
  std::string description = {};
  std::string instructions = {};
  std::optional<std::vector<std::string>> tools = {};  // absent: all that its parent has
  std::vector<std::string> disallowed_tools = {};
  std::optional<std::vector<std::string>> servers = {};  // by name; absent: all, where `own_servers` is empty as well
  std::vector<ServerConfig> own_servers = {};
  std::string model = {};  // empty: its parent's
  std::string file = {};   // empty: it is in none
  bool operator==(const AgentDefinition&) const = default;
};

struct ReadDefinition {
  std::optional<AgentDefinition> definition;  // nothing: it has an error
  std::vector<ConfigProblem> problems;
};

struct DefinitionBounds {
  std::size_t bytes = 256u << 10;  // of a file
  std::size_t names = 200;         // of tools or servers
  std::size_t description = 4096;  // bytes
  std::size_t instructions = 128u << 10;
};

// `scope` and `trust` are those of its own servers.
ReadDefinition read_definition(std::string_view text, const std::string& file, ConfigScope scope, ConfigTrust trust,
                               const DefinitionBounds& bounds = {});

// Where a model says nothing of what it wants: all that its parent has, under its own name.
AgentDefinition general_definition();

// Whether a list of tools names this one: mcp__server, mcp__server__*, mcp__server__tool, server/tool, a tool of the
// built-in server by its name or as other programs call it (Read, Bash), and "*". `server` is what the definition calls
// the server of the entry.
bool names_tool(std::string_view pattern, const CatalogEntry& entry, std::string_view server);
// Of what its parent sees. A server that mcpServers names, and of whose tools `tools` says nothing, has all of them:
// it was named for something. What has no prefix is the program's own and no server for mcpServers.
bool allows(const AgentDefinition& definition, const CatalogEntry& entry);
// Of a server of its own, which the definition calls `server`.
bool allows_own(const AgentDefinition& definition, const CatalogEntry& entry, std::string_view server);
// A tool of the program itself, which has to be asked for by its name.
bool asks_for(const AgentDefinition& definition, std::string_view tool);

}  // namespace patchbay
