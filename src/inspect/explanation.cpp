#include "inspect/explanation.h"

#include <algorithm>

#include <fmt/format.h>

#include "catalog/naming.h"
#include "catalog/tool_filter.h"
#include "entries/child_env.h"
#include "entries/expand.h"
#include "entries/signature.h"
#include "permission/policy.h"
#include "servers/approval.h"
#include "text/shell_word.h"

namespace patchbay {
namespace {

std::string place_of(const std::string& file, std::size_t line) {
  return line == 0 ? file : fmt::format("{}:{}", file, line);
}

std::string place_of(const ConfigOrigin& origin) { return place_of(origin.file, origin.line); }

class ServerCase {
 public:
  ServerCase(const LoadedConfig& config, const std::string& own_file, const VariableLookup& variables,
             ServerExplanation& out)
      : config_(config),
        own_file_(own_file),
        variables_(variables),
        out_(out),
        operand_(shell_operands({out.server.name})) {}

  void explain() {
    out_.cause = out_.server.reason;
    switch (out_.server.standing) {
      case ServerStanding::active:
        return active();
      case ServerStanding::awaiting_approval:
        out_.fix = "patchbay approve" + operand_;
        return;
      case ServerStanding::rejected:
        return rejected();
      case ServerStanding::disabled:
        return disabled();
      case ServerStanding::policy:
        return policy();
      case ServerStanding::duplicate:
        out_.fix = "nothing: the other one is used instead";
        return;
      case ServerStanding::not_configured:
        out_.fix = fmt::format("set its \"url\" in {}", place_of(out_.server.origin));
        return;
      case ServerStanding::broken:
        out_.fix = fmt::format("correct {}", place_of(out_.server.origin));
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

  // Without what the person answered: which setting decides.
  ApprovalDecision by_settings() const {
    return decide_approval(out_.server.name, entry_hash(out_.server), {}, config_.settings.all(), false);
  }

  // What lets it pass however its entry changes; empty when only the person's yes to this very entry does.
  std::string approved_by() {
    const auto layers = config_.settings.all();
    const auto by = std::ranges::find_if(layers, [&](const SettingsLayer& layer) {
      return std::ranges::find(layer.approved_servers, out_.server.name) != layer.approved_servers.end();
    });
    if (by != layers.end() && by->file.starts_with("--")) return "approved by " + by->file;
    if (auto decision = by_settings(); decision.state == ApprovalDecision::State::approved && !decision.file.empty()) {
      rule(decision.reason, decision.file, decision.line);
      return std::move(decision.reason);
    }
    if (by == layers.end()) return {};
    rule("enabledMcpjsonServers", by->file, 0);
    return "approved by enabledMcpjsonServers in " + by->file;
  }

  void active() {
    const auto& server = out_.server;
    out_.counts = true;
    out_.cause = out_.others.empty()      ? "the only entry with this name; enabled"
                 : server.shadows.empty() ? "the other entries with this name are not in use"
                                          : "it overrides the other entries with this name";
    if (server.origin.trust == ConfigTrust::needs_approval && server.approved) {
      const auto by = approved_by();
      if (by.empty()) {
        out_.notes.push_back(
            "Declared by the project; you approved this entry. If the entry changes, it needs approval again");
      } else {
        // None of these knows what the entry said when it was agreed to.
        out_.notes.push_back(fmt::format("Declared by the project; it is {}, even if its entry changes", by));
      }
    }
    if (!server.headers_helper) return;
    RunContext run;
    run.cwd = config_.cwd;
    run.project_trusted = config_.project_trusted;
    if (auto fault = helper_fault(server, run); !fault.empty()) out_.notes.push_back(std::move(fault));
  }

  void rejected() {
    const auto decision = by_settings();
    if (decision.state != ApprovalDecision::State::rejected || decision.file.empty()) {
      out_.fix = "patchbay approve" + operand_;
      return;
    }
    rule("disabledMcpjsonServers", decision.file, decision.line);
    out_.fix = fmt::format("remove it from \"disabledMcpjsonServers\" in {}", place_of(decision.file, decision.line));
  }

  void disabled() {
    // What another file switches off, ours switches on; but for what an organisation set up.
    const auto& origin = out_.server.origin;
    out_.fix = origin.scope == ConfigScope::enterprise
                   ? fmt::format("ask the administrator who maintains {}", place_of(origin))
                   : "patchbay enable" + operand_;
  }

  void policy() {
    const auto verdict = judge_policy(expand_server(out_.server, variables_), config_.settings.all(), variables_);
    if (verdict.allowed()) return;
    rule(verdict.rule, verdict.file, verdict.line);
    const auto layers = config_.settings.all();
    const auto layer = std::ranges::find(layers, verdict.file, &SettingsLayer::file);
    const bool organisation = layer != layers.end() && layer->source == SettingsSource::enterprise;
    out_.fix = organisation
                   ? fmt::format("ask the administrator who maintains {}", place_of(verdict.file, verdict.line))
                   : fmt::format("change {}", place_of(verdict.file, verdict.line));
  }

  void shadowed() {
    for (const auto& other : config_.servers) {
      if (other.name != out_.server.name) continue;
      out_.fix =
          fmt::format("rename one of them, or: patchbay remove --scope {}{}", to_string(other.origin.scope), operand_);
      if (other.origin.file != own_file_ && !other.origin.file.ends_with("/.mcp.json")) {
        out_.fix = fmt::format("rename one of them; the other is in {}", place_of(other.origin));
      }
    }
  }

  const LoadedConfig& config_;
  const std::string& own_file_;
  const VariableLookup& variables_;
  ServerExplanation& out_;
  std::string operand_;  // of a command, with a blank before it
};

bool same_entry(const ServerConfig& one, const ServerConfig& other) {
  return one.name == other.name && one.origin == other.origin;
}

}  // namespace

ServerExplanation explain_server(const LoadedConfig& config, const ServerConfig& server, const std::string& own_file,
                                 const VariableLookup& variables) {
  ServerExplanation out;
  out.server = server;
  for (const auto* list : {&config.servers, &config.shadowed}) {
    for (const auto& other : *list) {
      if (other.name == server.name && !same_entry(other, server)) out.others.push_back(other);
    }
  }
  ServerCase(config, own_file, variables, out).explain();
  for (const auto& problem : config.problems) {
    if (problem.server == server.name) out.problems.push_back(problem);
  }
  return out;
}

std::vector<NamedTool> tools_named(std::string_view text, const std::vector<std::string>& servers) {
  std::vector<NamedTool> out;
  for (const auto& server : servers) {
    for (const auto& before : {fmt::format("{}/", server), fmt::format("mcp__{}__", server),
                               fmt::format("mcp__{}__", normalise_name(server))}) {
      if (!text.starts_with(before) || text.size() == before.size()) continue;
      NamedTool tool{server, std::string(text.substr(before.size()))};
      if (std::ranges::find(out, tool) == out.end()) out.push_back(std::move(tool));
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
                             const Json& arguments, std::string_view cwd) {
  ToolExplanation out;
  out.entry = entry;
  if (server != nullptr && !lets_through(*server, entry.tool->name)) {
    auto without = *server;
    without.disabled_tools.clear();
    out.withheld = fmt::format("\"{}\" of its server in {} excludes it",
                               lets_through(without, entry.tool->name) ? "disabledTools" : "enabledTools",
                               place_of(server->origin));
  }
  const auto directory = server == nullptr ? std::string(cwd) : argument_directory(*server, std::string(cwd));
  const auto roots = server == nullptr ? std::vector<std::string>() : argument_roots(*server, std::string(cwd));
  out.decision = permissions.decide(entry, arguments, directory, roots);
  out.mode = permissions.mode();
  out.mode_from = permissions.rules().mode_from;
  out.rules = permissions.about(entry);
  out.by_arguments = std::ranges::any_of(
      out.rules, [](const PermissionRule& rule) { return !rule.conditions.empty() || rule.any_arguments; });
  return out;
}

}  // namespace patchbay
