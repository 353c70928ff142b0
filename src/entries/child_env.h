// What a child program sees of our environment: a server, or a helper that prints headers. Pure; the names and
// rules are those that users of other hosts know. The host applies them when it starts something.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <patchbay/config.h>

namespace patchbay {

// The environment a program was started with.
using Environment = std::map<std::string, std::string>;
Environment environment_of_process();

// What holds for every server of one run.
struct RunContext {
  std::string cwd;         // we were started here
  std::string config_dir;  // the user's own files
  std::string session_id;
  bool project_trusted = false;
  NamedTexts settings_env;  // variables of settings files, which are part of "ours" below
};

// On top of what a child inherits, beneath what its entry sets.
struct ChildEnvironment {
  std::map<std::string, std::string> added;
  std::vector<std::string> removed;  // names that are in our environment and not for it
  bool operator==(const ChildEnvironment&) const = default;
};

// For a stdio server. CLAUDE_PROJECT_DIR, CLAUDE_CODE_SESSION_ID, CLAUDECODE and a plugin's directories are added;
// OTEL_* is not inherited, and neither is a token that is ours or of a person's sign-in elsewhere.
// CLAUDE_CODE_MCP_ALLOWLIST_ENV=1 leaves a small safe part; CLAUDE_CODE_SUBPROCESS_ENV_SCRUB=1 takes out every variable
// that speaks of a secret or leads to one, but for GITHUB_TOKEN and GH_TOKEN. Beneath what is added are the variables
// of settings files.
ChildEnvironment server_environment(const Environment& ours, const ServerConfig& server, const RunContext& context);

// CLAUDE_CODE_SHELL_PREFIX: a program that gets the whole command line as its last argument, quoted for a shell.
struct CommandLine {
  std::string command;
  std::vector<std::string> args;
  bool operator==(const CommandLine&) const = default;
};
CommandLine wrapped_command(const ServerConfig& expanded, const Environment& ours);

// NAME=value lines, as in a .env file: "export", quotes, comments. Errors name the line.
Result<NamedTexts> parse_env_file(std::string_view text, const std::string& file);

// For a headersHelper: the same additions, and the server's name and URL. `written` has its variables in place. A
// helper that a repository or a plugin brought along sees no variable that speaks of secrets, and where one is
// part of the URL it reads REDACTED.
ChildEnvironment helper_environment(const Environment& ours, const ServerConfig& written, const RunContext& context);
// The directory it runs in: the plugin's root, where we were started, or the configuration directory.
std::string helper_directory(const ServerConfig& server, const RunContext& context);
// Why it does not run at all; empty when it does.
std::string helper_fault(const ServerConfig& server, const RunContext& context);

// The headers a helper printed. The error says what is wrong with them.
std::expected<NamedTexts, std::string> parse_helper_output(std::string_view text);
// `headers` with those of `more` put over them; names differ in more than case.
NamedTexts overlaid_headers(NamedTexts headers, const NamedTexts& more);

}  // namespace patchbay
