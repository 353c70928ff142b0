#include "cli/settings.h"

#include <algorithm>
#include <cctype>

#include <CLI/CLI.hpp>

#include <patchbay/version.h>

#include "base/strings.h"

namespace patchbay::cli {
namespace {

struct CommandEntry {
  Command command;
  const char* name;
  const char* summary;
  const char* examples;
  const char* words_name;  // null: takes none; in lower case: these very words
  const char* words_help;
  std::size_t words_min;
  std::size_t words_max;  // 0: any number
  bool in_mcp = false;    // also reached as `patchbay mcp NAME`
};

constexpr CommandEntry commands[] = {
    {Command::tools, "tools", "List the tools of all servers or of one, or show one tool whole",
     "  patchbay tools\n  patchbay tools filesystem/read_text_file\n  patchbay tools filesystem --json | jq -r "
     "'.tools[].name'",
     "SERVER|TOOL", "Only this server, or everything about this tool", 0, 1},
    {Command::call, "call", "Call a tool",
     "  patchbay call read_file path=README.md\n"
     "  patchbay call mcp__db__query sql='select 1' limit:=10\n"
     "  patchbay call fs/write_file path=notes.txt content=@draft.txt\n"
     "  echo '{\"path\":\"README.md\"}' | patchbay call read_file -",
     "TOOL",
     "The tool (mcp__server__tool, server/tool, or its bare name), then key=value, key:=json, key=@file, {json} or -",
     1, 0},
    {Command::resources, "resources", "List resources and resource templates", "  patchbay resources docs", "SERVER",
     "Only this server", 0, 1},
    {Command::read, "read", "Read a resource",
     "  patchbay read docs file:///guide.md\n  patchbay read file:///logo.png > logo.png", "URI",
     "The resource; its server may be named before it", 1, 2},
    {Command::skills, "skills", "List skills, or show one, verified against its entry",
     "  patchbay skills\n  patchbay skills docs pdf-processing\n  patchbay skills docs pdf-processing "
     "references/forms.md",
     "SERVER", "Only this server; then a skill, by name or URI, and a file of it", 0, 3},
    {Command::prompts, "prompts", "List prompts", "  patchbay prompts", "SERVER", "Only this server", 0, 1},
    {Command::prompt, "prompt", "Show a prompt filled in", "  patchbay prompt review file=main.cpp", "NAME",
     "The prompt, then key=value", 1, 0},
    {Command::add, "add", "Declare a server",
     "  patchbay add --transport http sentry https://mcp.sentry.dev/mcp\n"
     "  patchbay add airtable --env AIRTABLE_API_KEY=key -- npx -y airtable-mcp-server\n"
     "  patchbay add --scope user files -- npx -y @modelcontextprotocol/server-filesystem ~/notes\n\n"
     "Scopes: local (you, in this project), user (you, everywhere), project (.mcp.json, for everybody who has\n"
     "the project). local and user are kept in patchbay/config.json of your configuration directory.",
     "NAME", "The name, then a URL, or -- and a command with its arguments", 1, 0, true},
    {Command::add_json, "add-json", "Declare a server by the JSON of its entry",
     "  patchbay add-json weather '{\"type\":\"http\",\"url\":\"https://weather.example/mcp\"}'\n"
     "  patchbay add-json --scope user db '{\"command\":\"db-server\",\"args\":[\"--read-only\"]}'",
     "NAME", "The name, then the JSON object; - reads it from stdin", 2, 2, true},
    {Command::remove, "remove", "Take a declared server away",
     "  patchbay remove sentry\n  patchbay remove sentry --scope user", "SERVER", "Its name", 1, 1, true},
    {Command::get, "get", "Show one declared server, secrets hidden",
     "  patchbay get sentry\n  patchbay get sentry --check\n  patchbay get sentry --json", "SERVER", "Its name", 1, 1,
     true},
    {Command::list, "list", "List the declared servers and where each stands",
     "  patchbay list\n  patchbay list --check\n  patchbay list --json | jq -r '.servers[].name'\n\n"
     "`patchbay list` starts none; `patchbay mcp list` starts them to see whether they answer, as --check does.",
     nullptr, nullptr, 0, 0, true},
    {Command::enable, "enable", "Switch servers on again",
     "  patchbay enable sentry\n  patchbay enable sentry --scope user", "SERVER", "Their names", 1, 0, true},
    {Command::disable, "disable", "Switch servers off without taking them away",
     "  patchbay disable sentry              in this project\n  patchbay disable sentry --scope user   everywhere",
     "SERVER", "Their names", 1, 0, true},
    {Command::approve, "approve", "Say yes to servers that this project brought along",
     "  patchbay approve files\n  patchbay approve --all", "SERVER", "Their names", 0, 0, true},
    {Command::reject, "reject", "Say no to servers that this project brought along",
     "  patchbay reject files\n  patchbay reject --all", "SERVER", "Their names", 0, 0, true},
    {Command::reset_choices, "reset-project-choices", "Forget what was said to the servers of this project",
     "  patchbay reset-project-choices", nullptr, nullptr, 0, 0, true},
    {Command::import_servers, "import", "Take over servers that other clients declare",
     "  patchbay import                     what there is of all clients; writes nothing\n"
     "  patchbay import cursor              shows what becomes of it, then asks\n"
     "  patchbay import vscode --scope project --name github --yes\n"
     "  patchbay import ~/old/settings.json --from gemini --dry-run\n\n"
     "Clients: claude-desktop, cursor, vscode, codex, gemini, windsurf, opencode, zed, goose, cline, mcporter,\n"
     "registry (server.json), mcp-json. Every field that cannot be carried is named with its file and line.",
     "CLIENT|FILE", "A client, or a file of one; without it: everything that is found", 0, 1, true},
    {Command::add_from_desktop, "add-from-claude-desktop", "Take over the servers of Claude Desktop",
     "  patchbay mcp add-from-claude-desktop\n  patchbay mcp add-from-claude-desktop --scope user --yes", nullptr,
     nullptr, 0, 0, true},
    {Command::doctor, "doctor", "Look for what is wrong with servers, files, rules and this machine",
     "  patchbay doctor                     connects to every server that may be started\n"
     "  patchbay doctor --no-check          starts and reaches nothing\n"
     "  patchbay doctor --fix               sets right what is ours and safe, then looks\n"
     "  patchbay doctor --json | jq '.findings[] | select(.level == \"problem\")'\n\n"
     "Exits with 1 when there is a problem. --fix closes our own files to others, removes what was left behind\n"
     "and forgets answers for projects that are gone; it approves nothing and touches no other program's file.",
     nullptr, nullptr, 0, 0, true},
    {Command::why, "why", "Say why a server is used or not, or why a tool may be called or not, starting nothing",
     "  patchbay why sentry                 which file and line, what goes before it, what to do\n"
     "  patchbay why sentry --check         starts it, and shows the error\n"
     "  patchbay why mcp__db__query sql='drop table users'\n"
     "  patchbay why fs write_file path=docs/a.md",
     "SERVER|TOOL",
     "A server; or a tool (mcp__server__tool, server/tool, or both words), then arguments as `call` takes them", 1, 0,
     true},
    {Command::lint, "lint", "Check configuration files and permission rules, starting nothing",
     "  patchbay lint                       everything that counts in this directory\n"
     "  patchbay lint .mcp.json .claude/settings.json --strict\n"
     "  patchbay lint --json | jq '.problems'\n\n"
     "One line for each problem: file:line:column: severity: message. Exits with 1 when there are errors.",
     "FILE", "Only these files, each by itself", 0, 0, true},
    {Command::trust, "trust", "Say that you trust this project's directory, or another one",
     "  patchbay trust\n  patchbay trust ~/src/project\n  patchbay trust --remove\n\n"
     "In a trusted directory headersHelper of project and local servers runs, and allow rules of the project's\n"
     "settings count. Servers of the project still need `patchbay approve`. Kept in our own config.json.",
     "DIR", "The directory; without it: the root of this project", 0, 1, true},
    {Command::serve, "serve", "Offer the built-in tools as an MCP server on stdin and stdout, or over HTTP",
     "  patchbay serve --root ~/project\n  patchbay serve --root . --allow-run\n"
     "  patchbay serve --http 127.0.0.1:8080\n"
     "  patchbay serve --http 127.0.0.1:0 --json          any free port; prints {\"url\":…}\n"
     "  patchbay serve --http 0.0.0.0:8080 --bearer-file token --allow-host mcp.example\n\n"
     "Over HTTP the endpoint is /mcp. SIGINT and SIGTERM let running calls finish and exit with 0.\n"
     "Without --bearer-file, PATCHBAY_SERVE_TOKEN is the token if it is set.",
     nullptr, nullptr, 0, 0, true},
    {Command::completion, "completion", "Print the completion script of a shell, or the names of the servers it offers",
     "  source <(patchbay completion bash)\n  patchbay completion zsh > ~/.zfunc/_patchbay\n"
     "  patchbay completion fish > ~/.config/fish/completions/patchbay.fish",
     "bash|zsh|fish|servers", "The shell; or servers: what is declared, starting nothing", 1, 1},
    {Command::manual, "man", "Print the manual page", "  patchbay man | man -l -", nullptr, nullptr, 0, 0},
};

constexpr const char* mcp_summary = "The commands about servers, as `claude mcp` has them";
constexpr const char* mcp_examples =
    "  patchbay mcp add --transport http sentry https://mcp.sentry.dev/mcp\n"
    "  patchbay mcp add airtable --env AIRTABLE_API_KEY=key -- npx -y airtable-mcp-server\n"
    "  patchbay mcp list";

constexpr const char* about = "Connects to MCP servers and calls their tools.";
constexpr const char* about_servers =
    "Servers come from .mcp.json in this directory (inside a git repository: or one above it, up to its\n"
    "root), from what `patchbay add` wrote, from the files of Claude Code and from --mcp-config; `patchbay list`\n"
    "shows them. MCP_TIMEOUT (milliseconds, 30000) is how long one may take to start.\n"
    "Without any, a built-in server with file tools is offered.";
constexpr const char* about_examples =
    "  patchbay                         what is here, and what to type next\n"
    "  patchbay tools --json            every tool, for scripts\n"
    "  patchbay call read_file path=README.md\n"
    "  patchbay mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n"
    "  patchbay --mcp-config '{\"echo\":{\"command\":\"my-server\"}}' tools";
constexpr const char* about_exit_codes =
    "0 ok, 1 the tool or server answered with an error, or doctor or lint found one, 2 usage or\n"
    "configuration, 3 connection, time-out or limit, 70 a bug in patchbay, 130/143 interrupted.";

// Words that stand for themselves: a name in lower case.
std::vector<std::string> choices_of(const CommandEntry& entry) {
  if (!entry.words_name ||
      std::string_view(entry.words_name).find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string_view::npos)
    return {};
  return CLI::detail::split(entry.words_name, '|');
}

std::string help_text(const CLI::App& app) { return app.help("", CLI::AppFormatMode::Normal); }

// What one command takes beside its words.
void declare_own_flags(CLI::App& sub, Command command, Settings& settings) {
  auto scope = [&](const char* help) {
    sub.add_option("-s,--scope", settings.scope, help)->check(CLI::IsMember({"local", "project", "user"}));
  };
  switch (command) {
    case Command::add:
      sub.add_option("-t,--transport", settings.transport, "How it is reached")
          ->check(CLI::IsMember({"stdio", "sse", "http"}));
      scope("Who has it: local, project or user");
      sub.add_option("-e,--env", settings.env, "Variables for a command (repeatable, takes several)")
          ->type_name("NAME=VALUE")
          ->allow_extra_args(false);
      sub.add_option("-H,--header", settings.headers, "'Name: value' for a URL (repeatable, takes several)")
          ->type_name("HEADER")
          ->allow_extra_args(false);
      sub.add_option("--client-id", settings.client_id, "Sign in as this client")->type_name("ID");
      sub.add_flag("--client-secret", settings.client_secret,
                   "Ask for that client's secret (or take MCP_CLIENT_SECRET)");
      sub.add_option("--callback-port", settings.callback_port,
                     "Where the browser comes back to (also: MCP_OAUTH_CALLBACK_PORT)")
          ->type_name("PORT")
          ->check(CLI::Range(1, 65535).description(""));
      break;
    case Command::add_json:
      scope("Who has it: local, project or user");
      sub.add_flag("--client-secret", settings.client_secret,
                   "Ask for the secret of its oauth.clientId (or take MCP_CLIENT_SECRET)");
      break;
    case Command::remove:
      scope("Take away only the one of this scope");
      break;
    case Command::get:
    case Command::list:
      scope("Only what this scope declares");
      sub.add_flag("--check", settings.check, "Start the servers, to see whether they answer");
      break;
    case Command::enable:
    case Command::disable:
      scope("local: in this project (default of disable); user: everywhere");
      break;
    case Command::approve:
    case Command::reject:
      scope("project: there are no others");
      sub.add_flag("--all", settings.all, "All that this project brought along");
      break;
    case Command::reset_choices:
      scope("project: there are no others");
      break;
    case Command::import_servers:
      scope("Who gets them (default: user for files of the user, local for those of the project)");
      sub.add_option("--from", settings.from, "Whose file it is")->type_name("CLIENT");
      sub.add_option("--name", settings.names, "Only this server (repeatable)")
          ->type_name("SERVER")
          ->allow_extra_args(false);
      sub.add_flag("--dry-run", settings.dry_run, "Show what would be written and write nothing");
      sub.add_flag("-y,--yes", settings.yes, "Write without asking");
      break;
    case Command::add_from_desktop:
      scope("Who gets them: local, project or user");
      sub.add_flag("--dry-run", settings.dry_run, "Show what would be written and write nothing");
      sub.add_flag("-y,--yes", settings.yes, "Take all without asking");
      break;
    case Command::doctor:
      sub.add_flag("--fix", settings.fix, "Set right what is ours and safe, then look");
      break;
    case Command::why:
      scope("The entry of this scope, also when another one counts");
      sub.add_flag("--check", settings.check, "Start the server, to see what it answers");
      break;
    case Command::lint:
      sub.add_flag("--strict", settings.warnings_fail, "Warnings fail, too");
      break;
    case Command::trust:
      sub.add_flag("--remove", settings.take_back, "Trust it no longer");
      break;
    case Command::serve:
      sub.add_option("--http", settings.http, "Listen here instead of on stdin (port 0: any)")->type_name("ADDR:PORT");
      sub.add_option("--bearer-file", settings.bearer_file, "Only clients with the token in this file may call")
          ->type_name("FILE");
      sub.add_option("--allow-host", settings.allow_hosts, "Host name requests may use (repeatable)")
          ->type_name("NAME")
          ->allow_extra_args(false);
      sub.add_option("--allow-origin", settings.allow_origins, "Origin of web pages that may call (repeatable)")
          ->type_name("ORIGIN")
          ->allow_extra_args(false);
      break;
    default:
      break;
  }
}

void declare_command(CLI::App& parent, const CommandEntry& entry, Settings& settings) {
  auto* sub = parent.add_subcommand(entry.name, entry.summary);
  sub->footer(std::string("Examples:\n") + entry.examples +
              "\n\nFlags that all commands take, such as --json, --timeout and --no-check: patchbay --help");
  sub->callback([&settings, command = entry.command] { settings.command = command; });
  declare_own_flags(*sub, entry.command, settings);
  if (entry.words_name) {
    auto* words = sub->add_option(entry.words_name, settings.words, entry.words_help)->type_name("");
    if (entry.words_min > 0) words->required();
    words->expected(static_cast<int>(entry.words_min),
                    entry.words_max == 0 ? CLI::detail::expected_max_vector_size : static_cast<int>(entry.words_max));
    if (const auto choices = choices_of(entry); !choices.empty()) {
      words->check([choices](const std::string& word) -> std::string {
        if (std::ranges::find(choices, word) != choices.end()) return {};
        return "expected " + CLI::detail::join(choices, ", ") + ", not '" + word + "'";
      });
    }
  }
}

// Declares everything; what is parsed lands in `settings` and `version`.
void declare(CLI::App& app, Settings& settings, bool& version) {
  app.set_help_flag("-h,--help", "Show this help");
  app.footer(std::string(about_servers) + "\n\nExamples:\n" + about_examples + "\n\nExit codes: " + about_exit_codes);
  app.fallthrough();
  app.require_subcommand(0, 1);
  app.add_flag("-V,--version", version, "Show the version");
  auto* servers = app.add_option_group("Servers");
  servers->add_option("--mcp-config", settings.mcp_config, "Servers from this file or JSON text (repeatable)")
      ->type_name("FILE|JSON")
      ->allow_extra_args(false);
  servers
      ->add_option("--mcp-server", settings.mcp_servers, "One more server: NAME=URL, NAME=JSON or NAME='command args'")
      ->type_name("NAME=SERVER")
      ->allow_extra_args(false);
  servers->add_flag("--strict-mcp-config", settings.strict, "Use only the servers of --mcp-config and --mcp-server");
  servers->add_option("--plugin-dir", settings.plugin_dirs, "Servers of the plugin in this directory (repeatable)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  servers->add_option("--settings", settings.settings, "More settings, from this file or JSON text (repeatable)")
      ->type_name("FILE|JSON")
      ->allow_extra_args(false);
  servers->add_flag("--trust-project", settings.trust_project,
                    "Start servers of .mcp.json without asking; the project's allow rules and header helpers count");
  servers->add_flag("--builtin", settings.builtin, "Offer the built-in server beside the others");
  servers->add_flag("--ide", settings.ide, "Use the tools of the editor that has this directory open");
  servers->add_flag("--allow-run", settings.allow_run, "Let the built-in server run commands");
  servers->add_option("--root", settings.root, "Directory the built-in server is confined to")->type_name("DIR");
  auto* permissions = app.add_option_group("Permissions");
  permissions
      ->add_option("--allowedTools,--allowed-tools", settings.allowed_tools,
                   "Rules for tools that need no question: mcp__server__tool, mcp__server__* (repeatable)")
      ->type_name("RULES")
      ->allow_extra_args(false);
  permissions
      ->add_option("--disallowedTools,--disallowed-tools", settings.disallowed_tools,
                   "Rules for tools that are not called and not shown (repeatable)")
      ->type_name("RULES")
      ->allow_extra_args(false);
  permissions->add_option("--permission-mode", settings.permission_mode, "What happens where no rule decides")
      ->check(CLI::IsMember(
          {"default", "acceptReads", "bypass", "dontAsk", "acceptEdits", "plan", "auto", "bypassPermissions"}));
  permissions->add_flag("--dangerously-skip-permissions", settings.skip_permissions,
                        "The mode bypass: only rules that deny or ask count");
  auto* output = app.add_option_group("Output");
  output->add_flag("--json", settings.json, "Print JSON, for scripts");
  output->add_flag("-q,--quiet", settings.quiet, "Say nothing about servers starting");
  output->add_flag("--no-color", settings.no_color, "No colours (also: NO_COLOR)");
  output->add_option("--timeout", settings.timeout_seconds, "Give up on a call after this many seconds")
      ->type_name("SECONDS")
      ->check([](const std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        return end != text.c_str() && *end == 0 && value > 0 ? "" : "expected a number of seconds above 0";
      });
  output->add_flag("--no-check", settings.no_check,
                   "Send and show what does not fit a tool's schemas, too; doctor: connect to nothing");
  output->add_option("--log-level", settings.log_level, "trace, debug, info, warning, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "off"}));
  output->add_option("--log-file", settings.log_file, "Write the log here instead of stderr")->type_name("FILE");
  output->add_flag("--trace", settings.trace, "Log every message, secrets taken out");

  for (const auto& entry : commands) declare_command(app, entry, settings);
  auto* mcp = app.add_subcommand("mcp", mcp_summary);
  mcp->footer(std::string("Examples:\n") + mcp_examples);
  mcp->require_subcommand(1);
  for (const auto& entry : commands) {
    if (entry.in_mcp) declare_command(*mcp, entry, settings);
  }
}

// Of all commands together; none of them means two things.
std::vector<std::string> flags_with_value(const CLI::App& app) {
  std::vector<std::string> names;
  std::vector<const CLI::App*> owners{&app};
  for (const auto* owner : app.get_subcommands([](const CLI::App*) { return true; })) owners.push_back(owner);
  for (const auto* owner : owners) {
    for (const auto* option : owner->get_options()) {
      if (option->get_positional() || option->get_items_expected_max() == 0) continue;
      for (const auto& name : option->get_snames()) names.push_back("-" + name);
      for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

bool is_word_of(std::string_view text, std::string_view more) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || more.find(c) != std::string_view::npos;
  });
}

// NAME=value
bool is_assignment(std::string_view word) {
  const auto sign = word.find('=');
  return sign != std::string_view::npos && is_word_of(word.substr(0, sign), "_");
}

// Name: value, with the blank: https://host is none.
bool is_header_line(std::string_view word) {
  const auto colon = word.find(": ");
  return colon != std::string_view::npos && is_word_of(word.substr(0, colon), "_-");
}

// CLI11 takes [a,b] for two words; with something behind the bracket it does not.
constexpr char bracket_guard = '\x1f';

void guard_brackets(std::vector<std::string>& words, const std::vector<std::string>& with_value) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool value = i > 0 && std::ranges::find(with_value, words[i - 1]) != with_value.end();
    if (!value && words[i].starts_with('[') && words[i].ends_with(']')) words[i] += bracket_guard;
  }
}

// Where the command stands: the first word that is neither a flag nor its value, behind `mcp` the one after it.
struct CommandAt {
  std::size_t at = 0;  // the number of words when there is none
  bool in_mcp = false;
};
CommandAt command_at(const std::vector<std::string>& words, const std::vector<std::string>& with_value) {
  CommandAt found;
  for (; found.at < words.size(); ++found.at) {
    const auto& word = words[found.at];
    if (word.starts_with('-')) {
      if (std::ranges::find(with_value, word) != with_value.end()) ++found.at;
    } else if (word == "mcp" && !found.in_mcp) {
      found.in_mcp = true;
    } else {
      break;
    }
  }
  found.at = std::min(found.at, words.size());
  return found;
}

// Flags that may stand with this command, and those of all commands.
struct KnownFlags {
  std::vector<std::string> here;
  std::vector<std::string> anywhere;
};
void add_names(const CLI::App& owner, std::vector<std::string>& names) {
  for (const auto* option : owner.get_options()) {
    for (const auto& name : option->get_snames()) names.push_back("-" + name);
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
}
KnownFlags known_flags(const CLI::App& app, const std::string& command) {
  KnownFlags known;
  add_names(app, known.here);
  for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    // A group of options has no name.
    if (sub->get_name().empty() || sub->get_name() == command) add_names(*sub, known.here);
    add_names(*sub, known.anywhere);
  }
  return known;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
  const auto meant = nearest(word, names);
  return meant.empty() ? std::string() : "; did you mean '" + std::string(meant) + "'?";
}

// A flag nobody knows, and what was meant; empty when all are known.
std::string flag_error(const std::vector<std::string>& typed, const std::string& command, const KnownFlags& known,
                       const std::vector<std::string>& with_value) {
  const auto behind = std::ranges::find(typed, "--");
  for (auto word = typed.begin(); word != behind; ++word) {
    if (!word->starts_with('-') || *word == "-") continue;
    const auto name = word->substr(0, word->find('='));
    if (std::ranges::find(known.here, name) != known.here.end()) {
      if (name == *word && std::ranges::find(with_value, name) != with_value.end() && word + 1 != behind) ++word;
      continue;
    }
    if (!name.starts_with("--")) {
      // -eA=1 and -qv are several in one.
      if (std::ranges::find(known.here, name.substr(0, 2)) != known.here.end()) continue;
    }
    std::string message = "there is no flag '" + name + "'";
    if (command == "call" || command == "prompt") {
      const auto plain = name.substr(name.find_first_not_of('-'));
      message += " of " + command + "; arguments are written key=value: " + plain + "=" +
                 (word->size() > name.size() ? word->substr(name.size() + 1) : "VALUE");
      if (const auto meant = nearest(name, known.here); !meant.empty() && edit_distance(name, meant, 2) <= 2) {
        message += " (or did you mean " + std::string(meant) + "?)";
      }
      return message;
    }
    if (std::ranges::find(known.anywhere, name) != known.anywhere.end()) {
      return "'" + command + "' takes no flag '" + name + "'";
    }
    return message + did_you_mean(name, known.here);
  }
  return {};
}

// One of several words was wanted: "--scope: projct not in {local,project,user}".
std::string choice_error(const std::string& message) {
  const auto in = message.find(" not in {");
  const auto colon = message.find(": ");
  if (in == std::string::npos || colon == std::string::npos || colon > in) return message;
  const auto begin = in + 9;
  const auto choices = CLI::detail::split(message.substr(begin, message.find('}', begin) - begin), ',');
  return message + did_you_mean(message.substr(colon + 2, in - colon - 2), choices);
}

struct UsageError {
  std::string message;
  std::string help;  // the command that says more
};

// What was wrong with the words, and what was meant.
UsageError usage_error(std::string message, const std::vector<std::string>& typed, const CLI::App& app,
                       const std::vector<std::string>& with_value) {
  const auto [at, mcp] = command_at(typed, with_value);
  const std::string before = mcp ? "mcp " : "";
  const auto name = at < typed.size() ? typed[at] : std::string();
  std::vector<std::string> names;
  for (const auto& entry : commands) {
    if (!mcp || entry.in_mcp) names.emplace_back(entry.name);
  }
  if (!mcp) names.emplace_back("mcp");
  const bool known_command = std::ranges::find(names, name) != names.end();
  const bool flags_only = name.empty();
  UsageError error{choice_error(message),
                   known_command ? "patchbay " + before + name + " --help" : "patchbay " + before + "--help"};
  if (auto flag = flag_error(typed, known_command ? name : std::string(), known_flags(app, name), with_value);
      !flag.empty() && (known_command || flags_only)) {
    error.message = flag;
    // What stands behind the name of a new server may well be flags of its command.
    if (name != "add") return error;
  }
  if (!known_command && !flags_only) {
    error.message = "unknown command '" + before + name + "'";
    if (name == "login" || name == "logout" || name == "auth") {
      error.message +=
          "; signing in is not there yet. A token can be given as a header: patchbay add -t http NAME URL -H "
          "'Authorization: Bearer ${TOKEN}'";
    } else {
      const auto meant = nearest(name, names);
      if (!meant.empty()) error.message += "; did you mean '" + before + std::string(meant) + "'?";
    }
    return error;
  }
  if (name != "add") return error;
  if (message.starts_with("--transport: ws")) {
    error.message = message + "; a ws server is added with: patchbay " + before +
                    R"(add-json NAME '{"type":"ws","url":"wss://…"}')";
  } else if (message.find("not expected") != std::string::npos && std::ranges::find(typed, "--") == typed.end()) {
    error.message +=
        "; write -- before the command of the server: patchbay " + before + "add NAME -- COMMAND ARGUMENTS";
  }
  return error;
}

// `help [COMMAND]` and `version`, as other programs have them.
std::vector<std::string> usual_words(std::vector<std::string> typed, const std::vector<std::string>& with_value) {
  const auto [at, mcp] = command_at(typed, with_value);
  if (at >= typed.size()) return typed;
  if (typed[at] == "help") {
    typed.erase(typed.begin() + static_cast<std::ptrdiff_t>(at));
    // Of a command nobody knows there is no help; that it is unknown is said instead.
    const auto asked = command_at(typed, with_value).at;
    const bool known =
        asked >= typed.size() || std::ranges::find(commands, typed[asked], [](const CommandEntry& entry) {
                                   return std::string_view(entry.name);
                                 }) != std::end(commands);
    if (known) typed.emplace_back("--help");
  } else if (typed[at] == "version" && !mcp) {
    typed[at] = "--version";
  }
  return typed;
}

// What stands behind -- is never a flag. CLI11 hands such words to the wrong command, so they are marked.
constexpr char operand_guard = '\x1e';

void guard_operands(std::vector<std::string>& words) {
  const auto mark = std::ranges::find(words, "--");
  if (mark == words.end()) return;
  for (auto word = mark + 1; word != words.end(); ++word) {
    if (word->starts_with('-')) word->insert(word->begin(), operand_guard);
  }
  words.erase(mark);
}

FlagText flag_text(const CLI::Option& option, std::string group, std::string command) {
  FlagText flag{.group = std::move(group),
                .command = std::move(command),
                .names = {},
                .value = {},
                .choices = {},
                .help = option.get_description(),
                .repeatable = option.get_expected_max() > 1};
  for (const auto& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) flag.names.push_back("--" + name);
  if (option.get_type_size() > 0) {
    flag.value = option.get_type_name();
    // A value out of a set is described as TYPE:{one,two}.
    if (const auto open = flag.value.find(":{"); open != std::string::npos) {
      flag.choices = CLI::detail::split(flag.value.substr(open + 2, flag.value.find('}') - open - 2), ',');
      flag.value.resize(open);
    }
  }
  return flag;
}

}  // namespace

AddWords untangle_add(std::vector<std::string> words, const std::vector<std::string>& flags_with_value) {
  const auto takes_value = [&](const std::string& word) {
    return std::ranges::find(flags_with_value, word) != flags_with_value.end();
  };
  auto at = command_at(words, flags_with_value).at;
  AddWords out;
  if (at >= words.size() || words[at] != "add") return {std::move(words), std::nullopt};
  out.words.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  std::string greedy;  // the flag whose values are being read
  for (++at; at < words.size(); ++at) {
    const auto& word = words[at];
    if (word == "--") {
      out.command.emplace(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
      break;
    }
    if (word == "-e" || word == "--env" || word == "-H" || word == "--header") {
      out.words.push_back(word);
      greedy = word;
      if (at + 1 < words.size() && words[at + 1] != "--") out.words.push_back(words[++at]);
      continue;
    }
    const bool more =
        (greedy == "-e" || greedy == "--env") ? is_assignment(word) : !greedy.empty() && is_header_line(word);
    if (more) {
      out.words.push_back(greedy);
    } else {
      greedy.clear();
    }
    out.words.push_back(word);
    if (!more && takes_value(word) && at + 1 < words.size()) out.words.push_back(words[++at]);
  }
  return out;
}

std::variant<Settings, Stop> parse_command_line(int argc, const char* const* argv) {
  Settings settings;
  bool version = false;
  CLI::App app(about, "patchbay");
  declare(app, settings, version);
  const auto with_value = flags_with_value(app);
  const auto typed = usual_words({argv + std::min(argc, 1), argv + argc}, with_value);
  auto untangled = untangle_add(typed, with_value);
  guard_operands(untangled.words);
  guard_brackets(untangled.words, with_value);
  std::ranges::reverse(untangled.words);
  try {
    app.parse(std::move(untangled.words));
  } catch (const CLI::CallForHelp&) {
    for (auto* sub : app.get_subcommands()) {
      for (auto* inner : sub->get_subcommands()) {
        if (inner->parsed()) return Stop{0, inner->help("patchbay " + sub->get_name()), {}, {}};
      }
      if (sub->parsed()) return Stop{0, sub->help("patchbay"), {}, {}};
    }
    return Stop{0, help_text(app), {}, {}};
  } catch (const CLI::ParseError& error) {
    const auto usage = usage_error(error.what(), typed, app, with_value);
    return Stop{2, {}, "patchbay: " + usage.message + "\nRun `" + usage.help + "` for what there is.\n", usage.message};
  }
  for (auto& word : settings.words) {
    if (word.ends_with(bracket_guard)) word.pop_back();
    if (word.starts_with(operand_guard)) word.erase(0, 1);
  }
  settings.command_words = std::move(untangled.command);
  settings.as_mcp = app.got_subcommand("mcp");
  if (version) settings.command = Command::version;
  return settings;
}

std::string_view command_name(Command command) noexcept {
  for (const auto& entry : commands) {
    if (entry.command == command) return entry.name;
  }
  return {};
}

CommandLineText describe_command_line() {
  Settings settings;
  bool version = false;
  CLI::App app(about, "patchbay");
  declare(app, settings, version);

  CommandLineText text{about, about_servers, about_examples, about_exit_codes, {}, {}};
  // Groups of options are subcommands without a name.
  std::vector<const CLI::App*> owners{&app};
  for (const auto* owner : app.get_subcommands([](const CLI::App*) { return true; })) owners.push_back(owner);
  for (const auto* owner : owners) {
    for (const auto* option : owner->get_options()) {
      if (option->get_positional()) continue;
      if (owner != &app && option == owner->get_help_ptr()) continue;  // each inherits its own
      text.flags.push_back(flag_text(*option, owner == &app ? "General" : owner->get_group(),
                                     owner == &app ? std::string() : owner->get_name()));
    }
  }
  for (const auto& entry : commands) {
    text.commands.push_back({.name = entry.name,
                             .summary = entry.summary,
                             .examples = entry.examples,
                             .words = entry.words_name ? entry.words_name : "",
                             .words_help = entry.words_help ? entry.words_help : "",
                             .words_required = entry.words_min > 0,
                             .words_many = entry.words_max != 1,
                             .choices = choices_of(entry),
                             .in_mcp = entry.in_mcp});
  }
  CommandText mcp{.name = "mcp",
                  .summary = mcp_summary,
                  .examples = mcp_examples,
                  .words = "COMMAND",
                  .words_help = "One of these, with its own words and flags",
                  .words_required = true,
                  .words_many = true,
                  .choices = {},
                  .in_mcp = false};
  for (const auto& entry : commands) {
    if (entry.in_mcp) mcp.choices.emplace_back(entry.name);
  }
  text.commands.push_back(std::move(mcp));
  return text;
}

}  // namespace patchbay::cli
