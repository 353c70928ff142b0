// What earlier runs kept of the servers of this directory (host/kept), for commands that start nothing: `--cached`,
// `status`, `logs` and completion. Only a server that may be started is looked up: what awaits approval, is rejected,
// disabled or denied by rules is never listed from a file. Blocking; no loop is needed.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <patchbay/host.h>

#include "cli/context.h"
#include "cli/declared.h"
#include "host/kept/kept_server.h"
#include "permission/decide.h"

namespace patchbay::cli {

struct KeptRow {
  const ServerConfig* server = nullptr;
  // As its entry has it: pending, failed (broken) or disabled; nothing was started.
  ServerState state = ServerState::pending;
  std::string reason;
  std::string detail;   // why, in words; empty: there is nothing to say
  bool usable = false;  // it may be started and listed
  std::optional<KeptServer> kept;
  KeptUse tools = KeptUse::missing;
  KeptUse prompts = KeptUse::missing;
  KeptUse resources = KeptUse::missing;
};

struct KeptView {
  Declared declared;
  Permissions permissions;
  std::chrono::sys_seconds now;
  std::vector<KeptRow> rows;

  // Of the lists that can be used, as rules show them.
  std::shared_ptr<const Catalog> catalog() const;
  // One tool of those lists, whatever rules say; null: it is not known.
  std::shared_ptr<const Tool> tool(std::string_view server, std::string_view name) const;
};
KeptView kept_view(const Settings& settings);

// Where kept files are; empty: there is no such place.
std::string state_directory();

// Whether `patchbay logs` has something to show of this server.
bool has_log(const ServerConfig& server, const LoadedConfig& config);

// `tools`, `search`, `prompts` and `resources` with --cached.
int cached(const Settings& settings, Io& io);
// `server/tool`, a tab, and the names of its arguments, one tool on each line.
std::string kept_tool_words(const Settings& settings);

int status(const Settings& settings, Io& io);
int logs(const Settings& settings, Io& io);
int results(const Settings& settings, Io& io);
Task<int> status_checked(Context& context);
Task<int> reconnect(Context& context);

// Keeps what a command listed beside what the host keeps. Nothing that goes wrong with that is an error.
struct ListedNow {
  std::string server;
  std::optional<std::vector<Prompt>> prompts = {};
  std::optional<std::vector<Resource>> resources = {};
  std::optional<std::vector<ResourceTemplate>> templates = {};
};
Task<void> keep_lists(Context& context, std::vector<ListedNow> lists);

}  // namespace patchbay::cli
