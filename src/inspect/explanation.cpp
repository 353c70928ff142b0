#include "inspect/explanation.h"

#include <algorithm>

#include <fmt/format.h>

#include "catalog/naming.h"
#include "catalog/tool_filter.h"
#include "entries/child_env.h"
#include "entries/expand.h"
#include "entries/signature.h"
#include "host/channels/channel_rule.h"
#include "servers/standing_text.h"
#include "settings/settings_layers.h"
#include "text/file_and_line.h"

namespace patchbay {
namespace {

std::string place_of(const ConfigOrigin& origin) { return file_and_line(origin.file, origin.line); }

bool is_of_organisation(const std::string& file, std::span<const SettingsLayer> layers) {
  const auto layer = std::ranges::find(layers, file, &SettingsLayer::file);
  return layer != layers.end() && layer->source == SettingsSource::enterprise;
}

class ServerCase {
 public:
  ServerCase(const LoadedConfig& config, const std::string& own_file, ServerExplanation& out)
      : config_(config), own_file_(own_file), out_(out) {}

  void explain() {
    out_.cause = out_.server.reason;
    switch (out_.server.standing) {
      case ServerStanding::active:
        return active();
      case ServerStanding::awaiting_approval:
        out_.fix = {Fix::Kind::approve, out_.server.name};
        return;
      case ServerStanding::rejected:
        return rejected();
      case ServerStanding::disabled:
        return disabled();
      case ServerStanding::policy:
        return policy();
      case ServerStanding::duplicate:
        out_.fix = Fix::changing("nothing to do: the other entry is used instead");
        return;
      case ServerStanding::not_configured:
        out_.fix = Fix::changing(fmt::format("set its \"url\" in {}", place_of(out_.server.origin)));
        return;
      case ServerStanding::broken:
        out_.fix = Fix::changing(fmt::format("correct {}", place_of(out_.server.origin)));
        return;
      case ServerStanding::shadowed:
        return shadowed();
    }
  }

 private:
  void rule(std::string text, const std::string& file, std::size_t line) {
    out_.rule = std::move(text);
    out_.rule_file = file;
    out_.rule_line = line;
  }

  void rule_of(const StandingBy& by) {
    if (!by.file.empty()) rule(by.what, by.file, by.line);
  }

  void active() {
    const auto& server = out_.server;
    out_.counts = true;
    out_.cause = out_.others.empty()      ? "the only entry with this name; enabled"
                 : server.shadows.empty() ? "the other entries with this name are not in use"
                                          : "it overrides the other entries with this name";
    if (server.origin.trust == ConfigTrust::needs_approval && server.approved) {
      const auto& by = server.decided_by;
      if (by.kind == StandingBy::Kind::flag || by.kind == StandingBy::Kind::setting) {
        // None of these knows what the entry said when it was agreed to.
        rule_of(by);
        out_.notes.push_back({fmt::format("Declared by the project; it is {}, even if its entry changes",
                                          decided_text("approved", by))});
      } else {
        out_.notes.push_back(
            {"Declared by the project; you approved this entry. If the entry changes, it needs approval again"});
      }
    }
    if (!server.headers_helper) return;
    RunContext run;
    run.cwd = config_.cwd;
    run.project_trusted = config_.project_trusted;
    if (auto fault = helper_fault(server, run); !fault.empty())
      out_.notes.push_back({std::move(fault), {Fix::Kind::trust}});
  }

  void rejected() {
    const auto& by = out_.server.decided_by;
    if (by.kind != StandingBy::Kind::setting) {
      out_.fix = {Fix::Kind::approve, out_.server.name};
      return;
    }
    rule_of(by);
    out_.fix = Fix::changing(fmt::format("remove it from \"{}\" in {}", by.what, file_and_line(by.file, by.line)));
  }

  void disabled() {
    // What another file switches off, ours switches on; but for what an organisation set up.
    const auto& origin = out_.server.origin;
    out_.fix = origin.scope == ConfigScope::enterprise
                   ? Fix::changing(fmt::format("ask the administrator who maintains {}", place_of(origin)))
                   : Fix{Fix::Kind::enable, out_.server.name};
  }

  void policy() {
    const auto& by = out_.server.decided_by;
    if (by.kind != StandingBy::Kind::policy) return;
    rule_of(by);
    const bool organisation = is_of_organisation(by.file, layers_of(config_.settings));
    out_.fix = Fix::changing(fmt::format("{} {}", organisation ? "ask the administrator who maintains" : "change",
                                         file_and_line(by.file, by.line)));
  }

  void shadowed() {
    for (const auto& other : config_.servers) {
      if (other.name != out_.server.name) continue;
      out_.fix = {Fix::Kind::remove_other, out_.server.name, other.origin.scope};
      if (other.origin.file != own_file_ && !other.origin.file.ends_with("/.mcp.json")) {
        out_.fix = Fix::changing(fmt::format("rename one of them; the other is in {}", place_of(other.origin)));
      }
    }
  }

  const LoadedConfig& config_;
  const std::string& own_file_;
  ServerExplanation& out_;
};

// What would let a denied call pass.
Fix denial_fix(const PermissionDecision& decision, std::span<const SettingsLayer> layers) {
  if (decision.file.empty()) return {Fix::Kind::choose_mode};
  const auto place = file_and_line(decision.file, decision.line);
  if (is_of_organisation(decision.file, layers)) {
    return Fix::changing(fmt::format("ask the administrator who maintains {}", place));
  }
  // Not in a file: a flag, or what a program calls it.
  if (!decision.file.starts_with('/')) return Fix::changing(fmt::format("leave {} out", decision.file));
  return Fix::changing(fmt::format("{} {}", decision.rule.empty() ? "correct" : "change", place));
}

bool same_entry(const ServerConfig& one, const ServerConfig& other) {
  return one.name == other.name && one.origin == other.origin;
}

}  // namespace

ServerExplanation explain_server(const LoadedConfig& config, const ServerConfig& server, const std::string& own_file,
                                 const ChannelOptions& channels) {
  ServerExplanation out;
  out.server = server;
  for (const auto* list : {&config.servers, &config.shadowed}) {
    for (const auto& other : *list) {
      if (other.name == server.name && !same_entry(other, server)) out.others.push_back(other);
    }
  }
  ServerCase(config, own_file, out).explain();
  const auto used = variables_in(to_text(canonical_entry(server)));
  for (const auto& variable : config.environment) {
    if (std::ranges::find(used, variable.name) == used.end()) continue;
    out.notes.push_back(
        {fmt::format("the variable {} has the value that \"env\" in {} gives it, whatever the shell says",
                     variable.name, file_and_line(variable.file, variable.line)),
         {}});
  }
  const auto channel = judge_channel(server, layers_of(config.settings), channels);
  if (channel.open()) {
    out.notes.push_back({fmt::format("it may push messages into a conversation: {}", channel.reason), {}});
  } else if (!channel.by.empty() || channel.outcome == ChannelVerdict::Outcome::forbidden) {
    out.notes.push_back({fmt::format("it may not push messages into a conversation: {}", channel.reason), {}});
  }
  for (const auto& problem : config.problems) {
    if (problem.server == server.name) out.problems.push_back(problem);
  }
  return out;
}

std::vector<NamedTool> tools_named(std::string_view text, const std::vector<std::string>& servers) {
  std::vector<NamedTool> out;
  for (const auto& server : servers) {
    for (const auto part : addressed_parts(text, server)) {
      if (!part.empty()) out.push_back({server, std::string(part)});
    }
  }
  return out;
}

CatalogEntry assumed_entry(const NamedTool& named) {
  Tool tool;
  tool.name = named.tool;
  const std::vector<ServerTools> servers{
      {named.server, {std::make_shared<const Tool>(std::move(tool))}, NamePrefix::server}};
  return Catalog(servers).tools().front();
}

ToolExplanation explain_tool(const CatalogEntry& entry, const ServerConfig* server, const Permissions& permissions,
                             std::span<const SettingsLayer> layers, const Json& arguments, std::string_view cwd,
                             const VariableLookup& variables) {
  ToolExplanation out;
  out.entry = entry;
  if (server != nullptr && !lets_through(*server, entry.tool->name)) {
    auto without = *server;
    without.disabled_tools.clear();
    out.withheld = fmt::format("\"{}\" of its server in {} excludes this tool",
                               lets_through(without, entry.tool->name) ? "disabledTools" : "enabledTools",
                               place_of(server->origin));
  }
  const auto directory =
      server == nullptr ? std::string(cwd) : argument_directory(*server, std::string(cwd), variables);
  const auto roots =
      server == nullptr ? std::vector<std::string>() : argument_roots(*server, std::string(cwd), variables);
  out.decision = permissions.decide(entry, arguments, directory, roots);
  out.mode = permissions.mode();
  out.mode_from = permissions.rules().mode_from;
  out.rules = permissions.about(entry);
  out.by_arguments = std::ranges::any_of(
      out.rules, [](const PermissionRule& rule) { return !rule.conditions.empty() || rule.any_arguments; });
  if (out.decision.outcome == PermissionOutcome::deny) out.fix = denial_fix(out.decision, layers);
  return out;
}

HookList hooks_about(const CatalogEntry& entry, const LoadedConfig& config) {
  HookList out;
  const auto about = HookSet(layers_of(config.settings), config.project_trusted).about(entry);
  if (!about) return out;
  for (const auto& list : about->lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

}  // namespace patchbay
