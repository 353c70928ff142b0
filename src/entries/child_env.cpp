#include "entries/child_env.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/strings.h"
#include "entries/entry.h"
#include "entries/expand.h"
#include "json/kind_text.h"
#include "secrets/names.h"
#include "text/shell_word.h"

extern char** environ;

namespace patchbay {
namespace {

// What a program needs to run at all, and nothing that says who the user is elsewhere.
constexpr auto safe_names = std::to_array<std::string_view>(
    {"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER"});

// Ours, and what a person signed in to another program with: no server has a use for them.
constexpr auto never_inherited = std::to_array<std::string_view>(
    {"CLAUDE_CODE_OAUTH_TOKEN", "MCP_CLIENT_SECRET", "MCP_XAA_IDP_CLIENT_SECRET", "PATCHBAY_SERVE_TOKEN"});

// Ways to credentials whose names do not say so, taken out with them.
constexpr auto ways_to_credentials = std::to_array<std::string_view>({
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "ACTIONS_RUNTIME_URL",
    "AWS_CONFIG_FILE",
    "AWS_PROFILE",
    "AZURE_CONFIG_DIR",
    "BOTO_CONFIG",
    "CARGO_HOME",
    "CLOUDSDK_CONFIG",
    "DOCKER_AUTH_CONFIG",
    "DOCKER_CONFIG",
    "KUBECONFIG",
    "NETRC",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "XDG_RUNTIME_DIR",
});
// What most tools need to reach the repository they work on.
constexpr auto kept_credentials = std::to_array<std::string_view>({"GH_TOKEN", "GITHUB_TOKEN"});

bool is_on(const Environment& ours, const char* name) {
  auto found = ours.find(name);
  return found != ours.end() && (found->second == "1" || found->second == "true");
}

bool listed(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_safe(std::string_view name) { return listed(safe_names, name) || name.starts_with("LC_"); }

bool is_scrubbed(std::string_view name) {
  return !listed(kept_credentials, name) && (is_secret_variable(name) || listed(ways_to_credentials, name));
}

bool is_own(std::string_view name) { return name == "CLAUDECODE" || name.starts_with("CLAUDE_CODE_MCP_SERVER_"); }

std::string variable(const ServerConfig& server, std::string_view name) {
  for (const auto& [known, value] : server.variables) {
    if (known == name) return value;
  }
  return {};
}

ChildEnvironment common(const Environment& ours, const ServerConfig& server, const RunContext& context) {
  ChildEnvironment out;
  out.added["CLAUDECODE"] = "1";
  if (!context.cwd.empty()) out.added["CLAUDE_PROJECT_DIR"] = context.cwd;
  if (!context.session_id.empty()) out.added["CLAUDE_CODE_SESSION_ID"] = context.session_id;
  for (std::string_view name : {"CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"}) {
    if (auto value = variable(server, name); !value.empty()) out.added[std::string(name)] = value;
  }
  const bool only_safe = is_on(ours, "CLAUDE_CODE_MCP_ALLOWLIST_ENV");
  const bool scrubbed = is_on(ours, "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB");
  for (const auto& [name, value] : ours) {
    if (name.starts_with("OTEL_") || is_own(name) || listed(never_inherited, name) || (only_safe && !is_safe(name)) ||
        (scrubbed && is_scrubbed(name))) {
      out.removed.push_back(name);
    }
  }
  // A child inherits what this process was started with; what settings set has to be handed to it.
  for (const auto& [name, value] : context.settings_env) {
    if (std::ranges::find(out.removed, name) == out.removed.end()) out.added.emplace(name, value);
  }
  return out;
}

// The value of one line behind the "=": quoted, or up to a comment.
std::expected<std::string, std::string> env_value(std::string_view text) {
  text = trim(text);
  if (text.starts_with('"') || text.starts_with('\'')) {
    const char quote = text.front();
    std::string out;
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (text[i] == quote) {
        auto rest = trim(text.substr(i + 1));
        if (!rest.empty() && !rest.starts_with('#'))
          return std::unexpected(std::string("there is text after the closing quote"));
        return out;
      }
      if (quote == '"' && text[i] == '\\' && i + 1 < text.size()) {
        ++i;
        out += text[i] == 'n' ? '\n' : text[i] == 'r' ? '\r' : text[i] == 't' ? '\t' : text[i];
      } else {
        out += text[i];
      }
    }
    return std::unexpected(std::string("the quotes do not end on this line"));
  }
  if (auto comment = text.find(" #"); comment != std::string_view::npos) text = trim(text.substr(0, comment));
  return std::string(text.starts_with('#') ? std::string_view() : text);
}

bool is_variable_name(std::string_view name) noexcept {
  return !name.empty() && std::ranges::none_of(name, [](char c) {
    return c == '=' || c == '"' || c == '\'' || static_cast<unsigned char>(c) <= 0x20 || c == 0x7F;
  });
}

}  // namespace

Environment environment_of_process() {
  Environment out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    auto equals = text.find('=');
    if (equals != std::string_view::npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

ChildEnvironment server_environment(const Environment& ours, const ServerConfig& server, const RunContext& context) {
  return common(ours, server, context);
}

CommandLine wrapped_command(const ServerConfig& expanded, const Environment& ours) {
  auto prefix = ours.find("CLAUDE_CODE_SHELL_PREFIX");
  if (prefix == ours.end() || trim(prefix->second).empty()) return {expanded.command, expanded.args};
  std::string line = shell_word(expanded.command);
  for (const auto& arg : expanded.args) line += " " + shell_word(arg);
  return {std::string(trim(prefix->second)), {std::move(line)}};
}

Result<NamedTexts> parse_env_file(std::string_view text, const std::string& file) {
  NamedTexts out;
  std::size_t number = 0;
  for (auto line : split(text, '\n')) {
    ++number;
    auto wrong = [&](std::string_view what) {
      return fail(Errc::config,
                  fmt::format("{}:{}:1: {}; each line of an envFile must be NAME=value", file, number, what));
    };
    line = trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("export ")) line = trim(line.substr(7));
    auto equals = line.find('=');
    if (equals == std::string_view::npos) return wrong("there is no \"=\"");
    auto name = trim(line.substr(0, equals));
    if (!is_variable_name(name)) return wrong(fmt::format("{} is not a valid name of a variable", quoted_name(name)));
    auto value = env_value(line.substr(equals + 1));
    if (!value) return wrong(value.error());
    if (value->find('\0') != std::string::npos) return wrong("the value contains a NUL character");
    out.emplace_back(name, std::move(*value));
  }
  return out;
}

ChildEnvironment helper_environment(const Environment& ours, const ServerConfig& written, const RunContext& context) {
  auto out = common(ours, written, context);
  const bool scrub = !is_users_own(written.origin);
  auto lookup = [&](std::string_view name) -> std::optional<std::string> {
    auto found = ours.find(std::string(name));
    if (found == ours.end()) return std::nullopt;
    return scrub && is_secret_variable(name) ? "REDACTED" : found->second;
  };
  auto variables = [&](std::string_view name) -> std::optional<std::string> {
    auto own = variable_of(written, name, lookup);
    // A plugin's settings may hold secrets too, and a helper does not get them.
    return own && name.starts_with("user_config.") ? "REDACTED" : own;
  };
  out.added["CLAUDE_CODE_MCP_SERVER_NAME"] = written.name;
  out.added["CLAUDE_CODE_MCP_SERVER_URL"] = expand(written.url, variables).text;
  if (scrub) {
    for (const auto& [name, value] : context.settings_env) {
      if (is_secret_variable(name)) out.added.erase(name);
    }
    for (const auto& [name, value] : ours) {
      if (!is_secret_variable(name)) continue;
      if (std::ranges::find(out.removed, name) == out.removed.end()) out.removed.push_back(name);
    }
  }
  return out;
}

std::string helper_directory(const ServerConfig& server, const RunContext& context) {
  switch (server.origin.scope) {
    case ConfigScope::plugin:
      if (auto root = variable(server, "CLAUDE_PLUGIN_ROOT"); !root.empty()) return root;
      return context.cwd;
    case ConfigScope::user:
    case ConfigScope::enterprise:
    case ConfigScope::connector:
      return context.config_dir;
    case ConfigScope::dynamic:
    case ConfigScope::project:
    case ConfigScope::local:
    case ConfigScope::embedded:
      break;
  }
  return context.cwd;
}

std::string helper_fault(const ServerConfig& server, const RunContext& context) {
  const auto scope = server.origin.scope;
  const bool needs_trust = scope == ConfigScope::project || scope == ConfigScope::local ||
                           server.origin.trust == ConfigTrust::needs_approval;
  if (!needs_trust || context.project_trusted) return {};
  return fmt::format(
      "headersHelper not run: the directory {} is not trusted, so only the headers written in the entry are sent",
      context.cwd);
}

std::expected<NamedTexts, std::string> parse_helper_output(std::string_view text) {
  auto value = parse_json_located(text);
  if (!value)
    return std::unexpected(
        fmt::format("the command must print a JSON object, but it printed something else: {}", value.error().reason));
  const auto* members = value->if_object();
  if (members == nullptr) {
    return std::unexpected(
        fmt::format("the command must print a JSON object, but it printed {}", kind_with_article(*value)));
  }
  NamedTexts out;
  for (const auto& [name, member] : *members) {
    const auto header = member.text();
    if (!header) {
      return std::unexpected(
          fmt::format("the header {} must be a string, but it is {}", quoted_name(name), kind_with_article(member)));
    }
    if (auto fault = header_fault(name, *header); !fault.empty()) return std::unexpected(std::move(fault));
    out.emplace_back(name, *header);
  }
  return out;
}

NamedTexts overlaid_headers(NamedTexts headers, const NamedTexts& more) {
  for (const auto& [name, value] : more) {
    std::erase_if(headers, [&](const auto& known) { return to_lower_ascii(known.first) == to_lower_ascii(name); });
    headers.emplace_back(name, value);
  }
  return headers;
}

}  // namespace patchbay
