// HookSet: the hooks of a configuration that count, and those that are due for one call, question or event of an
// agent. Pure; made once for a configuration. The host asks it once per tool, so that a call no hook is about pays
// nothing.
//
// An organisation may switch all hooks off, or all but its own (allowManagedHooksOnly). The user's disableAllHooks
// switches off all but the organisation's. A file inside the repository switches off the repository's and no others;
// its hooks count where the user trusts the directory.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/catalog.h>
#include <patchbay/problem.h>

#include "hooks/hook_matcher.h"
#include "settings/settings_file.h"

namespace patchbay {

struct Hook {
  HookSetting setting;
  SettingsSource source = SettingsSource::user;
  std::string file;
  HookMatcher matcher = {};

  // What it is asked about does not happen when it fails.
  bool refuses_on_error() const noexcept;
  // the PreToolUse hook "./guard.sh" (/home/me/.claude/settings.json:5)
  std::string described() const;
  std::string place() const;  // "/home/me/.claude/settings.json:5"
};

// What it runs or asks, for people, on one line without secrets: the command, the URL, server/tool.
std::string shown_target(const HookSetting& hook);
// The same for somebody who decides by it: all of it, and as it is.
std::string exact_target(const HookSetting& hook);

// In the order of rank of their files, those of the repository last, and then as they stand there.
using HookList = std::vector<std::shared_ptr<const Hook>>;

// Those about one tool.
struct ToolHooks {
  std::array<HookList, hook_events> lists;
  const HookList& of(HookEvent event) const noexcept { return lists[static_cast<std::size_t>(event)]; }
};

class HookSet {
 public:
  HookSet() = default;
  // `trusted`: the user trusts the directory of the project.
  HookSet(std::span<const SettingsLayer> layers, bool trusted);

  bool empty() const noexcept { return hooks_.empty(); }
  const HookList& all() const noexcept { return hooks_; }
  // Null: none.
  std::shared_ptr<const ToolHooks> about(const CatalogEntry& tool) const;
  HookList about_server(HookEvent event, std::string_view server) const;
  // Those of an agent's own event; `what`: how it came about, or which agent it is of.
  HookList about_agent(HookEvent event, std::string_view what) const;

  // Hooks that are not run although a file has them, and matchers that cannot be read.
  const std::vector<ConfigProblem>& problems() const noexcept { return problems_; }

 private:
  HookList matching(HookEvent event, std::span<const std::string> names) const;

  HookList hooks_;
  std::vector<ConfigProblem> problems_;
};

}  // namespace patchbay
