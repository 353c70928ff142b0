// Why a server is used or not, and why a tool may be called or not: what decided, and what would change it. Made from
// what load and the permission rules decided. Pure: nothing is started, read or
// asked; what a server answered comes in from outside.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/catalog.h>
#include <patchbay/channels.h>
#include <patchbay/config.h>
#include <patchbay/permission.h>

#include "hooks/hook_set.h"
#include "inspect/fix.h"
#include "permission/decide.h"

namespace patchbay {

struct EntryNote {
  std::string text;
  Fix fix = {};
  bool operator==(const EntryNote&) const = default;
};

struct ServerExplanation {
  ServerConfig server;
  bool counts = false;    // may be started
  std::string cause;      // what decided, for people
  std::string rule;       // the list entry or setting that did; empty when none
  std::string rule_file;  // where that is
  std::size_t rule_line = 0;
  Fix fix;
  std::vector<EntryNote> notes;      // what else is good to know
  std::vector<ServerConfig> others;  // of the same name, with their standing
  std::vector<ConfigProblem> problems;
};

// `own_file` is the file our commands write, `channels` what this run says about messages that servers push.
ServerExplanation explain_server(const LoadedConfig& config, const ServerConfig& server, const std::string& own_file,
                                 const ChannelOptions& channels = {});

// --- tools

// What a text names, without asking any server.
struct NamedTool {
  std::string server;
  std::string tool;
  bool operator==(const NamedTool&) const = default;
};
// Everything mcp__server__tool or server/tool can mean with these servers.
std::vector<NamedTool> tools_named(std::string_view text, const std::vector<std::string>& servers);
// The entry a catalog would have for it, as far as that can be known without its server.
CatalogEntry assumed_entry(const NamedTool& tool);

struct ToolExplanation {
  CatalogEntry entry;
  std::string withheld;  // why its server's entry does not offer it; empty when it does
  PermissionDecision decision;
  PermissionMode mode = PermissionMode::standard;
  std::string mode_from;              // empty: nobody chose it
  std::vector<PermissionRule> rules;  // all that name it
  HookList hooks;                     // that would be run for a call or about what became of it
  bool by_arguments = false;          // one of them looks at arguments
  Fix fix;                            // of a call that is denied
};

// `server` may be null: one in this process. `layers` are the settings that the rules come from.
ToolExplanation explain_tool(const CatalogEntry& entry, const ServerConfig* server, const Permissions& permissions,
                             std::span<const SettingsLayer> layers, const Json& arguments, std::string_view cwd,
                             const VariableLookup& variables);
// Those of a configuration that are about this tool, in the order of events.
HookList hooks_about(const CatalogEntry& entry, const LoadedConfig& config);

}  // namespace patchbay
