// `patchbay lock` and `patchbay verify`: .mcp.lock beside .mcp.json, made of what the servers of that file say now, and
// held against it. Both ask the servers themselves, whatever is remembered of their tools.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "base/as_result.h"
#include "base/exit_code.h"
#include "base/offload.h"
#include "base/strings.h"
#include "base/whole_file.h"
#include "cli/context.h"
#include "cli/texts/present.h"
#include "entries/signature.h"
#include "host/kept/pin_files.h"
#include "host/server_error.h"
#include "text/shell_word.h"

namespace patchbay::cli {
namespace {

// Of each .mcp.json that declares one: the lock file, and the servers by name.
using Locks = std::map<std::string, std::vector<const ServerConfig*>>;

bool is_in_use(const ServerConfig& server) {
  return !server.disabled &&
         (server.standing == ServerStanding::active || server.standing == ServerStanding::awaiting_approval);
}

Locks locks_of(const Context& context) {
  Locks locks;
  const auto& words = context.settings.words;
  const auto& servers = context.host.config().servers;
  for (const auto& server : servers) {
    const auto file = lock_file_of(server);
    if (file.empty()) continue;
    const bool named = std::ranges::find(words, server.name) != words.end();
    if (words.empty() ? is_in_use(server) : named) locks[file].push_back(&server);
  }
  for (const auto& word : words) {
    const auto found = std::ranges::find(servers, word, &ServerConfig::name);
    if (found == servers.end() || !lock_file_of(*found).empty()) continue;
    throw Error(Errc::invalid_argument, fmt::format("\"{}\" is declared in {}; only servers of a .mcp.json are locked",
                                                    safe_name(word, 80), safe_name(found->origin.file, 200)));
  }
  if (locks.empty()) {
    throw Error(Errc::config,
                "no .mcp.json of this directory declares a server that may be used; to see your servers: "
                "patchbay list");
  }
  return locks;
}

// As the server itself says it is now.
Task<LockedServer> server_now(Context& context, const ServerConfig& server) {
  context.waiting.begin(fmt::format("asking {}", server.name));
  auto session = co_await context.host.session(server.name);
  const auto said = session.server();
  std::vector<std::shared_ptr<const Tool>> tools;
  if (said.capabilities.tools) {
    auto listing = co_await session.list_tools({});
    for (auto& tool : listing.items) tools.push_back(std::make_shared<const Tool>(std::move(tool)));
  }
  Listing<Prompt> prompts;
  if (said.capabilities.prompts) prompts = co_await session.list_prompts({});
  context.waiting.end();
  co_return locked_server({.entry = entry_hash(server),
                           .package = package_of(said.info),
                           .instructions = said.instructions,
                           .tools = tools,
                           .prompts = prompts.items});
}

std::string shown_file(const std::string& file) { return safe_name(file, 200); }

std::size_t tool_count(const LockFile& lock) {
  std::size_t count = 0;
  for (const auto& [name, server] : lock.servers) count += server.tools.size();
  return count;
}

void write_lock(const std::string& file, const LockFile& lock) {
  if (auto written = replace_file(file, write_lock_file(lock), Survives::loss_of_power); !written) {
    throw written.error();
  }
  // It is committed, and read by whoever has the project.
  std::error_code ignored;
  namespace fs = std::filesystem;
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::others_read,
                  ignored);
}

}  // namespace

Task<int> lock(Context& context) {
  // All are asked before anything is written: half a lock file is none.
  std::map<std::string, LockFile> files;
  for (const auto& [file, servers] : locks_of(context)) {
    auto before = load_lock_file(file);
    const bool some = !context.settings.words.empty();
    if (!before && some) throw before.error();
    LockFile lock;
    if (before && *before) {
      for (const auto& [name, server] : (*before)->servers) {
        const auto& known = context.host.config().servers;
        const auto declared = std::ranges::find(known, name, &ServerConfig::name);
        // One that is switched off here stays locked for others.
        const bool off = declared != known.end() && lock_file_of(*declared) == file && !is_in_use(*declared);
        if (some || off) lock.servers.emplace(name, server);
      }
    }
    for (const auto* server : servers) {
      lock.servers.insert_or_assign(server->name, co_await server_now(context, *server));
    }
    files.emplace(file, std::move(lock));
  }
  Json written = Json::array();
  std::string text;
  for (const auto& [file, lock] : files) {
    write_lock(file, lock);
    Json names = Json::array();
    for (const auto& [name, server] : lock.servers) names.push_back(name);
    written.push_back({{"file", file}, {"servers", std::move(names)}});
    text += fmt::format("Locked {} with {} in {}\n", plural(lock.servers.size(), "server"),
                        plural(tool_count(lock), "tool"), shown_file(file));
  }
  if (context.settings.json) {
    context.print_json({{"written", std::move(written)}});
  } else {
    context.io.out(text);
  }
  co_return 0;
}

Task<int> verify(Context& context) {
  std::vector<LockDifference> found;
  std::map<std::string, Error> failures;
  std::size_t compared = 0;
  Json files = Json::array();
  for (const auto& [file, servers] : locks_of(context)) {
    files.push_back(file);
    auto loaded = load_lock_file(file);
    if (!loaded) throw loaded.error();
    if (!*loaded) {
      throw Error(Errc::config, fmt::format("there is no {}; to write it: patchbay lock", shown_file(file)));
    }
    const auto& lock = **loaded;
    for (const auto* server : servers) {
      const auto locked = lock.servers.find(server->name);
      if (locked == lock.servers.end()) {
        found.push_back({server->name, "", "it is not in the lock file"});
        continue;
      }
      auto now = co_await as_result(server_now(context, *server));
      context.waiting.end();
      if (!now && now.error().code() == Errc::cancelled) throw std::move(now).error();
      if (!now) {
        failures.emplace(server->name, context.secrets->without(now.error()));
        continue;
      }
      ++compared;
      std::ranges::move(differences(server->name, locked->second, *now), std::back_inserter(found));
    }
    if (!context.settings.words.empty()) continue;
    for (const auto& [name, locked] : lock.servers) {
      const auto& known = context.host.config().servers;
      const auto declared = std::ranges::find(known, name, &ServerConfig::name);
      if (declared == known.end()) found.push_back({name, "", "it is in the lock file, and no .mcp.json declares it"});
    }
  }
  int code = found.empty() ? 0 : 2;
  Json rows = Json::array();
  std::string text;
  for (const auto& one : found) {
    rows.push_back({{"server", one.server}, {"tool", one.tool.empty() ? Json() : Json(one.tool)}, {"text", one.text}});
    const auto server = safe_name(one.server, 80);
    text += one.tool.empty() ? fmt::format("{}: {}\n", server, message_text(one.text))
                             : fmt::format("{}/{}: {}\n", server, safe_name(one.tool, 80), one.text);
  }
  Json failed = Json::array();
  for (const auto& [name, error] : failures) {
    failed.push_back({{"server", name}, {"error", error_json(error)}});
    if (code == 0) code = exit_code(error);
    if (!context.settings.json && !context.told.contains(name)) {
      context.io.talk(fmt::format("patchbay: \"{}\": {}\n", safe_name(name, 80),
                                  message_text(without_name(name, error.message()))));
    }
  }
  if (context.settings.json) {
    context.print_json({{"files", std::move(files)},
                        {"same", code == 0},
                        {"differences", std::move(rows)},
                        {"failures", std::move(failed)}});
    co_return code;
  }
  if (code == 0) {
    text = fmt::format("{} as the lock file says\n",
                       compared == 1 ? std::string("1 server is") : fmt::format("{} servers are", compared));
  }
  context.io.out(text);
  if (!found.empty()) {
    context.io.talk("patchbay: these are not as they were locked; if you agree with all of it: patchbay lock\n");
  }
  co_return code;
}

}  // namespace patchbay::cli
