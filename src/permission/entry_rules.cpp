#include "permission/entry_rules.h"

#include <fmt/format.h>

namespace patchbay {
namespace {

bool may_allow(const ConfigOrigin& origin) noexcept {
  switch (origin.scope) {
    case ConfigScope::enterprise:
    case ConfigScope::user:
    case ConfigScope::local:
    case ConfigScope::dynamic:
      return origin.trust == ConfigTrust::trusted;
    case ConfigScope::project:
    case ConfigScope::plugin:
    case ConfigScope::connector:
    case ConfigScope::embedded:
      break;
  }
  return false;
}

struct Words {
  std::string_view allow, ask;  // anything else denies
};
constexpr Words of_tools{"always_allow", "always_ask"};
constexpr Words of_permissions{"allow", "ask"};

RuleList list_of(const Json& word, const Words& words) noexcept {
  const auto text = word.text();
  if (!text) return RuleList::deny;
  return *text == words.allow ? RuleList::allow : *text == words.ask ? RuleList::ask : RuleList::deny;
}

}  // namespace

std::vector<PermissionRule> entry_rules(const ServerConfig& server) {
  std::vector<PermissionRule> out;
  if (server.kind != ServerKind::http && server.kind != ServerKind::sse) return out;
  auto add = [&](std::string_view tool, RuleList list, std::string text) {
    PermissionRule rule;
    rule.list = list;
    rule.text = std::move(text);
    rule.file = server.origin.file;
    rule.line = server.origin.line;
    rule.column = server.origin.column;
    rule.pattern = fmt::format("{}/{}", server.name, tool);
    // A name with a star in it would allow more than it says.
    if (list == RuleList::allow && (!may_allow(server.origin) || rule.has_wildcard())) return;
    out.push_back(std::move(rule));
  };
  const auto& extra = std::as_const(server.extra);
  if (const auto* tools = extra["tools"].if_array()) {
    for (const auto& tool : *tools) {
      const auto name = tool["name"].text();
      const auto* policy = tool.find("permission_policy");
      if (name && policy != nullptr) add(*name, list_of(*policy, of_tools), fmt::format("tools: {}", to_text(tool)));
    }
  }
  if (const auto* tools = extra["toolPermissions"].if_object()) {
    for (const auto& [name, word] : *tools) {
      add(name, list_of(word, of_permissions), fmt::format("toolPermissions: {}", to_text(Json{{name, word}})));
    }
  }
  return out;
}

}  // namespace patchbay
