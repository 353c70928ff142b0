#include "host/config/rule_request.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "permission/entry_rules.h"

namespace patchbay {

RuleRequest rule_request(const LoadedConfig& config, const PermissionOptions& options, bool trust_project) {
  RuleRequest request;
  request.allowed_tools = options.allowed_tools;
  request.disallowed_tools = options.disallowed_tools;
  request.mode = options.mode;
  request.names = options.names;
  request.trusted = config.project_trusted || trust_project;
  std::error_code ignored;
  request.places.cwd = config.cwd.empty() ? std::filesystem::current_path(ignored).string() : config.cwd;
  request.places.home = config.home.empty() ? process_environment()("HOME").value_or("") : config.home;
  for (const auto& server : config.servers) {
    std::ranges::move(entry_rules(server), std::back_inserter(request.of_entries));
  }
  return request;
}

}  // namespace patchbay
