#include "cli/words/flag_table.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "base/strings.h"

namespace patchbay::cli {
namespace {

bool is_made_of(std::string_view text, std::string_view more) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || more.contains(c);
  });
}

// Never a command.
bool is_channel(std::string_view word, bool) { return word.starts_with("server:") || word.starts_with("plugin:"); }

// NAME=value
bool is_assignment(std::string_view word, bool) {
  const auto sign = word.find('=');
  return sign != std::string_view::npos && is_made_of(word.substr(0, sign), "_");
}

// Name: value. The blank is needed: https://host is not a header.
bool is_header_line(std::string_view word, bool) {
  const auto colon = word.find(": ");
  return colon != std::string_view::npos && is_made_of(word.substr(0, colon), "_-");
}

// Rules begin with the full name of a tool, which no command has. One word may hold several; where it holds another
// word as well, outside of parentheses, it is a sentence for the model. `may_be_tool`: behind a command that may be
// about this very tool.
bool is_rule(std::string_view word, bool may_be_tool) {
  if (may_be_tool) return false;
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  std::size_t open = 0;
  bool begins = true;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const char c = word[i];
    const bool blank = open == 0 && is_blank(c);
    if (begins && !blank && !word.substr(i).starts_with("mcp__")) return false;
    begins = blank;
    if (c == '(') ++open;
    if (c == ')' && open > 0) --open;
  }
  return !word.empty();
}

// An ID, where there may be none: words with blanks are what is said to the model, and what begins with a dash is the
// next flag.
bool is_conversation(std::string_view word, bool) {
  return word.size() >= 4 && !word.starts_with('-') && is_made_of(word, "_-");
}

constexpr std::string_view to_choose = "choose";

std::string_view keep_conversation(Settings& settings, std::string_view value) {
  settings.resume = value == to_choose ? std::string() : std::string(value);
  return {};
}

std::string_view keep_max_turns(Settings& settings, std::string_view value) {
  std::size_t turns = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), turns);
  if (error != std::errc() || end != value.data() + value.size() || turns < 1) return "a number of turns from 1";
  settings.max_turns = turns;
  return {};
}

std::string_view keep_timeout(Settings& settings, std::string_view value) {
  const std::string text(value);
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != 0 || !(seconds > 0)) return "a number of seconds greater than 0";
  settings.timeout_seconds = seconds;
  return {};
}

std::string_view keep_callback_port(Settings& settings, std::string_view value) {
  int port = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), port);
  if (error != std::errc() || end != value.data() + value.size() || port < 1 || port > 65535) {
    return "a port from 1 to 65535";
  }
  settings.callback_port = port;
  return {};
}

std::string_view keep_last_lines(Settings& settings, std::string_view value) {
  std::size_t lines = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), lines);
  if (error != std::errc() || end != value.data() + value.size()) return "a number of lines";
  settings.last_lines = lines;
  return {};
}

std::string_view keep_limit(Settings& settings, std::string_view value) {
  std::size_t limit = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), limit);
  if (error != std::errc() || end != value.data() + value.size() || limit < 1 || limit > 100) {
    return "a number of tools from 1 to 100";
  }
  settings.limit = limit;
  return {};
}

std::string_view keep_skip_lines(Settings& settings, std::string_view value) {
  std::size_t lines = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), lines);
  if (error != std::errc() || end != value.data() + value.size()) return "a number of lines";
  settings.skip_lines = lines;
  return {};
}

std::string_view keep_idle(Settings& settings, std::string_view value) {
  const std::string text(value);
  char* end = nullptr;
  const double minutes = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != 0 || !(minutes >= 0)) return "a number of minutes, or 0 for no end";
  settings.idle_minutes = minutes;
  return {};
}

constexpr std::string_view scopes[] = {"local", "project", "user"};
constexpr std::string_view transports[] = {"stdio", "sse", "http", "streamable-http"};
constexpr std::string_view modes[] = {"default",     "acceptReads", "bypass",           "dontAsk",
                                      "acceptEdits", "auto",        "bypassPermissions"};
constexpr std::string_view formats[] = {"text", "json", "stream-json"};
constexpr std::string_view sandbox_modes[] = {"auto", "required"};
constexpr std::string_view levels[] = {"trace", "debug", "info", "warning", "error", "off"};

constexpr FlagValue none{};
constexpr FlagValue scope{"SCOPE", "a scope", "local", scopes};
constexpr FlagValue only_project{"SCOPE", "a scope", "project", scopes};
constexpr FlagValue directory{"DIR", "a directory", "."};

constexpr auto only(auto... commands) { return FlagOwner::only(commands...); }

constexpr FlagEntry flags[] = {
    // Flags of every command.
    {"-h,--help", FlagGroup::general, none, "Show this help", &Settings::help},
    {"-V,--version", FlagGroup::general, none, "Show the version", &Settings::version},

    {"--mcp-config", FlagGroup::servers, FlagValue("FILE|JSON", "a file or JSON text", ".mcp.json"),
     "Use servers from this file or JSON text (repeatable)", &Settings::mcp_config},
    {"--mcp-server", FlagGroup::servers, FlagValue("NAME=SERVER", "a server", "NAME=URL"),
     "Use one more server: NAME=URL, NAME=JSON or NAME='command args' (repeatable)", &Settings::mcp_servers},
    {"--strict-mcp-config", FlagGroup::servers, none, "Use only the servers from --mcp-config and --mcp-server",
     &Settings::strict},
    {"--plugin-dir", FlagGroup::servers, directory, "Use servers of the plugin in this directory (repeatable)",
     &Settings::plugin_dirs},
    {"--settings", FlagGroup::servers, FlagValue("FILE|JSON", "a file or JSON text", "settings.json"),
     "Use settings from this file or JSON text (repeatable)", &Settings::settings},
    {"--trust-project", FlagGroup::servers, none,
     "Approve and trust this project for this run: its servers start, its allow rules, hooks and headersHelper "
     "commands "
     "are used",
     &Settings::trust_project},
    {"--builtin", FlagGroup::servers, none, "Use the built-in server in addition to the others", &Settings::builtin},
    {"--ide", FlagGroup::servers, none, "Use the tools of the editor that has this directory open", &Settings::ide},
    {"--allow-run", FlagGroup::servers, none, "Let the built-in server run commands", &Settings::allow_run},
    {"--root", FlagGroup::servers, directory,
     "The only directory that the built-in server can access (default: the current directory)", &Settings::root},
    {"--sandbox", FlagGroup::servers,
     FlagValue{.name = "MODE", .needs = "a mode", .example = "auto", .choices = sandbox_modes, .alone = "auto"},
     "Run local servers in a sandbox, as far as this machine can (auto, also without a value), or not at all where it "
     "cannot (required); entries and settings can ask for more, never for less. Accepted words",
     &Settings::sandbox},
    {"--channels", FlagGroup::servers, FlagValue("CHANNELS", "a channel", "server:chat"),
     "Servers that may push messages into the conversation: server:NAME, plugin:NAME@MARKETPLACE (repeatable)",
     &Settings::channels, is_channel},
    {"--no-session", FlagGroup::servers, none, "Do not use the session of this directory", &Settings::no_session},

    {"--allowedTools,--allowed-tools", FlagGroup::permissions, FlagValue("RULES", "a rule", "mcp__server__tool"),
     "Rules for calls that are allowed without a question: mcp__server__tool, mcp__server__* (repeatable)",
     &Settings::allowed_tools, is_rule},
    {"--disallowedTools,--disallowed-tools", FlagGroup::permissions, FlagValue("RULES", "a rule", "mcp__server__tool"),
     "Rules for tools that are never called and not shown (repeatable)", &Settings::disallowed_tools, is_rule},
    {"--permission-mode", FlagGroup::permissions, FlagValue("MODE", "a mode", "dontAsk", modes),
     "What happens to a call that no rule covers: dontAsk refuses it; with all other modes `patchbay call` makes it, "
     "because whoever types a call need not be asked about it. For a model, acceptEdits allows changes of files in the "
     "directory. Accepted words",
     &Settings::permission_mode},
    {"--dangerously-skip-permissions", FlagGroup::permissions, none,
     "Same as --permission-mode bypass: only deny and ask rules apply", &Settings::skip_permissions},

    {"--json", FlagGroup::output, none, "Print JSON, for scripts", &Settings::json},
    {"-q,--quiet", FlagGroup::output, none, "Do not print warnings and messages about the start of servers",
     &Settings::quiet},
    {"--no-color", FlagGroup::output, none, "Print without colours (also: NO_COLOR)", &Settings::no_color},
    {"--timeout", FlagGroup::output, FlagValue("SECONDS", "a number of seconds", "30"),
     "Stop waiting for a call, for a server to start, or for somebody to sign in, after this many seconds",
     keep_timeout},
    {"--no-check", FlagGroup::output, none, "Do not check arguments and results against the schemas of the tool",
     &Settings::no_check},
    {"-v,--verbose", FlagGroup::output, none, "Report every server that connects", &Settings::verbose},
    {"--log-level", FlagGroup::output, FlagValue("LEVEL", "a level", "debug", levels), "How much to log",
     &Settings::log_level},
    {"--log-file", FlagGroup::output, FlagValue("FILE", "a file", "patchbay.log"),
     "Write the log to this file instead of stderr", &Settings::log_file},
    {"--trace", FlagGroup::output, none, "Log every message to and from servers; secrets are hidden", &Settings::trace},

    // Flags of some commands.
    {"-p,--print", only(Command::chat), none,
     "Answer once, with stdin in front of what is said, and end: prints only the answer and asks nobody anything. Also "
     "without `chat`",
     &Settings::print},
    {"--model", only(Command::chat, Command::acp), FlagValue("PROVIDER:NAME", "a model", "anthropic:claude-sonnet-4-5"),
     "The model to ask: anthropic, openai, openai-chat, gemini or ollama and its name, or script:FILE (default: "
     "`model` "
     "of the configuration, else that of the first key in the environment)",
     &Settings::model},
    {"--output-format", only(Command::chat),
     FlagValue{.name = "FORMAT", .needs = "a format", .example = "json", .choices = formats},
     "With -p: print the last message, one JSON object, or each event as a line of JSON. Accepted words",
     &Settings::output_format},
    {"--max-turns", only(Command::chat), FlagValue("TURNS", "a number of turns", "10"),
     "Ask the model at most this often for one answer", keep_max_turns},
    {"--json-schema", only(Command::chat), FlagValue("FILE|JSON", "a file or JSON text", "schema.json"),
     "With -p: the answer is JSON of this schema", &Settings::json_schema},
    {"-r,--resume", only(Command::chat),
     FlagValue{.name = "ID", .needs = "the ID of a conversation", .example = "ID", .alone = to_choose},
     "Go on with this conversation of this directory; without an ID, with one that you choose", keep_conversation,
     is_conversation},
    {"-c,--continue", only(Command::chat), none, "Go on with the newest conversation of this directory",
     &Settings::resume_newest},
    {"--append-system-prompt", only(Command::chat, Command::acp), FlagValue("TEXT", "a text", "'Answer in French.'"),
     "Instructions for the model, behind the usual ones", &Settings::more_instructions},
    {"--plan", only(Command::chat, Command::acp), none, "Call only tools that say they only read", &Settings::plan},
    {"-t,--transport", only(Command::add), FlagValue("TRANSPORT", "a transport", "http", transports, "NAME URL"),
     "How the server is reached", &Settings::transport},
    {"-s,--scope", only(Command::add, Command::add_json), scope, "Who can use the server (default: local)",
     &Settings::scope},
    {"-s,--scope", only(Command::remove), scope, "Remove the entry of this scope", &Settings::scope},
    {"-s,--scope", only(Command::get, Command::list), scope, "Show only entries of this scope", &Settings::scope},
    {"-s,--scope", only(Command::enable, Command::disable), scope,
     "Where to enable or disable the server; local is this project (default for disable), user is every project",
     &Settings::scope},
    {"-s,--scope", only(Command::approve, Command::reject, Command::reset_choices), only_project,
     "Scope of the entry; only entries of the project need approval", &Settings::scope},
    {"-s,--scope", only(Command::import_servers), scope,
     "Scope of the new entries (default: user for your own files, local for files of the project)", &Settings::scope},
    {"-s,--scope", only(Command::add_from_desktop), scope, "Scope of the new entries (default: local)",
     &Settings::scope},
    {"-s,--scope", only(Command::why), scope, "Explain the entry of this scope, even if another one overrides it",
     &Settings::scope},
    {"-e,--env", only(Command::add), FlagValue("NAME=VALUE", "a variable", "KEY=value"),
     "A variable for the command; for several, repeat the flag or list them: -e A=1 B=2", &Settings::env,
     is_assignment},
    {"-H,--header", only(Command::add), FlagValue("HEADER", "a header", "Name: value", {}, "NAME URL"),
     "A header to send to the URL, written 'Name: value'; for several, repeat the flag", &Settings::headers,
     is_header_line},
    {"--client-id", only(Command::add), FlagValue("ID", "an ID", "ID", {}, "NAME URL"),
     "Your client ID at the authorization server of the server; without it one is registered when you sign in",
     &Settings::client_id},
    {"--client-secret", only(Command::add), none,
     "Ask for the client secret that belongs to --client-id, or take it from MCP_CLIENT_SECRET",
     &Settings::client_secret},
    {"--client-secret", only(Command::add_json), none,
     "Ask for the client secret that belongs to oauth.clientId of the entry, or take it from MCP_CLIENT_SECRET",
     &Settings::client_secret},
    {"--callback-port", only(Command::add), FlagValue("PORT", "a port", "8080", {}, "NAME URL"),
     "Local port that the browser comes back to when you sign in (default: any free port)", keep_callback_port},
    {"--xaa", only(Command::add), none,
     "Sign in through the identity provider of your organisation, which `mcp xaa setup` names", &Settings::xaa},
    {"--no-browser", only(Command::login, Command::xaa), none,
     "Open no browser: print the page to open, and ask for the address that the browser ends at",
     &Settings::no_browser},
    {"--issuer", only(Command::xaa), FlagValue("URL", "a URL", "https://login.example.com"),
     "With setup: the identity provider", &Settings::issuer},
    {"--client-id", only(Command::xaa), FlagValue("ID", "an ID", "ID"), "With setup: your client ID there",
     &Settings::client_id},
    {"--client-secret", only(Command::xaa), none,
     "With setup: ask for the client secret that belongs to it, or take it from MCP_XAA_IDP_CLIENT_SECRET",
     &Settings::client_secret},
    {"--callback-port", only(Command::xaa), FlagValue("PORT", "a port", "8080"),
     "With setup: local port that the browser comes back to (default: any free port)", keep_callback_port},
    {"-o,--output", only(Command::call), FlagValue("FILE", "a file", "image.png"),
     "Write images, sound and files of the result to this file; without any, its text", &Settings::output},
    {"-o,--output", only(Command::read), FlagValue("FILE", "a file", "logo.png"), "Write the resource to this file",
     &Settings::output},
    {"-o,--output", only(Command::record), FlagValue("FILE", "a file", "frames.jsonl", {}, "export"),
     "With export: write the recording to this file, which only you can read", &Settings::output},
    {"--for-model", only(Command::call), none,
     "Print what a model gets of the result: cleaned, within MAX_MCP_OUTPUT_TOKENS; a larger one is kept",
     &Settings::for_model},
    {"--pointer", only(Command::results), FlagValue("POINTER", "a JSON pointer", "/items/0", {}, "read ID"),
     "With read: only the value there", &Settings::pointer},
    {"--grep", only(Command::results), FlagValue("PATTERN", "a regular expression", "error", {}, "read ID"),
     "With read: only the lines that match, with their numbers", &Settings::pattern},
    {"--count", only(Command::results), none, "With read: print how much there is, or how many lines match",
     &Settings::count},
    {"--skip", only(Command::results), FlagValue("LINES", "a number of lines", "100", {}, "read ID"),
     "With read: begin behind this many lines", keep_skip_lines},
    {"-n,--lines", only(Command::results), FlagValue("LINES", "a number of lines", "20", {}, "read ID"),
     "With read: at most this many lines", keep_last_lines},
    {"--all", only(Command::results), none, "With remove: every kept result", &Settings::all},
    {"--answers", only(Command::call, Command::read, Command::prompt),
     FlagValue("FILE|JSON", "a file or JSON text", "answers.json"),
     "Answer questions of the server with these values, by the name of the field", &Settings::answers},
    {"--check", only(Command::get, Command::list), none, "Start the servers and show whether they answer",
     &Settings::check},
    {"--check", only(Command::status), none, "Connect to the servers now", &Settings::check},
    {"--limit", only(Command::search), FlagValue("TOOLS", "a number of tools", "10", {}, "QUERY"),
     "How many tools to show at most (default: 5)", keep_limit},
    {"--cached", only(Command::tools, Command::search, Command::prompts, Command::resources), none,
     "Answer at once with what the servers listed in an earlier run, and start nothing", &Settings::cached},
    {"-n,--lines", only(Command::logs), FlagValue("LINES", "a number of lines", "20", {}, "SERVER"),
     "Only the last lines; with -f, before new ones", keep_last_lines},
    {"-f,--follow", only(Command::logs), none, "Go on, and print new lines as they come", &Settings::follow},
    {"--check", only(Command::why), none, "Start the server and show what it answers", &Settings::check},
    {"--all", only(Command::approve, Command::reject), none, "All servers declared by this project", &Settings::all},
    {"--from-claude", only(Command::approve), none,
     "Show the servers of this project that you have approved in Claude Code, and approve them here as well",
     &Settings::from_claude},
    {"-y,--yes", only(Command::approve), none, "With --from-claude: approve without a question", &Settings::yes},
    {"--from", only(Command::import_servers), FlagValue("CLIENT", "a client", "cursor"),
     "The client that the file belongs to", &Settings::from},
    {"--name", only(Command::import_servers), FlagValue("SERVER", "the name of a server", "SERVER"),
     "Import only this server (repeatable)", &Settings::names},
    {"--dry-run", only(Command::import_servers, Command::add_from_desktop), none,
     "Show what would be written, and write nothing", &Settings::dry_run},
    {"-y,--yes", only(Command::import_servers), none, "Write without a question", &Settings::yes},
    {"-y,--yes", only(Command::add_from_desktop), none, "Copy all without a question", &Settings::yes},
    {"--fix", only(Command::doctor), none, "First fix what is safe to fix", &Settings::fix},
    {"--offline", only(Command::doctor), none, "Start no server and connect to nothing", &Settings::offline},
    {"--strict", only(Command::lint), none, "Exit with 1 for warnings as well as errors", &Settings::warnings_fail},
    {"--remove", only(Command::trust), none, "Stop trusting the directory", &Settings::take_back},
    {"--remove", only(Command::secret), none, "With passphrase: protect the file with a key file again",
     &Settings::take_back},
    {"-y,--yes", only(Command::trust), none, "Trust the directory without a question", &Settings::yes},
    {"--idle", only(Command::session), FlagValue("MINUTES", "a number of minutes", "60", {}, ""),
     "With start: end the session after this many minutes without a command (default: 30; 0: never)", keep_idle},
    {"-d,--debug", only(Command::serve), none, "Log as --log-level debug does", &Settings::debug},
    {"--http", only(Command::serve), FlagValue("ADDR:PORT", "an address", "127.0.0.1:8080"),
     "Listen on this address instead of stdin (port 0: any free port)", &Settings::http},
    {"--http", only(Command::replay), FlagValue("ADDR:PORT", "an address", "127.0.0.1:8080", {}, "FILE"),
     "Listen on this address of this machine instead of stdin (port 0: any free port)", &Settings::http},
    {"--bearer-file", only(Command::serve), FlagValue("FILE", "a file", "token.txt"),
     "Accept only clients that send the token in this file", &Settings::bearer_file},
    {"--allow-host", only(Command::serve), FlagValue("NAME", "a host name", "mcp.example"),
     "Accept requests for this host name (repeatable)", &Settings::allow_hosts},
    {"--allow-origin", only(Command::serve), FlagValue("ORIGIN", "an origin", "https://app.example"),
     "Accept requests from web pages of this origin (repeatable)", &Settings::allow_origins},
};

}  // namespace

std::string_view group_title(FlagGroup group) {
  switch (group) {
    case FlagGroup::servers:
      return "Which servers to use";
    case FlagGroup::permissions:
      return "Which calls are allowed";
    case FlagGroup::output:
      return "Output, time limits and log";
    case FlagGroup::general:
      break;
  }
  return "General";
}

std::span<const FlagEntry> flag_table() { return flags; }

bool is_offered(const FlagEntry& flag, Command command) {
  if (!flag.owner.every_command()) return flag.owner.is(command);
  const bool about_servers = flag.owner.group == FlagGroup::servers || flag.owner.group == FlagGroup::permissions;
  return command != Command::session || !about_servers;
}

const FlagEntry* find_flag(std::string_view name, Command command) {
  const auto found = std::ranges::find_if(flags, [&](const FlagEntry& flag) {
    return flag.is_called(name) && (flag.owner.every_command() || flag.owner.is(command));
  });
  return found == std::ranges::end(flags) ? nullptr : found;
}

std::vector<std::string> flag_names(Command command) {
  std::vector<std::string> names;
  for (const auto& flag : flags) {
    if (!flag.owner.every_command() && !flag.owner.is(command)) continue;
    for (const auto name : split(flag.names, ',')) names.emplace_back(name);
  }
  return names;
}

const FlagEntry* find_flag_anywhere(std::string_view name) {
  const auto found = std::ranges::find_if(flags, [&](const FlagEntry& flag) { return flag.is_called(name); });
  return found == std::ranges::end(flags) ? nullptr : found;
}

}  // namespace patchbay::cli
