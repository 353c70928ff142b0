#include <patchbay/config.h>

namespace patchbay {

std::string_view to_string(ServerKind kind) noexcept {
  switch (kind) {
    case ServerKind::stdio:
      return "stdio";
    case ServerKind::http:
      return "http";
    case ServerKind::sse:
      return "sse";
    case ServerKind::websocket:
      return "ws";
  }
  return "stdio";
}

std::string_view to_string(ConfigScope scope) noexcept {
  switch (scope) {
    case ConfigScope::dynamic:
      return "dynamic";
    case ConfigScope::project:
      return "project";
    case ConfigScope::local:
      return "local";
    case ConfigScope::user:
      return "user";
    case ConfigScope::enterprise:
      return "enterprise";
    case ConfigScope::plugin:
      return "plugin";
    case ConfigScope::connector:
      return "connector";
    case ConfigScope::embedded:
      return "embedded";
  }
  return "dynamic";
}

std::string_view to_string(ServerStanding standing) noexcept {
  switch (standing) {
    case ServerStanding::active:
      return "active";
    case ServerStanding::awaiting_approval:
      return "awaiting approval";
    case ServerStanding::rejected:
      return "rejected";
    case ServerStanding::disabled:
      return "disabled";
    case ServerStanding::policy:
      return "policy";
    case ServerStanding::duplicate:
      return "duplicate";
    case ServerStanding::not_configured:
      return "not configured";
    case ServerStanding::broken:
      return "broken";
    case ServerStanding::shadowed:
      return "shadowed";
  }
  return "active";
}

ConfigTrust trust_of(ConfigScope scope) noexcept {
  return scope == ConfigScope::project ? ConfigTrust::needs_approval : ConfigTrust::trusted;
}

}  // namespace patchbay
