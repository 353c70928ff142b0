#include "cli/words/permission_flags.h"

#include <fmt/format.h>

#include "host/config/rule_request.h"
#include "permission/rule_check.h"
#include "permission/rules.h"
#include "settings/settings_layers.h"

namespace patchbay::cli {

// A person who types `call` has answered what would be asked; nobody answers what is denied.
PermissionOptions permission_options(const Settings& settings) {
  PermissionOptions options;
  options.names = {"--allowedTools", "--disallowedTools", "--permission-mode"};
  auto read = [](const std::vector<std::string>& flags, RuleList list, const std::string& flag) {
    std::vector<std::string> rules;
    for (const auto& text : flags) {
      for (auto& rule : split_rules(text)) {
        if (auto fault = flag_rule_fault(rule, list, flag)) throw Error(Errc::invalid_argument, std::move(*fault));
        rules.push_back(std::move(rule));
      }
    }
    return rules;
  };
  options.allowed_tools = read(settings.allowed_tools, RuleList::allow, options.names.allowed_tools);
  options.disallowed_tools = read(settings.disallowed_tools, RuleList::deny, options.names.disallowed_tools);
  if (!settings.permission_mode.empty()) options.mode = permission_mode(settings.permission_mode);
  if (settings.skip_permissions) options.mode = PermissionMode::bypass;
  return options;
}

Permissions permissions_of(const LoadedConfig& config, const Settings& settings) {
  const auto request = rule_request(config, permission_options(settings), settings.trust_project);
  Permissions permissions(collect_rules(layers_of(config.settings), request));
  std::vector<std::string> names;
  for (const auto& server : config.servers) names.push_back(server.name);
  permissions.know_servers(names);
  return permissions;
}

}  // namespace patchbay::cli
